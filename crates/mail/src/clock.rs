//! What time it is, as a parameter.
//!
//! Rules never ask the machine for the time; whoever composes the post office hands in a clock. Times are kept to the
//! microsecond, because that is what every store keeps.

use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;

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

/// A time as answers and errors show it: RFC 3339 in UTC, to the microsecond. Years before those that RFC 3339 can say are
/// held at the first.
pub fn rfc3339(time: Timestamp) -> String {
    const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(6));
    const FIRST: Timestamp = Timestamp::constant(-62_167_219_200, 0); // 0000-01-01
    PRINTER.timestamp_to_string(&time.max(FIRST))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_time_is_shown_to_the_microsecond() {
        assert_eq!(rfc3339(from_micros(0)), "1970-01-01T00:00:00.000000Z");
        assert_eq!(rfc3339(from_micros(-1)), "1969-12-31T23:59:59.999999Z");
        assert_eq!(rfc3339("2024-02-29T23:59:59.5Z".parse().unwrap()), "2024-02-29T23:59:59.500000Z");
    }

    proptest! {
        #[test]
        fn a_time_is_shown_as_the_calendar_says(micros in -62_167_219_200_000_000_i64..=253_402_300_799_999_999) {
            let time = from_micros(micros);
            prop_assert_eq!(rfc3339(time), time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string());
        }
    }
}
