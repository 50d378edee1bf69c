//! Connections to the file, and how each is set up.
//!
//! Nothing here knows what the file holds. That the settings are alike on every connection is what this module is for:
//! a foreign key or a durable commit that one connection leaves out is worth nothing on the others.

use std::fs::{DirBuilder, OpenOptions};
use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

/// Enough for every statement of the store, so that none is prepared twice.
const STATEMENTS: usize = 256;
/// How often a locked file is tried again: about ten seconds in all.
const TRIES: i32 = 1_000;

/// Makes an empty file, and its folder, if they are not there. Mail is nobody else's business: only the owner may read.
pub(crate) fn make_file(path: &Path) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    let mut folders = DirBuilder::new();
    folders.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        options.mode(0o600);
        folders.mode(0o700);
    }
    if let Some(folder) = path.parent() {
        folders.create(folder)?;
    }
    options.open(path).map(drop)
}

/// The connection that writes. The file must be there.
pub(super) fn writing(path: &Path) -> rusqlite::Result<Connection> {
    let connection = opened(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    patiently(|| turn_on_write_ahead(&connection))?;
    connection.execute_batch(
        "PRAGMA synchronous = FULL;
         PRAGMA wal_autocheckpoint = 1000;
         PRAGMA journal_size_limit = 67108864;
         PRAGMA temp_store = MEMORY;
         PRAGMA cache_size = -8192;",
    )?;
    Ok(connection)
}

/// A connection that cannot write. The file must be there.
pub(super) fn reading(path: &Path) -> rusqlite::Result<Connection> {
    let connection = opened(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.execute_batch(
        "PRAGMA query_only = ON;
         PRAGMA temp_store = MEMORY;
         PRAGMA cache_size = -2048;",
    )?;
    Ok(connection)
}

fn opened(path: &Path, access: OpenFlags) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_handler(Some(wait_for_lock))?;
    // Without the planner's guarantee a statement may be prepared again for each new value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

fn turn_on_write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode == "wal" {
        return Ok(());
    }
    let refused = format!("the file system does not allow a write-ahead log (journal mode '{mode}')");
    Err(rusqlite::Error::ToSqlConversionFailure(refused.into()))
}

/// Repeats what SQLite gives up at once because waiting might never end: there, another process finishes by itself.
fn patiently<T>(mut attempt: impl FnMut() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let mut tries = 0;
    loop {
        match attempt() {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && wait_for_lock(tries) => {
                tries += 1;
            }
            done => return done,
        }
    }
}

/// Sleeps a little, longer from time to time; `false` when it was tried often enough.
fn wait_for_lock(tries: i32) -> bool {
    if tries >= TRIES {
        return false;
    }
    thread::sleep(Duration::from_millis(u64::from(tries.unsigned_abs()).min(9) + 1));
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(connection: &Connection, name: &str) -> String {
        connection
            .query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, rusqlite::types::Value>(0))
            .map(|value| match value {
                rusqlite::types::Value::Integer(number) => number.to_string(),
                rusqlite::types::Value::Text(text) => text,
                other => format!("{other:?}"),
            })
            .unwrap()
    }

    #[test]
    fn the_writer_is_durable_and_every_connection_keeps_foreign_keys_and_plans() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mail.db");
        make_file(&path).unwrap();
        let writer = writing(&path).unwrap();
        assert_eq!(setting(&writer, "journal_mode"), "wal");
        assert_eq!(setting(&writer, "synchronous"), "2");
        for connection in [writer, reading(&path).unwrap()] {
            assert_eq!(setting(&connection, "foreign_keys"), "1");
            assert!(connection.db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG).unwrap());
        }
    }

    #[test]
    #[cfg(unix)]
    fn only_the_owner_may_read_what_is_made() {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/mail.db");
        make_file(&path).unwrap();
        let writer = writing(&path).unwrap();
        writer.execute_batch("CREATE TABLE t (x)").unwrap();
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(&folder.path().join("new/mail.db-wal")), 0o600);
    }
}
