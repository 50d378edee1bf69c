//! Agents and their tokens, in PostgreSQL.

use async_trait::async_trait;
use futures_util::FutureExt;
use jiff::Timestamp;
use mail::StoreError;
use mail::agents::{Agent, AgentName, AgentStore, Profile, Taking, TokenHash};
use mail::clock::from_micros;
use mail::events::EventKind;
use mail::ids::{AgentId, ProjectId};
use tokio_postgres::Row;

use super::desk::Desk;
use super::rows::{Outcome, Trouble, limit_of, possible, time};
use super::{Postgres, reservations};

/// The columns of an agent.
const AGENT: &str = "id, project_id, name, program, model, task_description, registered_at, last_active_at, retired_at";

#[async_trait]
impl AgentStore for Postgres {
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
        self.write("register an agent", project, move |desk| {
            async move {
                if !may_take(desk, project, &name, taking).await? {
                    return Ok(None);
                }
                let agent = register(desk, project, &name, &profile, now).await?;
                if let Some(token) = token {
                    remember(desk, agent.id, &token, now).await?;
                }
                Ok(Some(agent))
            }
            .boxed()
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
        self.write("retire an agent", project, move |desk| retire(desk, project, agent, by, now).boxed()).await
    }

    async fn agents_named(&self, project: ProjectId, names: &[&str]) -> Result<Vec<Agent>, StoreError> {
        let sql = format!("SELECT {AGENT} FROM agent WHERE project_id = $1 AND name = ANY ($2)");
        self.read_as("find agents", &sql, &[&project.0, &possible(names)], agent_of).await
    }

    async fn agents_in_any_case(&self, project: ProjectId, names: &[&str]) -> Result<Vec<Agent>, StoreError> {
        let lower: Vec<String> = possible(names).iter().map(|name| name.to_ascii_lowercase()).collect();
        let sql = format!("SELECT {AGENT} FROM agent WHERE project_id = $1 AND lower(name) = ANY ($2) ORDER BY id");
        self.read_as("find agents", &sql, &[&project.0, &lower], agent_of).await
    }

    async fn agents(&self, project: ProjectId, after: Option<AgentId>, limit: usize) -> Result<Vec<Agent>, StoreError> {
        let sql = format!("SELECT {AGENT} FROM agent WHERE project_id = $1 AND id > $2 ORDER BY id LIMIT $3");
        let after = after.map_or(0, |id| id.0);
        self.read_as("list agents", &sql, &[&project.0, &after, &limit_of(limit)], agent_of).await
    }

    async fn token_hashes(&self, agent: AgentId) -> Result<Vec<TokenHash>, StoreError> {
        let sql = "SELECT hash FROM agent_token WHERE agent_id = $1 ORDER BY id DESC";
        self.read_as("find tokens", sql, &[&agent.0], |row| {
            let bytes = <[u8; 32]>::try_from(row.try_get::<_, &[u8]>(0)?);
            bytes.map(TokenHash::from_bytes).map_err(|_| Trouble::Unknown("a token's hash is too short".to_owned()))
        })
        .await
    }
}

async fn may_take(desk: &Desk, project: ProjectId, name: &str, taking: Taking) -> Outcome<bool> {
    if taking == Taking::NewOrKnown {
        return Ok(true);
    }
    let Some(known) = by_name(desk, project, name).await? else { return Ok(true) };
    let tokens = desk.rows("SELECT 1 FROM agent_token WHERE agent_id = $1 LIMIT 1", &[&known.id.0]).await?;
    Ok(taking == Taking::NewOrTokenless && tokens.is_empty())
}

/// Registers a name, or brings its profile up to date. A new name writes an event, and one that was retired: it is back.
pub(super) async fn register(
    desk: &mut Desk,
    project: ProjectId,
    name: &str,
    profile: &Profile,
    now: Timestamp,
) -> Outcome<Agent> {
    // Nobody else writes in the project now, so that what is not there is new. (An `ON CONFLICT` would use up a number.)
    let known = by_name(desk, project, name).await?;
    let sql = if known.is_none() {
        format!(
            "INSERT INTO agent (project_id, name, program, model, task_description, registered_at, last_active_at)
             VALUES ($1, $2, coalesce($3, ''), coalesce($4, ''), coalesce($5, ''), $6, $6) RETURNING {AGENT}"
        )
    } else {
        format!(
            "UPDATE agent SET program = coalesce($3, program), model = coalesce($4, model),
                 task_description = coalesce($5, task_description), last_active_at = greatest(last_active_at, $6),
                 retired_at = NULL
             WHERE project_id = $1 AND name = $2 RETURNING {AGENT}"
        )
    };
    let Profile { program, model, task_description } = profile;
    let at = now.as_microsecond();
    let rows = desk.changed_rows(&sql, &[&project.0, &name, program, model, task_description, &at]).await?;
    let agent = agent_of(&rows[0])?;
    if known.is_none_or(|known| known.retired_at.is_some()) {
        desk.record(project, EventKind::AgentRegistered, agent.id.0, Some(agent.id), now)?;
    }
    Ok(agent)
}

/// The agent of exactly that name.
pub(super) async fn by_name(desk: &Desk, project: ProjectId, name: &str) -> Outcome<Option<Agent>> {
    let sql = format!("SELECT {AGENT} FROM agent WHERE project_id = $1 AND name = $2");
    desk.rows(&sql, &[&project.0, &name]).await?.first().map(agent_of).transpose()
}

async fn retire(desk: &mut Desk, project: ProjectId, agent: AgentId, by: AgentId, now: Timestamp) -> Outcome<bool> {
    let sql = "UPDATE agent SET retired_at = $3 WHERE id = $2 AND project_id = $1 AND retired_at IS NULL";
    if desk.execute(sql, &[&project.0, &agent.0, &now.as_microsecond()]).await? == 0 {
        return Ok(false);
    }
    reservations::release(desk, project, agent, None, by, now).await?;
    desk.record(project, EventKind::AgentRetired, agent.0, Some(by), now)?;
    Ok(true)
}

/// Keeps one more token, and forgets those before the newest 16.
async fn remember(desk: &Desk, agent: AgentId, token: &TokenHash, now: Timestamp) -> Outcome<()> {
    let hash = token.as_bytes().as_slice();
    desk.execute("DELETE FROM agent_token WHERE agent_id = $1 AND hash = $2", &[&agent.0, &hash]).await?;
    desk.execute(
        "INSERT INTO agent_token (agent_id, hash, created_at) VALUES ($1, $2, $3)",
        &[&agent.0, &hash, &now.as_microsecond()],
    )
    .await?;
    desk.execute(
        "DELETE FROM agent_token WHERE agent_id = $1 AND id <=
             (SELECT id FROM agent_token WHERE agent_id = $1 ORDER BY id DESC LIMIT 1 OFFSET 16)",
        &[&agent.0],
    )
    .await
    .map(drop)
}

/// The agent in the first columns.
pub(super) fn agent_of(row: &Row) -> Outcome<Agent> {
    Ok(Agent {
        id: AgentId(row.try_get(0)?),
        project: ProjectId(row.try_get(1)?),
        name: row.try_get(2)?,
        program: row.try_get(3)?,
        model: row.try_get(4)?,
        task_description: row.try_get(5)?,
        registered_at: time(row, 6)?,
        last_active_at: time(row, 7)?,
        retired_at: row.try_get::<_, Option<i64>>(8)?.map(from_micros),
    })
}
