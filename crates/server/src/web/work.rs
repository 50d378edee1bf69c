//! The board: every piece of work by how it stands, as typed messages tell it.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use jiff::Timestamp;
use mail::ids::MessageId;
use mail::office::WorkAsk;
use mail::work::{State as Stands, WorkItem};
use serde::Deserialize;

use super::frame::{Frame, PageKind};
use super::markdown::line;
use super::projects::named;
use super::refused::Refused;
use super::times::When;
use super::visit::{Asking, Visit};
use crate::http::Door;

/// How many items a page shows.
const ITEMS: usize = 200;
/// How many items of a column are shown before one asks for more.
const SHOWN: usize = 12;
/// How much is shown of what was said, in characters.
const SAID: usize = 240;

/// The columns, and the states that stand in each.
const COLUMNS: [(&str, &str, &[&str]); 5] = [
    ("help", "Help wanted", &["help_wanted"]),
    ("open", "To do", &["mentioned", "assigned", "spawn_requested", "spawned"]),
    ("doing", "In progress", &["accepted", "in_progress", "checkpointed"]),
    ("done", "Done", &["done"]),
    ("failed", "Failed", &["failed"]),
];

/// A piece of work.
pub struct Item {
    /// Its id, cut if it is long.
    pub id: String,
    /// Where its story can be read.
    pub address: String,
    /// What it is called.
    pub title: String,
    /// How it stands, and how that looks.
    pub state: String,
    pub tone: &'static str,
    pub agent: String,
    /// What was said last.
    pub detail: String,
    /// How far it is.
    pub percent: Option<u8>,
    /// When it changed.
    pub when: When,
    /// The message that asks for help, while nobody has answered it.
    pub question: Option<i64>,
    /// Who has to acknowledge something about it.
    pub acks: String,
    name: &'static str,
}

/// A piece of work as pages show it.
pub fn item(slug: &str, item: &WorkItem, now: Timestamp) -> Item {
    let mut waiting: Vec<&str> = item.open_acks.iter().map(|ack| ack.agent.as_str()).collect();
    waiting.dedup();
    let (detail, tone) = said(&item.state);
    let percent = match &item.state {
        Stands::InProgress(progress) => progress.percent.map(|percent| percent.clamp(0.0, 100.0) as u8),
        _ => None,
    };
    Item {
        id: line(&item.id, 60),
        address: format!("/p/{slug}/message/{}", item.changed_by),
        title: line(&item.title, SAID),
        state: item.state.name().replace('_', " "),
        tone,
        agent: line(&item.agent, 64),
        detail: line(&detail, SAID),
        percent,
        when: When::ago(item.changed_at, now),
        question: match &item.state {
            Stands::HelpWanted(question) => Some(question.message.0),
            _ => None,
        },
        acks: line(&waiting.join(", "), 120),
        name: item.state.name(),
    }
}

/// What a state says more, and how it looks.
fn said(state: &Stands) -> (String, &'static str) {
    let joined = |parts: &[&str]| {
        let told: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
        told.join(" · ")
    };
    match state {
        Stands::Mentioned | Stands::Assigned | Stands::Accepted => (String::new(), "blue"),
        Stands::InProgress(progress) => {
            let percent = progress.percent.map(|percent| format!("{percent:.0}%")).unwrap_or_default();
            (joined(&[&percent, &progress.step, &progress.status]), "blue")
        }
        Stands::HelpWanted(question) => {
            let asked = if question.question.is_empty() { &question.problem } else { &question.question };
            let late = if question.overdue { "overdue" } else { "" };
            (joined(&[late, &question.issue, asked]), "red")
        }
        Stands::Done(outcome) => {
            let offered = if outcome.offered { "waits for review" } else { "" };
            (joined(&[offered, &outcome.commit, &outcome.summary]), "green")
        }
        Stands::Failed(failure) => (joined(&[&failure.failure_type, &failure.reason]), "red"),
        Stands::Checkpointed(left) => (joined(&[&left.reason, &left.progress, &left.next_steps]), "amber"),
        Stands::SpawnRequested { orchestrator, .. } => (format!("wanted by {orchestrator}"), "amber"),
        Stands::Spawned { session } => (session.clone(), "blue"),
    }
}

struct BoardColumn {
    name: &'static str,
    title: &'static str,
    count: usize,
    items: Vec<Item>,
    /// Those that changed longer ago.
    older: Vec<Item>,
}

#[derive(Template)]
#[template(path = "work.html")]
struct WorkPage<'a> {
    frame: Frame,
    slug: &'a str,
    columns: Vec<BoardColumn>,
    is_empty: bool,
    next: Option<i64>,
}

/// Where the page begins.
#[derive(Deserialize)]
pub struct Asked {
    before: Option<i64>,
}

/// `GET /p/{project}/work`
pub async fn show(
    State(door): State<Arc<Door>>,
    Path(slug): Path<String>,
    Asking(asked): Asking<Asked>,
    visit: Visit,
) -> Result<Response, Refused> {
    let office = door.office();
    let project = named(office, &slug).await?;
    let before = asked.before.map(MessageId);
    let ask = WorkAsk { project_key: &project.slug, state: None, agent: None, before, limit: ITEMS };
    let board = office.work(ask).await?;
    let now = office.now();
    let mut items: Vec<Item> = board.items.iter().map(|one| item(&project.slug, one, now)).collect();
    let is_empty = items.is_empty();
    let columns = COLUMNS.map(|(name, title, states)| {
        let mut items: Vec<Item> = items.extract_if(.., |item| states.contains(&item.name)).collect();
        let (count, older) = (items.len(), items.split_off(items.len().min(SHOWN)));
        BoardColumn { name, title, count, items, older }
    });
    let page = WorkPage {
        frame: Frame::new(&visit, "Work", PageKind::Work, Some(&project)),
        slug: &project.slug,
        // Trouble has a place of its own only while there is some.
        columns: columns.into_iter().filter(|column| column.name == "doing" || !column.items.is_empty()).collect(),
        is_empty,
        next: board.next.map(|next| next.0),
    };
    visit.page(&page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_stands_in_one_column() {
        for state in Stands::NAMES {
            let columns = COLUMNS.iter().filter(|(_, _, states)| states.contains(&state)).count();
            assert_eq!(columns, 1, "{state}");
        }
    }
}
