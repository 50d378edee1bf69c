//! Times as agents write them.
//!
//! Programs write ISO 8601 in several ways, and some forget the zone. What is written here has one form. Nothing here knows
//! what time it is.

use jiff::Timestamp;
use jiff::civil::{DateTime, Time};
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

/// Returns `text` if it is a time of RFC 3339 with its zone, such as `2026-01-31T10:30:00.5+01:00`.
///
/// A time without a zone could be any of a day's hours, so it is none. `T` and `Z` are capitals, a fraction has at most
/// nine digits, and a minute has sixty seconds.
pub fn read_timestamp(text: &str) -> Option<&str> {
    let (digits, zone) = split_zone(text)?;
    (digits <= 9 && is_zone(zone)).then_some(text)
}

/// Whether `text` is a time in any zone, with a fraction of any length.
pub(crate) fn is_in_a_zone(text: &str) -> bool {
    matches!(split_zone(text), Some((_, zone)) if is_zone(zone))
}

fn is_zone(zone: &str) -> bool {
    let is_offset = |offset: &str| offset.len() == 5 && offset.get(2..3) == Some(":") && offset.parse::<Time>().is_ok();
    zone == "Z" || zone.strip_prefix(['+', '-']).is_some_and(is_offset)
}

/// Whether `text` is a time in UTC, with a fraction of any length.
pub(crate) fn is_in_utc(text: &str) -> bool {
    matches!(split_zone(text), Some((_, "Z" | "+00:00")))
}

/// What stands behind a time such as `2026-01-31T10:30:00.5`, and how many digits its fraction has.
fn split_zone(text: &str) -> Option<(usize, &str)> {
    const FORM: &str = "0000-00-00T00:00:00";
    let (moment, rest) = text.split_at_checked(FORM.len())?;
    let is_of_form = moment.bytes().zip(FORM.bytes()).all(|(found, wanted)| match wanted {
        b'0' => found.is_ascii_digit(),
        _ => found == wanted,
    });
    // The parser takes a leap second for the one before it.
    if !is_of_form || moment.ends_with("60") || moment.parse::<DateTime>().is_err() {
        return None;
    }
    let Some(fraction) = rest.strip_prefix('.') else { return Some((0, rest)) };
    let zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
    Some((fraction.len() - zone.len(), zone)).filter(|(digits, _)| *digits > 0)
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

    #[test]
    fn a_time_with_its_zone_is_handed_on_as_it_is() {
        for text in [
            "2026-01-31T10:30:00Z",
            "2026-01-31T10:30:00.123456789Z",
            "2026-01-31T10:30:00-05:30",
            "2024-02-29T23:59:59.0+00:00",
        ] {
            assert_eq!(read_timestamp(text), Some(text));
        }
    }

    #[test]
    fn what_is_no_time_or_names_no_zone_is_none() {
        for text in [
            "",
            "2026-01-31T10:30:00",
            "2026-01-31 10:30:00Z",
            "2026-01-31T10:30Z",
            "2026-02-29T10:30:00Z",
            "2026-13-01T10:30:00Z",
            "2026-01-31T24:00:00Z",
            "2026-01-31T10:30:60Z",
            "2026-01-31T10:30:00.Z",
            "2026-01-31T10:30:00.1234567890Z",
            "2026-01-31T10:30:00+0100",
            "2026-01-31T10:30:00Zulu",
            "+026-01-31T10:30:00Z",
            "2026-01-3\u{e9}T10:30:00Z",
            " 2026-01-31T10:30:00Z",
        ] {
            assert_eq!(read_timestamp(text), None, "{text}");
        }
    }
}
