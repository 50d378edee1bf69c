//! Agents and their tokens.

use std::collections::HashSet;

use mail::agents::{Agent, AgentName, AgentStore, Profile, Revoked, Taking, TokenHash, is_below};

use crate::prelude::*;
use crate::{reservations, roles, sessions};

/// The columns of an agent.
const AGENT: &str = "id, project_id, name, program, model, task_description, registered_at, last_active_at, retired_at";

#[async_trait]
impl AgentStore for Engine {
    async fn register(
        &self,
        project: ProjectId,
        name: &AgentName,
        profile: &Profile,
        token: Option<TokenHash>,
        taking: Taking,
        now: Timestamp,
    ) -> Stored<Option<Agent>> {
        let (name, profile) = (name.as_str().to_owned(), profile.clone());
        let registering = in_job!(|tx| {
            if !may_take(tx, project, &name, taking).await? {
                return Ok(None);
            }
            let is_generated = match taking {
                Taking::Generated => true,
                Taking::NewOnly | Taking::Over => false,
                Taking::NewOrTokenless | Taking::NewOrKnown => {
                    is_below(&name) && known(tx, project, &name).await?.is_none()
                }
            };
            let agent = register(tx, project, &name, &profile, now).await?;
            if is_generated {
                sessions::note_generated(tx, project, agent.id).await?;
            }
            if taking == Taking::Over {
                tx.execute("DELETE FROM agent_token WHERE agent_id = ?1", values![agent.id]).await?;
            }
            if let Some(token) = token {
                remember(tx, agent.id, &token, now).await?;
            }
            Ok(Some(agent))
        });
        self.write("register an agent", Home::Project(project), registering).await
    }

    async fn retire(&self, project: ProjectId, agent: AgentId, by: AgentId, now: Timestamp) -> Stored<bool> {
        let retiring = in_job!(|tx| retire(tx, project, agent, by, now).await);
        self.write("retire an agent", Home::Project(project), retiring).await
    }

    async fn rename(
        &self,
        project: ProjectId,
        agent: AgentId,
        name: &AgentName,
        now: Timestamp,
    ) -> Stored<Option<Agent>> {
        let name = name.as_str().to_owned();
        let renaming = in_job!(|tx| rename(tx, project, agent, &name, now).await);
        self.write("rename an agent", Home::Project(project), renaming).await
    }

    async fn once_named(&self, project: ProjectId, name: &str) -> Stored<Option<Agent>> {
        self.read("find an agent by a former name", async |tx| by_former_name(tx, project, name).await).await
    }

    async fn agents_once_named(&self, project: ProjectId, names: &[&str]) -> Stored<Vec<Agent>> {
        let asked = names.iter().map(|name| *values![project, *name]);
        let sql = by_former_name_sql();
        self.read("find agents by former names", async |tx| tx.rows_many(&sql, asked).await).await
    }

    async fn agents_named(&self, project: ProjectId, names: &[&str]) -> Stored<Vec<Agent>> {
        let sql = format!("SELECT {AGENT} FROM agent WHERE project_id = ?1 AND name = ?2");
        let mut asked = HashSet::with_capacity(names.len());
        let names: Vec<&str> = names.iter().copied().filter(|name| asked.insert(*name)).collect();
        let asked = names.iter().map(|name| *values![project, *name]);
        self.read("find agents", async |tx| tx.rows_many(&sql, asked).await).await
    }

    async fn agents_in_any_case(&self, project: ProjectId, names: &[&str]) -> Stored<Vec<Agent>> {
        let sql = format!(
            "SELECT {AGENT} FROM agent INDEXED BY agent_in_any_case
             WHERE project_id = ?1 AND name = ?2 COLLATE NOCASE"
        );
        let lower: Vec<String> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
        let asked = lower.iter().map(|name| *values![project, name]);
        let mut found: Vec<Agent> = self.read("find agents", async |tx| tx.rows_many(&sql, asked).await).await?;
        found.sort_by_key(|agent| agent.id);
        found.dedup_by_key(|agent| agent.id);
        Ok(found)
    }

    async fn agents(&self, project: ProjectId, after: Option<AgentId>, limit: usize) -> Stored<Vec<Agent>> {
        let sql = format!(
            "SELECT {AGENT} FROM agent INDEXED BY agent_by_project
             WHERE project_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3"
        );
        let values = values![project, after.map_or(0, |id| id.0), limit];
        self.read("list agents", async |tx| tx.rows(&sql, values).await).await
    }

