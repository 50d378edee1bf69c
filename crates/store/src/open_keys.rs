//! Keys of which a sender's recipients have one message open: whether there is one, and what a new one replaces.
//!
//! Both are asked and done in the transaction of the new message, so that of two who send at once one comes first.

use std::collections::HashSet;

use mail::messages::{NewMessage, WhenOpen};

use crate::mailboxes::set_archived;
use crate::prelude::*;
use crate::tx::Many;

const KEY: &str = "INSERT INTO open_key (sender_id, key, message_id) VALUES (?1, ?2, ?3)";

/// The earlier message that stands for this one: each of its recipients has one open.
pub(crate) async fn standing_for(tx: &mut Tx<'_>, message: &NewMessage) -> Outcome<Option<MessageId>> {
    let Some(key) = message.open_key.as_ref().filter(|key| key.when_open() == WhenOpen::Skip) else { return Ok(None) };
    let open = open(tx, message.from, key.as_str()).await?;
    let holders: HashSet<AgentId> = open.iter().map(|(agent, _)| *agent).collect();
    let has_one =
        !message.recipients.is_empty() && message.recipients.iter().all(|(agent, ..)| holders.contains(agent));
    Ok(open.last().map(|(_, newest)| *newest).filter(|_| has_one))
}

/// The keys of new messages, as rows.
pub(crate) fn rows<'v>(new: &[(&'v NewMessage, MessageId)]) -> Many<'v> {
    let keyed = new.iter().filter_map(|(message, id)| Some((message.from, message.open_key.as_ref()?, *id)));
    Many::of(KEY, keyed.map(|(from, key, id)| *values![from, key.as_str(), id]))
}

/// Archives for its recipients what a message that was written replaces.
pub(crate) async fn replace(tx: &mut Tx<'_>, message: &NewMessage, id: MessageId, now: Timestamp) -> Outcome<()> {
    let Some(key) = message.open_key.as_ref().filter(|key| key.when_open() == WhenOpen::Replace) else { return Ok(()) };
    let recipients: HashSet<AgentId> = message.recipients.iter().map(|(agent, ..)| *agent).collect();
    for (agent, earlier) in open(tx, message.from, key.as_str()).await? {
        if earlier != id && recipients.contains(&agent) {
            set_archived(tx, agent, earlier, message.from, true, now).await?;
        }
    }
    Ok(())
}

/// Who has which message open under a key, the newest last.
async fn open(tx: &mut Tx<'_>, sender: AgentId, key: &str) -> Outcome<Vec<(AgentId, MessageId)>> {
    let sql = "SELECT d.recipient_id, k.message_id
               FROM open_key k CROSS JOIN delivery d INDEXED BY delivery_by_message ON d.message_id = k.message_id
               WHERE k.sender_id = ?1 AND k.key = ?2 AND d.archived_at IS NULL ORDER BY k.message_id";
    tx.rows(sql, values![sender, key]).await
}
