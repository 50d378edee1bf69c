//! Whether the store answers, asked at most once a second.
//!
//! Anybody may ask, without a token, and the question goes through the store's only writer: whoever asks often must not
//! hold up the mail. Whoever asks meanwhile shares the answer. What is asked is not known here.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

/// How long an answer holds.
const HOLDS: Duration = Duration::from_secs(1);

/// The last answer.
pub struct Readiness<A> {
    last: Mutex<Option<(Instant, A)>>,
}

impl<A> Default for Readiness<A> {
    fn default() -> Self {
        Self { last: Mutex::default() }
    }
}

impl<A: Clone> Readiness<A> {
    /// The last answer, or what `question` says when that is too old.
    pub async fn or_ask(&self, question: impl Future<Output = A>) -> A {
        // Held while the store is asked, so that all who come meanwhile wait for the one answer.
        let mut last = self.last.lock().await;
        if let Some((when, answer)) = &*last
            && when.elapsed() < HOLDS
        {
            return answer.clone();
        }
        let answer = question.await;
        *last = Some((Instant::now(), answer.clone()));
        answer
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    async fn ask(readiness: &Readiness<bool>, asked: &AtomicUsize, answer: bool) -> bool {
        let question = async {
            asked.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            answer
        };
        readiness.or_ask(question).await
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_shared_for_a_second_and_no_longer() {
        let (readiness, asked) = (Readiness::default(), AtomicUsize::new(0));
        assert!(ask(&readiness, &asked, true).await);
        tokio::time::advance(Duration::from_millis(999)).await;
        assert!(ask(&readiness, &asked, false).await, "the answer still holds");
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!ask(&readiness, &asked, false).await);
        assert_eq!(asked.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_ask_at_once_ask_once() {
        let (readiness, asked) = (Readiness::default(), AtomicUsize::new(0));
        let askers = (0..100).map(|_| ask(&readiness, &asked, true));
        assert!(futures_util::future::join_all(askers).await.into_iter().all(|answer| answer));
        assert_eq!(asked.load(Ordering::SeqCst), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn an_asker_who_goes_away_holds_up_nobody() {
        let (readiness, asked) = (Readiness::default(), AtomicUsize::new(0));
        let never = readiness.or_ask(std::future::pending());
        assert!(tokio::time::timeout(Duration::from_secs(1), never).await.is_err());
        assert!(ask(&readiness, &asked, true).await);
    }
}
