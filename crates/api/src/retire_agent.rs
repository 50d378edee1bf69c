//! Retires an agent in its own name. A person at the page retires any.

use crate::prelude::*;

declare! {
    /// Retires oneself: nobody writes to the agent until it registers again.
    RetireAgent("retire_agent", WRITES, "Retire yourself: nobody writes to you until you register again.") {
        project_key: String = PROJECT;
        agent_name: String = AGENT;
        registration_token: Option<String> = TOKEN;
    }
}

impl Verb for RetireAgent {
    type Answer = DoneAnswer;

    async fn run(self, office: &Office) -> Result<DoneAnswer, Error> {
        let agent = claim(&self.agent_name, self.registration_token.as_deref());
        Ok(DoneAnswer { done: office.retire_oneself(&self.project_key, agent).await? })
    }
}
