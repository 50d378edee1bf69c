//! The log: everything that happened in a project, and who did it.

use askama::Template;
use axum::extract::Path;
use mail::events::EventKind;
use mail::overview::AuditEntry;

use super::frame::Frame;
use super::markdown::line;
use super::refused::PageResult;
use super::visit::{PageQuery, Query, Visit};

/// How many events a page shows.
const EVENTS: usize = 100;

#[derive(Template)]
#[template(path = "log.html")]
struct EventsPage {
    frame: Frame,
    entries: Vec<AuditEntry>,
    is_paged: bool,
    before: Option<i64>,
}

/// `GET /p/{project}/log`
pub async fn show(Path(slug): Path<String>, Query(query): Query<PageQuery>, visit: Visit) -> PageResult {
    let project = visit.project(&slug).await?;
    let entries = visit.office().store().audit(project.id, query.before, EVENTS).await?;
    visit.page(&EventsPage {
        frame: visit.frame("Log", "log").about(&project),
        is_paged: query.before.is_some(),
        before: api::next(&entries, EVENTS, |entry| entry.event.seq).filter(|seq| *seq > 1),
        entries,
    })
}

impl EventsPage {
    /// What an event is about: a subject, or a number.
    fn about(&self, entry: &AuditEntry) -> String {
        let subject = line(entry.subject.as_deref().unwrap_or_default(), 160);
        if subject.is_empty() { format!("no. {}", entry.event.reference) } else { subject }
    }

    fn words(&self, kind: &EventKind) -> &'static str {
        match kind {
            EventKind::AgentRegistered => "joined",
            EventKind::AgentRetired => "was retired",
            EventKind::AgentRenamed => "has another name",
            EventKind::MessageSent => "sent",
            EventKind::MessageRead => "read",
            EventKind::MessageAcknowledged => "acknowledged",
            EventKind::MessageUnread => "marked unread",
            EventKind::MessageArchived => "put away",
            EventKind::MessageBroughtBack => "brought back",
            EventKind::ReservationGranted => "reserved",
            EventKind::ReservationReleased => "released",
            EventKind::PresenceChanged => "presence",
        }
    }
}
