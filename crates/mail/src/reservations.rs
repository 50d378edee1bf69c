//! Advisory reservations on files, so that two agents do not edit the same lines.
//!
//! A reservation never blocks a write; it tells the next agent to ask first. Reservations end by themselves, because an agent that
//! crashed cannot release one. Who gets what is decided by the [`ReservationSet`], inside the store's transaction.

mod line;
pub mod pattern;
mod pattern_index;
mod set;

use std::collections::HashSet;
use std::fmt;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::clock::after_seconds;
use crate::error::{Stored, rfc3339};
use crate::ids::{AgentId, ProjectId, ReservationId, TicketId};
pub use line::{Waiter, place_held_until, place_needs_holding, waited_for};
use pattern::Pattern;
pub use set::{Decision, ReservationSet};

/// The shortest and the longest reservation, in seconds.
pub const TTL_SECONDS: std::ops::RangeInclusive<i64> = 1..=7 * 24 * 3600;
/// How long a reservation is when nobody says, in seconds.
pub const DEFAULT_TTL_SECONDS: i64 = 600;
/// How many conflicts a refusal names at the most.
pub const MOST_CONFLICTS: usize = 20;

/// A reservation that was granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// The store's number for it.
    pub id: ReservationId,
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
    /// When the reservation, or the wait, ends at the latest.
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
pub fn held_by_another<'a>(held: &'a [Reservation], me: Option<&str>, path: &str) -> Option<&'a Reservation> {
    held.iter()
        .filter(|reservation| reservation.exclusive && me != Some(reservation.holder_name.as_str()))
        .filter(|reservation| reservation.pattern.matches(path))
        .max_by_key(|reservation| reservation.ends_at)
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
    /// How long the reservations last, from the moment they are granted.
    pub ttl_seconds: i64,
    /// Until when the agent will stand in line; `None` to be refused at once.
    pub wait_until: Option<Timestamp>,
    /// The place it has in the line from an earlier try.
    pub ticket: Option<TicketId>,
}

impl Request {
    /// The reservation that a granted pattern becomes, if the agent holds `held` on it already. One that is new has no
    /// number yet.
    ///
    /// One that is asked for again keeps its number and gets the new end and reason. It never becomes weaker: what is
    /// exclusive stays so until it is released.
    pub fn granted(&self, pattern: &Pattern, held: Option<&Reservation>, now: Timestamp) -> Reservation {
        Reservation {
            id: held.map_or(ReservationId(0), |held| held.id),
            holder: self.agent,
            holder_name: self.agent_name.clone(),
            pattern: pattern.clone(),
            exclusive: self.exclusive || held.is_some_and(|held| held.exclusive),
            reason: self.reason.clone(),
            granted_at: held.map_or(now, |held| held.granted_at),
            ends_at: after_seconds(now, self.ttl_seconds),
        }
    }

    /// The agent that asks, as it stands in line with that ticket.
    pub fn waiter(&self, ticket: TicketId, until: Timestamp) -> Waiter {
        Waiter {
            ticket,
            agent: self.agent,
            agent_name: self.agent_name.clone(),
            patterns: self.patterns.clone(),
            exclusive: self.exclusive,
            until,
        }
    }

    /// The ticket with which the agent goes on waiting without any change to the line: its place is held until
    /// `held_until`, and that is long enough.
    pub fn ticket_that_stays(&self, held_until: Option<Timestamp>, now: Timestamp) -> Option<TicketId> {
        held_until.filter(|until| !place_needs_holding(*until, now)).and(self.ticket)
    }
}

/// When reservations that are renewed end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewEnd {
    /// At this time.
    At(Timestamp),
    /// So many seconds later than now, but not after that time.
    Later {
        /// How much longer.
        seconds: i64,
        /// The latest end.
        at_most: Timestamp,
    },
}

