//! What waits for a writer: in order, and as much of it as one transaction takes.
//!
//! Nothing is written here, and nobody is answered.

use std::collections::VecDeque;

use mail::Stored;
use mail::ids::ProjectId;
use mail::messages::{Appended, NewMessage};
use tokio::sync::{mpsc, oneshot};

use crate::job::Job;

/// The most jobs of one transaction.
const MOST_TOGETHER: usize = 256;
/// How many bytes of new messages go into one transaction, but for the last.
const MOST_BYTES: usize = 8 << 20;

/// The jobs of one writer.
pub(super) struct Queue {
    jobs: mpsc::Receiver<Queued>,
    /// Those that were looked at and left for the next transaction.
    left: VecDeque<Queued>,
}

impl Queue {
    /// An empty one that is filled through this channel.
    pub(super) fn new(jobs: mpsc::Receiver<Queued>) -> Self {
        Self { jobs, left: VecDeque::new() }
    }

    /// The next job, as soon as there is one.
    pub(super) async fn next(&mut self) -> Option<Queued> {
        match self.left.pop_front() {
            Some(queued) => Some(queued),
            None => self.jobs.recv().await,
        }
    }

    /// Adds every job that waits and is wanted, as far as one transaction takes them.
    pub(super) fn join(&mut self, batch: &mut Vec<Queued>, is_wanted: impl Fn(&Queued) -> bool) {
        let mut bytes: usize = batch.iter().map(Queued::bytes).sum();
        let mut left = VecDeque::new();
        while batch.len() < MOST_TOGETHER && bytes < MOST_BYTES && left.len() < MOST_TOGETHER {
            let Some(next) = self.left.pop_front().or_else(|| self.jobs.try_recv().ok()) else { break };
            if is_wanted(&next) {
                bytes += next.bytes();
                batch.push(next);
            } else {
                left.push_back(next);
            }
        }
        left.append(&mut self.left);
        self.left = left;
    }
}

/// Something to write.
pub(super) enum Queued {
    Append(Box<Append>),
    /// Anything else, and the project it writes in.
    Other(ProjectId, Box<dyn Job>),
}

pub(super) struct Append {
    pub(super) message: NewMessage,
    pub(super) outcome: Option<Stored<Appended>>,
    pub(super) caller: oneshot::Sender<Stored<Appended>>,
}

impl Append {
    /// Whether it is looked up what stands for it, after all others are written.
    pub(super) fn comes_alone(&self) -> bool {
        self.message.post.is_some() || self.message.open_key.is_some()
    }
}

impl Queued {
    /// How much text it holds.
    fn bytes(&self) -> usize {
        match self {
            Self::Append(append) => append.message.body.len(),
            Self::Other(..) => 0,
        }
    }

    /// Whether it needs a number in any case: a message under a key may have been kept before.
    pub(super) fn is_surely_new(&self) -> bool {
        let is_keyed = |message: &NewMessage| {
            let is_known_post = || message.post.as_ref().is_some_and(|post| !post.keys.is_empty());
            message.idempotency.is_some() || message.open_key.is_some() || is_known_post()
        };
        matches!(self, Self::Append(append) if !is_keyed(&append.message))
    }

    pub(super) fn project(&self) -> ProjectId {
        match self {
            Self::Append(append) => append.message.project,
            Self::Other(project, _) => *project,
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::job::job;

    /// A queue with a job for each of these projects.
    fn queue(projects: impl IntoIterator<Item = i64>) -> Queue {
        let (sender, jobs) = mpsc::channel(1_000);
        for project in projects {
            let (idle, _) = job("do nothing", |_| async { Ok(()) }.boxed());
            assert!(sender.try_send(Queued::Other(ProjectId(project), idle)).is_ok());
        }
        Queue::new(jobs)
    }

    fn projects(batch: &[Queued]) -> Vec<i64> {
        batch.iter().map(|queued| queued.project().0).collect()
    }

    #[tokio::test]
    async fn what_is_not_wanted_stays_in_front_and_in_order() {
        let mut queue = queue([1, 2, 1, 3, 2]);
        let mut batch = vec![queue.next().await.unwrap()];
        queue.join(&mut batch, |queued| queued.project().0 == 1);
        assert_eq!(projects(&batch), [1, 1]);
        queue.join(&mut batch, |queued| queued.project().0 == 3);
        assert_eq!(projects(&batch), [1, 1, 3]);
        let mut next = vec![queue.next().await.unwrap()];
        queue.join(&mut next, |_| true);
        assert_eq!(projects(&next), [2, 2]);
    }

    #[tokio::test]
    async fn a_transaction_takes_only_so_many_and_the_rest_comes_next() {
        let mut queue = queue((0..600).map(|number| number % 2));
        let mut batch = vec![queue.next().await.unwrap()];
        queue.join(&mut batch, |queued| queued.project().0 == 0);
        assert!(batch.len() <= MOST_TOGETHER && projects(&batch).iter().all(|project| *project == 0));
        let mut all = batch.len();
        while all < 600 {
            let mut batch = vec![queue.next().await.unwrap()];
            queue.join(&mut batch, |_| true);
            assert!(batch.len() <= MOST_TOGETHER);
            all += batch.len();
        }
        assert_eq!(all, 600, "none is lost");
    }
}
