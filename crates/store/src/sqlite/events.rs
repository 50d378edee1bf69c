//! The event log and its cursors, in SQLite.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use mail::StoreError;
use mail::clock::from_micros;
use mail::events::{Changes, Concerned, Cursor, Event, EventKind, EventStore};
use mail::ids::{AgentId, ProjectId};
use rusqlite::{Connection, OptionalExtension, Row};
use tokio::time::Instant;

use super::messages::rows::unknown;
use super::{Sqlite, failed, limit_of};

/// How often the file is asked whether anybody committed, while somebody waits: soon enough for whoever waits, and too
/// seldom to be seen among what a machine does.
const ASKED_EVERY: Duration = Duration::from_millis(100);

#[async_trait]
impl EventStore for Sqlite {
    async fn events(&self, project: ProjectId, seq: i64, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.read("read the event log", |connection| {
            connection
                .prepare_cached(
                    "SELECT seq, kind, reference, agent_id, at FROM event
                     WHERE project_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
                )?
                .query_map((project.0, seq, limit_of(limit)), event_of)?
                .collect()
        })
    }

    async fn advance_cursor(&self, sink: &str, project: ProjectId, seq: i64) -> Result<(), StoreError> {
        let sink = sink.to_owned();
        self.write("move a cursor", move |desk| {
            desk.connection
                .prepare_cached(
                    "INSERT INTO cursor (sink, project_id, seq) VALUES (?1, ?2, ?3)
                     ON CONFLICT (sink, project_id) DO UPDATE SET seq = excluded.seq WHERE seq < excluded.seq",
                )?
                .execute((sink, project.0, seq))
                .map(drop)
        })
        .await
    }

    async fn cursors(&self) -> Result<Vec<Cursor>, StoreError> {
        self.read("list cursors", |connection| {
            connection
                .prepare_cached(
                    "SELECT c.sink, p.slug, c.seq, p.next_seq - 1 FROM cursor c JOIN project p ON p.id = c.project_id
                     ORDER BY c.sink, p.slug",
                )?
                .query_map([], |row| {
                    Ok(Cursor { sink: row.get(0)?, project: row.get(1)?, seq: row.get(2)?, newest: row.get(3)? })
                })?
                .collect()
        })
    }

    async fn hold_cursor(
        &self,
        sink: &str,
        project: ProjectId,
        holder: &str,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Option<i64>, StoreError> {
        let (sink, holder) = (sink.to_owned(), holder.to_owned());
        self.write("hold a cursor", move |desk| {
            desk.connection
                .prepare_cached(
                    "INSERT INTO cursor (sink, project_id, seq, holder, held_until) VALUES (?1, ?2, 0, ?3, ?4)
                     ON CONFLICT (sink, project_id) DO UPDATE SET holder = ?3, held_until = ?4
                     WHERE holder = ?3 OR held_until <= ?5 RETURNING seq",
                )?
                .query_row((sink, project.0, holder, until.as_microsecond(), now.as_microsecond()), |row| row.get(0))
                .optional()
        })
        .await
    }

    async fn changes(&self, after: Option<i64>, at_most: Duration) -> Result<Changes, StoreError> {
        let end = Instant::now() + at_most;
        loop {
            // SQLite counts, for each connection, the commits of all others; this one never commits.
            let stamp = self
                .watcher
                .with(|connection| connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0)))
                .map_err(failed("look for changes"))?;
            if after != Some(stamp) {
                return Ok(Changes { stamp, concerned: Concerned::Everybody });
            }
            if Instant::now() >= end {
                return Ok(Changes { stamp, concerned: Concerned::NOBODY });
            }
            tokio::time::sleep_until(end.min(Instant::now() + ASKED_EVERY)).await;
        }
    }
}

/// Writes an event, in the transaction of what it tells.
pub(super) fn record(
    connection: &Connection,
    project: ProjectId,
    kind: EventKind,
    reference: i64,
    agent: Option<AgentId>,
    at: Timestamp,
) -> rusqlite::Result<()> {
    let seq = connection
        .prepare_cached("UPDATE project SET next_seq = next_seq + 1 WHERE id = ?1 RETURNING next_seq - 1")?
        .query_row([project.0], |row| row.get(0))?;
    record_as(connection, project, Event { seq, kind, reference, agent, at })
}

/// Writes an event whose number was taken from the project in this transaction.
pub(super) fn record_as(connection: &Connection, project: ProjectId, event: Event) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO event (project_id, seq, kind, reference, agent_id, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute((
            project.0,
            event.seq,
            event.kind.as_str(),
            event.reference,
            event.agent.map(|agent| agent.0),
            event.at.as_microsecond(),
        ))
        .map(drop)
}

/// The event in the first columns.
pub(super) fn event_of(row: &Row<'_>) -> rusqlite::Result<Event> {
    let kind = row.get_ref(1)?.as_str()?;
    Ok(Event {
        seq: row.get(0)?,
        kind: EventKind::parse(kind).ok_or_else(|| unknown(1, "kind of event", kind))?,
        reference: row.get(2)?,
        agent: row.get::<_, Option<i64>>(3)?.map(AgentId),
        at: from_micros(row.get(4)?),
    })
}
