//! The query language of search.
//!
//! Words, `"phrases"`, `prefix*`, AND, OR and NOT in upper case (`-word` is NOT word, words side by side are joined by
//! AND, which binds tighter than OR), parentheses, and the filters `subject:`, `body:` and `from:`. Queries come from
//! agents that paste what they have, so a stray character is part of a word or nothing at all; only a query that is
//! plainly unfinished is refused, with the place. How words are compared is not decided here: each store lowers the
//! tree to its own index.

mod lexer;
mod parser;

/// The most characters that a query may have.
pub const LONGEST: usize = 1_000;
/// The most words, phrases and names that a query may have.
pub const MOST_TERMS: usize = 64;
/// How deep parentheses and negations may be nested.
pub const DEEPEST: usize = 32;

/// What to look for. `And` and `Or` have at least two parts and are never nested in their like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Query {
    /// Messages with this word. The text holds at least one letter or digit, and possibly punctuation.
    Word {
        /// The word as it was typed.
        text: String,
        /// Where it must stand.
        field: Field,
    },
    /// Messages with a word that begins like this.
    Prefix {
        /// The beginning, without the star.
        text: String,
        /// Where it must stand.
        field: Field,
    },
    /// Messages with these words one after the other.
    Phrase {
        /// The words, as they were typed between the quotes.
        text: String,
        /// Where they must stand.
        field: Field,
    },
    /// Messages of this sender.
    From(String),
    /// Messages that match all parts.
    And(Vec<Query>),
    /// Messages that match at least one part.
    Or(Vec<Query>),
    /// Messages that do not match.
    Not(Box<Query>),
}

/// Where a word must stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Field {
    /// In the subject or in the body.
    #[default]
    Any,
    /// In the subject.
    Subject,
    /// In the body.
    Body,
}

/// Why a query cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct QueryError {
    /// Where, counted in characters from 0.
    pub position: usize,
    /// What is wrong there, in a sentence that names the place.
    pub message: String,
}

impl Query {
    /// Reads a query.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        if text.chars().nth(LONGEST).is_some() {
            return Err(QueryError::new(LONGEST, format!("the query is longer than {LONGEST} characters")));
        }
        let tokens = lexer::lex(text)?;
        parser::parse(&tokens)?.ok_or_else(|| QueryError::new(0, "the query has no word in it".to_owned()))
    }
}

impl QueryError {
    fn new(position: usize, message: String) -> Self {
        Self { position, message }
    }
}

#[cfg(test)]
mod tests;
