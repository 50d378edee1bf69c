//! Messages and deliveries as they stand in a row.
//!
//! Every query for messages selects [`COLUMNS`] and then a body, so that one function reads them all. A body that is
//! not wanted is not read from the disk.

use mail::messages::{DeliveryState, Message, Role};

use crate::error::Outcome;
use crate::row::Row;
use crate::values::{importance_of, kind_of, names_of, role_of, vouched_of};

/// The columns of a message `m`, without the body.
pub(crate) const COLUMNS: &str = "m.id, m.project_id, m.from_name, m.to_names, m.cc_names, m.subject, m.thread, \
     m.reply_to, m.importance, m.ack_required, m.kind, m.work_id, m.door, m.vouched, m.created_at";
/// The body, when it is wanted.
pub(crate) const BODY: &str = "m.body";
/// What stands for the body when it is not.
pub(crate) const NO_BODY: &str = "''";
/// The columns of a delivery `d` that tell how it is with it.
pub(crate) const STATE: &str = "d.role, d.shown_at, d.read_at, d.acked_at, d.ack_note, d.archived_at";
/// Where the columns of a delivery begin behind those of a message and its body.
pub(crate) const AFTER_BODY: usize = 16;

/// Reads [`COLUMNS`] and a body.
pub(crate) fn message_of(row: &Row<'_>) -> Outcome<Message> {
    Ok(Message {
        id: row.get(0)?,
        project: row.get(1)?,
        from: row.get(2)?,
        to: names_of(row.get(3)?),
        cc: names_of(row.get(4)?),
        subject: row.get(5)?,
        thread: row.get(6)?,
        reply_to: row.get(7)?,
        importance: importance_of(row.get(8)?)?,
        ack_required: row.get(9)?,
        kind: row.get::<Option<&str>>(10)?.map(kind_of).transpose()?,
        work_id: row.get(11)?,
        door: row.get(12)?,
        vouched: vouched_of(row.get(13)?)?,
        created_at: row.get(14)?,
        body: row.get(15)?,
    })
}

/// Reads [`STATE`], from the column `first` on.
pub(crate) fn delivery_of(row: &Row<'_>, first: usize) -> Outcome<(Role, DeliveryState)> {
    let state = DeliveryState {
        shown_at: row.get(first + 1)?,
        read_at: row.get(first + 2)?,
        acked_at: row.get(first + 3)?,
        ack_note: row.get(first + 4)?,
        archived_at: row.get(first + 5)?,
    };
    Ok((role_of(row.get(first)?)?, state))
}

/// How much a message counts for in a page.
pub(crate) fn size_of(message: &Message) -> usize {
    message.body.len()
}
