//! A ceiling: the same rows written straight to SQLite, by one writer that commits whatever waits.
//!
//! No HTTP, no JSON, no rules, no savepoints, and nothing of the store but its schema: the statements here are written
//! once more, so that a slow store does not lower its own ceiling. When the store's statements change, so must these.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

use anyhow::Context;
use jiff::Timestamp;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, params};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::load::{Outcome, Pace, Window};
use crate::mailboxes::{self, DATABASE, SampleMessage, agents};
use crate::setting::Setting;

/// As in the store: the most messages of one transaction.
const MOST_TOGETHER: usize = 256;
/// The messages that a search of the project can find.
const FINDABLE: &str = "message_fts WHERE message_fts MATCH 'scope: p1'";

struct Job {
    message: Arc<SampleMessage>,
    done: oneshot::Sender<()>,
}

/// What the raw writer came to.
pub struct Raw {
    /// As for any load.
    pub outcome: Outcome,
    /// How many messages were in a transaction, on average.
    pub together: f64,
}

/// Has `callers` hand over `messages` in turn, each its next as soon as the one before is on disk.
pub fn run(setting: &Setting, messages: &[Arc<SampleMessage>], callers: usize, pace: Pace) -> anyhow::Result<Raw> {
    let database = setting.fresh_folder()?.join(DATABASE);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Without a message: only to have the schema, and the agents that rows refer to.
    mailboxes::make(&database, 0, 0)?;
    let connection = writing(&database)?;
    let (queue, jobs) = sync_channel(4096);
    let writer = std::thread::spawn(move || write(&connection, &jobs));
    let outcome = runtime.block_on(async {
        let window = Window::opening(pace);
        let mut running = JoinSet::new();
        for caller in 0..callers {
            let first = caller * messages.len() / callers;
            running.spawn(hand_over(queue.clone(), messages.to_vec(), first, window));
        }
        drop(queue);
        let mut measured = Vec::with_capacity(callers);
        while let Some(caller) = running.join_next().await {
            measured.push(caller??);
        }
        anyhow::Ok(Outcome::of(measured, pace))
    });
    // The writer ends when nobody can hand over any more; if it failed, its reason is worth more than theirs.
    let commits = writer.join().map_err(|_| anyhow::anyhow!("the raw writer panicked"))??;
    let outcome = outcome?;
    check_count(&database, outcome.answered)?;
    Ok(Raw { together: outcome.answered as f64 / commits.max(1) as f64, outcome })
}

/// Makes sure that the database holds as many messages as were accepted.
pub fn check_count(database: &Path, accepted: usize) -> anyhow::Result<()> {
    let connection = Connection::open(database)?;
    for counted in ["message", "delivery WHERE position = 1", "event WHERE kind = 'message.sent'", FINDABLE] {
        let kept: i64 = connection.query_row(&format!("SELECT count(*) FROM {counted}"), [], |row| row.get(0))?;
        anyhow::ensure!(kept == accepted as i64, "{accepted} messages were accepted, but {kept} are in {counted}");
    }
    Ok(())
}

async fn hand_over(
    queue: SyncSender<Job>,
    messages: Vec<Arc<SampleMessage>>,
    first: usize,
    window: Window,
) -> anyhow::Result<(Vec<std::time::Duration>, usize)> {
    let mut latencies = Vec::new();
    let mut answered = 0;
    while window.is_open() {
        let message = messages[(first + answered) % messages.len()].clone();
        let begun = Instant::now();
        let (done, kept) = oneshot::channel();
        queue.send(Job { message, done }).context("the raw writer is gone")?;
        kept.await.context("the raw writer gave up")?;
        let ended = Instant::now();
        answered += 1;
        if window.counts(ended) {
            latencies.push(ended - begun);
        }
    }
    Ok((latencies, answered))
}

fn writing(database: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(database)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
    connection.set_prepared_statement_cache_capacity(32);
    connection.execute_batch(
        "PRAGMA synchronous = FULL;
         PRAGMA wal_autocheckpoint = 1000;
         PRAGMA journal_size_limit = 67108864;
         PRAGMA temp_store = MEMORY;
         PRAGMA cache_size = -8192;",
    )?;
    Ok(connection)
}

/// Writes until nobody can hand over any more; returns how often it committed.
fn write(connection: &Connection, jobs: &Receiver<Job>) -> rusqlite::Result<usize> {
    let names = agents();
    let mut commits = 0;
    while let Ok(first) = jobs.recv() {
        let mut batch = vec![first];
        batch.extend(jobs.try_iter().take(MOST_TOGETHER - 1));
        execute(connection, "BEGIN IMMEDIATE")?;
        let mut ids = Vec::with_capacity(batch.len());
        for job in &batch {
            ids.push(insert(connection, &job.message, &names)?);
        }
        for (id, job) in ids.into_iter().zip(&batch) {
            insert_words(connection, id, &job.message)?;
        }
        execute(connection, "COMMIT")?;
        commits += 1;
        for job in batch {
            // Somebody who is gone needs no answer.
            let _ = job.done.send(());
        }
    }
    Ok(commits)
}

fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

/// The row, the deliveries, the event and the sender's time, as the store writes them. There is one project, number 1, and
/// agents are numbered from 1 in the order of their places.
fn insert(connection: &Connection, message: &SampleMessage, names: &[String]) -> rusqlite::Result<i64> {
    let now = Timestamp::now().as_microsecond();
    let sender = message.sender as i64 + 1;
    let (seq, created_at): (i64, i64) = connection
        .prepare_cached(
            "UPDATE project SET next_seq = next_seq + 1, last_message_at = max(?2, last_message_at + 1)
             WHERE id = ?1 RETURNING next_seq - 1, last_message_at",
        )?
        .query_row((1, now), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let id: i64 =
        connection.prepare_cached("SELECT coalesce(max(id), 0) + 1 FROM message")?.query_row([], |row| row.get(0))?;
    let to = message.recipients.map(|place| names[place].as_str()).join("\n");
    connection
        .prepare_cached(
            "INSERT INTO message (id, project_id, sender_id, created_at, thread, reply_to, importance, ack_required,
                 kind, work_id, door, vouched, to_names, cc_names, subject, body, from_name)
             VALUES (?1, 1, ?2, ?3, ?4, NULL, 1, 0, NULL, NULL, 'mcp', 'claimed', ?5, '', ?6, ?7,
                 (SELECT name FROM agent WHERE id = ?2))",
        )?
        .execute(params![id, sender, created_at, id.to_string(), to, message.subject, message.body])?;
    let mut delivery = connection.prepare_cached(
        "INSERT INTO delivery (recipient_id, message_id, role, position, ack_required,
             shown_at, read_at, acked_at, ack_note, archived_at)
         VALUES (?1, ?2, 0, ?3, 0, NULL, NULL, NULL, '', NULL)",
    )?;
    for (position, place) in (0_i64..).zip(message.recipients) {
        delivery.execute((place as i64 + 1, id, position))?;
    }
    connection
        .prepare_cached(
            "INSERT INTO event (project_id, seq, kind, reference, agent_id, at)
             VALUES (1, ?1, 'message.sent', ?2, ?3, ?4)",
        )?
        .execute((seq, id, sender, created_at))?;
    connection
        .prepare_cached("UPDATE agent SET last_active_at = max(last_active_at, ?2) WHERE id = ?1")?
        .execute((sender, now))?;
    Ok(id)
}

fn insert_words(connection: &Connection, id: i64, message: &SampleMessage) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT INTO message_fts (rowid, scope, subject, body) VALUES (?1, ?2, ?3, ?4)")?
        .execute((id, format!("p1 a{}", message.sender + 1), &message.subject, &message.body))
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All rows of a table but for their times.
    fn rows(connection: &Connection, columns: &str, table: &str) -> Vec<Vec<rusqlite::types::Value>> {
        let mut statement = connection.prepare(&format!("SELECT {columns} FROM {table} ORDER BY 1, 2")).unwrap();
        let width = statement.column_count();
        let rows = statement.query_map([], |row| (0..width).map(|column| row.get(column)).collect()).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn the_raw_rows_are_those_that_the_store_writes() {
        let folder = tempfile::tempdir().unwrap();
        let [ours, theirs] = ["ours", "theirs"].map(|name| folder.path().join(name));
        mailboxes::make(&ours, 0, 0).unwrap();
        mailboxes::make(&theirs, 40, 4).unwrap();
        let ours = writing(&ours).unwrap();
        for message in mailboxes::messages(40, 4) {
            let id = insert(&ours, &message, &agents()).unwrap();
            insert_words(&ours, id, &message).unwrap();
        }
        let theirs = Connection::open(theirs).unwrap();
        for (columns, table) in [
            (
                "id, project_id, sender_id, thread, reply_to, importance, ack_required, kind, work_id, door, vouched,
                 external_id, to_names, cc_names, subject, body",
                "message",
            ),
            (
                "recipient_id, message_id, role, position, ack_required, shown_at, read_at, acked_at, ack_note,
                 archived_at",
                "delivery",
            ),
            ("project_id, seq, kind, reference, agent_id", "event"),
            ("id, next_seq", "project"),
            ("rowid, 1", "message_fts WHERE message_fts MATCH 'scope: a7'"),
            ("rowid, 1", "message_fts WHERE message_fts MATCH 'body: case3'"),
        ] {
            let written = rows(&ours, columns, table);
            assert!(!written.is_empty(), "{table}");
            assert_eq!(written, rows(&theirs, columns, table), "{table}");
        }
    }
}
