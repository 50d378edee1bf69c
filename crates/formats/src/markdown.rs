//! Coordination messages in Markdown: what a message says, and how to write one.
//!
//! Every message is read on its way in, and reading never fails: a message that is none of the ten kinds is a message
//! all the same, and a field that cannot be read is left out and told of. Messages are text in and values out; who sends
//! them, and what becomes of them, is not known here.

mod body;
mod labels;
mod lines;
mod message;
mod normal;
mod outline;
mod read;
mod sections;
mod subject;
mod table;
mod write;

pub use crate::time::read_timestamp;
pub use lines::prose_lines;
pub use message::{Field, Message, usable_id};
pub use normal::{block, files, line};
pub use read::read;
pub use subject::{is_answer, is_plain, meant};
pub use write::Written;

crate::named! {
    /// The ten kinds of coordination message, in the order in which the protocol lists them.
    pub enum Kind {
        /// A worker has taken on a piece of work.
        BeadAccepted = "BEAD_ACCEPTED",
        /// A worker says how far it is.
        Progress = "PROGRESS",
        /// A worker is stuck and asks for guidance.
        HelpRequest = "HELP_REQUEST",
        /// The answer to such a question.
        HelpResponse = "HELP_RESPONSE",
        /// The work is complete and can be reviewed.
        OfferingReady = "OFFERING_READY",
        /// The work is complete.
        Done = "DONE",
        /// The work failed.
        Failed = "FAILED",
        /// A worker stops halfway and leaves notes for its successor.
        Checkpoint = "CHECKPOINT",
        /// A new worker is wanted.
        SpawnRequest = "SPAWN_REQUEST",
        /// The answer to such a wish.
        SpawnAck = "SPAWN_ACK",
    }
}

impl Kind {
    /// Reads the word, in upper or lower case.
    pub fn parse_any_case(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(word))
    }

    /// Whether the sender expects an acknowledgement when it does not say.
    pub fn ack_by_default(self) -> bool {
        matches!(self, Self::HelpRequest | Self::OfferingReady | Self::SpawnRequest)
    }
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn every_kind_is_read_back_from_its_word_in_any_case() {
        for kind in Kind::ALL {
            assert_eq!(Kind::parse_any_case(kind.as_str()), Some(kind));
            assert_eq!(Kind::parse_any_case(&kind.as_str().to_lowercase()), Some(kind));
        }
        assert_eq!(Kind::parse_any_case("DONE "), None);
        assert_eq!(Kind::parse_any_case(""), None);
    }

    #[test]
    fn an_ack_is_due_where_somebody_waits_for_an_answer() {
        let due: Vec<_> = Kind::ALL.into_iter().filter(|kind| kind.ack_by_default()).collect();
        assert_eq!(due, [Kind::HelpRequest, Kind::OfferingReady, Kind::SpawnRequest]);
    }
}
