//! How the schema came to be what it is: numbered steps, each applied once.
//!
//! Steps are added, never changed; the checksum of each that was applied is kept in the file, so that a changed step is
//! noticed rather than half believed. There is no way back: an older program refuses a newer file.

use rusqlite::{Connection, TransactionBehavior};

use crate::migration::{Migration, Mismatch, UNFINISHED};
use crate::moving::MARK;

/// Every step, in order.
pub(super) const ALL: &[Migration] = &[
    Migration { version: 1, name: "mail", sql: include_str!("../../migrations/sqlite/0001_mail.sql") },
    Migration { version: 2, name: "work", sql: include_str!("../../migrations/sqlite/0002_work.sql") },
    Migration { version: 3, name: "channels", sql: include_str!("../../migrations/sqlite/0003_channels.sql") },
    Migration { version: 4, name: "posts", sql: include_str!("../../migrations/sqlite/0004_posts.sql") },
    Migration { version: 5, name: "answers", sql: include_str!("../../migrations/sqlite/0005_answers.sql") },
    Migration { version: 6, name: "holders", sql: include_str!("../../migrations/sqlite/0006_holders.sql") },
    Migration { version: 7, name: "page", sql: include_str!("../../migrations/sqlite/0007_page.sql") },
];

/// Why a file cannot be brought up to date.
#[derive(Debug, thiserror::Error)]
pub(super) enum MigrationError {
    /// The steps that were applied are others.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// Needs steps, and may not be written.
    #[error("the database has schema version {found} and needs {known}; open it for writing once")]
    Older { found: i64, known: i64 },
    /// Mail is still being moved into it.
    #[error("{UNFINISHED}")]
    Unfinished,
    /// Some other program's database.
    #[error("the file is an SQLite database, but not one that keeps mail")]
    Foreign,
    /// SQLite failed.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
}

/// Applies what is missing, all of it or nothing.
pub(super) fn migrate(connection: &mut Connection, all: &[Migration]) -> Result<(), MigrationError> {
    if applied(connection, all)? == Migration::newest(all) {
        return Ok(());
    }
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Asked again under the lock: another process may have been quicker.
    let done = applied(&tx, all)?;
    if done == 0 {
        tx.execute_batch(
            "CREATE TABLE migration (
                 version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum BLOB NOT NULL
             ) STRICT;",
        )?;
    }
    for step in all.iter().filter(|step| step.version > done) {
        tx.execute_batch(step.sql)?;
        tx.execute(
            "INSERT INTO migration (version, name, checksum) VALUES (?1, ?2, ?3)",
            (step.version, step.name, step.checksum()),
        )?;
    }
    tx.commit()?;
    Ok(())
}

/// Succeeds when nothing is missing.
pub(super) fn check(connection: &Connection, all: &[Migration]) -> Result<(), MigrationError> {
    let found = applied(connection, all)?;
    let known = Migration::newest(all);
    if found == known { Ok(()) } else { Err(MigrationError::Older { found, known }) }
}

/// Succeeds unless mail is still being moved into the file.
pub(super) fn check_finished(connection: &Connection) -> Result<(), MigrationError> {
    if is_unfinished(connection)? { Err(MigrationError::Unfinished) } else { Ok(()) }
}

/// Whether mail is still being moved into the file.
pub(super) fn is_unfinished(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1";
    connection.query_row(sql, [MARK], |row| row.get(0))
}

