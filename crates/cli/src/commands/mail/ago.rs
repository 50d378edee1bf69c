//! When something was, as people say it. The clock and the calendar are handed in: there is no local time here, days are
//! those of UTC.

use jiff::Timestamp;
use jiff::tz::Offset;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// How long ago it was, while that is easy to picture, and else the date.
pub fn ago(then: Timestamp, now: Timestamp) -> String {
    match seconds_between(then, now) {
        ..MINUTE => "just now".to_owned(),
        seconds @ MINUTE..HOUR => format!("{} min ago", seconds / MINUTE),
        seconds @ HOUR..DAY => format!("{} h ago", seconds / HOUR),
        _ if is_day_before(then, now) => "yesterday".to_owned(),
        _ => then.strftime("%Y-%m-%d").to_string(),
    }
}

/// How long ago it was, in a few letters.
pub fn age(then: Timestamp, now: Timestamp) -> String {
    match seconds_between(then, now) {
        seconds @ ..MINUTE => format!("{seconds}s"),
        seconds @ MINUTE..HOUR => format!("{}m", seconds / MINUTE),
        seconds @ HOUR..DAY => format!("{}h", seconds / HOUR),
        seconds => format!("{}d", seconds / DAY),
    }
}

/// The same where seconds are no matter.
pub fn briefly(then: Timestamp, now: Timestamp) -> String {
    if seconds_between(then, now) < MINUTE { "now".to_owned() } else { age(then, now) }
}

/// Clocks of two machines differ a little, and nothing was said in the future.
fn seconds_between(then: Timestamp, now: Timestamp) -> i64 {
    now.as_second().saturating_sub(then.as_second()).max(0)
}

/// The date and the time to the second.
pub fn at(then: Timestamp) -> String {
    then.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}

fn is_day_before(then: Timestamp, now: Timestamp) -> bool {
    let day = |time: Timestamp| Offset::UTC.to_datetime(time).date();
    day(now).yesterday().is_ok_and(|yesterday| yesterday == day(then))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_by_the_largest_unit_that_is_full_and_then_by_its_date() {
        let now = "2026-03-01T16:30:00Z".parse().unwrap();
        for (then, told) in [
            ("2026-03-01T16:30:00Z", "just now"),
            ("2026-03-01T16:29:01Z", "just now"),
            ("2026-03-01T16:29:00Z", "1 min ago"),
            ("2026-03-01T15:30:01Z", "59 min ago"),
            ("2026-03-01T15:30:00Z", "1 h ago"),
            ("2026-02-28T16:30:01Z", "23 h ago"),
            ("2026-02-28T16:30:00Z", "yesterday"),
            ("2026-02-28T00:00:00Z", "yesterday"),
            ("2026-02-27T23:59:59Z", "2026-02-27"),
            ("2025-03-01T16:30:00Z", "2025-03-01"),
            ("2026-03-01T16:31:00Z", "just now"),
        ] {
            assert_eq!(ago(then.parse().unwrap(), now), told, "{then}");
        }
    }

    #[test]
    fn where_space_is_short_a_few_letters_tell_the_age() {
        let now = "2026-03-01T16:30:00Z".parse().unwrap();
        for (then, told) in [
            ("2026-03-01T16:29:01Z", "now"),
            ("2026-03-01T16:29:00Z", "1m"),
            ("2026-03-01T15:30:00Z", "1h"),
            ("2026-02-28T16:30:00Z", "1d"),
            ("2025-03-01T16:30:00Z", "365d"),
        ] {
            assert_eq!(briefly(then.parse().unwrap(), now), told, "{then}");
        }
    }

    #[test]
    fn the_ends_of_time_are_told_too() {
        for (then, now) in [(Timestamp::MIN, Timestamp::MAX), (Timestamp::MAX, Timestamp::MIN)] {
            assert!(!ago(then, now).is_empty() && !briefly(then, now).is_empty());
        }
        assert!(!ago(Timestamp::MIN, Timestamp::MIN).is_empty() && !at(Timestamp::MAX).is_empty());
    }
}
