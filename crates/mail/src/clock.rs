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

/// A time as answers and errors show it: RFC 3339 in UTC, to the microsecond.
///
/// Written by hand because a mailbox shows one for each message, and a general formatter takes longer than the rest of
/// the line. Years that RFC 3339 cannot say are held at its ends.
pub fn rfc3339(time: Timestamp) -> String {
    const FIRST: i64 = -62_167_219_200_000_000; // 0000-01-01
    const LAST: i64 = 253_402_300_799_999_999; // the last microsecond of 9999
    let micros = time.as_microsecond().clamp(FIRST, LAST);
    let (seconds, fraction) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
    let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // The calendar by Howard Hinnant's days-to-civil: years that begin in March have their leap day at the end.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let mut text = String::with_capacity(27);
    let parts = [(year, 4, '-'), (month, 2, '-'), (day, 2, 'T'), (of_day / 3_600, 2, ':'), (of_day / 60 % 60, 2, ':')];
    for (number, digits, behind) in parts {
        push_digits(&mut text, number, digits);
        text.push(behind);
    }
    push_digits(&mut text, of_day % 60, 2);
    text.push('.');
    push_digits(&mut text, fraction, 6);
    text.push('Z');
    text
}

fn push_digits(text: &mut String, number: i64, digits: u32) {
    for place in (0..digits).rev() {
        text.push(char::from(b'0' + (number / 10_i64.pow(place) % 10) as u8));
    }
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
