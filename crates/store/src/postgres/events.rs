//! The event log and its cursors, in PostgreSQL. Events are written by the [desk](super::desk).

use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt;
use jiff::Timestamp;
use mail::StoreError;
use mail::events::{Changes, Concerned, Cursor, Event, EventKind, EventStore};
use mail::ids::{AgentId, ProjectId};
use tokio_postgres::Row;

use super::Postgres;
use super::rows::{Outcome, limit_of, time};
use crate::values::unknown;

#[async_trait]
impl EventStore for Postgres {
    async fn events(&self, project: ProjectId, seq: i64, limit: usize) -> Result<Vec<Event>, StoreError> {
        let sql = "SELECT seq, kind, reference, agent_id, at FROM event
                   WHERE project_id = $1 AND seq > $2 ORDER BY seq LIMIT $3";
        self.read_as("read the event log", sql, &[&project.0, &seq, &limit_of(limit)], event_of).await
    }

    async fn advance_cursor(&self, sink: &str, project: ProjectId, seq: i64) -> Result<(), StoreError> {
        let sink = sink.to_owned();
        self.write("move a cursor", project, move |desk| {
            async move {
                desk.execute(
                    "INSERT INTO cursor AS known (sink, project_id, seq) VALUES ($1, $2, $3)
                     ON CONFLICT (sink, project_id) DO UPDATE SET seq = excluded.seq WHERE known.seq < excluded.seq",
                    &[&sink, &project.0, &seq],
                )
                .await
                .map(drop)
            }
            .boxed()
        })
        .await
    }

    async fn cursors(&self) -> Result<Vec<Cursor>, StoreError> {
        let sql = "SELECT c.sink, p.slug, c.seq, p.next_seq - 1 FROM cursor c JOIN project p ON p.id = c.project_id
                   ORDER BY c.sink, p.slug";
        self.read_as("list cursors", sql, &[], |row| {
            Ok(Cursor {
                sink: row.try_get(0)?,
                project: row.try_get(1)?,
                seq: row.try_get(2)?,
                newest: row.try_get(3)?,
            })
        })
        .await
    }

    async fn hold_cursor(
        &self,
        sink: &str,
        project: ProjectId,
        holder: &str,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Option<i64>, StoreError> {
        // Nothing of the project is written, so its lock is not needed. Whoever asks in vain writes nothing and waits for no disk.
        let sql = "WITH held AS (
                       UPDATE cursor SET holder = $3, held_until = $4
                       WHERE sink = $1 AND project_id = $2 AND (holder = $3 OR held_until <= $5) RETURNING seq
                   ), made AS (
                       INSERT INTO cursor (sink, project_id, seq, holder, held_until)
                       SELECT $1, $2, 0, $3, $4
                       WHERE NOT EXISTS (SELECT FROM cursor WHERE sink = $1 AND project_id = $2)
                       ON CONFLICT (sink, project_id) DO NOTHING RETURNING seq
                   ) SELECT seq FROM held UNION ALL SELECT seq FROM made";
        let values: super::Values<'_> = &[&sink, &project.0, &holder, &until.as_microsecond(), &now.as_microsecond()];
        Ok(self.read_as("hold a cursor", sql, values, |row| Ok(row.try_get(0)?)).await?.pop())
    }

    async fn changes(&self, after: Option<i64>, at_most: Duration) -> Result<Changes, StoreError> {
        let news = &self.bell.news;
        let mut stamps = news.stamps();
        let Some(after) = after else {
            return Ok(Changes { stamp: *stamps.borrow(), concerned: Concerned::Everybody });
        };
        // The time may pass without a change.
        let _ = tokio::time::timeout(at_most, stamps.wait_for(|stamp| *stamp != after)).await;
        Ok(news.after(after))
    }
}

/// The event in the first columns.
pub(super) fn event_of(row: &Row) -> Outcome<Event> {
    let kind: &str = row.try_get(1)?;
    Ok(Event {
        seq: row.try_get(0)?,
        kind: EventKind::parse(kind).ok_or_else(|| unknown("kind of event", kind))?,
        reference: row.try_get(2)?,
        agent: row.try_get::<_, Option<i64>>(3)?.map(AgentId),
        at: time(row, 4)?,
    })
}
