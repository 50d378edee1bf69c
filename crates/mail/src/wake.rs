//! Wake-ups: how those who wait learn that something was committed.
//!
//! A port, because waiting needs a runtime. A wake-up says only "look again": it may come for nothing and may be lost,
//! so whoever waits also looks again by itself from time to time.

use std::time::Duration;

use async_trait::async_trait;

use crate::ids::{AgentId, ProjectId};

/// Wakes those who wait, and lets them wait.
pub trait Wake: Send + Sync {
    /// Mail was committed for these agents.
    fn mail_for(&self, agents: &[AgentId]);
    /// Reservations of this project, or the line for them, changed.
    fn reservations_changed(&self, project: ProjectId);
    /// What the work board of this project shows changed: mail, or what became of it.
    fn work_changed(&self, project: ProjectId);
    /// A signal for mail of one agent. What is committed after this call is not missed.
    fn mailbox(&self, agent: AgentId) -> Box<dyn Signal>;
    /// A signal for the work board of a project. What is committed after this call is not missed.
    fn work(&self, project: ProjectId) -> Box<dyn Signal>;
    /// Whether the office closes: whoever waits comes back with what there is.
    fn closing(&self) -> bool;
    /// A signal for the reservations of a project. What is committed after this call is not missed.
    fn reservations(&self, project: ProjectId) -> Box<dyn Signal>;
}

/// Something to wait for.
#[async_trait]
pub trait Signal: Send {
    /// Returns when woken since the last call (or since the signal was made), at the latest after `at_most`.
    async fn wait(&mut self, at_most: Duration);
}
