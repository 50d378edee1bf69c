//! Messages of senders who asked very much: they are answered later, in order, and hold up nobody else.
//!
//! Nothing is kept when the watcher ends. It holds a place no further than the first message that waits there, so that
//! the next watcher meets that again; what was dealt with behind it is known to the office.

use std::collections::BTreeMap;

use jiff::Timestamp;
use relay::watch::Heard;

/// How many messages wait at most.
pub const MOST_WAITING: usize = 1_000;

/// What is answered later, by the message's number.
#[derive(Debug, Default)]
pub struct PutOff(BTreeMap<i64, Waiting>);

#[derive(Debug)]
struct Waiting {
    channel: String,
    from: String,
    due: Timestamp,
}

impl PutOff {
    /// Lets a message wait that was met in a channel, or in the mailbox, and with it all others of its sender. `false` if
    /// it did already.
    pub fn add(&mut self, channel: &str, said: &Heard, due: Timestamp) -> bool {
        for waiting in self.0.values_mut().filter(|waiting| waiting.from == said.from) {
            waiting.due = due;
        }
        let waiting = Waiting { channel: channel.to_owned(), from: said.from.clone(), due };
        self.0.insert(said.id, waiting).is_none()
    }

    /// The message waits no longer.
    pub fn remove(&mut self, message: i64) {
        self.0.remove(&message);
    }

    /// Whether the message waits.
    pub fn holds(&self, message: i64) -> bool {
        self.0.contains_key(&message)
    }

    /// Whether the message waits, or may.
    pub fn may_hold(&self, message: i64) -> bool {
        self.holds(message) || self.0.len() < MOST_WAITING
    }

    /// How long a message has to wait because an older one of its sender does.
    pub fn behind_another(&self, said: &Heard) -> Option<Timestamp> {
        self.0.range(..said.id).find(|(_, waiting)| waiting.from == said.from).map(|(_, waiting)| waiting.due)
    }

    /// When the first of them is due.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.0.values().map(|waiting| waiting.due).min()
    }

    /// The oldest message that is due, with where it was met.
    pub fn due(&self, now: Timestamp) -> Option<(&str, i64)> {
        let (message, waiting) = self.0.iter().find(|(_, waiting)| waiting.due <= now)?;
        Some((&waiting.channel, *message))
    }

    /// The oldest message that waits in a channel, or in the mailbox.
    pub fn first_in(&self, channel: &str) -> Option<i64> {
        self.0.iter().find(|(_, waiting)| waiting.channel == channel).map(|(message, _)| *message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: &str) -> Timestamp {
        format!("2026-01-11T{time}Z").parse().unwrap()
    }

    fn said(id: i64, from: &str) -> Heard {
        Heard {
            id,
            from: from.to_owned(),
            is_human: false,
            to: Vec::new(),
            kind: "chat".to_owned(),
            text: String::new(),
            thread: String::new(),
            is_answer: false,
            is_by_watcher: false,
            hops: 0,
            at: at("16:00:00"),
        }
    }

    #[test]
    fn what_waits_is_due_at_its_time_the_oldest_first() {
        let mut put_off = PutOff::default();
        assert!(put_off.add("", &said(9, "claude"), at("16:10:00")));
        assert!(put_off.add("dev", &said(7, "claude"), at("16:10:00")));
        assert!(put_off.add("dev", &said(5, "gemini"), at("16:20:00")));
        assert_eq!((put_off.due(at("16:09:59")), put_off.next_due()), (None, Some(at("16:10:00"))));
        assert_eq!(put_off.due(at("16:10:00")), Some(("dev", 7)));
        put_off.remove(7);
        assert_eq!(put_off.due(at("16:10:00")), Some(("", 9)));
        assert_eq!((put_off.first_in("dev"), put_off.first_in("ops")), (Some(5), None));
    }

    #[test]
    fn a_sender_is_answered_in_order_and_waits_as_one() {
        let mut put_off = PutOff::default();
        put_off.add("dev", &said(7, "claude"), at("16:10:00"));
        put_off.add("dev", &said(8, "claude"), at("16:10:00"));
        assert_eq!(put_off.behind_another(&said(8, "claude")), Some(at("16:10:00")));
        assert_eq!(put_off.behind_another(&said(7, "claude")), None, "it is the first");
        assert_eq!(put_off.behind_another(&said(9, "gemini")), None, "another is not held up");
        assert!(!put_off.add("dev", &said(7, "claude"), at("16:11:00")), "it waits already");
        assert_eq!(put_off.due(at("16:10:59")), None, "nor is what waits behind it looked at");
    }

    #[test]
    fn only_so_many_wait() {
        let mut put_off = PutOff::default();
        for id in 1..=1_000 {
            assert!(put_off.may_hold(id));
            put_off.add("dev", &said(id, "claude"), at("16:10:00"));
        }
        assert!(put_off.may_hold(1_000) && !put_off.may_hold(1_001));
    }
}
