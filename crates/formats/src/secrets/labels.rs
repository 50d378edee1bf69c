//! Values behind a name that promises a secret: assignments of every notation, and `Authorization: Bearer`.
//!
//! Names are compared without case, hyphens and underscores, by their end: `DB_PASSWORD`, `dbPassword` and
//! `--db-password` are one. A value with spaces in it is prose.

use super::scan::{Secret, Word, is_word, run};
use super::values::{Form, SHORTEST_VALUE, is_real};
use super::{Rule, tokens};

/// No such name is shorter.
pub const SHORTEST: usize = 3;
/// A bearer token that is shorter is an example.
const SHORTEST_BEARER: usize = 20;
/// How far spaces and types are followed.
const MOST_SPACES: usize = 16;
const LONGEST_TYPE: usize = 40;

/// A secret behind `word`, if that is a name which promises one.
pub fn after(text: &[u8], word: Word) -> Option<Secret> {
    let name = &text[word.start..word.end];
    if name.eq_ignore_ascii_case(b"bearer") {
        return bearer(text, word);
    }
    if !promises_a_secret(name) {
        return None;
    }
    if is_only_a_name(text, word.end) {
        return None;
    }
    let (separator, value) = separator(text, word.end)?;
    let candidate = read_value(text, word, separator, value)?;
    if candidate.end - candidate.start < SHORTEST_VALUE {
        return None;
    }
    if let Some(token) = tokens::at(text, candidate.start).filter(|token| token.end <= candidate.end) {
        return Some(token);
    }
    let Value { start, end, form } = candidate;
    let is_secret = is_real(&text[start..end], form) && (form != Form::Listed || stands_alone(text, start, end));
    is_secret.then_some(Secret { rule: Rule::PasswordAssignment, start, end })
}

/// Whether a word too short for a value and one more separator follow, as in `password:user:`. A text can be full of
/// these, so they are told quickly.
fn is_only_a_name(text: &[u8], separator: usize) -> bool {
    let [first @ (b':' | b'='), rest @ ..] = &text[separator..] else { return false };
    let next = rest.iter().take(SHORTEST_VALUE).find(|byte| !is_word(**byte));
    next == Some(first)
}

fn promises_a_secret(word: &[u8]) -> bool {
    const KEYS: [&str; 5] = ["apikey", "accesskey", "privatekey", "secretkey", "signingkey"];
    const TOKENS: [&str; 5] = ["authtoken", "accesstoken", "refreshtoken", "bearertoken", "registrationtoken"];
    let ends_with =
        |name: &str| word.len() >= name.len() && word[word.len() - name.len()..].eq_ignore_ascii_case(name.as_bytes());
    let [.., before, last] = word else { return false };
    // By the last two letters, because nearly every word is told from all names by those.
    match &[before.to_ascii_lowercase(), last.to_ascii_lowercase()] {
        b"rd" => ends_with("password"),
        b"wd" => ends_with("pwd") || ends_with("passwd"),
        b"et" => ends_with("secret"),
        b"se" => ends_with("passphrase"),
        b"ey" => KEYS.iter().any(|name| ends_in_two_words(word, name)),
        b"en" => TOKENS.iter().any(|name| ends_in_two_words(word, name)),
        _ => false,
    }
}

/// Whether the word ends as the name does, however its parts are joined.
fn ends_in_two_words(word: &[u8], name: &str) -> bool {
    let mut letters = word.iter().rev().filter(|byte| byte.is_ascii_alphanumeric());
    name.bytes().rev().all(|wanted| letters.next().is_some_and(|letter| letter.to_ascii_lowercase() == wanted))
}

/// What stands between a name and its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Separator {
    Colon,
    Equals,
}

/// The separator behind a name that ends at `at`, and where the value begins.
fn separator(text: &[u8], at: usize) -> Option<(Separator, usize)> {
    // The name may be quoted, in JSON within JSON too, or bold.
    let mut at = at + run_of_at_most(&text[at..], 3, |byte| matches!(byte, b'"' | b'\'' | b'`' | b'*' | b'\\'));
    at += run_of_at_most(&text[at..], MOST_SPACES, is_space);
    let (separator, length) = match text.get(at..)? {
        [b'=' | b':', b'=', b'=', ..] | [b'=', b'=' | b'~', ..] | [b':', b':', ..] => return None,
        [b'=', b'>', ..] | [b':', b'=', ..] => (Separator::Equals, 2),
        [b'=', ..] => (Separator::Equals, 1),
        [b':', ..] => (Separator::Colon, 1),
        _ => return None,
    };
    at += length;
    at += run_of_at_most(&text[at..], 2, |byte| byte == b'*');
    at += run_of_at_most(&text[at..], MOST_SPACES, is_space);
    Some((separator, at))
}

struct Value {
    start: usize,
    end: usize,
    form: Form,
}

fn read_value(text: &[u8], name: Word, separator: Separator, at: usize) -> Option<Value> {
    if let Some(value) = quoted(text, at) {
        return Some(value);
    }
    if separator == Separator::Colon
        && let Some(value) = behind_type(text, at).and_then(|at| quoted(text, at))
    {
        return Some(value);
    }
    bare(text, name, separator, at)
}

