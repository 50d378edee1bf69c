//! Presences. What is known after a word or an act is decided by `mail`; this file writes it down.

use std::hash::{DefaultHasher, Hash, Hasher};

use futures_util::FutureExt;
use jiff::SignedDuration;
use mail::presence::{
    HeardOf, MOST_UNREAD, NewPresence, Next, Presence, PresenceStore, Present, after_activity, after_word,
};

use crate::prelude::*;
use crate::watches::is_watched;

#[async_trait]
impl PresenceStore for Engine {
    async fn set_presence(
        &self,
        project: ProjectId,
        agent: AgentId,
        told: &NewPresence,
        now: Timestamp,
    ) -> Stored<bool> {
        let told = told.clone();
        let setting = in_job!(|tx| {
            if told.is_goodbye() && is_watched(tx, agent, now).await? {
                return Ok(false);
            }
            let Some(next) = after_word(by_agent(tx, agent).await?.as_ref(), &told) else { return Ok(false) };
            keep(tx, project, agent, &next, now).await?;
            Ok(next.is_change)
        });
        self.write("note a presence", Home::Project(project), setting).await
    }

    fn touch_soon(&self, project: ProjectId, agent: AgentId, now: Timestamp, not_within: SignedDuration) {
        // Most acts follow another, and cost the writer nothing where that is seen at once.
        let known = match self {
            Self::Sqlite(_) => self.read("read a presence", async |tx| by_agent(tx, agent).await).now_or_never(),
            Self::Postgres(_) => None,
        };
        let noted = match known {
            Some(Ok(known)) if after_activity(known.as_ref(), now, not_within).is_none() => return,
            Some(Err(error)) => Err(error),
            _ => {
                let touching =
                    in_job!(|tx| match after_activity(by_agent(tx, agent).await?.as_ref(), now, not_within) {
                        Some(next) => keep(tx, project, agent, &next, now).await,
                        None => Ok(()),
                    });
                // Once it is queued it is not waited for.
                let queued = self.write("note that an agent is awake", Home::Project(project), touching);
                queued.now_or_never().unwrap_or(Ok(()))
            }
        };
        if let Err(error) = noted {
            tracing::debug!(%error, "a sign of life is not noted");
        }
    }

    async fn presence(&self, agent: AgentId) -> Stored<Option<Presence>> {
        self.read("read a presence", async |tx| by_agent(tx, agent).await).await
    }

    async fn present(
        &self,
        project: ProjectId,
        after: Option<AgentId>,
        limit: usize,
        now: Timestamp,
    ) -> Stored<Vec<Present>> {
        let values = values![project, after.map_or(0, |id| id.0), limit, now, MOST_UNREAD];
        self.read("list who is there", async |tx| tx.rows(PRESENT, values).await).await
    }

    async fn heard_of(
        &self,
        project: ProjectId,
        since: Timestamp,
        after: Option<AgentId>,
        limit: usize,
    ) -> Stored<Vec<HeardOf>> {
        let sql = "SELECT a.id, a.name, p.state, p.substate, p.since, p.seen_at, p.source, p.watcher_pid, p.channel
                   FROM presence p INDEXED BY presence_by_project CROSS JOIN agent a ON a.id = p.agent_id
                   WHERE p.project_id = ?1 AND p.seen_at >= ?2 AND p.source <> 'nats' AND p.agent_id > ?3
                   ORDER BY p.agent_id LIMIT ?4";
        let values = values![project, since, after.map_or(0, |id| id.0), limit];
        self.read("list who was heard of", async |tx| tx.rows(sql, values).await).await
    }

    async fn presence_stamp(&self, project: ProjectId, now: Timestamp) -> Stored<i64> {
        self.read("look whether somebody came or went", async |tx| stamp(tx, project, now).await).await
    }
}