    async fn token_hashes(&self, agent: AgentId) -> Stored<Vec<TokenHash>> {
        let sql = "SELECT hash FROM agent_token WHERE agent_id = ?1 ORDER BY id DESC";
        self.read("find tokens", async |tx| tx.rows(sql, values![agent]).await).await
    }

    async fn revoke_tokens(
        &self,
        agent: AgentId,
        which: Option<&[TokenHash]>,
        instead: TokenHash,
        now: Timestamp,
    ) -> Stored<Revoked> {
        let which = which.map(<[TokenHash]>::to_vec);
        let revoking = in_job!(|tx| revoke(tx, agent, which.as_deref(), &instead, now).await);
        self.write("revoke tokens", Home::Agent(agent), revoking).await
    }
}

async fn may_take(tx: &mut Tx<'_>, project: ProjectId, name: &str, taking: Taking) -> Outcome<bool> {
    if matches!(taking, Taking::NewOrKnown | Taking::Over) {
        return Ok(true);
    }
    let Some(known) = known(tx, project, name).await? else { return Ok(true) };
    let has_token = tx.exists("SELECT 1 FROM agent_token WHERE agent_id = ?1 LIMIT 1", values![known.id]).await?;
    Ok(taking == Taking::NewOrTokenless && !has_token)
}

/// Retires an agent, whose reservations are given back and whose sessions end; `false` if it was retired before or is none of the
/// project.
pub(crate) async fn retire(
    tx: &mut Tx<'_>,
    project: ProjectId,
    agent: AgentId,
    by: AgentId,
    now: Timestamp,
) -> Outcome<bool> {
    let sql = "UPDATE agent SET retired_at = ?3 WHERE id = ?2 AND project_id = ?1 AND retired_at IS NULL";
    if tx.execute(sql, values![project, agent, now]).await? == 0 {
        return Ok(false);
    }
    sessions::end_all(tx, agent, now).await?;
    roles::end_holds(tx, project, agent, now).await?;
    reservations::release(tx, project, agent, None, by, now).await?;
    tx.record(project, EventKind::AgentRetired, agent.0, Some(by), now).await?;
    Ok(true)
}

async fn rename(
    tx: &mut Tx<'_>,
    project: ProjectId,
    agent: AgentId,
    name: &str,
    now: Timestamp,
) -> Outcome<Option<Agent>> {
    if known(tx, project, name).await?.is_some_and(|other| other.id != agent) {
        return Ok(None);
    }
    let sql = "SELECT name FROM agent WHERE id = ?2 AND project_id = ?1";
    let Some(before) = tx.row::<String>(sql, values![project, agent]).await? else { return Ok(None) };
    if before != name {
        // It may have had this name before.
        let sql = "DELETE FROM former_name WHERE project_id = ?1 AND name = ?2";
        tx.execute(sql, values![project, name]).await?;
        let sql = "INSERT INTO former_name (project_id, name, agent_id) VALUES (?1, ?2, ?3)";
        tx.execute(sql, values![project, &before, agent]).await?;
        tx.execute("UPDATE agent SET name = ?2 WHERE id = ?1", values![agent, name]).await?;
        // Somebody chose the name that it has now.
        tx.execute("DELETE FROM generated_name WHERE agent_id = ?1", values![agent]).await?;
        // Whoever remembers reservations remembers the names of their holders.
        tx.raise_reservations(project).await?;
        tx.record(project, EventKind::AgentRenamed, agent.0, Some(agent), now).await?;
    }
    by_name(tx, project, name).await
}

