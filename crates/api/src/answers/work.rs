//! Pieces of work, as answers show them.
//!
//! The details of a state have the names that typed messages use; empty ones are left out.

use mail::messages::Message;
use mail::work::{OpenAck, Question, State, WorkItem, gist};
use serde::{Deserialize, Serialize};

use super::Word;
use super::messages::vouched;
use crate::Time;

/// A piece of work, and how it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WorkAnswer {
    pub work_id: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The name of a state.
    pub state: Word,
    /// Who is on it, or was last.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    pub changed_ts: Time,
    /// The message that changed it.
    pub changed_by: i64,
    #[serde(flatten)]
    pub detail: DetailAnswer,
    pub open_acks: Vec<OpenAckAnswer>,
}

/// An acknowledgement that is due.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OpenAckAnswer {
    pub message_id: i64,
    pub agent: String,
}

/// What a state says more.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DetailAnswer {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub step: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// How full the worker's context window is, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_usage: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<HelpAnswer>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub commit_sha: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests_pass: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lint_pass: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_pass: Option<bool>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// Whether what is done waits for a review.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered: Option<bool>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub failure_type: String,
    /// Why it failed, or was left.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub recommendation: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub partial_commit_sha: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub progress: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub next_steps: String,
    /// Who wants a worker.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub orchestrator: String,
    /// Where a worker runs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub session: String,
}

/// What a worker asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HelpAnswer {
    pub message_id: i64,
    pub from: String,
    pub asked_ts: Time,
    /// Whether it has waited too long.
    pub overdue: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub issue_type: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub problem: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub question: String,
}

/// One message of an item's story.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StoryAnswer {
    pub message_id: i64,
    pub created_ts: Time,
    pub from: String,
    /// `verified` or `human` when more than the sender's word stands for its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vouched: Option<Word>,
    pub to: Vec<String>,
    /// What kind of typed message it is, or null.
    pub kind: Option<Word>,
    /// What it says, in a line.
    pub gist: String,
}

impl From<WorkItem> for WorkAnswer {
    fn from(item: WorkItem) -> Self {
        Self {
            work_id: item.id,
            title: item.title,
            state: item.state.name().into(),
            agent: item.agent,
            changed_ts: item.changed_at.into(),
            changed_by: item.changed_by.0,
            detail: item.state.into(),
            open_acks: item.open_acks.into_iter().map(OpenAckAnswer::from).collect(),
        }
    }
}

impl From<OpenAck> for OpenAckAnswer {
    fn from(ack: OpenAck) -> Self {
        Self { message_id: ack.message.0, agent: ack.agent }
    }
}

impl From<State> for DetailAnswer {
    fn from(state: State) -> Self {
        let nothing = Self::default();
        match state {
            State::Mentioned | State::Assigned | State::Accepted => nothing,
            State::InProgress(at) => Self {
                percent: at.percent,
                step: at.step,
                status: at.status,
                context_usage: at.context_usage,
                ..nothing
            },
            State::HelpWanted(question) => Self { help: Some(question.into()), ..nothing },
            State::Done(done) => Self {
                commit_sha: done.commit,
                tests_pass: done.tests,
                lint_pass: done.lint,
                build_pass: done.build,
                summary: done.summary,
                offered: Some(done.offered),
                ..nothing
            },
            State::Failed(failure) => Self {
                failure_type: failure.failure_type,
                reason: failure.reason,
                recommendation: failure.recommendation,
                partial_commit_sha: failure.commit,
                ..nothing
            },
            State::Checkpointed(left) => Self {
                reason: left.reason,
                partial_commit_sha: left.commit,
                progress: left.progress,
                next_steps: left.next_steps,
                ..nothing
            },
            State::SpawnRequested { orchestrator, from_commit } => {
                Self { orchestrator, partial_commit_sha: from_commit, ..nothing }
            }
            State::Spawned { session } => Self { session, ..nothing },
        }
    }
}

impl From<Question> for HelpAnswer {
    fn from(question: Question) -> Self {
        Self {
            message_id: question.message.0,
            from: question.asked_by,
            asked_ts: question.asked_at.into(),
            overdue: question.overdue,
            issue_type: question.issue,
            problem: question.problem,
            question: question.question,
        }
    }
}

impl From<Message> for StoryAnswer {
    fn from(message: Message) -> Self {
        Self {
            message_id: message.id.0,
            created_ts: message.created_at.into(),
            gist: gist(&message),
            from: message.from,
            vouched: vouched(message.vouched),
            to: message.to,
            kind: message.kind.map(|kind| kind.as_str().into()),
        }
    }
}
