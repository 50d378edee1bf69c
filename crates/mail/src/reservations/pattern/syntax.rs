//! The text of a pattern: from characters to steps.
//!
//! First the characters become tokens, then the segments outside braces are put in order, then the
//! braces are written out, and each plain glob becomes steps. Matching is not done here.

use super::segment::{Atom, CharSet, segment};
use super::{LONGEST, Pattern, PatternProblem, Step};

/// The most plain globs that the braces of one pattern may stand for.
const MOST_ALTERNATIVES: usize = 64;
/// The most tokens that those globs may have together.
const MOST_TOKENS: usize = 2 * LONGEST;
/// How deep braces may stand in braces.
const DEEPEST: usize = 16;

/// A token and the text that it was read from.
#[derive(Clone)]
struct Lexed<'a> {
    token: Token,
    text: &'a str,
}

#[derive(Clone, PartialEq)]
enum Token {
    Atom(Atom),
    /// Two stars: every path below when it is a whole segment, else one star.
    DoubleStar,
    Slash,
    Open,
    Comma,
    Close,
}

const DEEP: [Lexed<'static>; 1] = [Lexed { token: Token::DoubleStar, text: "**" }];

/// Reads the text of a pattern.
pub(super) fn read(text: &str) -> Result<Pattern, PatternProblem> {
    if text.is_empty() {
        return Err(PatternProblem::Empty);
    }
    if text.len() > LONGEST {
        return Err(PatternProblem::TooLong);
    }
    if text.chars().any(char::is_control) {
        return Err(PatternProblem::ControlCharacter);
    }
    let tokens = lex(text)?;
    let segments = in_order(&tokens)?;
    let text = written(&segments);
    if text.len() > LONGEST {
        return Err(PatternProblem::TooLong);
    }
    let ordered = segments.join(&Lexed { token: Token::Slash, text: "/" });
    let mut alternatives: Vec<Vec<Step>> = Vec::new();
    for glob in expand(&ordered)? {
        // An empty alternative beside others, as in `{,a}`, names no path.
        if glob.is_empty() {
            continue;
        }
        let steps = steps(&in_order(&glob)?);
        if !alternatives.contains(&steps) {
            alternatives.push(steps);
        }
    }
    if alternatives.is_empty() {
        return Err(PatternProblem::Empty);
    }
    Ok(Pattern { text, alternatives })
}

fn lex(text: &str) -> Result<Vec<Lexed<'_>>, PatternProblem> {
    let mut tokens = Vec::new();
    let mut depth = 0_usize;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '\\' => {
                let escaped = rest.chars().nth(1).ok_or(PatternProblem::DanglingEscape)?;
                // An escaped slash is a slash: no name can hold one.
                let token = if escaped == '/' { Token::Slash } else { Token::Atom(Atom::Char(escaped)) };
                (token, 1 + escaped.len_utf8())
            }
            '*' => {
                let stars = rest.bytes().take_while(|byte| *byte == b'*').count();
                (if stars == 2 { Token::DoubleStar } else { Token::Atom(Atom::Star) }, stars)
            }
            '[' => class(rest)?,
            '{' => {
                depth += 1;
                (Token::Open, 1)
            }
            '}' => {
                depth = depth.checked_sub(1).ok_or(PatternProblem::Unopened)?;
                (Token::Close, 1)
            }
            ',' if depth > 0 => (Token::Comma, 1),
            '/' => (Token::Slash, 1),
            '?' => (Token::Atom(Atom::AnyChar), 1),
            plain => (Token::Atom(Atom::Char(plain)), plain.len_utf8()),
        };
        if depth > DEEPEST {
            return Err(PatternProblem::TooComplex);
        }
        let (read, unread) = rest.split_at(length);
        tokens.push(Lexed { token, text: read });
        rest = unread;
    }
    if depth > 0 { Err(PatternProblem::Unclosed('{')) } else { Ok(tokens) }
}

/// Reads a class at the start of `text`, and says how many bytes it has.
fn class(text: &str) -> Result<(Token, usize), PatternProblem> {
    let mut chars = text.char_indices().skip(1).peekable();
    let negated = chars.next_if(|(_, c)| matches!(c, '!' | '^')).is_some();
    let mut ranges = Vec::new();
    let unclosed = PatternProblem::Unclosed('[');
    let unescaped = |c: char, chars: &mut dyn Iterator<Item = (usize, char)>| match c {
        '\\' => chars.next().map(|(_, escaped)| escaped).ok_or(unclosed),
        plain => Ok(plain),
    };
    loop {
        let (at, c) = chars.next().ok_or(unclosed)?;
        // A bracket that would close an empty class stands for itself.
        if c == ']' && !ranges.is_empty() {
            return Ok((Token::Atom(Atom::Class(CharSet::new(&ranges, negated)?)), at + 1));
        }
        let low = unescaped(c, &mut chars)?;
        let mut ahead = chars.clone();
        let is_range = ahead.next().is_some_and(|(_, c)| c == '-') && ahead.next().is_some_and(|(_, c)| c != ']');
        if !is_range {
            ranges.push((low, low));
            continue;
        }
        chars.next();
        let (_, end) = chars.next().ok_or(unclosed)?;
        ranges.push((low, unescaped(end, &mut chars)?));
    }
}

