//! Mail that comes or goes whole, and how much there is, in SQLite.

use std::collections::HashMap;

use async_trait::async_trait;
use jiff::Timestamp;
use mail::StoreError;
use mail::agents::Profile;
use mail::ids::{AgentId, MessageId, ProjectId};
use mail::messages::Message;
use mail::transfer::{Counts, Imported, LARGEST_ID, Record, TransferStore};
use rusqlite::{Connection, OptionalExtension};

use super::messages::rows::{AFTER_BODY, BODY, COLUMNS, message_of, page};
use super::messages::{by_id, deliveries, insert};
use super::search::{Words, scope_of};
use super::writer::Desk;
use super::{Sqlite, agents, channels, limit_of, projects};
use crate::placed::Placed;

#[async_trait]
impl TransferStore for Sqlite {
    async fn export(&self, after: Option<MessageId>, limit: usize) -> Result<Vec<Record>, StoreError> {
        self.read("export messages", |connection| {
            // One snapshot, so that copies are as they were when the message was read.
            let snapshot = connection.unchecked_transaction()?;
            let records = export(&snapshot, after, limit);
            snapshot.finish()?;
            records
        })
    }

    async fn import(&self, records: &[Record], now: Timestamp) -> Result<Vec<Imported>, StoreError> {
        let records = records.to_vec();
        self.write("import messages", move |desk| import(desk, records, now)).await
    }

    async fn counts(&self, now: Timestamp) -> Result<Counts, StoreError> {
        self.read("count what is kept", |connection| {
            connection
                .prepare_cached(
                    "SELECT (SELECT count(*) FROM project), (SELECT count(*) FROM agent),
                            (SELECT count(*) FROM message), (SELECT count(*) FROM delivery),
                            (SELECT count(*) FROM reservation WHERE released_at IS NULL AND ends_at > ?1),
                            (SELECT coalesce(sum(next_seq - 1), 0) FROM project)",
                )?
                .query_row([now.as_microsecond()], |row| {
                    let count = |column| row.get::<_, i64>(column).map(|count| u64::try_from(count).unwrap_or(0));
                    Ok(Counts {
                        projects: count(0)?,
                        agents: count(1)?,
                        messages: count(2)?,
                        deliveries: count(3)?,
                        leases: count(4)?,
                        events: count(5)?,
                    })
                })
        })
    }

    async fn check_ready(&self) -> Result<(), StoreError> {
        self.read("read from the store", look)?;
        // An empty transaction takes the lock that writing needs, and puts nothing on the disk.
        self.write("write to the store", |desk| look(desk.connection)).await
    }
}

fn look(connection: &Connection) -> rusqlite::Result<()> {
    connection.prepare_cached("SELECT count(*) FROM migration")?.query_row([], |_| Ok(()))
}

fn export(connection: &Connection, after: Option<MessageId>, limit: usize) -> rusqlite::Result<Vec<Record>> {
    let sql = format!(
        "SELECT {COLUMNS}, {BODY}, p.human_key, p.slug FROM message m
         CROSS JOIN project p ON p.id = m.project_id
         WHERE m.id > ?1 ORDER BY m.id LIMIT ?2"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let read = statement.query_map((after.map_or(0, |id| id.0), limit_of(limit)), |row| {
        let message = message_of(row)?;
        Ok(Record {
            human_key: row.get(AFTER_BODY)?,
            slug: row.get(AFTER_BODY + 1)?,
            deliveries: deliveries(connection, message.id)?,
            post: channels::export(connection, message.id)?,
            message,
        })
    })?;
    page(read, Record::bytes)
}

/// Imports all of it, or nothing if there is a clash.
fn import(desk: &mut Desk<'_>, records: Vec<Record>, now: Timestamp) -> rusqlite::Result<Vec<Imported>> {
    let mut answers = Vec::with_capacity(records.len());
    let words_before = desk.words.len();
    desk.connection.execute_batch("SAVEPOINT import")?;
    for record in records {
        let answer = import_one(desk, record, now)?;
        answers.push(answer);
        if answer == Imported::Clash {
            desk.words.truncate(words_before);
            desk.connection.execute_batch("ROLLBACK TO import")?;
            break;
        }
    }
    desk.connection.execute_batch("RELEASE import")?;
    Ok(answers)
}

fn import_one(desk: &mut Desk<'_>, record: Record, now: Timestamp) -> rusqlite::Result<Imported> {
    let connection = desk.connection;
    let newest: i64 =
        connection.prepare_cached("SELECT coalesce(max(id), 0) FROM message")?.query_row([], |row| row.get(0))?;
    let id = record.message.id;
    if id.0 <= newest {
        let same = is_there(connection, &record)?;
        return Ok(if same { Imported::AlreadyThere } else { Imported::Clash });
    }
    if id.0 > LARGEST_ID {
        return Ok(Imported::Clash);
    }
    let project = projects::ensure(connection, &record.human_key, record.wanted_slug(), now)?.id;
    let agents = ensure_agents(connection, project, &record, now)?;
    let seq = connection
        .prepare_cached(
            "UPDATE project SET next_seq = next_seq + 1, last_message_at = ?2
             WHERE id = ?1 AND last_message_at < ?2 RETURNING next_seq - 1",
        )?
        .query_row((project.0, record.message.created_at.as_microsecond()), |row| row.get(0))
        .optional()?;
    let Some(seq) = seq else { return Ok(Imported::Clash) };
    let placed = Placed::of_record(&record, project, &agents, seq);
    insert(connection, &placed)?;
    if let Some(post) = &record.post {
        channels::insert(connection, &placed, post, now)?;
    }
    let scope = scope_of(project, agents[record.message.from.as_str()]);
    let Message { subject, body, .. } = record.message;
    desk.words.push(Words { message: id.0, scope, subject, body });
    Ok(Imported::New)
}

/// Whether the record's message is here, under its number and unchanged.
fn is_there(connection: &Connection, record: &Record) -> rusqlite::Result<bool> {
    let (Some(kept), Some(project)) =
        (by_id(connection, record.message.id)?, projects::by_path(connection, &record.human_key)?)
    else {
        return Ok(false);
    };
    // The number of the project is the other store's, and tells nothing here.
    Ok(kept.project == project.id && kept == Message { project: project.id, ..record.message.clone() })
}

fn ensure_agents<'a>(
    connection: &Connection,
    project: ProjectId,
    record: &'a Record,
    now: Timestamp,
) -> rusqlite::Result<HashMap<&'a str, AgentId>> {
    let recipients = record.deliveries.iter().map(|copy| copy.recipient.as_str());
    let mut agents = HashMap::new();
    for name in recipients.chain([record.message.from.as_str()]) {
        let known = agents::by_name(connection, project, name)?;
        let agent = match known {
            Some(agent) => agent,
            None => agents::register(connection, project, name, &Profile::default(), now)?,
        };
        agents.insert(name, agent.id);
    }
    Ok(agents)
}
