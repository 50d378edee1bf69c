//! Work items: what the mail says of each piece of work.
//!
//! A work item is only an id that typed messages share; nobody has to make one. How it stands is read from these
//! messages, oldest first, every time somebody asks: no state is kept that could disagree with the mail.

mod board;
mod said;
mod story;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::error::Stored;
use crate::ids::{MessageId, ProjectId};
use crate::messages::Message;

pub use board::item_of;
pub use said::is_passing;
pub(crate) use said::{asks, will_pass};
pub use story::gist;

/// How it stands with a piece of work.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum State {
    /// It was named, and nobody said how it stands.
    #[default]
    Mentioned,
    /// Somebody was asked to do it.
    Assigned,
    /// A worker took it on.
    Accepted,
    /// A worker is at it.
    InProgress(Progress),
    /// A worker is stuck, and nobody has answered yet.
    HelpWanted(Question),
    /// It is complete.
    Done(WorkOutcome),
    /// It failed.
    Failed(Failure),
    /// A worker stopped halfway and left notes.
    Checkpointed(Checkpoint),
    /// A worker for it is wanted.
    SpawnRequested {
        /// Who wants one.
        orchestrator: String,
        /// The commit to start from; empty for a fresh start.
        from_commit: String,
    },
    /// A worker for it was started.
    Spawned {
        /// Where it runs; empty if nobody said.
        session: String,
    },
}

impl State {
    /// The names of all states, in the order in which work usually passes through them.
    pub const NAMES: [&'static str; 10] = [
        "mentioned",
        "spawn_requested",
        "spawned",
        "assigned",
        "accepted",
        "in_progress",
        "help_wanted",
        "checkpointed",
        "done",
        "failed",
    ];

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Mentioned => "mentioned",
            Self::SpawnRequested { .. } => "spawn_requested",
            Self::Spawned { .. } => "spawned",
            Self::Assigned => "assigned",
            Self::Accepted => "accepted",
            Self::InProgress(_) => "in_progress",
            Self::HelpWanted(_) => "help_wanted",
            Self::Checkpointed(_) => "checkpointed",
            Self::Done(_) => "done",
            Self::Failed(_) => "failed",
        }
    }
}

/// How far a worker is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// How much is done, 0 to 100, when the worker counts it.
    pub percent: Option<f64>,
    /// The step it is at; empty if it did not say.
    pub step: String,
    /// What it says of it; empty if nothing.
    pub status: String,
    /// How full its context window is, in percent.
    pub context_usage: Option<u8>,
    /// When the worker thinks that it will be done.
    pub expected_at: Option<Timestamp>,
}

/// What a worker asks.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The message that asks; the newest, if it was asked more than once.
    pub message: MessageId,
    /// Who asks.
    pub asked_by: String,
    /// When it was first asked.
    pub asked_at: Timestamp,
    /// Such as `STUCK` or `BLOCKED`; empty if it did not say.
    pub issue: String,
    /// What is wrong.
    pub problem: String,
    /// What it wants to know.
    pub question: String,
    /// Whether it has waited for an answer longer than this office thinks right.
    pub overdue: bool,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkOutcome {
    /// The commit; empty if none was named.
    pub commit: String,
    /// Whether the tests passed, if it says.
    pub tests: Option<bool>,
    /// Whether the lints passed, if it says.
    pub lint: Option<bool>,
    /// Whether it builds, if it says.
    pub build: Option<bool>,
    /// The worker's summary.
    pub summary: String,
    /// Whether it waits for a review.
    pub offered: bool,
}

/// Why it failed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Failure {
    /// Such as `TESTS_FAIL`; empty if it did not say.
    pub failure_type: String,
    /// Why.
    pub reason: String,
    /// What would have to happen.
    pub recommendation: String,
    /// What there is of it, as a commit; empty if none.
    pub commit: String,
}

/// What a worker left behind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checkpoint {
    /// Such as `CONTEXT_HIGH`; empty if it did not say.
    pub reason: String,
    /// What there is of it, as a commit; empty if none.
    pub commit: String,
    /// What is done, and what remains.
    pub progress: String,
    /// What its successor should do.
    pub next_steps: String,
}

/// What an assignment says of a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    /// How urgent it is; empty if the assignment does not say.
    pub priority: String,
    /// The items that have to be done before it.
    pub dependencies: Vec<String>,
    /// When it must be done.
    pub deadline: Option<Timestamp>,
    /// How long it may take, in minutes.
    pub estimated_minutes: Option<f64>,
    /// What must hold when it is done.
    pub acceptance_criteria: Vec<String>,
}

/// An acknowledgement that is still due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenAck {
    /// The message.
    pub message: MessageId,
    /// Who has not acknowledged it.
    pub agent: String,
}

