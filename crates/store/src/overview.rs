//! What a person asks who looks after many agents.

mod listing;

use std::collections::HashMap;

use jiff::SignedDuration;
use mail::overview::{AuditEntry, Correspondence, Listed, Listing, MOST_COUNTED, OverviewStore, ProjectSum};

use crate::events::last_sent_before;
use crate::prelude::*;

#[async_trait]
impl OverviewStore for Engine {
    async fn project_sums(&self, after: Option<ProjectId>, limit: usize) -> Stored<Vec<ProjectSum>> {
        // All messages are counted, which would hold up whoever else is served by this thread.
        let after = after.map_or(0, |id| id.0);
        self.read_long("count the mail of projects", in_job!(|tx| tx.rows(SUMS, values![after, limit]).await)).await
    }

    async fn listing(&self, listing: &Listing) -> Stored<Vec<Listed>> {
        self.read("list mail", async |tx| listing::listed(tx, listing).await).await
    }

    async fn count_unread(&self, project: ProjectId, agent: Option<AgentId>, most: usize) -> Stored<usize> {
        let whose = if agent.is_some() { "a.id = ?3" } else { "CAST(?3 AS BIGINT) IS NULL AND d.role < 2" };
        let sql = format!(
            "SELECT count(*) FROM (
                 SELECT 1 FROM agent a CROSS JOIN delivery d INDEXED BY delivery_unread ON d.recipient_id = a.id
                 WHERE a.project_id = ?1 AND d.read_at IS NULL AND d.archived_at IS NULL AND {whose} LIMIT ?2
             ) unread"
        );
        let values = values![project, most, agent];
        self.read("count unread mail", async |tx| tx.only(&sql, values).await).await
    }

    async fn traffic(
        &self,
        project: ProjectId,
        since: Timestamp,
        step: SignedDuration,
        steps: usize,
    ) -> Stored<Vec<u64>> {
        // Many events are read, which would hold up whoever else is served by this thread.
        let counting = in_job!(|tx| {
            let mut counts = vec![0; steps];
            let Some(length) = i64::try_from(step.as_micros()).ok().filter(|length| *length > 0) else {
                return Ok(counts);
            };
            let (before, _) = last_sent_before(tx, project, since).await?;
            let sql = "SELECT (at - ?2) / ?3, count(*) FROM event
                       WHERE project_id = ?1 AND kind = 'message.sent' AND at >= ?2 AND seq > ?4
                       AND seq > (SELECT next_seq - 1 - ?5 FROM project WHERE id = ?1) GROUP BY 1";
            let values = values![project, since, length, before, MOST_COUNTED];
            for (place, count) in tx.rows::<(usize, u64)>(sql, values).await? {
                if let Some(counted) = counts.get_mut(place) {
                    *counted = count;
                }
            }
            Ok(counts)
        });
        self.read_long("count traffic", counting).await
    }

    async fn correspondence(&self, project: ProjectId, newest: usize) -> Stored<Vec<Correspondence>> {
        self.read_long("count who wrote to whom", in_job!(|tx| correspondence(tx, project, newest).await)).await
    }

    async fn audit(&self, project: ProjectId, before: Option<i64>, limit: usize) -> Stored<Vec<AuditEntry>> {
        let values = values![project, before.unwrap_or(i64::MAX), limit];
        self.read("read what happened", async |tx| tx.rows(AUDIT, values).await).await
    }
}

async fn correspondence(tx: &mut Tx<'_>, project: ProjectId, newest: usize) -> Outcome<Vec<Correspondence>> {
    tx.begin_snapshot().await?;
    let messages = listing::newest(tx, &Listing::newest(project, newest)).await?;
    let deliveries = "SELECT m.sender_id, d.recipient_id, m.from_name FROM message m
                  CROSS JOIN delivery d INDEXED BY delivery_by_message ON d.message_id = m.id
                  WHERE m.id = ?1 AND d.role < 2";
    let names = "SELECT id, name FROM agent WHERE project_id = ?1";
    let mut names: HashMap<AgentId, String> = tx.rows(names, values![project]).await?.into_iter().collect();
    let mut counts: HashMap<(AgentId, AgentId), u64> = HashMap::new();
    let asked = messages.into_iter().map(|id| [Value::from(id)]);
    for (from, to, called) in tx.rows_many::<(AgentId, AgentId, String), 1>(deliveries, asked).await? {
        *counts.entry((from, to)).or_default() += 1;
        // Who wrote from another project is none of its agents.
        names.entry(from).or_insert(called);
    }
    tx.end_snapshot().await?;
    let name = |agent| names.get(&agent).cloned().unwrap_or_default();
    let counted =
        counts.into_iter().map(|((from, to), count)| Correspondence { from: name(from), to: name(to), count });
    let mut counted: Vec<Correspondence> = counted.collect();
    counted.sort_by(|one, other| (other.count, &one.from, &one.to).cmp(&(one.count, &other.from, &other.to)));
    Ok(counted)
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

/// The time of a project's newest message is 0 if it has none.
const SUMS: &str = "
    SELECT p.id, p.slug, p.human_key, p.created_at,
           (SELECT count(*) FROM agent a INDEXED BY agent_by_project WHERE a.project_id = p.id AND a.retired_at IS NULL),
           (SELECT count(*) FROM message m INDEXED BY message_by_thread WHERE m.project_id = p.id),
           (SELECT count(*) FROM agent a INDEXED BY agent_by_project
            CROSS JOIN delivery d INDEXED BY delivery_unread ON d.recipient_id = a.id
            WHERE a.project_id = p.id AND d.read_at IS NULL AND d.archived_at IS NULL AND d.role < 2),
           nullif(p.last_message_at, 0)
    FROM project p WHERE p.id > ?1 ORDER BY p.id LIMIT ?2";

from_row! {
    ProjectSum { project, agents, messages, unread, last_mail_at }
}
from_row! { AuditEntry { event, agent, subject, thread } }
