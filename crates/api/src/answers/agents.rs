//! Agents and projects, as answers show them.

use mail::agents::Agent;
use mail::office::Registered;
use mail::projects::Project;
use serde::{Deserialize, Serialize};

use crate::Time;

/// A project.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProjectAnswer {
    /// Its name in resource addresses.
    pub slug: String,
    /// The absolute path it was made for.
    pub human_key: String,
    /// When it was made.
    pub created_at: Time,
}

impl From<Project> for ProjectAnswer {
    fn from(project: Project) -> Self {
        Self { slug: project.slug, human_key: project.human_key, created_at: project.created_at.into() }
    }
}

/// An agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    pub registered_ts: Time,
    /// When it last wrote anything.
    pub last_active_ts: Time,
    /// When it was retired; until it registers again nobody can write to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retired_ts: Option<Time>,
}

impl From<Agent> for AgentAnswer {
    fn from(agent: Agent) -> Self {
        Self {
            id: agent.id.0,
            name: agent.name,
            program: agent.program,
            model: agent.model,
            task_description: agent.task_description,
            registered_ts: agent.registered_at.into(),
            last_active_ts: agent.last_active_at.into(),
            retired_ts: agent.retired_at.map(Time),
        }
    }
}

/// An agent that was registered, with its secret.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RegisteredAnswer {
    /// The agent.
    #[serde(flatten)]
    pub agent: AgentAnswer,
    /// The slug of its project.
    pub project: String,
    /// What proves its name where names have to be proved.
    pub registration_token: String,
}

impl From<Registered> for RegisteredAnswer {
    fn from(registered: Registered) -> Self {
        Self { agent: registered.agent.into(), project: registered.project.slug, registration_token: registered.token }
    }
}
