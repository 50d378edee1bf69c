//! Mail that an agent was not shown yet: found, and taken by one of those who ask.
//!
//! Finding and noting are one transaction, so that two who wait for one agent's mail never both get a message. Which
//! mail counts as new is told by two indexes that hold nothing else.

use jiff::Timestamp;
use mail::ids::{AgentId, MessageId};
use mail::messages::InboxEntry;

use super::{BODY, COLUMNS, STATE, entry_of, size_of};
use crate::error::Outcome;
use crate::row::{Value, values};
use crate::tx::Tx;

/// Mail that was neither read nor shown nor archived: the index that holds it, and what is true of it.
const UNSEEN: (&str, &str) = (
    "delivery_unseen",
    "d.recipient_id = ?1 AND d.message_id > ?2
     AND d.read_at IS NULL AND d.archived_at IS NULL AND d.shown_at IS NULL",
);
/// Mail that was neither read nor archived.
const UNREAD: (&str, &str) =
    ("delivery_unread", "d.recipient_id = ?1 AND d.message_id > ?2 AND d.read_at IS NULL AND d.archived_at IS NULL");

/// Whether there is anything to take.
pub(super) async fn is_any(tx: &mut Tx<'_>, agent: AgentId, after: Option<MessageId>) -> Outcome<bool> {
    let (index, is_new) = if after.is_some() { UNREAD } else { UNSEEN };
    let sql = format!("SELECT 1 FROM delivery d INDEXED BY {index} WHERE {is_new} LIMIT 1");
    tx.exists(&sql, values![agent, after.map_or(0, |id| id.0)]).await
}

/// Returns the oldest of it, and notes that it was shown.
pub(super) async fn take(
    tx: &mut Tx<'_>,
    agent: AgentId,
    after: Option<MessageId>,
    limit: usize,
    now: Timestamp,
) -> Outcome<Vec<InboxEntry>> {
    let (index, is_new) = if after.is_some() { UNREAD } else { UNSEEN };
    let sql = format!(
        "SELECT {COLUMNS}, {BODY}, {STATE} FROM delivery d INDEXED BY {index}
         CROSS JOIN message m ON m.id = d.message_id
         WHERE {is_new} ORDER BY d.message_id LIMIT ?3"
    );
    let values = values![agent, after.map_or(0, |id| id.0), limit];
    let mut taken = tx.page(&sql, values, entry_of, |entry| size_of(&entry.message)).await?;
    let mut shown: Vec<Value<'_>> = Vec::new();
    for entry in taken.iter_mut().filter(|entry| entry.state.shown_at.is_none()) {
        entry.state.shown_at = Some(now);
        shown.extend(values![agent, entry.message.id, now]);
    }
    let sql = "UPDATE delivery SET shown_at = ?3 WHERE recipient_id = ?1 AND message_id = ?2";
    tx.execute_many(sql, 3, shown).await?;
    Ok(taken)
}
