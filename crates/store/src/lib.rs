//! Where mail is kept: the engines behind the ports of `mail`.
//!
//! An engine holds SQL and nothing else: it decides nothing that a rule of `mail` could decide, and invents no ids that
//! a row does not have, no times and no defaults. [`Sqlite`] is the engine for one machine; [`upkeep`] looks after its
//! file, and [`ownership`] sees to it that one server at a time serves it. [`Postgres`] is the engine for many,
//! which [`postgres_upkeep`] looks at; [`moving`] takes all mail from one engine to the other. [`Beads`] and [`Exec`] are
//! no engines but providers: letters that a city keeps beside its work, and letters that somebody else's script keeps.

mod agents;
mod beads;
mod books;
mod channels;
mod dialect;
mod engine;
mod error;
mod events;
mod exec;
mod job;
mod mailboxes;
mod messages;
mod migration;
pub mod moving;
mod overview;
pub mod ownership;
mod placed;
mod postgres;
mod presence;
mod projects;
mod reservations;
mod row;
mod search;
mod sqlite;
mod threads;
mod times;
mod transfer;
mod tx;
mod values;
mod watches;
mod words;
mod work;

pub use beads::Beads;
pub use engine::{Engine, Location};
pub use exec::Exec;
pub use postgres::upkeep as postgres_upkeep;
pub use postgres::{Postgres, PostgresOptions};
pub use sqlite::upkeep;
pub use sqlite::{Options, Sqlite};
