//! The mail about pieces of work, in SQLite: which items there are, and which messages tell how they stand, is noted
//! with each typed message; what these say is read from the messages themselves.

use async_trait::async_trait;
use mail::StoreError;
use mail::ids::{MessageId, ProjectId};
use mail::messages::{Message, PAGE_BYTES};
use mail::work::{MOST_ACKS, MOST_LOOKED_AT, MOST_WORDS, OpenAck, WorkQuery, WorkRecord, WorkStore};
use rusqlite::{Connection, OptionalExtension};

use super::messages::rows::{BODY, COLUMNS, page_of};
use super::{Sqlite, limit_of};
use crate::placed::Placed;

#[async_trait]
impl WorkStore for Sqlite {
    async fn work(&self, query: &WorkQuery) -> Result<Vec<WorkRecord>, StoreError> {
        let query = query.clone();
        // Many bodies are read, which would hold up whoever else is served by this thread.
        self.searchers.run("read the work board", move |connection| records(connection, &query)).await
    }

    async fn work_story(
        &self,
        project: ProjectId,
        id: &str,
        after: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Message>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, {BODY} FROM message m WHERE m.id IN (
                 SELECT id FROM message INDEXED BY message_by_work WHERE project_id = ?1 AND work_id = ?2 AND id > ?3
                 UNION
                 SELECT id FROM message INDEXED BY message_by_thread WHERE project_id = ?1 AND thread = ?2 AND id > ?3
             ) ORDER BY m.id LIMIT ?4"
        );
        self.read("read the story of a work item", |connection| {
            let values = (project.0, id, after.map_or(0, |id| id.0), limit_of(limit));
            page_of(&mut *connection.prepare_cached(&sql)?, values)
        })
    }

    async fn work_of_thread(&self, project: ProjectId, thread: &str) -> Result<Option<String>, StoreError> {
        // Bounded, for this is on the path of a send.
        self.read("find the work of a thread", |connection| {
            connection
                .prepare_cached(
                    "SELECT work_id FROM (
                         SELECT id, work_id FROM message INDEXED BY message_by_thread
                         WHERE project_id = ?1 AND thread = ?2 ORDER BY id DESC LIMIT ?3
                     ) WHERE work_id IS NOT NULL ORDER BY id DESC LIMIT 1",
                )?
                .query_row((project.0, thread, limit_of(MOST_LOOKED_AT)), |row| row.get(0))
                .optional()
        })
    }

    async fn work_stamp(&self, project: ProjectId) -> Result<i64, StoreError> {
        self.read("look whether work changed", |connection| {
            connection
                .prepare_cached("SELECT last_message_at + acks FROM project WHERE id = ?1")?
                .query_row([project.0], |row| row.get(0))
        })
    }
}

/// Notes what a typed message says of the work, in the transaction that keeps the message.
pub(super) fn hear(connection: &Connection, message: &Placed<'_>) -> rusqlite::Result<()> {
    let (Some(kind), Some(work_id)) = (message.kind, message.work_id) else { return Ok(()) };
    let place = if message.is_passing { 0 } else { message.id.0 };
    connection
        .prepare_cached(
            "INSERT INTO work (project_id, work_id, newest) VALUES (?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET newest = excluded.newest",
        )?
        .execute((message.project.0, work_id, message.id.0))?;
    connection
        .prepare_cached(
            "INSERT INTO work_word (project_id, work_id, kind, sender_id, place, message_id)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET message_id = excluded.message_id",
        )?
        .execute((message.project.0, work_id, kind, message.sender.0, place, message.id.0))?;
    Ok(())
}

fn records(connection: &Connection, query: &WorkQuery) -> rusqlite::Result<Vec<WorkRecord>> {
    // One transaction, so that an item's words are those that its place in the list comes from.
    let tx = connection.unchecked_transaction()?;
    let mut records = Vec::new();
    let mut bytes = 0;
    for (id, newest) in items(&tx, query)? {
        let words = words(&tx, query.project, &id)?;
        bytes += words.iter().map(|word| word.body.len()).sum::<usize>();
        let open_acks = open_acks(&tx, query.project, &id)?;
        records.push(WorkRecord { id, newest, words, open_acks });
        if bytes > PAGE_BYTES {
            break;
        }
    }
    Ok(records)
}

fn items(connection: &Connection, query: &WorkQuery) -> rusqlite::Result<Vec<(String, MessageId)>> {
    let (index, by) = match query.id {
        Some(_) => ("", "work_id = ?4"),
        None => ("INDEXED BY work_by_newest", "?4 IS NULL"),
    };
    let sql = format!(
        "SELECT work_id, newest FROM work {index} WHERE project_id = ?1 AND newest < ?2 AND {by}
         ORDER BY newest DESC LIMIT ?3"
    );
    let values =
        (query.project.0, query.before.map_or(i64::MAX, |id| id.0), limit_of(query.limit), query.id.as_deref());
    connection.prepare_cached(&sql)?.query_map(values, |row| Ok((row.get(0)?, row.get(1).map(MessageId)?)))?.collect()
}

fn words(connection: &Connection, project: ProjectId, id: &str) -> rusqlite::Result<Vec<Message>> {
    let sql = format!(
        "SELECT {COLUMNS}, {BODY} FROM message m WHERE m.id IN (
             SELECT message_id FROM work_word WHERE project_id = ?1 AND work_id = ?2 ORDER BY message_id DESC LIMIT ?3
         ) ORDER BY m.id DESC"
    );
    let mut newest_first = page_of(&mut *connection.prepare_cached(&sql)?, (project.0, id, limit_of(MOST_WORDS)))?;
    newest_first.reverse();
    Ok(newest_first)
}

fn open_acks(connection: &Connection, project: ProjectId, id: &str) -> rusqlite::Result<Vec<OpenAck>> {
    connection
        .prepare_cached(
            "SELECT m.id, a.name FROM message m INDEXED BY message_by_work
             CROSS JOIN delivery d INDEXED BY delivery_by_message ON d.message_id = m.id AND d.role < 2
             CROSS JOIN agent a ON a.id = d.recipient_id
             WHERE m.project_id = ?1 AND m.work_id = ?2 AND m.ack_required = 1 AND d.acked_at IS NULL
             ORDER BY m.id, d.role, d.position LIMIT ?3",
        )?
        .query_map((project.0, id, limit_of(MOST_ACKS)), |row| {
            Ok(OpenAck { message: MessageId(row.get(0)?), agent: row.get(1)? })
        })?
        .collect()
}
