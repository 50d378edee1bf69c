//! Sends a message as a shell does: its subject or its text may be empty, and a key may say what it repeats or replaces.

use mail::messages::{OpenKey, WhenOpen};
use mail::office::Draft;

use crate::prelude::*;

declare! {
    /// Sends a message.
    SendMail("send_mail", WRITES, "Send a message, unless the recipients have one open under its key.") {
        project_key: String = PROJECT;
        sender_name: String = SENDER;
        to: Vec<String> = Param::required("to", Names, "");
        cc: Vec<String> = CC;
        /// One of subject and text says something.
        subject: String = Param::optional("subject", Text, "");
        body_md: String = Param::optional("body_md", Text, "");
        thread_id: Option<String> = Param::optional("thread_id", Text, "");
        importance: Option<String> = IMPORTANCE;
        ack_required: Option<bool> = ACK;
        /// The same key sends once.
        idempotency_key: Option<String> = KEY;
        /// What the recipients have open of it is not sent again, or is replaced.
        key: Option<String> = Param::optional("key", Text, "");
        /// Whether the earlier ones are archived.
        replaces: bool = Param::optional("replaces", Flag, "");
        registration_token: Option<String> = TOKEN;
    }

    /// What a sender is told.
    SentMailAnswer {
        /// Whether it was sent now; if not, the message is the one that is open.
        is_new: bool,
        #[serde(flatten)]
        sent: SentAnswer,
    }
}

impl Verb for SendMail {
    type Answer = SentMailAnswer;

    async fn run(self, office: &Office) -> Result<SentMailAnswer, Error> {
        if self.subject.trim().is_empty() {
            filled("body_md", &self.body_md)?;
        }
        if let (Some(key), Some(_)) = (&self.key, &self.idempotency_key) {
            return Err(Error::invalid("key", key, "left out where there is an idempotency_key"));
        }
        let when_open = if self.replaces { WhenOpen::Replace } else { WhenOpen::Skip };
        let open_key = self.key.as_deref().map(|key| OpenKey::new(key, when_open)).transpose()?;
        let draft = Draft {
            project_key: &self.project_key,
            from: claim(&self.sender_name, self.registration_token.as_deref()),
            to: self.to,
            cc: self.cc,
            subject: &self.subject,
            body: &self.body_md,
            thread: self.thread_id.as_deref(),
            importance: importance(self.importance.as_deref()),
            ack_required: self.ack_required,
            idempotency_key: self.idempotency_key.as_deref(),
            open_key,
            door: office.door(),
            ..Draft::default()
        };
        let sent = office.send(draft).await?;
        // A repetition under an idempotency key is answered as the first was.
        Ok(SentMailAnswer { is_new: sent.is_new || self.key.is_none(), sent: SentAnswer::new(sent) })
    }
}
