//! Reservations and places in the line as they stand in rows. Nothing here decides anything.

use std::collections::HashSet;

use jiff::Timestamp;
use mail::ids::{AgentId, LeaseId, ProjectId, TicketId};
use mail::reservations::pattern::Pattern;
use mail::reservations::{Lease, Request, Waiter};

use crate::error::{Outcome, SqlError};
use crate::row::{Row, Value, values};
use crate::tx::Tx;
use crate::values::{lines_of, unknown};

/// The columns of a reservation `r` and of its holder `a`.
pub(super) const LEASE: &str = "r.id, r.holder_id, a.name, r.pattern, r.exclusive, r.reason, r.granted_at, r.ends_at";

/// The active reservations of a project.
pub(super) async fn leases_of(tx: &mut Tx<'_>, project: ProjectId, now: Timestamp) -> Outcome<Vec<Lease>> {
    let sql = format!(
        "SELECT {LEASE} FROM reservation r INDEXED BY reservation_open CROSS JOIN agent a ON a.id = r.holder_id
         WHERE r.project_id = ?1 AND r.released_at IS NULL AND r.ends_at > ?2 ORDER BY r.id"
    );
    tx.rows(&sql, values![project, now], lease_of).await
}

/// The active reservations of one agent on `patterns` (compared as text), or all of them.
pub(super) async fn held(
    tx: &mut Tx<'_>,
    project: ProjectId,
    agent: AgentId,
    patterns: Option<&[Pattern]>,
    now: Timestamp,
) -> Outcome<Vec<Lease>> {
    let sql = format!(
        "SELECT {LEASE} FROM reservation r INDEXED BY reservation_held CROSS JOIN agent a ON a.id = r.holder_id
         WHERE r.holder_id = ?1 AND r.released_at IS NULL AND r.ends_at > ?2 AND r.project_id = ?3 ORDER BY r.id"
    );
    let wanted: Option<HashSet<&str>> = patterns.map(|some| some.iter().map(Pattern::as_str).collect());
    let mut leases = Vec::new();
    let visit = &mut |row: &Row<'_>| {
        // Compared before it is compiled, for an agent may hold thousands and give back one.
        let text: &str = row.get(3)?;
        if wanted.as_ref().is_none_or(|wanted| wanted.contains(text)) {
            leases.push(lease_of(row)?);
        }
        Ok(true)
    };
    tx.each(&sql, values![agent, now, project], visit).await?;
    Ok(leases)
}

/// Reads [`LEASE`].
pub(super) fn lease_of(row: &Row<'_>) -> Outcome<Lease> {
    Ok(Lease {
        id: row.get(0)?,
        holder: row.get(1)?,
        holder_name: row.get(2)?,
        pattern: pattern_of(row.get(3)?)?,
        exclusive: row.get(4)?,
        reason: row.get(5)?,
        granted_at: row.get(6)?,
        ends_at: row.get(7)?,
    })
}

/// Writes those that have no number yet, and gives each its number.
pub(super) async fn insert(tx: &mut Tx<'_>, project: ProjectId, leases: &mut [Lease]) -> Outcome<()> {
    let sql = "INSERT INTO reservation (project_id, holder_id, pattern, exclusive, reason, granted_at, ends_at)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING id";
    let new = leases.iter().filter(|lease| lease.id == LeaseId(0));
    let values: Vec<Value<'_>> = new
        .flat_map(|lease| {
            let Lease { holder, exclusive, granted_at, ends_at, .. } = *lease;
            *values![project, holder, lease.pattern.as_str(), exclusive, &lease.reason, granted_at, ends_at]
        })
        .collect();
    let ids = tx.rows_many(sql, 7, &values, |row| row.get(0)).await?;
    let new = leases.iter_mut().filter(|lease| lease.id == LeaseId(0));
    new.zip(ids).for_each(|(lease, id)| lease.id = id);
    Ok(())
}

