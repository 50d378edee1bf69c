//! How long, how much and since when, as people write it.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// Where a watcher begins if nobody ever watched there: with what came so long ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Since(Duration);

impl Since {
    /// Reads `now`, `start`, or a duration.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "now" => Ok(Self(Duration::ZERO)),
            "start" => Ok(Self(Duration::MAX)),
            ago => {
                duration(ago).map(Self).map_err(|_| format!("'{ago}' is neither now, start, nor a time such as 10m"))
            }
        }
    }

    /// The time that is meant.
    pub fn time(self, now: Timestamp) -> Timestamp {
        let ago = SignedDuration::try_from(self.0).unwrap_or(SignedDuration::MAX);
        now.checked_sub(ago).unwrap_or(Timestamp::MIN)
    }
}

/// Reads a duration, such as `500ms`, `2s`, `10m`, `1h` or `7d`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let milliseconds = amount(text, &[("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)]);
    let length = milliseconds.map(Duration::from_millis).filter(|length| !length.is_zero());
    length.ok_or_else(|| format!("'{text}' is no time; write one such as 500ms, 2s, 10m, 1h or 7d"))
}

/// Reads a size in bytes, such as `4096`, `256K` or `1M`.
pub fn size(text: &str) -> Result<usize, String> {
    let bytes = amount(text, &[("", 1), ("K", 1 << 10), ("k", 1 << 10), ("M", 1 << 20), ("m", 1 << 20)]);
    let size = bytes.filter(|size| (1..=64 << 20).contains(size)).and_then(|size| usize::try_from(size).ok());
    size.ok_or_else(|| format!("'{text}' is no size; write one such as 4096, 256K or 1M, up to 64M"))
}

/// A number with one of these units behind it, counted in the smallest.
fn amount(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (_, worth) = units.iter().find(|(unit, _)| *unit == &text[digits..])?;
    text[..digits].parse::<u64>().ok()?.checked_mul(*worth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_are_read_with_their_units() {
        let millis = |text: &str| duration(text).unwrap().as_millis();
        assert_eq!([millis("500ms"), millis("2s"), millis("10m"), millis("1h")], [500, 2_000, 600_000, 3_600_000]);
        assert_eq!(millis("7d"), 7 * 24 * 3_600_000);
        assert_eq!([size("4096"), size("256K"), size("64M")], [Ok(4096), Ok(256 << 10), Ok(64 << 20)]);
        for wrong in ["", "s", "2", "0s", "-1s", "1.5s", "2 s", "10min", "99999999999999999999s"] {
            assert!(duration(wrong).unwrap_err().contains(&format!("'{wrong}'")));
        }
        for wrong in ["", "K", "0", "65M", "1G", "-1"] {
            assert!(size(wrong).unwrap_err().contains(&format!("'{wrong}'")));
        }
    }

    #[test]
    fn a_watcher_begins_now_at_the_start_or_so_long_ago() {
        let now: Timestamp = "2026-01-11T16:30:00Z".parse().unwrap();
        assert_eq!(Since::parse("now").unwrap().time(now), now);
        assert_eq!(Since::parse("start").unwrap().time(now), Timestamp::MIN);
        assert_eq!(Since::parse("10m").unwrap().time(now), "2026-01-11T16:20:00Z".parse().unwrap());
        assert_eq!(Since(Duration::MAX).time(now), Timestamp::MIN);
        assert!(Since::parse("yesterday").unwrap_err().contains("'yesterday'"));
    }
}
