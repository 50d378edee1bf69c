//! The writers: a few connections, each with a queue, and one commit for all that waits in it.
//!
//! A commit costs one wait for the disk however much it holds, and a statement one round trip however many rows it has. So
//! a writer takes every job that waits, locks the projects they write in, keeps all new messages with one statement for each
//! table, runs every other job in a savepoint, commits, and only then answers. A job that fails, or panics, takes back
//! only what it did itself, and what comes too late in a transaction that is slow is not begun. All jobs of a project have
//! the same writer, so that a server never waits for itself. While a transaction waits for another server, more jobs come;
//! those of the projects that it has locked go with it.

mod queue;

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use deadpool_postgres::Pool;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mail::StoreError;
use mail::ids::ProjectId;
use mail::messages::{Appended, NewMessage};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::bell::Bell;
use super::desk::Desk;
use super::messages::append::append;
use super::news::{News, Notice};
use super::pulse::Felt;
use super::rows::{Outcome, Trouble};
use super::{Held, PostgresOptions, taken};
use crate::books::LeaseBooks;
use queue::{Append, Errand, Queue};

/// The queues and the tasks that serve them.
pub(super) struct Writers {
    queues: Mutex<Vec<mpsc::Sender<Errand>>>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

/// How a writer reaches the database.
#[derive(Clone)]
struct Way {
    pool: Pool,
    felt: Felt,
    /// How long a statement may take, and after what time a transaction takes in nothing more.
    deadline: Duration,
}

impl Writers {
    pub(super) fn start(pool: Pool, options: &PostgresOptions, bell: &Bell, felt: Felt) -> Self {
        let way = Way { pool, felt, deadline: options.statement_deadline };
        let (mut queues, mut tasks) = (Vec::new(), Vec::new());
        for _ in 0..options.writers.max(1) {
            let (sender, jobs) = mpsc::channel(options.queue.max(1));
            queues.push(sender);
            tasks.push(tokio::spawn(serve(way.clone(), jobs, bell.news.clone())));
        }
        Self { queues: Mutex::new(queues), tasks: Mutex::new(tasks) }
    }

    /// Queues a message and waits until it is on disk.
    pub(super) async fn append(&self, message: NewMessage) -> Result<Appended, StoreError> {
        let (caller, answer) = oneshot::channel();
        let project = message.project;
        self.enqueue(KEEPING, project, Errand::Append(Box::new(Append { message, outcome: None, caller })))?;
        answer.await.unwrap_or_else(|_| Err(closed(KEEPING)))
    }

    /// Queues `work` and waits until it is on disk.
    pub(super) async fn submit<T: Send + 'static>(
        &self,
        doing: &'static str,
        project: ProjectId,
        work: impl for<'a> FnOnce(&'a mut Desk) -> BoxFuture<'a, Outcome<T>> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.hand_in(doing, project, work)?.await.unwrap_or_else(|_| Err(closed(doing)))
    }

    /// Queues `work`, which is done whether or not anybody waits for its answer.
    pub(super) fn hand_in<T: Send + 'static>(
        &self,
        doing: &'static str,
        project: ProjectId,
        work: impl for<'a> FnOnce(&'a mut Desk) -> BoxFuture<'a, Outcome<T>> + Send + 'static,
    ) -> Result<oneshot::Receiver<Result<T, StoreError>>, StoreError> {
        let (caller, answer) = oneshot::channel();
        let job = Work { doing, project, work: Some(work), outcome: None, caller };
        self.enqueue(doing, project, Errand::Other(Box::new(job)))?;
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

    fn enqueue(&self, doing: &'static str, project: ProjectId, errand: Errand) -> Result<(), StoreError> {
        let queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        let place = usize::try_from(project.0).unwrap_or(0).checked_rem(queues.len());
        match place.map(|place| queues[place].try_send(errand)) {
            Some(Ok(())) => Ok(()),
            Some(Err(mpsc::error::TrySendError::Full(_))) => Err(StoreError::Busy),
            Some(Err(mpsc::error::TrySendError::Closed(_))) | None => Err(closed(doing)),
        }
    }
}

const KEEPING: &str = "keep a message";

fn closed(doing: &'static str) -> StoreError {
    StoreError::Failed { doing, cause: "the store was closed".into() }
}

/// Anything that is written but a new message, and somebody who waits for it.
#[async_trait]
trait Job: Send {
    fn project(&self) -> ProjectId;

