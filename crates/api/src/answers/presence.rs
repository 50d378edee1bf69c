//! Who is there, as answers show it.

use jiff::Timestamp;
use mail::presence::{OFFLINE, Present};
use serde::{Deserialize, Serialize};

use super::{AgentAnswer, Word};
use crate::Time;

/// An agent, whether it is there, and what it has to do with others.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PresentAnswer {
    /// The agent.
    #[serde(flatten)]
    pub agent: AgentAnswer,
    /// Its presence.
    pub presence: PresenceAnswer,
    /// When it last wrote or got a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_mail_ts: Option<Time>,
    /// How many files or patterns it has reserved now.
    pub reservations: u64,
}

/// Whether an agent is there.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PresenceAnswer {
    /// What people are shown: state and substate, or that it is stale, or that it was never heard of.
    pub shown: String,
    /// `AWAKE`, `OFFLINE`, or what a foreign agent calls it.
    pub state: String,
    /// What it is at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub substate: Option<String>,
    /// When it came into this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// When it last gave a sign of life.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen_ts: Option<Time>,
    /// How that is known: `activity`, `watcher`, `file` or `nats`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Word>,
    /// The channel that its watcher watches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The process that watches for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watcher_pid: Option<i64>,
}

/// What a report about a presence did.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NotedAnswer {
    /// Whether it changed more than the time of the last sign of life.
    pub changed: bool,
}

impl PresentAnswer {
    /// How it looks to whoever asks at `now`.
    pub fn new(present: Present, now: Timestamp) -> Self {
        Self {
            presence: PresenceAnswer::new(&present, now),
            agent: present.agent.into(),
            last_mail_ts: present.last_mail_at.map(Time),
            reservations: present.leases,
        }
    }
}

impl PresenceAnswer {
    fn new(present: &Present, now: Timestamp) -> Self {
        let known = present.presence.as_ref();
        Self {
            shown: present.shown(now),
            state: known.map_or(OFFLINE, |known| &known.state).to_owned(),
            substate: known.and_then(|known| known.substate.clone()),
            since: known.map(|known| known.since.into()),
            seen_ts: known.map(|known| known.seen_at.into()),
            source: known.map(|known| known.source.as_str().into()),
            channel: known.and_then(|known| known.channel.clone()),
            watcher_pid: known.and_then(|known| known.watcher_pid),
        }
    }
}
