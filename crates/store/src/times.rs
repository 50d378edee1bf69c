//! The times of deliveries that other programs wrote: without a zone, or cut to whole seconds.
//!
//! Callers sort by time, so the deliveries of a list get times that rise. Nothing here asks a clock.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use mail::clock::from_micros;
use mail::provider::ProviderDelivery;

/// Reads a time. Without a zone it is UTC; `None` when it is no time.
pub fn read(text: &str) -> Option<Timestamp> {
    let without_zone = || Some(text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp());
    text.parse().ok().or_else(without_zone)
}

/// Moves every delivery that does not have a later time than the one before it to a microsecond after that one.
pub fn set_apart(deliveries: &mut [ProviderDelivery]) {
    for index in 1..deliveries.len() {
        let last = deliveries[index - 1].created_at;
        if deliveries[index].created_at <= last {
            deliveries[index].created_at = just_after(last);
        }
    }
}

/// The next microsecond.
pub fn just_after(time: Timestamp) -> Timestamp {
    from_micros(time.as_microsecond().saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_without_a_zone_is_utc() {
        for text in ["2026-01-11T16:33:15", "2026-01-11 16:33:15", "2026-01-11T18:33:15+0200", "2026-01-11T16:33:15Z"] {
            assert_eq!(read(text), "2026-01-11T16:33:15Z".parse().ok(), "{text}");
        }
        for text in ["", "yesterday", "2026-13-01T00:00:00", "1736613195"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn the_next_microsecond_is_later_than_any_part_of_this_one() {
        for text in ["2026-01-11T16:33:15Z", "2026-01-11T16:33:15.000000999Z", "1969-12-31T23:59:59.999999999Z"] {
            let time = read(text).unwrap();
            assert!(just_after(time) > time, "{text}");
        }
        assert_eq!(just_after(Timestamp::MAX).as_microsecond(), Timestamp::MAX.as_microsecond(), "there is none");
    }
}
