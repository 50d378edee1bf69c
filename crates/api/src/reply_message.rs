//! Answers a message, in its thread.

use mail::office::{Draft, ReplyDraft};

use crate::prelude::*;

declare! {
    /// Answers a message. What is left out comes from the message that is answered.
    ReplyMessage("reply_message", WRITES, "Answer a message, in its thread.") {
        project_key: String = PROJECT;
        message_id: i64 = Param::required("message_id", Id, "").mistaken_for(&["id", "reply_to", "in_reply_to"]);
        sender_name: String = SENDER;
        body_md: String = BODY;
        /// Instead of the sender.
        to: Vec<String> = Param::optional("to", Names, "Instead of the sender").rare();
        cc: Vec<String> = CC;
        bcc: Vec<String> = BCC;
        subject: Option<String> = Param::optional("subject", Text, "").rare();
        importance: Option<String> = IMPORTANCE;
        ack_required: Option<bool> = ACK;
        idempotency_key: Option<String> = KEY;
        registration_token: Option<String> = TOKEN;
    }
}

impl Verb for ReplyMessage {
    type Answer = SentAnswer;

    async fn run(self, office: &Office) -> Result<SentAnswer, Error> {
        let reply = ReplyDraft {
            reply_to: MessageId(self.message_id),
            subject: self.subject.as_deref().map(|subject| filled("subject", subject)).transpose()?,
            draft: Draft {
                project_key: &self.project_key,
                from: claim(&self.sender_name, self.registration_token.as_deref()),
                to: self.to,
                cc: self.cc,
                bcc: self.bcc,
                body: filled("body_md", &self.body_md)?,
                importance: importance(self.importance.as_deref()),
                ack_required: self.ack_required,
                idempotency_key: self.idempotency_key.as_deref(),
                door: office.door(),
                ..Draft::default()
            },
        };
        Ok(SentAnswer::new(office.reply(reply).await?))
    }

    fn brief(answer: &SentAnswer) -> Option<BriefAnswer> {
        Some(answer.brief())
    }
}
