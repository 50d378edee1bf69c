//! JSON messages between agents: six types with their rules, read, checked, written and described.
//!
//! A message is one JSON object. Reading keeps all of it, valid or not, and tells every rule that it breaks. Each type is
//! declared once, as a table of fields; the verdict and the JSON Schema come from that table. Nothing
//! here sends an answer or decides what becomes of an invalid message.
//!
//! Of two fields with one name the last one counts, as in most readers of JSON. A byte order mark is no JSON.

mod fields;
mod form;
mod message;
mod reject;
mod reservation;
mod schema;
mod table;
mod validate;

use serde_json::{Map, Value};

use crate::{Parsed, Problem};

pub use fields::Type;
pub use message::Message;
pub use reject::{NO_TASK, Rejection, Stamp, error_report, rejection};
pub use reservation::{Files, FilesOutcome, FilesRequest, GrantedFiles, HeldFiles};
pub use schema::schema;

/// The version of the format that is spoken here.
pub const VERSION: &str = "1.0.0";

/// How many values (items, fields, objects and lists) a message may hold. In memory each weighs many times what it weighs
/// as text, so a text of the allowed length could still be too much; no honest message comes near.
pub const MOST_VALUES: usize = 20_000;

/// Reads a text that should be one message. The value is `None` if it is no JSON object at all, or one of too many values.
pub fn read(text: &str) -> Parsed<Option<Message>> {
    let no_message = |wanted| Parsed { value: None, problems: vec![Problem::wrong("", text.trim(), wanted)] };
    if holds_too_many_values(text) {
        return no_message(format!("a JSON object of at most {MOST_VALUES} values"));
    }
    match serde_json::from_str::<Map<String, Value>>(text) {
        Ok(fields) => Parsed { problems: validate::problems(&fields), value: Some(Message(fields)) },
        // Any JSON but an object: the reader's own words for that say nothing more.
        Err(error) if error.is_data() => no_message("a JSON object".to_owned()),
        Err(error) => no_message(format!("a JSON object ({error})")),
    }
}

/// The JSON in the body of a mail: the whole body if it begins as an object, or all that is in its one `json` code block.
///
/// Prose is told by its first characters. Whether the text found is a message, or JSON at all, is for `read` to say.
pub fn find_in(body: &str) -> Option<&str> {
    let body = body.trim();
    if body.starts_with('{') { Some(body) } else { in_code_block(body) }
}

/// Counts what begins a value: an opening bracket or brace, and a comma. For a text that is no JSON the count means
/// nothing, but such a text is no message either way.
pub(crate) fn holds_too_many_values(text: &str) -> bool {
    // A value takes a character at the least, so an ordinary message need not be counted.
    if text.len() <= MOST_VALUES {
        return false;
    }
    let (mut in_text, mut escaped, mut values) = (false, false, 0);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_text,
            b'"' => in_text = !in_text,
            b',' | b'[' | b'{' if !in_text => values += 1,
            _ => {}
        }
        if values > MOST_VALUES {
            return true;
        }
    }
    false
}

fn in_code_block(body: &str) -> Option<&str> {
    let (fence, rest) = body.split_at(body.len() - body.trim_start_matches('`').len());
    if fence.len() < "```".len() {
        return None;
    }
    let (language, rest) = rest.split_once('\n')?;
    if !language.trim().eq_ignore_ascii_case("json") {
        return None;
    }
    let content = rest.strip_suffix(fence)?;
    // A fence has its line to itself. One before the end means that the body is more than one block.
    let ends_its_line = content.trim_end_matches([' ', '\t']);
    let is_one_block = (ends_its_line.is_empty() || ends_its_line.ends_with('\n'))
        && !content.lines().any(|line| line.trim_start().starts_with(fence));
    is_one_block.then(|| content.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_begins_as_an_object_is_json_whole() {
        assert_eq!(find_in(" \n{\"a\": 1}\n"), Some("{\"a\": 1}"));
        assert_eq!(find_in("{not json"), Some("{not json"));
        for prose in ["", "  ", "Hello {\"a\": 1}", "[1]", "\u{feff}{}", "`{}`"] {
            assert_eq!(find_in(prose), None, "{prose}");
        }
    }

    #[test]
    fn a_body_that_is_one_json_block_is_what_the_block_holds() {
        for body in [
            "```json\n{\"a\": 1}\n```",
            "\n```json  \r\n{\"a\": 1}\r\n```\n\n",
            "````JSON\n{\"a\": 1}\n````",
            "``` json\n{\"a\": 1}\n  ```",
        ] {
            assert_eq!(find_in(body), Some("{\"a\": 1}"), "{body}");
        }
        assert_eq!(find_in("```json\n```"), Some(""));
    }

    #[test]
    fn a_body_with_more_or_less_than_one_json_block_has_none() {
        for body in [
            "```\n{}\n```",
            "```rust\n{}\n```",
            "```json\n{}",
            "```json {}\n```",
            "```json\n{}```",
            "See:\n```json\n{}\n```",
            "```json\n{}\n```\nDone.",
            "```json\n{}\n```\n\n```json\n{}\n```",
            "```json",
            "```",
            "``````",
        ] {
            assert_eq!(find_in(body), None, "{body}");
        }
    }

    #[test]
    fn a_message_of_too_many_values_is_not_read() {
        // The object and the list are values too.
        let with_items = |items: usize| format!("{{\"x\":[{}0]}}", "0,".repeat(items - 1));
        assert!(read(&with_items(MOST_VALUES - 1)).value.is_some());
        let refused = read(&with_items(MOST_VALUES));
        assert_eq!((refused.value, refused.problems.len()), (None, 1));
        assert_eq!(refused.problems[0].wanted, "a JSON object of at most 20000 values");
    }

    #[test]
    fn what_stands_in_a_text_is_no_value() {
        let commas = format!(r#"{{"x":"\\\"{}","y":"\\"}}"#, "[,".repeat(MOST_VALUES));
        assert_eq!(read(&commas).value.expect("it is read").text("y"), "\\");
    }

    #[test]
    fn a_text_that_is_no_object_has_one_problem_that_shows_it() {
        for (text, found, wanted) in [
            ("[]", "[]", "a JSON object"),
            ("1", "1", "a JSON object"),
            (" null ", "null", "a JSON object"),
            ("{}{}", "{}{}", "a JSON object (trailing characters at line 1 column 3)"),
            ("", "", "a JSON object (EOF while parsing a value at line 1 column 0)"),
            ("{\"a\":NaN}", "{\"a\":NaN}", "a JSON object (expected value at line 1 column 6)"),
        ] {
            assert_eq!(read(text), Parsed { value: None, problems: vec![Problem::wrong("", found, wanted)] });
        }
    }
}
