//! The calls that sessions have under way, so that a client can cancel one on another connection.
//!
//! A call is known by its session and its id, because every client counts its ids from the same number. Deliberately absent:
//! calls without a session. Whoever has none closes the connection, which ends a call as well.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::{AbortHandle, Abortable};

/// Longer names are not ours, and would make the memory large.
const MAX_NAME_BYTES: usize = 128;
/// How many cancellations are kept that came before their call, and for how long: the two travel on separate connections.
const MAX_EARLY: usize = 1_000;
/// How many calls are known as answered, so that a cancellation that comes late is not kept for a later call of the same id.
const MAX_ANSWERED: usize = 1_000;
const EARLY: Duration = Duration::from_secs(10);

/// A session, and the id of a call as it was written.
type CallKey = (String, String);

#[derive(Default)]
pub(crate) struct Calls {
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    under_way: HashMap<CallKey, (u64, AbortHandle)>,
    early: VecDeque<(CallKey, Instant)>,
    answered: HashMap<CallKey, u64>,
    answered_in_order: VecDeque<(CallKey, u64)>,
    last_number: u64,
}

impl Calls {
    /// Runs a call until it is answered, or cancelled: then `None`.
    pub async fn run<T>(&self, session: Option<&str>, id: &str, call: impl Future<Output = T>) -> Option<T> {
        let Some(key) = session.and_then(|session| call_key(session, id)) else { return Some(call.await) };
        let (handle, registration) = AbortHandle::new_pair();
        let _under_way = self.begin(key, handle);
        Abortable::new(call, registration).await.ok()
    }

    /// Ends a call. One that was answered already stays as it is; one that has not come yet will end at once.
    pub fn cancel(&self, session: &str, id: &str) {
        let Some(key) = call_key(session, id) else { return };
        let mut memory = self.memory();
        if let Some((_, call)) = memory.under_way.get(&key) {
            return call.abort();
        }
        if memory.answered.contains_key(&key) {
            return;
        }
        if memory.early.len() >= MAX_EARLY {
            memory.early.pop_front();
        }
        memory.early.push_back((key, Instant::now()));
    }

    fn begin(&self, key: CallKey, handle: AbortHandle) -> UnderWay<'_> {
        let mut memory = self.memory();
        while memory.early.front().is_some_and(|(_, since)| since.elapsed() > EARLY) {
            memory.early.pop_front();
        }
        if let Some(at) = memory.early.iter().position(|(early, _)| *early == key) {
            memory.early.remove(at);
            handle.abort();
        }
        memory.last_number += 1;
        let number = memory.last_number;
        memory.answered.remove(&key);
        memory.under_way.insert(key.clone(), (number, handle));
        UnderWay { calls: self, key, number }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        // Nothing under this lock can leave the memory half changed in a way that matters.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that is forgotten when it ends, however it ends.
struct UnderWay<'c> {
    calls: &'c Calls,
    key: CallKey,
    number: u64,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut memory = self.calls.memory();
        // A client that gives an id twice has cancelled the later call alone.
        if memory.under_way.get(&self.key).is_some_and(|(number, _)| *number == self.number) {
            memory.under_way.remove(&self.key);
            memory.note_answered(&self.key, self.number);
        }
    }
}

impl Memory {
    fn note_answered(&mut self, key: &CallKey, number: u64) {
        self.answered.insert(key.clone(), number);
        self.answered_in_order.push_back((key.clone(), number));
        if self.answered_in_order.len() > MAX_ANSWERED
            && let Some((oldest, number)) = self.answered_in_order.pop_front()
            && self.answered.get(&oldest) == Some(&number)
        {
            self.answered.remove(&oldest);
        }
    }
}

fn call_key(session: &str, id: &str) -> Option<CallKey> {
    let is_short = session.len() <= MAX_NAME_BYTES && id.len() <= MAX_NAME_BYTES;
    is_short.then(|| (session.to_owned(), id.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures_util::future::join;

    use super::*;

    #[tokio::test]
    async fn a_cancelled_call_ends_and_others_go_on() {
        let calls = Calls::default();
        let waiting = calls.run(Some("s"), "1", pending::<()>());
        let cancelling = async {
            assert_eq!(calls.run(Some("s"), "2", ready(2)).await, Some(2));
            assert_eq!(calls.run(None, "1", ready(1)).await, Some(1));
            calls.cancel("other", "1");
            assert!(calls.memory().under_way.contains_key(&("s".to_owned(), "1".to_owned())));
            calls.cancel("s", "1");
        };
        assert_eq!(join(waiting, cancelling).await.0, None);
        assert!(calls.memory().under_way.is_empty());
    }

    #[tokio::test]
    async fn a_cancellation_that_overtakes_its_call_ends_it_once() {
        let calls = Calls::default();
        calls.cancel("s", "1");
        assert_eq!(calls.run(Some("s"), "1", pending::<()>()).await, None);
        assert_eq!(calls.run(Some("s"), "1", ready(())).await, Some(()));
    }

    #[tokio::test]
    async fn a_cancellation_that_comes_late_changes_nothing_for_a_later_call_of_the_same_id() {
        let calls = Calls::default();
        for answer in 0..3 {
            assert_eq!(calls.run(Some("s"), "1", ready(answer)).await, Some(answer));
            calls.cancel("s", "1");
        }
        for id in 0..=MAX_ANSWERED {
            calls.run(Some("t"), &id.to_string(), ready(())).await;
        }
        let memory = calls.memory();
        assert_eq!((memory.answered.len(), memory.answered_in_order.len()), (MAX_ANSWERED, MAX_ANSWERED));
        assert!(memory.early.is_empty());
    }

    #[tokio::test]
    async fn a_call_that_is_dropped_is_forgotten_and_early_cancellations_are_bounded() {
        let calls = Calls::default();
        drop(Box::pin(calls.run(Some("s"), "1", pending::<()>())));
        assert!(calls.memory().under_way.is_empty());
        for id in 0..=MAX_EARLY {
            calls.cancel("s", &id.to_string());
        }
        calls.cancel("s", &"9".repeat(MAX_NAME_BYTES + 1));
        let memory = calls.memory();
        assert_eq!((memory.early.len(), &*memory.early[0].0.1), (MAX_EARLY, "1"));
    }
}
