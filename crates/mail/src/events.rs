//! The event log: what happened in a project, in the order it was committed.
//!
//! Everything that is derived from mail (wake-ups, the page, other servers) follows this log from where it last
//! stood. An event is written in the transaction of what it tells, so the log never tells of what did not happen, and
//! never leaves out what did.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::error::Stored;
use crate::ids::{AgentId, ProjectId};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its place in the project's log: 1, 2, 3 … without gaps.
    pub seq: i64,
    /// What happened.
    pub kind: EventKind,
    /// The number of the message, agent or reservation that it happened to.
    pub reference: i64,
    /// Who did it, if somebody did.
    pub agent: Option<AgentId>,
    /// When.
    pub at: Timestamp,
}

formats::named! {
    /// What may happen.
    pub enum EventKind {
        /// An agent was registered under a new name, or came back after it was retired.
        AgentRegistered = "agent.registered",
        /// A message was accepted.
        MessageSent = "message.sent",
        /// A recipient marked a message read.
        MessageRead = "message.read",
        /// A recipient acknowledged a message.
        MessageAcknowledged = "message.acknowledged",
        /// A recipient took back that it had read a message.
        MessageUnread = "message.unread",
        /// A recipient archived its delivery.
        MessageArchived = "message.archived",
        /// A reservation was granted, or its end moved.
        ReservationGranted = "lease.granted",
        /// A reservation was given back.
        ReservationReleased = "lease.released",
        /// An agent came, went, or began something else.
        PresenceChanged = "presence.changed",
        /// An agent was retired: nobody writes to it any more.
        AgentRetired = "agent.retired",
        /// A delivery that was archived was brought back.
        MessageBroughtBack = "message.restored",
        /// An agent has another name.
        AgentRenamed = "agent.renamed",
    }
}

/// How far a consumer of the log has come in one project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Who consumes.
    pub sink: String,
    /// The project's slug.
    pub project: String,
    /// The last event that was dealt with.
    pub seq: i64,
    /// The newest event of the project.
    pub newest: i64,
}

/// What was committed since one last asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes {
    /// Differs from every stamp before.
    pub stamp: i64,
    /// Whom it concerns.
    pub concerned: Concerned,
}

/// Whom something concerns that another process committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Concerned {
    /// Perhaps everybody: it is not known.
    Everybody,
    /// These alone.
    These {
        /// Those whose mailboxes changed.
        agents: Vec<AgentId>,
        /// The projects in whose logs something stands.
        projects: Vec<ProjectId>,
    },
}

impl Concerned {
    /// Nobody at all.
    pub const NOBODY: Self = Self::These { agents: Vec::new(), projects: Vec::new() };
}

/// What keeps the log.
#[async_trait]
pub trait EventStore: Send + Sync {
    /// The events of a project after `seq`, in order, at most `limit`.
    async fn events(&self, project: ProjectId, seq: i64, limit: usize) -> Stored<Vec<Event>>;

    /// Notes that `sink` has dealt with everything up to `seq`. A cursor never moves back.
    async fn advance_cursor(&self, sink: &str, project: ProjectId, seq: i64) -> Stored<()>;

    /// Every cursor, by sink and project.
    async fn cursors(&self) -> Stored<Vec<Cursor>>;

    /// Makes `holder` the one who does the work of `sink` in a project until `until`, and tells how far that has come;
    /// `None` while it is another's whose time is not over at `now`. Who holds it to `now` lets it go.
    async fn hold_cursor(
        &self,
        sink: &str,
        project: ProjectId,
        holder: &str,
        until: Timestamp,
        now: Timestamp,
    ) -> Stored<Option<i64>>;

    /// Waits until anybody, in this process or another, commits something after the stamp `after`, at most for `at_most`,
    /// and tells whom that concerns, but for those whom this process knows of itself. Without a stamp it does not wait.
    async fn changes(&self, after: Option<i64>, at_most: Duration) -> Stored<Changes>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_back_from_its_name() {
        for (kind, name) in EventKind::ALL.into_iter().zip(EventKind::NAMES) {
            assert_eq!(kind.as_str(), name);
            assert_eq!(EventKind::parse(name), Some(kind));
        }
    }
}