/// The version of the file, after comparing what was applied with what is known.
pub(super) fn applied(connection: &Connection, all: &[Migration]) -> Result<i64, MigrationError> {
    let (tables, known): (i64, i64) = connection.query_row(
        "SELECT count(*), count(*) FILTER (WHERE name = 'migration') FROM sqlite_schema WHERE type = 'table'",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    match (tables, known) {
        (0, _) => return Ok(0),
        (_, 0) => return Err(MigrationError::Foreign),
        _ => {}
    }
    let mut statement = connection.prepare("SELECT version, checksum FROM migration ORDER BY version")?;
    let kept = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let kept: Vec<(i64, Vec<u8>)> = kept.collect::<Result<_, _>>()?;
    Ok(crate::migration::applied(all, &kept)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(version: i64, name: &'static str, sql: &'static str) -> Migration {
        Migration { version, name, sql }
    }

    #[test]
    fn a_fresh_file_gets_every_step_once() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, ALL).unwrap();
        migrate(&mut connection, ALL).unwrap();
        check(&connection, ALL).unwrap();
        let rows: i64 = connection.query_row("SELECT count(*) FROM migration", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, ALL.len() as i64);
    }

    #[test]
    fn an_older_file_gets_only_what_is_missing() {
        let (first, second) = ("CREATE TABLE a (x)", "CREATE TABLE b (x); INSERT INTO b VALUES (1)");
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &[step(1, "a", first)]).unwrap();
        let both = [step(1, "a", first), step(2, "b", second)];
        assert!(matches!(check(&connection, &both), Err(MigrationError::Older { found: 1, known: 2 })));
        migrate(&mut connection, &both).unwrap();
        check(&connection, &both).unwrap();
    }

    #[test]
    fn a_file_of_every_earlier_version_becomes_as_a_fresh_one() {
        let schema = |connection: &Connection| -> Vec<(String, Option<String>)> {
            let mut all = connection.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").unwrap();
            all.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
        };
        let mut fresh = Connection::open_in_memory().unwrap();
        migrate(&mut fresh, ALL).unwrap();
        for version in 1..ALL.len() {
            let mut old = Connection::open_in_memory().unwrap();
            migrate(&mut old, &ALL[..version]).unwrap();
            old.execute("INSERT INTO project (slug, human_key, created_at) VALUES ('a', '/a', 1)", []).unwrap();
            migrate(&mut old, ALL).unwrap();
            assert_eq!(schema(&old), schema(&fresh), "from version {version}");
            let kept: i64 = old.query_row("SELECT count(*) FROM project", [], |row| row.get(0)).unwrap();
            assert_eq!(kept, 1);
        }
    }

    #[test]
    fn mail_from_before_there_was_a_board_is_on_it() {
        let mut old = Connection::open_in_memory().unwrap();
        migrate(&mut old, &ALL[..1]).unwrap();
        old.execute_batch(
            "INSERT INTO project (id, slug, human_key, created_at) VALUES (1, 'a', '/a', 1);
             INSERT INTO agent VALUES (7, 1, 'alice', '', '', '', 1, 1);",
        )
        .unwrap();
        for (id, kind) in
            [(1, Some("PROGRESS")), (2, Some("PROGRESS")), (3, Some("DONE")), (4, Some("DONE")), (5, None)]
        {
            let row =
                "INSERT INTO message (id, project_id, sender_id, created_at, thread, importance, ack_required, kind,
                           work_id, door, vouched, from_name, to_names, cc_names, subject, body)
                       VALUES (?1, 1, 7, ?1, 't', 1, 0, ?2, 'w-1', 'mcp', 'claimed', 'alice', 'alice', '', 's', 'b')";
            old.execute(row, (id, kind)).unwrap();
            let copy = "INSERT INTO delivery (recipient_id, message_id, role, position, ack_required)
                        VALUES (7, ?1, 0, 0, 0)";
            old.execute(copy, [id]).unwrap();
        }
        migrate(&mut old, ALL).unwrap();
        let numbers = |sql: &str| -> Vec<i64> {
            let mut all = old.prepare(sql).unwrap();
            all.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
        };
        assert_eq!(numbers("SELECT newest FROM work"), [4]);
        assert_eq!(numbers("SELECT message_id FROM work_word ORDER BY message_id"), [2, 3, 4], "1 was replaced");
        assert_eq!(numbers("SELECT message_id FROM delivery WHERE kind = 'DONE' ORDER BY message_id"), [3, 4]);
        assert_eq!(numbers("SELECT message_id FROM delivery WHERE kind IS NULL"), [5]);
    }

    #[test]
    fn a_newer_file_is_refused() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, ALL).unwrap();
        connection.execute("INSERT INTO migration VALUES (99, 'later', x'00')", []).unwrap();
        let refused = migrate(&mut connection, ALL).unwrap_err();
        assert!(matches!(refused, MigrationError::Mismatch(Mismatch::Newer { found: 99, .. })), "{refused}");
    }

    #[test]
    fn a_changed_step_is_refused() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &[step(1, "a", "CREATE TABLE a (x)")]).unwrap();
        let refused = migrate(&mut connection, &[step(1, "a", "CREATE TABLE a (y)")]).unwrap_err();
        assert!(matches!(refused, MigrationError::Mismatch(Mismatch::Changed { version: 1, .. })), "{refused}");
    }

    #[test]
    fn a_step_that_fails_leaves_nothing_behind() {
        let mut connection = Connection::open_in_memory().unwrap();
        let broken = [step(1, "a", "CREATE TABLE a (x)"), step(2, "b", "CREATE TABLE a (x)")];
        assert!(migrate(&mut connection, &broken).is_err());
        assert_eq!(applied(&connection, ALL).unwrap(), 0);
    }

    #[test]
    fn another_programs_database_is_left_alone() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE theirs (x)").unwrap();
        assert!(matches!(migrate(&mut connection, ALL), Err(MigrationError::Foreign)));
    }
}
