//! Messages and their deliveries. How a message comes in stands with each engine, which keeps many at once in its own way.
//!
//! Every query for messages selects [`COLUMNS`] and then a body, so that all are read alike. A body that is not wanted is
//! not read from the disk.

pub(crate) mod append;

use std::time::Instant;

use mail::messages::{
    Appended, Delivery, DeliveryState, InboxEntry, InboxQuery, Mark, Message, MessageStore, NewMessage, Parties, Role,
};

use crate::prelude::*;

/// The columns of a message `m`, without the body.
pub(crate) const COLUMNS: &str = "m.id, m.project_id, m.from_name, m.to_names, m.cc_names, m.subject, m.thread, \
     m.reply_to, m.importance, m.ack_required, m.kind, m.work_id, m.door, m.vouched, m.created_at, \
     (SELECT f.problems FROM fault f WHERE f.message_id = m.id)";
/// The body, when it is wanted.
pub(crate) const BODY: &str = "m.body";
/// What stands for the body when it is not.
pub(crate) const NO_BODY: &str = "''";
/// The columns of a delivery `d` that tell how it is with it.
pub(crate) const STATE: &str = "d.role, d.shown_at, d.read_at, d.acked_at, d.ack_note, d.archived_at";

#[async_trait]
impl MessageStore for Engine {
    async fn append(&self, message: &NewMessage) -> Stored<Appended> {
        let message = message.clone();
        if message.json.response.is_some() {
            let home = Home::Project(message.project);
            let keeping = in_job!(|tx| append::append_and_answer(tx, &message).await);
            return self.write("keep a message and answer it", home, keeping).await;
        }
        match self {
            Self::Sqlite(_) => {
                let keeping = in_job!(|tx| Ok(append::append(tx, &[&message]).await?.remove(0)));
                self.write("append a message", Home::Nobody, keeping).await
            }
            Self::Postgres(store) => store.writers.append(message).await,
        }
    }

    async fn message(&self, project: ProjectId, id: MessageId) -> Stored<Option<Message>> {
        let found = self.read("read a message", async |tx| by_id(tx, id).await).await?;
        Ok(found.filter(|message| message.project == project))
    }

    async fn message_from(&self, project: ProjectId, id: MessageId) -> Stored<Option<Message>> {
        let sql = format!(
            "SELECT {COLUMNS}, {BODY} FROM message m CROSS JOIN agent a ON a.id = m.sender_id
             WHERE m.id = ?2 AND m.project_id <> ?1 AND a.project_id = ?1"
        );
        self.read("read a message to another project", async |tx| tx.row(&sql, values![project, id]).await).await
    }

    async fn message_called(&self, project: ProjectId, own_id: &str) -> Stored<Option<Message>> {
        let sql = format!(
            "SELECT {COLUMNS}, {BODY} FROM own_id o CROSS JOIN message m ON m.id = o.message_id
             WHERE o.project_id = ?1 AND o.own_id = ?2"
        );
        self.read("find a message by its author's id", async |tx| tx.row(&sql, values![project, own_id]).await).await
    }

    async fn answer_by(&self, agent: AgentId, message: MessageId) -> Stored<Option<Message>> {
        let sql = format!(
            "SELECT {COLUMNS}, {BODY} FROM message m INDEXED BY message_by_answered
             WHERE m.reply_to = ?2 AND m.sender_id = ?1 ORDER BY m.id LIMIT 1"
        );
        self.read("find an answer", async |tx| tx.row(&sql, values![agent, message]).await).await
    }

    async fn deliveries(&self, id: MessageId) -> Stored<Vec<Delivery>> {
        let found = self.read("read deliveries", async |tx| deliveries(tx, &[id]).await).await?;
        Ok(found.into_iter().map(|(_, delivery)| delivery).collect())
    }

