//! Presences. What is known after a word or an act is decided by `mail`; this file writes it down.

use std::hash::{DefaultHasher, Hash, Hasher};

use async_trait::async_trait;
use futures_util::FutureExt;
use jiff::{SignedDuration, Timestamp};
use mail::StoreError;
use mail::events::EventKind;
use mail::ids::{AgentId, ProjectId};
use mail::presence::{
    HeardOf, NewPresence, Next, Presence, PresenceStore, Present, Source, after_activity, after_word,
};

use crate::Engine;
use crate::agents::agent_of;
use crate::error::Outcome;
use crate::job::work;
use crate::row::{Row, values};
use crate::tx::Tx;
use crate::values::unknown;
use crate::watches::is_watched;

#[async_trait]
impl PresenceStore for Engine {
    async fn set_presence(
        &self,
        project: ProjectId,
        agent: AgentId,
        told: &NewPresence,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let told = told.clone();
        let setting = work(move |tx| {
            async move {
                if told.is_goodbye() && is_watched(tx, agent, now).await? {
                    return Ok(false);
                }
                let Some(next) = after_word(by_agent(tx, agent).await?.as_ref(), &told) else { return Ok(false) };
                keep(tx, project, agent, &next, now).await?;
                Ok(next.is_change)
            }
            .boxed()
        });
        self.write("note a presence", project, setting).await
    }

    fn touch_soon(&self, project: ProjectId, agent: AgentId, now: Timestamp, not_within: SignedDuration) {
        // Most acts follow another, and cost the writer nothing where that is seen at once.
        let known = self.read_at_once("read a presence", async |tx| by_agent(tx, agent).await);
        let noted = match known {
            Some(Ok(known)) if after_activity(known.as_ref(), now, not_within).is_none() => return,
            Some(Err(error)) => Err(error),
            _ => {
                let touching = work(move |tx| touched(tx, project, agent, now, not_within).boxed());
                self.write_soon("note that an agent is awake", project, touching)
            }
        };
        if let Err(error) = noted {
            tracing::debug!(%error, "a sign of life is not noted");
        }
    }

    async fn presence(&self, agent: AgentId) -> Result<Option<Presence>, StoreError> {
        self.read("read a presence", async |tx| by_agent(tx, agent).await).await
    }

    async fn present(
        &self,
        project: ProjectId,
        after: Option<AgentId>,
        limit: usize,
        now: Timestamp,
    ) -> Result<Vec<Present>, StoreError> {
        let values = values![project, after.map_or(0, |id| id.0), limit, now];
        self.read("list who is there", async |tx| tx.rows(PRESENT, values, present_of).await).await
    }

    async fn heard_of(
        &self,
        project: ProjectId,
        since: Timestamp,
        after: Option<AgentId>,
        limit: usize,
    ) -> Result<Vec<HeardOf>, StoreError> {
        let sql = "SELECT p.state, p.substate, p.since, p.seen_at, p.source, p.watcher_pid, p.channel, a.id, a.name
                   FROM presence p INDEXED BY presence_by_project CROSS JOIN agent a ON a.id = p.agent_id
                   WHERE p.project_id = ?1 AND p.seen_at >= ?2 AND p.source <> 'nats' AND p.agent_id > ?3
                   ORDER BY p.agent_id LIMIT ?4";
        let values = values![project, since, after.map_or(0, |id| id.0), limit];
        let heard_of =
            |row: &Row<'_>| Ok(HeardOf { agent: row.get(7)?, name: row.get(8)?, presence: presence_of(row, 0)? });
        self.read("list who was heard of", async |tx| tx.rows(sql, values, heard_of).await).await
    }

    async fn presence_stamp(&self, project: ProjectId, now: Timestamp) -> Result<i64, StoreError> {
        self.read("look whether somebody came or went", async |tx| stamp(tx, project, now).await).await
    }
}

async fn touched(
    tx: &mut Tx<'_>,
    project: ProjectId,
    agent: AgentId,
    now: Timestamp,
    not_within: SignedDuration,
) -> Outcome<()> {
    match after_activity(by_agent(tx, agent).await?.as_ref(), now, not_within) {
        Some(next) => keep(tx, project, agent, &next, now).await,
        None => Ok(()),
    }
}

