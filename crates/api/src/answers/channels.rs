//! Channels and what is said in them, as answers show them.

use mail::agents::EVERYONE;
use mail::channels::{Channel, Post, SIGN};
use serde_json::Value;

use super::Word;
use super::messages::vouched;
use crate::Time;

declare! {
    /// A channel, and how it stands.
    ChannelAnswer::new(channel: Channel) {
        /// Its name, without the sign.
        name: String = channel.name,
        posts: u64 = channel.posts,
        created_ts: Time = Time(channel.created_at),
        /// When its newest message was accepted.
        last_ts: Option<Time> = channel.newest.map(|(_, at)| Time(at)),
    }

    /// A message in a channel. Every field is there, because programs that read channels expect the form of their files.
    PostAnswer::new(text: String, code: Option<String>, artifacts: Vec<Value>, post: Post) {
        id: i64 = post.message.id.0,
        /// Its name in folders and elsewhere.
        external_id: String = post.external_id,
        from: String = post.message.from,
        /// `verified` or `human` when more than the author's word stands for its name.
        vouched[if_any]: Option<Word> = vouched(post.message.vouched),
        /// Whom it is addressed to; `all` when it is nobody in particular.
        to: Vec<String> = addressed(post.message.to),
        /// What type it is of, such as `chat`.
        #[serde(rename = "type")]
        kind: String = post.kind,
        text: String = text,
        /// Code that goes with it.
        code: Option<String> = code,
        /// The files that it speaks of.
        artifacts: Vec<Value> = artifacts,
        /// `chat`, or `watcher`.
        mode: String = post.mode,
        /// How many watchers answered each other on the way to it.
        hops: u32 = post.hops,
        /// The name of the message that it answers.
        in_reply_to: Option<String> = post.in_reply_to,
        thread_id: String = post.message.thread,
        /// The subject, as mailboxes show it.
        subject: String = post.message.subject,
        /// When it was sent, as its author says.
        sent_ts: Time = Time(post.sent_at),
        /// When it was accepted here.
        created_ts: Time = Time(post.message.created_at),
        /// The door it came in by.
        door: String = post.message.door,
    }
}

/// The agents among the recipients, without the channel itself.
fn addressed(mut to: Vec<String>) -> Vec<String> {
    to.retain(|name| !name.starts_with(SIGN));
    if to.is_empty() {
        to.push(EVERYONE.to_owned());
    }
    to
}
