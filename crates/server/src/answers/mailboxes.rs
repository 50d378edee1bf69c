//! Letters, as our own terminal reads them: one recipient's copy each.

use mail::messages::Vouched;
use mail::provider::{Count, Letter};
use serde::Serialize;

/// One letter.
#[derive(Serialize)]
pub struct LetterAnswer<'a> {
    id: &'a str,
    from: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    vouched: Option<&'static str>,
    to: &'a str,
    subject: &'a str,
    body: &'a str,
    /// To the nanosecond, because that is what tells two copies of one message apart.
    created_at: String,
    read: bool,
    thread_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_to: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<i64>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    cc: &'a [String],
    awaits_ack: bool,
    addressed: &'a [String],
    archived: bool,
}

impl<'a> From<&'a Letter> for LetterAnswer<'a> {
    fn from(letter: &'a Letter) -> Self {
        Self {
            id: &letter.id,
            from: &letter.from,
            vouched: letter.is_human.then(|| Vouched::Human.as_str()),
            to: &letter.to,
            subject: &letter.subject,
            body: &letter.body,
            created_at: letter.created_at.to_string(),
            read: letter.read,
            thread_id: &letter.thread,
            reply_to: letter.reply_to.as_deref(),
            priority: letter.priority,
            cc: &letter.cc,
            awaits_ack: letter.awaits_ack,
            addressed: &letter.addressed,
            archived: letter.archived,
        }
    }
}

/// How much is open.
#[derive(Serialize)]
pub struct CountAnswer {
    total: usize,
    unread: usize,
}

impl From<Count> for CountAnswer {
    fn from(Count { total, unread }: Count) -> Self {
        Self { total, unread }
    }
}

/// That something was done.
#[derive(Serialize)]
pub struct DoneAnswer {
    /// Always true: what cannot be done is refused.
    pub done: bool,
}
