//! The writer: one thread, the only connection that writes, and one commit for all that waits.
//!
//! A commit costs one wait for the disk however much it holds, so the writer takes every job that waits, runs each in a
//! savepoint of one transaction, commits, and only then answers. A job that fails, or panics, takes back only what it
//! did itself. A job whose caller went away is done all the same; `write_for_caller` is the exception, whose jobs look for
//! themselves whether anybody waits. Nothing here knows what a job does.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Mutex, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mail::{StoreError, Stored};
use rusqlite::Connection;

use super::now;
use super::search::FINDABLE;
use super::tx::{SqliteTx, Writing};
use crate::error::{Outcome, SqlError};
use crate::job::{Answer, Job, Lost, Work, closed, job, panic_text};
use crate::row::values;
use crate::tx::Tx;

/// The most jobs of one transaction.
const MOST_TOGETHER: usize = 256;
/// How long closing waits for others before it leaves the write-ahead log as it is.
const FOLDING: Duration = Duration::from_millis(100);

/// The thread that writes.
pub(super) struct Writer {
    queue: RwLock<Option<SyncSender<Box<dyn Job>>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// Hands the connection to a thread of its own. At most `queue` jobs wait.
    pub(super) fn start(connection: Connection, queue: usize) -> std::io::Result<Self> {
        let (sender, jobs) = sync_channel(queue.max(1));
        let thread = thread::Builder::new().name("mail-writer".to_owned()).spawn(move || serve(connection, &jobs))?;
        Ok(Self { queue: RwLock::new(Some(sender)), thread: Mutex::new(Some(thread)) })
    }

    /// Queues `work`, which is done whether or not anybody waits for its answer.
    pub(super) fn hand_in<T: Send + 'static>(&self, doing: &'static str, work: impl Work<T>) -> Stored<Answer<T>> {
        let (job, answer) = job(doing, work);
        let queue = self.queue.read().unwrap_or_else(PoisonError::into_inner);
        match queue.as_ref().map(|queue| queue.try_send(job)) {
            Some(Ok(())) => Ok(answer),
            Some(Err(TrySendError::Full(_))) => Err(StoreError::Busy),
            Some(Err(TrySendError::Disconnected(_))) | None => Err(closed(doing)),
        }
    }

    /// Lets the thread finish what waits, and waits for its end.
    pub(super) fn close(&self) {
        drop(self.queue.write().unwrap_or_else(PoisonError::into_inner).take());
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the writer of the mail store panicked");
        }
    }
}

fn serve(mut connection: Connection, jobs: &Receiver<Box<dyn Job>>) {
    let mut writing = Writing::default();
    while let Ok(first) = jobs.recv() {
        let mut batch = vec![first];
        batch.extend(jobs.try_iter().take(MOST_TOGETHER - 1));
        let committed = commit_together(&mut connection, &mut writing, &mut batch);
        if let Err(lost) = &committed {
            tracing::error!(error = %lost.cause, jobs = batch.len(), "a transaction of the mail store was lost");
        }
        for job in batch {
            job.answer(&committed);
        }
    }
    // Others may be at work for long; what they keep from being folded in, they or the next start will fold in.
    let folded = connection
        .busy_timeout(FOLDING)
        .and_then(|()| connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())));
    if let Err(error) = folded {
        tracing::warn!(%error, "the write-ahead log was left for the next start");
    }
}

fn commit_together(connection: &mut Connection, writing: &mut Writing, batch: &mut [Box<dyn Job>]) -> Result<(), Lost> {
    let committed = catch_unwind(AssertUnwindSafe(|| run_together(connection, writing, batch)))
        .unwrap_or_else(|panic| Err(SqlError::Unknown(format!("it panicked: {}", panic_text(&*panic)))));
    let lost = |cause| Lost { cause, is_in_doubt: false };
    if committed.is_ok() {
        writing.ledger.reservation_cache.settle();
        return Ok(());
    }
    writing.ledger.reservation_cache.undo_all();
    if !connection.is_autocommit() {
        command(connection, "ROLLBACK").map_err(|error| lost(error.into()))?;
    }
    committed.map_err(lost)
}

fn run_together(connection: &mut Connection, writing: &mut Writing, batch: &mut [Box<dyn Job>]) -> Outcome<()> {
    command(connection, "BEGIN IMMEDIATE")?;
    writing.ledger.begin();
    writing.first_new = None;
    for job in batch {
        command(connection, "SAVEPOINT job")?;
        writing.ledger.begin_job();
        let done = now(job.run(&mut Tx::Sqlite(SqliteTx::writing(connection, writing))));
        if connection.is_autocommit() {
            // A full disk or a failing one makes SQLite give up the whole transaction.
            return Err(SqlError::Unknown("a failure ended the transaction".to_owned()));
        }
        if !done {
            writing.ledger.undo_job();
            command(connection, "ROLLBACK TO job")?;
        }
        command(connection, "RELEASE job")?;
    }
    if let Some(first) = writing.first_new {
        SqliteTx::writing(connection, writing).execute(FINDABLE, values![first])?;
    }
    Ok(command(connection, "COMMIT")?)
}

fn command(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

#[cfg(test)]
mod tests;
