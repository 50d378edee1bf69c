//! What a recipient notes of its copy of a message.

use jiff::Timestamp;

use super::DeliveryState;
use crate::events::EventKind;

/// What a recipient wants noted of its copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It was read.
    Read,
    /// It was not read after all. An acknowledgement, and that it was shown, stay noted.
    Unread,
    /// It was acknowledged, which also reads it; with a note that may be empty.
    Acknowledged {
        /// What the recipient says with it.
        note: String,
    },
}

impl Mark {
    /// Whether a copy in this state has been marked so already.
    pub fn is_noted(&self, state: &DeliveryState) -> bool {
        match self {
            Self::Read => state.read_at.is_some(),
            Self::Unread => state.read_at.is_none(),
            Self::Acknowledged { .. } => state.acked_at.is_some(),
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
                state.acked_at = Some(now);
                state.ack_note = note;
                EventKind::MessageAcknowledged
            }
        }
    }
}
