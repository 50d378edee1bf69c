//! The promises of every noun by name, in parts: what stands in none of them is run by no engine.

mod mail;
mod people;
mod together;
mod transfer;
