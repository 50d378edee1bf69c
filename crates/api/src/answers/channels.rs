//! Channels and what is said in them, as answers show them.

use mail::agents::EVERYONE;
use mail::channels::{Channel, Post, SIGN};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Word;
use super::messages::vouched;
use crate::Time;

/// A channel, and how it stands.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ChannelAnswer {
    /// Its name, without the sign.
    pub name: String,
    pub posts: u64,
    pub created_ts: Time,
    /// When its newest message was accepted.
    pub last_ts: Option<Time>,
}

impl From<Channel> for ChannelAnswer {
    fn from(channel: Channel) -> Self {
        Self {
            name: channel.name,
            posts: channel.posts,
            created_ts: channel.created_at.into(),
            last_ts: channel.newest.map(|(_, at)| at.into()),
        }
    }
}

/// A message in a channel. Every field is there, because programs that read channels expect the form of their files.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PostAnswer {
    pub id: i64,
    /// Its name in folders and elsewhere.
    pub external_id: String,
    pub from: String,
    /// `verified` or `human` when more than the author's word stands for its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vouched: Option<Word>,
    /// Whom it is addressed to; `all` when it is nobody in particular.
    pub to: Vec<String>,
    /// What type it is of, such as `chat`.
    #[serde(rename = "type")]
    pub kind: String,
    pub text: String,
    /// Code that goes with it.
    pub code: Option<String>,
    /// The files that it speaks of.
    pub artifacts: Vec<Value>,
    /// `chat`, or `watcher`.
    pub mode: String,
    /// How many watchers answered each other on the way to it.
    pub hops: u32,
    /// The name of the message that it answers.
    pub in_reply_to: Option<String>,
    pub thread_id: String,
    /// The subject, as mailboxes show it.
    pub subject: String,
    /// When it was sent, as its author says.
    pub sent_ts: Time,
    /// When it was accepted here.
    pub created_ts: Time,
    /// The door it came in by.
    pub door: String,
}

impl From<Post> for PostAnswer {
    fn from(post: Post) -> Self {
        let content = post.content();
        let message = post.message;
        let mut to: Vec<String> = message.to.into_iter().filter(|name| !name.starts_with(SIGN)).collect();
        if to.is_empty() {
            to.push(EVERYONE.to_owned());
        }
        Self {
            id: message.id.0,
            external_id: post.external_id,
            from: message.from,
            vouched: vouched(message.vouched),
            to,
            kind: post.kind,
            text: content.text,
            code: content.code,
            artifacts: content.artifacts,
            mode: post.mode,
            hops: post.hops,
            in_reply_to: post.in_reply_to,
            thread_id: message.thread,
            subject: message.subject,
            sent_ts: post.sent_at.into(),
            created_ts: message.created_at.into(),
            door: message.door,
        }
    }
}
