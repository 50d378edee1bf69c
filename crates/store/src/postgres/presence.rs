//! Presences, in PostgreSQL. What is known after a word or an act is decided by `mail`; this file writes it down.

use std::hash::{DefaultHasher, Hash, Hasher};

use async_trait::async_trait;
use futures_util::FutureExt;
use jiff::{SignedDuration, Timestamp};
use mail::StoreError;
use mail::clock::from_micros;
use mail::events::EventKind;
use mail::ids::{AgentId, ProjectId};
use mail::presence::{
    HeardOf, NewPresence, Next, Presence, PresenceStore, Present, Source, after_activity, after_word,
};
use tokio_postgres::Row;

use super::Postgres;
use super::agents::agent_of;
use super::desk::Desk;
use super::rows::{Outcome, limit_of, time};
use super::watches::is_watched;
use crate::values::unknown;

const BY_AGENT: &str =
    "SELECT state, substate, since, seen_at, source, watcher_pid, channel FROM presence WHERE agent_id = $1";

#[async_trait]
impl PresenceStore for Postgres {
    async fn set_presence(
        &self,
        project: ProjectId,
        agent: AgentId,
        told: &NewPresence,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let told = told.clone();
        self.write("note a presence", project, move |desk| {
            async move {
                if told.is_goodbye() && is_watched(desk, agent, now).await? {
                    return Ok(false);
                }
                let Some(next) = after_word(by_agent(desk, agent).await?.as_ref(), &told) else { return Ok(false) };
                keep(desk, project, agent, &next, now).await?;
                Ok(next.is_change)
            }
            .boxed()
        })
        .await
    }

    fn touch_soon(&self, project: ProjectId, agent: AgentId, now: Timestamp, not_within: SignedDuration) {
        let noted =
            self.writers.hand_in(TOUCHING, project, move |desk| touched(desk, project, agent, now, not_within).boxed());
        if let Err(error) = noted {
            tracing::debug!(%error, "a sign of life is not noted");
        }
    }

    async fn presence(&self, agent: AgentId) -> Result<Option<Presence>, StoreError> {
        let found = self.read_as("read a presence", BY_AGENT, &[&agent.0], |row| presence_of(row, 0)).await?;
        Ok(found.into_iter().next())
    }

    async fn present(
        &self,
        project: ProjectId,
        after: Option<AgentId>,
        limit: usize,
        now: Timestamp,
    ) -> Result<Vec<Present>, StoreError> {
        let after = after.map_or(0, |id| id.0);
        let values: super::Values<'_> = &[&project.0, &after, &limit_of(limit), &now.as_microsecond()];
        self.read_as("list who is there", PRESENT, values, present_of).await
    }

    async fn heard_of(
        &self,
        project: ProjectId,
        since: Timestamp,
        after: Option<AgentId>,
        limit: usize,
    ) -> Result<Vec<HeardOf>, StoreError> {
        let sql = "SELECT p.state, p.substate, p.since, p.seen_at, p.source, p.watcher_pid, p.channel, a.id, a.name
                   FROM presence p JOIN agent a ON a.id = p.agent_id
                   WHERE p.project_id = $1 AND p.seen_at >= $2 AND p.source <> 'nats' AND p.agent_id > $3
                   ORDER BY p.agent_id LIMIT $4";
        let after = after.map_or(0, |id| id.0);
        let values: super::Values<'_> = &[&project.0, &since.as_microsecond(), &after, &limit_of(limit)];
        self.read_as("list who was heard of", sql, values, |row| {
            let presence = presence_of(row, 0)?;
            Ok(HeardOf { agent: AgentId(row.try_get(7)?), name: row.try_get(8)?, presence })
        })
        .await
    }

    async fn presence_stamp(&self, project: ProjectId, now: Timestamp) -> Result<i64, StoreError> {
        let doing = "look whether somebody came or went";
        let mut hasher = DefaultHasher::new();
        let sql = "SELECT (SELECT count(*) + count(retired_at) FROM agent WHERE project_id = $1), last_message_at,
                       lease_version,
                       (SELECT count(*) FROM reservation
                        WHERE project_id = $1 AND released_at IS NULL AND ends_at > $2)
                   FROM project WHERE id = $1";
        let sums = |row: &Row| Ok([row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get::<_, i64>(3)?]);
        self.read_as(doing, sql, &[&project.0, &now.as_microsecond()], sums).await?.hash(&mut hasher);
        let sql = "SELECT state, substate, since, seen_at, source, watcher_pid, channel, agent_id
                   FROM presence WHERE project_id = $1 ORDER BY agent_id";
        let shown = |row: &Row| {
            let known = presence_of(row, 0)?;
            Ok((row.try_get::<_, i64>(7)?, known.since.as_microsecond(), known.shown(now)))
        };
        self.read_as(doing, sql, &[&project.0], shown).await?.hash(&mut hasher);
        Ok(hasher.finish().cast_signed())
    }
}

