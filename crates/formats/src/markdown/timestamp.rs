//! Times in messages.
//!
//! A time is checked and handed on as it was written: nothing here reckons with it or knows what time it is.

/// Returns `text` if it is a time of RFC 3339 with its zone, such as `2026-01-31T10:30:00.5+01:00`.
///
/// A time without a zone could be any of a day's hours, so it is none. `T` and `Z` are capitals, a fraction has at most
/// nine digits, and a minute has sixty seconds.
pub fn read_timestamp(text: &str) -> Option<&str> {
    let (date, rest) = text.split_at_checked(10)?;
    let (time, rest) = rest.strip_prefix('T')?.split_at_checked(8)?;
    let zone = without_fraction(rest)?;
    (is_date(date) && is_time(time) && is_zone(zone)).then_some(text)
}

fn is_date(text: &str) -> bool {
    let Some([year, month, day]) = numbers(text, '-', [4, 2, 2]) else { return false };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

fn is_time(text: &str) -> bool {
    numbers(text, ':', [2, 2, 2]).is_some_and(|[hour, minute, second]| hour < 24 && minute < 60 && second < 60)
}

fn is_zone(text: &str) -> bool {
    let offset = || numbers(text.strip_prefix(['+', '-'])?, ':', [2, 2]);
    text == "Z" || offset().is_some_and(|[hour, minute]| hour < 24 && minute < 60)
}

fn without_fraction(text: &str) -> Option<&str> {
    let Some(fraction) = text.strip_prefix('.') else { return Some(text) };
    let zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
    (1..=9).contains(&(fraction.len() - zone.len())).then_some(zone)
}

/// Numbers of just these many digits, with `between` between them.
fn numbers<const N: usize>(text: &str, between: char, digits: [usize; N]) -> Option<[u32; N]> {
    let mut parts = text.split(between);
    let mut numbers = [0; N];
    for (number, digits) in numbers.iter_mut().zip(digits) {
        let part = parts.next().filter(|part| part.len() == digits && part.bytes().all(|b| b.is_ascii_digit()))?;
        *number = part.parse().ok()?;
    }
    parts.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::read_timestamp;

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
