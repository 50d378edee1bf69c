//! The writers: a few connections, each with a queue, and one commit for all that waits in it.
//!
//! A commit costs one wait for the disk however much it holds, and a statement one round trip however many rows it has. So
//! a writer takes every job that waits, locks the projects they write in, keeps all new messages with one statement for each
//! table, runs every other job in a savepoint, commits, and only then answers. A job that fails, or panics, takes back
//! only what it did itself, and what comes too late in a transaction that is slow is not begun. All jobs of a project have
//! the same writer, so that a server never waits for itself. While a transaction waits for another server, more jobs come;
//! those of the projects that it has locked go with it.

mod queue;

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use deadpool_postgres::Pool;
use futures_util::FutureExt;
use mail::ids::ProjectId;
use mail::messages::{Appended, NewMessage};
use mail::{StoreError, Stored};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::health::Health;
use super::notices::{Notice, Notices};
use super::tx::{Held, PostgresTx};
use super::{PostgresOptions, taken};
use crate::error::{Outcome, SqlError};
use crate::job::{Answer, Job, Lost, Work, answer, closed, job};
use crate::ledger::ReservationCache;
use crate::messages::append::append;
use queue::{Append, Queue, Queued};

/// The queues and the tasks that serve them.
pub(crate) struct Writers {
    queues: Mutex<Vec<mpsc::Sender<Queued>>>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

/// How a writer reaches the database.
#[derive(Clone)]
struct Link {
    pool: Pool,
    health: Health,
    /// How long a statement may take, and after what time a transaction takes in nothing more.
    deadline: Duration,
}

impl Writers {
    pub(super) fn start(pool: Pool, options: &PostgresOptions, notices: &Arc<Notices>, health: Health) -> Self {
        let link = Link { pool, health, deadline: options.statement_deadline };
        let (mut queues, mut tasks) = (Vec::new(), Vec::new());
        for _ in 0..options.writers.max(1) {
            let (sender, jobs) = mpsc::channel(options.queue.max(1));
            queues.push(sender);
            tasks.push(tokio::spawn(serve(link.clone(), jobs, notices.clone())));
        }
        Self { queues: Mutex::new(queues), tasks: Mutex::new(tasks) }
    }

    /// Queues a message and waits until it is on disk.
    pub(crate) async fn append(&self, message: NewMessage) -> Stored<Appended> {
        let (caller, answer) = oneshot::channel();
        self.enqueue(KEEPING, Queued::Append(Box::new(Append { message, outcome: None, caller })))?;
        answer.await.unwrap_or_else(|_| Err(closed(KEEPING)))
    }

    /// Queues `work` for a transaction that holds the lock of `project`, on its own or with others. It is done whether or not
    /// anybody waits for its answer.
    pub(crate) fn hand_in<T: Send + 'static>(
        &self,
        doing: &'static str,
        project: ProjectId,
        work: impl Work<T>,
    ) -> Stored<Answer<T>> {
        let (job, answer) = job(doing, work);
        self.enqueue(doing, Queued::Other(project, job))?;
        Ok(answer)
    }

    /// Lets the writers finish what waits, and waits for their end.
    pub(super) async fn close(&self) {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        for task in tasks {
            if task.await.is_err() {
                tracing::error!("a writer of the mail store panicked");
            }
        }
    }

    fn enqueue(&self, doing: &'static str, queued: Queued) -> Stored<()> {
        let queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        let place = usize::try_from(queued.project().0).unwrap_or(0).checked_rem(queues.len());
        match place.map(|place| queues[place].try_send(queued)) {
            Some(Ok(())) => Ok(()),
            Some(Err(mpsc::error::TrySendError::Full(_))) => Err(StoreError::Busy),
            Some(Err(mpsc::error::TrySendError::Closed(_))) | None => Err(closed(doing)),
        }
    }
}

const KEEPING: &str = "keep a message";

async fn serve(link: Link, jobs: mpsc::Receiver<Queued>, notices: Arc<Notices>) {
    let mut reservation_cache = ReservationCache::default();
    let mut queue = Queue::new(jobs);
    while let Some(first) = queue.next().await {
        let mut batch = vec![first];
        queue.join(&mut batch, |_| true);
        let committed = commit_together(&link, &mut reservation_cache, &mut batch, &mut queue).await;
        let committed = committed.map(|notice| notice.into_iter().for_each(|notice| notices.made(notice)));
        // That the database is away has been told.
        if let Err(lost) = &committed
            && !matches!(lost.cause, SqlError::NoConnection(_))
        {
            tracing::error!(error = %lost.cause, jobs = batch.len(), "a transaction of the mail store was lost");
        }
        for queued in batch {
            match queued {
                Queued::Append(one) => drop(one.caller.send(answer(KEEPING, &committed, one.outcome))),
                Queued::Other(_, job) => job.answer(&committed),
            }
        }
    }
}

