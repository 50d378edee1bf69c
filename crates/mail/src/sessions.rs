//! Sessions: the runs of clients with which agents are reached.

use jiff::Timestamp;

use crate::ids::AgentId;

/// One run of a client with which an agent is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Whose it is.
    pub agent: AgentId,
    /// Client and a hash of host and session id.
    pub key: String,
    /// The client.
    pub client: String,
    /// The machine.
    pub host: String,
    /// The working folder.
    pub place: String,
    /// Whether it waits for its user.
    pub is_idle: bool,
    /// When it began.
    pub began_at: Timestamp,
    /// When it was last heard of.
    pub seen_at: Timestamp,
}
