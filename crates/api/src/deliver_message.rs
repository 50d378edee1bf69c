//! Sends a message to one recipient, or answers one delivery, for programs that know no more than that.

use mail::provider::{Provider, Words};

use crate::prelude::*;

declare! {
    /// Sends a message.
    DeliverMessage("deliver_message", WRITES, "Send a message to one recipient.") {
        #[serde(flatten)]
        reader: DeliveryReader = PROJECT, READER, ANY_NAME, TOKEN;
        /// Who gets it; an answer goes to whoever wrote what it answers.
        recipient: String = RECIPIENT;
        /// The delivery that it answers.
        reply_to: Option<String> = Param::optional("reply_to", Text, "");
        sender_name: String = Param::required("sender_name", Text, "");
        subject: String = Param::optional("subject", Text, "");
        body_md: String = Param::optional("body_md", Text, "");
    }
}

impl Verb for DeliverMessage {
    type Answer = ReceivedAnswer;

    async fn run(self, office: &Office) -> Result<ReceivedAnswer, Error> {
        let native = self.reader.native(office);
        let words = Words { from: &self.sender_name, subject: &self.subject, body: &self.body_md };
        let delivery = match &self.reply_to {
            Some(id) => native.reply(id, words).await?,
            None => native.send(&self.recipient, words).await?,
        };
        Ok(ReceivedAnswer::new(delivery))
    }
}
