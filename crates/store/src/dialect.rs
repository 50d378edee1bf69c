//! Statements are written once, in SQLite's SQL; here they become PostgreSQL's.
//!
//! What both engines understand is written so that nothing has to be done (`CASE` and not `max(a, b)`, `CAST`, columns
//! of an upsert named with their table). The rest is listed here, each under its name.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// How many statements a thread remembers. There are fewer, unless somebody writes values into statements.
const MOST_REMEMBERED: usize = 1_024;

thread_local! {
    static KNOWN: RefCell<HashMap<Box<str>, Arc<str>>> = RefCell::default();
}

/// An index hint: PostgreSQL finds its indexes by itself.
const INDEX_HINT: &str = "INDEXED BY ";
/// The hint not to use one.
const NO_INDEX_HINT: &str = "NOT INDEXED ";
/// A join whose order is fixed: PostgreSQL orders joins by itself.
const ORDERED_JOIN: &str = "CROSS JOIN ";
/// A flag, which SQLite keeps as a number and its indexes compare with one.
const FLAG: &str = "ack_required = 1";
/// An ASCII letter's case does not count. The value is in small letters.
const ANY_CASE: &str = "name = ?2 COLLATE NOCASE";

/// The statement for PostgreSQL, translated at its first use.
pub(crate) fn for_postgres(sql: &str) -> Arc<str> {
    KNOWN.with_borrow_mut(|known| {
        if let Some(translated) = known.get(sql) {
            return translated.clone();
        }
        if known.len() >= MOST_REMEMBERED {
            known.clear();
        }
        known.entry(sql.into()).insert_entry(translated(sql).into()).get().clone()
    })
}

fn translated(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len());
    let mut rest = sql;
    while let Some(next) = rest.chars().next() {
        if let Some(behind) = rest.strip_prefix(INDEX_HINT) {
            let name = behind.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(behind.len());
            rest = &behind[name..];
        } else if let Some(behind) = rest.strip_prefix(NO_INDEX_HINT) {
            rest = behind;
        } else if let Some(behind) = rest.strip_prefix(ORDERED_JOIN) {
            out.push_str("JOIN ");
            rest = behind;
        } else if let Some(behind) = rest.strip_prefix(FLAG) {
            out.push_str("ack_required");
            rest = behind;
        } else if let Some(behind) = rest.strip_prefix(ANY_CASE) {
            out.push_str("lower(name) = $2");
            rest = behind;
        } else {
            out.push(if next == '?' { '$' } else { next });
            rest = &rest[next.len_utf8()..];
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
