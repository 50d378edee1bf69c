//! The ten kinds of coordination message, and what each of them says.
//!
//! A field that a text does not have is empty here. These are values alone: how they stand in a text is for the reader
//! and the writer.

use super::{CheckpointReason, FailureType, IssueType, Kind, SpawnStatus};

/// An id longer than this, in bytes, is a sentence that happens to follow a label.
const LONGEST_ID: usize = 256;

/// What a message says.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Message {
    /// A worker has taken on a piece of work.
    BeadAccepted(BeadAccepted),
    /// A worker says how far it is.
    Progress(Progress),
    /// A worker is stuck and asks for guidance.
    HelpRequest(HelpRequest),
    /// The answer to such a question.
    HelpResponse(HelpResponse),
    /// The work is complete and can be reviewed.
    OfferingReady(Offering),
    /// The work is complete.
    Done(Offering),
    /// The work failed.
    Failed(Failed),
    /// A worker stops halfway and leaves notes for its successor.
    Checkpoint(Checkpoint),
    /// A new worker is wanted.
    SpawnRequest(SpawnRequest),
    /// The answer to such a wish.
    SpawnAck(SpawnAck),
    /// Any other message.
    Unknown(Unknown),
}

/// A worker has taken on a piece of work.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct BeadAccepted {
    /// The piece of work.
    pub bead_id: String,
    /// What it is called.
    pub title: String,
    /// When the worker began, as written.
    pub started_at: String,
}

/// A worker says how far it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Progress {
    /// The piece of work.
    pub bead_id: String,
    /// The step it is at.
    pub step: String,
    /// What is happening.
    pub status: String,
    /// How much of the context window is used, in percent.
    pub context_usage: Option<u8>,
    /// The files changed so far.
    pub files_touched: Vec<String>,
}

/// A worker is stuck and asks for guidance.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct HelpRequest {
    /// The piece of work.
    pub bead_id: String,
    /// Why it asks.
    pub issue_type: Option<IssueType>,
    /// What is wrong.
    pub problem: String,
    /// What did not help.
    pub what_tried: String,
    /// The files changed so far.
    pub files_touched: Vec<String>,
    /// What it wants to know.
    pub question: String,
}

/// The answer to a request for help.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct HelpResponse {
    /// The piece of work.
    pub bead_id: String,
    /// The text, without the line that names the piece of work.
    pub guidance: String,
}

/// Work that is complete.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Offering {
    /// The piece of work.
    pub bead_id: String,
    /// `DONE`, as a rule.
    pub status: String,
    /// The commit that holds the work.
    pub commit_sha: String,
    /// The files changed.
    pub files: Vec<String>,
    /// Whether the tests pass.
    pub tests: Option<bool>,
    /// Whether the linter is content.
    pub lint: Option<bool>,
    /// Whether it builds.
    pub build: Option<bool>,
    /// What was done.
    pub summary: String,
}

/// Work that failed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Failed {
    /// The piece of work.
    pub bead_id: String,
    /// Why it failed, in one word.
    pub failure_type: Option<FailureType>,
    /// Why it failed.
    pub reason: String,
    /// How often the worker tried.
    pub internal_attempts: Option<u32>,
    /// The commit that holds what there is.
    pub partial_commit_sha: String,
    /// The files of that commit.
    pub files: Vec<String>,
    /// What would unblock the work.
    pub recommendation: String,
}

/// A worker stops halfway.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Checkpoint {
    /// The piece of work.
    pub bead_id: String,
    /// Why it stops.
    pub reason: Option<CheckpointReason>,
    /// The commit that holds what there is.
    pub partial_commit_sha: String,
    /// What is done and what remains.
    pub progress: String,
    /// How much of the context window is used, in percent.
    pub context_usage: Option<u8>,
    /// Notes for the successor.
    pub next_steps: String,
}

/// A new worker is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct SpawnRequest {
    /// The piece of work, if it is named as a bead as well.
    pub bead_id: String,
    /// The piece of work.
    pub issue_id: String,
    /// Whether to go on from a checkpoint.
    pub resume: bool,
    /// The commit to go on from.
    pub partial_commit_sha: String,
    /// Who asks.
    pub orchestrator: String,
}