/// Splits a glob into segments and resolves those that move about instead of naming something.
fn in_order<'t, 'a>(tokens: &'t [Lexed<'a>]) -> Result<Vec<&'t [Lexed<'a>]>, PatternProblem>
where
    'a: 't,
{
    if tokens.first().is_some_and(|first| first.token == Token::Slash) {
        return Err(PatternProblem::Absolute);
    }
    let mut kept: Vec<&[Lexed<'a>]> = Vec::new();
    for segment in split_outside_braces(tokens, &Token::Slash) {
        match literal(segment).as_deref() {
            Some("" | ".") => {}
            Some("..") => {
                let left = kept.pop().ok_or(PatternProblem::ClimbsOut)?;
                literal(left).ok_or(PatternProblem::ClimbsFromWildcard)?;
            }
            // Two in a row say no more than one.
            _ if is_deep(segment) && kept.last().is_some_and(|last| is_deep(last)) => {}
            _ => kept.push(segment),
        }
    }
    let means_below = kept.is_empty() || tokens.last().is_some_and(|last| last.token == Token::Slash);
    if means_below && !kept.last().is_some_and(|last| is_deep(last)) {
        kept.push(&DEEP);
    }
    Ok(kept)
}

fn is_deep(segment: &[Lexed<'_>]) -> bool {
    matches!(segment, [only] if only.token == Token::DoubleStar)
}

/// The one name that a segment stands for, if it holds no wildcard.
fn literal(segment: &[Lexed<'_>]) -> Option<String> {
    segment.iter().map(|lexed| if let Token::Atom(Atom::Char(c)) = lexed.token { Some(c) } else { None }).collect()
}

fn written(segments: &[&[Lexed<'_>]]) -> String {
    let texts = segments.iter().map(|segment| segment.iter().map(|lexed| lexed.text).collect::<String>());
    texts.collect::<Vec<_>>().join("/")
}

fn split_outside_braces<'t, 'a>(tokens: &'t [Lexed<'a>], at: &Token) -> Vec<&'t [Lexed<'a>]> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (index, lexed) in tokens.iter().enumerate() {
        match &lexed.token {
            Token::Open => depth += 1,
            Token::Close => depth = depth.saturating_sub(1),
            token if depth == 0 && token == at => {
                parts.push(&tokens[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    parts.push(&tokens[start..]);
    parts
}

/// Writes out the braces. The depth of the recursion is that of the braces, which `lex` bounds.
fn expand<'a>(tokens: &[Lexed<'a>]) -> Result<Vec<Vec<Lexed<'a>>>, PatternProblem> {
    let mut globs: Vec<Vec<Lexed<'a>>> = vec![Vec::new()];
    let mut rest = tokens;
    while let Some(open) = rest.iter().position(|lexed| lexed.token == Token::Open) {
        let (plain, group) = rest.split_at(open);
        let close = closing(group).ok_or(PatternProblem::Unclosed('{'))?;
        let mut endings = Vec::new();
        for part in split_outside_braces(&group[1..close], &Token::Comma) {
            endings.extend(expand(part)?);
            bounded(&endings)?;
        }
        globs = joined(&globs, plain, &endings)?;
        rest = &group[close + 1..];
    }
    joined(&globs, rest, &[Vec::new()])
}

/// Where the brace that opens `group` is closed.
fn closing(group: &[Lexed<'_>]) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, lexed) in group.iter().enumerate() {
        match lexed.token {
            Token::Open => depth += 1,
            Token::Close if depth == 1 => return Some(index),
            Token::Close => depth -= 1,
            _ => {}
        }
    }
    None
}

fn joined<'a>(
    globs: &[Vec<Lexed<'a>>],
    plain: &[Lexed<'a>],
    endings: &[Vec<Lexed<'a>>],
) -> Result<Vec<Vec<Lexed<'a>>>, PatternProblem> {
    if globs.len() * endings.len() > MOST_ALTERNATIVES {
        return Err(PatternProblem::TooComplex);
    }
    let pairs = globs.iter().flat_map(|glob| endings.iter().map(move |ending| (glob, ending)));
    let joined: Vec<_> = pairs.map(|(glob, ending)| [glob.as_slice(), plain, ending].concat()).collect();
    bounded(&joined)?;
    Ok(joined)
}

fn bounded(globs: &[Vec<Lexed<'_>>]) -> Result<(), PatternProblem> {
    let tokens: usize = globs.iter().map(Vec::len).sum();
    if globs.len() > MOST_ALTERNATIVES || tokens > MOST_TOKENS {
        return Err(PatternProblem::TooComplex);
    }
    Ok(())
}

fn steps(segments: &[&[Lexed<'_>]]) -> Vec<Step> {
    let mut steps = Vec::with_capacity(segments.len() + 1);
    for (index, tokens) in segments.iter().enumerate() {
        if !is_deep(tokens) {
            steps.push(Step::One(segment(tokens.iter().filter_map(atom))));
            continue;
        }
        // At the end it means what lies below, and not the folder itself.
        if index + 1 == segments.len() {
            steps.push(Step::One([Atom::Star].into()));
        }
        steps.push(Step::Deep);
    }
    steps
}

fn atom(lexed: &Lexed<'_>) -> Option<Atom> {
    match &lexed.token {
        Token::Atom(atom) => Some(atom.clone()),
        Token::DoubleStar => Some(Atom::Star),
        Token::Slash | Token::Open | Token::Comma | Token::Close => None,
    }
}
