//! Watchers: programs that answer for an agent, and what became of each message that one took on.
//!
//! One watcher looks for an agent at a place: a channel, or its mailbox. It holds the place for a while and says so again
//! and again, because one that was killed cannot give it back. A message is taken on by one watcher, once; what was cut off
//! in the middle is taken on again by the next, and not for ever. Nothing here runs a program.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::error::Stored;
use crate::ids::{AgentId, MessageId};

/// The place of a watcher that looks at its agent's mailbox and at no channel.
pub const MAILBOX: &str = "";
/// The longest chain of watchers that is told apart from a longer one.
pub const MOST_HOPS: u32 = 1_000;
/// How often a message is taken on that is cut off every time.
const MOST_TRIES: u32 = 2;

/// Somebody who wants to watch.
#[derive(Clone, Debug)]
pub struct NewWatch {
    /// For whom.
    pub agent: AgentId,
    /// The channel, or [`MAILBOX`].
    pub channel: String,
    /// What the watcher is called: no two that run have one name.
    pub holder: String,
    /// A holder that is known to be gone, however long it said that it would stay.
    pub instead_of: Option<String>,
    /// What came before this is left alone, if nobody ever watched here.
    pub since: Timestamp,
    /// How long the place is held, unless it is held again.
    pub until: Timestamp,
}

/// What became of the wish to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begun {
    /// The place is held.
    Started {
        /// The last message that was looked at.
        position: MessageId,
        /// What the last watcher left running and is not tried again, as [`interrupted`] decides.
        given_up: Vec<MessageId>,
    },
    /// Another watches here.
    Held {
        /// Who.
        holder: String,
        /// Until when, unless it holds the place again.
        until: Timestamp,
    },
}

formats::named! {
    /// How it stands with a message that was taken on.
    pub enum RunState {
        /// A watcher is at it.
        Running = "running",
        /// It was answered.
        Answered = "answered",
        /// There was nothing to say.
        Silent = "silent",
        /// It went wrong, and waits for somebody who wants it tried again.
        Failed = "failed",
        /// It is to be taken on again.
        Again = "again",
    }
}

/// A message that was taken on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The message.
    pub message: MessageId,
    /// Where it was met: a channel, or [`MAILBOX`].
    pub channel: String,
    /// How it stands.
    pub state: RunState,
    /// How often it was taken on since somebody last wanted it tried.
    pub tries: u32,
    /// Why it failed; else empty.
    pub note: String,
    /// When it came into this state.
    pub at: Timestamp,
}

/// What became of the wish to take a message on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// Nobody had it before.
    New,
    /// It was to be taken on again.
    Again,
    /// It is somebody's, or done.
    Already,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunOutcome {
    /// With an answer, which is kept.
    Answered,
    /// With nothing to say.
    Silent,
    /// Badly, and why.
    Failed(String),
}

impl RunOutcome {
    /// How the run stands then.
    pub fn state(&self) -> RunState {
        match self {
            Self::Answered => RunState::Answered,
            Self::Silent => RunState::Silent,
            Self::Failed(_) => RunState::Failed,
        }
    }

    /// Why it failed; else empty.
    pub fn note(&self) -> &str {
        match self {
            Self::Failed(note) => note,
            Self::Answered | Self::Silent => "",
        }
    }
}

/// The idempotency key of a watcher's answer: it is kept once, and tells that the message was answered, also when the
/// watcher was killed before it could say so.
pub fn answer_key(agent: &str, message: MessageId) -> String {
    format!("watch:{agent}:{message}")
}

/// What becomes of a run whose watcher ended in the middle of it: how it stands then, and why.
///
/// It is tried once more. What ends its watcher every time would otherwise do so for ever.
pub fn interrupted(tries: u32) -> (RunState, String) {
    if tries < MOST_TRIES {
        (RunState::Again, String::new())
    } else {
        (RunState::Failed, format!("interrupted {tries} times"))
    }
}

/// Which runs to return.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunQuery<'a> {
    /// Only those that were met there.
    pub channel: Option<&'a str>,
    /// Only those that stand so.
    pub state: Option<RunState>,
    /// At most so many.
    pub limit: usize,
}

/// What keeps watchers and their runs. None of it is told in the event log: it says nothing of mail.
#[async_trait]
pub trait WatchStore: Send + Sync {
    /// Takes the place, unless another holds it whose time is not over and whom the new one does not replace.
    ///
    /// The position is where the last watcher left it. Runs of this place that are still running are those of a watcher
    /// that is gone: those whose answer was kept under its [`answer_key`] are answered, and [`interrupted`] says what
    /// becomes of the others.
    async fn begin_watch(&self, watch: &NewWatch, now: Timestamp) -> Stored<Begun>;

    /// Holds the place longer and notes how far the watcher has looked, which never moves back. `false`, and nothing
    /// changed, if another holds it.
    async fn hold_watch(
        &self,
        agent: AgentId,
        channel: &str,
        holder: &str,
        position: MessageId,
        until: Timestamp,
    ) -> Stored<bool>;

    /// Gives the place back; `false`, and nothing changed, if another holds it.
    async fn end_watch(&self, agent: AgentId, channel: &str, holder: &str) -> Stored<bool>;

    /// How many watchers answered each other on the way to a message: what a post says, and of direct messages those in a row
    /// that are kept under an [`answer_key`]. At most [`MOST_HOPS`].
    async fn hops(&self, message: MessageId) -> Stored<u32>;

    /// Takes a message on. Of many who try at once, one gets it. What a watcher of the agent has answered in the channel
    /// is answered, and nobody's: it may have done so at another post office.
    async fn take_on(&self, agent: AgentId, channel: &str, message: MessageId, now: Timestamp) -> Stored<Taken>;

    /// Notes how a run ended. `false`, and nothing changed, if it is not running.
    async fn finish_run(
        &self,
        agent: AgentId,
        message: MessageId,
        outcome: &RunOutcome,
        now: Timestamp,
    ) -> Stored<bool>;

    /// The agent's runs, by message, the oldest first.
    async fn runs(&self, agent: AgentId, query: RunQuery<'_>) -> Stored<Vec<Run>>;

    /// Has failed runs taken on again, their tries counted again: those of `messages`, or all. Returns which they are.
    async fn retry_runs(&self, agent: AgentId, messages: &[MessageId], now: Timestamp) -> Stored<Vec<MessageId>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_is_read_back_from_its_name() {
        for name in RunState::NAMES {
            assert_eq!(RunState::parse(name).unwrap().as_str(), name);
        }
        assert_eq!(RunState::parse("rung"), None);
    }

    #[test]
    fn what_was_cut_off_is_tried_once_more_and_then_left_to_people() {
        assert_eq!(interrupted(1), (RunState::Again, String::new()));
        assert_eq!(interrupted(2), (RunState::Failed, "interrupted 2 times".to_owned()));
    }
}
