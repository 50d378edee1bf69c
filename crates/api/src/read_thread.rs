//! Shows the messages of a thread, oldest first.

use mail::ids::MessageId;
use mail::office::ThreadAsk;
use mail::{Error, Office};
use mcp::{Hints, Param, ParamKind};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::MessageAnswer;
use crate::params::{BEFORE, BODIES, LIMIT, PROJECT, THREAD, limit, next_cursor};

/// How many messages a page has when nobody says.
const PAGE: u32 = 100;

/// Asks for a part of a thread: the newest with `before_id`, else the oldest.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadThread {
    pub project_key: String,
    /// The thread, or any message in it.
    pub thread_id: String,
    pub limit: Option<u32>,
    /// Only messages newer than this one; says nothing beside `before_id`.
    pub after_id: Option<i64>,
    /// Only messages older than this one.
    pub before_id: Option<i64>,
    /// False when nobody says.
    pub include_bodies: Option<bool>,
}

/// A part of a thread.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ThreadAnswer {
    pub thread_id: String,
    /// How many messages the whole thread has.
    pub total: usize,
    pub messages: Vec<MessageAnswer>,
    /// The `before_id` of the next page if that was given, else its `after_id`; none if this is the last.
    pub next: Option<i64>,
}

impl Verb for ReadThread {
    const NAME: &'static str = "read_thread";
    const ABOUT: &'static str = "The messages of a thread, oldest first.";
    const PARAMS: &'static [Param] =
        &[PROJECT, THREAD, LIMIT, Param::optional("after_id", ParamKind::Id, ""), BEFORE, BODIES];
    const HINTS: Hints = Hints::READS;
    type Answer = ThreadAnswer;

    async fn run(self, office: &Office) -> Result<ThreadAnswer, Error> {
        let (limit, with_bodies) = (limit(self.limit, PAGE), self.include_bodies.unwrap_or(false));
        let ask = ThreadAsk {
            project_key: &self.project_key,
            thread: &self.thread_id,
            after: self.after_id.map(MessageId),
            before: self.before_id.map(MessageId),
            limit,
            with_bodies,
        };
        let page = office.thread(ask).await?;
        let last = if self.before_id.is_some() { page.messages.first() } else { page.messages.last() };
        let sizes = page.messages.iter().map(|message| message.body.len());
        let next = next_cursor(limit, sizes, last.map(|message| message.id.0));
        let messages = page.messages.into_iter().map(|message| MessageAnswer::new(message, with_bodies)).collect();
        Ok(ThreadAnswer { thread_id: page.thread, total: page.total, messages, next })
    }
}
