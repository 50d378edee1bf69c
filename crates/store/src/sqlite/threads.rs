//! Threads, in SQLite: a walk along one index.

use async_trait::async_trait;
use mail::StoreError;
use mail::ids::{MessageId, ProjectId};
use mail::messages::Message;
use mail::threads::ThreadStore;

use super::messages::rows::{BODY, COLUMNS, NO_BODY, page_of};
use super::{Sqlite, limit_of};

#[async_trait]
impl ThreadStore for Sqlite {
    async fn thread(
        &self,
        project: ProjectId,
        thread: &str,
        after: Option<MessageId>,
        limit: usize,
        with_bodies: bool,
    ) -> Result<Vec<Message>, StoreError> {
        let body = if with_bodies { BODY } else { NO_BODY };
        let sql = format!(
            "SELECT {COLUMNS}, {body} FROM message m INDEXED BY message_by_thread
             WHERE m.project_id = ?1 AND m.thread = ?2 AND m.id > ?3 ORDER BY m.id LIMIT ?4"
        );
        self.read("read a thread", |connection| {
            let values = (project.0, thread, after.map_or(0, |id| id.0), limit_of(limit));
            page_of(&mut *connection.prepare_cached(&sql)?, values)
        })
    }

    async fn thread_tail(
        &self,
        project: ProjectId,
        thread: &str,
        before: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Message>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, {BODY} FROM message m INDEXED BY message_by_thread
             WHERE m.project_id = ?1 AND m.thread = ?2 AND m.id < ?3 ORDER BY m.id DESC LIMIT ?4"
        );
        let mut newest_first = self.read("read the end of a thread", |connection| {
            let values = (project.0, thread, before.map_or(i64::MAX, |id| id.0), limit_of(limit));
            page_of(&mut *connection.prepare_cached(&sql)?, values)
        })?;
        newest_first.reverse();
        Ok(newest_first)
    }

    async fn thread_length(&self, project: ProjectId, thread: &str) -> Result<usize, StoreError> {
        let length: i64 = self.read("measure a thread", |connection| {
            connection
                .prepare_cached(
                    "SELECT count(*) FROM message INDEXED BY message_by_thread WHERE project_id = ?1 AND thread = ?2",
                )?
                .query_row((project.0, thread), |row| row.get(0))
        })?;
        Ok(usize::try_from(length).unwrap_or(0))
    }
}
