//! Threads summed up, and what a search found, as answers show them.

use mail::messages::Vouched;
use mail::office::Found;
use mail::threads::summary::{Point, Summary};
use serde::Serialize;

use super::messages::vouched;
use super::rfc3339;

/// A thread, summed up by rules.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SummaryAnswer<'a> {
    /// The thread.
    pub thread_id: &'a str,
    /// Who spoke, in the order of their first words.
    pub participants: Vec<ParticipantAnswer<'a>>,
    /// Decisions and findings.
    pub key_points: Vec<PointAnswer<'a>>,
    /// What is to be done.
    pub action_items: Vec<ActionAnswer<'a>>,
    /// What nobody has answered yet.
    pub open_questions: Vec<PointAnswer<'a>>,
    /// How many messages were summed up.
    pub total_messages: usize,
    /// When the first was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_ts: Option<String>,
    /// When the last was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_ts: Option<String>,
}

/// Somebody who spoke.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ParticipantAnswer<'a> {
    /// Who.
    pub name: &'a str,
    /// `human` for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vouched: Option<&'static str>,
    /// How often.
    pub messages: usize,
}

/// Something that was said.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PointAnswer<'a> {
    /// What.
    pub text: &'a str,
    /// By whom.
    pub by: &'a str,
    /// Where.
    pub message_id: i64,
}

/// Something to do.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ActionAnswer<'a> {
    /// What.
    pub text: &'a str,
    /// Whether it was ticked off.
    pub done: bool,
    /// Who is to do it, if it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<&'a str>,
    /// Who wrote it down.
    pub by: &'a str,
    /// Where.
    pub message_id: i64,
}

impl<'a> SummaryAnswer<'a> {
    /// The answer for a summary.
    pub fn new(thread_id: &'a str, summary: &'a Summary) -> Self {
        let participants = summary.participants.iter().map(|one| ParticipantAnswer {
            name: &one.name,
            vouched: one.is_human.then(|| Vouched::Human.as_str()),
            messages: one.messages,
        });
        let action_items = summary.action_items.iter().map(|item| ActionAnswer {
            text: &item.text,
            done: item.done,
            owner: item.owner.as_deref(),
            by: &item.by,
            message_id: item.message_id,
        });
        Self {
            thread_id,
            participants: participants.collect(),
            key_points: points(&summary.key_points),
            action_items: action_items.collect(),
            open_questions: points(&summary.open_questions),
            total_messages: summary.total_messages,
            first_ts: summary.first_at.map(rfc3339),
            last_ts: summary.last_at.map(rfc3339),
        }
    }
}

fn points(points: &[Point]) -> Vec<PointAnswer<'_>> {
    points.iter().map(|point| PointAnswer { text: &point.text, by: &point.by, message_id: point.message_id }).collect()
}

/// A message that a search found.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FoundAnswer<'a> {
    /// Its number.
    pub id: i64,
    /// The sender's name.
    pub from: &'a str,
    /// `verified` or `human` when more than the sender's word stands for its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vouched: Option<&'static str>,
    /// Whom it is written to.
    pub to: &'a [String],
    /// The subject.
    pub subject: &'a str,
    /// The part of the body where the words stand.
    pub snippet: &'a str,
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
    /// The work item it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_id: Option<&'a str>,
}

impl<'a> From<&'a Found> for FoundAnswer<'a> {
    fn from(found: &'a Found) -> Self {
        let message = &found.message;
        Self {
            id: message.id.0,
            from: &message.from,
            vouched: vouched(message),
            to: &message.to,
            subject: &message.subject,
            snippet: &found.snippet,
            created_ts: rfc3339(message.created_at),
            importance: message.importance.as_str(),
            ack_required: message.ack_required,
            kind: message.kind.map(|kind| kind.as_str()),
            thread_id: &message.thread,
            work_id: message.work_id.as_deref(),
        }
    }
}
