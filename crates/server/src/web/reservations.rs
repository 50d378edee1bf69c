//! Who holds which files, until when, and who stands in line for them.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use jiff::Timestamp;
use mail::ids::LeaseId;
use mail::reservations::{Lease, Waiter};
use serde::Deserialize;

use super::frame::{Frame, PageKind};
use super::markdown::line;
use super::projects::named;
use super::refused::Refused;
use super::times::When;
use super::visit::{Asking, Visit};
use crate::http::Door;

/// How many leases a page shows.
const LEASES: usize = 200;

struct Held {
    id: i64,
    pattern: String,
    holder: String,
    reason: String,
    exclusive: bool,
    ends: When,
    wanted_by: usize,
}

struct InLine {
    ticket: i64,
    name: String,
    wants: String,
    behind: String,
}

#[derive(Template)]
#[template(path = "reservations.html")]
struct ReservationsPage<'a> {
    frame: Frame,
    slug: &'a str,
    leases: Vec<Held>,
    waiters: Vec<InLine>,
    next: Option<i64>,
}

/// Where the page begins, and what was just done.
#[derive(Deserialize)]
pub struct Asked {
    after: Option<i64>,
    done: Option<String>,
}

/// `GET /p/{project}/reservations`
pub async fn show(
    State(door): State<Arc<Door>>,
    Path(slug): Path<String>,
    Asking(asked): Asking<Asked>,
    visit: Visit,
) -> Result<Response, Refused> {
    let office = door.office();
    let project = named(office, &slug).await?;
    let now = office.now();
    let (_, leases) = office.leases(&project.slug, asked.after.map(LeaseId), LEASES).await?;
    let waiters = office.store().waiters(project.id, now).await?;
    let page = ReservationsPage {
        frame: Frame::new(&visit, "Reservations", PageKind::Reservations, Some(&project)).done(asked.done.as_deref()),
        slug: &project.slug,
        next: (leases.len() == LEASES).then(|| leases.last().map(|last| last.id.0)).flatten(),
        waiters: waiters.iter().map(|waiter| in_line(waiter, &leases)).collect(),
        leases: leases.iter().map(|lease| held(lease, &waiters, now)).collect(),
    };
    visit.page(&page)
}

fn held(lease: &Lease, waiters: &[Waiter], now: Timestamp) -> Held {
    Held {
        id: lease.id.0,
        pattern: line(lease.pattern.as_str(), 200),
        holder: line(&lease.holder_name, 64),
        reason: line(&lease.reason, 200),
        exclusive: lease.exclusive,
        ends: When::until(lease.ends_at, now),
        wanted_by: waiters.iter().filter(|waiter| waits_for(waiter, lease)).count(),
    }
}

fn in_line(waiter: &Waiter, leases: &[Lease]) -> InLine {
    let mut behind: Vec<&str> =
        leases.iter().filter(|lease| waits_for(waiter, lease)).map(|lease| lease.holder_name.as_str()).collect();
    behind.sort_unstable();
    behind.dedup();
    let wants: Vec<&str> = waiter.patterns.iter().map(|pattern| pattern.as_str()).collect();
    InLine {
        ticket: waiter.ticket.0,
        name: line(&waiter.agent_name, 64),
        wants: line(&wants.join(", "), 200),
        behind: line(&if behind.is_empty() { "others in line".to_owned() } else { behind.join(", ") }, 120),
    }
}

/// Whether a lease is in the way of somebody in line.
fn waits_for(waiter: &Waiter, lease: &Lease) -> bool {
    lease.holder != waiter.agent
        && (lease.exclusive || waiter.exclusive)
        && waiter.patterns.iter().any(|pattern| pattern.may_meet(&lease.pattern))
}
