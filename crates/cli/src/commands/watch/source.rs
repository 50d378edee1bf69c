//! What a watcher reads: the posts of a channel and the letters of a mailbox, both as what somebody said.

use api::answers::{MessageAnswer, PostAnswer, Word};
use api::{Actor, ReadChannel, ReadMessage, ReadOutbox, ReadThread, WaitForMail};
use mail::agents::EVERYONE;
use mail::channels::WATCHER;
use mail::messages::Vouched;
use relay::watch::Heard;
use serde_json::Value;

use super::asking::Asking;
use crate::post_office::{Refused, Watch, resource};

/// How many messages are read at a time.
const PAGE: u32 = 100;
/// How many of a channel's newest posts, or of the agent's own letters, are looked at for answers that still count.
const LOOKED_BACK: u32 = 200;

fn post_said(post: PostAnswer) -> Heard {
    let artifacts = post.artifacts.iter().map(|artifact| match artifact {
        Value::String(text) => format!("\nArtifact: {text}"),
        other => format!("\nArtifact: {other}"),
    });
    let code = post.code.as_deref().map(|code| format!("\n\n{code}")).unwrap_or_default();
    Heard {
        id: post.id,
        from: post.from,
        is_human: is_human(post.vouched.as_ref()),
        to: post.to.into_iter().filter(|name| name != EVERYONE).collect(),
        kind: post.kind,
        text: format!("{}{code}{}", post.text, artifacts.collect::<String>()),
        thread: post.thread_id,
        is_answer: post.in_reply_to.is_some(),
        is_by_watcher: post.mode == WATCHER,
        hops: post.hops,
        at: post.created_ts.0,
    }
}

fn letter_said(letter: MessageAnswer) -> Heard {
    Heard {
        id: letter.id,
        from: letter.from,
        is_human: is_human(letter.vouched.as_ref()),
        to: letter.to,
        kind: letter.kind.map_or_else(|| "mail".to_owned(), Word::into_owned),
        text: format!("Subject: {}\n\n{}", letter.subject, letter.body_md.as_deref().unwrap_or_default()),
        thread: letter.thread_id,
        is_answer: letter.reply_to.is_some(),
        is_by_watcher: false,
        hops: 0,
        at: letter.created_ts.0,
    }
}

fn is_human(vouched: Option<&Word>) -> bool {
    vouched.map(|word| &**word) == Some(Vouched::Human.as_str())
}

/// Where a watcher looks.
#[derive(Clone, Debug)]
pub struct WatchSource {
    /// The channel; empty for the mailbox.
    pub channel: String,
    /// The last message that was looked at before this watcher began: what came later is met here.
    pub first: i64,
    /// The last message that was looked at.
    pub position: i64,
}

impl WatchSource {
    /// Whether it is the agent's mailbox.
    pub fn is_mailbox(&self) -> bool {
        self.channel.is_empty()
    }

    /// What people call it.
    pub fn name(&self) -> String {
        if self.is_mailbox() { "the mailbox".to_owned() } else { format!("#{}", self.channel) }
    }

    /// Listens for what comes here.
    pub fn listen(&self, asking: &Asking<'_>) -> Watch {
        let token = asking.actor.registration_token.as_deref().filter(|_| self.is_mailbox());
        let keys = [("project", Some(asking.project())), ("registration_token", token)];
        let uri = match self.is_mailbox() {
            true => resource("inbox", asking.agent(), &keys),
            false => resource("channel", &self.channel, &keys),
        };
        asking.post_office.watch(&uri)
    }

    /// The next messages behind the position, the oldest first; none if there are none.
    pub async fn next(&self, asking: &Asking<'_>) -> Result<Vec<Heard>, Refused> {
        if self.is_mailbox() {
            let Actor { project_key, agent_name, registration_token } = asking.actor.clone();
            let wait = WaitForMail {
                project_key,
                agent_name,
                registration_token,
                timeout_seconds: Some(0),
                after_id: Some(self.position),
                ..WaitForMail::default()
            };
            return Ok(asking.ask(wait).await?.into_iter().map(letter_said).collect());
        }
        let since = Some(self.position.to_string());
        self.posts(asking, ReadChannel { since, limit: Some(PAGE), ..ReadChannel::default() }).await
    }

    /// One message that was met here before.
    pub async fn message(&self, asking: &Asking<'_>, id: i64) -> Result<Option<Heard>, Refused> {
        if self.is_mailbox() {
            let request = ReadMessage { project_key: asking.project().to_owned(), message_id: id };
            return Ok(Some(letter_said(asking.ask(request).await?.message)));
        }
        let since = Some((id - 1).to_string());
        let mut found = self.posts(asking, ReadChannel { since, limit: Some(1), ..ReadChannel::default() }).await?;
        Ok(found.pop().filter(|said| said.id == id))
    }

    /// What was said before a message, and what was said last: in its conversation if it answers something, else in the
    /// channel.
    pub async fn around(&self, asking: &Asking<'_>, message: &Heard, count: u32) -> Result<Vec<Heard>, Refused> {
        if count == 0 || (self.is_mailbox() && !message.is_answer) {
            return Ok(Vec::new());
        }
        let mut said = self.newest(asking, message, message.id, count).await?;
        said.extend(self.newest(asking, message, i64::MAX, count).await?);
        Ok(said)
    }

    async fn newest(
        &self,
        asking: &Asking<'_>,
        message: &Heard,
        before: i64,
        count: u32,
    ) -> Result<Vec<Heard>, Refused> {
        if self.is_mailbox() {
            let request = ReadThread {
                project_key: asking.project().to_owned(),
                thread_id: message.thread.clone(),
                limit: Some(count),
                after_id: None,
                before_id: Some(before),
                include_bodies: Some(true),
            };
            return Ok(asking.ask(request).await?.messages.into_iter().map(letter_said).collect());
        }
        let thread_id = message.is_answer.then(|| message.thread.clone());
        let request = ReadChannel { before_id: Some(before), limit: Some(count), thread_id, ..ReadChannel::default() };
        self.posts(asking, request).await
    }

    /// The answers that the agent gave here of late, with whom they went to.
    pub async fn answers(&self, asking: &Asking<'_>) -> Result<Vec<Heard>, Refused> {
        if self.is_mailbox() {
            let Actor { project_key, agent_name, registration_token } = asking.actor.clone();
            let request = ReadOutbox {
                project_key,
                agent_name,
                registration_token,
                limit: Some(LOOKED_BACK),
                include_bodies: Some(false),
                before_id: None,
            };
            let sent = asking.ask(request).await?.messages.into_iter().rev();
            return Ok(sent.map(|sent| letter_said(sent.message)).filter(|said| said.is_answer).collect());
        }
        let newest = self.posts(asking, ReadChannel { limit: Some(LOOKED_BACK), ..ReadChannel::default() }).await?;
        Ok(newest.into_iter().filter(|said| said.is_by_watcher && said.from == asking.agent()).collect())
    }

    async fn posts(&self, asking: &Asking<'_>, request: ReadChannel) -> Result<Vec<Heard>, Refused> {
        let (project_key, channel) = (asking.project().to_owned(), self.channel.clone());
        let page = asking.ask(ReadChannel { project_key, channel, ..request }).await?;
        Ok(page.messages.into_iter().map(post_said).collect())
    }
}
