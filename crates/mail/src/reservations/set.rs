//! The reservations: who holds what in one project, who stands in line, and who gets what next.
//!
//! Pure: it is loaded from what a store keeps, decides, and is told what was written. It never asks for the time and
//! forgets nothing by itself; reservations that ended are passed over, and dropped when somebody asks for it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use jiff::Timestamp;

use super::pattern::Pattern;
use super::pattern_index::PatternIndex;
use super::{Conflict, MOST_CONFLICTS, Request, Reservation, Waiter};
use crate::ids::{AgentId, ReservationId, TicketId};

/// What is to be done with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Write the reservations.
    Grant,
    /// Say what is in the way.
    Refuse(Vec<Conflict>),
    /// Give it a place in the line, or keep the one it has.
    Wait {
        /// What is in the way.
        conflicts: Vec<Conflict>,
        /// When the first of it ends by itself.
        look_again_at: Timestamp,
    },
    /// Refuse to wait: these agents would wait for each other.
    Circle(Vec<String>),
}

/// Who holds what, and who waits, in one project.
#[derive(Default)]
pub struct ReservationSet {
    held: PatternIndex<Reservation>,
    line: Vec<Waiter>,
}

impl ReservationSet {
    /// A set of these reservations and this line, in order of tickets.
    pub fn new(reservations: Vec<Reservation>, line: Vec<Waiter>) -> Self {
        let mut set = Self { held: PatternIndex::default(), line };
        for reservation in reservations {
            set.hold(reservation);
        }
        set
    }

    /// Decides. Nobody overtakes: what an earlier waiter wants counts as if it were held. A holder who asks again for
    /// what it holds overtakes nobody.
    pub fn decide(&self, request: &Request, now: Timestamp) -> Decision {
        let Request { agent, exclusive, ticket, .. } = *request;
        let mut blocking = self.in_the_way(agent, &request.patterns, exclusive, ticket, now).peekable();
        if blocking.peek().is_none() {
            return Decision::Grant;
        }
        if request.wait_until.is_none_or(|until| until <= now) {
            // The rest is not even looked for: whoever wants everything is told the first few and asks again.
            return Decision::Refuse(blocking.take(MOST_CONFLICTS).map(InTheWay::told).collect());
        }
        let blocking: Vec<InTheWay<'_>> = blocking.collect();
        let stands_in_line = self.line.iter().any(|waiter| Some(waiter.ticket) == ticket && now < waiter.until);
        if !stands_in_line && let Some(circle) = self.circle(request, &blocking, now) {
            return Decision::Circle(circle);
        }
        let look_again_at = blocking.iter().map(|one| one.until).min().unwrap_or(now);
        Decision::Wait {
            conflicts: blocking.into_iter().take(MOST_CONFLICTS).map(InTheWay::told).collect(),
            look_again_at,
        }
    }

    /// The reservation that `agent` holds on exactly this pattern.
    pub fn own<'a>(&'a self, agent: AgentId, pattern: &'a Pattern, now: Timestamp) -> Option<&'a Reservation> {
        let same = move |reservation: &Reservation| {
            reservation.holder == agent && now < reservation.ends_at && reservation.pattern == *pattern
        };
        self.held.meeting(pattern, same).map(|(_, reservation)| reservation).next()
    }

    /// Whether a reservation that had not ended at `now` is its holder's still.
    ///
    /// Not so if another holds what it forbids: who waited long for its turn to renew comes with an old `now`, and the
    /// reservation may have ended and gone to another meanwhile.
    pub fn stands(&self, reservation: &Reservation, now: Timestamp) -> bool {
        let forbids = |other: &Reservation| {
            now < other.ends_at && other.holder != reservation.holder && (other.exclusive || reservation.exclusive)
        };
        self.held.meeting(&reservation.pattern, forbids).next().is_none()
    }

    /// Notes a reservation; one of the same number is replaced.
    pub fn hold(&mut self, reservation: Reservation) {
        self.end(reservation.id, &reservation.pattern.clone());
        self.held.insert(reservation.pattern.clone(), reservation);
    }

    /// Forgets a reservation.
    pub fn end(&mut self, id: ReservationId, pattern: &Pattern) {
        self.held.remove(pattern, |reservation| reservation.id == id);
    }

    /// Notes somebody at the end of the line.
    pub fn stand(&mut self, waiter: Waiter) {
        self.line.push(waiter);
    }

    /// Forgets a place in the line.
    pub fn leave(&mut self, ticket: TicketId) {
        self.line.retain(|waiter| waiter.ticket != ticket);
    }

    /// Forgets what ended before `now`.
    pub fn forget_ended(&mut self, now: Timestamp) {
        self.held.retain(|reservation| now < reservation.ends_at);
        self.line.retain(|waiter| now < waiter.until);
    }

