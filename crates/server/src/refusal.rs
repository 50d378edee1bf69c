//! Turns an error of the office into the refusal that a caller sees.
//!
//! What went wrong inside the store is logged here, once, and not told to the caller.

use mail::Error;
use mcp::Refusal;

use crate::hints::for_agent;

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
    Refusal { data: api::details(&error), ..Refusal::new(error.code(), error.to_string()).hint(for_agent(&error)) }
}

/// The refusal of a tool that only earlier versions of our own programs call.
pub fn outdated(tool: &str) -> Refusal {
    let message = format!("The program that called '{tool}' is older than this server");
    Refusal::new("CLIENT_OUTDATED", message).hint("Update that program to the server's version, then try again.")
}
