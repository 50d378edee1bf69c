//! Leases and places in the line as they stand in rows. Nothing here decides anything.

use std::collections::HashSet;

use jiff::Timestamp;
use mail::clock::from_micros;
use mail::ids::{AgentId, LeaseId, ProjectId, TicketId};
use mail::reservations::pattern::Pattern;
use mail::reservations::{Lease, Request, Waiter};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::sqlite::messages::rows::unknown;

/// The columns of a lease `r` and of its holder `a`.
pub(super) const LEASE: &str = "r.id, r.holder_id, a.name, r.pattern, r.exclusive, r.reason, r.granted_at, r.ends_at";

/// What a change of leases took from the project's row.
pub(super) struct Raised {
    /// The number of the first event of the change.
    pub(super) first_seq: i64,
    /// The version that the rows have now.
    pub(super) version: i64,
}

/// The version of a project's leases and line.
pub(super) fn lease_version(connection: &Connection, project: ProjectId) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("SELECT lease_version FROM project WHERE id = ?1")?
        .query_row([project.0], |row| row.get(0))
}

/// Notes that the leases or the line changed, and takes numbers for `events` events.
pub(super) fn raise_version(connection: &Connection, project: ProjectId, events: i64) -> rusqlite::Result<Raised> {
    connection
        .prepare_cached(
            "UPDATE project SET next_seq = next_seq + ?2, lease_version = lease_version + 1
             WHERE id = ?1 RETURNING next_seq - ?2, lease_version",
        )?
        .query_row((project.0, events), |row| Ok(Raised { first_seq: row.get(0)?, version: row.get(1)? }))
}

/// The active leases of a project.
pub(super) fn leases_of(connection: &Connection, project: ProjectId, now: Timestamp) -> rusqlite::Result<Vec<Lease>> {
    let sql = format!(
        "SELECT {LEASE} FROM reservation r INDEXED BY reservation_open CROSS JOIN agent a ON a.id = r.holder_id
         WHERE r.project_id = ?1 AND r.released_at IS NULL AND r.ends_at > ?2 ORDER BY r.id"
    );
    connection.prepare_cached(&sql)?.query_map((project.0, now.as_microsecond()), lease_of)?.collect()
}

/// The active leases of one agent on `patterns` (compared as text), or all of them.
pub(super) fn held(
    connection: &Connection,
    project: ProjectId,
    agent: AgentId,
    patterns: Option<&[Pattern]>,
    now: Timestamp,
) -> rusqlite::Result<Vec<Lease>> {
    let sql = format!(
        "SELECT {LEASE} FROM reservation r INDEXED BY reservation_held CROSS JOIN agent a ON a.id = r.holder_id
         WHERE r.holder_id = ?1 AND r.released_at IS NULL AND r.ends_at > ?2 AND r.project_id = ?3 ORDER BY r.id"
    );
    let wanted: Option<HashSet<&str>> = patterns.map(|some| some.iter().map(Pattern::as_str).collect());
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query((agent.0, now.as_microsecond(), project.0))?;
    let mut leases = Vec::new();
    while let Some(row) = rows.next()? {
        // Compared before it is compiled, for an agent may hold thousands and give back one.
        let text = row.get_ref(3)?.as_str()?;
        if wanted.as_ref().is_none_or(|wanted| wanted.contains(text)) {
            leases.push(lease_of(row)?);
        }
    }
    Ok(leases)
}

/// Reads [`LEASE`].
pub(super) fn lease_of(row: &Row<'_>) -> rusqlite::Result<Lease> {
    Ok(Lease {
        id: LeaseId(row.get(0)?),
        holder: AgentId(row.get(1)?),
        holder_name: row.get(2)?,
        pattern: pattern_of(3, row.get_ref(3)?.as_str()?)?,
        exclusive: row.get(4)?,
        reason: row.get(5)?,
        granted_at: from_micros(row.get(6)?),
        ends_at: from_micros(row.get(7)?),
    })
}

/// Writes a new lease and returns its number.
pub(super) fn insert(connection: &Connection, project: ProjectId, lease: &Lease) -> rusqlite::Result<LeaseId> {
    connection
        .prepare_cached(
            "INSERT INTO reservation (project_id, holder_id, pattern, exclusive, reason, granted_at, ends_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .insert((
            project.0,
            lease.holder.0,
            lease.pattern.as_str(),
            lease.exclusive,
            &lease.reason,
            lease.granted_at.as_microsecond(),
            lease.ends_at.as_microsecond(),
        ))
        .map(LeaseId)
}

