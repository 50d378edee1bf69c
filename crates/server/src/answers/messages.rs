//! Messages, as answers show them.

use mail::messages::{Delivery, InboxEntry, Message, Role, Vouched};
use serde::Serialize;

use super::rfc3339;

/// A message, and what the reader did with it where one reads a mailbox.
#[derive(Serialize)]
pub struct MessageAnswer<'a> {
    /// Its number.
    pub id: i64,
    /// The sender's name.
    pub from: &'a str,
    /// Whom it is written to: agents, and of what was said in a channel that channel before them.
    pub to: &'a [String],
    /// Who got a copy.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub cc: &'a [String],
    /// The subject.
    pub subject: &'a str,
    /// The body; left out when bodies were not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_md: Option<&'a str>,
    /// When it was accepted.
    pub created_ts: String,
    /// `low`, `normal`, `high` or `urgent`.
    pub importance: &'static str,
    /// Whether the sender waits for an acknowledgement.
    pub ack_required: bool,
    /// What kind of typed message it is, or null.
    pub kind: Option<&'static str>,
    /// The conversation.
    pub thread_id: &'a str,
    /// The message it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<i64>,
    /// The work item it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_id: Option<&'a str>,
    /// `verified` or `human` when more than the sender's word stands for its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vouched: Option<&'static str>,
    /// `cc` or `bcc` when the reader was not written to directly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<&'static str>,
    /// When the reader marked it read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_ts: Option<String>,
    /// When the reader acknowledged it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_ts: Option<String>,
}

impl<'a> MessageAnswer<'a> {
    /// A message as anybody may see it.
    pub fn new(message: &'a Message, with_body: bool) -> Self {
        Self {
            id: message.id.0,
            from: &message.from,
            to: &message.to,
            cc: &message.cc,
            subject: &message.subject,
            body_md: with_body.then_some(&*message.body),
            created_ts: rfc3339(message.created_at),
            importance: message.importance.as_str(),
            ack_required: message.ack_required,
            kind: message.kind.map(|kind| kind.as_str()),
            thread_id: &message.thread,
            reply_to: message.reply_to.map(|id| id.0),
            work_id: message.work_id.as_deref(),
            vouched: vouched(message),
            role: None,
            read_ts: None,
            ack_ts: None,
        }
    }

    /// A message as its recipient sees it.
    pub fn received(entry: &'a InboxEntry, with_body: bool) -> Self {
        Self {
            role: (entry.role != Role::To).then(|| role_name(entry.role)),
            read_ts: entry.state.read_at.map(rfc3339),
            ack_ts: entry.state.acked_at.map(rfc3339),
            ..Self::new(&entry.message, with_body)
        }
    }
}

/// What one recipient did with a message, as the sender or an onlooker sees it.
#[derive(Serialize)]
pub struct CopyAnswer<'a> {
    /// The recipient.
    pub name: &'a str,
    /// `to`, `cc` or `bcc`.
    pub role: &'static str,
    /// When it was marked read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_ts: Option<String>,
    /// When it was acknowledged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_ts: Option<String>,
    /// What was said with the acknowledgement.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub ack_body: &'a str,
}

/// A message with every recipient's copy.
#[derive(Serialize)]
pub struct FollowedAnswer<'a> {
    /// The message.
    #[serde(flatten)]
    pub message: MessageAnswer<'a>,
    /// The copies.
    pub recipients: Vec<CopyAnswer<'a>>,
}

impl<'a> FollowedAnswer<'a> {
    /// With `blind`, blind copies are shown too: only the sender may ask for that.
    pub fn new(message: &'a Message, copies: &'a [Delivery], with_body: bool, blind: bool) -> Self {
        let recipients = copies
            .iter()
            .filter(|copy| blind || copy.role != Role::Bcc)
            .map(|copy| CopyAnswer {
                name: &copy.recipient,
                role: role_name(copy.role),
                read_ts: copy.state.read_at.map(rfc3339),
                ack_ts: copy.state.acked_at.map(rfc3339),
                ack_body: &copy.state.ack_note,
            })
            .collect();
        Self { message: MessageAnswer::new(message, with_body), recipients }
    }
}

/// Who vouched for the sender, where that is more than its own word.
pub fn vouched(message: &Message) -> Option<&'static str> {
    (message.vouched != Vouched::Claimed).then(|| message.vouched.as_str())
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::To => "to",
        Role::Cc => "cc",
        Role::Bcc => "bcc",
    }
}