    async fn parties(&self, id: MessageId) -> Stored<Option<Parties>> {
        let sql = "SELECT d.recipient_id, d.role FROM delivery d INDEXED BY delivery_by_message
                   WHERE d.message_id = ?1 ORDER BY d.role, d.position";
        let finding = async |tx: &mut Tx<'_>| {
            let sender = tx.row("SELECT sender_id FROM message WHERE id = ?1", values![id]).await?;
            let Some(sender) = sender else { return Ok(None) };
            Ok(Some(Parties { sender, recipients: tx.rows(sql, values![id]).await? }))
        };
        self.read("find whose a message is", finding).await
    }

    async fn inbox(&self, agent: AgentId, query: &InboxQuery) -> Stored<Vec<InboxEntry>> {
        self.read("read an inbox", async |tx| inbox(tx, agent, query).await).await
    }

    async fn outbox(
        &self,
        agent: AgentId,
        before: Option<MessageId>,
        limit: usize,
        with_bodies: bool,
    ) -> Stored<Vec<Message>> {
        let body = if with_bodies { BODY } else { NO_BODY };
        let sql = format!(
            "SELECT {COLUMNS}, {body} FROM message m INDEXED BY message_by_sender
             WHERE m.sender_id = ?1 AND m.id < ?2 ORDER BY m.id DESC LIMIT ?3"
        );
        let values = values![agent, before.map_or(i64::MAX, |id| id.0), limit];
        self.read("read an outbox", async |tx| tx.page(&sql, values, size_of).await).await
    }

    async fn take_unseen(
        &self,
        agent: AgentId,
        after: Option<MessageId>,
        limit: usize,
        now: Timestamp,
        not_after: Option<Instant>,
    ) -> Stored<Vec<InboxEntry>> {
        // The usual answer is that there is nothing, and must not wait for the disk.
        if limit == 0 || !self.read("look for new mail", async |tx| is_any_unseen(tx, agent, after).await).await? {
            return Ok(Vec::new());
        }
        let taking = in_job!(|tx| {
            // Asked here, where the wait for other writers is over.
            if not_after.is_some_and(|end| Instant::now() > end) {
                return Ok(Vec::new());
            }
            take_unseen(tx, agent, after, limit, now).await
        });
        let put_back = move |taken: Vec<InboxEntry>| {
            let shown = taken.iter().filter(|entry| entry.state.shown_at == Some(now));
            let shown: Vec<_> = shown.map(|entry| *values![agent, entry.message.id, now]).collect();
            (!shown.is_empty()).then(|| in_job!(|tx| put_back(tx, agent, shown).await))
        };
        self.write_for_caller("take new mail", Home::Agent(agent), taking, put_back).await
    }

    async fn give_back(&self, agent: AgentId, messages: &[MessageId], shown_at: Timestamp) -> Stored<bool> {
        if messages.is_empty() {
            return Ok(false);
        }
        let mut messages = messages.to_vec();
        messages.sort_unstable();
        messages.dedup();
        let giving_back = in_job!(|tx| {
            let mut is_unseen = false;
            for id in &messages {
                is_unseen |= tx.execute(PUT_BACK, values![agent, *id, shown_at]).await? > 0;
            }
            if is_unseen {
                tx.wake(agent);
            }
            Ok(is_unseen)
        });
        self.write("give mail back", Home::Agent(agent), giving_back).await
    }

    async fn count_unseen(&self, agent: AgentId, most: usize) -> Stored<usize> {
        let (index, is_new) = UNSEEN;
        let sql = format!(
            "SELECT COUNT(*) FROM (SELECT 1 FROM delivery d INDEXED BY {index} WHERE {is_new} LIMIT ?3) AS unseen"
        );
        let values = values![agent, 0_i64, most];
        let count: i64 = self.read("count new mail", async |tx| tx.only(&sql, values).await).await?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    async fn mark(
        &self,
        agent: AgentId,
        message: MessageId,
        mark: &Mark,
        now: Timestamp,
    ) -> Stored<Option<DeliveryState>> {
        // Marking what is marked so already changes nothing, and need not wait for the disk.
        match self.read("read a delivery", async |tx| state(tx, agent, message).await).await? {
            Some(state) if !mark.is_noted(&state) => {}
            noted_or_none => return Ok(noted_or_none),
        }
        let mark = mark.clone();
        let marking = in_job!(|tx| {
            let known = state(tx, agent, message).await?;
            let Some(mut state) = known.clone().filter(|state| !mark.is_noted(state)) else { return Ok(known) };
            let kind = mark.note(&mut state, now);
            let sql = "UPDATE delivery SET read_at = ?3, acked_at = ?4, ack_note = ?5
                       WHERE recipient_id = ?1 AND message_id = ?2
                       RETURNING (SELECT project_id FROM message WHERE id = ?2)";
            let values = values![agent, message, state.read_at, state.acked_at, &state.ack_note];
            let project = tx.only(sql, values).await?;
            if kind == EventKind::MessageAcknowledged {
                tx.numbers(project).await?.acks += 1;
            }
            tx.record(project, kind, message.0, Some(agent), now).await?;
            Ok(Some(state))
        });
        self.write("mark a message", Home::Agent(agent), marking).await
    }
}

/// The message of that number, with its body.
pub(crate) async fn by_id(tx: &mut Tx<'_>, id: MessageId) -> Outcome<Option<Message>> {
    let sql = format!("SELECT {COLUMNS}, {BODY} FROM message m WHERE m.id = ?1");
    tx.row(&sql, values![id]).await
}

/// Every recipient's delivery of each of these messages, in the order in which recipients are listed.
pub(crate) async fn deliveries(tx: &mut Tx<'_>, ids: &[MessageId]) -> Outcome<Vec<(MessageId, Delivery)>> {
    let sql = format!(
        "SELECT d.message_id, a.name, {STATE} FROM delivery d INDEXED BY delivery_by_message
         CROSS JOIN agent a ON a.id = d.recipient_id WHERE d.message_id = ?1 ORDER BY d.role, d.position"
    );
    tx.rows_many(&sql, ids.iter().map(|id| [Value::from(*id)])).await
}

