//! What stands for a value in a row, whichever engine the row is of, and back.

use formats::Kind;
use mail::messages::{Importance, Role, Vouched};

/// A value that no program of this version wrote.
#[derive(Debug, thiserror::Error)]
#[error("unknown {what} '{value}'")]
pub(crate) struct UnknownValue {
    what: &'static str,
    value: String,
}

/// Tells that nothing is known to stand for this.
pub(crate) fn unknown(what: &'static str, value: impl ToString) -> UnknownValue {
    UnknownValue { what, value: value.to_string() }
}

/// The number that stands for a role, in the order in which recipients are listed.
pub(crate) fn role_number(role: Role) -> i16 {
    match role {
        Role::To => 0,
        Role::Cc => 1,
        Role::Bcc => 2,
    }
}

/// The role that a number stands for.
pub(crate) fn role_of(number: i64) -> Result<Role, UnknownValue> {
    Ok(match number {
        0 => Role::To,
        1 => Role::Cc,
        2 => Role::Bcc,
        other => return Err(unknown("role", other)),
    })
}

/// The number that stands for an importance.
pub(crate) fn importance_number(importance: Importance) -> i16 {
    match importance {
        Importance::Low => 0,
        Importance::Normal => 1,
        Importance::High => 2,
        Importance::Urgent => 3,
    }
}

/// The importance that a number stands for.
pub(crate) fn importance_of(number: i64) -> Result<Importance, UnknownValue> {
    Ok(match number {
        0 => Importance::Low,
        1 => Importance::Normal,
        2 => Importance::High,
        3 => Importance::Urgent,
        other => return Err(unknown("importance", other)),
    })
}

/// The kind of that name.
pub(crate) fn kind_of(word: &str) -> Result<Kind, UnknownValue> {
    Kind::parse(word).ok_or_else(|| unknown("kind of message", word))
}

/// The voucher of that name.
pub(crate) fn vouched_of(word: &str) -> Result<Vouched, UnknownValue> {
    [Vouched::Claimed, Vouched::Verified, Vouched::Human]
        .into_iter()
        .find(|one| one.as_str() == word)
        .ok_or_else(|| unknown("voucher", word))
}

/// One name a line. A name has no control character, and is never empty.
pub(crate) fn lines_of<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join("\n")
}

/// The names of such lines.
pub(crate) fn names_of(lines: &str) -> Vec<String> {
    if lines.is_empty() { Vec::new() } else { lines.split('\n').map(str::to_owned).collect() }
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
    fn every_value_is_read_back_from_what_stands_for_it() {
        for name in Importance::NAMES {
            let importance = Importance::parse(name).unwrap();
            assert_eq!(importance_of(importance_number(importance).into()).unwrap(), importance);
        }
        for role in [Role::To, Role::Cc, Role::Bcc] {
            assert_eq!(role_of(role_number(role).into()).unwrap(), role);
        }
        for kind in Kind::all() {
            assert_eq!(kind_of(kind.as_str()).unwrap(), kind);
        }
        for vouched in [Vouched::Claimed, Vouched::Verified, Vouched::Human] {
            assert_eq!(vouched_of(vouched.as_str()).unwrap(), vouched);
        }
    }

    #[test]
    fn a_value_of_another_version_is_an_error_and_no_guess() {
        assert!(importance_of(4).is_err());
        assert!(role_of(3).is_err());
        assert!(kind_of("RUMOUR").is_err());
        assert!(vouched_of("sworn").is_err());
    }
}
