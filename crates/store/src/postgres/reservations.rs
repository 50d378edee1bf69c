//! Leases and the line for them, in PostgreSQL.
//!
//! What is decided is decided by the lease book of `mail`, while the project's row is locked; this file sees to it that the
//! book tells what the rows tell, and writes down what was decided. Leases that ended or were released stay in the table
//! as history.

mod rows;

use std::collections::HashSet;

use async_trait::async_trait;
use futures_util::FutureExt;
use jiff::Timestamp;
use mail::StoreError;
use mail::clock::after_seconds;
use mail::events::EventKind;
use mail::ids::{AgentId, LeaseId, ProjectId, TicketId};
use mail::reservations::pattern::Pattern;
use mail::reservations::{
    Decision, Lease, LeaseBook, Request, ReservationStore, Reserved, Waiter, place_held_until, place_needs_holding,
};

use super::Postgres;
use super::desk::Desk;
use super::rows::{Outcome, limit_of};
use crate::books::OpenBook;
use crate::values::lines_of;
use rows::{LEASE, WAITERS, lease_of, leases_of, waiter_of, waiters_of};

#[async_trait]
impl ReservationStore for Postgres {
    async fn reserve(&self, request: &Request, now: Timestamp) -> Result<Reserved, StoreError> {
        let request = request.clone();
        self.write("reserve files", request.project, move |desk| reserve(desk, request, now).boxed()).await
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
        self.write("release files", project, move |desk| {
            async move { release(desk, project, agent, patterns.as_deref(), by, now).await }.boxed()
        })
        .await
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
        self.write("renew leases", project, move |desk| {
            async move { renew(desk, project, agent, patterns.as_deref(), ends_at, now).await }.boxed()
        })
        .await
    }

    async fn leases(
        &self,
        project: ProjectId,
        after: Option<LeaseId>,
        limit: usize,
        now: Timestamp,
    ) -> Result<Vec<Lease>, StoreError> {
        let sql = format!(
            "SELECT {LEASE} FROM reservation r JOIN agent a ON a.id = r.holder_id
             WHERE r.project_id = $1 AND r.released_at IS NULL AND r.ends_at > $2 AND r.id > $3
             ORDER BY r.id LIMIT $4"
        );
        let after = after.map_or(0, |id| id.0);
        let values: super::Values<'_> = &[&project.0, &now.as_microsecond(), &after, &limit_of(limit)];
        self.read_as("list leases", &sql, values, lease_of).await
    }

    async fn waiters(&self, project: ProjectId, now: Timestamp) -> Result<Vec<Waiter>, StoreError> {
        self.read_as("list who stands in line", WAITERS, &[&project.0, &now.as_microsecond()], waiter_of).await
    }
}

async fn reserve(desk: &mut Desk, mut request: Request, now: Timestamp) -> Outcome<Reserved> {
    let place = rows::place_of(desk, &request, now).await?;
    if place.is_none() {
        request.ticket = None;
    }
    match open_book(desk, request.project, now).await?.book.decide(&request, now) {
        Decision::Grant => grant(desk, &request, now).await.map(Reserved::Granted),
        Decision::Wait { conflicts, look_again_at } => {
            let ticket = match (request.ticket, place) {
                (Some(ticket), Some(until)) if !place_needs_holding(until, now) => ticket,
                _ => wait(desk, &request, now).await?,
            };
            Ok(Reserved::Waiting { ticket, conflicts, look_again_at })
        }
        Decision::Refuse(conflicts) => {
            leave_line(desk, &request).await?;
            Ok(Reserved::Refused(conflicts))
        }
        Decision::Circle(circle) => {
            leave_line(desk, &request).await?;
            Ok(Reserved::Circle(circle))
        }
    }
}

/// The project's book, read anew if it is not open or somebody else has changed the rows since.
async fn open_book(desk: &mut Desk, project: ProjectId, now: Timestamp) -> Outcome<&mut OpenBook> {
    let version = desk.numbers(project)?.lease_version;
    if desk.books.at(project, version).is_none() {
        let leases = leases_of(desk, project, now).await?;
        let line = waiters_of(desk, project, now).await?;
        desk.books.keep(project, version, LeaseBook::new(leases, line));
    }
    Ok(book(desk, project, version))
}

/// The project's book, which is open.
fn book(desk: &mut Desk, project: ProjectId, version: i64) -> &mut OpenBook {
    desk.books.at(project, version).expect("the book was opened in this job")
}

/// Raises the version of the leases, and returns the book, which now tells what the rows tell.
fn raised(desk: &mut Desk, project: ProjectId) -> Outcome<&mut OpenBook> {
    let numbers = desk.numbers(project)?;
    numbers.lease_version += 1;
    let version = numbers.lease_version;
    let open = book(desk, project, version - 1);
    open.is_at(version);
    Ok(open)
}

