//! The writer: one thread, the only connection that writes, and one commit for all that waits.
//!
//! A commit costs one wait for the disk however much it holds, so the writer takes every job that waits, runs each in a
//! savepoint of one transaction, commits, and only then answers. A job that fails, or panics, takes back only what it
//! did itself. A job whose caller went away is done all the same. Nothing here knows what a job does.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Mutex, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mail::StoreError;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::search::{Words, index};
use super::{failed, failure};
use crate::books::LeaseBooks;

/// The most jobs of one transaction.
const MOST_TOGETHER: usize = 256;
/// How long closing waits for others before it leaves the write-ahead log as it is.
const FOLDING: Duration = Duration::from_millis(100);

/// What a job has before it while it runs: a transaction, and what the writer keeps between transactions.
pub(super) struct Desk<'a> {
    /// The connection, inside a transaction.
    pub(super) connection: &'a Connection,
    /// The lease books.
    pub(super) books: &'a mut LeaseBooks,
    /// What is to be made findable before the commit. Not at once: FTS5 writes out what it gathered at every
    /// savepoint, and one such piece for each message makes searching and merging dear.
    pub(super) words: &'a mut Vec<Words>,
}

/// The thread that writes.
pub(super) struct Writer {
    queue: RwLock<Option<SyncSender<Box<dyn Job>>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// Hands the connection to a thread of its own. At most `queue` jobs wait.
    pub(super) fn start(connection: Connection, queue: usize) -> std::io::Result<Self> {
        let (sender, jobs) = sync_channel(queue.max(1));
        let thread = thread::Builder::new().name("mail-writer".to_owned()).spawn(move || serve(&connection, &jobs))?;
        Ok(Self { queue: RwLock::new(Some(sender)), thread: Mutex::new(Some(thread)) })
    }

    /// Queues `work` and waits until it is on disk.
    pub(super) async fn submit<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&mut Desk<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let answer = self.hand_in(doing, work)?;
        answer.await.unwrap_or_else(|_| Err(failure(doing, "the store was closed")))
    }

    /// Queues `work`, which is done whether or not anybody waits for its answer.
    pub(super) fn hand_in<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&mut Desk<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<oneshot::Receiver<Result<T, StoreError>>, StoreError> {
        let (caller, answer) = oneshot::channel();
        self.enqueue(doing, Box::new(Errand { doing, work: Some(work), outcome: None, caller }))?;
        Ok(answer)
    }

    /// Lets the thread finish what waits, and waits for its end.
    pub(super) fn close(&self) {
        drop(self.queue.write().unwrap_or_else(PoisonError::into_inner).take());
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the writer of the mail store panicked");
        }
    }

    fn enqueue(&self, doing: &'static str, job: Box<dyn Job>) -> Result<(), StoreError> {
        let queue = self.queue.read().unwrap_or_else(PoisonError::into_inner);
        match queue.as_ref().map(|queue| queue.try_send(job)) {
            Some(Ok(())) => Ok(()),
            Some(Err(TrySendError::Full(_))) => Err(StoreError::Busy),
            Some(Err(TrySendError::Disconnected(_))) | None => Err(failure(doing, "the store was closed")),
        }
    }
}

/// Something to write, and somebody who waits for it.
trait Job: Send {
    /// Does the work; `false` if what it wrote has to be taken back.
    fn run(&mut self, desk: &mut Desk<'_>) -> bool;

    /// Tells the caller what became of it.
    fn answer(self: Box<Self>, committed: &rusqlite::Result<()>);
}

struct Errand<W, T> {
    doing: &'static str,
    work: Option<W>,
    outcome: Option<Result<T, StoreError>>,
    caller: oneshot::Sender<Result<T, StoreError>>,
}

impl<W, T> Job for Errand<W, T>
where
    W: FnOnce(&mut Desk<'_>) -> rusqlite::Result<T> + Send,
    T: Send,
{
    fn run(&mut self, desk: &mut Desk<'_>) -> bool {
        let work = self.work.take().expect("a job runs once");
        let outcome = match catch_unwind(AssertUnwindSafe(|| work(desk))) {
            Ok(done) => done.map_err(failed(self.doing)),
            Err(panic) => Err(failure(self.doing, format!("it panicked: {}", panic_text(&*panic)))),
        };
        self.outcome.insert(outcome).is_ok()
    }

    fn answer(self: Box<Self>, committed: &rusqlite::Result<()>) {
        let answer = match (committed, self.outcome) {
            (_, Some(Err(error))) => Err(error),
            (Ok(()), Some(done)) => done,
            (Ok(()), None) => Err(failure(self.doing, "it was never begun")),
            (Err(error), _) => Err(lost(self.doing, error)),
        };
        // A caller that went away needs no answer.
        let _ = self.caller.send(answer);
    }
}

fn lost(doing: &'static str, error: &rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseBusy) => StoreError::Busy,
        _ => failure(doing, format!("nothing was kept: {error}")),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a word")
}

fn serve(connection: &Connection, jobs: &Receiver<Box<dyn Job>>) {
    let mut books = LeaseBooks::default();
    while let Ok(first) = jobs.recv() {
        let mut batch = vec![first];
        batch.extend(jobs.try_iter().take(MOST_TOGETHER - 1));
        let committed = commit_together(connection, &mut books, &mut batch);
        if let Err(error) = &committed {
            tracing::error!(%error, jobs = batch.len(), "a transaction of the mail store was lost");
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

fn commit_together(
    connection: &Connection,
    books: &mut LeaseBooks,
    batch: &mut [Box<dyn Job>],
) -> rusqlite::Result<()> {
    let committed = catch_unwind(AssertUnwindSafe(|| run_together(connection, books, batch)))
        .unwrap_or_else(|panic| Err(broken(&format!("it panicked: {}", panic_text(&*panic)))));
    if committed.is_ok() {
        books.settle();
        return committed;
    }
    books.undo_all();
    if !connection.is_autocommit() {
        command(connection, "ROLLBACK")?;
    }
    committed
}

fn run_together(connection: &Connection, books: &mut LeaseBooks, batch: &mut [Box<dyn Job>]) -> rusqlite::Result<()> {
    command(connection, "BEGIN IMMEDIATE")?;
    let mut words = Vec::new();
    for job in batch {
        command(connection, "SAVEPOINT job")?;
        books.begin_job();
        let found_before = words.len();
        let done = job.run(&mut Desk { connection, books, words: &mut words });
        if connection.is_autocommit() {
            // A full disk or a failing one makes SQLite give up the whole transaction.
            return Err(broken("a failure ended the transaction"));
        }
        if !done {
            books.undo_job();
            words.truncate(found_before);
            command(connection, "ROLLBACK TO job")?;
        }
        command(connection, "RELEASE job")?;
    }
    index(connection, &words)?;
    command(connection, "COMMIT")
}

fn command(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

fn broken(what: &str) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(what.into())
}

#[cfg(test)]
mod tests;
