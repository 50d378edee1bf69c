//! Reservations and the line for them.
//!
//! What is decided is decided by the reservations of `mail`, while nobody else writes in the project; this file sees to it
//! that the set tells what the rows tell, and writes down what was decided. Reservations that ended or were released stay
//! in the table as history.

use std::collections::HashSet;

use mail::ids::{ReservationId, TicketId};
use mail::reservations::pattern::Pattern;
use mail::reservations::{
    Decision, NewEnd, Request, Reservation, ReservationSet, ReservationStore, Reserved, Waiter, place_held_until,
    renewed,
};

use crate::ledger::CachedReservations;
use crate::prelude::*;
use crate::values::lines_of;

#[async_trait]
impl ReservationStore for Engine {
    async fn reserve(&self, request: &Request, now: Timestamp) -> Stored<Reserved> {
        let request = request.clone();
        let (project, agent) = (request.project, request.agent);
        let reserving = in_job!(|tx| reserve(tx, request, now).await);
        let give_back = move |reserved| match reserved {
            Reserved::Granted(granted) => Some(in_job!(|tx| give_back(tx, project, agent, granted, now).await)),
            _ => None,
        };
        self.write_for_caller("reserve files", Home::Project(project), reserving, give_back).await
    }

    async fn leave_line(&self, project: ProjectId, agent: AgentId, ticket: TicketId) -> Stored<bool> {
        let leaving = in_job!(|tx| {
            let sql = "DELETE FROM reservation_wait WHERE ticket = ?1 AND project_id = ?2 AND agent_id = ?3";
            if tx.execute(sql, values![ticket, project, agent]).await? == 0 {
                return Ok(false);
            }
            let version = tx.raise_reservations(project).await?;
            if let Some(open) = tx.reservation_cache().at(project, version - 1) {
                open.set.leave(ticket);
                open.is_at(version);
            }
            Ok(true)
        });
        self.write("leave the line", Home::Project(project), leaving).await
    }

    async fn release(
        &self,
        project: ProjectId,
        agent: AgentId,
        patterns: Option<&[Pattern]>,
        by: AgentId,
        now: Timestamp,
    ) -> Stored<Vec<Reservation>> {
        let patterns = patterns.map(<[Pattern]>::to_vec);
        let releasing = in_job!(|tx| release(tx, project, agent, patterns.as_deref(), by, now).await);
        self.write("release files", Home::Project(project), releasing).await
    }

    async fn renew(
        &self,
        project: ProjectId,
        agent: AgentId,
        patterns: Option<&[Pattern]>,
        end: NewEnd,
        now: Timestamp,
    ) -> Stored<Result<Vec<Reservation>, Pattern>> {
        let patterns = patterns.map(<[Pattern]>::to_vec);
        let renewing = in_job!(|tx| {
            let mut held = held(tx, project, agent, patterns.as_deref(), now).await?;
            let open = cached(tx, project, now).await?;
            held.retain(|reservation| open.set.stands(reservation, now));
            let reservations = match renewed(held, patterns.as_deref(), end) {
                Ok(reservations) if !reservations.is_empty() => reservations,
                nothing => return Ok(nothing),
            };
            prolong(tx, reservations.iter()).await?;
            let version =
                tx.record_reservations(project, EventKind::ReservationGranted, &reservations, agent, now).await?;
            let set = cached_at(tx, project, version);
            reservations.iter().for_each(|reservation| set.hold(reservation.clone()));
            Ok(Ok(reservations))
        });
        self.write("renew reservations", Home::Project(project), renewing).await
    }

    async fn reservations(
        &self,
        project: ProjectId,
        after: Option<ReservationId>,
        limit: usize,
        now: Timestamp,
    ) -> Stored<Vec<Reservation>> {
        let after = after.map_or(0, |id| id.0);
        self.read("list reservations", async |tx| reservations_of(tx, project, now, after, limit).await).await
    }

