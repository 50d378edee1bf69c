//! Deliveries, as answers show them: what one recipient got.

use jiff::Timestamp;
use mail::messages::Vouched;
use mail::provider::native::is_last_page;
use mail::provider::{Count, Letter};
use serde::{Deserialize, Serialize};

use super::Word;

/// One recipient's delivery of a message. What says nothing is left out.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReceivedAnswer {
    pub id: String,
    pub from: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vouched: Option<Word>,
    pub to: String,
    pub subject: String,
    pub body: String,
    /// To the nanosecond, because that is what tells two deliveries of one message apart.
    #[cfg_attr(test, schemars(with = "String"))]
    pub created_at: Timestamp,
    pub read: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thread_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cc: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub awaits_ack: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addressed: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
}

impl From<Letter> for ReceivedAnswer {
    fn from(letter: Letter) -> Self {
        Self {
            id: letter.id,
            from: letter.from,
            vouched: letter.is_human.then(|| Vouched::Human.as_str().into()),
            to: letter.to,
            subject: letter.subject,
            body: letter.body,
            created_at: letter.created_at,
            read: letter.read,
            thread_id: letter.thread,
            reply_to: letter.reply_to,
            priority: letter.priority,
            cc: letter.cc,
            awaits_ack: letter.awaits_ack,
            addressed: letter.addressed,
            archived: letter.archived,
        }
    }
}

impl From<ReceivedAnswer> for Letter {
    fn from(answer: ReceivedAnswer) -> Self {
        Self {
            id: answer.id,
            from: answer.from,
            is_human: answer.vouched.as_deref() == Some(Vouched::Human.as_str()),
            to: answer.to,
            subject: answer.subject,
            body: answer.body,
            created_at: answer.created_at,
            read: answer.read,
            thread: answer.thread_id,
            reply_to: answer.reply_to,
            priority: answer.priority,
            cc: answer.cc,
            awaits_ack: answer.awaits_ack,
            addressed: answer.addressed,
            archived: answer.archived,
        }
    }
}

/// A page of deliveries, oldest first.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DeliveriesAnswer {
    pub deliveries: Vec<ReceivedAnswer>,
    /// Behind which delivery the next page begins; none if this is the last.
    pub next: Option<String>,
}

impl DeliveriesAnswer {
    /// The page for which at most `limit` deliveries were asked.
    pub(crate) fn new(page: Vec<Letter>, limit: usize) -> Self {
        let next = if is_last_page(&page, limit) { None } else { page.last().map(|letter| letter.id.clone()) };
        Self { deliveries: page.into_iter().map(ReceivedAnswer::from).collect(), next }
    }
}

/// How many deliveries are open, and how many of them unread.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CountAnswer {
    pub total: usize,
    pub unread: usize,
}

impl From<Count> for CountAnswer {
    fn from(Count { total, unread }: Count) -> Self {
        Self { total, unread }
    }
}

/// That something was done. What cannot be done is refused.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DoneAnswer {
    pub done: bool,
}
