//! `postrider work`: how it stands with the work of a project, as its mail tells it.
//!
//! Asks the office and shows what it says; what an item's state is, is decided there. Changes nothing.

mod board;
mod item;
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

use super::watching::{self, Question};
use crate::config::Config;
use crate::output::{self, Screen};
use crate::post_office::{self, InProject, PostOffice, Refused, pages, resource};

const EXAMPLES: &str = "\
Items come from typed messages that name them, such as '[bd-42] PROGRESS' or JSON with a task_id; nobody has to make them.

Examples:
  postrider work                            the work of the project in the current folder
  postrider work --watch                    the same, drawn again whenever mail arrives
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
    #[command(flatten)]
    table: Table,
    #[command(subcommand)]
    command: Option<More>,
}

/// What the table shows.
#[derive(Args, Debug)]
struct Table {
    /// Only items in this state: mentioned, assigned, accepted, in_progress, help_wanted, overdue, done, failed, checkpointed,
    /// spawn_requested or spawned
    #[arg(long, value_name = "NAME")]
    state: Option<String>,
    /// Only items that this agent is on
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Stay, and show the table again whenever it changes; Ctrl-C ends it
    #[arg(long)]
    watch: bool,
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
        let key = self.project.key()?;
        let Self { project, table, command } = self;
        if command.is_some() && (table.state.is_some() || table.agent.is_some() || table.watch) {
            bail!("--state, --agent and --watch are for the table; leave them out to show one item");
        }
        post_office::visit(config, &key, async |post_office: &PostOffice| {
            let done = match command {
                Some(More::Show { id }) => show(post_office, &key, &id, as_json).await,
                None if table.watch => watching::watch(post_office, &table.question(&key), as_json).await,
                None => watching::show(post_office, &table.question(&key), as_json).await,
            };
            done.map_err(|error| advised(error, &project)).map(|()| ExitCode::SUCCESS)
        })
    }
}

impl Table {
    fn question(&self, key: &str) -> Items {
        Items {
            project: key.to_owned(),
            state: self.state.as_deref().map(|state| state.trim().to_ascii_lowercase().replace(['-', ' '], "_")),
            agent: self.agent.clone(),
        }
    }
}

/// Which items are asked for.
struct Items {
    project: String,
    state: Option<String>,
    agent: Option<String>,
}

/// The items that were asked for.
#[derive(Serialize)]
struct Board {
    project: String,
    items: Vec<WorkAnswer>,
    #[serde(skip_serializing_if = "Not::not")]
    has_more: bool,
}

impl Question for Items {
    type Answer = Board;

    async fn ask(&self, post_office: &PostOffice) -> Result<Board, Refused> {
        let mut project = String::new();
        let read = pages::all(async |before_id| {
            let request = ListWork {
                project_key: self.project.clone(),
                state: self.state.clone(),
                agent: self.agent.clone(),
                before_id,
                limit: Some(pages::MOST_AT_ONCE),
            };
            let page = post_office.ask(request).await?;
            project = page.project;
            Ok((page.items, page.next))
        });
        let (items, has_more) = read.await?;
        Ok(Board { project, items, has_more })
    }

    /// What is watched: all the work of the project, since what leaves a state changes its table too.
    fn watched(&self) -> String {
        resource("work", &self.project, &[])
    }

    fn text(&self, board: &Board, now: Timestamp, screen: &Screen) -> String {
        if board.items.is_empty() {
            return self.nothing();
        }
        let mut text = board::text(&board.items, now, screen);
        if board.has_more {
            text.push_str("\nThese changed last; there are more. Narrow them down with --state or --agent.");
        }
        text
    }
}

impl Items {
    /// What is said instead of a table without rows.
    fn nothing(&self) -> String {
        if self.state.is_none() && self.agent.is_none() {
            return "No work yet. An item appears with the first typed message that names it: a subject such as \
                    '[bd-42] PROGRESS', or JSON with a task_id."
                .to_owned();
        }
        let state = self.state.as_deref().map(|state| format!(" that is {}", board::state_name(state)));
        let agent = self.agent.as_deref().map(|agent| format!(" with '{agent}' on it"));
        let (state, agent) = (state.unwrap_or_default(), agent.unwrap_or_default());
        output::text::lines(&format!("No work item{state}{agent}. Without --state and --agent all items are shown."))
    }
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

async fn show(post_office: &PostOffice, key: &str, id: &str, as_json: bool) -> anyhow::Result<()> {
    let mut head = None;
    let read = pages::all(async |after_id| {
        let (project_key, work_id) = (key.to_owned(), id.to_owned());
        let request = ReadWork { project_key, work_id, after_id, limit: Some(pages::MOST_AT_ONCE) };
        let page = post_office.ask(request).await?;
        head = Some((page.project, page.item));
        Ok((page.story, page.next))
    });
    let (story, has_more) = read.await?;
    let (project, item) = head.expect("at least one page was read");
    let story = Story { project, item, story, has_more };
    output::answer(as_json, &json!(story), || story::text(&story, SystemClock.now(), &Screen::of_stdout()));
    Ok(())
}

/// Adds what somebody at a terminal can do about a refusal.
fn advised(error: anyhow::Error, project: &InProject) -> anyhow::Error {
    match error.downcast::<Refused>() {
        Ok(refused) => match refused.code.as_str() {
            "PROJECT_NOT_FOUND" => project.advised(refused),
            _ => refused,
        }
        .into(),
        Err(error) => error,
    }
}