/// Writes the new end, mode and reason of reservations.
pub(super) async fn prolong<'l>(tx: &mut Tx<'_>, leases: impl Iterator<Item = &'l Lease> + Send) -> Outcome<()> {
    let sql = "UPDATE reservation SET ends_at = ?2, exclusive = ?3, reason = ?4 WHERE id = ?1";
    let values: Vec<Value<'_>> =
        leases.flat_map(|lease| *values![lease.id, lease.ends_at, lease.exclusive, &lease.reason]).collect();
    tx.execute_many(sql, 4, values).await
}

/// Notes that reservations were given back.
pub(super) async fn release(tx: &mut Tx<'_>, leases: &[Lease], now: Timestamp) -> Outcome<()> {
    let values: Vec<Value<'_>> = leases.iter().flat_map(|lease| *values![lease.id, now]).collect();
    tx.execute_many("UPDATE reservation SET released_at = ?2 WHERE id = ?1", 2, values).await
}

/// Those who stand in line, in their order.
pub(super) async fn waiters_of(tx: &mut Tx<'_>, project: ProjectId, now: Timestamp) -> Outcome<Vec<Waiter>> {
    let sql = "SELECT w.ticket, w.agent_id, a.name, w.patterns, w.exclusive, w.until
               FROM reservation_wait w CROSS JOIN agent a ON a.id = w.agent_id
               WHERE w.project_id = ?1 AND w.until > ?2 ORDER BY w.ticket";
    tx.rows(sql, values![project, now], |row| {
        Ok(Waiter {
            ticket: row.get(0)?,
            agent: row.get(1)?,
            agent_name: row.get(2)?,
            patterns: row.get::<&str>(3)?.split('\n').map(pattern_of).collect::<Outcome<_>>()?,
            exclusive: row.get(4)?,
            until: row.get(5)?,
        })
    })
    .await
}

/// Until when the ticket keeps its position, if it still does.
pub(super) async fn place_of(tx: &mut Tx<'_>, request: &Request, now: Timestamp) -> Outcome<Option<Timestamp>> {
    let Some(ticket) = request.ticket else { return Ok(None) };
    let sql = "SELECT until FROM reservation_wait
               WHERE ticket = ?1 AND project_id = ?2 AND agent_id = ?3 AND until > ?4";
    tx.one(sql, values![ticket, request.project, request.agent, now]).await
}

/// Gives a place at the end of the line.
pub(super) async fn stand(tx: &mut Tx<'_>, request: &Request, until: Timestamp, now: Timestamp) -> Outcome<TicketId> {
    let patterns = lines_of(request.patterns.iter().map(Pattern::as_str));
    let sql = "INSERT INTO reservation_wait (project_id, agent_id, patterns, exclusive, since, until)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6) RETURNING ticket";
    let values = values![request.project, request.agent, &patterns, request.exclusive, now, until];
    tx.one(sql, values).await?.ok_or_else(|| SqlError::Unknown("a place in the line was not made".to_owned()))
}

/// Holds a place longer.
pub(super) async fn hold_place(tx: &mut Tx<'_>, ticket: TicketId, until: Timestamp) -> Outcome<()> {
    tx.execute("UPDATE reservation_wait SET until = ?2 WHERE ticket = ?1", values![ticket, until]).await.map(drop)
}

/// Leaves the line.
pub(super) async fn leave(tx: &mut Tx<'_>, ticket: TicketId) -> Outcome<()> {
    tx.execute("DELETE FROM reservation_wait WHERE ticket = ?1", values![ticket]).await.map(drop)
}

/// Drops the places that were lost by time, and returns them.
pub(super) async fn lose_places(tx: &mut Tx<'_>, project: ProjectId, now: Timestamp) -> Outcome<Vec<TicketId>> {
    let sql = "DELETE FROM reservation_wait WHERE project_id = ?1 AND until <= ?2 RETURNING ticket";
    tx.rows(sql, values![project, now], |row| row.get(0)).await
}

fn pattern_of(text: &str) -> Outcome<Pattern> {
    Pattern::parse(text).map_err(|_| unknown("pattern", text).into())
}
