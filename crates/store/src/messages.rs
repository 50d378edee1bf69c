//! Messages and their deliveries. How a message comes in stands with each engine, which keeps many at once in its own way.

pub(crate) mod append;
mod rows;
mod unseen;

use std::time::Instant;

use async_trait::async_trait;
use formats::Kind;
use futures_util::FutureExt;
use jiff::Timestamp;
use mail::StoreError;
use mail::events::EventKind;
use mail::ids::{AgentId, MessageId, ProjectId};
use mail::messages::{
    Appended, Delivery, DeliveryState, InboxEntry, InboxQuery, Mark, Message, MessageStore, NewMessage,
};

use crate::Engine;
use crate::error::{Outcome, SqlError};
use crate::job::work;
use crate::row::{Row, Value, values};
use crate::tx::Tx;
pub(crate) use rows::{AFTER_BODY, BODY, COLUMNS, NO_BODY, STATE, delivery_of, message_of, size_of};

#[async_trait]
impl MessageStore for Engine {
    async fn append(&self, message: &NewMessage) -> Result<Appended, StoreError> {
        match self {
            Self::Sqlite(store) => store.append(message.clone()).await,
            Self::Postgres(store) => store.append(message.clone()).await,
        }
    }

    async fn message(&self, project: ProjectId, id: MessageId) -> Result<Option<Message>, StoreError> {
        let found = self.read("read a message", async |tx| by_id(tx, id).await).await?;
        Ok(found.filter(|message| message.project == project))
    }

    async fn deliveries(&self, id: MessageId) -> Result<Vec<Delivery>, StoreError> {
        let found = self.read("read deliveries", async |tx| deliveries(tx, &[id]).await).await?;
        Ok(found.into_iter().map(|(_, delivery)| delivery).collect())
    }

    async fn inbox(&self, query: &InboxQuery) -> Result<Vec<InboxEntry>, StoreError> {
        self.read("read an inbox", async |tx| inbox(tx, query).await).await
    }

    async fn outbox(
        &self,
        agent: AgentId,
        before: Option<MessageId>,
        limit: usize,
        with_bodies: bool,
    ) -> Result<Vec<Message>, StoreError> {
        let body = if with_bodies { BODY } else { NO_BODY };
        let sql = format!(
            "SELECT {COLUMNS}, {body} FROM message m INDEXED BY message_by_sender
             WHERE m.sender_id = ?1 AND m.id < ?2 ORDER BY m.id DESC LIMIT ?3"
        );
        let values = values![agent, before.map_or(i64::MAX, |id| id.0), limit];
        self.read("read an outbox", async |tx| tx.page(&sql, values, message_of, size_of).await).await
    }

    async fn take_unseen(
        &self,
        agent: AgentId,
        after: Option<MessageId>,
        limit: usize,
        now: Timestamp,
        not_after: Option<Instant>,
    ) -> Result<Vec<InboxEntry>, StoreError> {
        // The usual answer is that there is nothing, and must not wait for the disk.
        if limit == 0 || !self.read("look for new mail", async |tx| unseen::is_any(tx, agent, after).await).await? {
            return Ok(Vec::new());
        }
        let taking = work(move |tx| {
            async move {
                // Asked here, where the wait for other writers is over.
                if not_after.is_some_and(|end| Instant::now() > end) {
                    return Ok(Vec::new());
                }
                unseen::take(tx, agent, after, limit, now).await
            }
            .boxed()
        });
        self.write("take new mail", agent, taking).await
    }

    async fn mark(
        &self,
        agent: AgentId,
        message: MessageId,
        mark: &Mark,
        now: Timestamp,
    ) -> Result<Option<DeliveryState>, StoreError> {
        // Marking what is marked so already changes nothing, and need not wait for the disk.
        match self.read("read a delivery", async |tx| state(tx, agent, message).await).await? {
            Some(state) if !mark.is_noted(&state) => {}
            noted_or_none => return Ok(noted_or_none),
        }
        let mark = mark.clone();
        self.write("mark a message", agent, move |tx| note(tx, agent, message, mark, now).boxed()).await
    }
}

/// The message of that number, with its body.
pub(crate) async fn by_id(tx: &mut Tx<'_>, id: MessageId) -> Outcome<Option<Message>> {
    let sql = format!("SELECT {COLUMNS}, {BODY} FROM message m WHERE m.id = ?1");
    tx.row(&sql, values![id], message_of).await
}

