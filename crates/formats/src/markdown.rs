//! Coordination messages in Markdown: what a message says, and how to write one.
//!
//! Every message is read on its way in, and reading never fails: a message of no kind is a message
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
    /// The kinds of coordination message: ten in the order in which the protocol lists them, then those that only its
    /// later texts have, which are read and never written.
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
        /// The answer to an offering that is good.
        OfferingAccepted = "OFFERING_ACCEPTED",
        /// The answer to an offering that is not: the work goes back to its worker.
        RetryRequired = "RETRY_REQUIRED",
        /// Another word for `DONE`.
        Completed = "COMPLETED",
    }
}

/// How many kinds are written.
const WRITTEN: usize = 10;

impl Kind {
    /// The kinds that are written.
    pub const fn written() -> &'static [Self; WRITTEN] {
        Self::ALL.first_chunk().expect("there are more kinds than are written")
    }

    /// Reads the word, in upper or lower case.
    pub fn parse_any_case(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(word))
    }

    /// Whether it answers a message about the work, and so is about what that was.
    pub fn is_answer(self) -> bool {
        matches!(self, Self::HelpResponse | Self::OfferingAccepted | Self::RetryRequired)
    }

    /// Whether the sender expects an acknowledgement when it does not say.
    pub fn ack_by_default(self) -> bool {
        matches!(self, Self::HelpRequest | Self::OfferingReady | Self::SpawnRequest | Self::RetryRequired)
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
        assert_eq!(due, [Kind::HelpRequest, Kind::OfferingReady, Kind::SpawnRequest, Kind::RetryRequired]);
    }

    #[test]
    fn the_kinds_of_later_texts_are_never_written() {
        assert_eq!(Kind::written().last(), Some(&Kind::SpawnAck));
    }
}
