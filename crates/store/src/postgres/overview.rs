//! What a person asks who looks after many agents, in PostgreSQL.

mod listing;

use async_trait::async_trait;
use formats::Kind;
use jiff::{SignedDuration, Timestamp};
use mail::StoreError;
use mail::ids::{AgentId, ProjectId};
use mail::overview::{AuditEntry, Correspondence, Listed, Listing, MOST_COUNTED, OverviewStore};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::Postgres;
use super::events::event_of;
use super::rows::{Outcome, limit_of};

#[async_trait]
impl OverviewStore for Postgres {
    async fn listing(&self, listing: &Listing) -> Result<Vec<Listed>, StoreError> {
        let (before, limit) = (listing.before.map_or(i64::MAX, |id| id.0), limit_of(listing.limit));
        let agent = listing.agent.map(|agent| agent.0);
        let kind = listing.kind.map(Kind::as_str);
        let mut values: Vec<&(dyn ToSql + Sync)> = vec![&listing.project.0, &before, &limit, &agent];
        values.extend(kind.as_ref().map(|kind| kind as &(dyn ToSql + Sync)));
        self.read_as("list mail", &listing::sql(listing), &values, listing::listed_of).await
    }

    async fn count_unread(&self, project: ProjectId, agent: Option<AgentId>, most: usize) -> Result<usize, StoreError> {
        let whose = if agent.is_some() { "a.id = $3" } else { "$3::bigint IS NULL AND d.role < 2" };
        let sql = format!(
            "SELECT count(*) FROM (
                 SELECT FROM agent a JOIN delivery d ON d.recipient_id = a.id
                 WHERE a.project_id = $1 AND d.read_at IS NULL AND d.archived_at IS NULL AND {whose} LIMIT $2
             ) unread"
        );
        let values: super::Values<'_> = &[&project.0, &limit_of(most), &agent.map(|agent| agent.0)];
        let counted = self.read_as("count unread mail", &sql, values, |row| Ok(row.try_get::<_, i64>(0)?)).await?;
        Ok(counted.first().and_then(|count| usize::try_from(*count).ok()).unwrap_or(0))
    }

    async fn traffic(
        &self,
        project: ProjectId,
        since: Timestamp,
        step: SignedDuration,
        steps: usize,
    ) -> Result<Vec<u64>, StoreError> {
        let mut counts = vec![0; steps];
        let Some(length) = i64::try_from(step.as_micros()).ok().filter(|length| *length > 0) else { return Ok(counts) };
        let sql = "SELECT (at - $2) / $3, count(*) FROM event
                   WHERE project_id = $1 AND kind = 'message.sent' AND at >= $2
                   AND seq > (SELECT next_seq - 1 - $4 FROM project WHERE id = $1) GROUP BY 1";
        let values: super::Values<'_> = &[&project.0, &since.as_microsecond(), &length, &limit_of(MOST_COUNTED)];
        let counted = |row: &Row| Ok((row.try_get::<_, i64>(0)?, row.try_get::<_, i64>(1)?));
        for (place, count) in self.read_as("count traffic", sql, values, counted).await? {
            if let Some(counted) = usize::try_from(place).ok().and_then(|place| counts.get_mut(place)) {
                *counted = count.unsigned_abs();
            }
        }
        Ok(counts)
    }

    async fn correspondence(&self, project: ProjectId, newest: usize) -> Result<Vec<Correspondence>, StoreError> {
        // Message by message (`OFFSET` says so): all copies of a project would be read sooner than those of a few messages.
        let sql = "SELECT f.name, t.name, c.count FROM (
                       SELECT m.sender_id, d.recipient_id, count(*) AS count FROM (
                           SELECT id, sender_id FROM message WHERE project_id = $1 ORDER BY id DESC LIMIT $2
                       ) m CROSS JOIN LATERAL (
                           SELECT recipient_id FROM delivery WHERE message_id = m.id AND role < 2 OFFSET 0
                       ) d GROUP BY m.sender_id, d.recipient_id
                   ) c JOIN agent f ON f.id = c.sender_id JOIN agent t ON t.id = c.recipient_id
                   ORDER BY c.count DESC, f.name, t.name";
        self.read_as("count who wrote to whom", sql, &[&project.0, &limit_of(newest)], |row| {
            let count = row.try_get::<_, i64>(2)?.unsigned_abs();
            Ok(Correspondence { from: row.try_get(0)?, to: row.try_get(1)?, count })
        })
        .await
    }

    async fn audit(
        &self,
        project: ProjectId,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        let values: super::Values<'_> = &[&project.0, &before.unwrap_or(i64::MAX), &limit_of(limit)];
        self.read_as("read what happened", AUDIT, values, entry_of).await
    }
}

/// The page is taken before anything else is looked up, and what would tell of a blind copy is not on it.
const AUDIT: &str = "
    SELECT e.seq, e.kind, e.reference, e.agent_id, e.at, who.name, coalesce(m.subject, r.pattern, whom.name), m.thread
    FROM (
        SELECT seq, kind, reference, agent_id, at FROM event
        WHERE project_id = $1 AND seq < $2 AND NOT (
            kind LIKE 'message.%' AND kind <> 'message.sent' AND EXISTS (
                SELECT FROM delivery d WHERE d.recipient_id = agent_id AND d.message_id = reference AND d.role = 2
            )
        )
        ORDER BY seq DESC LIMIT $3
    ) e
    LEFT JOIN agent who ON who.id = e.agent_id
    LEFT JOIN message m ON m.id = e.reference AND e.kind LIKE 'message.%'
    LEFT JOIN reservation r ON r.id = e.reference AND e.kind LIKE 'lease.%'
    LEFT JOIN agent whom ON whom.id = e.reference AND (e.kind LIKE 'agent.%' OR e.kind LIKE 'presence.%')
    ORDER BY e.seq DESC";

fn entry_of(row: &Row) -> Outcome<AuditEntry> {
    Ok(AuditEntry { event: event_of(row)?, agent: row.try_get(5)?, subject: row.try_get(6)?, thread: row.try_get(7)? })
}
