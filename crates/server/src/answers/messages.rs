//! Messages, as answers show them.

use mail::error::Problem;
use mail::messages::{Message, Vouched};
use mail::office::{Secret, Sent};
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
}

/// What a sender is told: the message, and its content once more where older clients look for it.
#[derive(Serialize)]
pub struct SentAnswer<'a> {
    /// The message, without its body, which the sender knows.
    #[serde(flatten)]
    pub message: MessageAnswer<'a>,
    /// The blind copies.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub bcc: &'a [String],
    /// How many agents it was delivered to.
    pub count: usize,
    /// What is wrong with it as a typed message. It was sent all the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<ProblemAnswer>,
    /// What its sender should think about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<WarningAnswer>,
    /// One entry, whose payload is the message with its body.
    pub deliveries: [DeliveryAnswer<'a>; 1],
}

/// One thing that is wrong with a typed message.
#[derive(Serialize)]
pub struct ProblemAnswer {
    /// Which field.
    pub path: String,
    /// What stands there, and what should.
    pub message: String,
}

/// Something that a sender should think about.
#[derive(Serialize)]
pub struct WarningAnswer {
    /// A stable code.
    pub code: &'static str,
    /// The fact.
    pub message: String,
    /// The next thing to do.
    pub hint: &'static str,
}

/// One entry of what was delivered.
#[derive(Serialize)]
pub struct DeliveryAnswer<'a> {
    /// What was delivered.
    pub payload: Payload<'a>,
}

/// The content of a message.
#[derive(Serialize)]
pub struct Payload<'a> {
    /// Its number.
    pub id: i64,
    /// The subject.
    pub subject: &'a str,
    /// The body.
    pub body_md: &'a str,
    /// When it was accepted.
    pub created_ts: String,
}

impl<'a> From<&'a Sent> for SentAnswer<'a> {
    fn from(sent: &'a Sent) -> Self {
        let message = &sent.message;
        let payload = Payload {
            id: message.id.0,
            subject: &message.subject,
            body_md: &message.body,
            created_ts: rfc3339(message.created_at),
        };
        Self {
            message: MessageAnswer::new(message, false),
            bcc: &sent.bcc,
            count: message.open_recipients().count() + sent.bcc.len(),
            problems: sent.notes.problems.iter().map(ProblemAnswer::from).collect(),
            warnings: sent.notes.secrets.iter().map(WarningAnswer::from).collect(),
            deliveries: [DeliveryAnswer { payload }],
        }
    }
}

impl From<&Problem> for ProblemAnswer {
    fn from(problem: &Problem) -> Self {
        Self { path: problem.path.clone(), message: problem.to_string() }
    }
}

impl From<&Secret> for WarningAnswer {
    fn from(secret: &Secret) -> Self {
        Self {
            code: "SECRET_SUSPECTED",
            message: secret.to_string(),
            hint: "Mail is kept for good: if this is a real secret, change it.",
        }
    }
}

/// Who vouched for the sender, where that is more than its own word.
pub fn vouched(message: &Message) -> Option<&'static str> {
    (message.vouched != Vouched::Claimed).then(|| message.vouched.as_str())
}
