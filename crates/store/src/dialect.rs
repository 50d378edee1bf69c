//! Statements are written once, in SQLite's SQL; here they become PostgreSQL's.
//!
//! What both engines understand is written so that nothing has to be done (`CASE` and not `max(a, b)`, `CAST`, columns
//! of an upsert named with their table). The rest is listed here, each under its name.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use tokio_postgres::types::Type;

/// How many statements a thread remembers. There are fewer, unless somebody writes values into statements.
const MOST_REMEMBERED: usize = 1_024;

type Remembered = HashMap<Box<str>, Arc<str>>;

thread_local! {
    static KNOWN: RefCell<Remembered> = RefCell::default();
    static KNOWN_FOR_MANY: RefCell<Remembered> = RefCell::default();
}

/// An index hint: PostgreSQL finds its indexes by itself.
const INDEX_HINT: &str = "INDEXED BY ";
/// What both engines say in words of their own.
const SAID_OTHERWISE: [(&str, &str); 5] = [
    // The hint not to use an index.
    ("NOT INDEXED ", ""),
    // A join whose order is fixed: PostgreSQL orders joins by itself.
    ("CROSS JOIN ", "JOIN "),
    // A flag, which SQLite keeps as a number and its indexes compare with one.
    ("ack_required = 1", "ack_required"),
    // An ASCII letter's case does not count. The value is in small letters.
    ("name = ?2 COLLATE NOCASE", "lower(name) = ?2"),
    ("?", "$"),
];

/// What both engines say in words of their own in a schema.
const SCHEMA_SAID_OTHERWISE: [(&str, &str); 3] = [(" INTEGER", " BIGINT"), (" BLOB", " BYTEA"), (") STRICT", ")")];

/// A step of the schema for PostgreSQL.
pub(crate) fn schema(sql: &str) -> String {
    SCHEMA_SAID_OTHERWISE.iter().fold(sql.to_owned(), |sql, (sqlite, postgres)| sql.replace(sqlite, postgres))
}

/// The statement for PostgreSQL, translated at its first use.
pub(crate) fn for_postgres(sql: &str) -> Arc<str> {
    KNOWN.with_borrow_mut(|known| remembered(known, sql, || translated(sql)))
}

/// The statement, which inserts or updates one row, for many rows at once: PostgreSQL is given an array for each of its
/// values. `types` are those of the values.
pub(crate) fn for_many(sql: &str, types: &[Type]) -> Arc<str> {
    KNOWN_FOR_MANY.with_borrow_mut(|known| remembered(known, sql, || many(&translated(sql), types)))
}

fn remembered(known: &mut Remembered, sql: &str, made: impl FnOnce() -> String) -> Arc<str> {
    if let Some(translated) = known.get(sql) {
        return translated.clone();
    }
    if known.len() >= MOST_REMEMBERED {
        known.clear();
    }
    known.entry(sql.into()).insert_entry(made().into()).get().clone()
}

/// `INSERT … VALUES (…)` becomes `INSERT … SELECT … FROM new rows`, and `UPDATE … WHERE` an `UPDATE … FROM new rows WHERE`.
fn many(sql: &str, types: &[Type]) -> String {
    let arrays: Vec<String> = (1..).zip(types).map(|(at, one)| format!("${at}::{}[]", one.name())).collect();
    let columns: Vec<String> = (1..=types.len()).map(|at| format!("c{at}")).collect();
    let rows = format!("FROM unnest({}) AS new ({})", arrays.join(", "), columns.join(", "));
    let of_new_rows = |text: &str| text.replace('$', "new.c");
    if let Some((front, rest)) = sql.split_once("VALUES (") {
        let end = closing(rest);
        return format!("{front}SELECT {} {rows}{}", of_new_rows(&rest[..end]), &rest[end + 1..]);
    }
    let (front, condition) = sql.split_once(" WHERE ").unwrap_or((sql, "true"));
    format!("{} {rows} WHERE {}", of_new_rows(front), of_new_rows(condition))
}

/// Where the parenthesis closes that was opened before the text.
fn closing(text: &str) -> usize {
    let mut depth = 1;
    let end = text.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0
    });
    end.unwrap_or(text.len())
}

fn translated(sql: &str) -> String {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut parts = sql.split(INDEX_HINT);
    let first = parts.next().unwrap_or_default();
    let unhinted: String =
        std::iter::once(first).chain(parts.map(|part| part.trim_start_matches(is_of_name))).collect();
    SAID_OTHERWISE.iter().fold(unhinted, |sql, (sqlite, postgres)| sql.replace(sqlite, postgres))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_of_the_schema_has_the_types_of_postgresql() {
        let sqlite = "CREATE TABLE label (message_id INTEGER NOT NULL, hash BLOB, name TEXT) STRICT";
        assert_eq!(schema(sqlite), "CREATE TABLE label (message_id BIGINT NOT NULL, hash BYTEA, name TEXT)");
    }

    #[test]
    fn every_named_thing_is_translated() {
        for (sqlite, postgres) in [
            ("SELECT ?1, ?12", "SELECT $1, $12"),
            ("FROM message m INDEXED BY message_by_thread WHERE", "FROM message m  WHERE"),
            ("FROM delivery d INDEXED BY delivery_unread\nWHERE", "FROM delivery d \nWHERE"),
            ("FROM message m NOT INDEXED CROSS JOIN delivery d ON", "FROM message m JOIN delivery d ON"),
            ("AND d.ack_required = 1 AND", "AND d.ack_required AND"),
            ("ack_required = ?1", "ack_required = $1"),
            ("AND name = ?2 COLLATE NOCASE", "AND lower(name) = $2"),
            ("'ü', max(id)", "'ü', max(id)"),
        ] {
            assert_eq!(translated(sqlite), postgres);
            assert_eq!(&*for_postgres(sqlite), postgres);
            assert!(Arc::ptr_eq(&for_postgres(sqlite), &for_postgres(sqlite)), "it is translated once");
        }
    }

    #[test]
    fn a_statement_for_one_row_becomes_one_for_many() {
        let types = [Type::INT8, Type::TEXT];
        let rows = "FROM unnest($1::int8[], $2::text[]) AS new (c1, c2)";
        for (one, many) in [
            (
                "INSERT INTO t (a, b, c) VALUES (?1, ?2, (SELECT x FROM y WHERE id = ?1)) ON CONFLICT DO NOTHING",
                format!(
                    "INSERT INTO t (a, b, c) SELECT new.c1, new.c2, (SELECT x FROM y WHERE id = new.c1) {rows} ON CONFLICT DO NOTHING"
                ),
            ),
            ("UPDATE t SET b = ?2 WHERE id = ?1", format!("UPDATE t SET b = new.c2 {rows} WHERE id = new.c1")),
        ] {
            assert_eq!(&*for_many(one, &types), many);
        }
    }
}
