//! Reports that the watcher of an agent is gone; the agent stays while another watcher is there for it.

use mail::{Error, Office};
use mcp::{Hints, Param};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::NotedAnswer;
use crate::params::{AGENT, PROJECT, TOKEN, claim};

/// Reports that an agent is gone.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Leave {
    pub project_key: String,
    pub agent_name: String,
    pub registration_token: Option<String>,
}

impl Verb for Leave {
    const NAME: &'static str = "leave";
    const ABOUT: &'static str = "Say that an agent's watcher is gone.";
    const PARAMS: &'static [Param] = &[PROJECT, AGENT, TOKEN];
    const HINTS: Hints = Hints::REPEATABLE;
    type Answer = NotedAnswer;

    async fn run(self, office: &Office) -> Result<NotedAnswer, Error> {
        let agent = claim(&self.agent_name, self.registration_token.as_deref());
        Ok(NotedAnswer { changed: office.leave(&self.project_key, agent).await? })
    }
}
