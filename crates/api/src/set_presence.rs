//! What a watcher reports of its agent. An agent need not call it: whatever it does shows that it is awake.

use mail::office::Sign;
use mail::presence::AWAKE;

use crate::prelude::*;

declare! {
    /// Reports the presence of an agent.
    SetPresence("set_presence", REPEATABLE, "Say whether an agent is there, and what it is at.") {
        project_key: String = PROJECT;
        agent_name: String = AGENT;
        /// `AWAKE` when nobody says.
        state: Option<String> = Param::optional("state", Text, "AWAKE when it is left out");
        /// What it is at, e.g. `IDLE`.
        substate: Option<String> = Param::optional("substate", Text, "e.g. IDLE, WORKING");
        watcher_pid: Option<i64> = Param::optional("watcher_pid", Number { min: 1, max: i64::MAX }, "");
        /// The channel that is watched.
        channel: Option<String> = Param::optional("channel", Text, "");
        registration_token: Option<String> = TOKEN;
    }
}

impl Verb for SetPresence {
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