    async fn waiters(&self, project: ProjectId, now: Timestamp) -> Stored<Vec<Waiter>> {
        self.read("list who stands in line", async |tx| waiters_of(tx, project, now).await).await
    }
}

/// Grants all of a request or nothing.
pub(crate) async fn reserve(tx: &mut Tx<'_>, mut request: Request, now: Timestamp) -> Outcome<Reserved> {
    let held_until = place_of(tx, &request, now).await?;
    if held_until.is_none() {
        request.ticket = None;
    }
    match cached(tx, request.project, now).await?.set.decide(&request, now) {
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

/// The project's set, read again if it is not open or somebody else has changed the rows since.
async fn cached<'t>(tx: &'t mut Tx<'_>, project: ProjectId, now: Timestamp) -> Outcome<&'t mut CachedReservations> {
    let version = tx.numbers(project).await?.lease_version;
    if tx.reservation_cache().at(project, version).is_none() {
        let reservations = reservations_of(tx, project, now, 0, usize::MAX).await?;
        let line = waiters_of(tx, project, now).await?;
        tx.reservation_cache().keep(project, version, ReservationSet::new(reservations, line));
    }
    Ok(tx.reservation_cache().at(project, version).expect("the set was opened above"))
}

/// The set that was opened in this job, which from now on tells what the rows tell at `version`.
fn cached_at<'t>(tx: &'t mut Tx<'_>, project: ProjectId, version: i64) -> &'t mut ReservationSet {
    let open = tx.reservation_cache().at(project, version - 1).expect("the set was opened in this job");
    open.is_at(version);
    &mut open.set
}

async fn grant(tx: &mut Tx<'_>, request: &Request, now: Timestamp) -> Outcome<Vec<Reservation>> {
    if let Some(ticket) = request.ticket {
        leave(tx, ticket).await?;
    }
    let set = &cached(tx, request.project, now).await?.set;
    let own = |pattern| set.own(request.agent, pattern, now);
    let mut granted: Vec<Reservation> =
        request.patterns.iter().map(|pattern| request.granted(pattern, own(pattern), now)).collect();
    prolong(tx, granted.iter().filter(|reservation| reservation.id != ReservationId(0))).await?;
    insert(tx, request.project, &mut granted).await?;
    let version =
        tx.record_reservations(request.project, EventKind::ReservationGranted, &granted, request.agent, now).await?;
    let set = cached_at(tx, request.project, version);
    request.ticket.iter().for_each(|ticket| set.leave(*ticket));
    granted.iter().for_each(|reservation| set.hold(reservation.clone()));
    if let Some(open) = tx.reservation_cache().at(request.project, version) {
        open.forget_ended_sometimes(now);
    }
    Ok(granted)
}

async fn wait(tx: &mut Tx<'_>, request: &Request, now: Timestamp) -> Outcome<TicketId> {
    let until = place_held_until(now, request.wait_until.unwrap_or(now));
    let mut gone = Vec::new();
    let ticket = match request.ticket {
        Some(ticket) => {
            hold_place(tx, ticket, until).await?;
            ticket
        }
        None => {
            // Whoever was killed in the line cannot leave it; those who come next sweep up.
            gone = lose_places(tx, request.project, now).await?;
            stand(tx, request, until, now).await?
        }
    };
    let version = tx.raise_reservations(request.project).await?;
    let set = cached_at(tx, request.project, version);
    gone.push(ticket);
    gone.into_iter().for_each(|lost| set.leave(lost));
    set.stand(request.waiter(ticket, until));
    Ok(ticket)
}

async fn leave_line(tx: &mut Tx<'_>, request: &Request) -> Outcome<()> {
    let Some(ticket) = request.ticket else { return Ok(()) };
    leave(tx, ticket).await?;
    let version = tx.raise_reservations(request.project).await?;
    cached_at(tx, request.project, version).leave(ticket);
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
) -> Outcome<Vec<Reservation>> {
    let mut released = held(tx, project, agent, patterns, now).await?;
    if released.is_empty() {
        return Ok(released);
    }
    released.iter_mut().for_each(|reservation| reservation.ends_at = now);
    note_release(tx, &released, now).await?;
    let version = tx.record_reservations(project, EventKind::ReservationReleased, &released, by, now).await?;
    if let Some(open) = tx.reservation_cache().at(project, version - 1) {
        released.iter().for_each(|reservation| open.set.end(reservation.id, &reservation.pattern));
        open.is_at(version);
    }
    Ok(released)
}

/// Gives back those that were new at `now`, as far as nobody has prolonged or released them since.
async fn give_back(
    tx: &mut Tx<'_>,
    project: ProjectId,
    agent: AgentId,
    granted: Vec<Reservation>,
    now: Timestamp,
) -> Outcome<()> {
    let patterns: Vec<Pattern> = granted.iter().map(|reservation| reservation.pattern.clone()).collect();
    let held = held(tx, project, agent, Some(&patterns), now).await?;
    let unchanged = held.into_iter().filter(|held| held.granted_at == now && granted.contains(held));
    let unchanged: Vec<Pattern> = unchanged.map(|reservation| reservation.pattern).collect();
    if !unchanged.is_empty() {
        release(tx, project, agent, Some(&unchanged), agent, now).await?;
    }
    Ok(())
}

/// The columns of a reservation `r` and of its holder `a`.
const COLUMNS: &str = "r.id, r.holder_id, a.name, r.pattern, r.exclusive, r.reason, r.granted_at, r.ends_at";

/// The active reservations of a project behind a number.
async fn reservations_of(
    tx: &mut Tx<'_>,
    project: ProjectId,
    now: Timestamp,
    after: i64,
    limit: usize,
) -> Outcome<Vec<Reservation>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM reservation r INDEXED BY reservation_open CROSS JOIN agent a ON a.id = r.holder_id
         WHERE r.project_id = ?1 AND r.released_at IS NULL AND r.ends_at > ?2 AND r.id > ?3 ORDER BY r.id LIMIT ?4"
    );
    tx.rows(&sql, values![project, now, after, limit]).await
}

