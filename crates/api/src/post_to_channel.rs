//! Says something in a channel, which may be new. Agents write to a channel with `send_message`; this takes what only
//! channels have.

use mail::channels::{CHAT, WATCHER};
use mail::office::PostDraft;

use crate::prelude::*;

declare! {
    PostToChannel("post_to_channel", WRITES, "Say something in a channel.") {
        project_key: String = PROJECT;
        /// Gets a mailbox if it is new.
        sender_name: String = Param::required("sender_name", Text, "Gets a mailbox if it is new");
        /// With or without '#'.
        channel: String = Param::required("channel", Text, "With or without '#'");
        text: String = Param::required("text", Text, "");
        /// Agents, which get a mailbox if they are new, or `all`; without one, whoever is answered.
        to: Vec<String> = Param::optional("to", Names, "Agents or all; without one, whoever is answered");
        /// The first line of the text without one.
        subject: Option<String> = Param::optional("subject", Text, "The first line of the text without one");
        /// `chat` without one.
        #[serde(rename = "type")]
        kind: Option<String> = Param::optional("type", Text, "chat without one");
        /// `chat` without one, or `watcher`.
        mode: Option<String> = Param::optional("mode", Choice(&[CHAT, WATCHER]), "");
        code: Option<String> = Param::optional("code", Text, "");
        /// Files that it speaks of.
        artifacts: Vec<String> = Param::optional("artifacts", Names, "Files that it speaks of");
        /// A message's number, or its name in the channel.
        in_reply_to: Option<String> =
            Param::optional("in_reply_to", Text, "A message's number, or its name in the channel");
        thread_id: Option<String> = Param::optional("thread_id", Text, "");
        idempotency_key: Option<String> = Param::optional("idempotency_key", Text, "");
        registration_token: Option<String> = TOKEN;
    }

    PostedAnswer {
        #[serde(flatten)]
        sent: SentAnswer,
        /// Its name in folders and elsewhere.
        external_id: String,
        /// Whom it is addressed to and nobody knew before.
        new_mailboxes[if_any]: Vec<String>,
    }
}

impl Verb for PostToChannel {
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
            sent: SentAnswer::new(sent),
        })
    }
}
