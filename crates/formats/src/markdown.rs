//! Coordination messages in Markdown: what a message says, and how to write one.
//!
//! Every message is read on its way in, and reading never fails: a message that is none of the ten kinds is a message
//! all the same, and a field that cannot be read is left out and told of. Messages are text in and values out; who sends
//! them, and what becomes of them, is not known here.

mod body;
mod fields;
mod filters;
mod labels;
mod lines;
mod message;
mod normal;
mod outline;
mod read;
mod sections;
mod subject;
mod timestamp;
mod words;
mod write;

use std::fmt;

pub use fields::Field;
pub use filters::{Received, by_type, by_work_item, completions, pending, successes};
pub use lines::prose_lines;
pub use message::{
    BeadAccepted, Checkpoint, Failed, HelpRequest, HelpResponse, Message, Offering, Progress, SpawnAck, SpawnRequest,
    Unknown, usable_id,
};
pub use normal::{block, files, line};
pub use read::read;
pub use subject::{is_answer, is_plain, meant};
pub use timestamp::read_timestamp;
pub use words::{CheckpointReason, FailureType, IssueType, SpawnStatus};
pub use write::Written;

/// The ten kinds of coordination message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A worker has taken on a piece of work.
    BeadAccepted,
    /// A worker says how far it is.
    Progress,
    /// A worker is stuck and asks for guidance.
    HelpRequest,
    /// The answer to such a question.
    HelpResponse,
    /// The work is complete and can be reviewed.
    OfferingReady,
    /// The work is complete.
    Done,
    /// The work failed.
    Failed,
    /// A worker stops halfway and leaves notes for its successor.
    Checkpoint,
    /// A new worker is wanted.
    SpawnRequest,
    /// The answer to such a wish.
    SpawnAck,
}

impl Kind {
    /// All kinds, in the order in which the protocol lists them.
    pub const ALL: [Self; 10] = [
        Self::BeadAccepted,
        Self::Progress,
        Self::HelpRequest,
        Self::HelpResponse,
        Self::OfferingReady,
        Self::Done,
        Self::Failed,
        Self::Checkpoint,
        Self::SpawnRequest,
        Self::SpawnAck,
    ];

    /// The word that stands in a subject.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BeadAccepted => "BEAD_ACCEPTED",
            Self::Progress => "PROGRESS",
            Self::HelpRequest => "HELP_REQUEST",
            Self::HelpResponse => "HELP_RESPONSE",
            Self::OfferingReady => "OFFERING_READY",
            Self::Done => "DONE",
            Self::Failed => "FAILED",
            Self::Checkpoint => "CHECKPOINT",
            Self::SpawnRequest => "SPAWN_REQUEST",
            Self::SpawnAck => "SPAWN_ACK",
        }
    }

    /// Reads the word, in upper or lower case.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(word))
    }

    /// Whether the sender expects an acknowledgement when it does not say.
    pub fn ack_by_default(self) -> bool {
        matches!(self, Self::HelpRequest | Self::OfferingReady | Self::SpawnRequest)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn every_kind_is_read_back_from_its_word_in_any_case() {
        for kind in Kind::ALL {
            assert_eq!(Kind::parse(kind.as_str()), Some(kind));
            assert_eq!(Kind::parse(&kind.as_str().to_lowercase()), Some(kind));
        }
        assert_eq!(Kind::parse("DONE "), None);
        assert_eq!(Kind::parse(""), None);
    }

    #[test]
    fn an_ack_is_due_where_somebody_waits_for_an_answer() {
        let due: Vec<_> = Kind::ALL.into_iter().filter(|kind| kind.ack_by_default()).collect();
        assert_eq!(due, [Kind::HelpRequest, Kind::OfferingReady, Kind::SpawnRequest]);
    }
}
