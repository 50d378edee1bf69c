//! The mail about pieces of work: which items there are, and which messages tell how they stand, is noted with each typed
//! message; what these say is read from the messages themselves.

use mail::messages::{Message, PAGE_BYTES};
use mail::work::{MOST_ACKS, MOST_LOOKED_AT, MOST_WORDS, OpenAck, WorkQuery, WorkRecord, WorkStore};

use crate::messages::{BODY, COLUMNS, size_of};
use crate::prelude::*;

#[async_trait]
impl WorkStore for Engine {
    async fn work(&self, query: &WorkQuery) -> Stored<Vec<WorkRecord>> {
        let query = query.clone();
        // Many bodies are read, which would hold up whoever else is served by this thread.
        self.read_long("read the work board", in_job!(|tx| records(tx, &query).await)).await
    }

    async fn work_story(
        &self,
        project: ProjectId,
        id: &str,
        after: Option<MessageId>,
        limit: usize,
    ) -> Stored<Vec<Message>> {
        let sql = format!(
            "SELECT {COLUMNS}, {BODY} FROM message m WHERE m.id IN (
                 SELECT id FROM message INDEXED BY message_by_work WHERE project_id = ?1 AND work_id = ?2 AND id > ?3
                 UNION
                 SELECT id FROM message INDEXED BY message_by_thread WHERE project_id = ?1 AND thread = ?2 AND id > ?3
             ) ORDER BY m.id LIMIT ?4"
        );
        let values = values![project, id, after.map_or(0, |id| id.0), limit];
        let doing = "read the story of a work item";
        self.read(doing, async |tx| tx.page(&sql, values, size_of).await).await
    }

    async fn work_of_thread(&self, project: ProjectId, thread: &str) -> Stored<Option<String>> {
        // Bounded, for this is on the path of a send.
        let sql = "SELECT work_id FROM (
                       SELECT id, work_id FROM message INDEXED BY message_by_thread
                       WHERE project_id = ?1 AND thread = ?2 ORDER BY id DESC LIMIT ?3
                   ) newest WHERE work_id IS NOT NULL ORDER BY id DESC LIMIT 1";
        let values = values![project, thread, MOST_LOOKED_AT];
        self.read("find the work of a thread", async |tx| tx.row(sql, values).await).await
    }

    async fn work_stamp(&self, project: ProjectId) -> Stored<i64> {
        let sql = "SELECT last_message_at + acks FROM project WHERE id = ?1";
        let stamp = self.read("look whether work changed", async |tx| tx.row(sql, values![project]).await).await?;
        Ok(stamp.unwrap_or_default())
    }
}

async fn records(tx: &mut Tx<'_>, query: &WorkQuery) -> Outcome<Vec<WorkRecord>> {
    // One moment, so that an item's words are those that its place in the list comes from.
    tx.begin_snapshot().await?;
    let mut records = Vec::new();
    let mut bytes = 0;
    for (id, newest) in items(tx, query).await? {
        let words = words(tx, query.project, &id).await?;
        bytes += words.iter().map(size_of).sum::<usize>();
        let open_acks = open_acks(tx, query.project, &id).await?;
        records.push(WorkRecord { id, newest, words, open_acks });
        if bytes > PAGE_BYTES {
            break;
        }
    }
    tx.end_snapshot().await?;
    Ok(records)
}

async fn items(tx: &mut Tx<'_>, query: &WorkQuery) -> Outcome<Vec<(String, MessageId)>> {
    let (index, by) = match query.id {
        Some(_) => ("", "work_id = ?4"),
        None => ("INDEXED BY work_by_newest ", "CAST(?4 AS TEXT) IS NULL"),
    };
    let sql = format!(
        "SELECT work_id, newest FROM work {index}WHERE project_id = ?1 AND newest < ?2 AND {by}
         ORDER BY newest DESC LIMIT ?3"
    );
    let values = values![query.project, query.before.map_or(i64::MAX, |id| id.0), query.limit, &query.id];
    tx.rows(&sql, values).await
}

async fn words(tx: &mut Tx<'_>, project: ProjectId, id: &str) -> Outcome<Vec<Message>> {
    let sql = format!(
        "SELECT {COLUMNS}, {BODY} FROM message m WHERE m.id IN (
             SELECT message_id FROM work_word WHERE project_id = ?1 AND work_id = ?2 ORDER BY message_id DESC LIMIT ?3
         ) ORDER BY m.id DESC"
    );
    let mut newest_first = tx.page(&sql, values![project, id, MOST_WORDS], size_of).await?;
    newest_first.reverse();
    Ok(newest_first)
}

async fn open_acks(tx: &mut Tx<'_>, project: ProjectId, id: &str) -> Outcome<Vec<OpenAck>> {
    let sql = "SELECT m.id, a.name FROM message m INDEXED BY message_by_work
               CROSS JOIN delivery d INDEXED BY delivery_by_message ON d.message_id = m.id AND d.role < 2
               CROSS JOIN agent a ON a.id = d.recipient_id
               WHERE m.project_id = ?1 AND m.work_id = ?2 AND m.ack_required = 1 AND d.acked_at IS NULL
               ORDER BY m.id, d.role, d.position LIMIT ?3";
    tx.rows(sql, values![project, id, MOST_ACKS]).await
}

from_row! { OpenAck { message, agent } }
