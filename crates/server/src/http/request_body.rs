//! Reading the body of a request, within what a body may take and what all of them together may.
//!
//! What a request will take is known before it is read, so that many at once are refused and not half read. Nothing is
//! decided here about what a body says.

use std::sync::Arc;
use std::time::Duration;

use ::http::HeaderMap;
use ::http::header::CONTENT_LENGTH;
use axum::body::Body;
use bytes::Bytes;
use http_body_util::LengthLimitError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::problem::HttpProblem;

/// What the bodies of all requests under way may take, in bytes.
const BUDGET: u32 = 256 * 1024 * 1024;
/// How long a body may take to arrive.
const SLOWEST_BODY: Duration = Duration::from_secs(30);

/// How many bytes the bodies of all requests may take at once.
pub struct BodyBudget {
    bytes: Arc<Semaphore>,
    largest_request: usize,
}

/// A body that was read. Its share is free again when it is dropped.
pub struct ReceivedBody {
    /// What it says.
    pub bytes: Bytes,
    _share: OwnedSemaphorePermit,
}

impl BodyBudget {
    /// A budget for requests of at most `largest_request` bytes each.
    pub fn new(largest_request: usize) -> Self {
        Self { bytes: Arc::new(Semaphore::new(BUDGET as usize)), largest_request }
    }

    /// Reads a whole body.
    pub async fn read(&self, headers: &HeaderMap, body: Body) -> Result<ReceivedBody, HttpProblem> {
        let told = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        let mut share = self.make(told)?;
        let reading = axum::body::to_bytes(body, self.largest_request);
        let bytes = match tokio::time::timeout(SLOWEST_BODY, reading).await {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(error)) if is_over_the_limit(&error) => return Err(HttpProblem::too_large(self.largest_request)),
            Ok(Err(_)) => return Err(HttpProblem::malformed()),
            Err(_) => return Err(HttpProblem::too_slow()),
        };
        // A body that did not say its length took the share of the largest, and may wait for mail with it.
        drop(share.split(share.num_permits().saturating_sub(bytes.len())));
        Ok(ReceivedBody { bytes, _share: share })
    }

    /// The share of a body that says to have `told` bytes; it may turn out to be shorter.
    fn make(&self, told: Option<u64>) -> Result<OwnedSemaphorePermit, HttpProblem> {
        let largest = self.largest_request as u64;
        let wanted = told.unwrap_or(largest);
        if wanted > largest {
            return Err(HttpProblem::too_large(self.largest_request));
        }
        // One that alone is larger than the budget has it all for itself.
        let wanted = u32::try_from(wanted).unwrap_or(BUDGET).min(BUDGET);
        self.bytes.clone().try_acquire_many_owned(wanted).map_err(|_| HttpProblem::busy())
    }
}

/// Whether a body is too long, and not merely broken.
fn is_over_the_limit(error: &axum::Error) -> bool {
    std::error::Error::source(error).is_some_and(|cause| cause.is::<LengthLimitError>())
}

#[cfg(test)]
mod tests {
    use std::io;

    use futures_util::stream;

    use super::*;

    const MIB: usize = 1024 * 1024;

    fn length(bytes: usize) -> HeaderMap {
        [(CONTENT_LENGTH, bytes.into())].into_iter().collect()
    }

    fn status<T>(result: Result<T, HttpProblem>) -> u16 {
        result.map_or_else(|problem| problem.status(), |_| 200)
    }

    #[test]
    fn bodies_take_the_share_that_they_say_and_the_largest_if_they_say_nothing() {
        let budget = BodyBudget::new(64 * MIB);
        let three: Vec<_> = (0..3).map(|_| budget.make(None).unwrap()).collect();
        let rest = budget.make(Some(64 * MIB as u64 - 1)).unwrap();
        assert_eq!(status(budget.make(Some(2))), 503);
        assert_eq!(status(budget.make(Some(1))), 200);
        drop(three);
        assert_eq!(status(budget.make(None)), 200, "what is done frees its share");
        drop(rest);
        assert_eq!(status(budget.make(Some(64 * MIB as u64 + 1))), 413);
    }

    #[test]
    fn a_body_larger_than_the_whole_budget_is_read_alone() {
        let budget = BodyBudget::new(usize::MAX);
        let alone = budget.make(None).unwrap();
        assert_eq!(status(budget.make(Some(1))), 503);
        drop(alone);
        assert_eq!(status(budget.make(Some(u64::MAX))), 200);
    }

    #[tokio::test]
    async fn a_body_that_was_read_keeps_no_larger_share_than_it_has_bytes_and_that_until_it_is_dropped() {
        let budget = BodyBudget::new(256 * MIB);
        let taken = budget.read(&HeaderMap::new(), Body::from("twelve bytes")).await.unwrap();
        assert_eq!(budget.bytes.available_permits(), BUDGET as usize - 12);
        drop(taken);
        assert_eq!(budget.bytes.available_permits(), BUDGET as usize);
    }

    #[tokio::test]
    async fn a_body_that_is_too_long_and_one_that_breaks_off_are_told_apart() {
        let budget = BodyBudget::new(4);
        assert_eq!(status(budget.read(&length(5), Body::from("12345")).await), 413);
        assert_eq!(status(budget.read(&HeaderMap::new(), Body::from("12345")).await), 413);
        assert_eq!(status(budget.read(&HeaderMap::new(), Body::from("1234")).await), 200);
        let parts = [Ok("12"), Err(io::Error::from(io::ErrorKind::UnexpectedEof))];
        assert_eq!(status(budget.read(&length(4), Body::from_stream(stream::iter(parts))).await), 400);
        assert_eq!(budget.bytes.available_permits(), BUDGET as usize, "what failed keeps no share");
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_never_comes_is_given_up() {
        let never = Body::from_stream(stream::pending::<io::Result<Bytes>>());
        assert_eq!(status(BodyBudget::new(4).read(&length(4), never).await), 408);
    }
}
