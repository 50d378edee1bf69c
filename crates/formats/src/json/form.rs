//! Texts of a fixed form: versions, times, and ids of messages.
//!
//! Each form has a check for the validator and a pattern for the schema; a test holds the two together. Nothing here
//! knows a clock: whether a time lies in the future is no matter of form.

use super::VERSION;
use crate::time::{is_in_a_zone, is_in_utc};

/// A form that a text may have to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `MAJOR.MINOR.PATCH` with our MAJOR. A newer MINOR only adds fields, so it is read too.
    Version,
    /// A moment in UTC: `2025-12-25T12:00:00Z`, with an optional fraction. `+00:00` says UTC as well as `Z` does, and
    /// common libraries write it. There is no 60th second: most readers of times refuse it, and no agent's clock shows it.
    Time,
    /// The same in any zone, such as `2025-12-31T23:59:59+01:00`: for times of which the format does not say UTC.
    ZonedTime,
    /// A UUID of any version and case, with or without `msg-`: the format's own examples are not version 4.
    MessageId,
}

impl Form {
    /// Whether `text` has this form.
    pub fn matches(self, text: &str) -> bool {
        match self {
            Self::Version => version_parts(text).is_some_and(|[major, ..]| major == own_major()),
            Self::Time => is_in_utc(text),
            Self::ZonedTime => is_in_a_zone(text),
            Self::MessageId => is_uuid(text.strip_prefix("msg-").unwrap_or(text)),
        }
    }

    /// The same rule as a regular expression that JSON Schema understands.
    pub fn pattern(self) -> String {
        match self {
            Self::Version => format!("^{}\\.(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)$", own_major()),
            Self::Time => format!("^({COMMON_DAY}|{LEAP_YEAR}-02-29)T{CLOCK}(\\.[0-9]+)?(Z|\\+00:00)$"),
            Self::ZonedTime => format!("^({COMMON_DAY}|{LEAP_YEAR}-02-29)T{CLOCK}(\\.[0-9]+)?(Z|[+-]{OFFSET})$"),
            Self::MessageId => "^(msg-)?[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$".to_owned(),
        }
    }

    /// What should stand there.
    pub fn wanted(self) -> &'static str {
        match self {
            Self::Version => "MAJOR.MINOR.PATCH, compatible with 1.0.0",
            Self::Time => "a time in UTC such as 2025-12-25T12:00:00Z",
            Self::ZonedTime => "a time with its zone such as 2025-12-25T12:00:00Z",
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
const OFFSET: &str = "([01][0-9]|2[0-3]):[0-5][0-9]";
const CLOCK: &str = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]";

#[cfg(test)]
mod tests;
