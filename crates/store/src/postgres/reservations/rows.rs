//! Leases and places in the line as they stand in rows. Nothing here decides anything.

use std::collections::HashSet;

use jiff::Timestamp;
use mail::ids::{AgentId, LeaseId, ProjectId, TicketId};
use mail::reservations::pattern::Pattern;
use mail::reservations::{Lease, Request, Waiter};
use tokio_postgres::Row;

use crate::postgres::desk::Desk;
use crate::postgres::rows::{Outcome, Trouble, only, time};

/// The columns of a lease `r` and of its holder `a`.
pub(super) const LEASE: &str = "r.id, r.holder_id, a.name, r.pattern, r.exclusive, r.reason, r.granted_at, r.ends_at";

/// The active leases of a project.
pub(super) async fn leases_of(desk: &Desk, project: ProjectId, now: Timestamp) -> Outcome<Vec<Lease>> {
    let sql = format!(
        "SELECT {LEASE} FROM reservation r JOIN agent a ON a.id = r.holder_id
         WHERE r.project_id = $1 AND r.released_at IS NULL AND r.ends_at > $2 ORDER BY r.id"
    );
    desk.rows(&sql, &[&project.0, &now.as_microsecond()]).await?.iter().map(lease_of).collect()
}

/// The active leases of one agent on `patterns` (compared as text), or all of them.
pub(super) async fn held(
    desk: &Desk,
    project: ProjectId,
    agent: AgentId,
    patterns: Option<&[Pattern]>,
    now: Timestamp,
) -> Outcome<Vec<Lease>> {
    let sql = format!(
        "SELECT {LEASE} FROM reservation r JOIN agent a ON a.id = r.holder_id
         WHERE r.holder_id = $1 AND r.released_at IS NULL AND r.ends_at > $2 AND r.project_id = $3 ORDER BY r.id"
    );
    let wanted: Option<HashSet<&str>> = patterns.map(|some| some.iter().map(Pattern::as_str).collect());
    let rows = desk.rows(&sql, &[&agent.0, &now.as_microsecond(), &project.0]).await?;
    let mut leases = Vec::new();
    for row in &rows {
        // Compared before it is compiled, for an agent may hold thousands and give back one.
        let text: &str = row.try_get(3)?;
        if wanted.as_ref().is_none_or(|wanted| wanted.contains(text)) {
            leases.push(lease_of(row)?);
        }
    }
    Ok(leases)
}

/// Reads [`LEASE`].
pub(super) fn lease_of(row: &Row) -> Outcome<Lease> {
    Ok(Lease {
        id: LeaseId(row.try_get(0)?),
        holder: AgentId(row.try_get(1)?),
        holder_name: row.try_get(2)?,
        pattern: pattern_of(row.try_get(3)?)?,
        exclusive: row.try_get(4)?,
        reason: row.try_get(5)?,
        granted_at: time(row, 6)?,
        ends_at: time(row, 7)?,
    })
}

/// Writes new leases, and gives each its number.
pub(super) async fn insert(desk: &Desk, project: ProjectId, leases: &mut [&mut Lease]) -> Outcome<()> {
    if leases.is_empty() {
        return Ok(());
    }
    let holders: Vec<i64> = leases.iter().map(|lease| lease.holder.0).collect();
    let patterns: Vec<&str> = leases.iter().map(|lease| lease.pattern.as_str()).collect();
    let exclusive: Vec<bool> = leases.iter().map(|lease| lease.exclusive).collect();
    let reasons: Vec<&str> = leases.iter().map(|lease| lease.reason.as_str()).collect();
    let granted: Vec<i64> = leases.iter().map(|lease| lease.granted_at.as_microsecond()).collect();
    let ends: Vec<i64> = leases.iter().map(|lease| lease.ends_at.as_microsecond()).collect();
    let rows = desk
        .changed_rows(
            "INSERT INTO reservation (project_id, holder_id, pattern, exclusive, reason, granted_at, ends_at)
             SELECT $1, new.* FROM unnest($2::bigint[], $3::text[], $4::boolean[], $5::text[], $6::bigint[],
                 $7::bigint[]) AS new
             RETURNING id",
            &[&project.0, &holders, &patterns, &exclusive, &reasons, &granted, &ends],
        )
        .await?;
    for (lease, row) in leases.iter_mut().zip(&rows) {
        lease.id = LeaseId(row.try_get(0)?);
    }
    Ok(())
}

