//! What a message says: text in, values out.
//!
//! Readers and writers of the formats that agents put into messages. Nothing here does I/O, looks at a clock or decides
//! what becomes of a message; a text that is not of a format is never an error, only a text that says less.

pub mod channel;
pub mod git_config;
pub mod json;
pub mod markdown;
pub mod mention;
mod named;
mod parsed;
pub mod presence;
pub mod secrets;
mod steering;
mod time;
mod typed;

pub use parsed::{Parsed, Problem, cut, shown};
pub use steering::{one_line, plain_lines, steers};
pub use typed::{Kind, Typed};
