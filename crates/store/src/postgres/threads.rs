//! Threads, in PostgreSQL: a walk along one index.

use async_trait::async_trait;
use mail::StoreError;
use mail::ids::{MessageId, ProjectId};
use mail::messages::Message;
use mail::threads::ThreadStore;

use super::Postgres;
use super::rows::{BODY, COLUMNS, NO_BODY, limit_of, message_of, size_of};

#[async_trait]
impl ThreadStore for Postgres {
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
            "SELECT {COLUMNS}, {body} FROM message m
             WHERE m.project_id = $1 AND m.thread = $2 AND m.id > $3 ORDER BY m.id LIMIT $4"
        );
        let after = after.map_or(0, |id| id.0);
        let values: super::Values<'_> = &[&project.0, &thread, &after, &limit_of(limit)];
        self.read_page("read a thread", &sql, values, message_of, size_of).await
    }

    async fn thread_tail(
        &self,
        project: ProjectId,
        thread: &str,
        before: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Message>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, {BODY} FROM message m
             WHERE m.project_id = $1 AND m.thread = $2 AND m.id < $3 ORDER BY m.id DESC LIMIT $4"
        );
        let before = before.map_or(i64::MAX, |id| id.0);
        let values: super::Values<'_> = &[&project.0, &thread, &before, &limit_of(limit)];
        let mut newest_first = self.read_page("read the end of a thread", &sql, values, message_of, size_of).await?;
        newest_first.reverse();
        Ok(newest_first)
    }

    async fn thread_length(&self, project: ProjectId, thread: &str) -> Result<usize, StoreError> {
        let sql = "SELECT count(*) FROM message WHERE project_id = $1 AND thread = $2";
        let count = |row: &tokio_postgres::Row| Ok(row.try_get::<_, i64>(0)?);
        let lengths = self.read_as("measure a thread", sql, &[&project.0, &thread], count).await?;
        Ok(lengths.first().and_then(|length| usize::try_from(*length).ok()).unwrap_or(0))
    }
}
