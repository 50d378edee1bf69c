//! What becomes of a reservation that is asked for again, renewed, or waited for.

use std::collections::HashSet;

use jiff::Timestamp;

use super::pattern::Pattern;
use super::{Lease, Request, Waiter, place_needs_holding};
use crate::clock::after_seconds;
use crate::ids::{LeaseId, TicketId};

impl Request {
    /// The reservation that a granted pattern becomes, if the agent holds `held` on it already. One that is new has no
    /// number yet.
    ///
    /// One that is asked for again keeps its number and gets the new end and reason. It never becomes weaker: what is
    /// exclusive stays so until it is released.
    pub fn granted(&self, pattern: &Pattern, held: Option<&Lease>, now: Timestamp) -> Lease {
        Lease {
            id: held.map_or(LeaseId(0), |held| held.id),
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

/// The reservations `held` with their new end, or the first of the wanted patterns that is not among them.
pub fn renewed(mut held: Vec<Lease>, wanted: Option<&[Pattern]>, ends_at: Timestamp) -> Result<Vec<Lease>, Pattern> {
    let patterns: HashSet<&str> = held.iter().map(|lease| lease.pattern.as_str()).collect();
    if let Some(missing) = wanted.unwrap_or_default().iter().find(|wanted| !patterns.contains(wanted.as_str())) {
        return Err(missing.clone());
    }
    held.iter_mut().for_each(|lease| lease.ends_at = ends_at);
    Ok(held)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{AgentId, ProjectId};

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
        let first = Lease { id: LeaseId(3), ..request(true, None).granted(&pattern("src/**"), None, at(100)) };
        assert_eq!((first.granted_at, first.ends_at, first.exclusive), (at(100), at(160), true));
        let again = request(false, None).granted(&pattern("src/**"), Some(&first), at(130));
        assert_eq!(again, Lease { reason: "again".into(), ends_at: at(190), ..first.clone() });
        let shared = Lease { exclusive: false, ..first };
        assert!(request(true, None).granted(&pattern("src/**"), Some(&shared), at(130)).exclusive);
    }

    #[test]
    fn only_what_is_held_is_renewed_and_all_of_it_or_nothing() {
        let held = |text| request(false, None).granted(&pattern(text), None, at(100));
        let both = vec![held("a"), held("b")];
        let ends: Vec<_> = renewed(both.clone(), None, at(500)).unwrap().iter().map(|lease| lease.ends_at).collect();
        assert_eq!(ends, [at(500), at(500)]);
        assert_eq!(renewed(both, Some(&[pattern("b"), pattern("c")]), at(500)), Err(pattern("c")));
        assert_eq!(renewed(Vec::new(), None, at(500)), Ok(Vec::new()));
    }

    #[test]
    fn a_place_that_is_held_long_enough_is_left_as_it_is() {
        let waiting = request(false, Some(TicketId(9)));
        assert_eq!(waiting.ticket_that_stays(Some(at(105)), at(100)), Some(TicketId(9)));
        assert_eq!(waiting.ticket_that_stays(Some(at(102)), at(100)), None, "less than half is left");
        assert_eq!(waiting.ticket_that_stays(None, at(100)), None, "the place was lost");
    }
}
