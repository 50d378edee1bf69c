//! How the schema came to be what it is: numbered steps, each applied once.

use crate::migration::Schema;

/// Every step, in order, and how they are applied to a file.
pub(crate) const SCHEMA: Schema<'static> = Schema {
    steps: &[
        ("mail", include_str!("../../migrations/sqlite/0001_mail.sql")),
        ("work", include_str!("../../migrations/sqlite/0002_work.sql")),
        ("channels", include_str!("../../migrations/sqlite/0003_channels.sql")),
        ("posts", include_str!("../../migrations/sqlite/0004_posts.sql")),
        ("answers", include_str!("../../migrations/sqlite/0005_answers.sql")),
        ("holders", include_str!("../../migrations/sqlite/0006_holders.sql")),
        ("page", include_str!("../../migrations/sqlite/0007_page.sql")),
    ],
    shared: crate::SHARED_STEPS,
    translate: str::to_owned,
    tables: "SELECT name FROM sqlite_schema WHERE type = 'table'",
    begin: "BEGIN IMMEDIATE",
    noting: "CREATE TABLE IF NOT EXISTS migration (
                 version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum BLOB NOT NULL
             ) STRICT",
    foreign: "the file is an SQLite database, but not one that keeps mail",
    empty: OLDER,
    older: OLDER,
};
const OLDER: &str = "the database has schema version {found} and needs {known}; open it for writing once";

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::super::{now, tx_over};
    use super::*;
    use crate::error::Outcome;
    use crate::migration::Migration;

    const ALL: &[Migration] = SCHEMA.steps;

    fn migrate(connection: &mut Connection, steps: &[Migration]) -> Outcome<()> {
        now(Schema { steps, shared: &[], ..SCHEMA }.migrate(&mut tx_over(connection)))
    }

    fn check(connection: &mut Connection, steps: &[Migration]) -> Outcome<()> {
        now(Schema { steps, shared: &[], ..SCHEMA }.check(&mut tx_over(connection)))
    }

    #[test]
    fn a_fresh_file_gets_every_step_once() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, ALL).unwrap();
        migrate(&mut connection, ALL).unwrap();
        check(&mut connection, ALL).unwrap();
        let rows: i64 = connection.query_row("SELECT count(*) FROM migration", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, ALL.len() as i64);
    }

    #[test]
    fn an_older_file_gets_only_what_is_missing() {
        let (first, second) = ("CREATE TABLE a (x)", "CREATE TABLE b (x); INSERT INTO b VALUES (1)");
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &[("a", first)]).unwrap();
        let both = [("a", first), ("b", second)];
        let refused = check(&mut connection, &both).unwrap_err().to_string();
        assert!(refused.contains("schema version 1 and needs 2"), "{refused}");
        migrate(&mut connection, &both).unwrap();
        check(&mut connection, &both).unwrap();
    }

    #[test]
    fn a_shared_step_comes_after_the_engines_own() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, ALL).unwrap();
        let grown = Schema { shared: &[("labels", "CREATE TABLE label (name TEXT NOT NULL) STRICT")], ..SCHEMA };
        now(grown.migrate(&mut tx_over(&mut connection))).unwrap();
        assert_eq!(now(grown.applied(&mut tx_over(&mut connection))).unwrap(), ALL.len() as i64 + 1);
        let changed = Schema { shared: &[("labels", "CREATE TABLE label (name TEXT) STRICT")], ..SCHEMA };
        let refused = now(changed.migrate(&mut tx_over(&mut connection))).unwrap_err().to_string();
        assert!(refused.contains("('labels') is not the one"), "{refused}");
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
        let refused = migrate(&mut connection, ALL).unwrap_err().to_string();
        assert!(refused.contains("schema version 99") && refused.contains("use a newer one"), "{refused}");
    }

    #[test]
    fn a_changed_step_is_refused() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &[("a", "CREATE TABLE a (x)")]).unwrap();
        let refused = migrate(&mut connection, &[("a", "CREATE TABLE a (y)")]).unwrap_err().to_string();
        assert!(refused.starts_with("migration 1 ('a') is not the one"), "{refused}");
    }

    #[test]
    fn a_step_that_fails_leaves_nothing_behind() {
        let mut connection = Connection::open_in_memory().unwrap();
        let broken = [("a", "CREATE TABLE a (x)"), ("b", "CREATE TABLE a (x)")];
        assert!(migrate(&mut connection, &broken).is_err());
        assert_eq!(now(SCHEMA.applied(&mut tx_over(&mut connection))).unwrap(), 0);
    }

    #[test]
    fn another_programs_database_is_left_alone() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE theirs (x)").unwrap();
        assert_eq!(migrate(&mut connection, ALL).unwrap_err().to_string(), SCHEMA.foreign);
    }
}
