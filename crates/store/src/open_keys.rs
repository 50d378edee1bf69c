//! Keys of which a sender's recipients have one message open: whether there is one, and what a new one replaces.
//!
//! Both are asked and done in the transaction of the new message, so that of two who send at once one comes first.
//!
//! A key is no mail: when a new message is written under it, the messages that nobody has open any more lose it, so that
//! there are never more rows than open messages and the new one. What lost its key and is brought back is mail without a
//! key: nothing is left out because of it, and nothing replaces it.

use std::collections::HashSet;

use mail::messages::{NewMessage, WhenOpen};

use crate::mailboxes::set_archived;
use crate::prelude::*;
use crate::tx::Many;

const KEY: &str = "INSERT INTO open_key (sender_id, key, message_id) VALUES (?1, ?2, ?3)";
const FORGET: &str = "
    DELETE FROM open_key WHERE sender_id = ?1 AND key = ?2 AND message_id <> ?3 AND NOT EXISTS
        (SELECT 1 FROM delivery d INDEXED BY delivery_by_message
         WHERE d.message_id = open_key.message_id AND d.archived_at IS NULL)";

/// The earlier message that stands for this one: each of its recipients has one open, and it is the newest of those.
pub(crate) async fn standing_for(tx: &mut Tx<'_>, message: &NewMessage) -> Outcome<Option<MessageId>> {
    let Some(key) = message.open_key.as_ref().filter(|key| key.when_open() == WhenOpen::Skip) else { return Ok(None) };
    let recipients = recipients_of(message);
    let mut open = open(tx, message.from, key.as_str()).await?;
    open.retain(|(agent, _)| recipients.contains(agent));
    let holders: HashSet<AgentId> = open.iter().map(|(agent, _)| *agent).collect();
    Ok(open.last().map(|(_, newest)| *newest).filter(|_| holders.len() == recipients.len()))
}

/// The keys of new messages, as rows.
pub(crate) fn rows<'v>(new: &[(&'v NewMessage, MessageId)]) -> Many<'v> {
    let keyed = new.iter().filter_map(|(message, id)| Some((message.from, message.open_key.as_ref()?, *id)));
    Many::of(KEY, keyed.map(|(from, key, id)| *values![from, key.as_str(), id]))
}

/// Archives for its recipients what a message that was written replaces, and forgets the keys of what nobody has open.
pub(crate) async fn replace(tx: &mut Tx<'_>, message: &NewMessage, id: MessageId, now: Timestamp) -> Outcome<()> {
    let Some(key) = &message.open_key else { return Ok(()) };
    if key.when_open() == WhenOpen::Replace {
        let recipients = recipients_of(message);
        for (agent, earlier) in open(tx, message.from, key.as_str()).await? {
            if earlier != id && recipients.contains(&agent) {
                set_archived(tx, agent, earlier, message.from, true, now).await?;
            }
        }
    }
    tx.execute(FORGET, values![message.from, key.as_str(), id]).await?;
    Ok(())
}

fn recipients_of(message: &NewMessage) -> HashSet<AgentId> {
    message.recipients.iter().map(|(agent, ..)| *agent).collect()
}

/// Who has which message open under a key, the newest last.
async fn open(tx: &mut Tx<'_>, sender: AgentId, key: &str) -> Outcome<Vec<(AgentId, MessageId)>> {
    let sql = "SELECT d.recipient_id, k.message_id
               FROM open_key k CROSS JOIN delivery d INDEXED BY delivery_by_message ON d.message_id = k.message_id
               WHERE k.sender_id = ?1 AND k.key = ?2 AND d.archived_at IS NULL ORDER BY k.message_id";
    tx.rows(sql, values![sender, key]).await
}

#[cfg(test)]
mod tests {
    use mail::agents::{AgentName, AgentStore, Profile, Taking};
    use mail::mailboxes::MailboxStore;
    use mail::messages::{Appended, Importance, MessageStore, OpenKey, Role, Vouched};
    use mail::projects::ProjectStore;
    use mail::responses::JsonFacts;

    use super::*;
    use crate::{Options, Sqlite};

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    async fn joined(store: &Engine, project: ProjectId, name: &str) -> AgentId {
        let checked = AgentName::parse(name).unwrap();
        let made = store.register(project, &checked, &Profile::default(), None, Taking::NewOnly, NOW).await.unwrap();
        made.expect("the name is free").id
    }

    async fn sent(store: &Engine, project: ProjectId, between: [AgentId; 2], when_open: WhenOpen) -> MessageId {
        let [from, to] = between;
        let message = NewMessage {
            project,
            from,
            from_as: None,
            recipients: vec![(to, "bob".into(), Role::To)],
            subject: "Status".into(),
            body: String::new(),
            thread: None,
            reply_to: None,
            marks_read: true,
            importance: Importance::Normal,
            ack_required: false,
            kind: None,
            work_id: None,
            is_passing: false,
            door: "test",
            vouched: Vouched::Claimed,
            idempotency: None,
            open_key: Some(OpenKey::new("status", when_open).unwrap()),
            post: None,
            json: JsonFacts::default(),
            now: NOW,
        };
        match store.append(&message).await.unwrap() {
            Appended::New { id, .. } => id,
            other => panic!("it is sent, not {other:?}"),
        }
    }

    #[tokio::test]
    async fn keys_do_not_grow_with_what_is_archived() {
        let folder = tempfile::tempdir().unwrap();
        let store = Sqlite::open(&folder.path().join("mail.db"), &Options::default()).unwrap();
        let project = store.ensure_project("/a", NOW).await.unwrap().id;
        let (alice, bob) = (joined(&store, project, "alice").await, joined(&store, project, "bob").await);
        let mut newest = sent(&store, project, [alice, bob], WhenOpen::Skip).await;
        for when_open in [WhenOpen::Replace, WhenOpen::Skip, WhenOpen::Replace, WhenOpen::Skip] {
            if when_open == WhenOpen::Skip {
                store.archive(bob, newest, bob, NOW).await.unwrap();
            }
            newest = sent(&store, project, [alice, bob], when_open).await;
            let sql = "SELECT message_id FROM open_key";
            let kept: Vec<MessageId> = store.read("count keys", async |tx| tx.rows(sql, &[]).await).await.unwrap();
            assert_eq!(kept, [newest], "{when_open:?}");
        }
    }
}
