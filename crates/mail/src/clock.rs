//! What time it is, as a parameter.
//!
//! Rules never ask the machine for the time; whoever composes the post office hands in a clock. Times are kept to the
//! microsecond, because that is what every store keeps.

use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;

/// Tells the time.
pub trait Clock: Send + Sync {
    /// Now, to the microsecond.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        from_micros(Timestamp::now().as_microsecond())
    }
}

/// A clock that stands still until it is told to move: for tests.
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// Starts at `start`.
    pub fn at(start: Timestamp) -> Self {
        Self(AtomicI64::new(start.as_microsecond()))
    }

    /// Moves on by `seconds`.
    pub fn advance_seconds(&self, seconds: i64) {
        self.0.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// The time that many microseconds after 1970, held within what a timestamp can say.
pub fn from_micros(micros: i64) -> Timestamp {
    Timestamp::from_microsecond(micros).unwrap_or(if micros < 0 { Timestamp::MIN } else { Timestamp::MAX })
}

/// `seconds` after `start`, held within what a timestamp can say.
pub fn after_seconds(start: Timestamp, seconds: i64) -> Timestamp {
    from_micros(start.as_microsecond().saturating_add(seconds.saturating_mul(1_000_000)))
}
