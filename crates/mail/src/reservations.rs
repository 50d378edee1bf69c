//! Advisory leases on files, so that two agents do not edit the same lines.
//!
//! A lease never blocks a write; it tells the next agent to ask first. Leases end by themselves, because an agent that
//! crashed cannot release one. Who gets what is decided by the [`LeaseBook`], inside the store's transaction.

mod book;
mod granting;
pub mod pattern;
pub mod pattern_index;

use std::fmt;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::clock::after_seconds;
use crate::error::{StoreError, rfc3339};
use crate::ids::{AgentId, LeaseId, ProjectId, TicketId};
pub use book::{Decision, LeaseBook};
pub use granting::renewed;
use pattern::Pattern;

/// The shortest and the longest lease, in seconds.
pub const TTL_SECONDS: std::ops::RangeInclusive<i64> = 1..=7 * 24 * 3600;
/// How long a lease is when nobody says, in seconds.
pub const DEFAULT_TTL_SECONDS: i64 = 600;
/// How many conflicts a refusal names at the most.
pub const MOST_CONFLICTS: usize = 20;

/// How long a place in the line is held without its owner asking again, in seconds.
///
/// A waiter that went away, or whose process was killed, says nothing; its place is lost by time alone.
const PLACE_SECONDS: i64 = 5;

/// Until when the place of somebody who asked at `now` is held.
pub fn place_held_until(now: Timestamp, wait_until: Timestamp) -> Timestamp {
    wait_until.min(after_seconds(now, PLACE_SECONDS))
}

/// Whether a place that is held until `until` is to be held longer for somebody who asks again at `now`.
///
/// Only when less than half of it is left: each change of the line wakes all who wait, and if asking again were such a
/// change, they would wake each other for ever.
pub fn place_needs_holding(until: Timestamp, now: Timestamp) -> bool {
    2 * (until.as_microsecond() - now.as_microsecond()) < PLACE_SECONDS * 1_000_000
}

/// A lease that was granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The store's number for it.
    pub id: LeaseId,
    /// Who holds it.
    pub holder: AgentId,
    /// The holder's name.
    pub holder_name: String,
    /// The files it covers.
    pub pattern: Pattern,
    /// Whether nobody else may hold any of them.
    pub exclusive: bool,
    /// What the holder said it is for; empty if nothing.
    pub reason: String,
    /// When it was first granted.
    pub granted_at: Timestamp,
    /// When it ends by itself: from this moment on it blocks nobody.
    pub ends_at: Timestamp,
}

/// Somebody who stands in line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiter {
    /// The place in the line: lower came earlier.
    pub ticket: TicketId,
    /// Who waits.
    pub agent: AgentId,
    /// The waiting agent's name.
    pub agent_name: String,
    /// What is wanted.
    pub patterns: Vec<Pattern>,
    /// Whether it is wanted exclusively.
    pub exclusive: bool,
    /// When the place is lost, unless its owner asks again.
    pub until: Timestamp,
}

/// Why a pattern cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// What was wanted.
    pub wanted: String,
    /// What is held, or stood in line for, by another.
    pub pattern: String,
    /// By whom.
    pub holder: String,
    /// Whether it is held, or wanted, exclusively.
    pub exclusive: bool,
    /// Whether the other only stands in line, and came earlier.
    pub waiting: bool,
    /// When the lease, or the wait, ends at the latest.
    pub until: Timestamp,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.waiting { "waited for" } else { "reserved" };
        write!(f, "'{}' is {verb} by '{}'", self.wanted, self.holder)?;
        if self.pattern != self.wanted {
            write!(f, " ('{}')", self.pattern)?;
        }
        write!(f, " until {}", rfc3339(self.until))
    }
}

/// The reservation that speaks against writing `path`: of those that others than `me` hold exclusively, the one that ends
/// last. Without `me`, every reservation is another's.
pub fn held_by_another<'a>(held: &'a [Lease], me: Option<&str>, path: &str) -> Option<&'a Lease> {
    held.iter()
        .filter(|lease| lease.exclusive && me != Some(lease.holder_name.as_str()))
        .filter(|lease| lease.pattern.matches(path))
        .max_by_key(|lease| lease.ends_at)
}

