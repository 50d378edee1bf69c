//! Messages and their deliveries, in PostgreSQL.

pub(super) mod append;

use std::time::Instant;

use async_trait::async_trait;
use deadpool_postgres::GenericClient;
use formats::Kind;
use futures_util::FutureExt;
use jiff::Timestamp;
use mail::StoreError;
use mail::events::EventKind;
use mail::ids::{AgentId, MessageId, ProjectId};
use mail::messages::{
    Appended, Delivery, DeliveryState, InboxEntry, InboxQuery, Mark, Message, MessageStore, NewMessage,
};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::desk::Desk;
use super::rows::{
    self, AFTER_BODY, BODY, COLUMNS, NO_BODY, Outcome, STATE, delivery_of, limit_of, message_of, micros, size_of,
};
use super::{Postgres, taken};

/// Mail that was neither read nor shown nor put away.
const UNSEEN: &str = "d.recipient_id = $1 AND d.message_id > $2
     AND d.read_at IS NULL AND d.archived_at IS NULL AND d.shown_at IS NULL";
/// Mail that was neither read nor put away.
const UNREAD: &str = "d.recipient_id = $1 AND d.message_id > $2 AND d.read_at IS NULL AND d.archived_at IS NULL";

#[async_trait]
impl MessageStore for Postgres {
    async fn append(&self, message: &NewMessage) -> Result<Appended, StoreError> {
        self.writers.append(message.clone()).await
    }

    async fn message(&self, project: ProjectId, id: MessageId) -> Result<Option<Message>, StoreError> {
        let sql = format!("SELECT {COLUMNS}, {BODY} FROM message m WHERE m.id = $1 AND m.project_id = $2");
        Ok(self.read_as("read a message", &sql, &[&id.0, &project.0], message_of).await?.into_iter().next())
    }

    async fn deliveries(&self, id: MessageId) -> Result<Vec<Delivery>, StoreError> {
        let copies = async { deliveries(&taken(&self.readers).await?, &[id.0]).await };
        Ok(self.answered("read deliveries", copies).await?.into_iter().map(|(_, copy)| copy).collect())
    }

    async fn inbox(&self, query: &InboxQuery) -> Result<Vec<InboxEntry>, StoreError> {
        let body = if query.with_bodies { BODY } else { NO_BODY };
        let (before, limit) = (query.before.map_or(i64::MAX, |id| id.0), limit_of(query.limit));
        let kind = query.about.kind.map(Kind::as_str);
        let mut wanted = String::new();
        if query.unread_only {
            wanted.push_str(" AND d.read_at IS NULL");
        }
        if query.ack_required_only {
            wanted.push_str(" AND d.ack_required");
        }
        let mut values: Vec<&(dyn ToSql + Sync)> = vec![&query.agent.0, &before, &limit];
        let mut only = |column: &str, value| {
            values.push(value);
            wanted.push_str(&format!(" AND {column} = ${}", values.len()));
        };
        if let Some(thread) = &query.thread {
            only("m.project_id = (SELECT project_id FROM agent WHERE id = $1) AND m.thread", thread);
        }
        if let Some(work) = &query.about.work_id {
            only("m.project_id = (SELECT project_id FROM agent WHERE id = $1) AND m.work_id", work);
        }
        if let Some(kind) = &kind {
            only("d.kind", kind);
        }
        let sql = format!(
            "SELECT {COLUMNS}, {body}, {STATE} FROM delivery d JOIN message m ON m.id = d.message_id
             WHERE d.recipient_id = $1 AND d.archived_at IS NULL AND d.message_id < $2{wanted}
             ORDER BY d.message_id DESC LIMIT $3"
        );
        self.read_page("read an inbox", &sql, &values, entry_of, |entry| size_of(&entry.message)).await
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
            "SELECT {COLUMNS}, {body} FROM message m WHERE m.sender_id = $1 AND m.id < $2 ORDER BY m.id DESC LIMIT $3"
        );
        let before = before.map_or(i64::MAX, |id| id.0);
        self.read_page("read an outbox", &sql, &[&agent.0, &before, &limit_of(limit)], message_of, size_of).await
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
        let is_new = if after.is_some() { UNREAD } else { UNSEEN };
        let sql = format!("SELECT 1 FROM delivery d WHERE {is_new} LIMIT 1");
        let values: [&(dyn ToSql + Sync); 2] = [&agent.0, &after.map_or(0, |id| id.0)];
        if limit == 0 || self.read_as("look for new mail", &sql, &values, |_| Ok(())).await?.is_empty() {
            return Ok(Vec::new());
        }
        self.write_for("take new mail", agent, move |desk| {
            async move {
                // Asked here, where the wait for other writers is over.
                if not_after.is_some_and(|end| Instant::now() > end) {
                    return Ok(Vec::new());
                }
                take(desk, agent, after, limit, now).await
            }
            .boxed()
        })
        .await
    }

    async fn mark(
        &self,
        agent: AgentId,
        message: MessageId,
        mark: &Mark,
        now: Timestamp,
    ) -> Result<Option<DeliveryState>, StoreError> {
        // Marking what is marked so already changes nothing, and need not wait for the disk.
        let values: [&(dyn ToSql + Sync); 2] = [&agent.0, &message.0];
        let state = self.read_as("read a delivery", &state_sql(), &values, state_of).await?.into_iter().next();
        match state {
            Some(state) if !mark.is_noted(&state) => {}
            noted_or_none => return Ok(noted_or_none),
        }
        let mark = mark.clone();
        self.write_for("mark a message", agent, move |desk| note(desk, agent, message, mark, now).boxed()).await
    }
}

