//! `postrider watch failed` and `retry`: what could not be answered, and trying it again by hand.

use std::process::ExitCode;

use api::{Actor, ListRuns, RetryRuns, RunAnswer};
use clap::Args;
use jiff::Timestamp;
use mail::clock::{Clock, SystemClock};
use mail::watches::RunState;
use serde_json::json;

use super::super::mail::ago::ago;
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

impl Failed {
    /// Prints the list.
    pub async fn run(self, post_office: &PostOffice, actor: Actor, as_json: bool) -> anyhow::Result<ExitCode> {
        let state = Some(RunState::Failed.as_str().into());
        let runs = post_office.ask(ListRuns { actor, state, ..ListRuns::default() }).await?;
        if runs.is_empty() && !as_json {
            output::note("Nothing failed.");
            return Ok(ExitCode::SUCCESS);
        }
        output::answer(as_json, &json!(runs), || {
            let now = SystemClock.now();
            let rows: Vec<[Cell; 4]> = runs.iter().map(|run| row(run, now)).collect();
            grid::lines(&COLUMNS, &GIVING, &rows, &Screen::of_stdout()).join("\n")
        });
        Ok(ExitCode::SUCCESS)
    }
}

fn row(run: &RunAnswer, now: Timestamp) -> [Cell; 4] {
    let place = if run.channel.is_empty() { "mailbox".to_owned() } else { format!("#{}", run.channel) };
    [run.message_id.to_string().into(), place.into(), ago(run.at.0, now).into(), run.note.clone().into()]
}

impl Retry {
    /// Gives the runs back, and says which they are.
    pub async fn run(self, post_office: &PostOffice, actor: Actor, as_json: bool) -> anyhow::Result<ExitCode> {
        let message_ids = self.ids.iter().map(ToString::to_string).collect();
        let again = post_office.ask(RetryRuns { actor, message_ids }).await?;
        output::answer(as_json, &json!({ "message_ids": again }), || {
            let named: Vec<String> = again.iter().map(ToString::to_string).collect();
            match again.len() {
                0 => "Nothing is tried again.".to_owned(),
                _ => format!("Tried again by the watcher: {}", named.join(", ")),
            }
        });
        let missed: Vec<String> = self.ids.iter().filter(|id| !again.contains(id)).map(ToString::to_string).collect();
        if missed.is_empty() {
            return Ok(ExitCode::SUCCESS);
        }
        output::note(&format!("Not among those that failed: {}. See: postrider watch failed", missed.join(", ")));
        Ok(ExitCode::FAILURE)
    }
}
