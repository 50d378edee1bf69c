//! The board: every piece of work by how it stands, as typed messages tell it.

use askama::Template;
use axum::extract::Path;
use mail::ids::MessageId;
use mail::office::WorkRequest;
use mail::work::{State as Stands, WorkItem};

use super::frame::Frame;
use super::refused::PageResult;
use super::visit::{PageQuery, Query, Visit};

/// How many items a page shows.
const ITEMS: usize = 200;
/// How many items of a column are shown before one asks for more.
const SHOWN: usize = 12;
/// The columns, and the states that stand in each.
const COLUMNS: [(&str, &str, &[&str]); 5] = [
    ("help", "Help wanted", &["help_wanted"]),
    ("open", "To do", &["mentioned", "assigned", "spawn_requested", "spawned"]),
    ("doing", "In progress", &["accepted", "in_progress", "checkpointed"]),
    ("done", "Done", &["done"]),
    ("failed", "Failed", &["failed"]),
];

/// A piece of work as pages show it.
pub struct WorkRow {
    pub work: WorkItem,
    /// What was said last.
    pub detail: String,
    /// How its state looks.
    pub tone: &'static str,
    /// How far it is.
    pub percent: Option<u8>,
    /// The message that asks for help, while nobody has answered it.
    pub question: Option<i64>,
}

impl WorkRow {
    pub fn new(work: WorkItem) -> Self {
        let (detail, tone) = said(&work.state);
        let (detail, tone) = (with_task(&work, detail), if work.late { "red" } else { tone });
        let (percent, question) = match &work.state {
            Stands::InProgress(progress) => (progress.percent.map(|percent| percent.clamp(0.0, 100.0) as u8), None),
            Stands::HelpWanted(question) => (None, Some(question.message.0)),
            _ => (None, None),
        };
        Self { work, detail, tone, percent, question }
    }

    /// Who has to acknowledge something about it.
    fn acks(&self) -> String {
        let mut waiting: Vec<&str> = self.work.open_acks.iter().map(|ack| ack.agent.as_str()).collect();
        waiting.dedup();
        waiting.join(", ")
    }
}

/// The same behind what it waits for, and whether it is late.
fn with_task(work: &WorkItem, detail: String) -> String {
    let waiting = work.waiting_for.join(", ");
    let waiting = if waiting.is_empty() { waiting } else { format!("waiting for {waiting}") };
    let late = if work.late { "late" } else { "" };
    joined(&[late, &waiting, &detail])
}

fn joined(parts: &[&str]) -> String {
    let told: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    told.join(" · ")
}

/// What a state says more, and how it looks.
fn said(state: &Stands) -> (String, &'static str) {
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
    items: Vec<WorkRow>,
    /// Those that changed longer ago.
    older: Vec<WorkRow>,
}

#[derive(Template)]
#[template(path = "work.html")]
struct WorkPage {
    frame: Frame,
    columns: Vec<BoardColumn>,
    is_empty: bool,
    next: Option<i64>,
}

/// `GET /p/{project}/work`
pub async fn show(Path(slug): Path<String>, Query(query): Query<PageQuery>, visit: Visit) -> PageResult {
    let project = visit.project(&slug).await?;
    let before = query.before.map(MessageId);
    let request = WorkRequest { project_key: &project.slug, state: None, agent: None, before, limit: ITEMS };
    let board = visit.office().work(request).await?;
    let mut items: Vec<WorkRow> = board.items.into_iter().map(WorkRow::new).collect();
    let is_empty = items.is_empty();
    let columns = COLUMNS.map(|(name, title, states)| {
        let mut items: Vec<WorkRow> = items.extract_if(.., |item| states.contains(&item.work.state.name())).collect();
        let (count, older) = (items.len(), items.split_off(items.len().min(SHOWN)));
        BoardColumn { name, title, count, items, older }
    });
    visit.page(&WorkPage {
        frame: visit.frame("Work", "work").about(&project),
        // Trouble has a place of its own only while there is some.
        columns: columns.into_iter().filter(|column| column.name == "doing" || !column.items.is_empty()).collect(),
        is_empty,
        next: board.next.map(|next| next.0),
    })
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
