//! Agents and projects, as answers show them.

use mail::agents::Agent;
use mail::projects::Project;
use serde::Serialize;

use super::rfc3339;

/// A project.
#[derive(Serialize)]
pub struct ProjectAnswer {
    /// Its name in resource addresses.
    pub slug: String,
    /// The absolute path it was made for.
    pub human_key: String,
    /// When it was made.
    pub created_at: String,
}

impl From<&Project> for ProjectAnswer {
    fn from(project: &Project) -> Self {
        Self {
            slug: project.slug.clone(),
            human_key: project.human_key.clone(),
            created_at: rfc3339(project.created_at),
        }
    }
}

/// An agent.
#[derive(Serialize)]
pub struct AgentAnswer {
    /// Its number.
    pub id: i64,
    /// What others call it.
    pub name: String,
    /// The program it runs in.
    pub program: String,
    /// The model behind it.
    pub model: String,
    /// What it works on.
    pub task_description: String,
    /// When it was first registered.
    pub registered_ts: String,
    /// When it last wrote anything.
    pub last_active_ts: String,
    /// When it was retired; until it registers again nobody can write to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retired_ts: Option<String>,
}

impl From<&Agent> for AgentAnswer {
    fn from(agent: &Agent) -> Self {
        Self {
            id: agent.id.0,
            name: agent.name.clone(),
            program: agent.program.clone(),
            model: agent.model.clone(),
            task_description: agent.task_description.clone(),
            registered_ts: rfc3339(agent.registered_at),
            last_active_ts: rfc3339(agent.last_active_at),
            retired_ts: agent.retired_at.map(rfc3339),
        }
    }
}