/// Writes a lease's new end, mode and reason.
pub(super) fn prolong(connection: &Connection, lease: &Lease) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE reservation SET ends_at = ?2, exclusive = ?3, reason = ?4 WHERE id = ?1")?
        .execute((lease.id.0, lease.ends_at.as_microsecond(), lease.exclusive, &lease.reason))
        .map(drop)
}

/// Notes that a lease was given back.
pub(super) fn release(connection: &Connection, lease: LeaseId, now: Timestamp) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE reservation SET released_at = ?2 WHERE id = ?1")?
        .execute((lease.0, now.as_microsecond()))
        .map(drop)
}

/// Those who stand in line, in their order.
pub(super) fn waiters_of(connection: &Connection, project: ProjectId, now: Timestamp) -> rusqlite::Result<Vec<Waiter>> {
    connection
        .prepare_cached(
            "SELECT w.ticket, w.agent_id, a.name, w.patterns, w.exclusive, w.until
             FROM reservation_wait w CROSS JOIN agent a ON a.id = w.agent_id
             WHERE w.project_id = ?1 AND w.until > ?2 ORDER BY w.ticket",
        )?
        .query_map((project.0, now.as_microsecond()), |row| {
            let patterns = row.get_ref(3)?.as_str()?.split('\n').map(|text| pattern_of(3, text));
            Ok(Waiter {
                ticket: TicketId(row.get(0)?),
                agent: AgentId(row.get(1)?),
                agent_name: row.get(2)?,
                patterns: patterns.collect::<rusqlite::Result<_>>()?,
                exclusive: row.get(4)?,
                until: from_micros(row.get(5)?),
            })
        })?
        .collect()
}

/// Until when the one who asks has the place of its ticket, if it still has it.
pub(super) fn place_of(
    connection: &Connection,
    request: &Request,
    now: Timestamp,
) -> rusqlite::Result<Option<Timestamp>> {
    let Some(ticket) = request.ticket else { return Ok(None) };
    connection
        .prepare_cached(
            "SELECT until FROM reservation_wait WHERE ticket = ?1 AND project_id = ?2 AND agent_id = ?3 AND until > ?4",
        )?
        .query_row((ticket.0, request.project.0, request.agent.0, now.as_microsecond()), |row| {
            row.get(0).map(from_micros)
        })
        .optional()
}

/// Gives a place at the end of the line.
pub(super) fn stand(
    connection: &Connection,
    request: &Request,
    patterns: &str,
    until: Timestamp,
    now: Timestamp,
) -> rusqlite::Result<TicketId> {
    connection
        .prepare_cached(
            "INSERT INTO reservation_wait (project_id, agent_id, patterns, exclusive, since, until)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .insert((
            request.project.0,
            request.agent.0,
            patterns,
            request.exclusive,
            now.as_microsecond(),
            until.as_microsecond(),
        ))
        .map(TicketId)
}

/// Holds a place longer.
pub(super) fn hold_place(connection: &Connection, ticket: TicketId, until: Timestamp) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE reservation_wait SET until = ?2 WHERE ticket = ?1")?
        .execute((ticket.0, until.as_microsecond()))
        .map(drop)
}

/// Leaves the line.
pub(super) fn leave(connection: &Connection, ticket: TicketId) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM reservation_wait WHERE ticket = ?1")?.execute([ticket.0]).map(drop)
}

/// Drops the places that were lost by time, and returns them.
pub(super) fn lose_places(
    connection: &Connection,
    project: ProjectId,
    now: Timestamp,
) -> rusqlite::Result<Vec<TicketId>> {
    connection
        .prepare_cached("DELETE FROM reservation_wait WHERE project_id = ?1 AND until <= ?2 RETURNING ticket")?
        .query_map((project.0, now.as_microsecond()), |row| row.get(0).map(TicketId))?
        .collect()
}

fn pattern_of(column: usize, text: &str) -> rusqlite::Result<Pattern> {
    Pattern::parse(text).map_err(|_| unknown(column, "pattern", text))
}
