//! A message as channel folders hold it: one JSON document in a file of its own.
//!
//! Readers are lenient and say what to do with a document: use it, use it and log why it is odd, look again because it may
//! still be being written, or pass it over. Where files lie is not told here, and whom a text calls is for
//! [`mention`](crate::mention).

mod fields;
mod file_name;
mod read;
mod write;

use jiff::Timestamp;
use serde_json::{Map, Value};

pub use fields::Content;
pub use file_name::{FileName, order};
pub use read::{Place, Reading, Verdict, read, read_value};

/// Whom a message for everybody is addressed to.
pub const EVERYONE: &str = "all";

crate::named! {
    /// The types that every agent knows. A message of another type is a message all the same.
    pub enum Type {
        /// What most messages are.
        Chat = "chat",
        /// Somebody is given work.
        TaskAssign = "task_assign",
        /// A worker tells what came of it.
        TaskResult = "task_result",
        /// A reviewer approves or rejects.
        ReviewVote = "review_vote",
        /// How it stands with the availability of a system.
        HaReport = "ha_report",
        /// What happened to a bag on its journey.
        BagAnalysis = "bag_analysis",
        /// Something is wrong.
        Incident = "incident",
        /// The documentation was changed.
        Docs = "docs",
        /// What a check of quality came to.
        QcReview = "qc_review",
    }
}

crate::named! {
    /// How a message came to be.
    pub enum Mode {
        /// Somebody said it.
        Chat = "chat",
        /// A watcher had it made.
        Watcher = "watcher",
    }
}

/// The type of what a post office says of a JSON message with faults.
pub const ERROR_REPORT: &str = "error_report";

/// The longest name of an agent, a channel or a type, in characters.
pub const LONGEST_NAME: usize = 128;

/// A message of a channel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChannelMessage {
    /// Its id, by custom the name of its file without the ending.
    pub id: String,
    /// When it was sent, as its author says.
    pub timestamp: Timestamp,
    /// The channel.
    pub session_id: String,
    /// Who wrote it.
    pub from: String,
    /// Whom it is addressed to: an agent, or `all`.
    pub to: String,
    /// What type it is of, such as `chat`.
    pub kind: String,
    /// What it says.
    pub text: String,
    /// Code that goes with it.
    pub code: Option<String>,
    /// The files that it speaks of.
    pub artifacts: Vec<Value>,
    /// `mode`, `turn`, `in_reply_to`, and whatever else its author put there.
    pub metadata: Map<String, Value>,
    /// Fields beyond the format, kept as they are; those of `content` stand under that name.
    pub extra: Map<String, Value>,
}

/// Whether a text can be a name of at most so many characters: not blank, and without control characters.
pub(crate) fn is_name(text: &str, longest: usize) -> bool {
    let is_short = text.chars().nth(longest).is_none();
    is_short && !text.trim().is_empty() && !text.contains(char::is_control)
}
