//! Turns an error of the office into the refusal that a caller sees.
//!
//! What went wrong inside the store is logged here, once, and not told to the caller.

use mail::Error;
use mail::error::{Rejection, rfc3339};
use mcp::Refusal;
use serde_json::json;

/// Logs what went wrong inside, if something did.
pub fn log_cause(error: &Error) {
    match error {
        Error::Store(cause) => tracing::error!(%cause, "mail storage failed"),
        // The store has told that it is away, once.
        Error::Away(cause) => tracing::debug!(%cause, "mail storage is away"),
        _ => {}
    }
}

pub fn refusal(error: Error) -> Refusal {
    log_cause(&error);
    let mut refusal = Refusal::new(error.code(), error.to_string()).hint(error.hint());
    if error.retryable() {
        refusal = refusal.with("retryable", true);
    }
    match error {
        Error::Reserved { conflicts } => {
            let conflicts: Vec<_> = conflicts
                .iter()
                .map(|conflict| {
                    json!({
                        "path": conflict.wanted,
                        "held_path": conflict.pattern,
                        "holder": conflict.holder,
                        "exclusive": conflict.exclusive,
                        "waiting": conflict.waiting,
                        "expires_ts": rfc3339(conflict.until),
                    })
                })
                .collect();
            refusal.with("granted", json!([])).with("conflicts", conflicts)
        }
        Error::Malformed { problems, rejection } => {
            let problems: Vec<_> = problems
                .iter()
                .map(|problem| {
                    json!({
                        "path": problem.path,
                        "found": problem.found,
                        "wanted": problem.wanted,
                        "message": problem.to_string(),
                    })
                })
                .collect();
            let refusal = refusal.with("problems", problems);
            match rejection {
                Some(Rejection { error, details, message_id }) => {
                    refusal.with("rejection", json!({ "error": error, "details": details, "message_id": message_id }))
                }
                None => refusal,
            }
        }
        Error::Circle { circle } => refusal.with("circle", circle),
        Error::UnknownAgent { near, .. } | Error::UnknownProject { near, .. } | Error::UnknownWork { near, .. }
            if !near.is_empty() =>
        {
            refusal.with("suggestions", near)
        }
        _ => refusal,
    }
}
