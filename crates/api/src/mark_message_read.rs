//! Marks a message read in one's own mailbox.

use crate::prelude::*;

declare! {
    /// Marks a message read.
    MarkMessageRead("mark_message_read", REPEATABLE, "Mark a message read.") {
        project_key: String = PROJECT;
        agent_name: String = AGENT;
        message_id: i64 = MESSAGE;
        registration_token: Option<String> = TOKEN;
    }
}

impl Verb for MarkMessageRead {
    type Answer = MarkedAnswer;

    async fn run(self, office: &Office) -> Result<MarkedAnswer, Error> {
        let agent = claim(&self.agent_name, self.registration_token.as_deref());
        let id = MessageId(self.message_id);
        let state = office.mark_read(&self.project_key, agent, id).await?;
        Ok(MarkedAnswer::new(self.message_id, &state))
    }
}
