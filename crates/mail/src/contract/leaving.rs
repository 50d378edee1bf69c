//! Callers that go away before they have their answer, and what is found in the end. Nothing here checks a promise.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// The outcome of `asking`, unless its caller goes away first, which is the later the higher `round` is.
pub(super) async fn polled<T>(asking: impl Future<Output = T>, round: usize) -> Option<T> {
    let mut asking = pin!(asking);
    for _ in 0..round * round {
        if let Poll::Ready(outcome) = poll_fn(|context| Poll::Ready(asking.as_mut().poll(context))).await {
            return Some(outcome);
        }
        tokio::task::yield_now().await;
    }
    None
}

/// What `asking` finds, as soon as it finds something.
pub(super) async fn until_some<T>(asking: impl AsyncFn() -> Vec<T>) -> Vec<T> {
    let asking = async {
        loop {
            let found = asking().await;
            if !found.is_empty() {
                return found;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), asking).await.expect("it is found in the end")
}
