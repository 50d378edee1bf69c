//! From the characters of a query to its tokens.
//!
//! Decides what is a word, an operator or nothing at all; knows nothing of how tokens belong together.

use super::filters::{self, Filter};
use super::{MOST_BETWEEN, QueryError, USUAL_BETWEEN};

/// A token and where it starts, in characters from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub kind: TokenKind<'a>,
    pub position: usize,
    /// Where the next token may start.
    pub end: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind<'a> {
    /// `AND`, `OR` or `NOT`, which may also be written `-`.
    Operator(&'static str),
    Open,
    Close,
    /// What narrows the next word, phrase or group.
    Filter(Filter),
    /// `^`, before a word or a phrase.
    Start,
    /// `NEAR(`, with words and phrases up to its end.
    Near,
    /// The end of it: how many words may stand between.
    NearEnd(u32),
    Word(&'a str),
    /// The text of a word or phrase that ended in a star.
    Prefix(&'a str),
    /// The trimmed text between quotes, possibly empty.
    Phrase(&'a str),
    /// A word without any letter or digit.
    Nothing(&'a str),
}

pub(super) const AND: TokenKind<'static> = TokenKind::Operator("AND");
pub(super) const OR: TokenKind<'static> = TokenKind::Operator("OR");
pub(super) const NOT: TokenKind<'static> = TokenKind::Operator("NOT");
/// What joins words to a phrase.
pub(super) const PLUS: TokenKind<'static> = TokenKind::Nothing("+");

const NEAR: &str = "NEAR";

pub(super) fn lex(text: &str) -> Result<Vec<Token<'_>>, QueryError> {
    let mut lexer = Lexer { rest: text, position: 0, tokens: Vec::new() };
    while lexer.begins_a_token() {
        lexer.token()?;
    }
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    rest: &'a str,
    position: usize,
    tokens: Vec<Token<'a>>,
}

impl<'a> Lexer<'a> {
    /// Goes on to the next token; false at the end.
    fn begins_a_token(&mut self) -> bool {
        let trimmed = self.rest.trim_start();
        self.position += self.rest[..self.rest.len() - trimmed.len()].chars().count();
        self.rest = trimmed;
        !trimmed.is_empty()
    }

    fn push(&mut self, kind: TokenKind<'a>, length: usize) {
        let (read, unread) = self.rest.split_at(length);
        let position = self.position;
        self.position += read.chars().count();
        self.tokens.push(Token { kind, position, end: self.position });
        self.rest = unread;
    }

    fn token(&mut self) -> Result<(), QueryError> {
        let filter = match self.tokens.last().map(|last| last.kind) {
            Some(TokenKind::Filter(filter)) => Some(filter),
            _ => None,
        };
        let is_name = filter.is_some_and(|filter| filter.field.is_none());
        if self.rest.starts_with('"') {
            self.phrase()
        } else if self.rest.starts_with(['(', ')']) {
            let kind = if self.rest.starts_with('(') { TokenKind::Open } else { TokenKind::Close };
            self.push(kind, 1);
            Ok(())
        } else if !is_name && near_head(self.rest).is_some() {
            self.near()
        } else if !is_name && is_start(self.rest) {
            self.push(TokenKind::Start, 1);
            Ok(())
        } else if filter.is_some() || matches!(self.tokens.last().map(|last| last.kind), Some(TokenKind::Start)) {
            // What follows a filter is its word, even if it looks like an operator or another filter.
            let word = word(self.rest);
            self.push(plain(word), word.len());
            Ok(())
        } else {
            self.operator_or_word()
        }
    }

    /// A phrase, or the beginning of one if a star follows.
    fn phrase(&mut self) -> Result<(), QueryError> {
        let quoted = &self.rest[1..];
        let position = self.position;
        let end = quoted
            .find('"')
            .ok_or_else(|| QueryError::new(position, format!("unclosed quote that starts at position {position}")))?;
        let text = quoted[..end].trim();
        if quoted[end + 1..].starts_with('*') && text.contains(char::is_alphanumeric) {
            self.push(TokenKind::Prefix(text), end + 3);
        } else {
            self.push(TokenKind::Phrase(text), end + 2);
        }
        Ok(())
    }

    fn operator_or_word(&mut self) -> Result<(), QueryError> {
        if let Some(filter) = filters::at_start_of(self.rest, self.position)? {
            self.push(TokenKind::Filter(filter), filter.length);
            return Ok(());
        }
        if let Some(after) = self.rest.strip_prefix('-') {
            self.check_negated_filter(after)?;
            // `--release` is a word, and so is a dash on its own.
            if after.chars().next().is_some_and(|next| !next.is_whitespace() && !matches!(next, '-' | ')')) {
                self.push(NOT, 1);
                return Ok(());
            }
        }
        let word = word(self.rest);
        let kind = match word {
            "AND" => AND,
            "OR" => OR,
            "NOT" => NOT,
            word if is_old_near(word) => return Err(self.wrong("NEAR/N is written NEAR(a b, N); expected that")),
            word => plain(word),
        };
        self.push(kind, word.len());
        Ok(())
    }

    /// A dash apart from a filter, or before columns in braces, means the other columns to some, and the opposite to us.
    fn check_negated_filter(&self, after: &str) -> Result<(), QueryError> {
        let filtered = after.trim_start();
        let is_clear = filtered.len() == after.len() && !filtered.starts_with('{');
        let position = self.position + 1 + after[..after.len() - filtered.len()].chars().count();
        if is_clear || filters::at_start_of(filtered, position)?.is_none() {
            return Ok(());
        }
        Err(self.wrong("write NOT before the filter, or name the other column, instead of '-'"))
    }

    /// `NEAR(`, what it holds, and how far apart that may be.
    fn near(&mut self) -> Result<(), QueryError> {
        let open = self.position;
        self.push(TokenKind::Near, near_head(self.rest).unwrap_or(0));
        while self.begins_a_token() {
            match self.rest.as_bytes()[0] {
                b')' => {
                    self.push(TokenKind::NearEnd(USUAL_BETWEEN), 1);
                    return Ok(());
                }
                b',' => return self.distance(open),
                b'"' => self.phrase()?,
                _ => self.word_in_near()?,
            }
        }
        Err(unclosed_near(open))
    }

    fn word_in_near(&mut self) -> Result<(), QueryError> {
        let word = word(self.rest).split(',').next().unwrap_or_default();
        let is_negated = word.strip_prefix('-').is_some_and(|after| after.starts_with(char::is_alphanumeric));
        let is_filter = filters::at_start_of(self.rest, self.position)?.is_some();
        if word.is_empty() || is_negated || is_start(word) || matches!(word, "AND" | "OR" | "NOT") {
            return Err(self.wrong("NEAR takes words, prefixes and phrases alone; expected one"));
        }
        if is_filter {
            return Err(self.wrong("a filter stands before NEAR, as in subject:NEAR(a b); expected a word"));
        }
        self.push(plain(word), word.len());
        Ok(())
    }

    fn distance(&mut self, open: usize) -> Result<(), QueryError> {
        let after = self.rest[1..].trim_start();
        let digits = &after[..after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len())];
        let end = after[digits.len()..].trim_start();
        if digits.is_empty() && end.is_empty() {
            return Err(unclosed_near(open));
        }
        let number = digits.parse::<u32>().ok().filter(|number| *number <= MOST_BETWEEN);
        let (Some(number), false) = (number, !end.is_empty() && !end.starts_with(')')) else {
            return Err(self.wrong(&format!("expected a number up to {MOST_BETWEEN} and ')' behind the comma")));
        };
        if end.is_empty() {
            return Err(unclosed_near(open));
        }
        self.push(TokenKind::NearEnd(number), self.rest.len() - end.len() + 1);
        Ok(())
    }

    fn wrong(&self, what: &str) -> QueryError {
        QueryError::new(self.position, format!("{what} at position {}", self.position))
    }
}

/// How long `NEAR(` is at the start of a text.
fn near_head(text: &str) -> Option<usize> {
    let after = text.strip_prefix(NEAR)?;
    let rest = after.trim_start();
    rest.starts_with('(').then(|| NEAR.len() + after.len() - rest.len() + 1)
}

/// Whether a word is `NEAR/5`, as other programs write it.
fn is_old_near(word: &str) -> bool {
    let distance = word.strip_prefix(NEAR).and_then(|rest| rest.strip_prefix('/'));
    distance.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a text begins with a caret that a word or a phrase follows.
fn is_start(text: &str) -> bool {
    text.strip_prefix('^').is_some_and(|after| after.starts_with(|c: char| c == '"' || c.is_alphanumeric()))
}

fn unclosed_near(open: usize) -> QueryError {
    QueryError::new(open, format!("unclosed NEAR( that starts at position {open}"))
}

fn word(text: &str) -> &str {
    let end = text.find(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '"')).unwrap_or(text.len());
    &text[..end]
}

fn plain(word: &str) -> TokenKind<'_> {
    let beginning = word.trim_end_matches('*');
    if !word.contains(char::is_alphanumeric) {
        TokenKind::Nothing(word)
    } else if beginning.len() < word.len() {
        TokenKind::Prefix(beginning)
    } else {
        TokenKind::Word(word)
    }
}
