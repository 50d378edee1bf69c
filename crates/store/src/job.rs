//! Something to write, and somebody who waits for it. Nothing here knows an engine.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mail::{StoreError, Stored};
use tokio::sync::oneshot;

use crate::error::{Outcome, SqlError, failure};
use crate::tx::Tx;

/// The work of a job, in a transaction that others may share.
pub(crate) trait Work<T>:
    for<'a, 't> FnOnce(&'a mut Tx<'t>) -> BoxFuture<'a, Outcome<T>> + Send + 'static
{
}

impl<T, W> Work<T> for W where W: for<'a, 't> FnOnce(&'a mut Tx<'t>) -> BoxFuture<'a, Outcome<T>> + Send + 'static {}

/// Says that a closure is the work of a job, for which its lifetimes have to be known where it is written.
pub(crate) fn work<T, W: Work<T>>(work: W) -> W {
    work
}

/// The work of a job: what is done with `tx`. It owns all that it uses.
macro_rules! in_job {
    (|$tx:ident| $work:expr) => {
        $crate::job::work(move |$tx| futures_util::FutureExt::boxed(async move { $work }))
    };
}
pub(crate) use in_job;

/// What a writer does with a job.
pub(crate) trait Job: Send {
    /// Does the work; `false` if what it wrote has to be taken back.
    fn run<'a>(&'a mut self, tx: &'a mut Tx<'_>) -> BoxFuture<'a, bool>;

    /// Tells the caller what became of it.
    fn answer(self: Box<Self>, committed: &Result<(), Lost>);
}

/// A job's answer, when there is one.
pub(crate) type Answer<T> = oneshot::Receiver<Stored<T>>;

/// A job that does `work`, and where its answer comes.
pub(crate) fn job<T: Send + 'static>(doing: &'static str, work: impl Work<T>) -> (Box<dyn Job>, Answer<T>) {
    let (caller, answer) = oneshot::channel();
    (Box::new(Pending { doing, work: Some(work), outcome: None, caller }), answer)
}

struct Pending<W, T> {
    doing: &'static str,
    work: Option<W>,
    outcome: Option<Stored<T>>,
    caller: oneshot::Sender<Stored<T>>,
}

impl<W: Work<T>, T: Send> Job for Pending<W, T> {
    fn run<'a>(&'a mut self, tx: &'a mut Tx<'_>) -> BoxFuture<'a, bool> {
        let work = self.work.take().expect("a job runs once");
        // Also what the work does before its first wait may panic.
        let running = AssertUnwindSafe(async move {
            let done = work(tx).await?;
            // Within the job, so that a failure is this job's alone. PostgreSQL writes once for all jobs.
            if let Tx::Sqlite(_) = tx {
                tx.write_gathered().await?;
            }
            Ok(done)
        })
        .catch_unwind();
        async move {
            let outcome = match running.await {
                Ok(done) => done.map_err(|error: SqlError| error.told(self.doing)),
                Err(panic) => Err(failure(self.doing, format!("it panicked: {}", panic_text(&*panic)))),
            };
            self.outcome.insert(outcome).is_ok()
        }
        .boxed()
    }

    fn answer(self: Box<Self>, committed: &Result<(), Lost>) {
        // A caller that went away needs no answer.
        let _ = self.caller.send(answer(self.doing, committed, self.outcome));
    }
}

/// Why nothing of a transaction is known to be kept.
pub(crate) struct Lost {
    pub(crate) cause: SqlError,
    /// Whether it may have been kept all the same.
    pub(crate) is_in_doubt: bool,
}

impl Lost {
    /// What each caller is told.
    pub(crate) fn told(&self, doing: &'static str) -> StoreError {
        match self.is_in_doubt {
            false => self.cause.told_to_all(doing),
            true => failure(doing, format!("it is not known whether it was kept: {}", self.cause)),
        }
    }
}

/// What the caller of a job is told, whose transaction ended so. A job that was never begun came too late.
pub(crate) fn answer<T>(doing: &'static str, committed: &Result<(), Lost>, outcome: Option<Stored<T>>) -> Stored<T> {
    match (committed, outcome) {
        (_, Some(Err(error))) => Err(error),
        (Ok(()), Some(done)) => done,
        (Ok(()), None) => Err(StoreError::Busy),
        (Err(lost), _) => Err(lost.told(doing)),
    }
}

/// What a panic says.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a word")
}

/// The store was closed before the job was done.
pub(crate) fn closed(doing: &'static str) -> StoreError {
    failure(doing, "the store was closed")
}
