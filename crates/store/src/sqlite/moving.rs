//! What is SQLite's own in a move: who may have the file, and how numbers go on.

use std::path::Path;

use rusqlite::Connection;

use super::{SCHEMA, absolute, connection};
use crate::error::refused;
use crate::moving::{MoveError, Own};
use crate::ownership::{NotOwned, Ownership};

/// What is told to those who ask the owner of the file for its address.
const NO_ADDRESS: &str = "migrate";

/// What SQLite says in words of its own.
pub(crate) const OWN: Own = Own {
    schema: SCHEMA,
    lock: "BEGIN IMMEDIATE",
    release: "ROLLBACK",
    last_ticket: "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'reservation_wait'",
};

/// An open file.
pub(crate) struct SqliteFile {
    pub(crate) connection: Connection,
    _ownership: Ownership,
}

impl SqliteFile {
    /// Opens the file, as its owner.
    pub(crate) fn open(path: &Path, doing: &'static str, may_make: bool) -> Result<Self, MoveError> {
        let path = absolute(path)?;
        let place = path.display().to_string();
        if !may_make && !path.is_file() {
            return Err(MoveError::NoMail(place));
        }
        let ownership = Ownership::take(&path, NO_ADDRESS).map_err(|taken| match taken {
            NotOwned::Owned(owner) => {
                let who = format!("'{}' (process {})", owner.address, owner.pid);
                MoveError::InUse { place, who }
            }
            NotOwned::Failed(error) => MoveError::Store(error),
        })?;
        let opened = || {
            connection::make_file(&path)?;
            Ok(connection::writing(&path)?)
        };
        Ok(Self { connection: opened().map_err(refused(doing))?, _ownership: ownership })
    }
}

/// Lets tickets go on behind the last one; all other numbers do so by themselves.
pub(crate) fn settled(last_ticket: i64) -> String {
    format!(
        "BEGIN;
         DELETE FROM sqlite_sequence WHERE name = 'reservation_wait';
         INSERT INTO sqlite_sequence (name, seq) VALUES ('reservation_wait', {last_ticket});
         COMMIT"
    )
}
