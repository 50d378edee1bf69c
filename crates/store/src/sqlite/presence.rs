//! Presences, in SQLite. What is known after a word or an act is decided by `mail`; this file writes it down.

use std::hash::{DefaultHasher, Hash, Hasher};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use mail::StoreError;
use mail::clock::from_micros;
use mail::events::EventKind;
use mail::ids::{AgentId, ProjectId};
use mail::presence::{
    HeardOf, NewPresence, Next, Presence, PresenceStore, Present, Source, after_activity, after_word,
};
use rusqlite::{Connection, OptionalExtension, Row};

use super::agents::agent_of;
use super::events::record;
use super::messages::rows::unknown;
use super::watches::is_watched;
use super::{Sqlite, limit_of};

#[async_trait]
impl PresenceStore for Sqlite {
    async fn set_presence(
        &self,
        project: ProjectId,
        agent: AgentId,
        told: &NewPresence,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let told = told.clone();
        self.write("note a presence", move |desk| {
            if told.is_goodbye() && is_watched(desk.connection, agent, now)? {
                return Ok(false);
            }
            let known = by_agent(desk.connection, agent)?;
            let Some(next) = after_word(known.as_ref(), &told) else { return Ok(false) };
            keep(desk.connection, project, agent, &next, now)?;
            Ok(next.is_change)
        })
        .await
    }

    fn touch_soon(&self, project: ProjectId, agent: AgentId, now: Timestamp, not_within: SignedDuration) {
        // Most acts follow another, and cost the writer nothing.
        let noted = self.is_news(agent, now, not_within).and_then(|is_news| match is_news {
            true => self.write_soon(TOUCHING, move |desk| touched(desk.connection, project, agent, now, not_within)),
            false => Ok(()),
        });
        if let Err(error) = noted {
            tracing::debug!(%error, "a sign of life is not noted");
        }
    }

    async fn presence(&self, agent: AgentId) -> Result<Option<Presence>, StoreError> {
        self.read("read a presence", |connection| by_agent(connection, agent))
    }

    async fn present(
        &self,
        project: ProjectId,
        after: Option<AgentId>,
        limit: usize,
        now: Timestamp,
    ) -> Result<Vec<Present>, StoreError> {
        self.read("list who is there", |connection| {
            connection
                .prepare_cached(PRESENT)?
                .query_map((project.0, after.map_or(0, |id| id.0), limit_of(limit), now.as_microsecond()), present_of)?
                .collect()
        })
    }

    async fn heard_of(
        &self,
        project: ProjectId,
        since: Timestamp,
        after: Option<AgentId>,
        limit: usize,
    ) -> Result<Vec<HeardOf>, StoreError> {
        self.read("list who was heard of", |connection| {
            connection
                .prepare_cached(
                    "SELECT p.state, p.substate, p.since, p.seen_at, p.source, p.watcher_pid, p.channel, a.id, a.name
                     FROM presence p INDEXED BY presence_by_project CROSS JOIN agent a ON a.id = p.agent_id
                     WHERE p.project_id = ?1 AND p.seen_at >= ?2 AND p.source <> 'nats' AND p.agent_id > ?3
                     ORDER BY p.agent_id LIMIT ?4",
                )?
                .query_map((project.0, since.as_microsecond(), after.map_or(0, |id| id.0), limit_of(limit)), |row| {
                    let presence = presence_of(row, 0)?;
                    Ok(HeardOf { agent: AgentId(row.get(7)?), name: row.get(8)?, presence })
                })?
                .collect()
        })
    }

    async fn presence_stamp(&self, project: ProjectId, now: Timestamp) -> Result<i64, StoreError> {
        self.read("look whether somebody came or went", |connection| stamp(connection, project, now))
    }
}

impl Sqlite {
    /// Whether that an agent does something now says anything new of it.
    fn is_news(&self, agent: AgentId, now: Timestamp, not_within: SignedDuration) -> Result<bool, StoreError> {
        let known = self.read("read a presence", |connection| by_agent(connection, agent))?;
        Ok(after_activity(known.as_ref(), now, not_within).is_some())
    }
}

const TOUCHING: &str = "note that an agent is awake";

fn touched(
    connection: &Connection,
    project: ProjectId,
    agent: AgentId,
    now: Timestamp,
    not_within: SignedDuration,
) -> rusqlite::Result<()> {
    match after_activity(by_agent(connection, agent)?.as_ref(), now, not_within) {
        Some(next) => keep(connection, project, agent, &next, now),
        None => Ok(()),
    }
}

