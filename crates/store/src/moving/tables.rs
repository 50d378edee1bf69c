//! Every table that a store keeps, described once: both engines read and write rows by this, and a checksum is made of it.
//!
//! Tables stand in an order in which each comes after those that it points at. What only one engine has (its index of
//! words, its own bookkeeping) is not here: whoever writes a row makes it anew. A test compares this page with both schemas.

use mail::ids::{AgentId, ProjectId};

/// What a column holds. Any column may hold nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number.
    Number,
    /// Yes or no, which SQLite keeps as a number.
    Flag,
    /// Text.
    Text,
    /// Bytes.
    Bytes,
}

/// A table.
#[derive(Debug)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// How many of its first columns are its key. Both engines sort by it alike.
    pub key: usize,
    /// Its columns, in the order in which rows are written down.
    pub columns: &'static [(&'static str, Kind)],
}

/// What stands in a column of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// Nothing.
    Null,
    /// A number; 0 or 1 for a flag.
    Number(i64),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// A row, its values in the order of the table's columns.
pub(crate) type Row = Vec<Value>;

impl Table {
    /// The names of its columns, for a statement.
    pub(crate) fn names(&self) -> String {
        joined(self.columns.iter().map(|(name, _)| (*name).to_owned()))
    }

    /// The names of its key, each with `end` behind it.
    pub(crate) fn key_names(&self, end: &str) -> String {
        joined(self.columns[..self.key].iter().map(|(name, _)| format!("{name}{end}")))
    }

    /// The key of one of its rows.
    pub(crate) fn key_of<'a>(&self, row: &'a Row) -> &'a [Value] {
        &row[..self.key]
    }

    /// What a row is found by in a search; only messages are.
    pub(crate) fn findable<'a>(&self, row: &'a Row) -> Option<Findable<'a>> {
        let value =
            |column| self.columns.iter().zip(row).find(|((name, _), _)| *name == column).map(|(_, value)| value);
        let number = |column| match value(column) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        };
        let text = |column| match value(column) {
            Some(Value::Text(text)) => Some(text.as_str()),
            _ => None,
        };
        if self.name != "message" {
            return None;
        }
        Some(Findable {
            message: number("id")?,
            project: ProjectId(number("project_id")?),
            sender: AgentId(number("sender_id")?),
            subject: text("subject")?,
            body: text("body")?,
        })
    }
}

/// What a message is found by.
pub(crate) struct Findable<'a> {
    pub(crate) message: i64,
    pub(crate) project: ProjectId,
    pub(crate) sender: AgentId,
    pub(crate) subject: &'a str,
    pub(crate) body: &'a str,
}

impl Value {
    /// How many bytes it takes in memory, about.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Null | Self::Number(_) => 8,
            Self::Text(text) => text.len() + 8,
            Self::Bytes(bytes) => bytes.len() + 8,
        }
    }

    /// Adds it to a checksum, so that no two different rows add the same bytes.
    pub(crate) fn hash_into(&self, sum: &mut blake3::Hasher) {
        let (mark, bytes): (u8, &[u8]) = match self {
            Self::Null => (0, &[]),
            Self::Number(number) => (1, &number.to_be_bytes()),
            Self::Text(text) => (2, text.as_bytes()),
            Self::Bytes(bytes) => (3, bytes),
        };
        sum.update(&[mark]).update(&(bytes.len() as u64).to_be_bytes()).update(bytes);
    }
}

/// How many bytes a row takes in memory, about.
pub(crate) fn size_of(row: &Row) -> usize {
    row.iter().map(Value::size).sum()
}

