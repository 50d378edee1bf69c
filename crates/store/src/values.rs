//! What stands for a value of mail in a column, whichever engine the row is of, and back.

use formats::{Kind, Problem};
use mail::agents::TokenHash;
use mail::events::EventKind;
use mail::messages::{Importance, Role, Vouched};
use mail::presence::Source;
use mail::reservations::pattern::Pattern;
use mail::wake_ups::WakeOutcome;
use mail::watches::RunState;

use crate::row::{Column, Value, column, into_value};

into_value! {
    Role: role => Self::Int(role as i64),
    Importance: importance => Self::Int(importance as i64),
    WakeOutcome: outcome => Self::Int(outcome as i64),
    Kind: kind => Self::Text(kind.as_str()),
    Vouched: vouched => Self::Text(vouched.as_str()),
    EventKind: kind => Self::Text(kind.as_str()),
    Source: source => Self::Text(source.as_str()),
    RunState: state => Self::Text(state.as_str()),
    &'a Pattern: pattern => Self::Text(pattern.as_str()),
}

column! {
    Role as "role": Value::Int(number) => one_of(&Role::ALL, number),
    Importance as "importance": Value::Int(number) => one_of(&Importance::ALL, number),
    WakeOutcome as "outcome of a wake-up": Value::Int(number) => one_of(&WakeOutcome::ALL, number),
    Kind as "kind of message": Value::Text(word) => Kind::parse(word),
    Vouched as "voucher": Value::Text(word) => Vouched::parse(word),
    EventKind as "kind of event": Value::Text(word) => EventKind::parse(word),
    Source as "source of a presence": Value::Text(word) => Source::parse(word),
    RunState as "state of a run": Value::Text(word) => RunState::parse(word),
    Pattern as "pattern": Value::Text(text) => Pattern::parse(text).ok(),
    TokenHash: Value::Bytes(bytes) => bytes.try_into().ok().map(TokenHash::from_bytes),
    // One a line.
    Vec<String>: Value::Text(lines) => Some(names_of(lines)),
    Vec<Pattern> as "pattern": Value::Text(lines) => lines.split('\n').map(|text| Pattern::parse(text).ok()).collect(),
}

fn one_of<T: Copy>(all: &[T], number: i64) -> Option<T> {
    all.get(usize::try_from(number).ok()?).copied()
}

/// One name a line. A name has no control character, and is never empty.
pub(crate) fn lines_of<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join("\n")
}

/// The names of such lines.
fn names_of(lines: &str) -> Vec<String> {
    if lines.is_empty() { Vec::new() } else { lines.split('\n').map(str::to_owned).collect() }
}

/// What stands between the parts of a problem. None of them is kept with a control character.
const PART: char = '\u{1f}';

/// One problem a line: its place, what should stand there, and what does if anything does. `None` if there are none.
pub(crate) fn written_problems(problems: &[Problem]) -> Option<String> {
    let plain = |part: &str| part.replace(char::is_control, "\u{fffd}");
    let line = |problem: &Problem| {
        let found = problem.found.as_ref().map(|found| format!("{PART}{}", plain(found))).unwrap_or_default();
        format!("{}{PART}{}{found}", plain(&problem.path), plain(&problem.wanted))
    };
    let lines: Vec<String> = problems.iter().map(line).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

impl Column<'_> for Vec<Problem> {
    #[inline]
    fn of(value: Value<'_>) -> Option<Self> {
        match value {
            // As of nearly every message.
            Value::Null => Some(Self::new()),
            Value::Text(lines) => read_problems(lines),
            _ => None,
        }
    }
}

/// The problems of such lines.
fn read_problems(lines: &str) -> Option<Vec<Problem>> {
    let read = |line: &str| {
        let mut parts = line.splitn(3, PART).map(str::to_owned);
        Some(Problem { path: parts.next()?, wanted: parts.next()?, found: parts.next() })
    };
    lines.split('\n').map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_from_their_lines() {
        for names in [vec![], vec!["alice"], vec!["a b", "Jürgen", "漢字"]] {
            assert_eq!(names_of(&lines_of(names.iter().copied())), names);
        }
    }

    #[test]
    fn problems_are_read_back_from_their_lines() {
        let problems = vec![
            Problem::missing("task_id", "text"),
            Problem::wrong("priority", "", "low or high"),
            Problem::wrong("", "[]", "a JSON object"),
        ];
        let written = written_problems(&problems).unwrap();
        assert_eq!(Vec::<Problem>::of(Value::Text(&written)), Some(problems));
        assert_eq!((written_problems(&[]), Vec::<Problem>::of(Value::Null)), (None, Some(Vec::new())));
        let odd = written_problems(&[Problem::missing("a\nb", "c\0\u{1f}d")]).unwrap();
        let read = vec![Problem::missing("a\u{fffd}b", "c\u{fffd}\u{fffd}d")];
        assert_eq!(Vec::<Problem>::of(Value::Text(&odd)), Some(read));
    }

    #[test]
    fn every_value_is_read_back_from_what_stands_for_it() {
        for name in Importance::NAMES {
            let importance = Importance::parse(name).unwrap();
            assert_eq!(Importance::of(importance.into()).unwrap(), importance);
        }
        for role in [Role::To, Role::Cc, Role::Bcc] {
            assert_eq!(Role::of(role.into()).unwrap(), role);
        }
        for kind in Kind::all() {
            assert_eq!(Kind::of(kind.into()).unwrap(), kind);
        }
        for vouched in [Vouched::Claimed, Vouched::Verified, Vouched::Human] {
            assert_eq!(Vouched::of(vouched.into()).unwrap(), vouched);
        }
    }

    #[test]
    fn a_value_of_another_version_is_an_error_and_no_guess() {
        assert!(Importance::of(Value::Int(4)).is_none());
        assert!(Role::of(Value::Int(3)).is_none());
        assert!(Kind::of(Value::Text("RUMOUR")).is_none());
        assert!(Vouched::of(Value::Text("sworn")).is_none());
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let read = |row: &rusqlite::Row<'_>| Ok(crate::row::Row::Sqlite(row).get::<Role>(0).unwrap_err().to_string());
        assert_eq!(connection.query_row("SELECT 3", [], read).unwrap(), "unknown role '3'");
    }
}
