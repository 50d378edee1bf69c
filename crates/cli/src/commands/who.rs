//! `postrider who`: who is there, since when, and what it is at.
//!
//! Asks the office and shows what it says. Looking is no sign of life: nobody becomes awake by it.

mod agents_table;

use std::process::ExitCode;

use api::ListAgents;
use api::answers::PresentAnswer;
use clap::Args;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::watching::{self, Question};
use crate::config::Config;
use crate::output::Screen;
use crate::post_office::{self, InProject, PostOffice, Refused, pages, resource};

const EXAMPLES: &str = "\
Whatever an agent does says that it is awake: a call of a tool, a hook, a command here. Its watcher, or the
heartbeat file of an agent elsewhere, also says what it is at. Who says that it is awake and is silent for over
300 seconds is STALE.

Examples:
  postrider who                     the agents of the project in the current folder, those who are awake first
  postrider who --watch             the same, drawn again whenever somebody comes or goes
  postrider who GreenDog --json     one agent, for a program";

/// Show who is there: who is awake, since when, and what it is at.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Who {
    /// Only this agent
    agent: Option<String>,
    /// Stay, and show the table again whenever it changes; Ctrl-C ends it
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    project: InProject,
}

impl Who {
    /// Prints the table; exit code 1 when the office refuses.
    pub fn run(self, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        let asked = Everybody { project: self.project.key()?, agent: self.agent };
        post_office::visit(config, &asked.project, async |post_office: &PostOffice| {
            let done = match self.watch {
                true => watching::watch(post_office, &asked, as_json).await,
                false => watching::show(post_office, &asked, as_json).await,
            };
            done.map_err(|error| advised(error, &self.project)).map(|()| ExitCode::SUCCESS)
        })
    }
}

/// Everybody in a project, or one of them.
struct Everybody {
    project: String,
    agent: Option<String>,
}

/// What programs are told.
#[derive(Serialize)]
struct ListedAgents {
    /// The slug of the project.
    project: String,
    agents: Vec<PresentAnswer>,
    /// Whether there are more than are worth reading.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    has_more: bool,
}

impl Question for Everybody {
    type Answer = ListedAgents;

    async fn ask(&self, post_office: &PostOffice) -> Result<ListedAgents, Refused> {
        // Agents elsewhere tell of themselves in the folder.
        post_office.settle_channels().await;
        let mut project = String::new();
        let read = pages::all(async |after| {
            let (project_key, agent_name) = (self.project.clone(), self.agent.clone());
            let request = ListAgents { project_key, agent_name, after, limit: Some(pages::MOST_AT_ONCE) };
            let page = post_office.ask(request).await?;
            project = page.project.slug;
            Ok((page.agents, page.next))
        });
        let (mut agents, has_more) = read.await?;
        // Whoever was named is told, retired or not; in the list of all, who is retired would only be in the way.
        agents.retain(|one| self.agent.is_some() || one.agent.retired_ts.is_none());
        Ok(ListedAgents { project, agents, has_more })
    }

    fn watched(&self) -> String {
        resource("agents", &self.project, &[])
    }

    fn text(&self, answer: &ListedAgents, now: Timestamp, screen: &Screen) -> String {
        if answer.agents.is_empty() {
            return "Nobody is here yet. An agent appears when it registers or joins: postrider join NAME.".to_owned();
        }
        let mut text = agents_table::text(&answer.agents, now, screen);
        if answer.has_more {
            text.push_str("\nThere are more agents; name one to see it.");
        }
        text
    }

    /// That somebody was seen again is no news.
    fn news(&self, answer: &ListedAgents) -> Value {
        let mut json = json!(answer);
        for agent in json["agents"].as_array_mut().into_iter().flatten() {
            agent["last_active_ts"].take();
            agent["presence"]["seen_ts"].take();
        }
        json
    }
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