    /// How many reservations the set remembers, ended ones included.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether the set remembers no reservation.
    pub fn is_empty(&self) -> bool {
        self.held.len() == 0
    }

    /// What keeps `agent` from having `patterns` now. Looked for only as far as it is asked for.
    fn in_the_way<'a>(
        &'a self,
        agent: AgentId,
        patterns: &'a [Pattern],
        exclusive: bool,
        ticket: Option<TicketId>,
        now: Timestamp,
    ) -> impl Iterator<Item = InTheWay<'a>> {
        let forbids = move |whose: AgentId, theirs_exclusive: bool, until: Timestamp| {
            now < until && whose != agent && (theirs_exclusive || exclusive)
        };
        patterns.iter().flat_map(move |wanted| {
            let relevant = move |reservation: &Reservation| {
                forbids(reservation.holder, reservation.exclusive, reservation.ends_at)
            };
            let held = self.held.meeting(wanted, relevant).map(move |(theirs, reservation)| InTheWay {
                wanted,
                theirs,
                whose: reservation.holder,
                name: &reservation.holder_name,
                exclusive: reservation.exclusive,
                waiting: false,
                until: reservation.ends_at,
            });
            let line = if self.holds(agent, wanted, exclusive, now) { &[] } else { self.line.as_slice() };
            let ahead = line.iter().filter(move |waiter| {
                forbids(waiter.agent, waiter.exclusive, waiter.until) && ticket.is_none_or(|own| waiter.ticket < own)
            });
            let asked_for = ahead.filter_map(move |waiter| {
                Some(InTheWay {
                    wanted,
                    theirs: waiter.patterns.iter().find(|theirs| theirs.may_meet(wanted))?,
                    whose: waiter.agent,
                    name: &waiter.agent_name,
                    exclusive: waiter.exclusive,
                    waiting: true,
                    until: waiter.until,
                })
            });
            held.chain(asked_for)
        })
    }

    /// Whether `agent` holds exactly this pattern, in this mode or a stronger one. Not looked for when nobody waits.
    fn holds(&self, agent: AgentId, pattern: &Pattern, exclusive: bool, now: Timestamp) -> bool {
        let strong_enough = |reservation: &Reservation| reservation.exclusive || !exclusive;
        !self.line.is_empty() && self.own(agent, pattern, now).is_some_and(strong_enough)
    }

    /// Follows who waits for whom, from the asking agent back to it.
    ///
    /// Asked only of who newly stands in line: that alone can close a circle.
    fn circle<'a>(&'a self, request: &'a Request, blocking: &[InTheWay<'a>], now: Timestamp) -> Option<Vec<String>> {
        let mut trail = Trail::default();
        trail.follow(request.agent, blocking.iter().copied());
        while let Some(agent) = trail.next.pop() {
            if agent == request.agent {
                break;
            }
            for waiter in self.line.iter().filter(|waiter| waiter.agent == agent && now < waiter.until) {
                let ticket = Some(waiter.ticket);
                trail.follow(agent, self.in_the_way(agent, &waiter.patterns, waiter.exclusive, ticket, now));
            }
        }
        let waited_for_by = trail.waited_for_by;
        let mut circle = vec![request.agent_name.clone()];
        let (mut agent, _) = *waited_for_by.get(&request.agent)?;
        while agent != request.agent {
            let (before, name) = waited_for_by[&agent];
            circle.push(name.to_owned());
            agent = before;
        }
        circle.push(request.agent_name.clone());
        circle.reverse();
        Some(circle)
    }
}

/// Where a search for a circle has been.
#[derive(Default)]
struct Trail<'a> {
    /// For each agent that somebody on the way waits for: who waits, and under what name the agent goes.
    waited_for_by: HashMap<AgentId, (AgentId, &'a str)>,
    /// Where to go on.
    next: Vec<AgentId>,
}

impl<'a> Trail<'a> {
    fn follow(&mut self, from: AgentId, blocking: impl Iterator<Item = InTheWay<'a>>) {
        for (agent, name) in blocking.map(|one| (one.whose, one.name)) {
            if let Entry::Vacant(entry) = self.waited_for_by.entry(agent) {
                entry.insert((from, name));
                self.next.push(agent);
            }
        }
    }
}

/// What forbids to grant a pattern: a reservation, or somebody who stands in line before.
#[derive(Clone, Copy)]
struct InTheWay<'a> {
    wanted: &'a Pattern,
    theirs: &'a Pattern,
    whose: AgentId,
    name: &'a str,
    exclusive: bool,
    waiting: bool,
    until: Timestamp,
}

impl InTheWay<'_> {
    fn told(self) -> Conflict {
        Conflict {
            wanted: self.wanted.to_string(),
            pattern: self.theirs.to_string(),
            holder: self.name.to_owned(),
            exclusive: self.exclusive,
            waiting: self.waiting,
            until: self.until,
        }
    }
}

#[cfg(test)]
mod tests;
