//! Reservations and the line for them.
//!
//! What is decided is decided by the lease book of `mail`, while nobody else writes in the project; this file sees to it
//! that the book tells what the rows tell, and writes down what was decided. Reservations that ended or were released stay
//! in the table as history.

mod rows;

use async_trait::async_trait;
use futures_util::FutureExt;
use jiff::Timestamp;
use mail::StoreError;
use mail::events::EventKind;
use mail::ids::{AgentId, LeaseId, ProjectId, TicketId};
use mail::reservations::pattern::Pattern;
use mail::reservations::{
    Decision, Lease, LeaseBook, Request, ReservationStore, Reserved, Waiter, place_held_until, renewed,
};

use crate::Engine;
use crate::books::OpenBook;
use crate::error::Outcome;
use crate::job::work;
use crate::row::values;
use crate::tx::Tx;
use rows::{LEASE, lease_of, leases_of, waiters_of};

#[async_trait]
impl ReservationStore for Engine {
    async fn reserve(&self, request: &Request, now: Timestamp) -> Result<Reserved, StoreError> {
        let request = request.clone();
        self.write("reserve files", request.project, move |tx| reserve(tx, request, now).boxed()).await
    }

    async fn release(
        &self,
        project: ProjectId,
        agent: AgentId,
        patterns: Option<&[Pattern]>,
        by: AgentId,
        now: Timestamp,
    ) -> Result<Vec<Lease>, StoreError> {
        let patterns = patterns.map(<[Pattern]>::to_vec);
        let releasing =
            work(move |tx| async move { release(tx, project, agent, patterns.as_deref(), by, now).await }.boxed());
        self.write("release files", project, releasing).await
    }

    async fn renew(
        &self,
        project: ProjectId,
        agent: AgentId,
        patterns: Option<&[Pattern]>,
        ends_at: Timestamp,
        now: Timestamp,
    ) -> Result<Result<Vec<Lease>, Pattern>, StoreError> {
        let patterns = patterns.map(<[Pattern]>::to_vec);
        let renewing =
            work(move |tx| async move { renew(tx, project, agent, patterns.as_deref(), ends_at, now).await }.boxed());
        self.write("renew leases", project, renewing).await
    }

    async fn leases(
        &self,
        project: ProjectId,
        after: Option<LeaseId>,
        limit: usize,
        now: Timestamp,
    ) -> Result<Vec<Lease>, StoreError> {
        let sql = format!(
            "SELECT {LEASE} FROM reservation r INDEXED BY reservation_open
             CROSS JOIN agent a ON a.id = r.holder_id
             WHERE r.project_id = ?1 AND r.released_at IS NULL AND r.ends_at > ?2 AND r.id > ?3
             ORDER BY r.id LIMIT ?4"
        );
        let values = values![project, now, after.map_or(0, |id| id.0), limit];
        self.read("list leases", async |tx| tx.rows(&sql, values, lease_of).await).await
    }

    async fn waiters(&self, project: ProjectId, now: Timestamp) -> Result<Vec<Waiter>, StoreError> {
        self.read("list who stands in line", async |tx| waiters_of(tx, project, now).await).await
    }
}

async fn reserve(tx: &mut Tx<'_>, mut request: Request, now: Timestamp) -> Outcome<Reserved> {
    let held_until = rows::place_of(tx, &request, now).await?;
    if held_until.is_none() {
        request.ticket = None;
    }
    match open_book(tx, request.project, now).await?.book.decide(&request, now) {
        Decision::Grant => grant(tx, &request, now).await.map(Reserved::Granted),
        Decision::Wait { conflicts, look_again_at } => {
            let ticket = match request.ticket_that_stays(held_until, now) {
                Some(ticket) => ticket,
                None => wait(tx, &request, now).await?,
            };
            Ok(Reserved::Waiting { ticket, conflicts, look_again_at })
        }
        Decision::Refuse(conflicts) => {
            leave_line(tx, &request).await?;
            Ok(Reserved::Refused(conflicts))
        }
        Decision::Circle(circle) => {
            leave_line(tx, &request).await?;
            Ok(Reserved::Circle(circle))
        }
    }
}

/// The project's book, read again if it is not open or somebody else has changed the rows since.
async fn open_book<'t>(tx: &'t mut Tx<'_>, project: ProjectId, now: Timestamp) -> Outcome<&'t mut OpenBook> {
    let version = tx.lease_version(project).await?;
    if tx.books().at(project, version).is_none() {
        let leases = leases_of(tx, project, now).await?;
        let line = waiters_of(tx, project, now).await?;
        tx.books().keep(project, version, LeaseBook::new(leases, line));
    }
    Ok(tx.books().at(project, version).expect("the book was opened above"))
}

