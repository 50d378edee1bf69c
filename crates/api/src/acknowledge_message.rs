//! Acknowledges a message, which also marks it read.

use crate::prelude::*;

declare! {
    /// Acknowledges a message.
    AcknowledgeMessage("acknowledge_message", REPEATABLE, "Acknowledge a message; also marks it read.") {
        project_key: String = PROJECT;
        agent_name: String = AGENT;
        message_id: i64 = MESSAGE;
        /// A word to the sender.
        ack_body: Option<String> = Param::optional("ack_body", Text, "A word to the sender");
        registration_token: Option<String> = TOKEN;
    }
}

impl Verb for AcknowledgeMessage {
    type Answer = MarkedAnswer;

    async fn run(self, office: &Office) -> Result<MarkedAnswer, Error> {
        let agent = claim(&self.agent_name, self.registration_token.as_deref());
        let id = MessageId(self.message_id);
        let note = self.ack_body.as_deref().unwrap_or_default();
        let state = office.acknowledge(&self.project_key, agent, id, note).await?;
        Ok(MarkedAnswer::new(self.message_id, &state))
    }
}
