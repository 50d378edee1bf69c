//! Mailboxes, in PostgreSQL: the copies that are open in one, or in all of a project.

use async_trait::async_trait;
use futures_util::FutureExt;
use jiff::Timestamp;
use mail::StoreError;
use mail::events::EventKind;
use mail::ids::{AgentId, MessageId, ProjectId};
use mail::mailboxes::{Archived, BroughtBack, CopyQuery, Count, MailboxStore, RecipientCopy};
use tokio_postgres::Row;

use super::Postgres;
use super::desk::Desk;
use super::rows::{AFTER_BODY, BODY, COLUMNS, Outcome, STATE, delivery_of, limit_of, message_of, micros, size_of};

/// Where the columns of a copy stand behind those of the message and the delivery.
const RECIPIENT: usize = AFTER_BODY + 6;
const PLACE: usize = RECIPIENT + 1;

#[async_trait]
impl MailboxStore for Postgres {
    async fn open_copies(&self, query: &CopyQuery) -> Result<Vec<RecipientCopy>, StoreError> {
        let (message, place) = query.after.map_or((0, 0), |(message, place)| (message.0, place));
        let place = i64::try_from(place).unwrap_or(i64::MAX);
        let whose = query.agent.map_or(query.project.0, |agent| agent.0);
        let values: super::Values<'_> = &[&whose, &message, &place, &limit_of(query.limit)];
        self.read_page("read a mailbox", &open_copies_sql(query), values, copy_of, |copy| size_of(&copy.message)).await
    }

    async fn count_open(&self, project: ProjectId, agent: Option<AgentId>) -> Result<Count, StoreError> {
        let (whose, id) = match agent {
            Some(agent) => ("= $1", agent.0),
            None => ("IN (SELECT id FROM agent WHERE project_id = $1)", project.0),
        };
        let sql = format!(
            "SELECT count(*), count(*) FILTER (WHERE read_at IS NULL) FROM delivery
             WHERE recipient_id {whose} AND archived_at IS NULL"
        );
        let count = |row: &Row| Ok(Count { total: number(row, 0)?, unread: number(row, 1)? });
        Ok(self.read_as("count a mailbox", &sql, &[&id], count).await?.remove(0))
    }

    async fn archive(
        &self,
        agent: AgentId,
        message: MessageId,
        by: AgentId,
        now: Timestamp,
    ) -> Result<Archived, StoreError> {
        self.write_for("put a message away", agent, move |desk| archive(desk, agent, message, by, now).boxed()).await
    }

    async fn bring_back(
        &self,
        agent: AgentId,
        message: MessageId,
        by: AgentId,
        now: Timestamp,
    ) -> Result<BroughtBack, StoreError> {
        self.write_for("bring a message back", agent, move |desk| bring_back(desk, agent, message, by, now).boxed())
            .await
    }
}

/// Which way to walk follows from the question: along one mailbox, where a message has one copy, or along the messages of
/// the project.
fn open_copies_sql(query: &CopyQuery) -> String {
    let unread = if query.unread_only { " AND d.read_at IS NULL" } else { "" };
    let (whose, first) = match query.agent {
        Some(_) => ("d.recipient_id = $1 AND d.message_id > $2 AND $3::bigint IS NOT NULL", "d.message_id"),
        None => ("m.project_id = $1 AND m.id >= $2 AND (m.id > $2 OR p.place > $3)", "m.id"),
    };
    format!(
        "SELECT {COLUMNS}, {BODY}, {STATE}, a.name, p.place
         FROM delivery d JOIN message m ON m.id = d.message_id JOIN agent a ON a.id = d.recipient_id
         CROSS JOIN LATERAL (
             SELECT count(*) AS place FROM delivery e
             WHERE e.message_id = d.message_id AND (e.role, e.position) <= (d.role, d.position)
         ) p
         WHERE {whose} AND d.archived_at IS NULL{unread}
         ORDER BY {first}, d.role, d.position LIMIT $4"
    )
}

fn copy_of(row: &Row) -> Outcome<RecipientCopy> {
    let (_, state) = delivery_of(row, AFTER_BODY)?;
    Ok(RecipientCopy {
        message: message_of(row)?,
        recipient: row.try_get(RECIPIENT)?,
        place: number(row, PLACE)?,
        state,
    })
}

fn number(row: &Row, column: usize) -> Outcome<usize> {
    Ok(usize::try_from(row.try_get::<_, i64>(column)?).unwrap_or(0))
}

async fn archive(
    desk: &mut Desk,
    agent: AgentId,
    message: MessageId,
    by: AgentId,
    now: Timestamp,
) -> Outcome<Archived> {
    let Some(copy) = copy(desk, agent, message).await? else { return Ok(Archived::NoCopy) };
    if copy.is_away {
        return Ok(Archived::Before);
    }
    put_away(desk, agent, message, Some(now)).await?;
    desk.record(copy.project, EventKind::MessageArchived, message.0, Some(by), now)?;
    Ok(Archived::Now)
}

async fn bring_back(
    desk: &mut Desk,
    agent: AgentId,
    message: MessageId,
    by: AgentId,
    now: Timestamp,
) -> Outcome<BroughtBack> {
    let Some(copy) = copy(desk, agent, message).await? else { return Ok(BroughtBack::NoCopy) };
    if !copy.is_away {
        return Ok(BroughtBack::NotAway);
    }
    put_away(desk, agent, message, None).await?;
    desk.record(copy.project, EventKind::MessageBroughtBack, message.0, Some(by), now)?;
    Ok(BroughtBack::Now)
}

/// A copy, as far as it matters to whoever puts it away.
struct Copy {
    is_away: bool,
    project: ProjectId,
}

async fn copy(desk: &Desk, agent: AgentId, message: MessageId) -> Outcome<Option<Copy>> {
    let copies = desk
        .rows(
            "SELECT d.archived_at IS NOT NULL, m.project_id FROM delivery d JOIN message m ON m.id = d.message_id
             WHERE d.recipient_id = $1 AND d.message_id = $2",
            &[&agent.0, &message.0],
        )
        .await?;
    let copy_of = |row: &Row| Ok(Copy { is_away: row.try_get(0)?, project: ProjectId(row.try_get(1)?) });
    copies.first().map(copy_of).transpose()
}

/// Puts a copy away, or brings it back. Either way its mailbox is another.
async fn put_away(desk: &mut Desk, agent: AgentId, message: MessageId, at: Option<Timestamp>) -> Outcome<()> {
    desk.execute(
        "UPDATE delivery SET archived_at = $3 WHERE recipient_id = $1 AND message_id = $2",
        &[&agent.0, &message.0, &micros(at)],
    )
    .await?;
    desk.wakes([agent.0]);
    Ok(())
}