/// A hash over who is there and how, in which sessions, and over what tells that mail or reservations changed.
async fn stamp(tx: &mut Tx<'_>, project: ProjectId, now: Timestamp) -> Outcome<i64> {
    let mut hasher = DefaultHasher::new();
    let sql = "SELECT (SELECT count(*) + count(retired_at) FROM agent WHERE project_id = ?1), last_message_at,
                   lease_version,
                   (SELECT count(*) FROM reservation INDEXED BY reservation_open
                    WHERE project_id = ?1 AND released_at IS NULL AND ends_at > ?2)
               FROM project WHERE id = ?1";
    tx.row::<(i64, i64, i64, i64)>(sql, values![project, now]).await?.hash(&mut hasher);
    let sql = "SELECT agent_id, state, substate, since, seen_at, source, watcher_pid, channel
               FROM presence WHERE project_id = ?1 ORDER BY agent_id";
    let visit = &mut |row: &Row<'_>| {
        let (agent, known): (i64, Presence) = row.read()?;
        (agent, known.since.as_microsecond(), known.shown(now)).hash(&mut hasher);
        Ok(true)
    };
    tx.each(sql, values![project], visit).await?;
    let sql = "SELECT agent_id, key, is_idle FROM session INDEXED BY session_open
               WHERE project_id = ?1 AND ended_at IS NULL ORDER BY agent_id, key";
    let visit = &mut |row: &Row<'_>| {
        row.read::<(i64, String, i64)>()?.hash(&mut hasher);
        Ok(true)
    };
    tx.each(sql, values![project], visit).await?;
    Ok(hasher.finish().cast_signed())
}

/// Of what an agent got, the newest deliveries are looked at, so that many blind ones cost no time.
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
            WHERE r.holder_id = a.id AND r.released_at IS NULL AND r.ends_at > ?4),
           (SELECT count(*) FROM (
               SELECT 1 FROM delivery d INDEXED BY delivery_unread
               WHERE d.recipient_id = a.id AND d.read_at IS NULL AND d.archived_at IS NULL AND d.role < 2 LIMIT ?5
           ) unread)
    FROM agent a INDEXED BY agent_by_project LEFT JOIN presence p ON p.agent_id = a.id
    WHERE a.project_id = ?1 AND a.id > ?2 ORDER BY a.id LIMIT ?3";

async fn by_agent(tx: &mut Tx<'_>, agent: AgentId) -> Outcome<Option<Presence>> {
    let sql = "SELECT state, substate, since, seen_at, source, watcher_pid, channel FROM presence WHERE agent_id = ?1";
    tx.row(sql, values![agent]).await
}

async fn keep(tx: &mut Tx<'_>, project: ProjectId, agent: AgentId, next: &Next, now: Timestamp) -> Outcome<()> {
    let Next { presence, is_change } = next;
    let sql =
        "INSERT INTO presence (agent_id, project_id, state, substate, since, seen_at, source, watcher_pid, channel)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
               ON CONFLICT (agent_id) DO UPDATE SET state = ?3, substate = ?4, since = ?5, seen_at = ?6, source = ?7,
                   watcher_pid = ?8, channel = ?9";
    let Presence { state, substate, since, seen_at, source, watcher_pid, channel } = presence;
    let values = values![agent, project, state, substate, *since, *seen_at, *source, *watcher_pid, channel];
    tx.execute(sql, values).await?;
    if *is_change {
        tx.record(project, EventKind::PresenceChanged, agent.0, Some(agent), now).await?;
    }
    Ok(())
}

from_row! {
    Presence { state, substate, since, seen_at, source, watcher_pid, channel }
    Present { agent, presence, last_mail_at, reservations, unread }
    HeardOf { agent, name, presence }
}

/// Of an agent that was never heard of, no column holds anything.
impl FromRow for Option<Presence> {
    fn from_row(row: &Row<'_>, at: &mut usize) -> Outcome<Self> {
        let is_known = row.get::<Option<&str>>(*at)?.is_some();
        if !is_known {
            *at += 7;
            return Ok(None);
        }
        Presence::from_row(row, at).map(Some)
    }
}