/// The active reservations of one agent on `patterns` (compared as text), or all of them.
pub(crate) async fn held(
    tx: &mut Tx<'_>,
    project: ProjectId,
    agent: AgentId,
    patterns: Option<&[Pattern]>,
    now: Timestamp,
) -> Outcome<Vec<Reservation>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM reservation r INDEXED BY reservation_held CROSS JOIN agent a ON a.id = r.holder_id
         WHERE r.holder_id = ?1 AND r.released_at IS NULL AND r.ends_at > ?2 AND r.project_id = ?3 ORDER BY r.id"
    );
    let wanted: Option<HashSet<&str>> = patterns.map(|some| some.iter().map(Pattern::as_str).collect());
    let mut reservations = Vec::new();
    let visit = &mut |row: &Row<'_>| {
        // Compared before it is compiled, for an agent may hold thousands and give back one.
        let text: &str = row.get(3)?;
        if wanted.as_ref().is_none_or(|wanted| wanted.contains(text)) {
            reservations.push(row.read()?);
        }
        Ok(true)
    };
    tx.each(&sql, values![agent, now, project], visit).await?;
    Ok(reservations)
}

from_row! {
    Reservation { id, holder, holder_name, pattern, exclusive, reason, granted_at, ends_at }
    Waiter { ticket, agent, agent_name, patterns, exclusive, until }
}

