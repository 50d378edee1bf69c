//! Who holds which files, until when, and who stands in line for them.

use askama::Template;
use axum::extract::Path;
use mail::ids::ReservationId;
use mail::reservations::{Reservation, Waiter};

use super::frame::Frame;
use super::refused::PageResult;
use super::visit::{PageQuery, Query, Visit};

/// How many reservations a page shows.
const RESERVATIONS: usize = 200;

#[derive(Template)]
#[template(path = "reservations.html")]
struct ReservationsPage {
    frame: Frame,
    reservations: Vec<Reservation>,
    waiters: Vec<Waiter>,
    next: Option<i64>,
}

/// `GET /p/{project}/reservations`
pub async fn show(Path(slug): Path<String>, Query(query): Query<PageQuery>, visit: Visit) -> PageResult {
    let office = visit.office();
    let project = visit.project(&slug).await?;
    let (_, reservations) = office.reservations(&project.slug, query.after.map(ReservationId), RESERVATIONS).await?;
    visit.page(&ReservationsPage {
        frame: visit.frame("Reservations", "reservations").about(&project).done(query.done.as_deref()),
        waiters: office.store().waiters(project.id, office.now()).await?,
        next: api::next(&reservations, RESERVATIONS, |last| last.id.0),
        reservations,
    })
}

impl ReservationsPage {
    /// How many wait for a reservation to end.
    fn waiting_for(&self, reservation: &Reservation) -> usize {
        self.waiters.iter().filter(|waiter| waits_for(waiter, reservation)).count()
    }

    /// What somebody in line wants.
    fn wants(&self, waiter: &Waiter) -> String {
        waiter.patterns.iter().map(|pattern| pattern.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Who has what somebody in line wants.
    fn behind(&self, waiter: &Waiter) -> String {
        let waited_for = self.reservations.iter().filter(|reservation| waits_for(waiter, reservation));
        let mut holders: Vec<&str> = waited_for.map(|reservation| reservation.holder_name.as_str()).collect();
        holders.sort_unstable();
        holders.dedup();
        if holders.is_empty() { "others in line".to_owned() } else { holders.join(", ") }
    }
}

/// Whether a reservation is in the way of somebody in line.
fn waits_for(waiter: &Waiter, reservation: &Reservation) -> bool {
    reservation.holder != waiter.agent
        && (reservation.exclusive || waiter.exclusive)
        && waiter.patterns.iter().any(|pattern| pattern.may_meet(&reservation.pattern))
}
