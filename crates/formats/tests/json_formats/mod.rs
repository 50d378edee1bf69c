//! The promises of the JSON formats, on shared vectors and on messages that are a little wrong.

mod material;
mod required;
mod round_trip;
mod schema;
mod vectors;
