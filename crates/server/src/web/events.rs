//! The log: everything that happened in a project, and who did it.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use jiff::Timestamp;
use mail::events::EventKind;
use mail::overview::AuditEntry;
use serde::Deserialize;

use super::frame::{Frame, PageKind};
use super::markdown::line;
use super::projects::named;
use super::refused::Refused;
use super::times::When;
use super::visit::{Asking, Visit};
use crate::http::Door;

/// How many events a page shows.
const EVENTS: usize = 100;

struct Entry {
    seq: i64,
    when: When,
    what: &'static str,
    by: String,
    about: String,
    address: Option<String>,
}

#[derive(Template)]
#[template(path = "log.html")]
struct EventsPage<'a> {
    frame: Frame,
    slug: &'a str,
    entries: Vec<Entry>,
    is_paged: bool,
    before: Option<i64>,
}

/// Where the page begins.
#[derive(Deserialize)]
pub struct Asked {
    before: Option<i64>,
}

/// `GET /p/{project}/log`
pub async fn show(
    State(door): State<Arc<Door>>,
    Path(slug): Path<String>,
    Asking(asked): Asking<Asked>,
    visit: Visit,
) -> Result<Response, Refused> {
    let office = door.office();
    let project = named(office, &slug).await?;
    let entries = office.store().audit(project.id, asked.before, EVENTS).await?;
    let now = office.now();
    let last = entries.last().filter(|_| entries.len() == EVENTS).map(|entry| entry.event.seq);
    let page = EventsPage {
        frame: Frame::new(&visit, "Log", PageKind::Log, Some(&project)),
        slug: &project.slug,
        is_paged: asked.before.is_some(),
        before: last.filter(|seq| *seq > 1),
        entries: entries.iter().map(|entry| shown(&project.slug, entry, now)).collect(),
    };
    visit.page(&page)
}

fn shown(slug: &str, entry: &AuditEntry, now: Timestamp) -> Entry {
    let event = &entry.event;
    let is_mail = event.kind.as_str().starts_with("message.");
    let about = line(entry.subject.as_deref().unwrap_or_default(), 160);
    Entry {
        seq: event.seq,
        when: When::ago(event.at, now),
        what: words(event.kind),
        by: line(entry.agent.as_deref().unwrap_or_default(), 64),
        about: if about.is_empty() { format!("no. {}", event.reference) } else { about },
        address: is_mail.then(|| format!("/p/{slug}/message/{}", event.reference)),
    }
}

fn words(kind: EventKind) -> &'static str {
    match kind {
        EventKind::AgentRegistered => "joined",
        EventKind::AgentRetired => "was retired",
        EventKind::MessageSent => "sent",
        EventKind::MessageRead => "read",
        EventKind::MessageAcknowledged => "acknowledged",
        EventKind::MessageUnread => "marked unread",
        EventKind::MessageArchived => "put away",
        EventKind::MessageBroughtBack => "brought back",
        EventKind::LeaseGranted => "reserved",
        EventKind::LeaseReleased => "released",
        EventKind::PresenceChanged => "presence",
    }
}
