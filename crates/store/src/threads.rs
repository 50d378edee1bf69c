//! Threads: a walk along one index.

use mail::messages::Message;
use mail::threads::ThreadStore;

use crate::messages::{BODY, COLUMNS, NO_BODY, size_of};
use crate::prelude::*;

#[async_trait]
impl ThreadStore for Engine {
    async fn thread(
        &self,
        project: ProjectId,
        thread: &str,
        after: Option<MessageId>,
        limit: usize,
        with_bodies: bool,
    ) -> Stored<Vec<Message>> {
        let body = if with_bodies { BODY } else { NO_BODY };
        let sql = format!(
            "SELECT {COLUMNS}, {body} FROM message m INDEXED BY message_by_thread
             WHERE m.project_id = ?1 AND m.thread = ?2 AND m.id > ?3 ORDER BY m.id LIMIT ?4"
        );
        let values = values![project, thread, after.map_or(0, |id| id.0), limit];
        self.read("read a thread", async |tx| tx.page(&sql, values, size_of).await).await
    }

    async fn thread_tail(
        &self,
        project: ProjectId,
        thread: &str,
        before: Option<MessageId>,
        limit: usize,
    ) -> Stored<Vec<Message>> {
        let sql = format!(
            "SELECT {COLUMNS}, {BODY} FROM message m INDEXED BY message_by_thread
             WHERE m.project_id = ?1 AND m.thread = ?2 AND m.id < ?3 ORDER BY m.id DESC LIMIT ?4"
        );
        let values = values![project, thread, before.map_or(i64::MAX, |id| id.0), limit];
        let doing = "read the end of a thread";
        let mut newest_first = self.read(doing, async |tx| tx.page(&sql, values, size_of).await).await?;
        newest_first.reverse();
        Ok(newest_first)
    }

    async fn thread_length(&self, project: ProjectId, thread: &str) -> Stored<usize> {
        let sql = "SELECT count(*) FROM message INDEXED BY message_by_thread WHERE project_id = ?1 AND thread = ?2";
        let length = self.read("measure a thread", async |tx| tx.row(sql, values![project, thread]).await).await?;
        Ok(length.unwrap_or_default())
    }
}
