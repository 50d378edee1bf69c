//! Reports that the last session of an agent ended; the agent stays while a watcher is there for it.

use crate::prelude::*;

declare! {
    /// Reports the end of a session.
    EndSession("end_session", REPEATABLE, "Say that an agent's session ended.") {
        project_key: String = PROJECT;
        agent_name: String = AGENT;
        registration_token: Option<String> = TOKEN;
    }
}

impl Verb for EndSession {
    type Answer = NotedAnswer;

    async fn run(self, office: &Office) -> Result<NotedAnswer, Error> {
        let agent = claim(&self.agent_name, self.registration_token.as_deref());
        Ok(NotedAnswer { changed: office.end_session(&self.project_key, agent).await? })
    }
}