/// Every recipient's copy of each of these messages, in the order in which recipients are listed.
pub(crate) async fn deliveries(tx: &mut Tx<'_>, ids: &[MessageId]) -> Outcome<Vec<(MessageId, Delivery)>> {
    let sql = format!(
        "SELECT a.name, {STATE}, d.message_id FROM delivery d INDEXED BY delivery_by_message
         CROSS JOIN agent a ON a.id = d.recipient_id WHERE d.message_id = ?1 ORDER BY d.role, d.position"
    );
    let ids: Vec<Value<'_>> = ids.iter().map(|id| Value::from(*id)).collect();
    tx.rows_many(&sql, 1, &ids, |row| {
        let (role, state) = delivery_of(row, 1)?;
        Ok((row.get(7)?, Delivery { recipient: row.get(0)?, role, state }))
    })
    .await
}

async fn inbox(tx: &mut Tx<'_>, query: &InboxQuery) -> Outcome<Vec<InboxEntry>> {
    let body = if query.with_bodies { BODY } else { NO_BODY };
    let (from, number) = walk(query);
    let mut wanted = String::new();
    if query.unread_only {
        wanted.push_str(" AND d.read_at IS NULL");
    }
    if query.ack_required_only {
        wanted.push_str(" AND d.ack_required = 1");
    }
    let mut values: Vec<Value<'_>> =
        values![query.agent, query.before.map_or(i64::MAX, |id| id.0), query.limit].to_vec();
    let narrowed = [
        ("m.thread", Value::from(&query.thread)),
        ("m.work_id", Value::from(&query.about.work_id)),
        ("d.kind", Value::from(query.about.kind.map(Kind::as_str))),
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
    tx.page(&sql, &values, entry_of, |entry| size_of(&entry.message)).await
}

/// What to walk along, and the column of it that counts.
///
/// It is said here, because it follows from the question and not from statistics: each index holds just what is asked
/// for, so that an empty answer costs nothing however much mail was read.
fn walk(query: &InboxQuery) -> (&'static str, &'static str) {
    match (&query.thread, &query.about.work_id, query.unread_only, query.ack_required_only) {
        (Some(_), ..) => (
            "message m INDEXED BY message_by_thread CROSS JOIN delivery d
             ON d.recipient_id = ?1 AND d.message_id = m.id
             AND m.project_id = (SELECT project_id FROM agent WHERE id = ?1)",
            "m.id",
        ),
        (None, Some(_), ..) => (
            "message m INDEXED BY message_by_work CROSS JOIN delivery d
             ON d.recipient_id = ?1 AND d.message_id = m.id
             AND m.project_id = (SELECT project_id FROM agent WHERE id = ?1)",
            "m.id",
        ),
        (None, None, ..) if query.about.kind.is_some() => {
            ("delivery d INDEXED BY delivery_by_kind CROSS JOIN message m ON m.id = d.message_id", "d.message_id")
        }
        (None, None, true, _) => {
            ("delivery d INDEXED BY delivery_unread CROSS JOIN message m ON m.id = d.message_id", "d.message_id")
        }
        (None, None, false, true) => (
            "delivery d INDEXED BY delivery_to_acknowledge CROSS JOIN message m ON m.id = d.message_id",
            "d.message_id",
        ),
        (None, None, false, false) => ("delivery d CROSS JOIN message m ON m.id = d.message_id", "d.message_id"),
    }
}

fn entry_of(row: &Row<'_>) -> Outcome<InboxEntry> {
    let (role, state) = delivery_of(row, AFTER_BODY)?;
    Ok(InboxEntry { message: message_of(row)?, role, state })
}

async fn state(tx: &mut Tx<'_>, agent: AgentId, message: MessageId) -> Outcome<Option<DeliveryState>> {
    let sql = format!("SELECT {STATE} FROM delivery d WHERE d.recipient_id = ?1 AND d.message_id = ?2");
    tx.row(&sql, values![agent, message], |row| delivery_of(row, 0).map(|(_, state)| state)).await
}

async fn note(
    tx: &mut Tx<'_>,
    agent: AgentId,
    message: MessageId,
    mark: Mark,
    now: Timestamp,
) -> Outcome<Option<DeliveryState>> {
    let known = state(tx, agent, message).await?;
    let Some(mut state) = known.clone().filter(|state| !mark.is_noted(state)) else { return Ok(known) };
    let kind = mark.note(&mut state, now);
    let sql = "UPDATE delivery SET read_at = ?3, acked_at = ?4, ack_note = ?5
               WHERE recipient_id = ?1 AND message_id = ?2
               RETURNING (SELECT project_id FROM message WHERE id = ?2)";
    let values = values![agent, message, state.read_at, state.acked_at, &state.ack_note];
    let project = tx.one(sql, values).await?.ok_or_else(|| SqlError::Unknown("a delivery is gone".to_owned()))?;
    if kind == EventKind::MessageAcknowledged {
        tx.count_ack(project).await?;
    }
    tx.record(project, kind, message.0, Some(agent), now).await?;
    Ok(Some(state))
}
