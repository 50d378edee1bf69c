//! Agents with their presence, for those who look for colleagues. How an agent stands is decided by `mail`.

use std::collections::HashSet;

use mail::agents::Agent;
use mail::colleagues::{Colleague, ColleagueStore};

use crate::agents;
use crate::prelude::*;

/// The columns of an agent `a` and of its presence `p`.
const COLLEAGUE: &str = "a.id, a.project_id, a.name, a.program, a.model, a.task_description, a.registered_at, \
     a.last_active_at, a.retired_at, \
     p.state, p.substate, p.since, p.seen_at, p.source, p.watcher_pid, p.channel";

#[async_trait]
impl ColleagueStore for Engine {
    async fn colleagues(&self, project: ProjectId, limit: usize) -> Stored<Vec<Colleague>> {
        self.read("look for colleagues", async |tx| colleagues(tx, project, limit).await).await
    }

    async fn colleagues_since(&self, project: ProjectId, since: Timestamp, limit: usize) -> Stored<Vec<Colleague>> {
        self.read("look for who is awake", async |tx| heard_of(tx, project, since, limit).await).await
    }

    async fn agents_in(&self, project: ProjectId, program: &str, limit: usize) -> Stored<Vec<Agent>> {
        let sql = format!(
            "SELECT {} FROM agent a INDEXED BY agent_by_project
             WHERE a.project_id = ?1 AND a.program = ?2 AND a.retired_at IS NULL ORDER BY a.id LIMIT ?3",
            agents::columns("a")
        );
        self.read("list agents of a program", async |tx| tx.rows(&sql, values![project, program, limit]).await).await
    }

    async fn colleagues_of(&self, agents: &[AgentId]) -> Stored<Vec<Colleague>> {
        let sql = format!("SELECT {COLLEAGUE} FROM agent a LEFT JOIN presence p ON p.agent_id = a.id WHERE a.id = ?1");
        let mut asked = HashSet::with_capacity(agents.len());
        let agents: Vec<AgentId> = agents.iter().copied().filter(|agent| asked.insert(*agent)).collect();
        if agents.is_empty() {
            return Ok(Vec::new());
        }
        let asked = agents.iter().map(|agent| [Value::from(*agent)]);
        self.read("look how agents stand", async |tx| tx.rows_many(&sql, asked).await).await
    }
}

/// Who was heard of, along the index of times, and then, if there is room, who never was.
async fn colleagues(tx: &mut Tx<'_>, project: ProjectId, limit: usize) -> Outcome<Vec<Colleague>> {
    let mut found = heard_of(tx, project, Timestamp::MIN, limit).await?;
    if found.len() < limit {
        let never = format!(
            "SELECT {COLLEAGUE} FROM agent a INDEXED BY agent_by_project LEFT JOIN presence p ON p.agent_id = a.id
             WHERE a.project_id = ?1 AND a.retired_at IS NULL AND p.agent_id IS NULL ORDER BY a.id DESC LIMIT ?2"
        );
        found.extend(tx.rows(&never, values![project, limit - found.len()]).await?);
    }
    Ok(found)
}

/// Who was heard of at `since` or later, the last first.
async fn heard_of(tx: &mut Tx<'_>, project: ProjectId, since: Timestamp, limit: usize) -> Outcome<Vec<Colleague>> {
    let sql = format!(
        "SELECT {COLLEAGUE} FROM presence p INDEXED BY presence_by_time CROSS JOIN agent a ON a.id = p.agent_id
         WHERE p.project_id = ?1 AND p.seen_at >= ?2 AND a.retired_at IS NULL
         ORDER BY p.seen_at DESC, p.agent_id DESC LIMIT ?3"
    );
    tx.rows(&sql, values![project, since, limit]).await
}

from_row! { Colleague { agent, presence } }
