//! Agents and their tokens, in SQLite.

use std::collections::HashSet;

use async_trait::async_trait;
use jiff::Timestamp;
use mail::StoreError;
use mail::agents::{Agent, AgentName, AgentStore, Profile, Taking, TokenHash};
use mail::clock::from_micros;
use mail::events::EventKind;
use mail::ids::{AgentId, ProjectId};
use rusqlite::{Connection, OptionalExtension, Row};

use super::events::record;
use super::writer::Desk;
use super::{Sqlite, limit_of, reservations};

/// The columns of an agent.
const AGENT: &str = "id, project_id, name, program, model, task_description, registered_at, last_active_at, retired_at";

#[async_trait]
impl AgentStore for Sqlite {
    async fn register(
        &self,
        project: ProjectId,
        name: &AgentName,
        profile: &Profile,
        token: Option<TokenHash>,
        taking: Taking,
        now: Timestamp,
    ) -> Result<Option<Agent>, StoreError> {
        let (name, profile) = (name.as_str().to_owned(), profile.clone());
        self.write("register an agent", move |desk| {
            if !may_take(desk.connection, project, &name, taking)? {
                return Ok(None);
            }
            let agent = register(desk.connection, project, &name, &profile, now)?;
            if let Some(token) = token {
                remember(desk.connection, agent.id, &token, now)?;
            }
            Ok(Some(agent))
        })
        .await
    }

    async fn retire(
        &self,
        project: ProjectId,
        agent: AgentId,
        by: AgentId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.write("retire an agent", move |desk| retire(desk, project, agent, by, now)).await
    }

    async fn agents_named(&self, project: ProjectId, names: &[&str]) -> Result<Vec<Agent>, StoreError> {
        self.read("find agents", |connection| {
            let mut asked = HashSet::with_capacity(names.len());
            let mut found = Vec::with_capacity(names.len().min(64));
            for name in names.iter().filter(|name| asked.insert(**name)) {
                found.extend(by_name(connection, project, name)?);
            }
            Ok(found)
        })
    }

    async fn agents_in_any_case(&self, project: ProjectId, names: &[&str]) -> Result<Vec<Agent>, StoreError> {
        self.read("find agents", |connection| {
            let sql = format!(
                "SELECT {AGENT} FROM agent INDEXED BY agent_in_any_case
                 WHERE project_id = ?1 AND name = ?2 COLLATE NOCASE"
            );
            let mut found: Vec<Agent> = Vec::new();
            for name in names {
                let mut statement = connection.prepare_cached(&sql)?;
                for agent in statement.query_map((project.0, name), agent_of)? {
                    found.push(agent?);
                }
            }
            found.sort_by_key(|agent| agent.id);
            found.dedup_by_key(|agent| agent.id);
            Ok(found)
        })
    }

    async fn agents(&self, project: ProjectId, after: Option<AgentId>, limit: usize) -> Result<Vec<Agent>, StoreError> {
        let sql = format!(
            "SELECT {AGENT} FROM agent INDEXED BY agent_by_project
             WHERE project_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3"
        );
        self.read("list agents", |connection| {
            connection
                .prepare_cached(&sql)?
                .query_map((project.0, after.map_or(0, |id| id.0), limit_of(limit)), agent_of)?
                .collect()
        })
    }

    async fn token_hashes(&self, agent: AgentId) -> Result<Vec<TokenHash>, StoreError> {
        self.read("find tokens", |connection| {
            connection
                .prepare_cached("SELECT hash FROM agent_token WHERE agent_id = ?1 ORDER BY id DESC")?
                .query_map([agent.0], |row| row.get(0).map(TokenHash::from_bytes))?
                .collect()
        })
    }
}

