//! The agents of a project and whether they are there, page by page, in the order they were registered.

use mail::ids::AgentId;
use mail::{Error, Office};
use mcp::{Hints, Param, ParamKind};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::{PresentAnswer, ProjectAnswer};
use crate::params::{AFTER, LIMIT, LONG_LIMIT, PROJECT, limit, next};

/// Asks for a page of agents, or for one of them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ListAgents {
    pub project_key: String,
    /// Only this one.
    pub agent_name: Option<String>,
    /// The cursor: where the page before ended.
    pub after: Option<i64>,
    /// 100 when nobody says.
    pub limit: Option<u32>,
}

/// A page of agents.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AgentsAnswer {
    pub project: ProjectAnswer,
    pub agents: Vec<PresentAnswer>,
    /// The cursor of the next page; null if this is the last.
    pub next: Option<i64>,
}

impl Verb for ListAgents {
    const NAME: &'static str = "list_agents";
    const ABOUT: &'static str = "The agents of a project, and who is there.";
    const PARAMS: &'static [Param] =
        &[PROJECT, Param::optional("agent_name", ParamKind::Text, "Only this one"), AFTER, LIMIT];
    const HINTS: Hints = Hints::READS;
    type Answer = AgentsAnswer;

    async fn run(self, office: &Office) -> Result<AgentsAnswer, Error> {
        let (after, limit) = match &self.agent_name {
            // The page of one that begins behind the number before its own.
            Some(name) => (Some(office.whois(&self.project_key, name).await?.id.0 - 1), 1),
            None => (self.after, limit(self.limit, LONG_LIMIT)),
        };
        let (project, present) = office.present(&self.project_key, after.map(AgentId), limit).await?;
        let next = next(&present, limit, |one| one.agent.id.0).filter(|_| self.agent_name.is_none());
        let now = office.now();
        let agents = present.into_iter().map(|one| PresentAnswer::new(one, now)).collect();
        Ok(AgentsAnswer { project: project.into(), agents, next })
    }
}