fn joined(names: impl Iterator<Item = String>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

const fn table(name: &'static str, key: usize, columns: &'static [(&'static str, Kind)]) -> Table {
    Table { name, key, columns }
}

use Kind::{Bytes, Flag, Number, Text};

/// Every table.
#[rustfmt::skip] // a table on a line or two, as it would be told
pub const TABLES: &[Table] = &[
    table("office", 1, &[("id", Text)]),
    table("project", 1, &[
        ("id", Number), ("slug", Text), ("human_key", Text), ("created_at", Number), ("next_seq", Number),
        ("last_message_at", Number), ("lease_version", Number), ("acks", Number),
    ]),
    table("agent", 1, &[
        ("id", Number), ("project_id", Number), ("name", Text), ("program", Text), ("model", Text),
        ("task_description", Text), ("registered_at", Number), ("last_active_at", Number),
        ("retired_at", Number),
    ]),
    table("agent_token", 1, &[("id", Number), ("agent_id", Number), ("hash", Bytes), ("created_at", Number)]),
    table("message", 1, &[
        ("id", Number), ("project_id", Number), ("sender_id", Number), ("created_at", Number), ("reply_to", Number),
        ("importance", Number), ("ack_required", Flag), ("thread", Text), ("kind", Text), ("work_id", Text),
        ("door", Text), ("vouched", Text), ("from_name", Text), ("to_names", Text), ("cc_names", Text),
        ("subject", Text), ("body", Text),
    ]),
    table("delivery", 2, &[
        ("recipient_id", Number), ("message_id", Number), ("role", Number), ("position", Number),
        ("ack_required", Flag), ("shown_at", Number), ("read_at", Number), ("acked_at", Number),
        ("archived_at", Number), ("kind", Text), ("ack_note", Text),
    ]),
    table("idempotency", 2, &[("sender_id", Number), ("key", Text), ("fingerprint", Bytes), ("message_id", Number)]),
    table("reservation", 1, &[
        ("id", Number), ("project_id", Number), ("holder_id", Number), ("pattern", Text), ("exclusive", Flag),
        ("reason", Text), ("granted_at", Number), ("ends_at", Number), ("released_at", Number),
    ]),
    table("reservation_wait", 1, &[
        ("ticket", Number), ("project_id", Number), ("agent_id", Number), ("patterns", Text), ("exclusive", Flag),
        ("since", Number), ("until", Number),
    ]),
    table("event", 2, &[
        ("project_id", Number), ("seq", Number), ("kind", Text), ("reference", Number), ("agent_id", Number),
        ("at", Number),
    ]),
    table("cursor", 2, &[
        ("sink", Text), ("project_id", Number), ("seq", Number), ("holder", Text), ("held_until", Number),
    ]),
    table("work", 2, &[("project_id", Number), ("work_id", Text), ("newest", Number)]),
    table("work_word", 5, &[
        ("project_id", Number), ("work_id", Text), ("kind", Text), ("sender_id", Number), ("place", Number),
        ("message_id", Number),
    ]),
    table("channel", 1, &[("id", Number), ("project_id", Number), ("name", Text), ("created_at", Number)]),
    table("post", 1, &[
        ("message_id", Number), ("channel_id", Number), ("seq", Number), ("hops", Number), ("sent_at", Number),
        ("external_id", Text), ("cited_as", Text), ("kind", Text), ("mode", Text), ("origin", Text),
        ("answers", Text), ("document", Text),
    ]),
    table("arrival", 2, &[("channel_id", Number), ("key", Text), ("message_id", Number)]),
    table("presence", 1, &[
        ("agent_id", Number), ("project_id", Number), ("state", Text), ("substate", Text), ("since", Number),
        ("seen_at", Number), ("source", Text), ("watcher_pid", Number), ("channel", Text),
    ]),
    table("watch", 2, &[
        ("agent_id", Number), ("channel", Text), ("position", Number), ("holder", Text), ("held_until", Number),
    ]),
    table("watch_run", 2, &[
        ("agent_id", Number), ("message_id", Number), ("channel", Text), ("state", Text), ("tries", Number),
        ("note", Text), ("at", Number),
    ]),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(row: &[Value]) -> blake3::Hash {
        let mut sum = blake3::Hasher::new();
        row.iter().for_each(|value| value.hash_into(&mut sum));
        sum.finalize()
    }

    #[test]
    fn rows_that_differ_have_other_checksums_however_their_values_are_cut() {
        let text = |text: &str| Value::Text(text.to_owned());
        let rows = [
            vec![text("ab"), text("")],
            vec![text("a"), text("b")],
            vec![text("ab"), Value::Null],
            vec![Value::Bytes(b"ab".to_vec()), text("")],
            vec![Value::Number(0), Value::Null],
            vec![Value::Null, Value::Number(0)],
        ];
        for (at, row) in rows.iter().enumerate() {
            assert!(rows[..at].iter().all(|other| sum(other) != sum(row)), "{row:?}");
            assert_eq!(sum(row), sum(&row.clone()));
        }
    }
}
