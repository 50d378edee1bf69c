//! Who is there: presence, mail, what each holds, and who writes to whom.

use askama::Template;
use axum::extract::Path;
use jiff::Timestamp;
use mail::agents::{Agent, PERSON};
use mail::ids::AgentId;
use mail::presence::Present;

use super::frame::Frame;
use super::markdown::line;
use super::overview::at_most;
use super::picture;
use super::refused::PageResult;
use super::visit::{PageQuery, Query, Visit};
use super::who::Who;

/// How many agents a page shows, and how far their mail is counted.
const AGENTS: usize = 100;
const COUNTED: usize = 10_000;
/// How many messages are looked at for who writes to whom.
const LOOKED_AT: usize = 5_000;

struct AgentRow<'a> {
    agent: &'a Agent,
    who: Who,
    presence: String,
    seen: Option<Timestamp>,
    unread: String,
    open: usize,
    reservations: u64,
}

#[derive(Template)]
#[template(path = "agents.html")]
struct AgentsPage<'a> {
    frame: Frame,
    agents: Vec<AgentRow<'a>>,
    retired: Vec<&'a str>,
    next: Option<i64>,
    map: Option<String>,
    looked_at: usize,
}

/// `GET /p/{project}/agents`
pub async fn show(Path(slug): Path<String>, Query(query): Query<PageQuery>, visit: Visit) -> PageResult {
    let (store, now) = (visit.office().store(), visit.office().now());
    let project = visit.project(&slug).await?;
    let present = store.present(project.id, query.after.map(AgentId), AGENTS, now).await?;
    let (mut agents, mut retired) = (Vec::new(), Vec::new());
    for one in &present {
        let agent = &one.agent;
        if agent.retired_at.is_some() {
            retired.push(agent.name.as_str());
            continue;
        }
        agents.push(AgentRow {
            agent,
            who: Who { is_human: agent.program == PERSON, ..Who::called(&agent.name) },
            presence: one.shown(now),
            seen: one.presence.as_ref().map(|presence| presence.seen_at),
            unread: at_most(store.count_unread(project.id, Some(agent.id), COUNTED).await?, COUNTED),
            open: store.count_open(project.id, Some(agent.id)).await?.total,
            reservations: one.reservations,
        });
    }
    let pairs = store.correspondence(project.id, LOOKED_AT).await?;
    let is_awake = |name: &str| present.iter().any(|one| one.agent.name == name && is_awake(one, now));
    visit.page(&AgentsPage {
        frame: visit.frame("Agents", "agents").about(&project).done(query.done.as_deref()),
        agents,
        retired,
        next: api::next(&present, AGENTS, |last| last.agent.id.0),
        map: picture::map(&pairs, is_awake),
        looked_at: LOOKED_AT,
    })
}

impl AgentRow<'_> {
    fn dot(&self) -> &'static str {
        dot(&self.presence)
    }

    /// The program and the model.
    fn program(&self) -> String {
        [&self.agent.program, &self.agent.model].map(|word| line(word, 40)).join(" ").trim().to_owned()
    }
}

/// Whether an agent is awake to whoever looks at `now`.
pub fn is_awake(present: &Present, now: Timestamp) -> bool {
    dot(&present.shown(now)) == "awake"
}

/// How a presence looks.
fn dot(shown: &str) -> &'static str {
    let shown = shown.to_ascii_uppercase();
    if shown.contains("STALE") {
        "stale"
    } else if shown.starts_with(mail::presence::AWAKE) {
        "awake"
    } else {
        "off"
    }
}