async fn commit_together(
    link: &Link,
    reservation_cache: &mut ReservationCache,
    batch: &mut Vec<Queued>,
    queue: &mut Queue,
) -> Result<Option<Notice>, Lost> {
    let lost = |cause| Lost { cause, is_in_doubt: false };
    let longest = longest_step(link.deadline);
    let mut projects: Vec<i64> = batch.iter().map(|queued| queued.project().0).collect();
    projects.sort_unstable();
    projects.dedup();
    let messages = new_messages(batch);
    let beginning = async { PostgresTx::begin(Held::of(taken(&link.pool).await?), &projects, messages).await };
    let mut tx = link.health.within(longest, beginning).await.map_err(lost)?;
    let at_first = batch.len();
    queue.join(batch, |queued| projects.binary_search(&queued.project().0).is_ok());
    let late = new_messages(&batch[at_first..]);
    tx.ledger.reservation_cache = std::mem::take(reservation_cache);
    let running = async {
        tx.take_numbers(late).await?;
        run_together(&mut tx, batch, link.deadline).await
    };
    let running = AssertUnwindSafe(running).catch_unwind();
    let running = running.map(|ran| ran.unwrap_or_else(|_| Err(SqlError::Unknown("the writer panicked".to_owned()))));
    let committed = match link.health.within(longest, running).await {
        Ok(()) => tx.commit_within(longest, &link.health).await,
        Err(cause) => Err(lost(cause)),
    };
    match &committed {
        Ok(_) => tx.ledger.reservation_cache.settle(),
        Err(Lost { cause, .. }) => {
            tx.ledger.reservation_cache.undo_all();
            // A connection that does not answer is closed instead.
            if !matches!(cause, SqlError::NoConnection(_)) {
                let _ = link.health.within(longest, tx.client.roll_back().map(Ok)).await;
            }
        }
    }
    *reservation_cache = std::mem::take(&mut tx.ledger.reservation_cache);
    committed
}

/// How many of these need a number in any case.
fn new_messages(batch: &[Queued]) -> usize {
    batch.iter().filter(|queued| queued.is_surely_new()).count()
}

/// How long a transaction may take to begin, to be written, or to be committed. Statements have limits of PostgreSQL's own;
/// this is for what never answers.
pub(super) fn longest_step(deadline: Duration) -> Duration {
    deadline * 6
}

async fn run_together(tx: &mut PostgresTx, batch: &mut [Queued], deadline: Duration) -> Outcome<()> {
    let begun = Instant::now();
    let (mut messages, mut jobs): (Vec<&mut Append>, Vec<&mut Box<dyn Job>>) = (Vec::new(), Vec::new());
    for queued in batch {
        match queued {
            Queued::Append(append) => messages.push(append),
            Queued::Other(_, job) => jobs.push(job),
        }
    }
    messages.sort_by_key(|one| one.comes_alone());
    let plain = messages.partition_point(|one| !one.comes_alone());
    let (messages, single) = messages.split_at_mut(plain);
    if !messages.is_empty() {
        keep_messages(tx, messages).await?;
    }
    for one in single.iter_mut().take_while(|_| begun.elapsed() < deadline) {
        keep_messages(tx, std::slice::from_mut(one)).await?;
    }
    // Whoever is in the way of one is in the way of the next, and all of them wait for their answers.
    for job in jobs.into_iter().take_while(|_| begun.elapsed() < deadline) {
        tx.command("SAVEPOINT job").await?;
        tx.ledger.begin_job();
        if job.run(&mut tx.tx()).await {
            tx.command("RELEASE SAVEPOINT job").await?;
        } else {
            tx.ledger.undo_job();
            tx.command("ROLLBACK TO SAVEPOINT job").await?;
        }
    }
    tx.write_gathered().await
}

/// Keeps all new messages at once; if that fails, one by one, so that each has only its own faults.
async fn keep_messages(tx: &mut PostgresTx, appends: &mut [&mut Append]) -> Outcome<()> {
    tx.mark().await?;
    tx.ledger.begin_job();
    let messages: Vec<&NewMessage> = appends.iter().map(|one| &one.message).collect();
    match append(&mut tx.tx(), &messages).await {
        Ok(kept) => {
            appends.iter_mut().zip(kept).for_each(|(one, kept)| one.outcome = Some(Ok(kept)));
            return Ok(());
        }
        Err(error) => {
            tx.ledger.undo_job();
            tx.command("ROLLBACK TO SAVEPOINT messages").await?;
            if appends.len() == 1 || error.will_pass() {
                for one in appends {
                    one.outcome = Some(Err(error.told_to_all(KEEPING)));
                }
                return Ok(());
            }
        }
    }
    for one in appends {
        tx.command("SAVEPOINT message").await?;
        tx.ledger.begin_job();
        one.outcome = Some(match append(&mut tx.tx(), &[&one.message]).await {
            Ok(mut kept) => Ok(kept.remove(0)),
            Err(error) => {
                tx.ledger.undo_job();
                tx.command("ROLLBACK TO SAVEPOINT message").await?;
                Err(error.told(KEEPING))
            }
        });
    }
    Ok(())
}
