//! Messages, as answers show them.

use mail::error::Problem;
use mail::messages::{Delivery, DeliveryState, InboxEntry, Message, Role, Vouched};
use mail::office::{Secret, Sent};
use serde::{Deserialize, Serialize};

use super::Word;
use crate::Time;

/// A message, and what the reader did with it where one reads a mailbox.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MessageAnswer {
    /// Its number.
    pub id: i64,
    /// The sender's name.
    pub from: String,
    /// Whom it is written to: agents, and of what was said in a channel that channel before them.
    pub to: Vec<String>,
    /// Who got a copy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cc: Vec<String>,
    /// The subject.
    pub subject: String,
    /// The body; left out when bodies were not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_md: Option<String>,
    /// When it was accepted.
    pub created_ts: Time,
    /// `low`, `normal`, `high` or `urgent`.
    pub importance: Word,
    /// Whether the sender waits for an acknowledgement.
    pub ack_required: bool,
    /// What kind of typed message it is, or null.
    pub kind: Option<Word>,
    /// The conversation.
    pub thread_id: String,
    /// The message it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<i64>,
    /// The work item it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_id: Option<String>,
    /// `verified` or `human` when more than the sender's word stands for its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vouched: Option<Word>,
    /// `cc` or `bcc` when the reader was not written to directly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Word>,
    /// When the reader marked it read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_ts: Option<Time>,
    /// When the reader acknowledged it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_ts: Option<Time>,
}

impl MessageAnswer {
    /// A message as anybody may see it.
    pub fn new(message: Message, with_body: bool) -> Self {
        Self {
            id: message.id.0,
            vouched: vouched(message.vouched),
            from: message.from,
            to: message.to,
            cc: message.cc,
            subject: message.subject,
            body_md: with_body.then_some(message.body),
            created_ts: message.created_at.into(),
            importance: message.importance.as_str().into(),
            ack_required: message.ack_required,
            kind: message.kind.map(|kind| kind.as_str().into()),
            thread_id: message.thread,
            reply_to: message.reply_to.map(|id| id.0),
            work_id: message.work_id,
            role: None,
            read_ts: None,
            ack_ts: None,
        }
    }

    /// A message as its recipient sees it.
    pub fn received(entry: InboxEntry, with_body: bool) -> Self {
        Self {
            role: (entry.role != Role::To).then(|| role_name(entry.role)),
            read_ts: entry.state.read_at.map(Time),
            ack_ts: entry.state.acked_at.map(Time),
            ..Self::new(entry.message, with_body)
        }
    }
}

/// What a sender is told: the message, and its content once more where older clients look for it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SentAnswer {
    /// The message, without its body, which the sender knows.
    #[serde(flatten)]
    pub message: MessageAnswer,
    /// The blind copies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bcc: Vec<String>,
    /// How many agents it was delivered to.
    pub count: usize,
    /// What is wrong with it as a typed message. It was sent all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<ProblemAnswer>,
    /// What its sender should think about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<WarningAnswer>,
    /// One entry, whose payload is the message with its body.
    pub deliveries: [DeliveryAnswer; 1],
}

/// One thing that is wrong with a typed message.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProblemAnswer {
    /// Which field.
    pub path: String,
    /// What stands there, and what should.
    pub message: String,
}

/// Something that a sender should think about.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WarningAnswer {
    /// A stable code.
    pub code: Word,
    /// The fact.
    pub message: String,
    /// The next thing to do.
    pub hint: Word,
}

/// One entry of what was delivered.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DeliveryAnswer {
    /// What was delivered.
    pub payload: Payload,
}

/// The content of a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Payload {
    /// Its number.
    pub id: i64,
    /// The subject.
    pub subject: String,
    /// The body.
    pub body_md: String,
    /// When it was accepted.
    pub created_ts: Time,
}

impl From<Sent> for SentAnswer {
    fn from(sent: Sent) -> Self {
        let Sent { mut message, bcc, notes, .. } = sent;
        let payload = Payload {
            id: message.id.0,
            subject: message.subject.clone(),
            body_md: std::mem::take(&mut message.body),
            created_ts: message.created_at.into(),
        };
        Self {
            count: message.open_recipients().count() + bcc.len(),
            message: MessageAnswer::new(message, false),
            bcc,
            problems: notes.problems.iter().map(ProblemAnswer::from).collect(),
            warnings: notes.secrets.iter().map(WarningAnswer::from).collect(),
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
            code: "SECRET_SUSPECTED".into(),
            message: secret.to_string(),
            hint: "Mail is kept for good: if this is a real secret, change it.".into(),
        }
    }
}

/// What a recipient did with a message, as it is told after marking it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MarkedAnswer {
    /// The message.
    pub message_id: i64,
    /// Whether it is read now.
    pub read: bool,
    /// When it was first marked read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_ts: Option<Time>,
    /// Whether it is acknowledged.
    pub acknowledged: bool,
    /// When it was first acknowledged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_ts: Option<Time>,
}

impl MarkedAnswer {
    /// The state of one delivery.
    pub fn new(message_id: i64, state: &DeliveryState) -> Self {
        Self {
            message_id,
            read: state.read_at.is_some(),
            read_ts: state.read_at.map(Time),
            acknowledged: state.acked_at.is_some(),
            ack_ts: state.acked_at.map(Time),
        }
    }
}

/// What one recipient did with a message, as the sender or an onlooker sees it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CopyAnswer {
    /// The recipient.
    pub name: String,
    /// `to`, `cc` or `bcc`.
    pub role: Word,
    /// When it was marked read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_ts: Option<Time>,
    /// When it was acknowledged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_ts: Option<Time>,
    /// What was said with the acknowledgement.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ack_body: String,
}

/// A message with every recipient's delivery.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FollowedAnswer {
    /// The message.
    #[serde(flatten)]
    pub message: MessageAnswer,
    /// The deliveries.
    pub recipients: Vec<CopyAnswer>,
}

impl FollowedAnswer {
    /// With `blind`, blind copies are shown too: only the sender may ask for that.
    pub fn new(message: Message, deliveries: Vec<Delivery>, with_body: bool, blind: bool) -> Self {
        let recipients = deliveries
            .into_iter()
            .filter(|delivery| blind || delivery.role != Role::Bcc)
            .map(|delivery| CopyAnswer {
                name: delivery.recipient,
                role: role_name(delivery.role),
                read_ts: delivery.state.read_at.map(Time),
                ack_ts: delivery.state.acked_at.map(Time),
                ack_body: delivery.state.ack_note,
            })
            .collect();
        Self { message: MessageAnswer::new(message, with_body), recipients }
    }
}

/// Who vouched for the sender, where that is more than its own word.
pub(crate) fn vouched(vouched: Vouched) -> Option<Word> {
    (vouched != Vouched::Claimed).then(|| vouched.as_str().into())
}

fn role_name(role: Role) -> Word {
    match role {
        Role::To => "to",
        Role::Cc => "cc",
        Role::Bcc => "bcc",
    }
    .into()
}
