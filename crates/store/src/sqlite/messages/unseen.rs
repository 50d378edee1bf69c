//! Mail that an agent was not shown yet: found, and taken by one of those who ask.
//!
//! Finding and noting are one transaction, so that two who wait for one agent's mail never both get a message. Which
//! mail counts as new is told by two indexes that hold nothing else.

use jiff::Timestamp;
use mail::ids::{AgentId, MessageId};
use mail::messages::InboxEntry;
use rusqlite::Connection;

use super::entry_of;
use super::rows::{BODY, COLUMNS, STATE, page};
use crate::sqlite::limit_of;

/// Mail that was neither read nor shown nor put away: the index that holds it, and what is true of it.
const UNSEEN: (&str, &str) = (
    "delivery_unseen",
    "d.recipient_id = ?1 AND d.message_id > ?2
     AND d.read_at IS NULL AND d.archived_at IS NULL AND d.shown_at IS NULL",
);
/// Mail that was neither read nor put away.
const UNREAD: (&str, &str) =
    ("delivery_unread", "d.recipient_id = ?1 AND d.message_id > ?2 AND d.read_at IS NULL AND d.archived_at IS NULL");

/// Whether there is anything to take.
pub(super) fn is_any(connection: &Connection, agent: AgentId, after: Option<MessageId>) -> rusqlite::Result<bool> {
    let (index, is_new) = if after.is_some() { UNREAD } else { UNSEEN };
    let sql = format!("SELECT 1 FROM delivery d INDEXED BY {index} WHERE {is_new}");
    connection.prepare_cached(&sql)?.exists((agent.0, after.map_or(0, |id| id.0)))
}

/// Returns the oldest of it, and notes that it was shown.
pub(super) fn take(
    connection: &Connection,
    agent: AgentId,
    after: Option<MessageId>,
    limit: usize,
    now: Timestamp,
) -> rusqlite::Result<Vec<InboxEntry>> {
    let (index, is_new) = if after.is_some() { UNREAD } else { UNSEEN };
    let sql = format!(
        "SELECT {COLUMNS}, {BODY}, {STATE} FROM delivery d INDEXED BY {index}
         CROSS JOIN message m ON m.id = d.message_id
         WHERE {is_new} ORDER BY d.message_id LIMIT ?3"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let read = statement.query_map((agent.0, after.map_or(0, |id| id.0), limit_of(limit)), entry_of)?;
    let mut taken = page(read, |entry| entry.message.body.len())?;
    let mut show =
        connection.prepare_cached("UPDATE delivery SET shown_at = ?3 WHERE recipient_id = ?1 AND message_id = ?2")?;
    for entry in taken.iter_mut().filter(|entry| entry.state.shown_at.is_none()) {
        show.execute((agent.0, entry.message.id.0, now.as_microsecond()))?;
        entry.state.shown_at = Some(now);
    }
    Ok(taken)
}
