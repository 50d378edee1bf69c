//! Texts of a fixed form: versions, times, and ids of messages.
//!
//! Each form has a check for the validator and a pattern for the schema; a test holds the two together. Nothing here
//! knows a clock: whether a time lies in the future is no matter of form.

use super::VERSION;

/// A form that a text may have to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `MAJOR.MINOR.PATCH` with our MAJOR. A newer MINOR only adds fields, so it is read too.
    Version,
    /// A moment in UTC: `2025-12-25T12:00:00Z`, with an optional fraction. `+00:00` says UTC as well as `Z` does, and
    /// common libraries write it. There is no 60th second: most readers of times refuse it, and no agent's clock shows it.
    Time,
    /// A UUID of any version and case, with or without `msg-`: the format's own examples are not version 4.
    MessageId,
}

impl Form {
    /// Whether `text` has this form.
    pub fn matches(self, text: &str) -> bool {
        match self {
            Self::Version => version_parts(text).is_some_and(|[major, ..]| major == own_major()),
            Self::Time => is_time(text),
            Self::MessageId => is_uuid(text.strip_prefix("msg-").unwrap_or(text)),
        }
    }

    /// The same rule as a regular expression that JSON Schema understands.
    pub fn pattern(self) -> String {
        match self {
            Self::Version => format!("^{}\\.(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)$", own_major()),
            Self::Time => format!("^({COMMON_DAY}|{LEAP_YEAR}-02-29)T{CLOCK}(\\.[0-9]+)?(Z|\\+00:00)$"),
            Self::MessageId => "^(msg-)?[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$".to_owned(),
        }
    }

    /// The name that JSON Schema has for a form which includes this one.
    pub fn format(self) -> Option<&'static str> {
        (self == Self::Time).then_some("date-time")
    }

    /// What should stand there.
    pub fn wanted(self) -> &'static str {
        match self {
            Self::Version => "MAJOR.MINOR.PATCH, compatible with 1.0.0",
            Self::Time => "a time in UTC such as 2025-12-25T12:00:00Z",
            Self::MessageId => "a UUID, with or without msg- before it",
        }
    }
}

/// Whether `version` is well-formed and of another MAJOR than ours: the sender speaks another format, not this one badly.
pub(super) fn is_foreign_version(version: &str) -> bool {
    version_parts(version).is_some_and(|[major, ..]| major != own_major())
}

fn own_major() -> &'static str {
    VERSION.split_once('.').map_or(VERSION, |(major, _)| major)
}

fn version_parts(text: &str) -> Option<[&str; 3]> {
    let mut parts = text.splitn(3, '.');
    let parts = [parts.next()?, parts.next()?, parts.next()?];
    let is_number = |part: &&str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()) && (part.len() == 1 || !part.starts_with('0'))
    };
    parts.iter().all(is_number).then_some(parts)
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Every day but the 29th of February.
const COMMON_DAY: &str = "[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])\
    |(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))";
const LEAP_YEAR: &str = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)";
const CLOCK: &str = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]";

fn is_time(text: &str) -> bool {
    let Some((moment, rest)) = text.as_bytes().split_at_checked("2025-12-25T12:00:00".len()) else {
        return false;
    };
    let [y1, y2, y3, y4, b'-', o1, o2, b'-', d1, d2, b'T', h1, h2, b':', m1, m2, b':', s1, s2] = *moment else {
        return false;
    };
    let pair = |tens: u8, ones: u8| {
        (tens.is_ascii_digit() && ones.is_ascii_digit()).then(|| u32::from(tens - b'0') * 10 + u32::from(ones - b'0'))
    };
    let (Some(century), Some(year), Some(month), Some(day)) = (pair(y1, y2), pair(y3, y4), pair(o1, o2), pair(d1, d2))
    else {
        return false;
    };
    (1..=days_in(century * 100 + year, month)).contains(&day)
        && pair(h1, h2).is_some_and(|hour| hour < 24)
        && pair(m1, m2).is_some_and(|minute| minute < 60)
        && pair(s1, s2).is_some_and(|second| second < 60)
        && is_fraction_and_zone(rest)
}

/// How many days a month of the Gregorian calendar has; none if there is no such month.
fn days_in(year: u32, month: u32) -> u32 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        _ => 0,
    }
}

fn is_fraction_and_zone(rest: &[u8]) -> bool {
    let zone = match rest {
        [b'.', fraction @ ..] => {
            let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits == 0 {
                return false;
            }
            &fraction[digits..]
        }
        zone => zone,
    };
    matches!(zone, b"Z" | b"+00:00")
}

#[cfg(test)]
mod tests;
