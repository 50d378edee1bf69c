//! Who is there: presence, mail, what each holds, and who writes to whom.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use jiff::Timestamp;
use mail::agents::PERSON;
use mail::ids::AgentId;
use mail::presence::Present;
use mail::projects::Project;
use mail::{Office, StoreError};
use serde::Deserialize;

use super::frame::{Frame, PageKind};
use super::markdown::line;
use super::overview::at_most;
use super::picture;
use super::projects::named;
use super::refused::Refused;
use super::times::When;
use super::visit::{Asking, Visit, encoded};
use super::who::Who;
use crate::http::Door;

/// How many agents a page shows, and how far their mail is counted.
const AGENTS: usize = 100;
const COUNTED: usize = 10_000;
/// How many messages are looked at for who writes to whom.
const LOOKED_AT: usize = 5_000;

struct AgentRow {
    id: i64,
    who: Who,
    whole_name: String,
    encoded: String,
    program: String,
    presence: String,
    dot: &'static str,
    seen: Option<When>,
    unread: String,
    open: usize,
    leases: u64,
    task: String,
    can_retire: bool,
}

#[derive(Template)]
#[template(path = "agents.html")]
struct AgentsPage<'a> {
    frame: Frame,
    slug: &'a str,
    agents: Vec<AgentRow>,
    retired: Vec<String>,
    next: Option<i64>,
    map: Option<String>,
    looked_at: usize,
}

/// Where the page begins, and what was just done.
#[derive(Deserialize)]
pub struct Asked {
    after: Option<i64>,
    done: Option<String>,
}

/// `GET /p/{project}/agents`
pub async fn show(
    State(door): State<Arc<Door>>,
    Path(slug): Path<String>,
    Asking(asked): Asking<Asked>,
    visit: Visit,
) -> Result<Response, Refused> {
    let office = door.office();
    let project = named(office, &slug).await?;
    let now = office.now();
    let present = office.store().present(project.id, asked.after.map(AgentId), AGENTS, now).await?;
    let next = (present.len() == AGENTS).then(|| present.last().map(|last| last.agent.id.0)).flatten();
    let (mut agents, mut retired) = (Vec::new(), Vec::new());
    for present in &present {
        if present.agent.retired_at.is_some() {
            retired.push(line(&present.agent.name, 64));
        } else {
            agents.push(row(office, &project, present, &visit.person, now).await?);
        }
    }
    let pairs = office.store().correspondence(project.id, LOOKED_AT).await?;
    let is_awake = |name: &str| present.iter().any(|one| one.agent.name == name && is_awake(one, now));
    let page = AgentsPage {
        frame: Frame::new(&visit, "Agents", PageKind::Agents, Some(&project)).done(asked.done.as_deref()),
        slug: &project.slug,
        agents,
        retired,
        next,
        map: picture::map(&pairs, is_awake),
        looked_at: LOOKED_AT,
    };
    visit.page(&page)
}

async fn row(
    office: &Office,
    project: &Project,
    present: &Present,
    person: &str,
    now: Timestamp,
) -> Result<AgentRow, StoreError> {
    let agent = &present.agent;
    let unread = office.store().count_unread(project.id, Some(agent.id), COUNTED).await?;
    let open = office.store().count_open(project.id, Some(agent.id)).await?.total;
    let program = [&agent.program, &agent.model].map(|word| line(word, 40)).join(" ");
    let seen = present.presence.as_ref().map(|presence| presence.seen_at);
    let shown = present.shown(now);
    Ok(AgentRow {
        id: agent.id.0,
        who: Who { is_human: agent.program == PERSON, ..Who::called(&agent.name) },
        encoded: encoded(&agent.name),
        program: program.trim().to_owned(),
        dot: dot(&shown),
        presence: shown.to_lowercase(),
        seen: seen.map(|time| When::ago(time, now)),
        unread: at_most(unread, COUNTED),
        open,
        leases: present.leases,
        task: line(&agent.task_description, 160),
        can_retire: agent.name != person,
        whole_name: agent.name.clone(),
    })
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
