//! A glob relative to the project root, and whether two globs can name the same file.
//!
//! `*` and `?` stay within a segment, `**` as a whole segment crosses them, classes never match `/`,
//! braces may hold slashes, `\` escapes, and case matters. A pattern is split into segments once, when
//! it is parsed; whether two patterns meet is then decided exactly, not by sampling paths. This module
//! does not look at any disk: a pattern for a file that does not exist is as good as any other.

use std::fmt;

pub(super) mod segment;
mod sequence;
mod syntax;

use segment::Atom;
use sequence::{Entry, meet};

/// The most bytes that a pattern may have, before and after it is put in order.
pub const LONGEST: usize = 1024;

/// A checked glob. Two patterns are equal when their texts, put in order, are.
#[derive(Clone, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    alternatives: Vec<Vec<Step>>,
}

/// One part of a pattern between slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Exactly one segment of the path.
    One(Box<[Atom]>),
    /// Any number of segments, none included.
    Deep,
}

/// Why a text is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' {problem}")]
pub struct PatternError {
    /// The refused text, cut when it is long, control characters replaced.
    pub text: String,
    /// What is wrong with it.
    pub problem: PatternProblem,
}

/// What can be wrong with the text of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternProblem {
    /// There is no text, or only empty alternatives.
    #[error("is empty; name a file or a glob such as 'src/**'")]
    Empty,
    /// The text is over [`LONGEST`] bytes.
    #[error("is longer than {LONGEST} bytes")]
    TooLong,
    /// The text holds a line break or another control character.
    #[error("has a control character")]
    ControlCharacter,
    /// The text names a place from the root of the machine.
    #[error("is an absolute path outside the project; give a path relative to the project root")]
    Absolute,
    /// More `..` than segments before them.
    #[error("climbs out of the project")]
    ClimbsOut,
    /// A `..` whose meaning depends on what a wildcard stands for.
    #[error("has a '..' after a wildcard")]
    ClimbsFromWildcard,
    /// A bracket, brace or escape without its other half.
    #[error("has an unclosed '{0}'")]
    Unclosed(char),
    /// A `}` that closes nothing.
    #[error("has a '}}' without its '{{'; write '\\}}' for the character itself")]
    Unopened,
    /// A backslash with nothing behind it.
    #[error("ends in a '\\' that escapes nothing")]
    DanglingEscape,
    /// A range such as `[z-a]`.
    #[error("has a range that runs backwards")]
    BackwardRange,
    /// A class such as `[/]`.
    #[error("has a class that matches no character")]
    EmptyClass,
    /// Braces that stand for too many patterns.
    #[error("has too many alternatives; reserve several patterns instead")]
    TooComplex,
}

/// The name of a file or folder as a glob that means it alone.
pub fn literal(name: &str) -> String {
    let mut glob = String::with_capacity(name.len());
    for letter in name.chars() {
        if matches!(letter, '*' | '?' | '[' | '{' | '}' | '\\') {
            glob.push('\\');
        }
        glob.push(letter);
    }
    glob
}

impl Pattern {
    /// Reads a glob relative to the project root and puts it in order.
    ///
    /// `./`, `//` and `a/../` are resolved, a trailing `/` means everything below, and the project
    /// root itself (`.`) means the whole project.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        syntax::read(text).map_err(|problem| PatternError::new(text, problem))
    }

    /// Reads a glob that may also be an absolute path below `root`, the absolute path of the project.
    pub fn parse_within(root: &str, text: &str) -> Result<Self, PatternError> {
        let Some(below) = text.strip_prefix(root.trim_end_matches('/')).filter(|_| text.starts_with('/')) else {
            return Self::parse(text);
        };
        if !below.is_empty() && !below.starts_with('/') {
            return Err(PatternError::new(text, PatternProblem::Absolute));
        }
        match below.trim_start_matches('/') {
            "" => Self::parse("."),
            relative => Self::parse(relative).map_err(|error| PatternError::new(text, error.problem)),
        }
    }

    /// The text, put in order. Parsing it again gives the same pattern.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// How many plain globs the braces stand for; 1 without braces.
    pub fn breadth(&self) -> usize {
        self.alternatives.len()
    }

    /// Whether this pattern names `path`, a relative path without empty segments.
    pub fn matches(&self, path: &str) -> bool {
        let names = path.split('/').map(|name| Step::One(name.chars().map(Atom::Char).collect()));
        let path_steps: Vec<Step> = names.collect();
        let is_path = path.split('/').all(|name| !name.is_empty());
        is_path && self.alternatives.iter().any(|steps| meet(steps, &path_steps))
    }

    /// Whether some path matches both patterns.
    pub fn may_meet(&self, other: &Self) -> bool {
        self.alternatives.iter().any(|mine| other.alternatives.iter().any(|theirs| meet(mine, theirs)))
    }

    /// The plain globs that the braces stand for: no braces are left in them.
    pub(super) fn alternatives(&self) -> &[Vec<Step>] {
        &self.alternatives
    }
}

impl Step {
    /// The segment, if it is one.
    pub(super) fn segment(&self) -> Option<&[Atom]> {
        if let Self::One(segment) = self { Some(segment) } else { None }
    }
}

impl Entry for Step {
    fn is_wild(&self) -> bool {
        matches!(self, Self::Deep)
    }

    fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::One(mine), Self::One(theirs)) => meet(mine, theirs),
            // What takes anything agrees with anything.
            _ => true,
        }
    }
}

impl PatternError {
    fn new(text: &str, problem: PatternProblem) -> Self {
        Self { text: formats::shown(text, 120), problem }
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pattern({:?})", self.text)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests;
