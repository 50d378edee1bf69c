//! What reading a text gives: a value, and what was wrong with the text.
//!
//! Readers are lenient: they never fail, and leave out what they could not read. Strictness is a question that is asked
//! of the result.

use std::fmt;

/// A value, and the problems met while reading it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parsed<T> {
    /// What could be read.
    pub value: T,
    /// What was wrong, in the order of the text.
    pub problems: Vec<Problem>,
}

impl<T> Parsed<T> {
    /// Returns the value only if nothing was wrong.
    pub fn strict(self) -> Result<T, Vec<Problem>> {
        if self.problems.is_empty() { Ok(self.value) } else { Err(self.problems) }
    }
}

/// One thing that is wrong with a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where: the name of the field, with dots for what is inside, such as `error.code`; empty for the whole text.
    pub path: String,
    /// What stands there, cut short; `None` if nothing does.
    pub found: Option<String>,
    /// What should stand there.
    pub wanted: String,
}

/// How much of a value a problem shows, in characters.
const SHOWN: usize = 80;

impl Problem {
    /// A required field that is not there.
    pub fn missing(path: impl Into<String>, wanted: impl Into<String>) -> Self {
        Self { path: path.into(), found: None, wanted: wanted.into() }
    }

    /// A field with a value that its rule does not allow.
    pub fn wrong(path: impl Into<String>, found: &str, wanted: impl Into<String>) -> Self {
        let shown = shown(found, SHOWN);
        Self { path: path.into(), found: Some(shown), wanted: wanted.into() }
    }
}

/// A value of somebody's, on its way into a sentence: cut short, and without control characters.
pub fn shown(value: &str, longest: usize) -> String {
    shortened(value.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }), longest)
}

/// The first letters of a text, and a mark behind them where there are more.
pub fn shortened(mut letters: impl Iterator<Item = char>, most: usize) -> String {
    let mut text: String = letters.by_ref().take(most).collect();
    text.extend(letters.next().map(|_| '…'));
    text
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.found {
            None => write!(f, "Missing required field: {}", self.path),
            Some(found) if self.path.is_empty() => write!(f, "found '{found}', wanted {}", self.wanted),
            Some(found) => write!(f, "{}: found '{found}', wanted {}", self.path, self.wanted),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_gives_the_value_only_if_nothing_was_wrong() {
        assert_eq!(Parsed { value: 1, problems: vec![] }.strict(), Ok(1));
        let problem = Problem::missing("task_id", "text");
        assert_eq!(Parsed { value: 1, problems: vec![problem.clone()] }.strict(), Err(vec![problem]));
    }

    #[test]
    fn a_problem_names_the_place_what_stands_there_and_what_should() {
        assert_eq!(Problem::missing("error.code", "text").to_string(), "Missing required field: error.code");
        let wrong = Problem::wrong("severity", "Bl\nocking", "low, medium, high or blocking");
        assert_eq!(wrong.to_string(), "severity: found 'Bl\u{fffd}ocking', wanted low, medium, high or blocking");
        assert!(Problem::wrong("x", &"y".repeat(1000), "z").to_string().chars().count() < 120);
    }
}
