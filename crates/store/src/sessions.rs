//! Sessions, the names that were generated for them, and what ends with them.

use mail::agents::{Agent, is_below};
use mail::messages::InboxQuery;
use mail::reservations::Reservation;
use mail::sessions::{EndedSession, QuietName, Release, Session, SessionStore, lost_before, wants_answer};

use crate::prelude::*;
use crate::{agents, messages, reservations, roles};

/// How many unread messages of a name are looked at before it is retired.
const MOST_UNREAD: usize = 1_000;

#[async_trait]
impl SessionStore for Engine {
    async fn note_session(&self, project: ProjectId, session: &Session) -> Stored<bool> {
        let session = session.clone();
        let noting = in_job!(|tx| note(tx, project, &session).await);
        self.write("note a session", Home::Project(project), noting).await
    }

    async fn end_session(
        &self,
        project: ProjectId,
        agent: AgentId,
        key: Option<&str>,
        release: Release,
        now: Timestamp,
    ) -> Stored<EndedSession> {
        let key = key.map(str::to_owned);
        let ending = in_job!(|tx| {
            let is_new = match &key {
                Some(key) => end(tx, agent, key, now).await?,
                None => true,
            };
            let is_last = !has_open(tx, agent, now).await?;
            if !is_new || !is_last {
                return Ok(EndedSession { is_new, is_last, released: Vec::new() });
            }
            roles::end_holds(tx, project, agent, now).await?;
            let mut released = give_back(tx, project, agent, release, agent, now).await?;
            for below in agents_below(tx, project, agent).await? {
                if !has_open(tx, below, now).await? {
                    released.extend(give_back(tx, project, below, release, agent, now).await?);
                }
            }
            Ok(EndedSession { is_new, is_last, released })
        });
        self.write("end a session", Home::Project(project), ending).await
    }

    async fn sessions(&self, project: ProjectId, agents: &[AgentId]) -> Stored<Vec<Session>> {
        let sql = "SELECT agent_id, key, client, host, place, is_idle, began_at, seen_at
                   FROM session WHERE project_id = ?1 AND agent_id = ?2 AND ended_at IS NULL ORDER BY began_at, key";
        let asked = agents.iter().map(|agent| *values![project, *agent]);
        self.read("list sessions", async |tx| tx.rows_many(sql, asked).await).await
    }

    async fn note_generated(&self, project: ProjectId, agent: AgentId) -> Stored<()> {
        let noting = in_job!(|tx| note_generated(tx, project, agent).await);
        self.write("note that a name was generated", Home::Project(project), noting).await
    }

    async fn quiet_names(
        &self,
        project: ProjectId,
        quiet_until: Timestamp,
        limit: usize,
        now: Timestamp,
    ) -> Stored<Vec<QuietName>> {
        let finding = async |tx: &mut Tx<'_>| {
            let mut names = quiet(tx, project, (0, i64::MAX), now).await?;
            names.retain(|name| name.quiet_since <= quiet_until);
            names.truncate(limit);
            Ok(names)
        };
        self.read("find names without a session", finding).await
    }

    async fn note_handed_over(&self, agent: AgentId, up_to: MessageId) -> Stored<()> {
        let sql = "UPDATE generated_name SET handed_over = ?2 WHERE agent_id = ?1 AND handed_over < ?2";
        let noting = in_job!(|tx| tx.execute(sql, values![agent, up_to]).await.map(drop));
        self.write("note that mail was handed over", Home::Agent(agent), noting).await
    }

    async fn retire_quiet(
        &self,
        project: ProjectId,
        agent: AgentId,
        quiet_until: Timestamp,
        by: AgentId,
        now: Timestamp,
    ) -> Stored<bool> {
        let retiring = in_job!(|tx| {
            let found = quiet(tx, project, (agent.0, agent.0), now).await?;
            let Some(name) = found.iter().find(|name| name.quiet_since <= quiet_until) else { return Ok(false) };
            // It may have come since somebody looked.
            let unread = messages::inbox(tx, agent, &unread()).await?;
            if unread.iter().any(|entry| entry.message.id > name.handed_over && wants_answer(entry)) {
                return Ok(false);
            }
            agents::retire(tx, project, agent, by, now).await
        });
        self.write("retire a name", Home::Project(project), retiring).await
    }
}

