//! Messages and deliveries as they stand in a row, and back.
//!
//! Every query for messages selects [`COLUMNS`] and then a body, so that one function reads them all. A body that is
//! not wanted is not read from the disk.

use formats::Kind;
use jiff::Timestamp;
use mail::clock::from_micros;
use mail::ids::{MessageId, ProjectId};
use mail::messages::{DeliveryState, Importance, Message, PAGE_BYTES, Role, Vouched};
use rusqlite::types::Type;
use rusqlite::{Params, Row, Statement};

/// The columns of a message `m`, without the body.
pub(in crate::sqlite) const COLUMNS: &str = "m.id, m.project_id, m.from_name, m.to_names, m.cc_names, m.subject, m.thread, \
     m.reply_to, m.importance, m.ack_required, m.kind, m.work_id, m.door, m.vouched, m.created_at";
/// The body, when it is wanted.
pub(in crate::sqlite) const BODY: &str = "m.body";
/// What stands for the body when it is not.
pub(in crate::sqlite) const NO_BODY: &str = "''";
/// The columns of a delivery `d` that tell how it is with it.
pub(in crate::sqlite) const STATE: &str = "d.role, d.shown_at, d.read_at, d.acked_at, d.ack_note, d.archived_at";
/// Where the columns of a delivery begin behind those of a message and its body.
pub(in crate::sqlite) const AFTER_BODY: usize = 16;

/// Reads [`COLUMNS`] and a body.
pub(in crate::sqlite) fn message_of(row: &Row<'_>) -> rusqlite::Result<Message> {
    Ok(Message {
        id: MessageId(row.get(0)?),
        project: ProjectId(row.get(1)?),
        from: row.get(2)?,
        to: names_of(row.get_ref(3)?.as_str()?),
        cc: names_of(row.get_ref(4)?.as_str()?),
        subject: row.get(5)?,
        thread: row.get(6)?,
        reply_to: row.get::<_, Option<i64>>(7)?.map(MessageId),
        importance: importance_of(row.get(8)?)?,
        ack_required: row.get(9)?,
        kind: row.get_ref(10)?.as_str_or_null()?.map(kind_of).transpose()?,
        work_id: row.get(11)?,
        door: row.get(12)?,
        vouched: vouched_of(row.get_ref(13)?.as_str()?)?,
        created_at: from_micros(row.get(14)?),
        body: row.get(15)?,
    })
}

/// Reads [`STATE`], from the column `first` on.
pub(in crate::sqlite) fn delivery_of(row: &Row<'_>, first: usize) -> rusqlite::Result<(Role, DeliveryState)> {
    let time = |column: usize| -> rusqlite::Result<Option<Timestamp>> {
        Ok(row.get::<_, Option<i64>>(first + column)?.map(from_micros))
    };
    let role = match row.get(first)? {
        0 => Role::To,
        1 => Role::Cc,
        2 => Role::Bcc,
        other => return Err(unknown(first, "role", &i64::to_string(&other))),
    };
    let state = DeliveryState {
        shown_at: time(1)?,
        read_at: time(2)?,
        acked_at: time(3)?,
        ack_note: row.get(first + 4)?,
        archived_at: time(5)?,
    };
    Ok((role, state))
}

/// Takes what is read until the page is full: it ends once that holds more than [`PAGE_BYTES`].
pub(in crate::sqlite) fn page<T>(
    read: impl Iterator<Item = rusqlite::Result<T>>,
    bytes_of: impl Fn(&T) -> usize,
) -> rusqlite::Result<Vec<T>> {
    let mut page = Vec::new();
    let mut bytes = 0;
    for one in read {
        let one = one?;
        bytes += bytes_of(&one);
        page.push(one);
        if bytes > PAGE_BYTES {
            break;
        }
    }
    Ok(page)
}

/// A page of messages, read from their rows.
pub(in crate::sqlite) fn page_of(statement: &mut Statement<'_>, values: impl Params) -> rusqlite::Result<Vec<Message>> {
    page(statement.query_map(values, message_of)?, |message| message.body.len())
}

/// The number that stands for a role, in the order in which recipients are listed.
pub(in crate::sqlite) fn role_number(role: Role) -> i64 {
    match role {
        Role::To => 0,
        Role::Cc => 1,
        Role::Bcc => 2,
    }
}

/// The number that stands for an importance.
pub(in crate::sqlite) fn importance_number(importance: Importance) -> i64 {
    match importance {
        Importance::Low => 0,
        Importance::Normal => 1,
        Importance::High => 2,
        Importance::Urgent => 3,
    }
}

/// One name a line. A name has no control character, and is never empty.
pub(in crate::sqlite) fn lines_of<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut lines = String::new();
    for name in names {
        if !lines.is_empty() {
            lines.push('\n');
        }
        lines.push_str(name);
    }
    lines
}

/// A value that no program of this version wrote.
pub(in crate::sqlite) fn unknown(column: usize, what: &str, value: &str) -> rusqlite::Error {
    let cause = format!("unknown {what} '{value}'");
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, cause.into())
}

fn names_of(lines: &str) -> Vec<String> {
    if lines.is_empty() { Vec::new() } else { lines.split('\n').map(str::to_owned).collect() }
}

fn importance_of(number: i64) -> rusqlite::Result<Importance> {
    Ok(match number {
        0 => Importance::Low,
        1 => Importance::Normal,
        2 => Importance::High,
        3 => Importance::Urgent,
        other => return Err(unknown(8, "importance", &other.to_string())),
    })
}

fn kind_of(word: &str) -> rusqlite::Result<Kind> {
    Kind::parse(word).ok_or_else(|| unknown(10, "kind of message", word))
}

fn vouched_of(word: &str) -> rusqlite::Result<Vouched> {
    [Vouched::Claimed, Vouched::Verified, Vouched::Human]
        .into_iter()
        .find(|one| one.as_str() == word)
        .ok_or_else(|| unknown(13, "voucher", word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_from_their_lines() {
        for names in [vec![], vec!["alice"], vec!["a b", "Jürgen", "漢字"]] {
            assert_eq!(names_of(&lines_of(names.iter().copied())), names);
        }
    }

    #[test]
    fn every_value_is_read_back_from_what_stands_for_it() {
        for name in Importance::NAMES {
            let importance = Importance::parse(name).unwrap();
            assert_eq!(importance_of(importance_number(importance)).unwrap(), importance);
        }
        for kind in Kind::all() {
            assert_eq!(kind_of(kind.as_str()).unwrap(), kind);
        }
        for vouched in [Vouched::Claimed, Vouched::Verified, Vouched::Human] {
            assert_eq!(vouched_of(vouched.as_str()).unwrap(), vouched);
        }
    }

    #[test]
    fn a_value_of_another_version_is_an_error_and_no_guess() {
        assert!(importance_of(4).is_err());
        assert!(kind_of("RUMOUR").is_err());
        assert!(vouched_of("sworn").is_err());
    }
}
