//! Whether a client has taken a request back. What was done for the request alone is undone as long as there is no answer; an answer
//! that is there is passed on all the same, because what it brings was taken for this client and is told to nobody else.

use std::future::pending;

use tokio::sync::watch;

/// Whether a request was taken back.
#[derive(Clone, Debug)]
pub struct TakenBack(watch::Receiver<bool>);

impl TakenBack {
    /// For a request that may be taken back by sending `true`.
    pub fn new() -> (watch::Sender<bool>, Self) {
        let (taking_back, taken_back) = watch::channel(false);
        (taking_back, Self(taken_back))
    }

    /// For a request that nobody takes back.
    pub fn never() -> Self {
        Self::new().1
    }

    /// Whether it was.
    pub fn is_so(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns when it is taken back, else never.
    pub async fn wait(mut self) {
        if self.0.wait_for(|is_so| *is_so).await.is_err() {
            pending().await
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_request_is_taken_back_by_a_word_and_not_by_silence() {
        let (taking_back, taken_back) = TakenBack::new();
        assert!(!taken_back.is_so() && taken_back.clone().wait().now_or_never().is_none());
        taking_back.send_replace(true);
        assert!(taken_back.is_so() && taken_back.wait().now_or_never().is_some());
        assert!(TakenBack::never().wait().now_or_never().is_none());
    }
}
