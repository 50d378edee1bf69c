//! What an error says beside its code and its fact, for programs: the same at every door.

use mail::Error;
use mail::error::{Rejection, rfc3339};
use serde_json::{Map, Value, json};

/// The members that stand beside the error in a refusal.
pub fn details(error: &Error) -> Map<String, Value> {
    let mut members = Map::new();
    let mut add = |name: &str, value: Value| members.insert(name.to_owned(), value);
    if error.retryable() {
        add("retryable", json!(true));
    }
    if !error.near().is_empty() {
        add("suggestions", json!(error.near()));
    }
    match error {
        Error::Reserved { conflicts } => {
            let conflicts = conflicts.iter().map(|conflict| {
                json!({
                    "path": conflict.wanted,
                    "held_path": conflict.pattern,
                    "holder": conflict.holder,
                    "exclusive": conflict.exclusive,
                    "waiting": conflict.waiting,
                    "expires_ts": rfc3339(conflict.until),
                })
            });
            add("granted", json!([]));
            add("conflicts", conflicts.collect());
        }
        Error::Malformed { problems, rejection } => {
            let problems = problems.iter().map(|problem| {
                json!({
                    "path": problem.path,
                    "found": problem.found,
                    "wanted": problem.wanted,
                    "message": problem.to_string(),
                })
            });
            add("problems", problems.collect());
            if let Some(Rejection { error, details, message_id }) = rejection {
                add("rejection", json!({ "error": error, "details": details, "message_id": message_id }));
            }
        }
        Error::Circle { circle } => {
            add("circle", json!(circle));
        }
        _ => {}
    }
    members
}
