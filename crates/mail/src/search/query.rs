//! The query language of search.
//!
//! [`LANGUAGE`] tells people what can be asked; `-word` is NOT word, words side by side are joined by AND, which binds
//! tighter than OR. Queries come from agents that paste what they have, so a stray character is part of a word or nothing
//! at all; only a query that is plainly unfinished, or asks for what no mail can be searched for, is refused, with the
//! place. How words are compared is not decided here: each store lowers the tree to its own index.

mod filters;
mod lexer;
mod parser;

/// What a query may hold, in the sentence that every door and every page has.
pub const LANGUAGE: &str = "Use words \"phrases\" pre* AND OR NOT ( ) NEAR(a b, 5) ^first subject: body: from:NAME.";
/// The most characters that a query may have.
pub const LONGEST: usize = 1_000;
/// The most words, phrases and names that a query may have.
pub const MOST_TERMS: usize = 64;
/// How deep parentheses and negations may be nested.
pub const DEEPEST: usize = 32;

/// How many words may stand between those of a NEAR that does not say, and how many it may say.
pub const USUAL_BETWEEN: u32 = 10;
/// See [`USUAL_BETWEEN`].
pub const MOST_BETWEEN: u32 = 10_000;

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
    /// Messages that begin with these words.
    Start {
        /// The words.
        sequence: Sequence,
        /// What has to begin so.
        field: Field,
    },
    /// Messages with all of these within a few words, in any order: at most so many words stand between the end of each and
    /// the beginning of the one that begins last.
    Near {
        /// Two or more.
        sequences: Vec<Sequence>,
        /// The number of words.
        most_between: u32,
        /// Where they must stand, all in one place.
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

/// Words one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequence {
    /// The words, as they were typed.
    pub text: String,
    /// Whether of the last word only the beginning is known.
    pub is_prefix: bool,
}

impl Sequence {
    /// The question for these words wherever they stand in `field`.
    fn anywhere(self, field: Field) -> Query {
        let Self { text, is_prefix } = self;
        if is_prefix { Query::Prefix { text, field } } else { Query::Phrase { text, field } }
    }
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
