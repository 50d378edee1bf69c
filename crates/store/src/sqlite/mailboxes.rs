//! Mailboxes, in SQLite: the copies that are open in one, or in all of a project.

use async_trait::async_trait;
use jiff::Timestamp;
use mail::StoreError;
use mail::events::EventKind;
use mail::ids::{AgentId, MessageId, ProjectId};
use mail::mailboxes::{Archived, BroughtBack, CopyQuery, Count, MailboxStore, RecipientCopy};
use mail::messages::PAGE_BYTES;
use rusqlite::{Connection, OptionalExtension, Row};

use super::Sqlite;
use super::events::record;
use super::messages::rows::{AFTER_BODY, BODY, COLUMNS, STATE, delivery_of, message_of};

/// Where the columns of a copy stand behind those of the message and the delivery.
const RECIPIENT: usize = AFTER_BODY + 6;
const PLACE: usize = RECIPIENT + 1;

#[async_trait]
impl MailboxStore for Sqlite {
    async fn open_copies(&self, query: &CopyQuery) -> Result<Vec<RecipientCopy>, StoreError> {
        self.read("read a mailbox", |connection| open_copies(connection, query))
    }

    async fn count_open(&self, project: ProjectId, agent: Option<AgentId>) -> Result<Count, StoreError> {
        self.read("count a mailbox", |connection| count_open(connection, project, agent))
    }

    async fn archive(
        &self,
        agent: AgentId,
        message: MessageId,
        by: AgentId,
        now: Timestamp,
    ) -> Result<Archived, StoreError> {
        self.write("put a message away", move |desk| {
            let Some(is_away) = is_away(desk.connection, agent, message)? else { return Ok(Archived::NoCopy) };
            if is_away {
                return Ok(Archived::Before);
            }
            put_away(desk.connection, agent, message, Some(now))?;
            tell(desk.connection, EventKind::MessageArchived, message, by, now)?;
            Ok(Archived::Now)
        })
        .await
    }

    async fn bring_back(
        &self,
        agent: AgentId,
        message: MessageId,
        by: AgentId,
        now: Timestamp,
    ) -> Result<BroughtBack, StoreError> {
        self.write("bring a message back", move |desk| {
            let Some(is_away) = is_away(desk.connection, agent, message)? else { return Ok(BroughtBack::NoCopy) };
            if !is_away {
                return Ok(BroughtBack::NotAway);
            }
            put_away(desk.connection, agent, message, None)?;
            tell(desk.connection, EventKind::MessageBroughtBack, message, by, now)?;
            Ok(BroughtBack::Now)
        })
        .await
    }
}

fn open_copies(connection: &Connection, query: &CopyQuery) -> rusqlite::Result<Vec<RecipientCopy>> {
    let sql = open_copies_sql(query);
    let (message, place) = query.after.map_or((0, 0), |(message, place)| (message.0, place));
    let whose = query.agent.map_or(query.project.0, |agent| agent.0);
    let mut statement = connection.prepare_cached(&sql)?;
    let read = statement.query_map((whose, message), copy_of)?;
    let (mut page, mut bytes): (Vec<RecipientCopy>, usize) = (Vec::new(), 0);
    for copy in read {
        let copy = copy?;
        if (copy.message.id.0, copy.place) <= (message, place) {
            continue;
        }
        if page.len() >= query.limit || bytes > PAGE_BYTES {
            break;
        }
        bytes += copy.message.body.len();
        page.push(copy);
    }
    Ok(page)
}

