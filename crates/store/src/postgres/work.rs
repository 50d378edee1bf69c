//! The mail about pieces of work, in PostgreSQL: which items there are, and which messages tell how they stand, is noted
//! with each typed message; what these say is read from the messages themselves.

use std::collections::BTreeMap;

use async_trait::async_trait;
use deadpool_postgres::{GenericClient, Pool};
use futures_util::FutureExt;
use mail::StoreError;
use mail::ids::{MessageId, ProjectId};
use mail::messages::{Message, PAGE_BYTES};
use mail::work::{MOST_ACKS, MOST_LOOKED_AT, MOST_WORDS, OpenAck, WorkQuery, WorkRecord, WorkStore};
use tokio_postgres::Row;

use super::desk::Desk;
use super::rows::{self, BODY, COLUMNS, Outcome, limit_of, message_of, size_of};
use super::{Postgres, taken};
use crate::placed::Placed;

#[async_trait]
impl WorkStore for Postgres {
    async fn work(&self, query: &WorkQuery) -> Result<Vec<WorkRecord>, StoreError> {
        self.answered("read the work board", records(&self.searchers, query).map(rows::nothing_has_nul)).await
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
                 SELECT id FROM message WHERE project_id = $1 AND work_id = $2 AND id > $3
                 UNION
                 SELECT id FROM message WHERE project_id = $1 AND thread = $2 AND id > $3
             ) ORDER BY m.id LIMIT $4"
        );
        let after = after.map_or(0, |id| id.0);
        let values: super::Values<'_> = &[&project.0, &id, &after, &limit_of(limit)];
        self.read_page("read the story of a work item", &sql, values, message_of, size_of).await
    }

    async fn work_of_thread(&self, project: ProjectId, thread: &str) -> Result<Option<String>, StoreError> {
        // Bounded, for this is on the path of a send.
        let sql = "SELECT work_id FROM (
                       SELECT id, work_id FROM message
                       WHERE project_id = $1 AND thread = $2 ORDER BY id DESC LIMIT $3
                   ) newest WHERE work_id IS NOT NULL ORDER BY id DESC LIMIT 1";
        let values: super::Values<'_> = &[&project.0, &thread, &limit_of(MOST_LOOKED_AT)];
        let found = self.read_as("find the work of a thread", sql, values, |row| Ok(row.try_get(0)?)).await?;
        Ok(found.into_iter().next())
    }

    async fn work_stamp(&self, project: ProjectId) -> Result<i64, StoreError> {
        let sql = "SELECT last_message_at + acks FROM project WHERE id = $1";
        let stamps = self.read_as("look whether work changed", sql, &[&project.0], |row| Ok(row.try_get(0)?)).await?;
        Ok(stamps.first().copied().unwrap_or_default())
    }
}

/// Notes what typed messages say of the work, in the transaction that keeps the messages.
pub(super) async fn hear(desk: &Desk, messages: &[Placed<'_>]) -> Outcome<()> {
    let (mut newest, mut words) = (BTreeMap::new(), BTreeMap::new());
    for message in messages {
        let (Some(kind), Some(work)) = (message.kind, message.work_id) else { continue };
        let place = if message.is_passing { 0 } else { message.id.0 };
        // The last one counts: a statement may write a row only once.
        newest.insert((message.project.0, work), message.id.0);
        words.insert((message.project.0, work, kind, message.sender.0, place), message.id.0);
    }
    if newest.is_empty() {
        return Ok(());
    }
    let projects: Vec<i64> = newest.keys().map(|(project, _)| *project).collect();
    let works: Vec<&str> = newest.keys().map(|(_, work)| *work).collect();
    let ids: Vec<i64> = newest.values().copied().collect();
    desk.execute(
        "INSERT INTO work (project_id, work_id, newest) SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[])
         ON CONFLICT (project_id, work_id) DO UPDATE SET newest = excluded.newest",
        &[&projects, &works, &ids],
    )
    .await?;
    let projects: Vec<i64> = words.keys().map(|(project, ..)| *project).collect();
    let works: Vec<&str> = words.keys().map(|(_, work, ..)| *work).collect();
    let kinds: Vec<&str> = words.keys().map(|(_, _, kind, ..)| *kind).collect();
    let senders: Vec<i64> = words.keys().map(|(_, _, _, sender, _)| *sender).collect();
    let places: Vec<i64> = words.keys().map(|(.., place)| *place).collect();
    let ids: Vec<i64> = words.values().copied().collect();
    desk.execute(
        "INSERT INTO work_word (project_id, work_id, kind, sender_id, place, message_id)
         SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[])
         ON CONFLICT (project_id, work_id, kind, sender_id, place) DO UPDATE SET message_id = excluded.message_id",
        &[&projects, &works, &kinds, &senders, &places, &ids],
    )
    .await
    .map(drop)
}

async fn records(searchers: &Pool, query: &WorkQuery) -> Outcome<Vec<WorkRecord>> {
    let mut client = taken(searchers).await?;
    // One snapshot, so that an item's words are those that its place in the list comes from.
    let snapshot = rows::snapshot(&mut client).await?;
    let mut records = Vec::new();
    let mut bytes = 0;
    for (id, newest) in items(&snapshot, query).await? {
        let words = words(&snapshot, query.project, &id).await?;
        bytes += words.iter().map(|word| word.body.len()).sum::<usize>();
        let open_acks = open_acks(&snapshot, query.project, &id).await?;
        records.push(WorkRecord { id, newest, words, open_acks });
        if bytes > PAGE_BYTES {
            break;
        }
    }
    Ok(records)
}

async fn items(client: &impl GenericClient, query: &WorkQuery) -> Outcome<Vec<(String, MessageId)>> {
    let sql = "SELECT work_id, newest FROM work
               WHERE project_id = $1 AND newest < $2 AND ($4::text IS NULL OR work_id = $4)
               ORDER BY newest DESC LIMIT $3";
    let before = query.before.map_or(i64::MAX, |id| id.0);
    let found = rows::rows(client, sql, &[&query.project.0, &before, &limit_of(query.limit), &query.id]).await?;
    found.iter().map(|row| Ok((row.try_get(0)?, MessageId(row.try_get(1)?)))).collect()
}

async fn words(client: &impl GenericClient, project: ProjectId, id: &str) -> Outcome<Vec<Message>> {
    let sql = format!(
        "SELECT {COLUMNS}, {BODY} FROM message m WHERE m.id IN (
             SELECT message_id FROM work_word WHERE project_id = $1 AND work_id = $2 ORDER BY message_id DESC LIMIT $3
         ) ORDER BY m.id DESC"
    );
    let values: super::Values<'_> = &[&project.0, &id, &limit_of(MOST_WORDS)];
    let mut newest_first = rows::page(client, &sql, values, message_of, size_of).await?;
    newest_first.reverse();
    Ok(newest_first)
}

async fn open_acks(client: &impl GenericClient, project: ProjectId, id: &str) -> Outcome<Vec<OpenAck>> {
    let sql = "SELECT m.id, a.name FROM message m
               JOIN delivery d ON d.message_id = m.id AND d.role < 2 JOIN agent a ON a.id = d.recipient_id
               WHERE m.project_id = $1 AND m.work_id = $2 AND m.ack_required AND d.acked_at IS NULL
               ORDER BY m.id, d.role, d.position LIMIT $3";
    let open_ack = |row: &Row| Ok(OpenAck { message: MessageId(row.try_get(0)?), agent: row.try_get(1)? });
    rows::rows(client, sql, &[&project.0, &id, &limit_of(MOST_ACKS)]).await?.iter().map(open_ack).collect()
}