fn may_take(connection: &Connection, project: ProjectId, name: &str, taking: Taking) -> rusqlite::Result<bool> {
    if taking == Taking::NewOrKnown {
        return Ok(true);
    }
    let Some(known) = by_name(connection, project, name)? else { return Ok(true) };
    let has_token = || connection.prepare_cached("SELECT 1 FROM agent_token WHERE agent_id = ?1")?.exists([known.id.0]);
    Ok(taking == Taking::NewOrTokenless && !has_token()?)
}

/// Registers a name, or brings its profile up to date. A new name writes an event, and one that was retired: it is back.
pub(super) fn register(
    connection: &Connection,
    project: ProjectId,
    name: &str,
    profile: &Profile,
    now: Timestamp,
) -> rusqlite::Result<Agent> {
    let is_there = by_name(connection, project, name)?.is_some_and(|known| known.retired_at.is_none());
    let sql = format!(
        "INSERT INTO agent (project_id, name, program, model, task_description, registered_at, last_active_at)
         VALUES (?1, ?2, coalesce(?3, ''), coalesce(?4, ''), coalesce(?5, ''), ?6, ?6)
         ON CONFLICT (project_id, name) DO UPDATE SET
             program = coalesce(?3, program),
             model = coalesce(?4, model),
             task_description = coalesce(?5, task_description),
             last_active_at = max(last_active_at, ?6),
             retired_at = NULL
         RETURNING {AGENT}"
    );
    let agent = connection.prepare_cached(&sql)?.query_row(
        (project.0, name, &profile.program, &profile.model, &profile.task_description, now.as_microsecond()),
        agent_of,
    )?;
    if !is_there {
        record(connection, project, EventKind::AgentRegistered, agent.id.0, Some(agent.id), now)?;
    }
    Ok(agent)
}

/// The agent of exactly that name.
pub(super) fn by_name(connection: &Connection, project: ProjectId, name: &str) -> rusqlite::Result<Option<Agent>> {
    let sql = format!("SELECT {AGENT} FROM agent WHERE project_id = ?1 AND name = ?2");
    connection.prepare_cached(&sql)?.query_row((project.0, name), agent_of).optional()
}

fn retire(
    desk: &mut Desk<'_>,
    project: ProjectId,
    agent: AgentId,
    by: AgentId,
    now: Timestamp,
) -> rusqlite::Result<bool> {
    let retired = desk
        .connection
        .prepare_cached("UPDATE agent SET retired_at = ?3 WHERE id = ?2 AND project_id = ?1 AND retired_at IS NULL")?
        .execute((project.0, agent.0, now.as_microsecond()))?;
    if retired == 0 {
        return Ok(false);
    }
    reservations::release(desk, project, agent, None, by, now)?;
    record(desk.connection, project, EventKind::AgentRetired, agent.0, Some(by), now)?;
    Ok(true)
}

/// Keeps one more token, and forgets those before the newest 16.
fn remember(connection: &Connection, agent: AgentId, token: &TokenHash, now: Timestamp) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM agent_token WHERE agent_id = ?1 AND hash = ?2")?
        .execute((agent.0, token.as_bytes()))?;
    connection
        .prepare_cached("INSERT INTO agent_token (agent_id, hash, created_at) VALUES (?1, ?2, ?3)")?
        .execute((agent.0, token.as_bytes(), now.as_microsecond()))?;
    connection
        .prepare_cached(
            "DELETE FROM agent_token WHERE agent_id = ?1 AND id <=
                 (SELECT id FROM agent_token WHERE agent_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET 16)",
        )?
        .execute([agent.0])?;
    Ok(())
}

/// The agent in the first columns.
pub(super) fn agent_of(row: &Row<'_>) -> rusqlite::Result<Agent> {
    Ok(Agent {
        id: AgentId(row.get(0)?),
        project: ProjectId(row.get(1)?),
        name: row.get(2)?,
        program: row.get(3)?,
        model: row.get(4)?,
        task_description: row.get(5)?,
        registered_at: from_micros(row.get(6)?),
        last_active_at: from_micros(row.get(7)?),
        retired_at: row.get::<_, Option<i64>>(8)?.map(from_micros),
    })
}