/// Writes those that have no number yet, and gives each its number.
async fn insert(tx: &mut Tx<'_>, project: ProjectId, reservations: &mut [Reservation]) -> Outcome<()> {
    let sql = "INSERT INTO reservation (project_id, holder_id, pattern, exclusive, reason, granted_at, ends_at)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING id";
    let new = reservations.iter().filter(|reservation| reservation.id == ReservationId(0));
    let new = new.map(|reservation| {
        let Reservation { holder, exclusive, granted_at, ends_at, .. } = *reservation;
        *values![project, holder, &reservation.pattern, exclusive, &reservation.reason, granted_at, ends_at]
    });
    let ids: Vec<ReservationId> = tx.rows_many(sql, new).await?;
    let new = reservations.iter_mut().filter(|reservation| reservation.id == ReservationId(0));
    new.zip(ids).for_each(|(reservation, id)| reservation.id = id);
    Ok(())
}

/// Writes the new end, mode and reason of reservations.
async fn prolong<'l>(tx: &mut Tx<'_>, reservations: impl Iterator<Item = &'l Reservation> + Send) -> Outcome<()> {
    let sql = "UPDATE reservation SET ends_at = ?2, exclusive = ?3, reason = ?4 WHERE id = ?1";
    let reservations = reservations
        .map(|reservation| *values![reservation.id, reservation.ends_at, reservation.exclusive, &reservation.reason]);
    tx.execute_many(sql, reservations).await
}

/// Notes that reservations were given back.
async fn note_release(tx: &mut Tx<'_>, reservations: &[Reservation], now: Timestamp) -> Outcome<()> {
    let reservations = reservations.iter().map(|reservation| *values![reservation.id, now]);
    tx.execute_many("UPDATE reservation SET released_at = ?2 WHERE id = ?1", reservations).await
}

/// Those who stand in line, in their order.
async fn waiters_of(tx: &mut Tx<'_>, project: ProjectId, now: Timestamp) -> Outcome<Vec<Waiter>> {
    let sql = "SELECT w.ticket, w.agent_id, a.name, w.patterns, w.exclusive, w.until
               FROM reservation_wait w CROSS JOIN agent a ON a.id = w.agent_id
               WHERE w.project_id = ?1 AND w.until > ?2 ORDER BY w.ticket";
    tx.rows(sql, values![project, now]).await
}

/// Until when the ticket keeps its position, if it still does.
async fn place_of(tx: &mut Tx<'_>, request: &Request, now: Timestamp) -> Outcome<Option<Timestamp>> {
    let Some(ticket) = request.ticket else { return Ok(None) };
    let sql = "SELECT until FROM reservation_wait
               WHERE ticket = ?1 AND project_id = ?2 AND agent_id = ?3 AND until > ?4";
    tx.row(sql, values![ticket, request.project, request.agent, now]).await
}

/// Gives a place at the end of the line.
async fn stand(tx: &mut Tx<'_>, request: &Request, until: Timestamp, now: Timestamp) -> Outcome<TicketId> {
    let patterns = lines_of(request.patterns.iter().map(Pattern::as_str));
    let sql = "INSERT INTO reservation_wait (project_id, agent_id, patterns, exclusive, since, until)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6) RETURNING ticket";
    let values = values![request.project, request.agent, &patterns, request.exclusive, now, until];
    tx.only(sql, values).await
}

/// Holds a place longer.
async fn hold_place(tx: &mut Tx<'_>, ticket: TicketId, until: Timestamp) -> Outcome<()> {
    tx.execute("UPDATE reservation_wait SET until = ?2 WHERE ticket = ?1", values![ticket, until]).await.map(drop)
}

/// Leaves the line.
async fn leave(tx: &mut Tx<'_>, ticket: TicketId) -> Outcome<()> {
    tx.execute("DELETE FROM reservation_wait WHERE ticket = ?1", values![ticket]).await.map(drop)
}

/// Drops the places that were lost by time, and returns them.
async fn lose_places(tx: &mut Tx<'_>, project: ProjectId, now: Timestamp) -> Outcome<Vec<TicketId>> {
    let sql = "DELETE FROM reservation_wait WHERE project_id = ?1 AND until <= ?2 RETURNING ticket";
    tx.rows(sql, values![project, now]).await
}
