//! Filters: the names before a colon that narrow what follows, and those that only look as if they did.
//!
//! A name is a filter where it is one of ours. Names that a mail has as well, and nobody can search, are refused with the
//! place, for as a word they would find nothing. All others are words, as are `std::fmt`, `12:30` and `https://x`.

use super::{Field, QueryError};

/// The filters, and where they look; `from` looks at no text.
const FILTERS: [(&str, Option<Field>); 4] = [
    ("subject:", Some(Field::Subject)),
    ("body:", Some(Field::Body)),
    ("body_md:", Some(Field::Body)),
    ("from:", None),
];

/// Names that are no filters, whether prose has them before a colon too, and what to do instead.
const REFUSED: [(&str, bool, &str); 17] = [
    ("title", false, "use subject:"),
    ("sender", false, "use from:"),
    ("sender_name", false, "use from:"),
    ("content", true, "use body:"),
    ("text", true, "use body:"),
    ("to", true, "recipients are not searched"),
    ("cc", true, "recipients are not searched"),
    ("bcc", false, "recipients are not searched"),
    ("recipient", true, "recipients are not searched"),
    ("recipients", true, "recipients are not searched"),
    ("thread", true, "read the thread instead"),
    ("thread_id", false, "read the thread instead"),
    ("kind", true, "kind is an argument of its own"),
    ("work_id", false, "work_id is an argument of its own"),
    ("importance", true, "use words, subject:, body: or from:"),
    ("scope", true, "use words, subject:, body: or from:"),
    ("rowid", false, "use words, subject:, body: or from:"),
];

/// What stands before a word, a phrase or a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Filter {
    /// What it is called in a sentence.
    pub name: &'static str,
    /// Where its words must stand; none for a name.
    pub field: Option<Field>,
    /// How many bytes it takes, its colon among them.
    pub length: usize,
}

/// The filter that `text` begins with, which stands at `position`.
pub(super) fn at_start_of(text: &str, position: usize) -> Result<Option<Filter>, QueryError> {
    if text.starts_with('{') {
        return columns(text, position);
    }
    let end = text.find(|c| !is_of_name(c)).unwrap_or(text.len());
    let (name, after) = text.split_at(end);
    let Some((length, is_apart)) = colon(after) else { return Ok(None) };
    if let Some((name, field)) = known(name) {
        return Ok(Some(Filter { name, field, length: end + length }));
    }
    let is_attached = after[length..].chars().next().is_some_and(|next| !next.is_whitespace());
    match REFUSED.iter().find(|(refused, ..)| name.eq_ignore_ascii_case(refused)) {
        Some((_, is_prose, advice)) if is_attached || is_apart || !is_prose => Err(no_filter(name, advice, position)),
        _ => Ok(None),
    }
}

/// A list of columns in braces before a colon, if it names one at least.
fn columns(text: &str, position: usize) -> Result<Option<Filter>, QueryError> {
    let Some((inside, after)) = text[1..].split_once('}') else { return Ok(None) };
    let Some((length, _)) = colon(after) else { return Ok(None) };
    let names: Vec<&str> = inside.split_whitespace().collect();
    let is_name =
        |name: &&str| known(name).is_some() || REFUSED.iter().any(|(refused, ..)| refused.eq_ignore_ascii_case(name));
    if !names.iter().all(|name| name.chars().all(is_of_name)) || !names.iter().any(is_name) {
        return Ok(None);
    }
    let mut fields = Vec::new();
    for name in names {
        let here = position + text[..name.as_ptr() as usize - text.as_ptr() as usize].chars().count();
        match known(name) {
            Some((_, Some(field))) => fields.push(field),
            Some((_, None)) => return Err(no_column(name, "write from:NAME by itself", here)),
            None => return Err(no_column(name, "the columns are subject and body", here)),
        }
    }
    let field = if fields.iter().all(|field| *field == fields[0]) { fields[0] } else { Field::Any };
    let length = 1 + inside.len() + 1 + length;
    Ok(Some(Filter { name: "{…}:", field: Some(field), length }))
}

/// The filter of that name, with its colon.
fn known(name: &str) -> Option<(&'static str, Option<Field>)> {
    let is_it = |known: &str| known.strip_suffix(':').is_some_and(|known| known.eq_ignore_ascii_case(name));
    FILTERS.into_iter().find(|(known, _)| is_it(known))
}

/// How many bytes there are up to the end of a colon, and whether it stands apart. `::` and `://` are none.
fn colon(after: &str) -> Option<(usize, bool)> {
    let rest = after.trim_start();
    let blanks = after.len() - rest.len();
    let behind = rest.strip_prefix(':')?;
    (!behind.starts_with(':') && !behind.starts_with("//")).then_some((blanks + 1, blanks > 0))
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

fn no_filter(name: &str, advice: &str, position: usize) -> QueryError {
    let message =
        format!("'{name}:' at position {position} is no filter: {advice}, or put it in quotes to find the word");
    QueryError::new(position, message)
}

fn no_column(name: &str, advice: &str, position: usize) -> QueryError {
    QueryError::new(position, format!("'{name}' at position {position} is no column: {advice}"))
}