/// The book that was opened in this job, which from now on tells what the rows tell at `version`.
fn book_at<'t>(tx: &'t mut Tx<'_>, project: ProjectId, version: i64) -> &'t mut LeaseBook {
    let open = tx.books().at(project, version - 1).expect("the book was opened in this job");
    open.is_at(version);
    &mut open.book
}

async fn grant(tx: &mut Tx<'_>, request: &Request, now: Timestamp) -> Outcome<Vec<Lease>> {
    if let Some(ticket) = request.ticket {
        rows::leave(tx, ticket).await?;
    }
    let book = &open_book(tx, request.project, now).await?.book;
    let own = |pattern| book.own(request.agent, pattern, now);
    let mut granted: Vec<Lease> =
        request.patterns.iter().map(|pattern| request.granted(pattern, own(pattern), now)).collect();
    rows::prolong(tx, granted.iter().filter(|lease| lease.id != LeaseId(0))).await?;
    rows::insert(tx, request.project, &mut granted).await?;
    let version = told(tx, request.project, EventKind::LeaseGranted, &granted, request.agent, now).await?;
    let book = book_at(tx, request.project, version);
    request.ticket.iter().for_each(|ticket| book.leave(*ticket));
    granted.iter().for_each(|lease| book.hold(lease.clone()));
    if let Some(open) = tx.books().at(request.project, version) {
        open.forget_ended_sometimes(now);
    }
    Ok(granted)
}

async fn wait(tx: &mut Tx<'_>, request: &Request, now: Timestamp) -> Outcome<TicketId> {
    let until = place_held_until(now, request.wait_until.unwrap_or(now));
    let mut gone = Vec::new();
    let ticket = match request.ticket {
        Some(ticket) => {
            rows::hold_place(tx, ticket, until).await?;
            ticket
        }
        None => {
            // Whoever was killed in the line cannot leave it; those who come next sweep up.
            gone = rows::lose_places(tx, request.project, now).await?;
            rows::stand(tx, request, until, now).await?
        }
    };
    let version = tx.raise_leases(request.project).await?;
    let book = book_at(tx, request.project, version);
    gone.push(ticket);
    gone.into_iter().for_each(|lost| book.leave(lost));
    book.stand(request.waiter(ticket, until));
    Ok(ticket)
}

async fn leave_line(tx: &mut Tx<'_>, request: &Request) -> Outcome<()> {
    let Some(ticket) = request.ticket else { return Ok(()) };
    rows::leave(tx, ticket).await?;
    let version = tx.raise_leases(request.project).await?;
    book_at(tx, request.project, version).leave(ticket);
    Ok(())
}

/// Gives back reservations of an agent, and tells that `by` did it.
pub(crate) async fn release(
    tx: &mut Tx<'_>,
    project: ProjectId,
    agent: AgentId,
    patterns: Option<&[Pattern]>,
    by: AgentId,
    now: Timestamp,
) -> Outcome<Vec<Lease>> {
    let mut released = rows::held(tx, project, agent, patterns, now).await?;
    if released.is_empty() {
        return Ok(released);
    }
    released.iter_mut().for_each(|lease| lease.ends_at = now);
    rows::release(tx, &released, now).await?;
    let version = told(tx, project, EventKind::LeaseReleased, &released, by, now).await?;
    if let Some(open) = tx.books().at(project, version - 1) {
        released.iter().for_each(|lease| open.book.end(lease.id, &lease.pattern));
        open.is_at(version);
    }
    Ok(released)
}

async fn renew(
    tx: &mut Tx<'_>,
    project: ProjectId,
    agent: AgentId,
    patterns: Option<&[Pattern]>,
    ends_at: Timestamp,
    now: Timestamp,
) -> Outcome<Result<Vec<Lease>, Pattern>> {
    let mut held = rows::held(tx, project, agent, patterns, now).await?;
    let open = open_book(tx, project, now).await?;
    held.retain(|lease| open.book.stands(lease, now));
    let leases = match renewed(held, patterns, ends_at) {
        Ok(leases) if !leases.is_empty() => leases,
        nothing => return Ok(nothing),
    };
    rows::prolong(tx, leases.iter()).await?;
    let version = told(tx, project, EventKind::LeaseGranted, &leases, agent, now).await?;
    let book = book_at(tx, project, version);
    leases.iter().for_each(|lease| book.hold(lease.clone()));
    Ok(Ok(leases))
}

/// Writes one event for each reservation, and returns the version that the rows have now.
async fn told(
    tx: &mut Tx<'_>,
    project: ProjectId,
    kind: EventKind,
    leases: &[Lease],
    by: AgentId,
    at: Timestamp,
) -> Outcome<i64> {
    tx.record_leases(project, kind, leases.iter().map(|lease| lease.id), by, at).await
}