const TOUCHING: &str = "note that an agent is awake";

async fn touched(
    desk: &mut Desk,
    project: ProjectId,
    agent: AgentId,
    now: Timestamp,
    not_within: SignedDuration,
) -> Outcome<()> {
    match after_activity(by_agent(desk, agent).await?.as_ref(), now, not_within) {
        Some(next) => keep(desk, project, agent, &next, now).await,
        None => Ok(()),
    }
}

/// Of what an agent got, the newest copies are looked at, so that many blind ones cost no time.
const PRESENT: &str = "
    SELECT a.id, a.project_id, a.name, a.program, a.model, a.task_description, a.registered_at, a.last_active_at,
           a.retired_at,
           p.state, p.substate, p.since, p.seen_at, p.source, p.watcher_pid, p.channel,
           (SELECT m.created_at FROM message m WHERE m.id = greatest(
               (SELECT max(s.id) FROM message s WHERE s.sender_id = a.id),
               (SELECT max(got.message_id) FROM (
                   SELECT d.message_id, d.role FROM delivery d
                   WHERE d.recipient_id = a.id ORDER BY d.message_id DESC LIMIT 50
               ) got WHERE got.role < 2)
           )),
           (SELECT count(*) FROM reservation r
            WHERE r.holder_id = a.id AND r.released_at IS NULL AND r.ends_at > $4)
    FROM agent a LEFT JOIN presence p ON p.agent_id = a.id
    WHERE a.project_id = $1 AND a.id > $2 ORDER BY a.id LIMIT $3";

async fn by_agent(desk: &Desk, agent: AgentId) -> Outcome<Option<Presence>> {
    desk.rows(BY_AGENT, &[&agent.0]).await?.first().map(|row| presence_of(row, 0)).transpose()
}

async fn keep(desk: &mut Desk, project: ProjectId, agent: AgentId, next: &Next, now: Timestamp) -> Outcome<()> {
    let Next { presence, is_change } = next;
    desk.execute(
        "INSERT INTO presence (agent_id, project_id, state, substate, since, seen_at, source, watcher_pid, channel)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         ON CONFLICT (agent_id) DO UPDATE SET state = $3, substate = $4, since = $5, seen_at = $6, source = $7,
             watcher_pid = $8, channel = $9",
        &[
            &agent.0,
            &project.0,
            &presence.state,
            &presence.substate,
            &presence.since.as_microsecond(),
            &presence.seen_at.as_microsecond(),
            &presence.source.as_str(),
            &presence.watcher_pid,
            &presence.channel,
        ],
    )
    .await?;
    if *is_change {
        desk.record(project, EventKind::PresenceChanged, agent.0, Some(agent), now)?;
    }
    Ok(())
}

/// The presence in the columns from `first` on.
fn presence_of(row: &Row, first: usize) -> Outcome<Presence> {
    let source: &str = row.try_get(first + 4)?;
    Ok(Presence {
        state: row.try_get(first)?,
        substate: row.try_get(first + 1)?,
        since: time(row, first + 2)?,
        seen_at: time(row, first + 3)?,
        source: Source::parse(source).ok_or_else(|| unknown("source of a presence", source))?,
        watcher_pid: row.try_get(first + 5)?,
        channel: row.try_get(first + 6)?,
    })
}

fn present_of(row: &Row) -> Outcome<Present> {
    let is_known = row.try_get::<_, Option<&str>>(9)?.is_some();
    Ok(Present {
        agent: agent_of(row)?,
        presence: if is_known { Some(presence_of(row, 9)?) } else { None },
        last_mail_at: row.try_get::<_, Option<i64>>(16)?.map(from_micros),
        leases: row.try_get::<_, i64>(17)?.unsigned_abs(),
    })
}
