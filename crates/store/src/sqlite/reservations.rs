//! Leases and the line for them, in SQLite.
//!
//! What is decided is decided by the lease book of `mail`; this file sees to it that the book tells what the rows tell,
//! and writes down what was decided. Leases that ended or were released stay in the table as history.

mod rows;

use async_trait::async_trait;
use jiff::Timestamp;
use mail::StoreError;
use mail::clock::after_seconds;
use mail::events::{Event, EventKind};
use mail::ids::{AgentId, LeaseId, ProjectId, TicketId};
use mail::reservations::pattern::Pattern;
use mail::reservations::{
    Decision, Lease, LeaseBook, Request, ReservationStore, Reserved, Waiter, place_held_until, place_needs_holding,
};
use rusqlite::Connection;

use super::events::record_as;
use super::writer::Desk;
use super::{Sqlite, limit_of};
use crate::books::OpenBook;
use crate::values::lines_of;
use rows::{LEASE, lease_of, lease_version, leases_of, waiters_of};

#[async_trait]
impl ReservationStore for Sqlite {
    async fn reserve(&self, request: &Request, now: Timestamp) -> Result<Reserved, StoreError> {
        let request = request.clone();
        self.write("reserve files", move |desk| reserve(desk, request, now)).await
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
        self.write("release files", move |desk| release(desk, project, agent, patterns.as_deref(), by, now)).await
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
        self.write("renew leases", move |desk| renew(desk, project, agent, patterns.as_deref(), ends_at, now)).await
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
        self.read("list leases", |connection| {
            connection
                .prepare_cached(&sql)?
                .query_map((project.0, now.as_microsecond(), after.map_or(0, |id| id.0), limit_of(limit)), lease_of)?
                .collect()
        })
    }

    async fn waiters(&self, project: ProjectId, now: Timestamp) -> Result<Vec<Waiter>, StoreError> {
        self.read("list who stands in line", |connection| waiters_of(connection, project, now))
    }
}

fn reserve(desk: &mut Desk<'_>, mut request: Request, now: Timestamp) -> rusqlite::Result<Reserved> {
    let connection = desk.connection;
    let place = rows::place_of(connection, &request, now)?;
    if place.is_none() {
        request.ticket = None;
    }
    let open = open_book(desk, request.project, now)?;
    match open.book.decide(&request, now) {
        Decision::Grant => grant(connection, open, &request, now).map(Reserved::Granted),
        Decision::Wait { conflicts, look_again_at } => {
            let ticket = match (request.ticket, place) {
                (Some(ticket), Some(until)) if !place_needs_holding(until, now) => ticket,
                _ => wait(connection, open, &request, now)?,
            };
            Ok(Reserved::Waiting { ticket, conflicts, look_again_at })
        }
        Decision::Refuse(conflicts) => {
            leave_line(connection, open, &request)?;
            Ok(Reserved::Refused(conflicts))
        }
        Decision::Circle(circle) => {
            leave_line(connection, open, &request)?;
            Ok(Reserved::Circle(circle))
        }
    }
}

/// The project's book, read anew if it is not open or somebody else has changed the rows since.
fn open_book<'a>(desk: &'a mut Desk<'_>, project: ProjectId, now: Timestamp) -> rusqlite::Result<&'a mut OpenBook> {
    let version = lease_version(desk.connection, project)?;
    if desk.books.at(project, version).is_none() {
        let leases = leases_of(desk.connection, project, now)?;
        let line = waiters_of(desk.connection, project, now)?;
        desk.books.keep(project, version, LeaseBook::new(leases, line));
    }
    Ok(desk.books.at(project, version).expect("the book was opened above"))
}

fn grant(
    connection: &Connection,
    open: &mut OpenBook,
    request: &Request,
    now: Timestamp,
) -> rusqlite::Result<Vec<Lease>> {
    if let Some(ticket) = request.ticket {
        rows::leave(connection, ticket)?;
        open.book.leave(ticket);
    }
    let mut granted = Vec::with_capacity(request.patterns.len());
    for pattern in &request.patterns {
        let held = open.book.own(request.agent, pattern, now).cloned();
        let mut lease = Lease {
            id: held.as_ref().map_or(LeaseId(0), |held| held.id),
            holder: request.agent,
            holder_name: request.agent_name.clone(),
            pattern: pattern.clone(),
            exclusive: request.exclusive || held.as_ref().is_some_and(|held| held.exclusive),
            reason: request.reason.clone(),
            granted_at: held.as_ref().map_or(now, |held| held.granted_at),
            ends_at: after_seconds(now, request.ttl_seconds),
        };
        if held.is_some() {
            rows::prolong(connection, &lease)?;
        } else {
            lease.id = rows::insert(connection, request.project, &lease)?;
        }
        open.book.hold(lease.clone());
        granted.push(lease);
    }
    let version = tell(connection, request.project, EventKind::LeaseGranted, &granted, request.agent, now)?;
    open.is_at(version);
    open.forget_ended_sometimes(now);
    Ok(granted)
}