/// Notes that a name was made up.
pub(crate) async fn note_generated(tx: &mut Tx<'_>, project: ProjectId, agent: AgentId) -> Outcome<()> {
    let sql =
        "INSERT INTO generated_name (agent_id, project_id, handed_over) VALUES (?1, ?2, 0) ON CONFLICT DO NOTHING";
    tx.execute(sql, values![agent, project]).await.map(drop)
}

fn unread() -> InboxQuery {
    InboxQuery { unread_only: true, with_bodies: false, ..InboxQuery::newest(MOST_UNREAD) }
}

async fn note(tx: &mut Tx<'_>, project: ProjectId, session: &Session) -> Outcome<bool> {
    let Session { agent, key, client, host, place, is_idle, began_at, seen_at } = session;
    let over = "DELETE FROM session WHERE agent_id = ?1 AND key <> ?2 AND (ended_at IS NOT NULL OR seen_at < ?3)";
    tx.execute(over, values![*agent, key, lost_before(*seen_at)]).await?;
    let known = "SELECT 1 FROM session WHERE agent_id = ?1 AND key = ?2 AND ended_at IS NULL AND client = ?3
                     AND host = ?4 AND place = ?5 AND is_idle = ?6";
    let is_idle = i64::from(*is_idle);
    let is_known = tx.exists(known, values![*agent, key, client, host, place, is_idle]).await?;
    let sql = "INSERT INTO session (agent_id, key, project_id, client, host, place, is_idle, began_at, seen_at)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
               ON CONFLICT (agent_id, key) DO UPDATE SET client = excluded.client, host = excluded.host,
                   place = excluded.place, is_idle = excluded.is_idle,
                   began_at = CASE WHEN session.ended_at IS NULL THEN session.began_at ELSE excluded.began_at END,
                   seen_at = CASE WHEN session.seen_at < excluded.seen_at THEN excluded.seen_at ELSE session.seen_at END,
                   ended_at = NULL";
    let values = values![*agent, key, project, client, host, place, is_idle, *began_at, *seen_at];
    tx.execute(sql, values).await?;
    Ok(!is_known)
}

/// Ends a session that is open; `false` if it had ended before. One that was never noted counts as ended now.
async fn end(tx: &mut Tx<'_>, agent: AgentId, key: &str, now: Timestamp) -> Outcome<bool> {
    let sql = "UPDATE session SET ended_at = ?3 WHERE agent_id = ?1 AND key = ?2 AND ended_at IS NULL";
    if tx.execute(sql, values![agent, key, now]).await? > 0 {
        return Ok(true);
    }
    Ok(!tx.exists("SELECT 1 FROM session WHERE agent_id = ?1 AND key = ?2", values![agent, key]).await?)
}

/// Ends every session of an agent.
pub(crate) async fn end_all(tx: &mut Tx<'_>, agent: AgentId, now: Timestamp) -> Outcome<()> {
    let sql = "UPDATE session SET ended_at = ?2 WHERE agent_id = ?1 AND ended_at IS NULL";
    tx.execute(sql, values![agent, now]).await.map(drop)
}

async fn has_open(tx: &mut Tx<'_>, agent: AgentId, now: Timestamp) -> Outcome<bool> {
    let sql = "SELECT 1 FROM session WHERE agent_id = ?1 AND ended_at IS NULL AND seen_at >= ?2 LIMIT 1";
    tx.exists(sql, values![agent, lost_before(now)]).await
}