/// A hash over who is there and how, and over what tells that mail or leases changed.
fn stamp(connection: &Connection, project: ProjectId, now: Timestamp) -> rusqlite::Result<i64> {
    let mut hasher = DefaultHasher::new();
    connection
        .prepare_cached(
            "SELECT (SELECT count(*) + count(retired_at) FROM agent WHERE project_id = ?1), last_message_at, lease_version,
                 (SELECT count(*) FROM reservation INDEXED BY reservation_open
                  WHERE project_id = ?1 AND released_at IS NULL AND ends_at > ?2)
             FROM project WHERE id = ?1",
        )?
        .query_row((project.0, now.as_microsecond()), |row| {
            let all: [i64; 4] = [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?];
            all.hash(&mut hasher);
            Ok(())
        })?;
    let mut statement = connection.prepare_cached(
        "SELECT state, substate, since, seen_at, source, watcher_pid, channel, agent_id
         FROM presence WHERE project_id = ?1 ORDER BY agent_id",
    )?;
    let mut rows = statement.query([project.0])?;
    while let Some(row) = rows.next()? {
        let known = presence_of(row, 0)?;
        (row.get::<_, i64>(7)?, known.since.as_microsecond(), known.shown(now)).hash(&mut hasher);
    }
    Ok(hasher.finish().cast_signed())
}

/// Of what an agent got, the newest copies are looked at, so that many blind ones cost no time.
const PRESENT: &str = "
    SELECT a.id, a.project_id, a.name, a.program, a.model, a.task_description, a.registered_at, a.last_active_at,
           a.retired_at,
           p.state, p.substate, p.since, p.seen_at, p.source, p.watcher_pid, p.channel,
           (SELECT m.created_at FROM message m WHERE m.id = max(
               ifnull((SELECT max(s.id) FROM message s INDEXED BY message_by_sender WHERE s.sender_id = a.id), 0),
               ifnull((SELECT max(got.message_id) FROM (
                   SELECT d.message_id, d.role FROM delivery d
                   WHERE d.recipient_id = a.id ORDER BY d.message_id DESC LIMIT 50
               ) got WHERE got.role < 2), 0)
           )),
           (SELECT count(*) FROM reservation r INDEXED BY reservation_held
            WHERE r.holder_id = a.id AND r.released_at IS NULL AND r.ends_at > ?4)
    FROM agent a INDEXED BY agent_by_project LEFT JOIN presence p ON p.agent_id = a.id
    WHERE a.project_id = ?1 AND a.id > ?2 ORDER BY a.id LIMIT ?3";

fn by_agent(connection: &Connection, agent: AgentId) -> rusqlite::Result<Option<Presence>> {
    connection
        .prepare_cached(
            "SELECT state, substate, since, seen_at, source, watcher_pid, channel FROM presence WHERE agent_id = ?1",
        )?
        .query_row([agent.0], |row| presence_of(row, 0))
        .optional()
}

fn keep(
    connection: &Connection,
    project: ProjectId,
    agent: AgentId,
    next: &Next,
    now: Timestamp,
) -> rusqlite::Result<()> {
    let Next { presence, is_change } = next;
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO presence
                 (agent_id, project_id, state, substate, since, seen_at, source, watcher_pid, channel)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute((
            agent.0,
            project.0,
            &presence.state,
            &presence.substate,
            presence.since.as_microsecond(),
            presence.seen_at.as_microsecond(),
            presence.source.as_str(),
            presence.watcher_pid,
            &presence.channel,
        ))?;
    if *is_change {
        record(connection, project, EventKind::PresenceChanged, agent.0, Some(agent), now)?;
    }
    Ok(())
}

/// The presence in the columns from `first` on.
fn presence_of(row: &Row<'_>, first: usize) -> rusqlite::Result<Presence> {
    let source = row.get_ref(first + 4)?.as_str()?;
    Ok(Presence {
        state: row.get(first)?,
        substate: row.get(first + 1)?,
        since: from_micros(row.get(first + 2)?),
        seen_at: from_micros(row.get(first + 3)?),
        source: Source::parse(source).ok_or_else(|| unknown(first + 4, "source of a presence", source))?,
        watcher_pid: row.get(first + 5)?,
        channel: row.get(first + 6)?,
    })
}

fn present_of(row: &Row<'_>) -> rusqlite::Result<Present> {
    let is_known = row.get::<_, Option<String>>(9)?.is_some();
    Ok(Present {
        agent: agent_of(row)?,
        presence: if is_known { Some(presence_of(row, 9)?) } else { None },
        last_mail_at: row.get::<_, Option<i64>>(16)?.map(from_micros),
        leases: row.get::<_, i64>(17)? as u64,
    })
}