fn wait(connection: &Connection, open: &mut OpenBook, request: &Request, now: Timestamp) -> rusqlite::Result<TicketId> {
    let until = place_held_until(now, request.wait_until.unwrap_or(now));
    let ticket = match request.ticket {
        Some(ticket) => {
            rows::hold_place(connection, ticket, until)?;
            ticket
        }
        None => {
            // Whoever was killed in the line cannot leave it; those who come next sweep up.
            for lost in rows::lose_places(connection, request.project, now)? {
                open.book.leave(lost);
            }
            let patterns = lines_of(request.patterns.iter().map(Pattern::as_str));
            rows::stand(connection, request, &patterns, until, now)?
        }
    };
    open.book.leave(ticket);
    open.book.stand(Waiter {
        ticket,
        agent: request.agent,
        agent_name: request.agent_name.clone(),
        patterns: request.patterns.clone(),
        exclusive: request.exclusive,
        until,
    });
    open.is_at(rows::raise_version(connection, request.project, 0)?.version);
    Ok(ticket)
}

fn leave_line(connection: &Connection, open: &mut OpenBook, request: &Request) -> rusqlite::Result<()> {
    let Some(ticket) = request.ticket else { return Ok(()) };
    rows::leave(connection, ticket)?;
    open.book.leave(ticket);
    open.is_at(rows::raise_version(connection, request.project, 0)?.version);
    Ok(())
}

/// Gives back leases of an agent, and tells that `by` did it.
pub(super) fn release(
    desk: &mut Desk<'_>,
    project: ProjectId,
    agent: AgentId,
    patterns: Option<&[Pattern]>,
    by: AgentId,
    now: Timestamp,
) -> rusqlite::Result<Vec<Lease>> {
    let mut released = rows::held(desk.connection, project, agent, patterns, now)?;
    if released.is_empty() {
        return Ok(released);
    }
    for lease in &mut released {
        lease.ends_at = now;
        rows::release(desk.connection, lease.id, now)?;
    }
    let version = tell(desk.connection, project, EventKind::LeaseReleased, &released, by, now)?;
    if let Some(open) = desk.books.at(project, version - 1) {
        for lease in &released {
            open.book.end(lease.id, &lease.pattern);
        }
        open.is_at(version);
    }
    Ok(released)
}

fn renew(
    desk: &mut Desk<'_>,
    project: ProjectId,
    agent: AgentId,
    patterns: Option<&[Pattern]>,
    ends_at: Timestamp,
    now: Timestamp,
) -> rusqlite::Result<Result<Vec<Lease>, Pattern>> {
    let connection = desk.connection;
    let mut renewed = rows::held(connection, project, agent, patterns, now)?;
    let open = open_book(desk, project, now)?;
    renewed.retain(|lease| open.book.stands(lease, now));
    let held = renewed.iter().map(|lease| lease.pattern.as_str()).collect::<std::collections::HashSet<_>>();
    if let Some(missing) = patterns.unwrap_or_default().iter().find(|wanted| !held.contains(wanted.as_str())) {
        return Ok(Err(missing.clone()));
    }
    if renewed.is_empty() {
        return Ok(Ok(renewed));
    }
    for lease in &mut renewed {
        lease.ends_at = ends_at;
        rows::prolong(connection, lease)?;
        open.book.hold(lease.clone());
    }
    open.is_at(tell(connection, project, EventKind::LeaseGranted, &renewed, agent, now)?);
    Ok(Ok(renewed))
}

/// Writes one event for each lease, and returns the version that the rows have now.
fn tell(
    connection: &Connection,
    project: ProjectId,
    kind: EventKind,
    leases: &[Lease],
    by: AgentId,
    at: Timestamp,
) -> rusqlite::Result<i64> {
    let raised = rows::raise_version(connection, project, limit_of(leases.len()))?;
    for (seq, lease) in (raised.first_seq..).zip(leases) {
        record_as(connection, project, Event { seq, kind, reference: lease.id.0, agent: Some(by), at })?;
    }
    Ok(raised.version)
}
