//! Pieces of work, as answers show them.
//!
//! The details of a state have the names that typed messages use; empty ones are left out.

use mail::messages::Message;
use mail::work::{OpenAck, Question, State, WorkItem};

use super::Word;
use super::messages::vouched;
use crate::Time;

declare! {
    /// A piece of work, and how it stands.
    #[derive(PartialEq)]
    WorkAnswer::new(item: WorkItem) {
        work_id: String = item.id,
        title[if_any]: String = item.title,
        /// The name of a state.
        state: Word = item.state.name().into(),
        /// Who is on it, or was last.
        agent[if_any]: String = item.agent,
        changed_ts: Time = Time(item.changed_at),
        /// The message that changed it.
        changed_by: i64 = item.changed_by.0,
        #[serde(flatten)]
        detail: DetailAnswer = item.state.into(),
        /// Its dependencies that are not done.
        waiting_for[if_any]: Vec<String> = item.waiting_for,
        /// Whether its deadline has passed and it is not done.
        late[if_any]: bool = item.late,
        priority[if_any]: String = item.task.priority,
        dependencies[if_any]: Vec<String> = item.task.dependencies,
        deadline_ts[if_any]: Option<Time> = item.task.deadline.map(Time),
        /// How long it may take, in minutes.
        estimated_minutes[if_any]: Option<f64> = item.task.estimated_minutes,
        acceptance_criteria[if_any]: Vec<String> = item.task.acceptance_criteria,
        open_acks: Vec<OpenAckAnswer> = item.open_acks.into_iter().map(OpenAckAnswer::new).collect(),
    }

    /// An acknowledgement that is due.
    #[derive(PartialEq)]
    OpenAckAnswer::new(ack: OpenAck) {
        message_id: i64 = ack.message.0,
        agent: String = ack.agent,
    }

    /// What a state says more.
    #[derive(Default, PartialEq)]
    DetailAnswer {
        percent[if_any]: Option<f64>,
        step[if_any]: String,
        status[if_any]: String,
        /// How full the worker's context window is, in percent.
        context_usage[if_any]: Option<u8>,
        /// When the worker thinks that it will be done.
        estimated_completion_ts[if_any]: Option<Time>,
        help[if_any]: Option<HelpAnswer>,
        commit_sha[if_any]: String,
        tests_pass[if_any]: Option<bool>,
        lint_pass[if_any]: Option<bool>,
        build_pass[if_any]: Option<bool>,
        summary[if_any]: String,
        /// Whether what is done waits for a review.
        offered[if_any]: Option<bool>,
        failure_type[if_any]: String,
        /// Why it failed, or was left.
        reason[if_any]: String,
        recommendation[if_any]: String,
        partial_commit_sha[if_any]: String,
        progress[if_any]: String,
        next_steps[if_any]: String,
        /// Who wants a worker.
        orchestrator[if_any]: String,
        /// Where a worker runs.
        session[if_any]: String,
    }

    /// What a worker asks.
    #[derive(PartialEq)]
    HelpAnswer::new(question: Question) {
        message_id: i64 = question.message.0,
        from: String = question.asked_by,
        asked_ts: Time = Time(question.asked_at),
        /// Whether it has waited too long.
        overdue: bool = question.overdue,
        issue_type[if_any]: String = question.issue,
        problem[if_any]: String = question.problem,
        question[if_any]: String = question.question,
    }

    /// One message of an item's story.
    #[derive(PartialEq)]
    StoryAnswer::new(gist: String, message: Message) {
        message_id: i64 = message.id.0,
        created_ts: Time = Time(message.created_at),
        from: String = message.from,
        /// `verified` or `human` when more than the sender's word stands for its name.
        vouched[if_any]: Option<Word> = vouched(message.vouched),
        to: Vec<String> = message.to,
        /// What kind of typed message it is, or null.
        kind: Option<Word> = message.kind.map(|kind| kind.as_str().into()),
        /// What it says, in a line.
        gist: String = gist,
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
                estimated_completion_ts: at.expected_at.map(Time),
                ..nothing
            },
            State::HelpWanted(question) => Self { help: Some(HelpAnswer::new(question)), ..nothing },
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