/// What an agent asks for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The project.
    pub project: ProjectId,
    /// Who asks.
    pub agent: AgentId,
    /// Its name.
    pub agent_name: String,
    /// The files, all or nothing; each pattern once.
    pub patterns: Vec<Pattern>,
    /// Whether nobody else may hold any of them.
    pub exclusive: bool,
    /// What it is for.
    pub reason: String,
    /// How long the leases last, from the moment they are granted.
    pub ttl_seconds: i64,
    /// Until when the agent will stand in line; `None` to be refused at once.
    pub wait_until: Option<Timestamp>,
    /// The place it has in the line from an earlier try.
    pub ticket: Option<TicketId>,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reserved {
    /// All of it is held now, one lease for each pattern in the order of the request.
    Granted(Vec<Lease>),
    /// Nothing was granted, and the agent does not stand in line.
    Refused(Vec<Conflict>),
    /// The agent stands in line. Ask again with the ticket when leases changed, at `look_again_at`, and often enough
    /// to keep the place ([`place_held_until`]).
    Waiting {
        /// The place in the line.
        ticket: TicketId,
        /// What is in the way.
        conflicts: Vec<Conflict>,
        /// When the first of it ends by itself.
        look_again_at: Timestamp,
    },
    /// Standing in line would close a circle of agents that wait for each other, the first again at the end.
    Circle(Vec<String>),
}

/// What keeps leases.
///
/// Expiry is a matter of time, not of tidying up: at `ends_at` a lease is over, whether or not anybody noticed.
#[async_trait]
pub trait ReservationStore: Send + Sync {
    /// Grants all of the request or nothing, as [`LeaseBook::decide`] says.
    ///
    /// A pattern that the agent holds already gets the new end and reason and keeps its number; it never becomes weaker by
    /// being asked for again: what is exclusive stays so until it is released. A request with a
    /// ticket that is granted or refused leaves the line; one that still waits keeps its place, held anew until
    /// [`place_held_until`] when [`place_needs_holding`], and else changes nothing; one whose place was lost meanwhile
    /// goes to the end. Each lease that is granted or prolonged writes an event (`LeaseGranted`).
    async fn reserve(&self, request: &Request, now: Timestamp) -> Result<Reserved, StoreError>;

    /// Gives back the agent's active leases on `patterns` (compared as text), or all of them, and returns what was
    /// given back, with the time of release as its end. Each writes an event (`LeaseReleased`), which tells who did it: `by`,
    /// who may be another than the holder.
    async fn release(
        &self,
        project: ProjectId,
        agent: AgentId,
        patterns: Option<&[Pattern]>,
        by: AgentId,
        now: Timestamp,
    ) -> Result<Vec<Lease>, StoreError>;

    /// Moves the end of the agent's active leases on `patterns`, or of all, to `ends_at`. All or nothing: if one of
    /// `patterns` is not held, nothing changes and the first such is returned as `Err`. A lease that no longer
    /// [stands](LeaseBook::stands) is not held.
    async fn renew(
        &self,
        project: ProjectId,
        agent: AgentId,
        patterns: Option<&[Pattern]>,
        ends_at: Timestamp,
        now: Timestamp,
    ) -> Result<Result<Vec<Lease>, Pattern>, StoreError>;

    /// The active leases of a project with a number above `after`, in the order they were granted.
    async fn leases(
        &self,
        project: ProjectId,
        after: Option<LeaseId>,
        limit: usize,
        now: Timestamp,
    ) -> Result<Vec<Lease>, StoreError>;

    /// Those who stand in line in a project and have not lost their place at `now`, in their order.
    async fn waiters(&self, project: ProjectId, now: Timestamp) -> Result<Vec<Waiter>, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(holder: &str, pattern: &str, exclusive: bool, minute: u32) -> Lease {
        let ends_at = format!("2026-01-11T16:{minute:02}:00Z").parse().unwrap();
        Lease {
            id: LeaseId(1),
            holder: AgentId(1),
            holder_name: holder.to_owned(),
            pattern: Pattern::parse(pattern).unwrap(),
            exclusive,
            reason: String::new(),
            granted_at: Timestamp::UNIX_EPOCH,
            ends_at,
        }
    }

    fn patterns<'a>(held: &'a [Lease], me: Option<&str>, paths: &[&str]) -> Vec<Option<&'a str>> {
        paths.iter().map(|path| held_by_another(held, me, path).map(|lease| lease.pattern.as_str())).collect()
    }

    #[test]
    fn only_what_another_holds_for_itself_speaks_against_a_write() {
        let held = [lease("Ann", "src/**", true, 30), lease("Ann", "docs/**", false, 30)];
        let paths = ["src/a.rs", "docs/a.md", "README.md"];
        assert_eq!(patterns(&held, Some("Bob"), &paths), [Some("src/**"), None, None]);
        assert_eq!(patterns(&held, None, &paths), [Some("src/**"), None, None], "whoever is not known is another");
        assert_eq!(patterns(&held, Some("Ann"), &paths), [None; 3]);
    }

    #[test]
    fn of_several_reservations_of_a_path_the_one_that_ends_last_is_told() {
        let held =
            [lease("Ann", "src/**", true, 30), lease("Ann", "src/a.rs", true, 50), lease("Ann", "*/a.rs", true, 40)];
        assert_eq!(patterns(&held, None, &["src/a.rs"]), [Some("src/a.rs")]);
    }
}
