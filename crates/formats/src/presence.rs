//! Whether an agent is awake: its heartbeat as a file, the word that is shown for it, and which state follows which.
//!
//! A heartbeat says how it stood when it was written. How long ago that was is for whoever has a clock.

use jiff::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::channel::{LONGEST_NAME, is_name};
use crate::time::{read_time, written_time};

/// After how many seconds without a sign an agent that said it was awake no longer counts as such.
pub const STALE_AFTER_SECONDS: i64 = 300;

/// Stands for the state of an agent before its first one.
pub const START: &str = "START";
/// The state of an agent that listens.
pub const AWAKE: &str = "AWAKE";
/// The state of an agent that ended.
pub const OFFLINE: &str = "OFFLINE";

/// The longest heartbeat that is read, in bytes. An honest one has a few hundred.
const LONGEST: usize = 64 << 10;

/// The sign of life that an agent leaves in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Heartbeat {
    /// Whose it is.
    pub agent_id: String,
    /// When it was written.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "write_time")]
    pub timestamp: Option<Timestamp>,
    /// `AWAKE`, `OFFLINE`, or a word of the agent's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// What it does while it is awake: `IDLE` or `WORKING`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub substate: Option<String>,
    /// The process that watches for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watcher_pid: Option<i64>,
    /// The channel that is watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
}

impl Heartbeat {
    /// Reads a heartbeat; `None` if it does not even say whose it is. Of a field of a wrong type nothing is known, and that
    /// is no reason to lose the rest.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let bytes = Some(bytes).filter(|bytes| bytes.len() <= LONGEST)?;
        let found: Map<String, Value> = serde_json::from_slice(bytes).ok()?;
        let text = |field: &str| found.get(field).and_then(Value::as_str);
        let word = |field: &str| text(field).filter(|word| is_name(word, LONGEST_NAME)).map(str::to_owned);
        Some(Self {
            agent_id: word("agent_id")?,
            timestamp: text("timestamp").and_then(read_time).map(|(time, _)| time),
            state: word("state"),
            substate: word("substate"),
            watcher_pid: found.get("watcher_pid").and_then(Value::as_i64),
            channel: word("channel"),
        })
    }

    /// The heartbeat as the text of its file.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("texts and numbers can be written");
        text.push('\n');
        text
    }
}

/// The word that is shown for an agent: its state and substate, and since when it said so; `None` if it never did.
///
/// An empty state is unknown. Clocks differ, so a sign from the future is as good as one from now; a sign of no known age
/// is old.
pub fn shown(said: Option<(&str, Option<&str>)>, age_seconds: Option<i64>) -> String {
    let Some((state, substate)) = said else { return format!("{OFFLINE} (no presence file)") };
    let is_old = age_seconds.is_none_or(|age| age > STALE_AFTER_SECONDS);
    let state = match state {
        "" => "UNKNOWN",
        AWAKE if is_old => "STALE",
        other => other,
    };
    match substate.filter(|substate| !substate.is_empty()) {
        Some(substate) => format!("{state}/{substate}"),
        None => state.to_owned(),
    }
}

fn write_time<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(written_time).serialize(serializer)
}

/// Whether a watcher may go from one state to the other, each as `state/substate`; [`START`] is before the first one.
pub fn may_follow(from: &str, to: &str) -> bool {
    match (from, to) {
        (START | OFFLINE | "AWAKE/WORKING", "AWAKE/IDLE") | ("AWAKE/IDLE", "AWAKE/WORKING") => true,
        (from, OFFLINE) => from == AWAKE || from.starts_with("AWAKE/"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: &str = r#"{
  "agent_id": "codex",
  "timestamp": "2026-01-11T16:30:00.000Z",
  "state": "AWAKE",
  "substate": "IDLE",
  "watcher_pid": 12345,
  "channel": "agent-os-paper"
}
"#;

    #[test]
    fn a_heartbeat_is_written_as_it_is_read() {
        let beat = Heartbeat::read(SEED.as_bytes()).unwrap();
        assert_eq!((beat.watcher_pid, beat.to_json().as_str()), (Some(12345), SEED));
        let bare = Heartbeat::read(br#"{"agent_id":"x","mode":["daemon"]}"#).unwrap();
        assert_eq!(bare.to_json(), "{\n  \"agent_id\": \"x\"\n}\n");
    }

    #[test]
    fn a_field_of_a_wrong_type_does_not_hide_the_others() {
        let odd = br#"{"agent_id":"x","timestamp":12,"state":7,"substate":"a\nb","watcher_pid":"1","channel":""}"#;
        let beat = Heartbeat::read(odd).unwrap();
        let nothing = Heartbeat {
            agent_id: "x".to_owned(),
            timestamp: None,
            state: None,
            substate: None,
            watcher_pid: None,
            channel: None,
        };
        assert_eq!(beat, nothing);
    }

    #[test]
    fn what_does_not_say_whose_it_is_is_no_heartbeat() {
        let long = format!(r#"{{"agent_id":"{}"}}"#, "x".repeat(LONGEST_NAME + 1));
        let huge = format!(r#"{{"agent_id":"x","y":"{}"}}"#, "x".repeat(LONGEST));
        let texts =
            ["", "{", "[\"x\"]", "null", "{}", r#"{"agent_id":""}"#, r#"{"agent_id":1}"#, r#"{"agent_id":"a\u0000"}"#];
        for text in texts.into_iter().chain([long.as_str(), huge.as_str()]) {
            assert_eq!(Heartbeat::read(text.as_bytes()), None, "{text:.80}");
        }
        assert_eq!(Heartbeat::read(b"\xff"), None);
    }

    #[test]
    fn only_an_agent_that_said_it_was_awake_goes_stale() {
        assert_eq!(shown(Some((AWAKE, Some("IDLE"))), None), "STALE/IDLE", "a sign without a time");
        assert_eq!(shown(Some(("SLEEPING", None)), None), "SLEEPING");
        assert_eq!(shown(Some(("", Some("IDLE"))), Some(999)), "UNKNOWN/IDLE");
    }
}