/// The copies of messages, in the order in which recipients are listed.
pub(super) async fn deliveries(client: &impl GenericClient, ids: &[i64]) -> Outcome<Vec<(i64, Delivery)>> {
    let sql = format!(
        "SELECT a.name, {STATE}, d.message_id FROM delivery d JOIN agent a ON a.id = d.recipient_id
         WHERE d.message_id = ANY ($1) ORDER BY d.message_id, d.role, d.position"
    );
    let copy_of = |row: &Row| {
        let (role, state) = delivery_of(row, 1)?;
        Ok((row.try_get(7)?, Delivery { recipient: row.try_get(0)?, role, state }))
    };
    rows::rows(client, &sql, &[&ids]).await?.iter().map(copy_of).collect()
}

fn entry_of(row: &Row) -> Outcome<InboxEntry> {
    let (role, state) = delivery_of(row, AFTER_BODY)?;
    Ok(InboxEntry { message: message_of(row)?, role, state })
}

/// Returns the oldest of what is new, and notes that it was shown. The project is locked, so that each message goes to one.
async fn take(
    desk: &Desk,
    agent: AgentId,
    after: Option<MessageId>,
    limit: usize,
    now: Timestamp,
) -> Outcome<Vec<InboxEntry>> {
    let is_new = if after.is_some() { UNREAD } else { UNSEEN };
    let sql = format!(
        "SELECT {COLUMNS}, {BODY}, {STATE} FROM delivery d JOIN message m ON m.id = d.message_id
         WHERE {is_new} ORDER BY d.message_id LIMIT $3"
    );
    let (after, limit) = (after.map_or(0, |id| id.0), limit_of(limit));
    let mut taken =
        rows::page(&*desk.client, &sql, &[&agent.0, &after, &limit], entry_of, |entry| size_of(&entry.message)).await?;
    let mut shown = Vec::new();
    for entry in taken.iter_mut().filter(|entry| entry.state.shown_at.is_none()) {
        entry.state.shown_at = Some(now);
        shown.push(entry.message.id.0);
    }
    desk.execute(
        "UPDATE delivery SET shown_at = $3 WHERE recipient_id = $1 AND message_id = ANY ($2)",
        &[&agent.0, &shown, &now.as_microsecond()],
    )
    .await?;
    Ok(taken)
}

fn state_sql() -> String {
    format!("SELECT {STATE} FROM delivery d WHERE d.recipient_id = $1 AND d.message_id = $2")
}

fn state_of(row: &Row) -> Outcome<DeliveryState> {
    delivery_of(row, 0).map(|(_, state)| state)
}

async fn note(
    desk: &mut Desk,
    agent: AgentId,
    message: MessageId,
    mark: Mark,
    now: Timestamp,
) -> Outcome<Option<DeliveryState>> {
    let rows = desk.rows(&state_sql(), &[&agent.0, &message.0]).await?;
    let state = rows.first().map(state_of).transpose()?;
    let Some(mut state) = state.clone().filter(|state| !mark.is_noted(state)) else { return Ok(state) };
    let kind = mark.note(&mut state, now);
    let project = desk
        .changed_rows(
            "UPDATE delivery SET read_at = $3, acked_at = $4, ack_note = $5
             WHERE recipient_id = $1 AND message_id = $2
             RETURNING (SELECT project_id FROM message WHERE id = $2)",
            &[&agent.0, &message.0, &micros(state.read_at), &micros(state.acked_at), &state.ack_note],
        )
        .await?;
    let project = ProjectId(rows::only(&project)?.unwrap_or_default());
    desk.numbers(project)?.acks += i64::from(kind == EventKind::MessageAcknowledged);
    desk.record(project, kind, message.0, Some(agent), now)?;
    Ok(Some(state))
}
