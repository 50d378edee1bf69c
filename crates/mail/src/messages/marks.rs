//! Marks: what a recipient wants noted of its delivery, and what that changes.

use jiff::Timestamp;

use super::DeliveryState;
use crate::events::EventKind;

/// What a recipient wants noted of its delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It was read.
    Read,
    /// It was not read after all. An acknowledgement, and that it was shown, stay noted.
    Unread,
    /// It was acknowledged, which also reads it; with a note that may be empty. The first note stays.
    Acknowledged {
        /// What the recipient says with it.
        note: String,
    },
}

impl Mark {
    /// Whether a delivery in this state has been marked so already.
    pub fn is_noted(&self, state: &DeliveryState) -> bool {
        match self {
            Self::Read => state.read_at.is_some(),
            Self::Unread => state.read_at.is_none(),
            Self::Acknowledged { .. } => state.acked_at.is_some() && state.read_at.is_some(),
        }
    }

    /// Notes it in a state where it is not noted yet, and tells what happened.
    pub fn note(self, state: &mut DeliveryState, now: Timestamp) -> EventKind {
        match self {
            Self::Read => {
                state.read_at = Some(now);
                EventKind::MessageRead
            }
            Self::Unread => {
                state.read_at = None;
                EventKind::MessageUnread
            }
            Self::Acknowledged { note } => {
                state.read_at.get_or_insert(now);
                if state.acked_at.is_some() {
                    // It was acknowledged before, and then marked unread.
                    return EventKind::MessageRead;
                }
                state.acked_at = Some(now);
                state.ack_note = note;
                EventKind::MessageAcknowledged
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn what_was_acknowledged_and_marked_unread_is_read_by_another_acknowledgement() {
        let mut state = DeliveryState::default();
        let ack = |note: &str| Mark::Acknowledged { note: note.to_owned() };
        assert_eq!(ack("first").note(&mut state, at(1)), EventKind::MessageAcknowledged);
        assert!(ack("second").is_noted(&state));
        Mark::Unread.note(&mut state, at(2));
        assert!(!ack("second").is_noted(&state));
        assert_eq!(ack("second").note(&mut state, at(3)), EventKind::MessageRead);
        assert_eq!((state.read_at, state.acked_at, state.ack_note.as_str()), (Some(at(3)), Some(at(1)), "first"));
    }
}
