//! `postrider work`: how it stands with the work of a project, as its mail tells it.
//!
//! Asks the office and shows what it says; what an item's state is, is decided there. Changes nothing.

mod board;
mod story;

use std::ops::Not;
use std::process::ExitCode;

use anyhow::bail;
use api::answers::{StoryAnswer, WorkAnswer};
use api::{ListWork, ReadWork};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use mail::clock::{Clock, SystemClock};
use serde::Serialize;
use serde_json::json;

use super::watching::{Staying, WatchedTable};
use crate::config::Config;
use crate::output::{self, Screen};
use crate::post_office::{InProject, PostOffice, Refused, pages, resource};

const EXAMPLES: &str = "\
Items come from typed messages that name them, such as '[bd-42] PROGRESS' or JSON with a task_id; nobody has to make them.

Examples:
  postrider work                            the work of the project in the current folder
  postrider work --watch                    the same, drawn again whenever mail arrives
  postrider work --ready                    what could start now
  postrider work --state overdue            who has waited too long for help
  postrider work --agent GreenDog --json    what GreenDog is on, for a program
  postrider work show bd-42                 one item in full, and its story";

/// As clap writes it, what the environment sets looks required too.
const SHOW_USAGE: &str = "postrider work show [OPTIONS] <ID>";

const SHOW_EXAMPLE: &str = "\
Example:
  postrider work show bd-42 --project /data/projects/app";

/// Show the work of a project: who is on what, how far, and who waits for help.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Work {
    #[command(flatten)]
    project: InProject,
    /// Only items in this state: mentioned, assigned, accepted, in_progress, help_wanted, overdue, waiting, late, done, failed,
    /// checkpointed, spawn_requested or spawned
    #[arg(long, value_name = "NAME")]
    state: Option<String>,
    /// Only what could start now: assigned, and all that it depends on is done
    #[arg(long, conflicts_with = "state")]
    ready: bool,
    /// Only items that this agent is on
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    #[command(flatten)]
    staying: Staying,
    #[command(subcommand)]
    command: Option<More>,
}

#[derive(Subcommand, Debug)]
enum More {
    /// Show one item in full, and every message about it
    #[command(override_usage = SHOW_USAGE, after_help = SHOW_EXAMPLE)]
    Show {
        /// The id of the item, as the table shows it
        id: String,
    },
}

impl Work {
    /// Prints the table, or one item; exit code 1 when the office refuses.
    pub fn run(self, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        let Self { project, state, ready, agent, staying, command } = self;
        let state = state.or(ready.then(|| "ready".to_owned()));
        if command.is_some() && (state.is_some() || agent.is_some() || staying.watch) {
            bail!("--state, --ready, --agent and --watch are for the table; leave them out to show one item");
        }
        project.visit(config, async |post_office, key| {
            if let Some(More::Show { id }) = command {
                return show(post_office, key, &id, as_json).await;
            }
            let request = ListWork {
                project_key: key.to_owned(),
                state: state.map(|state| state.trim().to_ascii_lowercase().replace(['-', ' '], "_")),
                agent,
                limit: Some(pages::MOST_AT_ONCE),
                ..ListWork::default()
            };
            staying.show(post_office, &request, as_json).await
        })
    }
}

/// The items that were asked for.
#[derive(Serialize)]
pub struct Board {
    project: String,
    items: Vec<WorkAnswer>,
    #[serde(skip_serializing_if = "Not::not")]
    has_more: bool,
}

impl WatchedTable for ListWork {
    type Answer = Board;

    async fn ask(&self, post_office: &PostOffice) -> Result<Board, Refused> {
        let turn = |request: &mut Self, next| request.before_id = Some(next);
        let (page, has_more) = pages::all(post_office, self.clone(), turn, |page| (&mut page.items, page.next)).await?;
        Ok(Board { project: page.project, items: page.items, has_more })
    }

    /// What is watched: all the work of the project, since what leaves a state changes its table too.
    fn watched(&self) -> String {
        resource("work", &self.project_key, &[])
    }

    fn text(&self, board: &Board, now: Timestamp, screen: &Screen) -> String {
        if board.items.is_empty() {
            return nothing(self);
        }
        let mut text = board::text(&board.items, now, screen);
        if board.has_more {
            text.push_str("\nThese changed last; there are more. Narrow them down with --state or --agent.");
        }
        text
    }
}

/// What is said instead of a table without rows.
fn nothing(ListWork { state, agent, .. }: &ListWork) -> String {
    if state.is_none() && agent.is_none() {
        return "No work yet. An item appears with the first typed message that names it: a subject such as \
                '[bd-42] PROGRESS', or JSON with a task_id."
            .to_owned();
    }
    let state = state.as_deref().map(|state| format!(" that is {}", board::state_name(state))).unwrap_or_default();
    let agent = agent.as_deref().map(|agent| format!(" with '{agent}' on it")).unwrap_or_default();
    output::text::lines(&format!("No work item{state}{agent}. Without --state and --agent all items are shown."))
}

/// One item, and what was said of it.
#[derive(Serialize)]
struct Story {
    project: String,
    item: WorkAnswer,
    story: Vec<StoryAnswer>,
    #[serde(skip_serializing_if = "Not::not")]
    has_more: bool,
}

async fn show(post_office: &PostOffice, key: &str, id: &str, as_json: bool) -> anyhow::Result<ExitCode> {
    let (project_key, work_id) = (key.to_owned(), id.to_owned());
    let request = ReadWork { project_key, work_id, after_id: None, limit: Some(pages::MOST_AT_ONCE) };
    let turn = |request: &mut ReadWork, next| request.after_id = Some(next);
    let (page, has_more) = pages::all(post_office, request, turn, |page| (&mut page.story, page.next)).await?;
    let story = Story { project: page.project, item: page.item, story: page.story, has_more };
    Ok(output::answer(as_json, &json!(story), || story::text(&story, SystemClock.now(), &Screen::of_stdout().uncut())))
}
