//! Shows one message, and what each recipient did with it.

use crate::prelude::*;

declare! {
    /// Asks for a message. Blind deliveries are not shown.
    ReadMessage("read_message", READS, "One message with its recipients.") {
        project_key: String = PROJECT;
        message_id: i64 = MESSAGE;
    }
}

impl Verb for ReadMessage {
    type Answer = FollowedAnswer;

    async fn run(self, office: &Office) -> Result<FollowedAnswer, Error> {
        let (message, deliveries) = office.message(&self.project_key, MessageId(self.message_id)).await?;
        let followed = vec![FollowedAnswer::new(message, deliveries, true, false)];
        Ok(FollowedAnswer::with_receipts(followed, office).await?.remove(0))
    }
}
