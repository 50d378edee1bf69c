//! What a person asks who looks after many agents: all mail of a project at a glance, and who did what.
//!
//! A glance shows how it stands with all deliveries of a message, and a beginning of its text; what is read in full,
//! and acted on, is read as a message. A blind copy is shown to whoever looks into the mailbox that it lies in, and
//! counts nowhere else.

use async_trait::async_trait;
use formats::Kind;
use jiff::{SignedDuration, Timestamp};

use crate::error::Stored;
use crate::events::Event;
use crate::ids::{AgentId, MessageId, ProjectId};
use crate::messages::Message;
use crate::projects::Project;

/// How much of a body a listing shows, in characters.
pub const EXCERPT: usize = 280;
/// How many events are looked at when traffic is counted, the newest.
pub const MOST_COUNTED: usize = 50_000;

/// Which mail to list.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// The project.
    pub project: ProjectId,
    /// Only mail of which this agent has a delivery that is not archived, or is where `archived_only` asks for that.
    /// Without one, all mail that was sent in the project, archived or not.
    pub agent: Option<AgentId>,
    /// Only mail of which some delivery (the agent's, if there is one) is neither read nor archived.
    pub unread_only: bool,
    /// Only mail that wants an acknowledgement which some delivery (the agent's) lacks that is not archived.
    pub ack_due_only: bool,
    /// Only mail of high importance, or urgent.
    pub urgent_only: bool,
    /// Only mail of which some delivery (the agent's) is archived.
    pub archived_only: bool,
    /// Only mail of this kind.
    pub kind: Option<Kind>,
    /// Only messages with a number below this one.
    pub before: Option<MessageId>,
    /// At most so many, the newest.
    pub limit: usize,
}

impl Listing {
    /// All mail of a project.
    pub fn newest(project: ProjectId, limit: usize) -> Self {
        Self { project, limit, ..Self::default() }
    }
}

/// A message at a glance. Blind copies are not counted, but for the one of the agent whose mail is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The message, its body cut to its first [`EXCERPT`] characters.
    pub message: Message,
    /// How many deliveries there are.
    pub deliveries: usize,
    /// How many of them are neither read nor archived.
    pub unread: usize,
    /// How many lack an acknowledgement that is wanted, and are not archived.
    pub acks_due: usize,
    /// How many are archived.
    pub archived: usize,
}

/// How often one agent wrote to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Correspondence {
    /// Who wrote.
    pub from: String,
    /// Who got it, whether it was written to or got a copy.
    pub to: String,
    /// How many messages.
    pub count: u64,
}

/// One thing that happened, in words that tell what it happened to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// What happened.
    pub event: Event,
    /// Who did it.
    pub agent: Option<String>,
    /// What it happened to: the subject of the message, the pattern of the reservation, or the name of the agent.
    pub subject: Option<String>,
    /// The conversation, if it happened to a message.
    pub thread: Option<String>,
}

/// A project, and how much is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectSum {
    /// The project.
    pub project: Project,
    /// How many agents there are that are not retired.
    pub agents: u64,
    /// How many messages were sent.
    pub messages: u64,
    /// How many deliveries are neither read nor archived. Blind copies do not count.
    pub unread: u64,
    /// When the newest message was sent.
    pub last_mail_at: Option<Timestamp>,
}

/// What answers those who look after a project.
///
/// Each answer is quick however much mail there is, and also when almost nothing matches.
#[async_trait]
pub trait OverviewStore: Send + Sync {
    /// Projects with a number above `after`, at most `limit`, in the order they were made, and how much is in each.
    async fn project_sums(&self, after: Option<ProjectId>, limit: usize) -> Stored<Vec<ProjectSum>>;

    /// Messages at a glance, newest first. Changes nothing.
    async fn listing(&self, listing: &Listing) -> Stored<Vec<Listed>>;

    /// How many deliveries are neither read nor archived, of one agent or of all, counted up to `most`. Blind copies count for
    /// their own agent alone.
    async fn count_unread(&self, project: ProjectId, agent: Option<AgentId>, most: usize) -> Stored<usize>;

    /// How many messages were sent in each `step` of time from `since` on, oldest first; as many numbers as `steps`. Looks
    /// at no more than the newest [`MOST_COUNTED`] events.
    async fn traffic(
        &self,
        project: ProjectId,
        since: Timestamp,
        step: SignedDuration,
        steps: usize,
    ) -> Stored<Vec<u64>>;

    /// Who wrote to whom how often, among the `newest` messages of a project: most first, then by names. What was said in a
    /// channel counts for those who have a delivery of it; blind copies do not count.
    async fn correspondence(&self, project: ProjectId, newest: usize) -> Stored<Vec<Correspondence>>;

    /// What happened in a project, newest first, with a number below `before`. What somebody did with a blind copy is left
    /// out, because it would tell of the delivery.
    async fn audit(&self, project: ProjectId, before: Option<i64>, limit: usize) -> Stored<Vec<AuditEntry>>;
}