pub(crate) async fn inbox(tx: &mut Tx<'_>, agent: AgentId, query: &InboxQuery) -> Outcome<Vec<InboxEntry>> {
    let body = if query.with_bodies { BODY } else { NO_BODY };
    let (from, number) = walk(query);
    let mut wanted = String::new();
    if query.unread_only {
        wanted.push_str(" AND d.read_at IS NULL");
    }
    if query.ack_required_only {
        wanted.push_str(" AND d.ack_required = 1");
    }
    let mut values: Vec<Value<'_>> = values![agent, query.before.map_or(i64::MAX, |id| id.0), query.limit].to_vec();
    let narrowed = [
        ("m.thread", Value::from(&query.thread)),
        ("m.work_id", Value::from(&query.about.work_id)),
        ("d.kind", Value::from(query.about.kind)),
    ];
    for (column, value) in narrowed.into_iter().filter(|(_, value)| *value != Value::Null) {
        values.push(value);
        wanted.push_str(&format!(" AND {column} = ?{}", values.len()));
    }
    let sql = format!(
        "SELECT {COLUMNS}, {body}, {STATE} FROM {from}
         WHERE d.recipient_id = ?1 AND d.archived_at IS NULL AND {number} < ?2{wanted}
         ORDER BY {number} DESC LIMIT ?3"
    );
    tx.page(&sql, &values, |entry: &InboxEntry| size_of(&entry.message)).await
}

/// What to walk along, and the column of it that counts.
///
/// It is said here, because it follows from the question and not from statistics: each index holds just what is asked
/// for, so that an empty answer costs nothing however much mail was read.
fn walk(query: &InboxQuery) -> (String, &'static str) {
    let of_thread_or_work = match (&query.thread, &query.about.work_id) {
        (Some(_), _) => Some("message_by_thread"),
        (None, Some(_)) => Some("message_by_work"),
        (None, None) => None,
    };
    if let Some(index) = of_thread_or_work {
        let from = format!(
            "message m INDEXED BY {index} CROSS JOIN delivery d
             ON d.recipient_id = ?1 AND d.message_id = m.id
             AND m.project_id = (SELECT project_id FROM agent WHERE id = ?1)"
        );
        return (from, "m.id");
    }
    let index = match (query.about.kind, query.unread_only, query.ack_required_only) {
        (Some(_), ..) => "INDEXED BY delivery_by_kind ",
        (None, true, _) => "INDEXED BY delivery_unread ",
        (None, false, true) => "INDEXED BY delivery_to_acknowledge ",
        (None, false, false) => "",
    };
    (format!("delivery d {index}CROSS JOIN message m ON m.id = d.message_id"), "d.message_id")
}

async fn state(tx: &mut Tx<'_>, agent: AgentId, message: MessageId) -> Outcome<Option<DeliveryState>> {
    let sql = format!("SELECT {STATE} FROM delivery d WHERE d.recipient_id = ?1 AND d.message_id = ?2");
    Ok(tx.row::<(Role, _)>(&sql, values![agent, message]).await?.map(|(_, state)| state))
}

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
async fn is_any_unseen(tx: &mut Tx<'_>, agent: AgentId, after: Option<MessageId>) -> Outcome<bool> {
    let (index, is_new) = if after.is_some() { UNREAD } else { UNSEEN };
    let sql = format!("SELECT 1 FROM delivery d INDEXED BY {index} WHERE {is_new} LIMIT 1");
    tx.exists(&sql, values![agent, after.map_or(0, |id| id.0)]).await
}

/// Returns the oldest of it, and notes that it was shown: one transaction, so that two who wait for one agent's mail never
/// both get a message.
async fn take_unseen(
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
    let mut taken = tx.page(&sql, values, |entry: &InboxEntry| size_of(&entry.message)).await?;
    let mut shown = Vec::new();
    for entry in taken.iter_mut().filter(|entry| entry.state.shown_at.is_none()) {
        entry.state.shown_at = Some(now);
        shown.push(*values![agent, entry.message.id, now]);
    }
    let sql = "UPDATE delivery SET shown_at = ?3 WHERE recipient_id = ?1 AND message_id = ?2";
    tx.execute_many(sql, shown).await?;
    Ok(taken)
}

const PUT_BACK: &str =
    "UPDATE delivery SET shown_at = NULL WHERE recipient_id = ?1 AND message_id = ?2 AND shown_at = ?3";

/// Notes that what was shown at that time was not shown after all.
async fn put_back(tx: &mut Tx<'_>, agent: AgentId, shown: Vec<[Value<'_>; 3]>) -> Outcome<()> {
    tx.wake(agent);
    tx.execute_many(PUT_BACK, shown).await
}

from_row! {
    Message {
        id, project, from, to, cc, subject, thread, reply_to, importance, ack_required, kind, work_id, door, vouched,
        created_at, problems, body,
    }
    DeliveryState { shown_at, read_at, acked_at, ack_note, archived_at }
    InboxEntry { message, role, state }
    Delivery { recipient, role, state }
}

/// How much a message counts for in a page.
pub(crate) fn size_of(message: &Message) -> usize {
    message.body.len()
}
