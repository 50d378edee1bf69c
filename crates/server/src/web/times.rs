//! Times as people read them: how long ago, how long until, and the exact time behind it.

use jiff::Timestamp;
use mail::error::rfc3339;

/// A time on a page.
pub struct When {
    /// As machines read it.
    pub exact: String,
    /// As a person reads it who points at it.
    pub long: String,
    /// How far it is from now.
    pub near: String,
}

impl When {
    /// A time that is past.
    pub fn ago(time: Timestamp, now: Timestamp) -> Self {
        let seconds = now.as_second() - time.as_second();
        let near = if seconds < 5 { "just now".to_owned() } else { format!("{} ago", spoken(seconds)) };
        Self { near, ..Self::exact(time) }
    }

    /// A time that is to come.
    pub fn until(time: Timestamp, now: Timestamp) -> Self {
        let seconds = time.as_second() - now.as_second();
        let near = match seconds {
            ..=0 => "over".to_owned(),
            1..3600 => format!("{}:{:02} left", seconds / 60, seconds % 60),
            _ => format!("{} left", spoken(seconds)),
        };
        Self { near, ..Self::exact(time) }
    }

    fn exact(time: Timestamp) -> Self {
        let long = time.strftime("%a %-d %b %Y, %H:%M:%S UTC").to_string();
        Self { exact: rfc3339(time), long, near: String::new() }
    }
}

fn spoken(seconds: i64) -> String {
    match seconds {
        ..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_768_000_000 + second).unwrap()
    }

    #[test]
    fn times_are_told_by_their_distance() {
        let ago = |seconds| When::ago(at(0), at(seconds)).near;
        assert_eq!([ago(-1), ago(4), ago(5), ago(60)], ["just now", "just now", "5 s ago", "1 min ago"]);
        assert_eq!([ago(3599), ago(3600), ago(86400)], ["59 min ago", "1 h ago", "1 d ago"]);
        let until = |seconds| When::until(at(seconds), at(0)).near;
        assert_eq!([until(0), until(61), until(7200)], ["over", "1:01 left", "2 h left"]);
        assert_eq!(When::ago(at(0), at(0)).exact, "2026-01-09T23:06:40.000000Z");
    }
}
