//! Messages and deliveries as they stand in a row, and back.
//!
//! Every query for messages selects [`COLUMNS`] and then a body, so that one function reads them all. A body that is
//! not wanted is not read from the disk.

use jiff::Timestamp;
use mail::clock::from_micros;
use mail::ids::{MessageId, ProjectId};
use mail::messages::{DeliveryState, Message, PAGE_BYTES, Role};
use rusqlite::types::Type;
use rusqlite::{Params, Row, Statement};

use crate::values::{UnknownValue, importance_of, kind_of, names_of, role_of, vouched_of};

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
        importance: known(8, importance_of(row.get(8)?))?,
        ack_required: row.get(9)?,
        kind: row.get_ref(10)?.as_str_or_null()?.map(|word| known(10, kind_of(word))).transpose()?,
        work_id: row.get(11)?,
        door: row.get(12)?,
        vouched: known(13, vouched_of(row.get_ref(13)?.as_str()?))?,
        created_at: from_micros(row.get(14)?),
        body: row.get(15)?,
    })
}

/// Reads [`STATE`], from the column `first` on.
pub(in crate::sqlite) fn delivery_of(row: &Row<'_>, first: usize) -> rusqlite::Result<(Role, DeliveryState)> {
    let time = |column: usize| -> rusqlite::Result<Option<Timestamp>> {
        Ok(row.get::<_, Option<i64>>(first + column)?.map(from_micros))
    };
    let role = known(first, role_of(row.get(first)?))?;
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

/// A value that no program of this version wrote.
pub(in crate::sqlite) fn unknown(column: usize, what: &str, value: &str) -> rusqlite::Error {
    let cause = format!("unknown {what} '{value}'");
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, cause.into())
}

fn known<T>(column: usize, value: Result<T, UnknownValue>) -> rusqlite::Result<T> {
    value.map_err(|unknown| rusqlite::Error::FromSqlConversionFailure(column, Type::Text, unknown.into()))
}
