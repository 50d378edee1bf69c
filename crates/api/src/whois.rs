//! Who an agent is.

use crate::prelude::*;

declare! {
    /// Asks who an agent is.
    Whois("whois", READS, "Who is an agent and what does it work on?") {
        project_key: String = PROJECT;
        agent_name: String = AGENT;
    }

    /// An agent, and the sessions with which it is reached now.
    WhoisAnswer {
        /// The agent.
        #[serde(flatten)]
        agent: AgentAnswer,
        /// Its open sessions.
        sessions[if_any]: Vec<OpenSessionAnswer>,
    }
}

impl Verb for Whois {
    type Answer = WhoisAnswer;

    async fn run(self, office: &Office) -> Result<WhoisAnswer, Error> {
        let agent = office.whois(&self.project_key, &self.agent_name).await?;
        let sessions = office.sessions(agent.project, &[agent.id]).await?;
        let sessions = sessions.into_iter().map(OpenSessionAnswer::new).collect();
        Ok(WhoisAnswer { agent: AgentAnswer::new(agent), sessions })
    }
}