/// Which way to walk follows from the question: along one mailbox, where a message has one copy, or along the messages of
/// the project. Either way is in the order of the answer, so that nothing is sorted and a page costs what it holds.
fn open_copies_sql(query: &CopyQuery) -> String {
    let unread = if query.unread_only { " AND d.read_at IS NULL" } else { "" };
    let (from, rest) = match query.agent {
        Some(_) => {
            let index = if query.unread_only { "INDEXED BY delivery_unread " } else { "" };
            (
                format!("delivery d {index}CROSS JOIN message m ON m.id = d.message_id"),
                "d.recipient_id = ?1 AND d.message_id > ?2 {open} ORDER BY d.message_id",
            )
        }
        None => (
            "message m NOT INDEXED CROSS JOIN delivery d INDEXED BY delivery_by_message ON d.message_id = m.id"
                .to_owned(),
            "m.project_id = ?1 AND m.id >= ?2 {open} ORDER BY m.id, d.role, d.position",
        ),
    };
    let rest = rest.replace("{open}", &format!("AND d.archived_at IS NULL{unread}"));
    format!(
        "SELECT {COLUMNS}, {BODY}, {STATE}, a.name,
             (SELECT count(*) FROM delivery e INDEXED BY delivery_by_message
              WHERE e.message_id = d.message_id AND (e.role, e.position) <= (d.role, d.position))
         FROM {from} CROSS JOIN agent a ON a.id = d.recipient_id WHERE {rest}"
    )
}

fn copy_of(row: &Row<'_>) -> rusqlite::Result<RecipientCopy> {
    let (_, state) = delivery_of(row, AFTER_BODY)?;
    Ok(RecipientCopy { message: message_of(row)?, recipient: row.get(RECIPIENT)?, place: number(row, PLACE)?, state })
}

fn count_open(connection: &Connection, project: ProjectId, agent: Option<AgentId>) -> rusqlite::Result<Count> {
    let (whose, id) = match agent {
        Some(agent) => ("= ?1", agent.0),
        None => ("IN (SELECT id FROM agent WHERE project_id = ?1)", project.0),
    };
    let sql = format!(
        "SELECT count(*), count(*) FILTER (WHERE read_at IS NULL) FROM delivery
         WHERE recipient_id {whose} AND archived_at IS NULL"
    );
    connection
        .prepare_cached(&sql)?
        .query_row([id], |row| Ok(Count { total: number(row, 0)?, unread: number(row, 1)? }))
}

fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<usize> {
    Ok(usize::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}

/// Whether the agent's copy is put away; `None` if it has none.
fn is_away(connection: &Connection, agent: AgentId, message: MessageId) -> rusqlite::Result<Option<bool>> {
    connection
        .prepare_cached("SELECT archived_at IS NOT NULL FROM delivery WHERE recipient_id = ?1 AND message_id = ?2")?
        .query_row((agent.0, message.0), |row| row.get(0))
        .optional()
}

/// Puts a copy away, or brings it back.
fn put_away(
    connection: &Connection,
    agent: AgentId,
    message: MessageId,
    at: Option<Timestamp>,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE delivery SET archived_at = ?3 WHERE recipient_id = ?1 AND message_id = ?2")?
        .execute((agent.0, message.0, at.map(Timestamp::as_microsecond)))
        .map(drop)
}

/// Tells what somebody did with a copy of a message.
fn tell(
    connection: &Connection,
    kind: EventKind,
    message: MessageId,
    by: AgentId,
    now: Timestamp,
) -> rusqlite::Result<()> {
    let project = connection
        .prepare_cached("SELECT project_id FROM message WHERE id = ?1")?
        .query_row([message.0], |row| row.get(0).map(ProjectId))?;
    record(connection, project, kind, message.0, Some(by), now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Sqlite};

    #[test]
    fn no_page_of_a_mailbox_is_sorted() {
        let folder = tempfile::tempdir().unwrap();
        let store = Sqlite::open(&folder.path().join("mail.db"), &Options::default()).unwrap();
        for (agent, unread_only) in [(Some(AgentId(1)), true), (Some(AgentId(1)), false), (None, true), (None, false)] {
            let query = CopyQuery { project: ProjectId(1), agent, unread_only, after: None, limit: 1 };
            let plan: Vec<String> = store
                .read("plan", |connection| {
                    let sql = format!("EXPLAIN QUERY PLAN {}", open_copies_sql(&query));
                    let mut plan = connection.prepare(&sql)?;
                    plan.query_map((1, 0), |row| row.get(3))?.collect()
                })
                .unwrap();
            assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "{agent:?} {unread_only}: {plan:?}");
        }
    }
}
