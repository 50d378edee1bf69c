//! Where mail is kept: the engines behind the ports of `mail`.
//!
//! An engine holds SQL and nothing else: it decides nothing that a rule of `mail` could decide, and invents no ids that
//! a row does not have, no times and no defaults. [`Sqlite`] is the engine for one machine; [`upkeep`] looks after its
//! file, and [`ownership`] sees to it that one server at a time serves it. [`Postgres`] is the engine for many,
//! which [`postgres_upkeep`] looks at; [`moving`] takes all mail from one engine to the other. [`Beads`] and [`Exec`] are
//! no engines but providers: letters that a city keeps beside its work, and letters that somebody else's script keeps.

mod beads;
mod books;
mod engine;
mod exec;
mod migration;
pub mod moving;
pub mod ownership;
mod placed;
mod postgres;
mod sqlite;
mod times;
mod values;
mod words;

pub use beads::Beads;
pub use engine::{Engine, Location};
pub use exec::Exec;
pub use postgres::upkeep as postgres_upkeep;
pub use postgres::{Postgres, PostgresOptions};
pub use sqlite::upkeep;
pub use sqlite::{Options, Sqlite};
