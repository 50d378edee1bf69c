//! Gives a role back.

use crate::prelude::*;

declare! {
    /// Gives a role back.
    ReleaseRole("release_role", REPEATABLE, "Give a role back before its time is over.") {
        project_key: String = PROJECT;
        agent_name: String = AGENT;
        role: String = ROLE;
        registration_token: Option<String> = TOKEN;
    }
}

impl Verb for ReleaseRole {
    type Answer = DoneAnswer;

    async fn run(self, office: &Office) -> Result<DoneAnswer, Error> {
        let agent = claim(&self.agent_name, self.registration_token.as_deref());
        Ok(DoneAnswer { done: office.release_role(&self.project_key, agent, &self.role).await? })
    }
}
