//! Messages in full: read, looked at, or as a whole conversation.
//!
//! One id that is wrong does not keep the others from being shown.

use std::process::ExitCode;

use clap::Args;
use mail::clock::{Clock, SystemClock};
use mail::provider::{Letter, ProviderError};
use serde_json::{Value, json};

use super::{Visit, letter};
use crate::output::{self, text};
use crate::postbox::Refused;

/// What stands between two letters.
const BETWEEN: &str = "\n\n----------------------------------------\n\n";

/// What stands below the help of `read`.
pub const READ_EXAMPLES: &str = "\
Examples:
  postrider mail read 17
  postrider mail read 17 18.2 --json

For programs one id is one message, and several are a list in which an id that was refused stands with its error.";

const THREAD_EXAMPLES: &str = "\
Behind the name of whoever got a message stands whether that copy was read.

Examples:
  postrider mail thread 17
  postrider mail thread bd-42";

/// Show a whole conversation, the oldest message first.
#[derive(Args, Debug)]
#[command(after_help = THREAD_EXAMPLES)]
pub struct Thread {
    /// The thread, or any message in it
    id: String,
}

/// Prints the messages, which are read from now on; exit code 1 if there is one that cannot be read.
pub async fn read(visit: &Visit<'_>, ids: &[String]) -> anyhow::Result<ExitCode> {
    let mut asked = Vec::with_capacity(ids.len());
    for id in ids {
        asked.push((id.as_str(), visit.provider().read(id).await));
    }
    show(visit, asked)
}

/// Prints the messages; exit code 1 if there is one that cannot be shown.
pub async fn peek(visit: &Visit<'_>, ids: &[String]) -> anyhow::Result<ExitCode> {
    let mut asked = Vec::with_capacity(ids.len());
    for id in ids {
        asked.push((id.as_str(), visit.provider().get(id).await));
    }
    show(visit, asked)
}

impl Thread {
    /// Prints the conversation.
    pub async fn run(&self, visit: &Visit<'_>) -> anyhow::Result<ExitCode> {
        let letters = visit.provider().thread(&self.id).await?;
        if letters.is_empty() && !visit.as_json {
            output::note(&text::lines(&format!("There is no thread '{0}', and no message '{0}' in one.", self.id)));
            return Ok(ExitCode::SUCCESS);
        }
        let json: Vec<Value> = letters.iter().map(letter::to_value).collect();
        output::answer(visit.as_json, &json.into(), || {
            let now = SystemClock.now();
            letters.iter().map(|letter| letter::in_thread(letter, now)).collect::<Vec<_>>().join("\n\n")
        });
        Ok(ExitCode::SUCCESS)
    }
}

fn show(visit: &Visit<'_>, asked: Vec<(&str, Result<Letter, ProviderError>)>) -> anyhow::Result<ExitCode> {
    if let [(id, got)] = asked.as_slice() {
        let letter = got.as_ref().map_err(|error| visit.refused(id, Refused::of_provider(error)))?;
        output::answer(visit.as_json, &letter::to_value(letter), || letter::whole(letter, SystemClock.now()));
        return Ok(ExitCode::SUCCESS);
    }
    let (mut json, mut texts, mut refusals) = (Vec::new(), Vec::new(), Vec::new());
    for (id, got) in asked {
        match got {
            Ok(letter) => {
                json.push(letter::to_value(&letter));
                texts.push(letter::whole(&letter, SystemClock.now()));
            }
            Err(error) => {
                let refused = visit.refused(id, Refused::of_provider(&error));
                json.push(json!({ "id": id, "error": refused.to_json()["error"] }));
                refusals.push(refused);
            }
        }
    }
    if visit.as_json || !texts.is_empty() {
        output::answer(visit.as_json, &json.into(), || texts.join(BETWEEN));
    }
    for refused in refusals.iter().filter(|_| !visit.as_json) {
        output::note(&text::lines(&format!("postrider: {refused}")));
    }
    Ok(if refusals.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
