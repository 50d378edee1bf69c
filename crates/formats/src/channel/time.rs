//! Times as agents write them, in documents and heartbeats.
//!
//! Programs write ISO 8601 in several ways, and some forget the zone. What is written here has one form.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// A time, and whether its zone was said; without one it is read as UTC. `None` if it is no time of day on a day.
pub(crate) fn read_time(text: &str) -> Option<(Timestamp, bool)> {
    let with_zone = text.parse::<Timestamp>().ok().map(|time| (time, true));
    let (time, has_zone) = with_zone.or_else(|| Some((without_zone(text)?, false)))?;
    // Other years have no form that every reader knows.
    let year = TimeZone::UTC.to_datetime(time).year();
    (0..=9999).contains(&year).then_some((time, has_zone))
}

/// The one form that is written: UTC, with milliseconds.
pub(crate) fn written_time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

fn without_zone(text: &str) -> Option<Timestamp> {
    // A day alone is midnight to the parser, and to nobody else.
    let has_time = text.contains(['T', 't', ' ']);
    let time = text.parse::<DateTime>().ok().filter(|_| has_time)?;
    TimeZone::UTC.to_timestamp(time).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(String, bool)> {
        read_time(text).map(|(time, has_zone)| (written_time(time), has_zone))
    }

    #[test]
    fn a_time_is_read_in_every_form_that_programs_write() {
        for text in [
            "2026-01-11T16:33:15.123Z",
            "2026-01-11T16:33:15.123000+00:00",
            "2026-01-11T17:33:15.123+01:00",
            "2026-01-11T17:33:15.123+0100",
            "2026-01-11 16:33:15.123Z",
            "20260111T163315.123Z",
            "2026-01-11T16:33:15.123999999Z",
        ] {
            assert_eq!(read(text), Some(("2026-01-11T16:33:15.123Z".to_owned(), true)), "{text}");
        }
        assert_eq!(read("2026-01-11T16:33:15Z"), Some(("2026-01-11T16:33:15.000Z".to_owned(), true)));
    }

    #[test]
    fn a_time_without_zone_is_utc_and_said_to_be_without() {
        for text in ["2026-01-11T16:33:15.123", "2026-01-11 16:33:15.123"] {
            assert_eq!(read(text), Some(("2026-01-11T16:33:15.123Z".to_owned(), false)), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            " ",
            "now",
            "2026-01-11",
            "16:33:15Z",
            "2026-02-30T10:00:00Z",
            "2026-01-11T24:00:01Z",
            "1768149195",
            "2026-01-11T16:33:15Zx",
            "-000001-01-01T00:00:00Z",
            "0000-01-01T00:00:00+01:00",
            "２026-01-11T16:33:15Z",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn the_first_and_the_last_year_are_written_as_they_are_read() {
        for text in ["0000-01-01T00:00:00.000Z", "9999-12-30T00:00:00.000Z", "1969-12-31T23:59:59.999Z"] {
            assert_eq!(read(text), Some((text.to_owned(), true)));
        }
    }
}