/// Gives back what `release` says of what an agent holds.
async fn give_back(
    tx: &mut Tx<'_>,
    project: ProjectId,
    agent: AgentId,
    release: Release,
    by: AgentId,
    now: Timestamp,
) -> Outcome<Vec<Reservation>> {
    let held = reservations::held(tx, project, agent, None, now).await?;
    let ending: Vec<_> = held.into_iter().filter(|held| release.includes(held)).map(|held| held.pattern).collect();
    if ending.is_empty() {
        return Ok(Vec::new());
    }
    reservations::release(tx, project, agent, Some(&ending), by, now).await
}

/// The agents whose names a hook made of a name that an agent has or had, and that hold something.
async fn agents_below(tx: &mut Tx<'_>, project: ProjectId, agent: AgentId) -> Outcome<Vec<AgentId>> {
    let sql = "SELECT name FROM agent WHERE id = ?2 AND project_id = ?1
               UNION ALL SELECT name FROM former_name WHERE project_id = ?1 AND agent_id = ?2";
    let above: Vec<String> = tx.rows(sql, values![project, agent]).await?;
    let sql = "SELECT DISTINCT b.id, b.name FROM reservation r INDEXED BY reservation_open
               CROSS JOIN agent b ON b.id = r.holder_id CROSS JOIN generated_name g ON g.agent_id = b.id
               WHERE r.project_id = ?1 AND r.released_at IS NULL";
    let holders: Vec<(AgentId, String)> = tx.rows(sql, values![project]).await?;
    let is_of = |name: &str| {
        above.iter().any(|above| name.strip_prefix(above.as_str()).is_some_and(|rest| rest.starts_with('/')))
    };
    let below = holders.into_iter().filter(|(_, name)| is_below(name) && is_of(name));
    Ok(below.map(|(id, _)| id).collect())
}

/// The generated names of a project that no session and no watcher uses and that are not retired, those with these numbers.
async fn quiet(tx: &mut Tx<'_>, project: ProjectId, (from, to): (i64, i64), now: Timestamp) -> Outcome<Vec<QuietName>> {
    let sql = format!(
        "SELECT {}, g.handed_over, coalesce(p.seen_at, a.last_active_at),
             coalesce((SELECT max(CASE WHEN s.ended_at IS NULL THEN s.seen_at ELSE s.ended_at END) FROM session s
                       WHERE s.agent_id = a.id), a.last_active_at),
             (SELECT count(*) FROM reservation r INDEXED BY reservation_held
              WHERE r.holder_id = a.id AND r.released_at IS NULL AND r.ends_at > ?4)
         FROM generated_name g CROSS JOIN agent a ON a.id = g.agent_id LEFT JOIN presence p ON p.agent_id = a.id
         WHERE g.project_id = ?1 AND g.agent_id >= ?2 AND g.agent_id <= ?5 AND a.retired_at IS NULL
             AND NOT EXISTS (SELECT 1 FROM session s
                 WHERE s.agent_id = a.id AND s.ended_at IS NULL AND s.seen_at >= ?3)
             AND NOT EXISTS (SELECT 1 FROM watch w WHERE w.agent_id = a.id AND w.held_until > ?4)
         ORDER BY g.agent_id",
        agents::columns("a")
    );
    let rows: Vec<QuietRow> = tx.rows(&sql, values![project, from, lost_before(now), now, to]).await?;
    Ok(rows.into_iter().map(QuietRow::name).collect())
}

/// A generated name, and all times at which it was heard of.
struct QuietRow {
    agent: Agent,
    handed_over: MessageId,
    seen_at: Timestamp,
    ended_at: Timestamp,
    reservations: u64,
}

impl QuietRow {
    fn name(self) -> QuietName {
        let Self { agent, handed_over, seen_at, ended_at, reservations } = self;
        let quiet_since = agent.last_active_at.max(seen_at).max(ended_at);
        QuietName { agent, quiet_since, handed_over, reservations }
    }
}

from_row! {
    Session { agent, key, client, host, place, is_idle, began_at, seen_at }
    QuietRow { agent, handed_over, seen_at, ended_at, reservations }
}
