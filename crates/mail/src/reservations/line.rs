//! Standing in line for what others hold: how long a place is held, and what somebody there waits for.

use jiff::Timestamp;

use super::Reservation;
use super::pattern::Pattern;
use crate::clock::after_seconds;
use crate::ids::{AgentId, ReservationId, TicketId};

/// How long a place in the line is held without its owner asking again, in seconds.
///
/// A waiter that went away, or whose process was killed, says nothing; its place is lost by time alone.
const PLACE_SECONDS: i64 = 5;

/// Until when a position in line is held for somebody who asked at `now`.
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

/// The numbers of those reservations that somebody who stands in line waits for.
pub fn waited_for(waiter: &Waiter, held: &[Reservation]) -> Vec<ReservationId> {
    held.iter()
        .filter(|reservation| reservation.holder != waiter.agent && (reservation.exclusive || waiter.exclusive))
        .filter(|reservation| waiter.patterns.iter().any(|wanted| wanted.may_meet(&reservation.pattern)))
        .map(|reservation| reservation.id)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::parse(text).unwrap()
    }

    fn held(id: i64, holder: i64, glob: &str, exclusive: bool) -> Reservation {
        Reservation {
            id: ReservationId(id),
            holder: AgentId(holder),
            holder_name: String::new(),
            pattern: pattern(glob),
            exclusive,
            reason: String::new(),
            granted_at: Timestamp::UNIX_EPOCH,
            ends_at: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn who_stands_in_line_waits_for_what_keeps_it_out_and_for_nothing_of_its_own() {
        let all = [
            held(1, 1, "src/**", true),
            held(2, 1, "docs/**", true),
            held(3, 1, "src/*.rs", false),
            held(4, 2, "src/b.rs", true),
        ];
        let waiter = |exclusive| Waiter {
            ticket: TicketId(1),
            agent: AgentId(2),
            agent_name: "Bob".to_owned(),
            patterns: vec![pattern("src/a.rs"), pattern("src/b.rs")],
            exclusive,
            until: Timestamp::UNIX_EPOCH,
        };
        assert_eq!(waited_for(&waiter(true), &all), [ReservationId(1), ReservationId(3)]);
        assert_eq!(waited_for(&waiter(false), &all), [ReservationId(1)], "two that share do not wait for each other");
    }
}
