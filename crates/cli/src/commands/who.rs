//! `postrider who`: who is there, since when, and what it is at.
//!
//! Asks the office and shows what it says. Looking is no sign of life: nobody becomes awake by it.

mod table;

use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::watching::{self, Question};
use crate::config::Config;
use crate::output::Screen;
use crate::post_office::pages::{self, Pages};
use crate::post_office::{self, InProject, PostOffice, Refused, resource};
use table::Agent;

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

#[derive(Serialize)]
struct Answer {
    #[serde(flatten)]
    json: Value,
    #[serde(skip)]
    has_more: bool,
}

impl Question for Everybody {
    type Answer = Answer;

    async fn ask(&self, post_office: &PostOffice) -> Result<Answer, Refused> {
        // Agents elsewhere tell of themselves in the folder.
        post_office.settle_channels().await;
        let before = match &self.agent {
            Some(agent) => Some(number_before(post_office, &self.project, agent).await?),
            None => None,
        };
        let limit = if before.is_some() { "1" } else { pages::PAGE };
        let keys = [("after", before.as_deref()), ("limit", Some(limit))];
        let uri = resource("agents", &self.project, &keys);
        let Pages { last, entries, has_more } = match before {
            Some(_) => one_page(post_office.read(&uri).await?),
            None => pages::read(post_office, uri, "agents").await?,
        };
        // Whoever was named is told, retired or not; in the list of all, who is retired would only be in the way.
        let is_told = |agent: &Value| self.agent.is_some() || agent["retired_ts"].is_null();
        let entries: Vec<Value> = entries.into_iter().filter(is_told).collect();
        let mut json = json!({ "project": last["project"]["slug"], "agents": entries });
        if has_more {
            json["has_more"] = true.into();
        }
        Ok(Answer { json, has_more })
    }

    fn watched(&self) -> String {
        resource("agents", &self.project, &[])
    }

    fn text(&self, answer: &Answer, now: Timestamp, screen: &Screen) -> anyhow::Result<String> {
        let agents = Vec::<Agent>::deserialize(&answer.json["agents"]).context("the list of agents cannot be read")?;
        if agents.is_empty() {
            return Ok(
                "Nobody is here yet. An agent appears when it registers or joins: postrider join NAME.".to_owned()
            );
        }
        let mut text = table::text(agents, now, screen);
        if answer.has_more {
            text.push_str("\nThere are more agents; name one to see it.");
        }
        Ok(text)
    }

    /// That somebody was seen again is no news.
    fn news(&self, answer: &Answer) -> Value {
        let mut json = answer.json.clone();
        for agent in json["agents"].as_array_mut().into_iter().flatten() {
            agent["last_active_ts"].take();
            agent["presence"]["seen_ts"].take();
        }
        json
    }
}

/// The number before an agent's own: the list goes on with that agent.
async fn number_before(post_office: &PostOffice, project: &str, agent: &str) -> Result<String, Refused> {
    let about = post_office.call("whois", json!({ "project_key": project, "agent_name": agent })).await?;
    Ok((about["id"].as_i64().unwrap_or(1) - 1).to_string())
}

fn one_page(mut last: Value) -> Pages {
    let entries = match last["agents"].take() {
        Value::Array(entries) => entries,
        _ => Vec::new(),
    };
    Pages { last, entries, has_more: false }
}

/// Adds what somebody at a terminal can do about a refusal.
fn advised(error: anyhow::Error, project: &InProject) -> anyhow::Error {
    match error.downcast::<Refused>() {
        Ok(refused) => match refused.code.as_str() {
            "PROJECT_NOT_FOUND" => project.advised(refused),
            "AGENT_NOT_FOUND" => refused.advised("'postrider who' lists everybody."),
            _ => refused,
        }
        .into(),
        Err(error) => error,
    }
}
