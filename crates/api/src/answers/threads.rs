//! Threads summed up, and what a search found, as answers show them.

use mail::messages::Vouched;
use mail::office::Found;
use mail::threads::summary::{Point, Summary};
use serde::{Deserialize, Serialize};

use super::Word;
use super::messages::vouched;
use crate::Time;

/// A thread, summed up by rules.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SummaryAnswer {
    /// The thread.
    pub thread_id: String,
    /// Who spoke, in the order of their first words.
    pub participants: Vec<ParticipantAnswer>,
    /// Decisions and findings.
    pub key_points: Vec<PointAnswer>,
    /// What is to be done.
    pub action_items: Vec<ActionAnswer>,
    /// What nobody has answered yet.
    pub open_questions: Vec<PointAnswer>,
    /// How many messages were summed up.
    pub total_messages: usize,
    /// When the first was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_ts: Option<Time>,
    /// When the last was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_ts: Option<Time>,
}

/// Somebody who spoke.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ParticipantAnswer {
    /// Who.
    pub name: String,
    /// `human` for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vouched: Option<Word>,
    /// How often.
    pub messages: usize,
}

/// Something that was said.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PointAnswer {
    /// What.
    pub text: String,
    /// By whom.
    pub by: String,
    /// Where.
    pub message_id: i64,
}

/// Something to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ActionAnswer {
    /// What.
    pub text: String,
    /// Whether it was ticked off.
    pub done: bool,
    /// Who is to do it, if it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Who wrote it down.
    pub by: String,
    /// Where.
    pub message_id: i64,
}

impl SummaryAnswer {
    /// The answer for a summary.
    pub fn new(thread_id: String, summary: Summary) -> Self {
        let participants = summary.participants.into_iter().map(|one| ParticipantAnswer {
            name: one.name,
            vouched: one.is_human.then(|| Vouched::Human.as_str().into()),
            messages: one.messages,
        });
        let action_items = summary.action_items.into_iter().map(|item| ActionAnswer {
            text: item.text,
            done: item.done,
            owner: item.owner,
            by: item.by,
            message_id: item.message_id,
        });
        Self {
            thread_id,
            participants: participants.collect(),
            key_points: points(summary.key_points),
            action_items: action_items.collect(),
            open_questions: points(summary.open_questions),
            total_messages: summary.total_messages,
            first_ts: summary.first_at.map(Time),
            last_ts: summary.last_at.map(Time),
        }
    }
}

fn points(points: Vec<Point>) -> Vec<PointAnswer> {
    let point = |Point { text, by, message_id, .. }| PointAnswer { text, by, message_id };
    points.into_iter().map(point).collect()
}

/// A message that a search found.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FoundAnswer {
    /// Its number.
    pub id: i64,
    /// The sender's name.
    pub from: String,
    /// `verified` or `human` when more than the sender's word stands for its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vouched: Option<Word>,
    /// Whom it is written to.
    pub to: Vec<String>,
    /// The subject.
    pub subject: String,
    /// The part of the body where the words stand.
    pub snippet: String,
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
    /// The work item it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_id: Option<String>,
}

impl From<Found> for FoundAnswer {
    fn from(Found { message, snippet }: Found) -> Self {
        Self {
            id: message.id.0,
            from: message.from,
            vouched: vouched(message.vouched),
            to: message.to,
            subject: message.subject,
            snippet,
            created_ts: message.created_at.into(),
            importance: message.importance.as_str().into(),
            ack_required: message.ack_required,
            kind: message.kind.map(|kind| kind.as_str().into()),
            thread_id: message.thread,
            work_id: message.work_id,
        }
    }
}
