//! Says something in a channel, which may be new. Agents write to a channel with `send_message`; this takes what only
//! channels have.

use mail::channels::{CHAT, WATCHER};
use mail::office::PostDraft;
use mail::{Error, Office};
use mcp::{Hints, Param, ParamKind};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::SentAnswer;
use crate::params::{PROJECT, TOKEN, claim, filled};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PostToChannel {
    pub project_key: String,
    /// Gets a mailbox if it is new.
    pub sender_name: String,
    /// With or without '#'.
    pub channel: String,
    pub text: String,
    /// Agents, which get a mailbox if they are new, or `all`; without one, whoever is answered.
    pub to: Vec<String>,
    /// The first line of the text without one.
    pub subject: Option<String>,
    /// `chat` without one.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// `chat` without one, or `watcher`.
    pub mode: Option<String>,
    pub code: Option<String>,
    /// Files that it speaks of.
    pub artifacts: Vec<String>,
    /// A message's number, or its name in the channel.
    pub in_reply_to: Option<String>,
    pub thread_id: Option<String>,
    pub idempotency_key: Option<String>,
    pub registration_token: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PostedAnswer {
    #[serde(flatten)]
    pub sent: SentAnswer,
    /// Its name in folders and elsewhere.
    pub external_id: String,
    /// Whom it is addressed to and nobody knew before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new_mailboxes: Vec<String>,
}

impl Verb for PostToChannel {
    const NAME: &'static str = "post_to_channel";
    const ABOUT: &'static str = "Say something in a channel.";
    const PARAMS: &'static [Param] = &[
        PROJECT,
        Param::required("sender_name", ParamKind::Text, "Gets a mailbox if it is new"),
        Param::required("channel", ParamKind::Text, "With or without '#'"),
        Param::required("text", ParamKind::Text, ""),
        Param::optional("to", ParamKind::Names, "Agents or all; without one, whoever is answered"),
        Param::optional("subject", ParamKind::Text, "The first line of the text without one"),
        Param::optional("type", ParamKind::Text, "chat without one"),
        Param::optional("mode", ParamKind::Choice(&[CHAT, WATCHER]), ""),
        Param::optional("code", ParamKind::Text, ""),
        Param::optional("artifacts", ParamKind::Names, "Files that it speaks of"),
        Param::optional("in_reply_to", ParamKind::Text, "A message's number, or its name in the channel"),
        Param::optional("thread_id", ParamKind::Text, ""),
        Param::optional("idempotency_key", ParamKind::Text, ""),
        TOKEN,
    ];
    const HINTS: Hints = Hints::WRITES;
    type Answer = PostedAnswer;

    async fn run(self, office: &Office) -> Result<PostedAnswer, Error> {
        let draft = PostDraft {
            project_key: &self.project_key,
            from: claim(&self.sender_name, self.registration_token.as_deref()),
            channel: &self.channel,
            to: self.to,
            subject: self.subject.as_deref().map(|subject| filled("subject", subject)).transpose()?,
            text: filled("text", &self.text)?,
            code: self.code.as_deref(),
            artifacts: self.artifacts,
            kind: self.kind.as_deref().unwrap_or(CHAT),
            mode: self.mode.as_deref().unwrap_or(CHAT),
            in_reply_to: self.in_reply_to.as_deref(),
            thread: self.thread_id.as_deref(),
            idempotency_key: self.idempotency_key.as_deref(),
            door: "terminal",
        };
        let mut sent = office.post(draft).await?;
        let post = office.store().post(sent.message.id).await?;
        Ok(PostedAnswer {
            external_id: post.map(|post| post.external_id).unwrap_or_default(),
            new_mailboxes: std::mem::take(&mut sent.new_mailboxes),
            sent: sent.into(),
        })
    }
}
