//! The lease book: who holds what in one project, who stands in line, and who gets what next.
//!
//! Pure: it is loaded from what a store keeps, decides, and is told what was written. It never asks for the time and
//! forgets nothing by itself; leases that ended are passed over, and dropped when somebody asks for it.

use std::collections::HashSet;

use jiff::Timestamp;

use super::pattern::Pattern;
use super::pattern_index::PatternIndex;
use super::{Conflict, Lease, MOST_CONFLICTS, Request, Waiter};
use crate::ids::{AgentId, LeaseId, TicketId};

/// What is to be done with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Write the leases.
    Grant,
    /// Say what is in the way.
    Refuse(Vec<Conflict>),
    /// Give it a place in the line, or keep the one it has.
    Wait(Vec<Conflict>),
    /// Refuse to wait: these agents would wait for each other.
    Circle(Vec<String>),
}

/// Who holds what, and who waits, in one project.
#[derive(Default)]
pub struct LeaseBook {
    held: PatternIndex<Lease>,
    line: Vec<Waiter>,
}

impl LeaseBook {
    /// A book of these leases and this line, in order of tickets.
    pub fn new(leases: Vec<Lease>, line: Vec<Waiter>) -> Self {
        let mut book = Self { held: PatternIndex::new(), line };
        for lease in leases {
            book.hold(lease);
        }
        book
    }

    /// Decides. Nobody overtakes: what an earlier waiter wants counts as if it were held.
    pub fn decide(&self, request: &Request, now: Timestamp) -> Decision {
        let conflicts = self.in_the_way(request.agent, &request.patterns, request.exclusive, request.ticket, now);
        if conflicts.is_empty() {
            return Decision::Grant;
        }
        match request.wait_until {
            Some(until) if now < until => match self.circle(request, now) {
                Some(circle) => Decision::Circle(circle),
                None => Decision::Wait(self.told(conflicts)),
            },
            _ => Decision::Refuse(self.told(conflicts)),
        }
    }

    /// The lease that `agent` holds on exactly this pattern.
    pub fn own<'a>(&'a self, agent: AgentId, pattern: &'a Pattern, now: Timestamp) -> Option<&'a Lease> {
        let same = move |lease: &Lease| lease.holder == agent && now < lease.ends_at && lease.pattern == *pattern;
        self.held.meeting(pattern, same).map(|(_, lease)| lease).next()
    }

    /// Notes a lease; one of the same number is replaced.
    pub fn hold(&mut self, lease: Lease) {
        self.end(lease.id, &lease.pattern.clone());
        self.held.insert(lease.pattern.clone(), lease);
    }

    /// Forgets a lease.
    pub fn end(&mut self, id: LeaseId, pattern: &Pattern) {
        self.held.remove(pattern, |lease| lease.id == id);
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
        self.held.retain(|lease| now < lease.ends_at);
        self.line.retain(|waiter| now < waiter.until);
    }

    /// How many leases the book remembers, ended ones included.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether the book remembers no lease.
    pub fn is_empty(&self) -> bool {
        self.held.len() == 0
    }

    fn in_the_way<'a>(
        &'a self,
        agent: AgentId,
        patterns: &'a [Pattern],
        exclusive: bool,
        ticket: Option<TicketId>,
        now: Timestamp,
    ) -> Vec<InTheWay<'a>> {
        let mut found = Vec::new();
        for wanted in patterns {
            let relevant =
                move |lease: &Lease| now < lease.ends_at && lease.holder != agent && (lease.exclusive || exclusive);
            found.extend(self.held.meeting(wanted, relevant).map(|(_, lease)| InTheWay::Held(wanted, lease)));
            let ahead = self.line.iter().filter(|waiter| {
                now < waiter.until
                    && waiter.agent != agent
                    && (waiter.exclusive || exclusive)
                    && ticket.is_none_or(|own| waiter.ticket < own)
            });
            for waiter in ahead {
                if let Some(theirs) = waiter.patterns.iter().find(|theirs| theirs.may_meet(wanted)) {
                    found.push(InTheWay::Wanted(wanted, waiter, theirs));
                }
            }
        }
        found
    }

    /// Follows who waits for whom, from the asking agent back to it.
    fn circle(&self, request: &Request, now: Timestamp) -> Option<Vec<String>> {
        let first = self.in_the_way(request.agent, &request.patterns, request.exclusive, request.ticket, now);
        let mut trails: Vec<Vec<(AgentId, &str)>> =
            first.iter().map(|one| vec![(request.agent, request.agent_name.as_str()), one.whose()]).collect();
        let mut visited = HashSet::new();
        while let Some(trail) = trails.pop() {
            let (agent, _) = trail[trail.len() - 1];
            if agent == request.agent {
                return Some(trail.iter().map(|(_, name)| (*name).to_owned()).collect());
            }
            if !visited.insert(agent) {
                continue;
            }
            for waiter in self.line.iter().filter(|waiter| waiter.agent == agent && now < waiter.until) {
                let next = self.in_the_way(waiter.agent, &waiter.patterns, waiter.exclusive, Some(waiter.ticket), now);
                trails.extend(next.iter().map(|one| trail.iter().copied().chain([one.whose()]).collect()));
            }
        }
        None
    }

    fn told(&self, in_the_way: Vec<InTheWay<'_>>) -> Vec<Conflict> {
        in_the_way.iter().take(MOST_CONFLICTS).map(InTheWay::told).collect()
    }
}

enum InTheWay<'a> {
    Held(&'a Pattern, &'a Lease),
    Wanted(&'a Pattern, &'a Waiter, &'a Pattern),
}

impl<'a> InTheWay<'a> {
    fn whose(&self) -> (AgentId, &'a str) {
        match self {
            Self::Held(_, lease) => (lease.holder, &lease.holder_name),
            Self::Wanted(_, waiter, _) => (waiter.agent, &waiter.agent_name),
        }
    }

    fn told(&self) -> Conflict {
        match self {
            Self::Held(wanted, lease) => Conflict {
                wanted: wanted.as_str().to_owned(),
                pattern: lease.pattern.as_str().to_owned(),
                holder: lease.holder_name.clone(),
                exclusive: lease.exclusive,
                waiting: false,
                until: lease.ends_at,
            },
            Self::Wanted(wanted, waiter, theirs) => Conflict {
                wanted: wanted.as_str().to_owned(),
                pattern: theirs.as_str().to_owned(),
                holder: waiter.agent_name.clone(),
                exclusive: waiter.exclusive,
                waiting: true,
                until: waiter.until,
            },
        }
    }
}

#[cfg(test)]
mod tests;
