//! What a watcher reports of its agent. An agent need not call it: whatever it does shows that it is awake.

use mail::office::Sign;
use mail::presence::AWAKE;
use mail::{Error, Office};
use mcp::{Hints, Param, ParamKind};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::NotedAnswer;
use crate::params::{AGENT, PROJECT, TOKEN, claim};

/// Reports the presence of an agent.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SetPresence {
    pub project_key: String,
    pub agent_name: String,
    /// `AWAKE` when nobody says.
    pub state: Option<String>,
    /// What it is at, e.g. `IDLE`.
    pub substate: Option<String>,
    pub watcher_pid: Option<i64>,
    /// The channel that is watched.
    pub channel: Option<String>,
    pub registration_token: Option<String>,
}

impl Verb for SetPresence {
    const NAME: &'static str = "set_presence";
    const ABOUT: &'static str = "Say whether an agent is there, and what it is at.";
    const PARAMS: &'static [Param] = &[
        PROJECT,
        AGENT,
        Param::optional("state", ParamKind::Text, "AWAKE when it is left out"),
        Param::optional("substate", ParamKind::Text, "e.g. IDLE, WORKING"),
        Param::optional("watcher_pid", ParamKind::Number { min: 1, max: i64::MAX }, ""),
        Param::optional("channel", ParamKind::Text, ""),
        TOKEN,
    ];
    const HINTS: Hints = Hints::REPEATABLE;
    type Answer = NotedAnswer;

    async fn run(self, office: &Office) -> Result<NotedAnswer, Error> {
        let sign = Sign {
            state: self.state.as_deref().unwrap_or(AWAKE),
            substate: self.substate.as_deref(),
            watcher_pid: self.watcher_pid,
            channel: self.channel.as_deref(),
        };
        let agent = claim(&self.agent_name, self.registration_token.as_deref());
        Ok(NotedAnswer { changed: office.beat(&self.project_key, agent, sign).await? })
    }
}
