//! Messages in full: read, looked at, or as a whole conversation.
//!
//! One id that is wrong does not keep the others from being shown.

use std::process::ExitCode;

use clap::Args;
use mail::clock::{Clock, SystemClock};
use mail::provider::{Letter, ProviderError};
use serde_json::{Value, json};

use super::following::seen;
use super::letter::Seen;
use super::{ALL, Visit};
use crate::output::{self, text};
use crate::post_office::Refused;

/// What stands between two letters.
const BETWEEN: &str = "\n\n----------------------------------------\n\n";

/// What stands below the help of `read`.
pub const READ_EXAMPLES: &str = "\
Examples:
  postrider mail read 17
  postrider mail read 17 18.2 --json

For programs one id is one message, and several are a list in which an id that was refused stands with its error.";

const THREAD_EXAMPLES: &str = "\
Behind the name of whoever got a message stands whether that copy was read; of what you sent, of every copy, and what was
said with an acknowledgement.

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
    let (mut asked, mut unread) = (Vec::with_capacity(ids.len()), Vec::new());
    for id in ids {
        let got = visit.own(id).await;
        unread.extend(got.iter().filter(|letter| !letter.read).map(|_| id));
        asked.push((id.as_str(), got.map(|letter| Letter { read: true, ..letter })));
    }
    let (code, is_shown) = show(visit, asked).await?;
    // What nobody could see stays unread.
    for id in unread.into_iter().filter(|_| is_shown) {
        visit.provider().read(id).await?;
    }
    Ok(code)
}

/// Prints the messages; exit code 1 if there is one that cannot be shown.
pub async fn peek(visit: &Visit<'_>, ids: &[String]) -> anyhow::Result<ExitCode> {
    let mut asked = Vec::with_capacity(ids.len());
    for id in ids {
        asked.push((id.as_str(), visit.provider().get(id).await));
    }
    Ok(show(visit, asked).await?.0)
}

impl Thread {
    /// Prints the conversation; exit code 1 if there is none.
    pub async fn run(&self, visit: &Visit<'_>) -> anyhow::Result<ExitCode> {
        let mut letters = Vec::new();
        for letter in visit.provider().thread(&self.id).await? {
            letters.push(seen(visit, letter).await?);
        }
        if letters.is_empty() {
            let id = mail::error::shown(&self.id);
            let message = format!("There is no thread '{id}', and no message '{id}' in one");
            return Err(Refused::new("THREAD_NOT_FOUND", &message, ALL).into());
        }
        let json: Vec<Value> = letters.iter().map(Seen::to_value).collect();
        output::answer(visit.as_json, &json.into(), || {
            let now = SystemClock.now();
            letters.iter().map(|letter| letter.in_thread(now)).collect::<Vec<_>>().join("\n\n")
        });
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints the letters. Returns the exit code, and whether all that could be got was shown.
async fn show(
    visit: &Visit<'_>,
    asked: Vec<(&str, Result<Letter, ProviderError>)>,
) -> anyhow::Result<(ExitCode, bool)> {
    let is_list = asked.len() > 1;
    let (mut json, mut texts, mut refusals) = (Vec::new(), Vec::new(), Vec::new());
    for (id, got) in asked {
        match got {
            Ok(letter) => {
                let seen = seen(visit, letter).await?;
                json.push(seen.to_value());
                texts.push(seen.whole(SystemClock.now()));
            }
            Err(error) if is_list => {
                let refused = visit.advice(Refused::of_provider(&error));
                json.push(json!({ "id": id, "error": refused.to_json()["error"] }));
                refusals.push(refused);
            }
            Err(error) => return Err(error.into()),
        }
    }
    let json = if is_list { json.into() } else { json.remove(0) };
    let mut is_shown = true;
    if visit.as_json || !texts.is_empty() {
        is_shown = output::answered(visit.as_json, &json, || texts.join(BETWEEN));
    }
    for refused in refusals.iter().filter(|_| !visit.as_json) {
        output::note(&text::lines(&format!("postrider: {refused}")));
    }
    Ok((if refusals.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }, is_shown))
}
