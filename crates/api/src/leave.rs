//! Reports that the watcher of an agent is gone; the agent stays while another watcher is there for it.

use crate::prelude::*;

declare! {
    /// Reports that an agent is gone.
    Leave("leave", REPEATABLE, "Say that an agent's watcher is gone.") {
        project_key: String = PROJECT;
        agent_name: String = AGENT;
        registration_token: Option<String> = TOKEN;
    }
}

impl Verb for Leave {
    type Answer = NotedAnswer;

    async fn run(self, office: &Office) -> Result<NotedAnswer, Error> {
        let agent = claim(&self.agent_name, self.registration_token.as_deref());
        Ok(NotedAnswer { changed: office.leave(&self.project_key, agent).await? })
    }
}
