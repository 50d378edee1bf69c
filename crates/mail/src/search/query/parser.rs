//! From the tokens of a query to its tree.
//!
//! One function for each level of the grammar. A part in which nothing is left to look for is `None` and vanishes from
//! the tree.

use super::filters::Filter;
use super::lexer::{AND, NOT, OR, PLUS, Token, TokenKind};
use super::{DEEPEST, Field, MOST_TERMS, Query, QueryError, Sequence};

/// What a part of a query amounts to.
type Operand = Result<Option<Query>, QueryError>;

/// Reads all tokens as one query.
pub(super) fn parse(tokens: &[Token<'_>]) -> Operand {
    let mut parser = Parser { tokens, at: 0, depth: 0, terms: 0 };
    if tokens.is_empty() {
        return Ok(None);
    }
    let query = parser.either(Field::Any)?;
    match parser.peek() {
        None => Ok(query),
        // Every other token continues the query.
        Some(token) => Err(closes_nothing(token.position)),
    }
}

struct Parser<'t, 'a> {
    tokens: &'t [Token<'a>],
    at: usize,
    depth: usize,
    terms: usize,
}

impl<'t, 'a> Parser<'t, 'a> {
    /// Parts joined by OR.
    fn either(&mut self, field: Field) -> Operand {
        let mut parts = Vec::new();
        loop {
            match self.all(field)? {
                Some(Query::Or(inner)) => parts.extend(inner),
                part => parts.extend(part),
            }
            if self.next_if(OR).is_none() {
                return Ok(one_or(parts, Query::Or));
            }
        }
    }

    /// Parts joined by AND, or by nothing.
    fn all(&mut self, field: Field) -> Operand {
        let mut parts = Vec::new();
        loop {
            match self.negatable(field)? {
                Some(Query::And(inner)) => parts.extend(inner),
                part => parts.extend(part),
            }
            if self.next_if(AND).is_some() {
                continue;
            }
            if matches!(self.peek().map(|token| token.kind), None | Some(OR | TokenKind::Close)) {
                return Ok(one_or(parts, Query::And));
            }
        }
    }

    fn negatable(&mut self, field: Field) -> Operand {
        let Some(not) = self.next_if(NOT) else { return self.single(field) };
        let negated = self.nested(not.position, |parser| parser.negatable(field))?;
        Ok(negated.map(|query| Query::Not(Box::new(query))))
    }

    fn single(&mut self, field: Field) -> Operand {
        let Some(token) = self.peek() else { return Err(self.word_missing()) };
        match token.kind {
            AND | OR | TokenKind::Close => return Err(self.word_missing()),
            TokenKind::Open => return self.group(field),
            _ => self.at += 1,
        }
        match token.kind {
            TokenKind::Filter(Filter { name, field: None, .. }) => self.sender(name),
            TokenKind::Filter(Filter { name, field: Some(field), .. }) => self.filtered(name, field),
            TokenKind::Near => self.near(field),
            TokenKind::Start => self.at_start(field),
            kind if self.peek().is_none_or(|next| next.kind != PLUS) => {
                let text = |text: &str| text.to_owned();
                match kind {
                    TokenKind::Word(word) => self.term(token, Query::Word { text: text(word), field }),
                    TokenKind::Prefix(word) => self.term(token, Query::Prefix { text: text(word), field }),
                    TokenKind::Phrase(words) if words.contains(char::is_alphanumeric) => {
                        self.term(token, Query::Phrase { text: text(words), field })
                    }
                    _ => Ok(None),
                }
            }
            _ => Ok(self.sequence(token)?.map(|sequence| sequence.anywhere(field))),
        }
    }

    /// A word or a phrase, and what `+` joins to it; none if there is nothing to look for.
    fn sequence(&mut self, first: &Token<'_>) -> Result<Option<Sequence>, QueryError> {
        let Some(mut sequence) = sequence_of(first) else { return Ok(None) };
        self.count(first)?;
        while let Some(plus) = self.peek().filter(|token| token.kind == PLUS)
            && let Some((token, next)) = self.tokens.get(self.at + 1).and_then(|next| Some((next, sequence_of(next)?)))
        {
            if sequence.is_prefix {
                let message =
                    format!("only the last of the words that + joins may end in a star, at position {}", plus.position);
                return Err(QueryError::new(plus.position, message));
            }
            self.at += 2;
            self.count(token)?;
            sequence = Sequence { text: format!("{} {}", sequence.text, next.text), is_prefix: next.is_prefix };
        }
        Ok(Some(sequence))
    }

    /// What stands within `NEAR(`, which the lexer has seen to its end.
    fn near(&mut self, field: Field) -> Operand {
        let mut sequences = Vec::new();
        while let Some(token) = self.peek() {
            self.at += 1;
            if let TokenKind::NearEnd(most_between) = token.kind {
                return match sequences.len() {
                    0 => Err(QueryError::new(
                        token.position,
                        format!("expected a word in NEAR at position {}", token.position),
                    )),
                    1 => Ok(sequences.pop().map(|only: Sequence| only.anywhere(field))),
                    _ => Ok(Some(Query::Near { sequences, most_between, field })),
                };
            }
            sequences.extend(self.sequence(token)?);
        }
        Err(self.word_missing())
    }

