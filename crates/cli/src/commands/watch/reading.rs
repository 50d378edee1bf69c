//! What a watcher reads: the posts of a channel and the letters of a mailbox, both as what somebody said.

use jiff::Timestamp;
use mail::messages::Vouched;
use relay::watch::Said;
use serde::Deserialize;
use serde_json::{Value, json};

use super::asking::Asking;
use crate::post_office::{Refused, Watch, resource};

/// How many messages are read at a time.
const PAGE: &str = "100";
/// How many of a channel's newest posts, or of the agent's own letters, are looked at for answers that still count.
const LOOKED_BACK: &str = "200";
/// Who is addressed by a message to nobody in particular.
const EVERYONE: &str = "all";
/// A post that a watcher had made.
const WATCHER: &str = "watcher";

/// A post, as the office tells it.
#[derive(Deserialize)]
struct Post {
    id: i64,
    from: String,
    vouched: Option<String>,
    to: Vec<String>,
    #[serde(rename = "type")]
    kind: String,
    text: String,
    code: Option<String>,
    #[serde(default)]
    artifacts: Vec<Value>,
    mode: String,
    hops: u32,
    in_reply_to: Option<String>,
    thread_id: String,
    created_ts: Timestamp,
}

/// A letter, as the office tells it.
#[derive(Deserialize)]
struct Letter {
    id: i64,
    from: String,
    vouched: Option<String>,
    to: Vec<String>,
    subject: String,
    #[serde(default)]
    body_md: String,
    kind: Option<String>,
    reply_to: Option<i64>,
    thread_id: String,
    created_ts: Timestamp,
}

impl From<Post> for Said {
    fn from(post: Post) -> Self {
        let artifacts = post.artifacts.iter().map(|artifact| match artifact {
            Value::String(text) => format!("\nArtifact: {text}"),
            other => format!("\nArtifact: {other}"),
        });
        let code = post.code.as_deref().map(|code| format!("\n\n{code}")).unwrap_or_default();
        Self {
            id: post.id,
            from: post.from,
            is_human: is_human(post.vouched.as_deref()),
            to: post.to.into_iter().filter(|name| name != EVERYONE).collect(),
            kind: post.kind,
            text: format!("{}{code}{}", post.text, artifacts.collect::<String>()),
            thread: post.thread_id,
            is_answer: post.in_reply_to.is_some(),
            is_by_watcher: post.mode == WATCHER,
            hops: post.hops,
            at: post.created_ts,
        }
    }
}

impl From<Letter> for Said {
    fn from(letter: Letter) -> Self {
        Self {
            id: letter.id,
            from: letter.from,
            is_human: is_human(letter.vouched.as_deref()),
            to: letter.to,
            kind: letter.kind.unwrap_or_else(|| "mail".to_owned()),
            text: format!("Subject: {}\n\n{}", letter.subject, letter.body_md),
            thread: letter.thread_id,
            is_answer: letter.reply_to.is_some(),
            is_by_watcher: false,
            hops: 0,
            at: letter.created_ts,
        }
    }
}

fn is_human(vouched: Option<&str>) -> bool {
    vouched == Some(Vouched::Human.as_str())
}

/// Where a watcher looks.
#[derive(Clone, Debug)]
pub struct Place {
    /// The channel; empty for the mailbox.
    pub channel: String,
    /// The last message that was looked at before this watcher began: what came later is met here.
    pub first: i64,
    /// The last message that was looked at.
    pub position: i64,
}

impl Place {
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
        let token = if self.is_mailbox() { asking.token() } else { None };
        let keys = [("project", Some(asking.project())), ("registration_token", token)];
        let uri = match self.is_mailbox() {
            true => resource("inbox", asking.agent(), &keys),
            false => resource("channel", &self.channel, &keys),
        };
        asking.post_office().watch(&uri)
    }

    /// The next messages behind the position, the oldest first; none if there are none.
    pub async fn next(&self, asking: &Asking<'_>) -> Result<Vec<Said>, Refused> {
        if self.is_mailbox() {
            let ask = json!({ "agent_name": asking.agent(), "timeout_seconds": 0, "after_id": self.position });
            return said::<Letter>(&asking.call("wait_for_mail", ask).await?["result"]);
        }
        let since = self.position.to_string();
        self.posts(asking, &[("since", Some(&since)), ("limit", Some(PAGE))]).await
    }

    /// One message that was met here before.
    pub async fn message(&self, asking: &Asking<'_>, id: i64) -> Result<Option<Said>, Refused> {
        if self.is_mailbox() {
            let uri = resource("message", &id.to_string(), &[("project", Some(asking.project()))]);
            return Ok(said::<Letter>(&json!([asking.read(&uri).await?]))?.pop());
        }
        let before = (id - 1).to_string();
        let mut found = self.posts(asking, &[("since", Some(&before)), ("limit", Some("1"))]).await?;
        Ok(found.pop().filter(|said| said.id == id))
    }

    /// What was said before a message, and what was said last: in its conversation if it answers something, else in the
    /// channel.
    pub async fn around(&self, asking: &Asking<'_>, message: &Said, count: usize) -> Result<Vec<Said>, Refused> {
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
        message: &Said,
        before: i64,
        count: usize,
    ) -> Result<Vec<Said>, Refused> {
        let (before, limit) = (before.to_string(), count.to_string());
        let (before, limit) = (("before", Some(before.as_str())), ("limit", Some(limit.as_str())));
        if self.is_mailbox() {
            let keys = [("project", Some(asking.project())), before, limit, ("include_bodies", Some("true"))];
            return said::<Letter>(&asking.read(&resource("thread", &message.thread, &keys)).await?["messages"]);
        }
        let thread = message.is_answer.then_some(message.thread.as_str());
        self.posts(asking, &[before, limit, ("thread_id", thread)]).await
    }

    /// The answers that the agent gave here of late, with whom they went to.
    pub async fn answers(&self, asking: &Asking<'_>) -> Result<Vec<Said>, Refused> {
        if self.is_mailbox() {
            let keys = [
                ("project", Some(asking.project())),
                ("limit", Some(LOOKED_BACK)),
                ("include_bodies", Some("false")),
                ("registration_token", asking.token()),
            ];
            let sent = said::<Letter>(&asking.read(&resource("outbox", asking.agent(), &keys)).await?["messages"])?;
            return Ok(sent.into_iter().rev().filter(|said| said.is_answer).collect());
        }
        let newest = self.posts(asking, &[("limit", Some(LOOKED_BACK))]).await?;
        Ok(newest.into_iter().filter(|said| said.is_by_watcher && said.from == asking.agent()).collect())
    }

    async fn posts(&self, asking: &Asking<'_>, keys: &[(&str, Option<&str>)]) -> Result<Vec<Said>, Refused> {
        let keys: Vec<_> = [("project", Some(asking.project()))].into_iter().chain(keys.iter().copied()).collect();
        said::<Post>(&asking.read(&resource("channel", &self.channel, &keys)).await?["messages"])
    }
}

fn said<T: Into<Said> + for<'de> Deserialize<'de>>(messages: &Value) -> Result<Vec<Said>, Refused> {
    let messages = Vec::<T>::deserialize(messages).map_err(|error| {
        let hint = "Use the same version of postrider here and at the server.";
        Refused::new(
            "UNEXPECTED_ANSWER",
            &format!("The post office told of messages that cannot be read: {error}"),
            hint,
        )
    })?;
    Ok(messages.into_iter().map(Into::into).collect())
}
