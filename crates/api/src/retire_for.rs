//! Retires an agent, as a person wants it.

use crate::prelude::*;

declare! {
    /// Retires an agent: nobody writes to it until it registers again.
    RetireFor("retire_for", WRITES, "Retire an agent.") {
        project_key: String = PROJECT;
        person: String = PERSON;
        agent_name: String = AGENT;
    }
}

impl Verb for RetireFor {
    type Answer = DoneAnswer;

    async fn run(self, office: &Office) -> Result<DoneAnswer, Error> {
        let done = office.retire(&self.project_key, &self.person, &self.agent_name).await?;
        Ok(DoneAnswer { done })
    }
}
