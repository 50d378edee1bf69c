//! Mailboxes: the deliveries that are open in one, or in all of a project.

use mail::mailboxes::{Count, DeliveredMessage, DeliveryQuery, MailboxStore};
use mail::messages::{InboxEntry, PAGE_BYTES};

use crate::messages::{BODY, COLUMNS, STATE, size_of};
use crate::prelude::*;

#[async_trait]
impl MailboxStore for Engine {
    async fn open_deliveries(&self, query: &DeliveryQuery) -> Stored<Vec<DeliveredMessage>> {
        self.read("read a mailbox", async |tx| open_deliveries(tx, query).await).await
    }

    async fn count_open(&self, project: ProjectId, agent: Option<AgentId>) -> Stored<Count> {
        let (whose, id) = match agent {
            Some(agent) => ("= ?1", agent.0),
            None => ("IN (SELECT id FROM agent WHERE project_id = ?1)", project.0),
        };
        let sql = format!(
            "SELECT count(*), count(*) FILTER (WHERE read_at IS NULL) FROM delivery
             WHERE recipient_id {whose} AND archived_at IS NULL"
        );
        self.read("count a mailbox", async |tx| tx.only(&sql, values![id]).await).await
    }

    async fn archive(&self, agent: AgentId, message: MessageId, by: AgentId, now: Timestamp) -> Stored<Option<bool>> {
        let archiving = in_job!(|tx| set_archived(tx, agent, message, by, true, now).await);
        self.write("put a message away", Home::Agent(agent), archiving).await
    }

    async fn bring_back(
        &self,
        agent: AgentId,
        message: MessageId,
        by: AgentId,
        now: Timestamp,
    ) -> Stored<Option<bool>> {
        let bringing = in_job!(|tx| set_archived(tx, agent, message, by, false, now).await);
        self.write("bring a message back", Home::Agent(agent), bringing).await
    }
}

async fn open_deliveries(tx: &mut Tx<'_>, query: &DeliveryQuery) -> Outcome<Vec<DeliveredMessage>> {
    let (message, place) = query.after.map_or((0, 0), |(message, place)| (message.0, place));
    let whose = query.agent.map_or(query.project.0, |agent| agent.0);
    // The last message of the page before may come again, with all its deliveries.
    let limit = query.limit.saturating_add(place);
    let (mut page, mut bytes): (Vec<DeliveredMessage>, usize) = (Vec::new(), 0);
    let visit = &mut |row: &Row<'_>| {
        let delivery: DeliveredMessage = row.read()?;
        if (delivery.message.id.0, delivery.place) <= (message, place) {
            return Ok(true);
        }
        bytes += size_of(&delivery.message);
        page.push(delivery);
        Ok(page.len() < query.limit && bytes <= PAGE_BYTES)
    };
    if query.limit > 0 {
        tx.each(&open_deliveries_sql(query), values![whose, message, limit], visit).await?;
    }
    Ok(page)
}

/// Which way to walk follows from the question: along one mailbox, where a message has one delivery, or along the
/// messages of the project. Either way is in the order of the answer, so that nothing is sorted and a page costs what
/// it holds.
fn open_deliveries_sql(query: &DeliveryQuery) -> String {
    let (unread, index) = match query.unread_only {
        true => (" AND d.read_at IS NULL", "INDEXED BY delivery_unread "),
        false => ("", ""),
    };
    let (from, whose, order) = match query.agent {
        Some(_) => (
            format!("delivery d {index}CROSS JOIN message m ON m.id = d.message_id"),
            "d.recipient_id = ?1 AND d.message_id > ?2",
            "d.message_id",
        ),
        None => (
            "message m NOT INDEXED CROSS JOIN delivery d INDEXED BY delivery_by_message ON d.message_id = m.id"
                .to_owned(),
            "m.project_id = ?1 AND m.id >= ?2",
            "m.id, d.role, d.position",
        ),
    };
    format!(
        "SELECT {COLUMNS}, {BODY}, {STATE}, a.name,
             (SELECT count(*) FROM delivery e INDEXED BY delivery_by_message
              WHERE e.message_id = d.message_id AND (e.role, e.position) <= (d.role, d.position))
         FROM {from} CROSS JOIN agent a ON a.id = d.recipient_id
         WHERE {whose} AND d.archived_at IS NULL{unread} ORDER BY {order} LIMIT ?3"
    )
}

from_row! { Count { total, unread } }

impl FromRow for DeliveredMessage {
    fn from_row(row: &Row<'_>, at: &mut usize) -> Outcome<Self> {
        let (InboxEntry { message, state, .. }, recipient, place) = FromRow::from_row(row, at)?;
        Ok(Self { message, recipient, place, state })
    }
}

/// Archives a delivery, or brings it back, and tells that `by` did it. `Some(false)` if it is so already, `None` if the
/// agent has none.
pub(crate) async fn set_archived(
    tx: &mut Tx<'_>,
    agent: AgentId,
    message: MessageId,
    by: AgentId,
    is_wanted: bool,
    now: Timestamp,
) -> Outcome<Option<bool>> {
    let sql =
        "SELECT d.archived_at IS NOT NULL, m.project_id FROM delivery d CROSS JOIN message m ON m.id = d.message_id
               WHERE d.recipient_id = ?1 AND d.message_id = ?2";
    let delivery: Option<(bool, ProjectId)> = tx.row(sql, values![agent, message]).await?;
    let Some((is_archived, project)) = delivery else { return Ok(None) };
    if is_archived == is_wanted {
        return Ok(Some(false));
    }
    let sql = "UPDATE delivery SET archived_at = ?3 WHERE recipient_id = ?1 AND message_id = ?2";
    tx.execute(sql, values![agent, message, is_wanted.then_some(now)]).await?;
    // Either way its mailbox is another.
    tx.wake(agent);
    let kind = if is_wanted { EventKind::MessageArchived } else { EventKind::MessageBroughtBack };
    tx.record(project, kind, message.0, Some(by), now).await?;
    Ok(Some(true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Sqlite};

    #[tokio::test]
    async fn no_page_of_a_mailbox_is_sorted() {
        let folder = tempfile::tempdir().unwrap();
        let store = Sqlite::open(&folder.path().join("mail.db"), &Options::default()).unwrap();
        for (agent, unread_only) in [(Some(AgentId(1)), true), (Some(AgentId(1)), false), (None, true), (None, false)] {
            let query = DeliveryQuery { project: ProjectId(1), agent, unread_only, after: None, limit: 1 };
            let sql = format!("EXPLAIN QUERY PLAN {}", open_deliveries_sql(&query));
            let plan: Vec<(i64, i64, i64, String)> =
                store.read("plan", async |tx| tx.rows(&sql, values![1, 0, 1]).await).await.unwrap();
            assert!(!plan.iter().any(|step| step.3.contains("TEMP B-TREE")), "{agent:?} {unread_only}: {plan:?}");
        }
    }
}
