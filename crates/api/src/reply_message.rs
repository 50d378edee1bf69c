//! Answers a message, in its thread.

use mail::ids::MessageId;
use mail::office::{Draft, ReplyDraft};
use mail::{Error, Office};
use mcp::{Hints, Param, ParamKind};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::SentAnswer;
use crate::params::{PROJECT, TOKEN, claim, filled};
use crate::send_message::{ACK, BCC, BODY, CC, IMPORTANCE, KEY, SENDER, importance};

/// Answers a message. What is left out comes from the message that is answered.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReplyMessage {
    pub project_key: String,
    pub message_id: i64,
    pub sender_name: String,
    pub body_md: String,
    /// Instead of the sender.
    pub to: Vec<String>,
    pub cc: Vec<String>,
    pub bcc: Vec<String>,
    pub subject: Option<String>,
    pub importance: Option<String>,
    pub ack_required: Option<bool>,
    pub idempotency_key: Option<String>,
    pub registration_token: Option<String>,
}

impl Verb for ReplyMessage {
    const NAME: &'static str = "reply_message";
    const ABOUT: &'static str = "Answer a message, in its thread.";
    const PARAMS: &'static [Param] = &[
        PROJECT,
        Param::required("message_id", ParamKind::Id, "").mistaken_for(&["id", "reply_to", "in_reply_to"]),
        SENDER,
        BODY,
        Param::optional("to", ParamKind::Names, "Instead of the sender").rare(),
        CC,
        BCC,
        Param::optional("subject", ParamKind::Text, "").rare(),
        IMPORTANCE,
        ACK,
        KEY,
        TOKEN,
    ];
    const HINTS: Hints = Hints::WRITES;
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
                subject: "",
                body: filled("body_md", &self.body_md)?,
                thread: None,
                importance: importance(self.importance.as_deref()),
                ack_required: self.ack_required,
                idempotency_key: self.idempotency_key.as_deref(),
                strict: false,
                door: "mcp",
            },
        };
        Ok(office.reply(reply).await?.into())
    }
}