/// A hash over who is there and how, and over what tells that mail or reservations changed.
async fn stamp(tx: &mut Tx<'_>, project: ProjectId, now: Timestamp) -> Outcome<i64> {
    let mut hasher = DefaultHasher::new();
    let sql = "SELECT (SELECT count(*) + count(retired_at) FROM agent WHERE project_id = ?1), last_message_at,
                   lease_version,
                   (SELECT count(*) FROM reservation INDEXED BY reservation_open
                    WHERE project_id = ?1 AND released_at IS NULL AND ends_at > ?2)
               FROM project WHERE id = ?1";
    let sums = |row: &Row<'_>| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get::<i64>(3)?]);
    tx.row(sql, values![project, now], sums).await?.hash(&mut hasher);
    let sql = "SELECT state, substate, since, seen_at, source, watcher_pid, channel, agent_id
               FROM presence WHERE project_id = ?1 ORDER BY agent_id";
    let visit = &mut |row: &Row<'_>| {
        let known = presence_of(row, 0)?;
        (row.get::<i64>(7)?, known.since.as_microsecond(), known.shown(now)).hash(&mut hasher);
        Ok(true)
    };
    tx.each(sql, values![project], visit).await?;
    Ok(hasher.finish().cast_signed())
}

/// Of what an agent got, the newest copies are looked at, so that many blind ones cost no time.
const PRESENT: &str = "
    SELECT a.id, a.project_id, a.name, a.program, a.model, a.task_description, a.registered_at, a.last_active_at,
           a.retired_at,
           p.state, p.substate, p.since, p.seen_at, p.source, p.watcher_pid, p.channel,
           (SELECT m.created_at FROM message m WHERE m.id = (SELECT max(newest.id) FROM (
               SELECT max(s.id) AS id FROM message s INDEXED BY message_by_sender WHERE s.sender_id = a.id
               UNION ALL
               SELECT max(got.message_id) FROM (
                   SELECT d.message_id, d.role FROM delivery d
                   WHERE d.recipient_id = a.id ORDER BY d.message_id DESC LIMIT 50
               ) got WHERE got.role < 2
           ) newest)),
           (SELECT count(*) FROM reservation r INDEXED BY reservation_held
            WHERE r.holder_id = a.id AND r.released_at IS NULL AND r.ends_at > ?4)
    FROM agent a INDEXED BY agent_by_project LEFT JOIN presence p ON p.agent_id = a.id
    WHERE a.project_id = ?1 AND a.id > ?2 ORDER BY a.id LIMIT ?3";

async fn by_agent(tx: &mut Tx<'_>, agent: AgentId) -> Outcome<Option<Presence>> {
    let sql = "SELECT state, substate, since, seen_at, source, watcher_pid, channel FROM presence WHERE agent_id = ?1";
    tx.row(sql, values![agent], |row| presence_of(row, 0)).await
}

async fn keep(tx: &mut Tx<'_>, project: ProjectId, agent: AgentId, next: &Next, now: Timestamp) -> Outcome<()> {
    let Next { presence, is_change } = next;
    let sql =
        "INSERT INTO presence (agent_id, project_id, state, substate, since, seen_at, source, watcher_pid, channel)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
               ON CONFLICT (agent_id) DO UPDATE SET state = ?3, substate = ?4, since = ?5, seen_at = ?6, source = ?7,
                   watcher_pid = ?8, channel = ?9";
    let values = values![
        agent,
        project,
        &presence.state,
        &presence.substate,
        presence.since,
        presence.seen_at,
        presence.source.as_str(),
        presence.watcher_pid,
        &presence.channel,
    ];
    tx.execute(sql, values).await?;
    if *is_change {
        tx.record(project, EventKind::PresenceChanged, agent.0, Some(agent), now).await?;
    }
    Ok(())
}

/// The presence in the columns from `first` on.
fn presence_of(row: &Row<'_>, first: usize) -> Outcome<Presence> {
    let source: &str = row.get(first + 4)?;
    Ok(Presence {
        state: row.get(first)?,
        substate: row.get(first + 1)?,
        since: row.get(first + 2)?,
        seen_at: row.get(first + 3)?,
        source: Source::parse(source).ok_or_else(|| unknown("source of a presence", source))?,
        watcher_pid: row.get(first + 5)?,
        channel: row.get(first + 6)?,
    })
}

fn present_of(row: &Row<'_>) -> Outcome<Present> {
    let is_known = row.get::<Option<&str>>(9)?.is_some();
    Ok(Present {
        agent: agent_of(row)?,
        presence: if is_known { Some(presence_of(row, 9)?) } else { None },
        last_mail_at: row.get(16)?,
        leases: row.get(17)?,
    })
}
