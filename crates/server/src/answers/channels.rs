//! Channels and what is said in them, as answers show them.

use mail::agents::EVERYONE;
use mail::channels::{Channel, Post, SIGN};
use serde::Serialize;
use serde_json::Value;

use super::messages::{SentAnswer, vouched};
use super::rfc3339;

/// A channel, and how it stands.
#[derive(Serialize)]
pub struct ChannelAnswer<'a> {
    /// Its name, without the sign.
    pub name: &'a str,
    /// How many messages it has.
    pub posts: u64,
    /// When it was first heard of.
    pub created_ts: String,
    /// When its newest message was accepted.
    pub last_ts: Option<String>,
}

impl<'a> From<&'a Channel> for ChannelAnswer<'a> {
    fn from(channel: &'a Channel) -> Self {
        Self {
            name: &channel.name,
            posts: channel.posts,
            created_ts: rfc3339(channel.created_at),
            last_ts: channel.newest.map(|(_, at)| rfc3339(at)),
        }
    }
}

/// A message in a channel. Every field is there, because programs that read channels expect the form of their files.
#[derive(Serialize)]
pub struct PostAnswer<'a> {
    /// Its number.
    pub id: i64,
    /// Its name in folders and elsewhere.
    pub external_id: &'a str,
    /// Who said it.
    pub from: &'a str,
    /// `verified` or `human` when more than the author's word stands for its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vouched: Option<&'static str>,
    /// Whom it is addressed to; `all` when it is nobody in particular.
    pub to: Vec<&'a str>,
    /// What type it is of, such as `chat`.
    #[serde(rename = "type")]
    pub kind: &'a str,
    /// What it says.
    pub text: String,
    /// Code that goes with it.
    pub code: Option<String>,
    /// The files that it speaks of.
    pub artifacts: Vec<Value>,
    /// `chat`, or `watcher`.
    pub mode: &'a str,
    /// How many watchers answered each other on the way to it.
    pub hops: u32,
    /// The name of the message that it answers.
    pub in_reply_to: Option<&'a str>,
    /// The conversation.
    pub thread_id: &'a str,
    /// The subject, as mailboxes show it.
    pub subject: &'a str,
    /// When it was sent, as its author says.
    pub sent_ts: String,
    /// When it was accepted here.
    pub created_ts: String,
    /// The door it came in by.
    pub door: &'a str,
}

impl<'a> From<&'a Post> for PostAnswer<'a> {
    fn from(post: &'a Post) -> Self {
        let message = &post.message;
        let content = post.content();
        let mut to: Vec<&str> = message.to.iter().map(String::as_str).filter(|name| !name.starts_with(SIGN)).collect();
        if to.is_empty() {
            to.push(EVERYONE);
        }
        Self {
            id: message.id.0,
            external_id: &post.external_id,
            from: &message.from,
            vouched: vouched(message),
            to,
            kind: &post.kind,
            text: content.text,
            code: content.code,
            artifacts: content.artifacts,
            mode: &post.mode,
            hops: post.hops,
            in_reply_to: post.in_reply_to.as_deref(),
            thread_id: &message.thread,
            subject: &message.subject,
            sent_ts: rfc3339(post.sent_at),
            created_ts: rfc3339(message.created_at),
            door: &message.door,
        }
    }
}

/// What is told of a message that was posted.
#[derive(Serialize)]
pub struct PostedAnswer<'a> {
    /// As of any message that was sent.
    #[serde(flatten)]
    pub sent: SentAnswer<'a>,
    /// Its name in folders and elsewhere.
    pub external_id: &'a str,
    /// Whom it is addressed to and nobody knew before.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub new_mailboxes: &'a [String],
}
