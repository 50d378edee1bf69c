//! How often each address may send a request: by this server's own count, and by one that it shares with other servers.
//!
//! The shared count is asked for a lot at a time, so that most requests ask nobody. Where it does not answer, this server's
//! own count holds alone. Who an address is, and what it is told, is decided elsewhere.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use mail::rate_limit::{RateLimitStore, lot_of};
use tokio::time::Instant;

/// After how many requests the addresses are forgotten that have sent none lately.
const FORGET_AFTER: u32 = 1024;
/// How long a lot holds. What is not used by then may have been given to other servers.
const LAPSES_AFTER: Duration = Duration::from_secs(1);
/// How long nobody asks again for an address that has used up its rate.
const ASKED_AGAIN_AFTER: Duration = Duration::from_millis(50);
/// How long the shared count may take to answer. A store that is away says so at once.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// How often each address may send a request.
pub struct Pace {
    alone: DefaultKeyedRateLimiter<IpAddr>,
    together: Option<Together>,
    checks: AtomicU32,
}

impl Pace {
    /// So many a second; `shared` is where other servers count, too.
    pub fn new(per_second: NonZeroU32, shared: Option<Arc<dyn RateLimitStore>>) -> Self {
        let together = shared.map(|store| Together { store, per_second: per_second.get(), lots: Mutex::default() });
        Self { alone: RateLimiter::keyed(Quota::per_second(per_second)), together, checks: AtomicU32::new(0) }
    }

    /// Whether one more request of this address is let in.
    pub async fn allows(&self, peer: IpAddr) -> bool {
        if self.checks.fetch_add(1, Ordering::Relaxed) % FORGET_AFTER == FORGET_AFTER - 1 {
            self.alone.retain_recent();
            self.together.iter().for_each(Together::forget);
        }
        if self.alone.check_key(&peer).is_err() {
            return false;
        }
        match &self.together {
            Some(together) => together.allows(peer).await,
            None => true,
        }
    }
}

/// The count that servers share.
struct Together {
    store: Arc<dyn RateLimitStore>,
    per_second: u32,
    lots: Mutex<HashMap<IpAddr, Arc<tokio::sync::Mutex<Lot>>>>,
}

/// What this server may let in of an address without asking.
#[derive(Clone, Copy, Default)]
struct Lot {
    left: u32,
    /// Until when that holds.
    lapses_at: Option<Instant>,
    /// Before that there is no more to be had.
    ask_at: Option<Instant>,
}

impl Together {
    async fn allows(&self, peer: IpAddr) -> bool {
        let lot = self.lots().entry(peer).or_default().clone();
        // Held while the store is asked, so that all who come meanwhile share the answer.
        let mut lot = lot.lock().await;
        let now = Instant::now();
        if lot.lapses_at.is_none_or(|end| end <= now) {
            lot.left = 0;
        }
        if lot.left == 0 {
            if lot.ask_at.is_some_and(|time| now < time) {
                return false;
            }
            lot.left = self.ask(peer).await;
            lot.lapses_at = Some(Instant::now() + LAPSES_AFTER);
            lot.ask_at = (lot.left == 0).then(|| Instant::now() + ASKED_AGAIN_AFTER);
        }
        let is_allowed = lot.left > 0;
        lot.left = lot.left.saturating_sub(1);
        is_allowed
    }

    /// One more lot. Whoever cannot ask goes by its own count.
    async fn ask(&self, peer: IpAddr) -> u32 {
        let wanted = lot_of(self.per_second);
        let address = peer.to_string();
        match tokio::time::timeout(ANSWERS_WITHIN, self.store.take(&address, wanted, self.per_second)).await {
            Ok(Ok(granted)) => granted,
            Ok(Err(cause)) => {
                tracing::debug!(%cause, "cannot share the rate limit; this server's own holds meanwhile");
                wanted
            }
            Err(_) => wanted,
        }
    }

    fn forget(&self) {
        let now = Instant::now();
        // Who has a lot in hand shares it; who waits for one does, too.
        self.lots().retain(|_, lot| {
            let lapsed = lot.try_lock().is_ok_and(|lot| lot.lapses_at.is_none_or(|end| end <= now));
            Arc::strong_count(lot) > 1 || !lapsed
        });
    }

    fn lots(&self) -> std::sync::MutexGuard<'_, HashMap<IpAddr, Arc<tokio::sync::Mutex<Lot>>>> {
        self.lots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use mail::StoreError;

    use super::*;

    /// A bucket that is never filled again, and counts how often it is asked.
    #[derive(Default)]
    struct Bucket {
        left: AtomicU32,
        asked: AtomicU32,
        is_away: bool,
    }

    #[async_trait]
    impl RateLimitStore for Bucket {
        async fn take(&self, _: &str, lot: u32, _: u32) -> Result<u32, StoreError> {
            self.asked.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            if self.is_away {
                return Err(StoreError::Away { doing: "ask", cause: "gone".into() });
            }
            let before =
                self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| Some(left.saturating_sub(lot)));
            Ok(before.unwrap_or_default().min(lot))
        }
    }

    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn per_second(count: u32) -> NonZeroU32 {
        NonZeroU32::new(count).unwrap()
    }

    async fn let_in(pace: &Pace, requests: usize) -> usize {
        let all = futures_util::future::join_all((0..requests).map(|_| pace.allows(PEER))).await;
        all.into_iter().filter(|is_allowed| *is_allowed).count()
    }

    #[tokio::test(start_paused = true)]
    async fn servers_share_a_limit_and_ask_once_for_many() {
        let bucket = Arc::new(Bucket { left: AtomicU32::new(100), ..Bucket::default() });
        let servers: Vec<Pace> = (0..2).map(|_| Pace::new(per_second(100), Some(bucket.clone()))).collect();
        let counts = (let_in(&servers[0], 70).await, let_in(&servers[1], 70).await);
        assert_eq!(counts, (70, 30));
        assert_eq!(bucket.asked.load(Ordering::SeqCst), 11, "a lot is ten, and who finds nothing asks once");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_left_of_a_lot_lapses() {
        let bucket = Arc::new(Bucket { left: AtomicU32::new(10), ..Bucket::default() });
        let pace = Pace::new(per_second(100), Some(bucket));
        assert_eq!(let_in(&pace, 1).await, 1);
        tokio::time::advance(LAPSES_AFTER).await;
        assert_eq!(let_in(&pace, 1).await, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn while_the_store_is_away_the_servers_own_limit_holds() {
        let bucket = Arc::new(Bucket { is_away: true, ..Bucket::default() });
        let pace = Pace::new(per_second(100), Some(bucket));
        assert_eq!(let_in(&pace, 150).await, 100);
    }

    #[tokio::test]
    async fn addresses_that_went_silent_are_forgotten() {
        // At a billion a second an address is as good as new after a nanosecond.
        let bucket = Arc::new(Bucket { left: AtomicU32::new(u32::MAX), ..Bucket::default() });
        let pace = Pace::new(per_second(1_000_000_000), Some(bucket));
        tokio::time::pause();
        for number in 0..10 * FORGET_AFTER {
            pace.allows(IpAddr::V4(number.into())).await;
            tokio::time::advance(Duration::from_millis(10)).await;
        }
        let remembered = (pace.alone.len(), pace.together.as_ref().unwrap().lots().len());
        assert!(remembered.0 <= FORGET_AFTER as usize, "{remembered:?}");
        assert!(remembered.1 <= 2 * FORGET_AFTER as usize, "{remembered:?}");
    }
}
