//! Values behind a name that promises a secret: assignments of every notation, flags, tags, and prose that tells one.
//!
//! A value with spaces in it is prose. What the names are is not known here.

use super::names::{self, Name, Promise};
use super::scan::{Secret, Word, is_word, run};
use super::values::{Form, SHORTEST_VALUE, is_chance, is_hex, is_passphrase, is_real, is_uuid};
use super::{Rule, tokens};

/// A token that is shorter can be guessed.
const SHORTEST_CHANCE: usize = 12;
/// How far spaces, marks and types are followed.
const MOST_SPACES: usize = 16;
const LONGEST_TYPE: usize = 40;
/// How far the words go in `the password for the database is`.
const LONGEST_OWNER: usize = 48;

/// A secret behind `word`, if that ends a name which promises one.
pub fn after(text: &[u8], word: Word) -> Option<Secret> {
    let name = names::ending_with(text, word)?;
    if is_only_a_name(text, name.end) {
        return None;
    }
    let (separator, value) = separator(text, name)?;
    let value = read_value(text, name, separator, value)?;
    let Value { start, end, form } = value;
    // Most values are words, which this alone tells.
    if end - start < form.shortest() || (form != Form::Variable && !text[start..end].iter().any(u8::is_ascii_digit)) {
        return None;
    }
    if let Some(token) = tokens::at(text, start).filter(|token| token.end <= end) {
        return Some(token);
    }
    is_secret(text, name, separator, &value).then_some(Secret { rule: Rule::PasswordAssignment, start, end })
}

/// Whether the value is what its name promises: the less a name promises, the less the value may look like a word.
fn is_secret(text: &[u8], name: Name, separator: Separator, value: &Value) -> bool {
    let bytes = &text[value.start..value.end];
    let is_password = matches!(name.promise, Promise::Password | Promise::Pass);
    if value.form == Form::Variable && is_password && is_passphrase(bytes) {
        return true;
    }
    if !is_real(bytes, value.form) {
        return false;
    }
    if name.promise == Promise::Token && (bytes.len() < SHORTEST_CHANCE || !is_chance(bytes) || is_uuid(bytes)) {
        return false;
    }
    if !matches!(value.form, Form::Entry | Form::Said) {
        return true;
    }
    let is_told = separator == Separator::Is;
    match name.promise {
        Promise::Password if is_told => is_chance(bytes) || stands_alone(text, value),
        Promise::Secret if is_told => is_chance(bytes),
        Promise::Token if is_told => !is_hex(bytes),
        Promise::Pass => !is_told && is_no_word(bytes) && stands_alone(text, value),
        Promise::Token => !is_hex(bytes) && stands_alone(text, value),
        Promise::Password | Promise::Secret => stands_alone(text, value),
    }
}

fn is_no_word(value: &[u8]) -> bool {
    is_chance(value) || value.iter().any(|byte| b"!#$%^+?~".contains(byte))
}

/// Whether a word too short for a value and one more separator follow, as in `password:user:`. A text can be full of
/// these, so they are told quickly.
fn is_only_a_name(text: &[u8], separator: usize) -> bool {
    let [first @ (b':' | b'='), rest @ ..] = &text[separator..] else { return false };
    let next = rest.iter().take(SHORTEST_VALUE).find(|byte| !is_word(**byte));
    next == Some(first)
}

/// What stands between a name and its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Separator {
    /// `name: value`
    Colon,
    /// `name = value`
    Equals,
    /// `the name is value`
    Is,
    /// `--name value`
    Space,
    /// `<name>value</name>`
    Tag,
}

/// The separator behind a name, and where the value begins.
fn separator(text: &[u8], name: Name) -> Option<(Separator, usize)> {
    if text[name.end..].starts_with(b">") {
        return text[..name.start].ends_with(b"<").then_some((Separator::Tag, name.end + 1));
    }
    // The name may be quoted, in JSON within JSON too, or bold.
    let marks = run_of_at_most(&text[name.end..], 3, |byte| matches!(byte, b'"' | b'\'' | b'`' | b'*' | b'\\'));
    let mut at = name.end + marks;
    let spaces = run_of_at_most(&text[at..], MOST_SPACES, is_space);
    at += spaces;
    let (separator, length) = match text.get(at..)? {
        [b'=' | b':', b'=', b'=', ..] | [b'=', b'=' | b'~', ..] | [b':', b':', ..] => return None,
        [b'=', b'>', ..] | [b':', b'=', ..] => (Separator::Equals, 2),
        [b'=', ..] => (Separator::Equals, 1),
        [b':', ..] => (Separator::Colon, 1),
        _ if spaces == 0 => return None,
        _ if marks == 0 && text[name.start..].starts_with(b"--") => (Separator::Space, 0),
        rest => (Separator::Is, is_told(rest)?),
    };
    at += length;
    at += run_of_at_most(&text[at..], 2, |byte| byte == b'*');
    at += run_of_at_most(&text[at..], MOST_SPACES, is_space);
    Some((separator, at))
}

