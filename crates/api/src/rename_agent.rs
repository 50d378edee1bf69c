//! Gives an agent another name. It stays who it is, and is reached under the old name too.

use crate::prelude::*;

declare! {
    /// Asks for another name.
    RenameAgent(
        "rename_agent",
        REPEATABLE,
        "Take another name. You keep your mail, token and reservations; the old name still reaches you."
    ) {
        project_key: String = PROJECT;
        agent_name: String = AGENT;
        /// The name to have.
        new_name: String = Param::required("new_name", Text, "The name to have");
        registration_token: Option<String> = TOKEN;
    }
}

impl Verb for RenameAgent {
    type Answer = AgentAnswer;

    async fn run(self, office: &Office) -> Result<AgentAnswer, Error> {
        let agent = claim(&self.agent_name, self.registration_token.as_deref());
        Ok(AgentAnswer::new(office.rename(&self.project_key, agent, &self.new_name).await?))
    }
}