/// A piece of work as the board shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkItem {
    /// Its id.
    pub id: String,
    /// What it is called; empty if nobody said.
    pub title: String,
    /// How it stands.
    pub state: State,
    /// Who is on it, or was last; empty if nobody is known.
    pub agent: String,
    /// When that was last said.
    pub changed_at: Timestamp,
    /// The message that said so.
    pub changed_by: MessageId,
    /// What still has to be acknowledged.
    pub open_acks: Vec<OpenAck>,
    /// What was said of it when it was assigned.
    pub task: Task,
    /// Those of its dependencies that are not done, while it is not done itself.
    pub waiting_for: Vec<String>,
    /// Whether its deadline has passed and it is not done.
    pub late: bool,
}

/// How much of a text the board shows, in characters. One item by itself is shown whole.
const SHOWN: usize = 500;
/// How many acceptance criteria of an item the board shows.
const SHOWN_CRITERIA: usize = 10;
/// How many dependencies of a task are looked at.
pub const MOST_DEPENDENCIES: usize = 100;

impl WorkItem {
    /// Whether it came to an end.
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Done(_) | State::Failed(_))
    }

    /// Whether somebody could begin with it now: it is assigned, and all that it depends on is done.
    pub fn is_ready(&self) -> bool {
        matches!(self.state, State::Assigned) && self.waiting_for.is_empty()
    }

    /// The same with long texts cut, for a list of many.
    pub fn cut(mut self) -> Self {
        let Self { title, state, task, waiting_for, .. } = &mut self;
        let texts: Vec<&mut String> = match state {
            State::Mentioned | State::Assigned | State::Accepted => vec![],
            State::InProgress(Progress { step, status, .. }) => vec![step, status],
            State::HelpWanted(Question { issue, problem, question, .. }) => vec![issue, problem, question],
            State::Done(WorkOutcome { commit, summary, .. }) => vec![commit, summary],
            State::Failed(Failure { failure_type, reason, recommendation, commit }) => {
                vec![failure_type, reason, recommendation, commit]
            }
            State::Checkpointed(Checkpoint { reason, commit, progress, next_steps }) => {
                vec![reason, commit, progress, next_steps]
            }
            State::SpawnRequested { orchestrator, from_commit } => vec![orchestrator, from_commit],
            State::Spawned { session } => vec![session],
        };
        task.acceptance_criteria.truncate(SHOWN_CRITERIA);
        let texts = texts.into_iter().chain([title]).chain(&mut task.acceptance_criteria).chain(&mut task.dependencies);
        texts.chain(waiting_for).for_each(|text| *text = formats::cut(text.chars(), SHOWN));
        self
    }
}

/// What is asked of the store.
#[derive(Clone, Debug)]
pub struct WorkQuery {
    /// The project.
    pub project: ProjectId,
    /// Only this item.
    pub id: Option<String>,
    /// Only items whose newest typed message has a number below this one.
    pub before: Option<MessageId>,
    /// At most so many, those that changed last.
    pub limit: usize,
}

/// What the mail says of one item.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkRecord {
    /// The item's id.
    pub id: String,
    /// Its newest typed message.
    pub newest: MessageId,
    /// The typed messages about it, oldest first, without those that were passing ([`is_passing`]) and that their sender
    /// replaced. The newest 200, and fewer once bodies exceed [`PAGE_BYTES`](crate::messages::PAGE_BYTES).
    pub words: Vec<Message>,
    /// The acknowledgements that are due for any message about it, blind copies left out, oldest first, at most 100.
    pub open_acks: Vec<OpenAck>,
}

/// How many words are read of one item, the newest.
pub const MOST_WORDS: usize = 200;
/// How many messages of a thread are looked at for the work that it is about, the newest.
pub const MOST_LOOKED_AT: usize = 200;
/// How many acknowledgements are told of one item.
pub const MOST_ACKS: usize = 100;

/// What finds the mail about pieces of work.
#[async_trait]
pub trait WorkStore: Send + Sync {
    /// The items that typed messages of the project name, those that changed last first. A page ends early once its
    /// bodies exceed [`PAGE_BYTES`](crate::messages::PAGE_BYTES).
    async fn work(&self, query: &WorkQuery) -> Stored<Vec<WorkRecord>>;

    /// Everything that was said about an item or in the thread of its name, typed or not, oldest first, with a number
    /// above `after`. A page ends early once its bodies exceed [`PAGE_BYTES`](crate::messages::PAGE_BYTES).
    async fn work_story(
        &self,
        project: ProjectId,
        id: &str,
        after: Option<MessageId>,
        limit: usize,
    ) -> Stored<Vec<Message>>;

    /// The work item that the newest message of a thread with one is about; looks at the newest 200 at least.
    async fn work_of_thread(&self, project: ProjectId, thread: &str) -> Stored<Option<String>>;

    /// A number that rises whenever mail of the project is sent or acknowledged.
    async fn work_stamp(&self, project: ProjectId) -> Stored<i64>;
}
