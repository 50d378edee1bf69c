//! Sends a message.

use mail::messages::Importance;
use mail::office::Draft;
use mail::{Error, Office};
use mcp::{Hints, Param, ParamKind};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::SentAnswer;
use crate::params::{PROJECT, TOKEN, claim, filled};

pub(crate) const SENDER: Param = Param::required("sender_name", ParamKind::Text, "Your registered name")
    .mistaken_for(&["from", "agent_name", "sender", "name"]);
pub(crate) const BODY: Param =
    Param::required("body_md", ParamKind::Text, "Markdown").mistaken_for(&["body", "message", "content", "text"]);
pub(crate) const CC: Param = Param::optional("cc", ParamKind::Names, "").rare();
pub(crate) const BCC: Param = Param::optional("bcc", ParamKind::Names, "").rare();
pub(crate) const ACK: Param = Param::optional("ack_required", ParamKind::Flag, "Ask for an acknowledgement");
pub(crate) const IMPORTANCE: Param = Param::optional("importance", ParamKind::Choice(&Importance::NAMES), "").rare();
pub(crate) const KEY: Param =
    Param::optional("idempotency_key", ParamKind::Text, "Makes a retry safe: the same key sends once").rare();

/// Sends a message to agents of a project.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SendMessage {
    pub project_key: String,
    pub sender_name: String,
    /// Agents, `all` or a channel.
    pub to: Vec<String>,
    pub subject: String,
    pub body_md: String,
    /// The thread; without one, the work item's, or a new one.
    pub thread_id: Option<String>,
    pub cc: Vec<String>,
    pub bcc: Vec<String>,
    pub importance: Option<String>,
    /// When nobody says, the kind of message decides.
    pub ack_required: Option<bool>,
    /// The same key sends once.
    pub idempotency_key: Option<String>,
    /// Refuse unless it is a typed message without fault.
    pub strict: Option<bool>,
    pub registration_token: Option<String>,
}

impl Verb for SendMessage {
    const NAME: &'static str = "send_message";
    const ABOUT: &'static str = "Send a message to agents of the project. It is on disk when this returns.";
    const PARAMS: &'static [Param] = &[
        PROJECT,
        SENDER,
        Param::required("to", ParamKind::Names, "Agents, all or #channel").mistaken_for(&["recipient", "recipients"]),
        Param::required("subject", ParamKind::Text, "").mistaken_for(&["title"]),
        BODY,
        Param::optional("thread_id", ParamKind::Text, "Conversation, e.g. a work item").mistaken_for(&["thread"]),
        CC,
        BCC,
        IMPORTANCE,
        ACK,
        KEY,
        Param::optional("strict", ParamKind::Flag, "Refuse unless a faultless typed message").rare(),
        TOKEN,
    ];
    const HINTS: Hints = Hints::WRITES;
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
            strict: self.strict.unwrap_or(false),
            door: "mcp",
        };
        Ok(office.send(draft).await?.into())
    }
}

/// The importance of that name, which was checked to be one.
pub(crate) fn importance(name: Option<&str>) -> Importance {
    name.and_then(Importance::parse).unwrap_or_default()
}