/// Writes the new end, mode and reason of leases.
pub(super) async fn prolong(desk: &Desk, leases: &[&Lease]) -> Outcome<()> {
    if leases.is_empty() {
        return Ok(());
    }
    let ids: Vec<i64> = leases.iter().map(|lease| lease.id.0).collect();
    let ends: Vec<i64> = leases.iter().map(|lease| lease.ends_at.as_microsecond()).collect();
    let exclusive: Vec<bool> = leases.iter().map(|lease| lease.exclusive).collect();
    let reasons: Vec<&str> = leases.iter().map(|lease| lease.reason.as_str()).collect();
    desk.execute(
        "UPDATE reservation SET ends_at = new.ends_at, exclusive = new.exclusive, reason = new.reason
         FROM unnest($1::bigint[], $2::bigint[], $3::boolean[], $4::text[]) AS new (id, ends_at, exclusive, reason)
         WHERE reservation.id = new.id",
        &[&ids, &ends, &exclusive, &reasons],
    )
    .await
    .map(drop)
}

/// Notes that leases were given back.
pub(super) async fn release(desk: &Desk, leases: &[Lease], now: Timestamp) -> Outcome<()> {
    let ids: Vec<i64> = leases.iter().map(|lease| lease.id.0).collect();
    desk.execute("UPDATE reservation SET released_at = $2 WHERE id = ANY ($1)", &[&ids, &now.as_microsecond()])
        .await
        .map(drop)
}

/// Those who stand in line, in their order.
pub(super) const WAITERS: &str = "SELECT w.ticket, w.agent_id, a.name, w.patterns, w.exclusive, w.until
     FROM reservation_wait w JOIN agent a ON a.id = w.agent_id
     WHERE w.project_id = $1 AND w.until > $2 ORDER BY w.ticket";

/// Those who stand in line, in their order.
pub(super) async fn waiters_of(desk: &Desk, project: ProjectId, now: Timestamp) -> Outcome<Vec<Waiter>> {
    desk.rows(WAITERS, &[&project.0, &now.as_microsecond()]).await?.iter().map(waiter_of).collect()
}

/// Reads a row of [`WAITERS`].
pub(super) fn waiter_of(row: &Row) -> Outcome<Waiter> {
    Ok(Waiter {
        ticket: TicketId(row.try_get(0)?),
        agent: AgentId(row.try_get(1)?),
        agent_name: row.try_get(2)?,
        patterns: row.try_get::<_, &str>(3)?.split('\n').map(pattern_of).collect::<Outcome<_>>()?,
        exclusive: row.try_get(4)?,
        until: time(row, 5)?,
    })
}

/// Until when the one who asks has the place of its ticket, if it still has it.
pub(super) async fn place_of(desk: &Desk, request: &Request, now: Timestamp) -> Outcome<Option<Timestamp>> {
    let Some(ticket) = request.ticket else { return Ok(None) };
    let rows = desk
        .rows(
            "SELECT until FROM reservation_wait
             WHERE ticket = $1 AND project_id = $2 AND agent_id = $3 AND until > $4",
            &[&ticket.0, &request.project.0, &request.agent.0, &now.as_microsecond()],
        )
        .await?;
    rows.first().map(|row| time(row, 0)).transpose()
}

/// Gives a place at the end of the line.
pub(super) async fn stand(
    desk: &Desk,
    request: &Request,
    patterns: &str,
    until: Timestamp,
    now: Timestamp,
) -> Outcome<TicketId> {
    let rows = desk
        .changed_rows(
            "INSERT INTO reservation_wait (project_id, agent_id, patterns, exclusive, since, until)
             VALUES ($1, $2, $3, $4, $5, $6) RETURNING ticket",
            &[
                &request.project.0,
                &request.agent.0,
                &patterns,
                &request.exclusive,
                &now.as_microsecond(),
                &until.as_microsecond(),
            ],
        )
        .await?;
    Ok(TicketId(only(&rows)?.unwrap_or_default()))
}

/// Holds a place longer.
pub(super) async fn hold_place(desk: &Desk, ticket: TicketId, until: Timestamp) -> Outcome<()> {
    let sql = "UPDATE reservation_wait SET until = $2 WHERE ticket = $1";
    desk.execute(sql, &[&ticket.0, &until.as_microsecond()]).await.map(drop)
}

/// Leaves the line.
pub(super) async fn leave(desk: &Desk, ticket: TicketId) -> Outcome<()> {
    desk.execute("DELETE FROM reservation_wait WHERE ticket = $1", &[&ticket.0]).await.map(drop)
}

/// Drops the places that were lost by time, and returns them.
pub(super) async fn lose_places(desk: &Desk, project: ProjectId, now: Timestamp) -> Outcome<Vec<TicketId>> {
    let sql = "DELETE FROM reservation_wait WHERE project_id = $1 AND until <= $2 RETURNING ticket";
    let rows = desk.changed_rows(sql, &[&project.0, &now.as_microsecond()]).await?;
    rows.iter().map(|row| Ok(TicketId(row.try_get(0)?))).collect()
}

fn pattern_of(text: &str) -> Outcome<Pattern> {
    Pattern::parse(text).map_err(|_| Trouble::Unknown(format!("unknown pattern '{text}'")))
}
