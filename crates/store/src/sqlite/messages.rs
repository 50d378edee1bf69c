//! Messages and their deliveries, in SQLite.

mod append;
pub(super) mod rows;
mod unseen;

pub(super) use append::insert;

use std::time::Instant;

use async_trait::async_trait;
use formats::Kind;
use jiff::Timestamp;
use mail::StoreError;
use mail::events::EventKind;
use mail::ids::{AgentId, MessageId, ProjectId};
use mail::messages::{
    Appended, Delivery, DeliveryState, InboxEntry, InboxQuery, Mark, Message, MessageStore, NewMessage,
};
use rusqlite::{Connection, OptionalExtension, Row, ToSql};

use super::events::record;
use super::{Sqlite, limit_of};
use rows::{AFTER_BODY, BODY, COLUMNS, NO_BODY, STATE, delivery_of, message_of, page, page_of};

#[async_trait]
impl MessageStore for Sqlite {
    async fn append(&self, message: &NewMessage) -> Result<Appended, StoreError> {
        let message = message.clone();
        self.write("append a message", move |desk| append::append(desk, message)).await
    }

    async fn message(&self, project: ProjectId, id: MessageId) -> Result<Option<Message>, StoreError> {
        let found = self.read("read a message", |connection| by_id(connection, id))?;
        Ok(found.filter(|message| message.project == project))
    }

    async fn deliveries(&self, id: MessageId) -> Result<Vec<Delivery>, StoreError> {
        self.read("read deliveries", |connection| deliveries(connection, id))
    }

    async fn inbox(&self, query: &InboxQuery) -> Result<Vec<InboxEntry>, StoreError> {
        self.read("read an inbox", |connection| inbox(connection, query))
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
        self.read("read an outbox", |connection| {
            let values = (agent.0, before.map_or(i64::MAX, |id| id.0), limit_of(limit));
            page_of(&mut *connection.prepare_cached(&sql)?, values)
        })
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
        if limit == 0 || !self.read("look for new mail", |connection| unseen::is_any(connection, agent, after))? {
            return Ok(Vec::new());
        }
        self.write("take new mail", move |desk| {
            // Asked here, where the wait for other writers is over.
            if not_after.is_some_and(|end| Instant::now() > end) {
                return Ok(Vec::new());
            }
            unseen::take(desk.connection, agent, after, limit, now)
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
        match self.read("read a delivery", |connection| state(connection, agent, message))? {
            Some(state) if !mark.is_noted(&state) => {}
            noted_or_none => return Ok(noted_or_none),
        }
        let mark = mark.clone();
        self.write("mark a message", move |desk| note(desk.connection, agent, message, mark, now)).await
    }
}

/// The message of that number, with its body.
pub(super) fn by_id(connection: &Connection, id: MessageId) -> rusqlite::Result<Option<Message>> {
    let sql = format!("SELECT {COLUMNS}, {BODY} FROM message m WHERE m.id = ?1");
    connection.prepare_cached(&sql)?.query_row([id.0], message_of).optional()
}

/// Every recipient's copy, in the order in which recipients are listed.
pub(super) fn deliveries(connection: &Connection, id: MessageId) -> rusqlite::Result<Vec<Delivery>> {
    let sql = format!(
        "SELECT a.name, {STATE} FROM delivery d INDEXED BY delivery_by_message
         CROSS JOIN agent a ON a.id = d.recipient_id WHERE d.message_id = ?1 ORDER BY d.role, d.position"
    );
    connection
        .prepare_cached(&sql)?
        .query_map([id.0], |row| {
            let (role, state) = delivery_of(row, 1)?;
            Ok(Delivery { recipient: row.get(0)?, role, state })
        })?
        .collect()
}

fn inbox(connection: &Connection, query: &InboxQuery) -> rusqlite::Result<Vec<InboxEntry>> {
    let body = if query.with_bodies { BODY } else { NO_BODY };
    let (from, number) = walk(query);
    let mut wanted = String::new();
    if query.unread_only {
        wanted.push_str(" AND d.read_at IS NULL");
    }
    if query.ack_required_only {
        wanted.push_str(" AND d.ack_required = 1");
    }
    let (before, limit) = (query.before.map_or(i64::MAX, |id| id.0), limit_of(query.limit));
    let kind = query.about.kind.map(Kind::as_str);
    let mut values: Vec<&dyn ToSql> = vec![&query.agent.0, &before, &limit];
    let mut only = |column: &str, value| {
        values.push(value);
        wanted.push_str(&format!(" AND {column} = ?{}", values.len()));
    };
    if let Some(thread) = &query.thread {
        only("m.thread", thread);
    }
    if let Some(work) = &query.about.work_id {
        only("m.work_id", work);
    }
    if let Some(kind) = &kind {
        only("d.kind", kind);
    }
    let sql = format!(
        "SELECT {COLUMNS}, {body}, {STATE} FROM {from}
         WHERE d.recipient_id = ?1 AND d.archived_at IS NULL AND {number} < ?2{wanted}
         ORDER BY {number} DESC LIMIT ?3"
    );
    page(connection.prepare_cached(&sql)?.query_map(values.as_slice(), entry_of)?, |entry| entry.message.body.len())
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

fn entry_of(row: &Row<'_>) -> rusqlite::Result<InboxEntry> {
    let (role, state) = delivery_of(row, AFTER_BODY)?;
    Ok(InboxEntry { message: message_of(row)?, role, state })
}

fn state(connection: &Connection, agent: AgentId, message: MessageId) -> rusqlite::Result<Option<DeliveryState>> {
    let sql = format!("SELECT {STATE} FROM delivery d WHERE d.recipient_id = ?1 AND d.message_id = ?2");
    connection
        .prepare_cached(&sql)?
        .query_row((agent.0, message.0), |row| delivery_of(row, 0).map(|(_, state)| state))
        .optional()
}

fn note(
    connection: &Connection,
    agent: AgentId,
    message: MessageId,
    mark: Mark,
    now: Timestamp,
) -> rusqlite::Result<Option<DeliveryState>> {
    let Some(mut state) = state(connection, agent, message)?.filter(|state| !mark.is_noted(state)) else {
        return self::state(connection, agent, message);
    };
    let kind = mark.note(&mut state, now);
    let micros = |time: Option<Timestamp>| time.map(Timestamp::as_microsecond);
    connection
        .prepare_cached(
            "UPDATE delivery SET read_at = ?3, acked_at = ?4, ack_note = ?5 WHERE recipient_id = ?1 AND message_id = ?2",
        )?
        .execute((agent.0, message.0, micros(state.read_at), micros(state.acked_at), &state.ack_note))?;
    let given = i64::from(kind == EventKind::MessageAcknowledged);
    let project = connection
        .prepare_cached(
            "UPDATE project SET acks = acks + ?2 WHERE id = (SELECT project_id FROM message WHERE id = ?1)
             RETURNING id",
        )?
        .query_row((message.0, given), |row| row.get(0).map(ProjectId))?;
    record(connection, project, kind, message.0, Some(agent), now)?;
    Ok(Some(state))
}