    /// Does the work; `false` if what it wrote has to be taken back.
    async fn run(&mut self, desk: &mut Desk) -> bool;

    /// Tells the caller what became of it.
    fn answer(self: Box<Self>, committed: &Result<(), Lost>);
}

struct Work<W, T> {
    doing: &'static str,
    project: ProjectId,
    work: Option<W>,
    outcome: Option<Result<T, StoreError>>,
    caller: oneshot::Sender<Result<T, StoreError>>,
}

#[async_trait]
impl<W, T> Job for Work<W, T>
where
    W: for<'a> FnOnce(&'a mut Desk) -> BoxFuture<'a, Outcome<T>> + Send,
    T: Send,
{
    fn project(&self) -> ProjectId {
        self.project
    }

    async fn run(&mut self, desk: &mut Desk) -> bool {
        let work = self.work.take().expect("a job runs once");
        let outcome = match AssertUnwindSafe(work(desk)).catch_unwind().await {
            Ok(done) => done.map_err(|trouble| trouble.told(self.doing)),
            Err(panic) => {
                let cause = format!("it panicked: {}", panic_text(&*panic));
                Err(StoreError::Failed { doing: self.doing, cause: cause.into() })
            }
        };
        self.outcome.insert(outcome).is_ok()
    }

    fn answer(self: Box<Self>, committed: &Result<(), Lost>) {
        // A caller that went away needs no answer.
        let _ = self.caller.send(answer(self.doing, committed, self.outcome));
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a word")
}

/// Why nothing of a transaction is known to be kept.
pub(super) struct Lost {
    pub(super) cause: Trouble,
    /// Whether it may have been kept all the same.
    pub(super) is_in_doubt: bool,
}

impl Lost {
    /// What each caller is told.
    pub(super) fn told(&self, doing: &'static str) -> StoreError {
        if !self.is_in_doubt {
            return self.cause.told_to_one_of_many(doing);
        }
        let cause = format!("it is not known whether it was kept: {}", self.cause);
        StoreError::Failed { doing, cause: cause.into() }
    }
}

fn answer<T>(
    doing: &'static str,
    committed: &Result<(), Lost>,
    outcome: Option<Result<T, StoreError>>,
) -> Result<T, StoreError> {
    match (committed, outcome) {
        (_, Some(Err(error))) => Err(error),
        (Ok(()), Some(done)) => done,
        (Ok(()), None) => Err(StoreError::Busy),
        (Err(lost), _) => Err(lost.told(doing)),
    }
}

async fn serve(way: Way, jobs: mpsc::Receiver<Errand>, news: Arc<News>) {
    let mut books = LeaseBooks::default();
    let mut queue = Queue::new(jobs);
    while let Some(first) = queue.next().await {
        let mut batch = vec![first];
        queue.join(&mut batch, |_| true);
        let committed = commit_together(&way, &mut books, &mut batch, &mut queue).await;
        let committed = committed.map(|notice| notice.into_iter().for_each(|notice| news.made(notice)));
        // That the database is away has been told.
        if let Err(lost) = &committed
            && !matches!(lost.cause, Trouble::NoConnection(_))
        {
            tracing::error!(error = %lost.cause, jobs = batch.len(), "a transaction of the mail store was lost");
        }
        for errand in batch {
            match errand {
                Errand::Append(one) => drop(one.caller.send(answer(KEEPING, &committed, one.outcome))),
                Errand::Other(job) => job.answer(&committed),
            }
        }
    }
}

async fn commit_together(
    way: &Way,
    books: &mut LeaseBooks,
    batch: &mut Vec<Errand>,
    queue: &mut Queue,
) -> Result<Option<Notice>, Lost> {
    let lost = |cause| Lost { cause, is_in_doubt: false };
    let longest = longest_step(way.deadline);
    let mut projects: Vec<i64> = batch.iter().map(|errand| errand.project().0).collect();
    projects.sort_unstable();
    projects.dedup();
    let messages = new_messages(batch);
    let beginning = async { Desk::begin(Held::of(taken(&way.pool).await?), &projects, messages).await };
    let mut desk = way.felt.within(longest, beginning).await.map_err(lost)?;
    let at_first = batch.len();
    queue.join(batch, |errand| projects.binary_search(&errand.project().0).is_ok());
    let late = new_messages(&batch[at_first..]);
    desk.books = std::mem::take(books);
    let running = async {
        desk.take_numbers(late).await?;
        run_together(&mut desk, batch, way.deadline).await
    };
    let running = AssertUnwindSafe(running).catch_unwind();
    let running = running.map(|ran| ran.unwrap_or_else(|_| Err(Trouble::Unknown("the writer panicked".to_owned()))));
    let committed = match way.felt.within(longest, running).await {
        Ok(()) => {
            let committed = desk.commit_within(longest, &way.felt).await;
            committed.map_err(|(cause, is_in_doubt)| Lost { cause, is_in_doubt })
        }
        Err(cause) => Err(lost(cause)),
    };
    match &committed {
        Ok(_) => desk.books.settle(),
        Err(Lost { cause, .. }) => {
            desk.books.undo_all();
            // A connection that does not answer is closed instead.
            if !matches!(cause, Trouble::NoConnection(_)) {
                let _ = way.felt.within(longest, desk.roll_back().map(Ok)).await;
            }
        }
    }
    *books = std::mem::take(&mut desk.books);
    committed
}

/// How many of these need a number in any case.
fn new_messages(batch: &[Errand]) -> usize {
    batch.iter().filter(|errand| errand.is_surely_new()).count()
}

/// How long a transaction may take to begin, to be written, or to be committed. Statements have limits of PostgreSQL's own;
/// this is for what never answers.
pub(super) fn longest_step(deadline: Duration) -> Duration {
    deadline * 6
}

async fn run_together(desk: &mut Desk, batch: &mut [Errand], deadline: Duration) -> Outcome<()> {
    let begun = Instant::now();
    let (mut letters, mut jobs): (Vec<&mut Append>, Vec<&mut Box<dyn Job>>) = (Vec::new(), Vec::new());
    for errand in batch {
        match errand {
            Errand::Append(append) => letters.push(append),
            Errand::Other(job) => jobs.push(job),
        }
    }
    letters.sort_by_key(|letter| letter.message.post.is_some());
    let plain = letters.partition_point(|letter| letter.message.post.is_none());
    let (letters, posts) = letters.split_at_mut(plain);
    if !letters.is_empty() {
        keep_letters(desk, letters).await?;
    }
    for post in posts.iter_mut().take_while(|_| begun.elapsed() < deadline) {
        keep_letters(desk, std::slice::from_mut(post)).await?;
    }
    // Whoever is in the way of one is in the way of the next, and all of them wait for their answers.
    for job in jobs.into_iter().take_while(|_| begun.elapsed() < deadline) {
        desk.client.batch_execute("SAVEPOINT job").await?;
        let saved = desk.save();
        if job.run(desk).await {
            desk.client.batch_execute("RELEASE SAVEPOINT job").await?;
        } else {
            desk.restore(saved);
            desk.client.batch_execute("ROLLBACK TO SAVEPOINT job").await?;
        }
    }
    desk.write_gathered().await
}

/// Keeps all new messages at once; if that fails, one by one, so that each has only its own faults.
async fn keep_letters(desk: &mut Desk, letters: &mut [&mut Append]) -> Outcome<()> {
    desk.mark().await?;
    let saved = desk.save();
    let messages: Vec<&NewMessage> = letters.iter().map(|letter| &letter.message).collect();
    match append(desk, &messages).await {
        Ok(kept) => {
            letters.iter_mut().zip(kept).for_each(|(letter, kept)| letter.outcome = Some(Ok(kept)));
            return Ok(());
        }
        Err(trouble) => {
            desk.restore(saved);
            desk.back_to_mark().await?;
            if letters.len() == 1 || trouble.will_pass() {
                for letter in letters {
                    letter.outcome = Some(Err(trouble.told_to_one_of_many(KEEPING)));
                }
                return Ok(());
            }
        }
    }
    for letter in letters {
        desk.client.batch_execute("SAVEPOINT letter").await?;
        let saved = desk.save();
        letter.outcome = Some(match append(desk, &[&letter.message]).await {
            Ok(mut kept) => Ok(kept.remove(0)),
            Err(trouble) => {
                desk.restore(saved);
                desk.client.batch_execute("ROLLBACK TO SAVEPOINT letter").await?;
                Err(trouble.told(KEEPING))
            }
        });
    }
    Ok(())
}