/// The answer to the wish for a new worker.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct SpawnAck {
    /// The piece of work, if it is named as a bead as well.
    pub bead_id: String,
    /// The piece of work.
    pub issue_id: String,
    /// What became of it.
    pub status: Option<SpawnStatus>,
    /// Where the new worker runs.
    pub session: String,
}

/// A message of no known kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Unknown {
    /// The piece of work, if it is named.
    pub bead_id: String,
    /// What it calls its issue, if that is one word.
    pub issue_id: String,
}

impl Message {
    /// The kind, when it is one of the ten.
    pub fn kind(&self) -> Option<Kind> {
        Some(match self {
            Self::BeadAccepted(_) => Kind::BeadAccepted,
            Self::Progress(_) => Kind::Progress,
            Self::HelpRequest(_) => Kind::HelpRequest,
            Self::HelpResponse(_) => Kind::HelpResponse,
            Self::OfferingReady(_) => Kind::OfferingReady,
            Self::Done(_) => Kind::Done,
            Self::Failed(_) => Kind::Failed,
            Self::Checkpoint(_) => Kind::Checkpoint,
            Self::SpawnRequest(_) => Kind::SpawnRequest,
            Self::SpawnAck(_) => Kind::SpawnAck,
            Self::Unknown(_) => return None,
        })
    }

    /// The name of the kind, or `UNKNOWN`.
    pub fn type_name(&self) -> &'static str {
        self.kind().map_or("UNKNOWN", Kind::as_str)
    }

    /// The bead that is named, as written; empty if none is.
    pub fn bead_id(&self) -> &str {
        match self {
            Self::BeadAccepted(message) => &message.bead_id,
            Self::Progress(message) => &message.bead_id,
            Self::HelpRequest(message) => &message.bead_id,
            Self::HelpResponse(message) => &message.bead_id,
            Self::OfferingReady(message) | Self::Done(message) => &message.bead_id,
            Self::Failed(message) => &message.bead_id,
            Self::Checkpoint(message) => &message.bead_id,
            Self::SpawnRequest(message) => &message.bead_id,
            Self::SpawnAck(message) => &message.bead_id,
            Self::Unknown(message) => &message.bead_id,
        }
    }

    /// The piece of work that the message is about: its bead, else its issue, if that can be an id.
    pub fn work_id(&self) -> Option<&str> {
        usable_id(self.bead_id()).or_else(|| usable_id(self.issue_id()))
    }

    /// Whether work on the piece has come to an end, good or bad.
    pub fn is_completion(&self) -> bool {
        self.is_success() || matches!(self, Self::Failed(_) | Self::Checkpoint(_))
    }

    /// Whether the sender says that the work is complete, whatever its checks say.
    pub fn is_success(&self) -> bool {
        matches!(self, Self::OfferingReady(_) | Self::Done(_))
    }

    fn issue_id(&self) -> &str {
        match self {
            Self::SpawnRequest(message) => &message.issue_id,
            Self::SpawnAck(message) => &message.issue_id,
            Self::Unknown(message) => &message.issue_id,
            _ => "",
        }
    }
}

/// The id in `text`, if it can be one.
pub fn usable_id(text: &str) -> Option<&str> {
    let id = text.trim();
    // An id names a thread, and so stands in headers and addresses, where a control character cannot.
    let is_usable = !id.is_empty() && id.len() <= LONGEST_ID && !id.contains(char::is_control);
    is_usable.then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spawn(bead_id: &str, issue_id: &str) -> Message {
        Message::SpawnAck(SpawnAck { bead_id: bead_id.into(), issue_id: issue_id.into(), ..SpawnAck::default() })
    }

    #[test]
    fn the_work_is_the_bead_else_the_issue() {
        assert_eq!(spawn("a-1", "a-2").work_id(), Some("a-1"));
        assert_eq!(spawn("", " a-2 ").work_id(), Some("a-2"));
        assert_eq!(spawn("", "").work_id(), None);
    }

    #[test]
    fn what_cannot_be_an_id_names_no_work() {
        assert_eq!(spawn("a\tb", "").work_id(), None);
        assert_eq!(spawn(&"x".repeat(LONGEST_ID), "").work_id(), Some("x".repeat(LONGEST_ID).as_str()));
        assert_eq!(spawn(&"x".repeat(LONGEST_ID + 1), "").work_id(), None);
    }
}