/// The length of `is ` or `for the database is ` at the start of `rest`.
fn is_told(rest: &[u8]) -> Option<usize> {
    const IS: &[u8] = b" is ";
    if rest.starts_with(b"is ") || rest.starts_with(b"is:") {
        return Some(3);
    }
    if !["for ", "of ", "to "].iter().any(|word| rest.starts_with(word.as_bytes())) {
        return None;
    }
    let near = &rest[..rest.len().min(LONGEST_OWNER)];
    let owner = near.windows(IS.len()).position(|window| window == IS)?;
    let is_one_sentence = near[..owner].iter().all(|byte| is_word(*byte) || matches!(byte, b' ' | b'`' | b'@' | b'/'));
    is_one_sentence.then_some(owner + IS.len())
}

struct Value {
    start: usize,
    end: usize,
    form: Form,
}

fn read_value(text: &[u8], name: Name, separator: Separator, at: usize) -> Option<Value> {
    if separator == Separator::Tag {
        return within_tags(text, at);
    }
    let is_variable = separator == Separator::Equals && name.is_variable && at == name.end + 1;
    if let Some(value) = quoted(text, at) {
        let form = if is_variable { Form::Variable } else { value.form };
        return Some(Value { form, ..value });
    }
    if separator == Separator::Colon
        && let Some(value) = behind_type(text, at).and_then(|at| quoted(text, at))
    {
        return Some(value);
    }
    let form = match separator {
        _ if is_variable => Form::Variable,
        Separator::Colon if opens_line(text, name.start) => Form::Entry,
        Separator::Colon | Separator::Is => Form::Said,
        _ => Form::Assigned,
    };
    if separator == Separator::Equals && at == name.end + 1 && is_own_line(text, name.start) {
        // A line of an environment file holds whatever a password may.
        let end = at + run(&text[at..], |byte| byte.is_ascii_graphic() && byte != b'\\');
        return Some(Value { start: at, end, form });
    }
    bare(text, at, form)
}

/// A value between a tag and the end of its element.
fn within_tags(text: &[u8], start: usize) -> Option<Value> {
    let length = run(&text[start..], |byte| byte.is_ascii_graphic() && byte != b'<');
    let is_closed = text[start + length..].starts_with(b"</");
    is_closed.then_some(Value { start, end: start + length, form: Form::Quoted })
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
fn bare(text: &[u8], start: usize, form: Form) -> Option<Value> {
    let rest = &text[start..];
    let again = if matches!(form, Form::Entry | Form::Said) { b':' } else { b'=' };
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
    byte > b' ' && !b"\"'`,;&()[]{}<>|\\\x7f".contains(&byte)
}

/// Whether nothing but `export` and spaces stands before the name on its line.
fn is_own_line(text: &[u8], name: usize) -> bool {
    let before = without(&text[..name], is_space);
    let before = before.strip_suffix(b"export").map_or(before, |before| without(before, is_space));
    matches!(before, [] | [.., b'\n'])
}

/// Whether the name opens its line, as it does in a file of settings and in a list.
fn opens_line(text: &[u8], name: usize) -> bool {
    let before = without(&text[..name], |byte| is_space(byte) || matches!(byte, b'-' | b'*' | b'>' | b'"' | b'\''));
    matches!(before, [] | [.., b'\n'] | [.., b'\\', b'n'])
}

fn without(text: &[u8], is_mark: impl Fn(u8) -> bool) -> &[u8] {
    &text[..text.len() - text.iter().rev().take(MOST_SPACES).take_while(|byte| is_mark(**byte)).count()]
}

/// Whether prose that puts the value behind a colon says nothing more, or the value could be no word of it.
fn stands_alone(text: &[u8], value: &Value) -> bool {
    let rest = text[value.end..].strip_prefix(b".").unwrap_or(&text[value.end..]);
    let rest = rest.strip_prefix(b"**").unwrap_or(rest);
    let spaces = run_of_at_most(rest, MOST_SPACES, is_space);
    let is_last =
        matches!(rest.get(spaces), None | Some(b'\n' | b'\r' | b'\\' | b',' | b';' | b'&' | b'}' | b')' | b'#' | b'"'));
    let within = &text[value.start..value.end.max(value.start + 1) - 1];
    is_last || within.iter().any(|byte| b"!#$%^+?~".contains(byte))
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn run_of_at_most(bytes: &[u8], most: usize, condition: impl Fn(u8) -> bool) -> usize {
    run(&bytes[..bytes.len().min(most)], condition)
}
