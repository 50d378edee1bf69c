//! Reports that the last session of an agent ended; the agent stays while a watcher is there for it.

use mail::{Error, Office};
use mcp::{Hints, Param};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::NotedAnswer;
use crate::params::{AGENT, PROJECT, TOKEN, claim};

/// Reports the end of a session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EndSession {
    pub project_key: String,
    pub agent_name: String,
    pub registration_token: Option<String>,
}

impl Verb for EndSession {
    const NAME: &'static str = "end_session";
    const ABOUT: &'static str = "Say that an agent's session ended.";
    const PARAMS: &'static [Param] = &[PROJECT, AGENT, TOKEN];
    const HINTS: Hints = Hints::REPEATABLE;
    type Answer = NotedAnswer;

    async fn run(self, office: &Office) -> Result<NotedAnswer, Error> {
        let agent = claim(&self.agent_name, self.registration_token.as_deref());
        Ok(NotedAnswer { changed: office.end_session(&self.project_key, agent).await? })
    }
}
