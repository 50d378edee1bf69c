//! `postrider watch failed` and `retry`: what could not be answered, and trying it again by hand.

use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use jiff::Timestamp;
use mail::clock::{Clock, SystemClock};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::mail::ago::ago;
use crate::mailbox::Who;
use crate::output::grid::{self, Cell, Column};
use crate::output::{self, Screen};
use crate::post_office::PostOffice;

const COLUMNS: [Column; 4] = [
    Column { head: "ID", most: 24 },
    Column { head: "WHERE", most: 24 },
    Column { head: "WHEN", most: 12 },
    Column { head: "WHY", most: 400 },
];
/// Who gives way where there is no room, and how far: the reason, and then the place.
const GIVING: [(usize, usize); 2] = [(3, 20), (1, 8)];

/// List the messages that could not be answered, and why
#[derive(Args, Debug)]
pub struct Failed {}

/// Have messages that failed taken on again, by the watcher that runs or by the next
#[derive(Args, Debug)]
pub struct Retry {
    /// The messages [default: all that failed]
    #[arg(value_name = "ID", value_parser = clap::value_parser!(i64).range(1..))]
    ids: Vec<i64>,
}

/// A message that was taken on.
#[derive(Deserialize)]
struct Run {
    message_id: i64,
    channel: String,
    note: String,
    at: Timestamp,
}

impl Failed {
    /// Prints the list.
    pub async fn run(
        &self,
        post_office: &PostOffice,
        project: &str,
        who: &Who,
        as_json: bool,
    ) -> anyhow::Result<ExitCode> {
        let answer = post_office.call("watch", asked("runs", project, who, json!({ "state": "failed" }))).await?;
        let runs = Vec::<Run>::deserialize(&answer["runs"]).context("what failed cannot be read")?;
        if runs.is_empty() && !as_json {
            output::note("Nothing failed.");
            return Ok(ExitCode::SUCCESS);
        }
        output::answer(as_json, &answer["runs"], || {
            let now = SystemClock.now();
            let rows: Vec<[Cell; 4]> = runs.iter().map(|run| run.row(now)).collect();
            grid::lines(&COLUMNS, &GIVING, &rows, &Screen::of_stdout()).join("\n")
        });
        Ok(ExitCode::SUCCESS)
    }
}

impl Run {
    fn row(&self, now: Timestamp) -> [Cell; 4] {
        let place = if self.channel.is_empty() { "mailbox".to_owned() } else { format!("#{}", self.channel) };
        [self.message_id.to_string().into(), place.into(), ago(self.at, now).into(), self.note.clone().into()]
    }
}

impl Retry {
    /// Gives the runs back, and says which they are.
    pub async fn run(
        &self,
        post_office: &PostOffice,
        project: &str,
        who: &Who,
        as_json: bool,
    ) -> anyhow::Result<ExitCode> {
        let wanted: Vec<String> = self.ids.iter().map(ToString::to_string).collect();
        let answer = post_office.call("watch", asked("retry", project, who, json!({ "message_ids": wanted }))).await?;
        let again = Vec::<i64>::deserialize(&answer["message_ids"]).context("what is tried again cannot be read")?;
        output::answer(as_json, &json!({ "message_ids": again }), || {
            let named: Vec<String> = again.iter().map(ToString::to_string).collect();
            match again.len() {
                0 => "Nothing is tried again.".to_owned(),
                _ => format!("Tried again by the watcher: {}", named.join(", ")),
            }
        });
        let missed: Vec<&str> =
            self.ids.iter().zip(&wanted).filter(|(id, _)| !again.contains(id)).map(|(_, text)| text.as_str()).collect();
        if missed.is_empty() {
            return Ok(ExitCode::SUCCESS);
        }
        output::note(&format!("Not among those that failed: {}. See: postrider watch failed", missed.join(", ")));
        Ok(ExitCode::FAILURE)
    }
}

/// What is asked of the office's tool for watchers.
pub fn asked(verb: &str, project: &str, who: &Who, more: Value) -> Value {
    let mut ask = json!({ "verb": verb, "project_key": project, "agent_name": who.name });
    if let (Some(ask), Value::Object(more)) = (ask.as_object_mut(), more) {
        ask.extend(more);
        ask.extend(who.token.clone().map(|token| ("registration_token".to_owned(), json!(token))));
    }
    ask
}