impl NewEnd {
    /// The new end of a reservation that would have ended then. What is longer already does not become shorter.
    fn of(self, ends_at: Timestamp) -> Timestamp {
        match self {
            Self::At(time) => time,
            Self::Later { seconds, at_most } => after_seconds(ends_at, seconds).min(at_most).max(ends_at),
        }
    }
}

/// The reservations `held` with their new end, or the first of the wanted patterns that is not among them.
pub fn renewed(
    mut held: Vec<Reservation>,
    wanted: Option<&[Pattern]>,
    end: NewEnd,
) -> Result<Vec<Reservation>, Pattern> {
    let patterns: HashSet<&str> = held.iter().map(|reservation| reservation.pattern.as_str()).collect();
    if let Some(missing) = wanted.unwrap_or_default().iter().find(|wanted| !patterns.contains(wanted.as_str())) {
        return Err(missing.clone());
    }
    held.iter_mut().for_each(|reservation| reservation.ends_at = end.of(reservation.ends_at));
    Ok(held)
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reserved {
    /// All of it is held now, one reservation for each pattern in the order of the request.
    Granted(Vec<Reservation>),
    /// Nothing was granted, and the agent does not stand in line.
    Refused(Vec<Conflict>),
    /// The agent stands in line. Ask again with the ticket when reservations changed, at `look_again_at`, and often enough
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

/// What keeps reservations.
///
/// Expiry is a matter of time, not of tidying up: at `ends_at` a reservation is over, whether or not anybody noticed.
#[async_trait]
pub trait ReservationStore: Send + Sync {
    /// Grants all of the request or nothing, as [`ReservationSet::decide`] says.
    ///
    /// A pattern that the agent holds already gets the new end and reason and keeps its number; it never becomes weaker by
    /// being asked for again: what is exclusive stays so until it is released. A request with a
    /// ticket that is granted or refused leaves the line; one that still waits keeps its place, held again until
    /// [`place_held_until`] when [`place_needs_holding`], and else changes nothing; one whose place was lost meanwhile
    /// goes to the end. Each reservation that is granted or prolonged writes an event (`ReservationGranted`).
    async fn reserve(&self, request: &Request, now: Timestamp) -> Stored<Reserved>;

    /// Leaves the line; whether the agent stood in it with that ticket.
    async fn leave_line(&self, project: ProjectId, agent: AgentId, ticket: TicketId) -> Stored<bool>;

    /// Gives back the agent's active reservations on `patterns` (compared as text), or all of them, and returns what was
    /// given back, with the time of release as its end. Each writes an event (`ReservationReleased`), which tells who did it: `by`,
    /// who may be another than the holder.
    async fn release(
        &self,
        project: ProjectId,
        agent: AgentId,
        patterns: Option<&[Pattern]>,
        by: AgentId,
        now: Timestamp,
    ) -> Stored<Vec<Reservation>>;

    /// Moves the end of the agent's active reservations on `patterns`, or of all, as `end` says. All or nothing: if one of
    /// `patterns` is not held, nothing changes and the first such is returned as `Err`. A reservation that no longer
    /// [stands](ReservationSet::stands) is not held.
    async fn renew(
        &self,
        project: ProjectId,
        agent: AgentId,
        patterns: Option<&[Pattern]>,
        end: NewEnd,
        now: Timestamp,
    ) -> Stored<Result<Vec<Reservation>, Pattern>>;

    /// The active reservations of a project with a number above `after`, in the order they were granted.
    async fn reservations(
        &self,
        project: ProjectId,
        after: Option<ReservationId>,
        limit: usize,
        now: Timestamp,
    ) -> Stored<Vec<Reservation>>;

    /// Those who stand in line in a project and have not lost their place at `now`, in their order.
    async fn waiters(&self, project: ProjectId, now: Timestamp) -> Stored<Vec<Waiter>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reservation(holder: &str, pattern: &str, exclusive: bool, minute: u32) -> Reservation {
        let ends_at = format!("2026-01-11T16:{minute:02}:00Z").parse().unwrap();
        Reservation {
            id: ReservationId(1),
            holder: AgentId(1),
            holder_name: holder.to_owned(),
            pattern: Pattern::parse(pattern).unwrap(),
            exclusive,
            reason: String::new(),
            granted_at: Timestamp::UNIX_EPOCH,
            ends_at,
        }
    }

    fn patterns<'a>(held: &'a [Reservation], me: Option<&str>, paths: &[&str]) -> Vec<Option<&'a str>> {
        paths
            .iter()
            .map(|path| held_by_another(held, me, path).map(|reservation| reservation.pattern.as_str()))
            .collect()
    }

    #[test]
    fn only_what_another_holds_for_itself_speaks_against_a_write() {
        let held = [reservation("Ann", "src/**", true, 30), reservation("Ann", "docs/**", false, 30)];
        let paths = ["src/a.rs", "docs/a.md", "README.md"];
        assert_eq!(patterns(&held, Some("Bob"), &paths), [Some("src/**"), None, None]);
        assert_eq!(patterns(&held, None, &paths), [Some("src/**"), None, None], "whoever is not known is another");
        assert_eq!(patterns(&held, Some("Ann"), &paths), [None; 3]);
    }

    #[test]
    fn of_several_reservations_of_a_path_the_one_that_ends_last_is_told() {
        let held = [
            reservation("Ann", "src/**", true, 30),
            reservation("Ann", "src/a.rs", true, 50),
            reservation("Ann", "*/a.rs", true, 40),
        ];
        assert_eq!(patterns(&held, None, &["src/a.rs"]), [Some("src/a.rs")]);
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn pattern(text: &str) -> Pattern {
        Pattern::parse(text).unwrap()
    }

    fn request(exclusive: bool, ticket: Option<TicketId>) -> Request {
        Request {
            project: ProjectId(1),
            agent: AgentId(7),
            agent_name: "alice".into(),
            patterns: vec![pattern("src/**")],
            exclusive,
            reason: "again".into(),
            ttl_seconds: 60,
            wait_until: None,
            ticket,
        }
    }

    #[test]
    fn a_reservation_that_is_asked_for_again_keeps_its_number_and_never_becomes_weaker() {
        let first =
            Reservation { id: ReservationId(3), ..request(true, None).granted(&pattern("src/**"), None, at(100)) };
        assert_eq!((first.granted_at, first.ends_at, first.exclusive), (at(100), at(160), true));
        let again = request(false, None).granted(&pattern("src/**"), Some(&first), at(130));
        assert_eq!(again, Reservation { reason: "again".into(), ends_at: at(190), ..first.clone() });
        let shared = Reservation { exclusive: false, ..first };
        assert!(request(true, None).granted(&pattern("src/**"), Some(&shared), at(130)).exclusive);
    }

    #[test]
    fn only_what_is_held_is_renewed_and_all_of_it_or_nothing() {
        let held = |text| request(false, None).granted(&pattern(text), None, at(100));
        let both = vec![held("a"), held("b")];
        let ends: Vec<_> = renewed(both.clone(), None, NewEnd::At(at(500)))
            .unwrap()
            .iter()
            .map(|reservation| reservation.ends_at)
            .collect();
        assert_eq!(ends, [at(500), at(500)]);
        assert_eq!(renewed(both, Some(&[pattern("b"), pattern("c")]), NewEnd::At(at(500))), Err(pattern("c")));
        assert_eq!(renewed(Vec::new(), None, NewEnd::At(at(500))), Ok(Vec::new()));
    }

    #[test]
    fn a_place_that_is_held_long_enough_is_left_as_it_is() {
        let waiting = request(false, Some(TicketId(9)));
        assert_eq!(waiting.ticket_that_stays(Some(at(105)), at(100)), Some(TicketId(9)));
        assert_eq!(waiting.ticket_that_stays(Some(at(102)), at(100)), None, "less than half is left");
        assert_eq!(waiting.ticket_that_stays(None, at(100)), None, "the place was lost");
    }
}
