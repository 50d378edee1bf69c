//! How often an address may ask, where several servers answer it: the port by which they share a limit.
//!
//! A server takes requests in lots and gives them out by itself, so that most requests ask nobody. It counts by itself, too,
//! so that the limit of one server holds where the store does not answer. Whether there is a limit is not known here.

use async_trait::async_trait;

use crate::error::Stored;

/// The requests that an address may send in a second, shared by servers.
#[async_trait]
pub trait RateLimitStore: Send + Sync {
    /// Takes up to `lot` requests of those that `address` may still send, and tells how many that is. An address may
    /// send `per_second` at once, and as many in each second that follows, at whichever servers.
    async fn take(&self, address: &str, lot: u32, per_second: u32) -> Stored<u32>;
}

/// How many requests a server takes at once. A few lots are under way at the other servers, so that it is a small part.
pub fn lot_of(per_second: u32) -> u32 {
    per_second.div_ceil(10).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lot_is_a_tenth_and_never_nothing() {
        for (per_second, lot) in [(1, 1), (10, 1), (11, 2), (1000, 100), (u32::MAX, 429_496_730)] {
            assert_eq!(lot_of(per_second), lot);
        }
    }
}
