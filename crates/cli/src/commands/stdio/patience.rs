//! A wait for mail that its client does not wait for is cut short: the client would give the call up, or hand it back unfinished, while
//! the mail that came meanwhile counts as returned.
//!
//! The client is the one that introduced itself. Deliberately absent: other calls, which say for how long they wait.

use std::collections::BTreeMap;

use serde_json::value::{RawValue, to_raw_value};

use crate::clients::Client;
use crate::post_office::message::ClientMessage;

/// The call that waits without being told for how long.
const WAIT: &str = "wait_for_mail";
const SECONDS: &str = "timeout_seconds";
/// How long it waits at most, whoever calls, and unless it is told.
const LONGEST: u64 = api::LONGEST_WAIT as u64;
/// How much sooner than its client gives up it ends.
const MARGIN: u64 = 5;

/// An object of which one member is changed and the others are kept byte for byte.
type RawMembers = BTreeMap<String, Box<RawValue>>;

/// The call with a shorter wait, if it would last longer than its client waits.
pub fn within(message: &ClientMessage, client: &Client) -> Option<String> {
    let most = longest_wait(client);
    if message.tool() != Some(WAIT) || most >= LONGEST {
        return None;
    }
    let mut envelope: RawMembers = serde_json::from_str(&message.text).ok()?;
    let mut params: RawMembers = serde_json::from_str(envelope.get("params")?.get()).ok()?;
    let mut arguments: RawMembers = match params.get("arguments") {
        Some(arguments) => serde_json::from_str(arguments.get()).ok()?,
        None => RawMembers::new(),
    };
    let asked = arguments.get(SECONDS).map(|asked| asked.get()).filter(|asked| *asked != "null");
    // What is no number is refused where it is read.
    let seconds: f64 = asked.map_or(Some(LONGEST as f64), |asked| asked.trim_matches('"').parse().ok())?;
    if seconds <= most as f64 {
        return None;
    }
    arguments.insert(SECONDS.to_owned(), to_raw_value(&most).ok()?);
    params.insert("arguments".to_owned(), to_raw_value(&arguments).ok()?);
    envelope.insert("params".to_owned(), to_raw_value(&params).ok()?);
    serde_json::to_string(&envelope).ok()
}

/// For how many seconds a call may wait so that its client is still there.
fn longest_wait(client: &Client) -> u64 {
    client.longest_call.map_or(LONGEST, |longest| longest.saturating_sub(MARGIN)).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::clients::{ALL, CLAUDE, CODEX};

    fn call(tool: &str, arguments: Value) -> ClientMessage {
        let params = json!({ "name": tool, "arguments": arguments });
        ClientMessage::read(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string())
    }

    fn seconds(arguments: Value, client: &Client) -> Option<Value> {
        let text = within(&call(WAIT, arguments), client)?;
        let cut: Value = serde_json::from_str(&text).unwrap();
        Some(cut["params"]["arguments"][SECONDS].clone())
    }

    #[test]
    fn no_wait_lasts_as_long_as_its_client_waits_for_a_call() {
        for client in ALL {
            assert!(client.longest_call.is_none_or(|longest| longest_wait(client) < longest), "{}", client.name);
        }
    }

    #[test]
    fn a_wait_is_cut_to_what_its_client_waits_for_and_only_then() {
        for long in [json!({}), json!({ SECONDS: null }), json!({ SECONDS: 50 }), json!({ SECONDS: "30" })] {
            assert_eq!(seconds(long.clone(), &CODEX), Some(json!(25)), "{long}");
            assert_eq!(seconds(long, &CLAUDE), None);
        }
        for short in [json!({ SECONDS: 25 }), json!({ SECONDS: 0 }), json!({ SECONDS: "soon" }), json!([])] {
            assert_eq!(seconds(short.clone(), &CODEX), None, "{short}");
        }
        assert_eq!(within(&call("fetch_inbox", json!({})), &CODEX), None);
        assert_eq!(within(&ClientMessage::read("{".to_owned()), &CODEX), None);
    }
}