/// A value in quotes, which may be a string of some language with a letter before it.
fn quoted(text: &[u8], at: usize) -> Option<Value> {
    let at = match text.get(at..)? {
        [letter, b'"' | b'\'', ..] if b"bBrRfFuU".contains(letter) => at + 1,
        _ => at,
    };
    let quote: &[u8] = match text.get(at..)? {
        [b'\\', b'"', ..] => b"\\\"",
        [b'"', ..] => b"\"",
        [b'\'', ..] => b"'",
        [b'`', ..] => b"`",
        _ => return None,
    };
    let start = at + quote.len();
    let length = run(&text[start..], |byte| byte != quote[0] && byte != b'\n');
    let is_closed = text[start + length..].starts_with(quote);
    is_closed.then_some(Value { start, end: start + length, form: Form::Quoted })
}

/// Where the value begins in `name: type = value`.
fn behind_type(text: &[u8], at: usize) -> Option<usize> {
    let length = run_of_at_most(&text[at..], LONGEST_TYPE, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'&' | b'\'' | b'<' | b'>' | b'_' | b'|')
    });
    let behind = text[at + length..].strip_prefix(b"= ")?;
    Some(text.len() - behind.len())
}

/// A value without quotes.
fn bare(text: &[u8], name: Word, separator: Separator, start: usize) -> Option<Value> {
    let rest = &text[start..];
    if separator == Separator::Equals && start == name.end + 1 && is_own_line(text, name) {
        // A line of an environment file holds whatever a password may.
        let end = start + run(rest, |byte| byte.is_ascii_graphic() && byte != b'\\');
        return Some(Value { start, end, form: Form::Assigned });
    }
    let (again, form) = match separator {
        Separator::Equals => (b'=', Form::Assigned),
        Separator::Colon => (b':', Form::Listed),
    };
    // Ends where the next name's value could begin, so that no byte is read for many names.
    let mut length = run(rest, |byte| is_bare(byte) && byte != again);
    // The padding of base64.
    let padding = run_of_at_most(&rest[length..], 2, |byte| byte == b'=');
    if !rest.get(length + padding).is_some_and(|byte| is_bare(*byte)) {
        length += padding;
    }
    if matches!(rest.get(length), Some(b'(' | b'[' | b'{' | b'<')) {
        return None;
    }
    length -= rest[..length].iter().rev().take_while(|byte| matches!(byte, b'.' | b'*')).count();
    Some(Value { start, end: start + length, form })
}

/// Whether the byte may stand in a value without quotes.
fn is_bare(byte: u8) -> bool {
    const BARE: [bool; 256] = {
        let ends = b"\"'`,;&()[]{}<>|\\\x7f";
        let mut table = [true; 256];
        let mut byte = 0;
        while byte <= b' ' as usize {
            table[byte] = false;
            byte += 1;
        }
        let mut place = 0;
        while place < ends.len() {
            table[ends[place] as usize] = false;
            place += 1;
        }
        table
    };
    BARE[byte as usize]
}

/// Whether nothing but `export` and spaces stands before the name on its line.
fn is_own_line(text: &[u8], name: Word) -> bool {
    if name.start > 0 && !text[name.start - 1].is_ascii_whitespace() {
        return false;
    }
    let before = &text[name.start.saturating_sub(MOST_SPACES)..name.start];
    let line = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let begins_here = line.len() < before.len() || name.start <= MOST_SPACES;
    begins_here && matches!(line.trim_ascii(), b"" | b"export")
}

/// Whether prose that puts the value behind a colon says nothing more, or the value could be no word of it.
fn stands_alone(text: &[u8], start: usize, end: usize) -> bool {
    let rest = text[end..].strip_prefix(b".").unwrap_or(&text[end..]);
    let rest = rest.strip_prefix(b"**").unwrap_or(rest);
    let spaces = run_of_at_most(rest, MOST_SPACES, is_space);
    let is_last = matches!(rest.get(spaces), None | Some(b'\n' | b'\r' | b'\\' | b',' | b';' | b'}' | b'#' | b'"'));
    let within = &text[start..end.max(start + 1) - 1];
    is_last || within.iter().any(|byte| b"!#$%^+?~".contains(byte))
}

/// The token of `Authorization: Bearer token`, where `word` is `Bearer`.
fn bearer(text: &[u8], word: Word) -> Option<Secret> {
    let before = &text[word.start.saturating_sub(24)..word.start];
    let marks =
        before.iter().rev().take_while(|byte| matches!(byte, b' ' | b':' | b'=' | b'"' | b'\'' | b'\\')).count();
    let header = &before[..before.len() - marks];
    let header = &header[header.len().saturating_sub("authorization".len())..];
    if marks == 0 || text.get(word.end) != Some(&b' ') || !header.eq_ignore_ascii_case(b"authorization") {
        return None;
    }
    let start = word.end + 1;
    let is_token = |byte: u8| is_word(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=');
    let end = start + run(&text[start..], is_token);
    let token = tokens::at(text, start);
    let is_secret = end - start >= SHORTEST_BEARER && is_real(&text[start..end], Form::Quoted);
    token.or(is_secret.then_some(Secret { rule: Rule::BearerHeader, start, end }))
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn run_of_at_most(bytes: &[u8], most: usize, condition: impl Fn(u8) -> bool) -> usize {
    run(&bytes[..bytes.len().min(most)], condition)
}
