//! Sends a message.

use mail::office::Draft;

use crate::prelude::*;

declare! {
    /// Sends a message to agents of a project.
    SendMessage("send_message", WRITES, "Send a message to agents of the project. It is on disk when this returns.") {
        project_key: String = PROJECT;
        sender_name: String = SENDER;
        /// Agents, `all` or a channel.
        to: Vec<String> =
            Param::required("to", Names, "Names, all, #channel, role:x").mistaken_for(&["recipient", "recipients"]);
        subject: String = Param::required("subject", Text, "").mistaken_for(&["title"]);
        body_md: String = BODY;
        /// The thread; without one, the work item's, or a new one.
        thread_id: Option<String> =
            Param::optional("thread_id", Text, "Conversation, e.g. a work item").mistaken_for(&["thread"]);
        cc: Vec<String> = CC;
        bcc: Vec<String> = BCC;
        importance: Option<String> = IMPORTANCE;
        /// When nobody says, the kind of message decides.
        ack_required: Option<bool> = ACK;
        /// The same key sends once.
        idempotency_key: Option<String> = KEY;
        /// Refuse unless it is a typed message without fault.
        strict: Option<bool> = Param::optional("strict", Flag, "Refuse unless a faultless typed message").rare();
        registration_token: Option<String> = TOKEN;
    }
}

impl Verb for SendMessage {
    type Answer = SentAnswer;

    async fn run(self, office: &Office) -> Result<SentAnswer, Error> {
        let draft = Draft {
            project_key: &self.project_key,
            from: claim(&self.sender_name, self.registration_token.as_deref()),
            to: self.to,
            cc: self.cc,
            bcc: self.bcc,
            subject: filled("subject", &self.subject)?,
            body: filled("body_md", &self.body_md)?,
            thread: self.thread_id.as_deref(),
            importance: importance(self.importance.as_deref()),
            ack_required: self.ack_required,
            idempotency_key: self.idempotency_key.as_deref(),
            open_key: None,
            strict: self.strict.unwrap_or(false),
            door: office.door(),
        };
        Ok(SentAnswer::new(office.send(draft).await?))
    }

    fn brief(answer: &SentAnswer) -> Option<BriefAnswer> {
        Some(answer.brief())
    }
}
