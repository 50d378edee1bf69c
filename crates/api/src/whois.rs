//! Who an agent is.

use mail::{Error, Office};
use mcp::{Hints, Param};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::AgentAnswer;
use crate::params::{AGENT, PROJECT};

/// Asks who an agent is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Whois {
    pub project_key: String,
    pub agent_name: String,
}

impl Verb for Whois {
    const NAME: &'static str = "whois";
    const ABOUT: &'static str = "Who is an agent and what does it work on?";
    const PARAMS: &'static [Param] = &[PROJECT, AGENT];
    const HINTS: Hints = Hints::READS;
    type Answer = AgentAnswer;

    async fn run(self, office: &Office) -> Result<AgentAnswer, Error> {
        Ok(office.whois(&self.project_key, &self.agent_name).await?.into())
    }
}
