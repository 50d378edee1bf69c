//! Pieces of work, as answers show them.
//!
//! What a state says more is told under the names that typed messages use; what nobody said is left out.

use mail::messages::Message;
use mail::work::{OpenAck, Question, State, WorkItem, gist};
use serde::Serialize;

use super::messages::vouched;
use super::rfc3339;

/// A piece of work, and how it stands.
#[derive(Serialize)]
pub struct WorkAnswer<'a> {
    /// Its id.
    pub work_id: &'a str,
    /// What it is called.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub title: &'a str,
    /// How it stands: one of the states' names.
    pub state: &'static str,
    /// Who is on it, or was last.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub agent: &'a str,
    /// When that was last said.
    pub changed_ts: String,
    /// The message that said so.
    pub changed_by: i64,
    /// What the state says more.
    #[serde(flatten)]
    pub detail: DetailAnswer<'a>,
    /// Acknowledgements that are due.
    pub open_acks: Vec<OpenAckAnswer<'a>>,
}

/// An acknowledgement that is due.
#[derive(Serialize)]
pub struct OpenAckAnswer<'a> {
    /// Of which message.
    pub message_id: i64,
    /// By whom.
    pub agent: &'a str,
}

/// What a state says more.
#[derive(Serialize, Default)]
pub struct DetailAnswer<'a> {
    /// How much is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    /// The step a worker is at.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub step: &'a str,
    /// What it says of it.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub status: &'a str,
    /// How full its context window is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_usage: Option<u8>,
    /// What a worker asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<HelpAnswer<'a>>,
    /// The commit of what is done.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub commit_sha: &'a str,
    /// Whether the tests passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests_pass: Option<bool>,
    /// Whether the lints passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lint_pass: Option<bool>,
    /// Whether it builds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_pass: Option<bool>,
    /// What was done.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub summary: &'a str,
    /// Whether what is done waits for a review.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered: Option<bool>,
    /// What sort of failure.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub failure_type: &'a str,
    /// Why it failed, or was left.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub reason: &'a str,
    /// What would have to happen.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub recommendation: &'a str,
    /// The commit of what is half done.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub partial_commit_sha: &'a str,
    /// What is done and what remains.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub progress: &'a str,
    /// What a successor should do.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub next_steps: &'a str,
    /// Who wants a worker.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub orchestrator: &'a str,
    /// Where a worker runs.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub session: &'a str,
}

/// What a worker asks.
#[derive(Serialize)]
pub struct HelpAnswer<'a> {
    /// The message that asks.
    pub message_id: i64,
    /// Who asks.
    pub from: &'a str,
    /// When.
    pub asked_ts: String,
    /// Whether it has waited too long.
    pub overdue: bool,
    /// What sort of trouble.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub issue_type: &'a str,
    /// What is wrong.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub problem: &'a str,
    /// What it wants to know.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub question: &'a str,
}

/// One message of an item's story.
#[derive(Serialize)]
pub struct StoryAnswer<'a> {
    /// Its number.
    pub message_id: i64,
    /// When it was sent.
    pub created_ts: String,
    /// Who sent it.
    pub from: &'a str,
    /// `verified` or `human` when more than the sender's word stands for its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vouched: Option<&'static str>,
    /// To whom.
    pub to: &'a [String],
    /// What kind of typed message it is, or null.
    pub kind: Option<&'static str>,
    /// What it says, in a line.
    pub gist: String,
}

impl<'a> From<&'a WorkItem> for WorkAnswer<'a> {
    fn from(item: &'a WorkItem) -> Self {
        Self {
            work_id: &item.id,
            title: &item.title,
            state: item.state.name(),
            agent: &item.agent,
            changed_ts: rfc3339(item.changed_at),
            changed_by: item.changed_by.0,
            detail: DetailAnswer::from(&item.state),
            open_acks: item.open_acks.iter().map(OpenAckAnswer::from).collect(),
        }
    }
}

impl<'a> From<&'a OpenAck> for OpenAckAnswer<'a> {
    fn from(ack: &'a OpenAck) -> Self {
        Self { message_id: ack.message.0, agent: &ack.agent }
    }
}

impl<'a> From<&'a State> for DetailAnswer<'a> {
    fn from(state: &'a State) -> Self {
        let nothing = Self::default();
        match state {
            State::Mentioned | State::Assigned | State::Accepted => nothing,
            State::InProgress(at) => Self {
                percent: at.percent,
                step: &at.step,
                status: &at.status,
                context_usage: at.context_usage,
                ..nothing
            },
            State::HelpWanted(question) => Self { help: Some(HelpAnswer::from(question)), ..nothing },
            State::Done(done) => Self {
                commit_sha: &done.commit,
                tests_pass: done.tests,
                lint_pass: done.lint,
                build_pass: done.build,
                summary: &done.summary,
                offered: Some(done.offered),
                ..nothing
            },
            State::Failed(failure) => Self {
                failure_type: &failure.failure_type,
                reason: &failure.reason,
                recommendation: &failure.recommendation,
                partial_commit_sha: &failure.commit,
                ..nothing
            },
            State::Checkpointed(left) => Self {
                reason: &left.reason,
                partial_commit_sha: &left.commit,
                progress: &left.progress,
                next_steps: &left.next_steps,
                ..nothing
            },
            State::SpawnRequested { orchestrator, from_commit } => {
                Self { orchestrator, partial_commit_sha: from_commit, ..nothing }
            }
            State::Spawned { session } => Self { session, ..nothing },
        }
    }
}

impl<'a> From<&'a Question> for HelpAnswer<'a> {
    fn from(question: &'a Question) -> Self {
        Self {
            message_id: question.message.0,
            from: &question.asked_by,
            asked_ts: rfc3339(question.asked_at),
            overdue: question.overdue,
            issue_type: &question.issue,
            problem: &question.problem,
            question: &question.question,
        }
    }
}

impl<'a> From<&'a Message> for StoryAnswer<'a> {
    fn from(message: &'a Message) -> Self {
        Self {
            message_id: message.id.0,
            created_ts: rfc3339(message.created_at),
            from: &message.from,
            vouched: vouched(message),
            to: &message.to,
            kind: message.kind.map(|kind| kind.as_str()),
            gist: gist(message),
        }
    }
}
