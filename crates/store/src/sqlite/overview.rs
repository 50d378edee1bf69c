//! What a person asks who looks after many agents, in SQLite.

mod listing;

use std::collections::HashMap;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use mail::StoreError;
use mail::clock::from_micros;
use mail::ids::{AgentId, ProjectId};
use mail::overview::{AuditEntry, Correspondence, Listed, Listing, MOST_COUNTED, OverviewStore, step_of};
use rusqlite::{Connection, Row};

use super::events::event_of;
use super::{Sqlite, limit_of};

#[async_trait]
impl OverviewStore for Sqlite {
    async fn listing(&self, listing: &Listing) -> Result<Vec<Listed>, StoreError> {
        self.read("list mail", |connection| {
            // One snapshot, so that what is told of the copies is why a message is there.
            let snapshot = connection.unchecked_transaction()?;
            let listed = listing::listed(&snapshot, listing);
            snapshot.finish()?;
            listed
        })
    }

    async fn count_unread(&self, project: ProjectId, agent: Option<AgentId>, most: usize) -> Result<usize, StoreError> {
        let counted = self.read("count unread mail", |connection| count_unread(connection, project, agent, most))?;
        Ok(usize::try_from(counted).unwrap_or(0))
    }

    async fn traffic(
        &self,
        project: ProjectId,
        since: Timestamp,
        step: SignedDuration,
        steps: usize,
    ) -> Result<Vec<u64>, StoreError> {
        // Many events are read, which would hold up whoever else is served by this thread.
        self.searchers.run("count traffic", move |connection| traffic(connection, project, since, step, steps)).await
    }

    async fn correspondence(&self, project: ProjectId, newest: usize) -> Result<Vec<Correspondence>, StoreError> {
        self.searchers
            .run("count who wrote to whom", move |connection| correspondence(connection, project, newest))
            .await
    }

    async fn audit(
        &self,
        project: ProjectId,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        self.read("read what happened", |connection| {
            connection
                .prepare_cached(AUDIT)?
                .query_map((project.0, before.unwrap_or(i64::MAX), limit_of(limit)), entry_of)?
                .collect()
        })
    }
}

fn count_unread(
    connection: &Connection,
    project: ProjectId,
    agent: Option<AgentId>,
    most: usize,
) -> rusqlite::Result<i64> {
    let whose = if agent.is_some() { "a.id = ?3" } else { "?3 IS NULL AND d.role < 2" };
    let sql = format!(
        "SELECT count(*) FROM (
             SELECT 1 FROM agent a CROSS JOIN delivery d INDEXED BY delivery_unread ON d.recipient_id = a.id
             WHERE a.project_id = ?1 AND d.read_at IS NULL AND d.archived_at IS NULL AND {whose} LIMIT ?2
         )"
    );
    let values = (project.0, limit_of(most), agent.map(|agent| agent.0));
    connection.prepare_cached(&sql)?.query_row(values, |row| row.get(0))
}

fn traffic(
    connection: &Connection,
    project: ProjectId,
    since: Timestamp,
    step: SignedDuration,
    steps: usize,
) -> rusqlite::Result<Vec<u64>> {
    let mut counts = vec![0; steps];
    let mut statement = connection.prepare_cached(
        "SELECT at FROM event WHERE project_id = ?1 AND kind = 'message.sent'
         AND seq > (SELECT next_seq - 1 - ?2 FROM project WHERE id = ?1) ORDER BY seq DESC",
    )?;
    let mut rows = statement.query((project.0, limit_of(MOST_COUNTED)))?;
    while let Some(row) = rows.next()? {
        let at = from_micros(row.get(0)?);
        // The times of a project's messages rise, so that all others are older still.
        if at < since {
            break;
        }
        if let Some(count) = step_of(at, since, step).and_then(|place| counts.get_mut(place)) {
            *count += 1;
        }
    }
    Ok(counts)
}

fn correspondence(connection: &Connection, project: ProjectId, newest: usize) -> rusqlite::Result<Vec<Correspondence>> {
    let snapshot = connection.unchecked_transaction()?;
    let messages = listing::newest(&snapshot, &Listing::newest(project, newest))?;
    let mut counts: HashMap<(i64, i64), u64> = HashMap::new();
    let mut copies = snapshot.prepare_cached(
        "SELECT m.sender_id, d.recipient_id FROM message m
         CROSS JOIN delivery d INDEXED BY delivery_by_message ON d.message_id = m.id
         WHERE m.id = ?1 AND d.role < 2",
    )?;
    for message in messages {
        let mut rows = copies.query([message])?;
        while let Some(row) = rows.next()? {
            *counts.entry((row.get(0)?, row.get(1)?)).or_default() += 1;
        }
    }
    let mut names = snapshot.prepare_cached("SELECT name FROM agent WHERE id = ?1")?;
    let mut told = Vec::with_capacity(counts.len());
    for ((from, to), count) in counts {
        let mut name_of = |agent: i64| names.query_row([agent], |row| row.get(0));
        told.push(Correspondence { from: name_of(from)?, to: name_of(to)?, count });
    }
    told.sort_by(|one, other| (other.count, &one.from, &one.to).cmp(&(one.count, &other.from, &other.to)));
    Ok(told)
}

/// The page is taken before anything else is looked up, and what would tell of a blind copy is not on it.
const AUDIT: &str = "
    SELECT e.seq, e.kind, e.reference, e.agent_id, e.at, who.name, coalesce(m.subject, r.pattern, whom.name), m.thread
    FROM (
        SELECT seq, kind, reference, agent_id, at FROM event
        WHERE project_id = ?1 AND seq < ?2 AND NOT (
            kind LIKE 'message.%' AND kind <> 'message.sent' AND EXISTS (
                SELECT 1 FROM delivery d WHERE d.recipient_id = agent_id AND d.message_id = reference AND d.role = 2
            )
        )
        ORDER BY seq DESC LIMIT ?3
    ) e
    LEFT JOIN agent who ON who.id = e.agent_id
    LEFT JOIN message m ON m.id = e.reference AND e.kind LIKE 'message.%'
    LEFT JOIN reservation r ON r.id = e.reference AND e.kind LIKE 'lease.%'
    LEFT JOIN agent whom ON whom.id = e.reference AND (e.kind LIKE 'agent.%' OR e.kind LIKE 'presence.%')
    ORDER BY e.seq DESC";

fn entry_of(row: &Row<'_>) -> rusqlite::Result<AuditEntry> {
    Ok(AuditEntry { event: event_of(row)?, agent: row.get(5)?, subject: row.get(6)?, thread: row.get(7)? })
}