/// Registers a name, or brings its profile up to date. A new name writes an event, and one that was retired: it is back.
pub(crate) async fn register(
    tx: &mut Tx<'_>,
    project: ProjectId,
    name: &str,
    profile: &Profile,
    now: Timestamp,
) -> Outcome<Agent> {
    // Nobody else writes in the project now, so that what is not there is new. (In PostgreSQL an `ON CONFLICT` would use
    // up a number.)
    let known = known(tx, project, name).await?;
    // An agent that was renamed is found under its former name, too.
    let name = known.as_ref().map_or(name, |known| known.name.as_str());
    let sql = if known.is_none() {
        format!(
            "INSERT INTO agent (project_id, name, program, model, task_description, registered_at, last_active_at)
             VALUES (?1, ?2, coalesce(?3, ''), coalesce(?4, ''), coalesce(?5, ''), ?6, ?6) RETURNING {AGENT}"
        )
    } else {
        format!(
            "UPDATE agent SET program = coalesce(?3, program), model = coalesce(?4, model),
                 task_description = coalesce(?5, task_description),
                 last_active_at = CASE WHEN last_active_at < ?6 THEN ?6 ELSE last_active_at END, retired_at = NULL
             WHERE project_id = ?1 AND name = ?2 RETURNING {AGENT}"
        )
    };
    let Profile { program, model, task_description } = profile;
    let agent: Agent = tx.only(&sql, values![project, name, program, model, task_description, now]).await?;
    if known.as_ref().is_none_or(|known| known.retired_at.is_some()) {
        tx.record(project, EventKind::AgentRegistered, agent.id.0, Some(agent.id), now).await?;
    }
    Ok(agent)
}

/// The agent of exactly that name.
pub(crate) async fn by_name(tx: &mut Tx<'_>, project: ProjectId, name: &str) -> Outcome<Option<Agent>> {
    let sql = format!("SELECT {AGENT} FROM agent WHERE project_id = ?1 AND name = ?2");
    tx.row(&sql, values![project, name]).await
}

/// The agent that had exactly that name before it was renamed.
async fn by_former_name(tx: &mut Tx<'_>, project: ProjectId, name: &str) -> Outcome<Option<Agent>> {
    tx.row(&by_former_name_sql(), values![project, name]).await
}

fn by_former_name_sql() -> String {
    format!(
        "SELECT {} FROM former_name f CROSS JOIN agent a ON a.id = f.agent_id WHERE f.project_id = ?1 AND f.name = ?2",
        columns("a")
    )
}

/// The agent that has, or else had, exactly that name.
pub(crate) async fn known(tx: &mut Tx<'_>, project: ProjectId, name: &str) -> Outcome<Option<Agent>> {
    match by_name(tx, project, name).await? {
        Some(agent) => Ok(Some(agent)),
        None => by_former_name(tx, project, name).await,
    }
}

/// The columns of an agent in a statement that calls its table so.
pub(crate) fn columns(table: &str) -> String {
    AGENT.split(", ").map(|column| format!("{table}.{column}")).collect::<Vec<_>>().join(", ")
}

/// Keeps one more token, and forgets those before the newest 16.
pub(crate) async fn remember(tx: &mut Tx<'_>, agent: AgentId, token: &TokenHash, now: Timestamp) -> Outcome<()> {
    let hash = token.as_bytes();
    tx.execute("DELETE FROM agent_token WHERE agent_id = ?1 AND hash = ?2", values![agent, hash]).await?;
    let sql = "INSERT INTO agent_token (agent_id, hash, created_at) VALUES (?1, ?2, ?3)";
    tx.execute(sql, values![agent, hash, now]).await?;
    let sql = "DELETE FROM agent_token WHERE agent_id = ?1 AND id <=
                   (SELECT id FROM agent_token WHERE agent_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET 16)";
    tx.execute(sql, values![agent]).await.map(drop)
}

async fn revoke(
    tx: &mut Tx<'_>,
    agent: AgentId,
    which: Option<&[TokenHash]>,
    instead: &TokenHash,
    now: Timestamp,
) -> Outcome<Revoked> {
    let revoked = match which {
        None => tx.execute("DELETE FROM agent_token WHERE agent_id = ?1", values![agent]).await?,
        Some(hashes) => {
            let mut revoked = 0;
            for hash in hashes {
                let sql = "DELETE FROM agent_token WHERE agent_id = ?1 AND hash = ?2";
                revoked += tx.execute(sql, values![agent, hash.as_bytes()]).await?;
            }
            revoked
        }
    };
    let left: u64 = tx.only("SELECT count(*) FROM agent_token WHERE agent_id = ?1", values![agent]).await?;
    let is_replaced = left == 0 && tx.exists("SELECT 1 FROM agent WHERE id = ?1", values![agent]).await?;
    if is_replaced {
        remember(tx, agent, instead, now).await?;
    }
    Ok(Revoked { revoked: revoked as u64, left: left + u64::from(is_replaced), is_replaced })
}

from_row! {
    Agent { id, project, name, program, model, task_description, registered_at, last_active_at, retired_at }
}