    /// What stands behind `^`.
    fn at_start(&mut self, field: Field) -> Operand {
        let Some(token) = self.peek() else { return Err(self.word_missing()) };
        self.at += 1;
        Ok(self.sequence(token)?.map(|sequence| Query::Start { sequence, field }))
    }

    fn group(&mut self, field: Field) -> Operand {
        let open = self.tokens[self.at].position;
        self.at += 1;
        if self.next_if(TokenKind::Close).is_some() {
            // As in `main()`.
            return Ok(None);
        }
        let inside = self.nested(open, |parser| parser.either(field))?;
        if self.next_if(TokenKind::Close).is_none() {
            return Err(unclosed(open));
        }
        Ok(inside)
    }

    fn filtered(&mut self, filter: &str, field: Field) -> Operand {
        match self.peek().map(|token| token.kind) {
            None | Some(TokenKind::Close) => Err(self.missing("a word, a phrase or a group", filter)),
            Some(_) => self.single(field),
        }
    }

    /// The name after `from:`, which may be made of any characters.
    fn sender(&mut self, filter: &str) -> Operand {
        let missing = self.missing("a name", filter);
        let token = self.peek().ok_or_else(|| missing.clone())?;
        let name = match token.kind {
            TokenKind::Word(name) | TokenKind::Phrase(name) | TokenKind::Nothing(name) if !name.is_empty() => name,
            // No name is looked for by its beginning, so the star says nothing.
            TokenKind::Prefix(name) => name,
            _ => return Err(missing),
        };
        self.at += 1;
        self.term(token, Query::From(name.to_owned()))
    }

    fn term(&mut self, token: &Token<'_>, query: Query) -> Operand {
        self.count(token)?;
        Ok(Some(query))
    }

    fn count(&mut self, token: &Token<'_>) -> Result<(), QueryError> {
        self.terms += 1;
        if self.terms > MOST_TERMS {
            let message = format!("more than {MOST_TERMS} words at position {}", token.position);
            return Err(QueryError::new(token.position, message));
        }
        Ok(())
    }

    fn nested(&mut self, position: usize, read: impl FnOnce(&mut Self) -> Operand) -> Operand {
        if self.depth == DEEPEST {
            let message = format!("nested more than {DEEPEST} deep at position {position}");
            return Err(QueryError::new(position, message));
        }
        self.depth += 1;
        let part = read(self);
        self.depth -= 1;
        part
    }

    fn peek(&self) -> Option<&'t Token<'a>> {
        self.tokens.get(self.at)
    }

    fn next_if(&mut self, kind: TokenKind<'_>) -> Option<&'t Token<'a>> {
        let token = self.peek().filter(|token| token.kind == kind)?;
        self.at += 1;
        Some(token)
    }

    /// The error for a place where a word must stand and does not.
    fn word_missing(&self) -> QueryError {
        let before = self.at.checked_sub(1).map(|before| self.tokens[before].kind);
        match (before, self.peek().map(|token| token.kind)) {
            (Some(TokenKind::Operator(name)), _) => self.missing("a word", name),
            (_, Some(TokenKind::Operator(name))) => self.misplaced(&format!("expected a word before {name}")),
            (Some(TokenKind::Open), None) => unclosed(self.tokens[self.at - 1].position),
            (None, Some(TokenKind::Close)) => closes_nothing(self.position()),
            _ => self.misplaced("expected a word"),
        }
    }

    fn missing(&self, wanted: &str, after: &str) -> QueryError {
        self.misplaced(&format!("expected {wanted} after {after}"))
    }

    fn misplaced(&self, what: &str) -> QueryError {
        let position = self.position();
        QueryError::new(position, format!("{what} at position {position}"))
    }

    /// Where the next token starts, or where the last one ends.
    fn position(&self) -> usize {
        let here = self.peek().map(|token| token.position);
        here.or_else(|| self.tokens.last().map(|last| last.end)).unwrap_or(0)
    }
}

/// The words that a token is, if it is any.
fn sequence_of(token: &Token<'_>) -> Option<Sequence> {
    let (text, is_prefix) = match token.kind {
        TokenKind::Word(text) => (text, false),
        TokenKind::Prefix(text) => (text, true),
        TokenKind::Phrase(text) if text.contains(char::is_alphanumeric) => (text, false),
        _ => return None,
    };
    Some(Sequence { text: text.to_owned(), is_prefix })
}

fn one_or(mut parts: Vec<Query>, join: impl FnOnce(Vec<Query>) -> Query) -> Option<Query> {
    if parts.len() > 1 { Some(join(parts)) } else { parts.pop() }
}

fn unclosed(open: usize) -> QueryError {
    QueryError::new(open, format!("unclosed '(' that starts at position {open}"))
}

fn closes_nothing(position: usize) -> QueryError {
    QueryError::new(position, format!("the ')' at position {position} closes nothing"))
}
