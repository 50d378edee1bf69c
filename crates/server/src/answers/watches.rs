//! What a watcher took on, as our own terminal reads it.

use mail::watches::Run;
use serde::Serialize;

use super::rfc3339;

/// A message that was taken on.
#[derive(Serialize)]
pub struct RunAnswer<'a> {
    message_id: i64,
    /// Empty for the mailbox.
    channel: &'a str,
    state: &'static str,
    tries: u32,
    note: &'a str,
    at: String,
}

impl<'a> From<&'a Run> for RunAnswer<'a> {
    fn from(run: &'a Run) -> Self {
        Self {
            message_id: run.message.0,
            channel: &run.channel,
            state: run.state.as_str(),
            tries: run.tries,
            note: &run.note,
            at: rfc3339(run.at),
        }
    }
}
