//! Who an agent is.

use crate::prelude::*;

declare! {
    /// Asks who an agent is.
    Whois("whois", READS, "Who is an agent and what does it work on?") {
        project_key: String = PROJECT;
        agent_name: String = AGENT;
    }
}

impl Verb for Whois {
    type Answer = AgentAnswer;

    async fn run(self, office: &Office) -> Result<AgentAnswer, Error> {
        Ok(AgentAnswer::new(office.whois(&self.project_key, &self.agent_name).await?))
    }
}