async fn grant(desk: &mut Desk, request: &Request, now: Timestamp) -> Outcome<Vec<Lease>> {
    if let Some(ticket) = request.ticket {
        rows::leave(desk, ticket).await?;
    }
    let open = open_book(desk, request.project, now).await?;
    let mut granted: Vec<Lease> = Vec::with_capacity(request.patterns.len());
    for pattern in &request.patterns {
        let held = open.book.own(request.agent, pattern, now);
        granted.push(Lease {
            id: held.map_or(LeaseId(0), |held| held.id),
            holder: request.agent,
            holder_name: request.agent_name.clone(),
            pattern: pattern.clone(),
            exclusive: request.exclusive || held.is_some_and(|held| held.exclusive),
            reason: request.reason.clone(),
            granted_at: held.map_or(now, |held| held.granted_at),
            ends_at: after_seconds(now, request.ttl_seconds),
        });
    }
    let known: Vec<&Lease> = granted.iter().filter(|lease| lease.id != LeaseId(0)).collect();
    rows::prolong(desk, &known).await?;
    let mut new: Vec<&mut Lease> = granted.iter_mut().filter(|lease| lease.id == LeaseId(0)).collect();
    rows::insert(desk, request.project, &mut new).await?;
    tell(desk, request.project, EventKind::LeaseGranted, &granted, request.agent, now)?;
    let open = raised(desk, request.project)?;
    request.ticket.iter().for_each(|ticket| open.book.leave(*ticket));
    granted.iter().for_each(|lease| open.book.hold(lease.clone()));
    open.forget_ended_sometimes(now);
    Ok(granted)
}

async fn wait(desk: &mut Desk, request: &Request, now: Timestamp) -> Outcome<TicketId> {
    let until = place_held_until(now, request.wait_until.unwrap_or(now));
    let mut gone = Vec::new();
    let ticket = match request.ticket {
        Some(ticket) => {
            rows::hold_place(desk, ticket, until).await?;
            ticket
        }
        None => {
            // Whoever was killed in the line cannot leave it; those who come next sweep up.
            gone = rows::lose_places(desk, request.project, now).await?;
            let patterns = lines_of(request.patterns.iter().map(Pattern::as_str));
            rows::stand(desk, request, &patterns, until, now).await?
        }
    };
    let open = raised(desk, request.project)?;
    gone.push(ticket);
    gone.into_iter().for_each(|lost| open.book.leave(lost));
    open.book.stand(Waiter {
        ticket,
        agent: request.agent,
        agent_name: request.agent_name.clone(),
        patterns: request.patterns.clone(),
        exclusive: request.exclusive,
        until,
    });
    Ok(ticket)
}

async fn leave_line(desk: &mut Desk, request: &Request) -> Outcome<()> {
    let Some(ticket) = request.ticket else { return Ok(()) };
    rows::leave(desk, ticket).await?;
    raised(desk, request.project)?.book.leave(ticket);
    Ok(())
}

/// Gives back leases of an agent, and tells that `by` did it.
pub(super) async fn release(
    desk: &mut Desk,
    project: ProjectId,
    agent: AgentId,
    patterns: Option<&[Pattern]>,
    by: AgentId,
    now: Timestamp,
) -> Outcome<Vec<Lease>> {
    let mut released = rows::held(desk, project, agent, patterns, now).await?;
    if released.is_empty() {
        return Ok(released);
    }
    released.iter_mut().for_each(|lease| lease.ends_at = now);
    rows::release(desk, &released, now).await?;
    tell(desk, project, EventKind::LeaseReleased, &released, by, now)?;
    let numbers = desk.numbers(project)?;
    numbers.lease_version += 1;
    let version = numbers.lease_version;
    if let Some(open) = desk.books.at(project, version - 1) {
        released.iter().for_each(|lease| open.book.end(lease.id, &lease.pattern));
        open.is_at(version);
    }
    Ok(released)
}

async fn renew(
    desk: &mut Desk,
    project: ProjectId,
    agent: AgentId,
    patterns: Option<&[Pattern]>,
    ends_at: Timestamp,
    now: Timestamp,
) -> Outcome<Result<Vec<Lease>, Pattern>> {
    let mut renewed = rows::held(desk, project, agent, patterns, now).await?;
    let open = open_book(desk, project, now).await?;
    renewed.retain(|lease| open.book.stands(lease, now));
    let held: HashSet<&str> = renewed.iter().map(|lease| lease.pattern.as_str()).collect();
    if let Some(missing) = patterns.unwrap_or_default().iter().find(|wanted| !held.contains(wanted.as_str())) {
        return Ok(Err(missing.clone()));
    }
    if renewed.is_empty() {
        return Ok(Ok(renewed));
    }
    renewed.iter_mut().for_each(|lease| lease.ends_at = ends_at);
    rows::prolong(desk, &renewed.iter().collect::<Vec<_>>()).await?;
    tell(desk, project, EventKind::LeaseGranted, &renewed, agent, now)?;
    let open = raised(desk, project)?;
    renewed.iter().for_each(|lease| open.book.hold(lease.clone()));
    Ok(Ok(renewed))
}

/// Writes one event for each lease.
fn tell(
    desk: &mut Desk,
    project: ProjectId,
    kind: EventKind,
    leases: &[Lease],
    by: AgentId,
    at: Timestamp,
) -> Outcome<()> {
    leases.iter().try_for_each(|lease| desk.record(project, kind, lease.id.0, Some(by), at))
}
