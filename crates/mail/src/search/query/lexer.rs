//! From the characters of a query to its tokens.
//!
//! Decides what is a word, an operator or nothing at all; knows nothing of how tokens belong together.

use super::{Field, QueryError};

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
    /// A filter, and the field that it means.
    Filter(&'static str, Option<Field>),
    Word(&'a str),
    /// The text of a word that ended in a star.
    Prefix(&'a str),
    /// The trimmed text between quotes, possibly empty.
    Phrase(&'a str),
    /// A word without any letter or digit.
    Nothing(&'a str),
}

pub(super) const AND: TokenKind<'static> = TokenKind::Operator("AND");
pub(super) const OR: TokenKind<'static> = TokenKind::Operator("OR");
pub(super) const NOT: TokenKind<'static> = TokenKind::Operator("NOT");

/// What may stand before a word or a group, and where that is looked for then; `from:` looks at no text.
const FILTERS: [(&str, Option<Field>); 3] =
    [("subject:", Some(Field::Subject)), ("body:", Some(Field::Body)), ("from:", None)];

pub(super) fn lex(text: &str) -> Result<Vec<Token<'_>>, QueryError> {
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let mut rest = text;
    let mut position = 0;
    loop {
        let trimmed = rest.trim_start();
        position += rest[..rest.len() - trimmed.len()].chars().count();
        rest = trimmed;
        if rest.is_empty() {
            return Ok(tokens);
        }
        // What follows a filter is its word, even if it looks like an operator or another filter.
        let is_filtered = matches!(tokens.last().map(|last| last.kind), Some(TokenKind::Filter(..)));
        let (kind, length) = if let Some(quoted) = rest.strip_prefix('"') {
            let end = quoted.find('"').ok_or_else(|| {
                QueryError::new(position, format!("unclosed quote that starts at position {position}"))
            })?;
            (TokenKind::Phrase(quoted[..end].trim()), end + 2)
        } else if is_filtered && !rest.starts_with(['(', ')']) {
            let word = word(rest);
            (plain(word), word.len())
        } else {
            operator_or_word(rest)
        };
        let (read, unread) = rest.split_at(length);
        let end = position + read.chars().count();
        tokens.push(Token { kind, position, end });
        (position, rest) = (end, unread);
    }
}

fn operator_or_word(text: &str) -> (TokenKind<'_>, usize) {
    if text.starts_with('(') {
        return (TokenKind::Open, 1);
    }
    if text.starts_with(')') {
        return (TokenKind::Close, 1);
    }
    if let Some((name, field)) = FILTERS.into_iter().find(|(name, _)| text.starts_with(name)) {
        return (TokenKind::Filter(name, field), name.len());
    }
    // `--release` is a word, and so is a dash on its own.
    let negated = text.strip_prefix('-').and_then(|after| after.chars().next());
    if negated.is_some_and(|next| !next.is_whitespace() && !matches!(next, '-' | ')')) {
        return (NOT, 1);
    }
    let word = word(text);
    let kind = match word {
        "AND" => AND,
        "OR" => OR,
        "NOT" => NOT,
        word => plain(word),
    };
    (kind, word.len())
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
