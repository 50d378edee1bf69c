//! Which part of a program's output is the answer.
//!
//! All of it, unless somebody says where in its JSON the answer stands. Some programs print one document, others a line for
//! each thing that happens; of those the last that has an answer counts.

use serde_json::Value;

/// Where in JSON an answer stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerPath {
    said: String,
    pointer: String,
}

impl AnswerPath {
    /// Reads a JSON pointer, such as `/result/text`, or names with dots between them, such as `choices.0.text`.
    pub fn parse(text: &str) -> Option<Self> {
        if text.starts_with('/') {
            return Some(Self { said: text.to_owned(), pointer: text.to_owned() });
        }
        let names: Vec<String> = text.split('.').map(|name| name.replace('~', "~0").replace('/', "~1")).collect();
        let is_whole = names.iter().all(|name| !name.is_empty());
        is_whole.then(|| Self { said: text.to_owned(), pointer: format!("/{}", names.join("/")) })
    }

    /// The text at this place, in a document or in the last line that has one there.
    fn find(&self, output: &str) -> Option<String> {
        let read = |text: &str| match serde_json::from_str::<Value>(text).ok()?.pointer(&self.pointer)? {
            Value::String(text) => Some(text.clone()),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
            plain => Some(plain.to_string()),
        };
        read(output).or_else(|| output.lines().rev().find_map(read))
    }
}

/// The answer in what a program printed, without white space around it; empty for silence. `Err` says what is missing.
pub fn answer(output: &[u8], path: Option<&AnswerPath>) -> Result<String, String> {
    // Not every store can hold NUL.
    let output = String::from_utf8_lossy(output).replace('\0', "\u{fffd}");
    let text = match path {
        None => output,
        Some(path) if output.trim().is_empty() => return Err(format!("no output, and so no text at '{}'", path.said)),
        Some(path) => path.find(&output).ok_or_else(|| format!("the output has no text at '{}'", path.said))?,
    };
    Ok(text.trim().replace('\0', "\u{fffd}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: &str, output: &str) -> Result<String, String> {
        answer(output.as_bytes(), AnswerPath::parse(path).as_ref())
    }

    #[test]
    fn without_a_place_all_of_it_is_the_answer() {
        assert_eq!(answer(b"\n an answer \n\n", None).unwrap(), "an answer");
        assert_eq!(answer(b" \n", None).unwrap(), "");
        assert_eq!(answer(b"a\0b\xff", None).unwrap(), "a\u{fffd}b\u{fffd}");
    }

    #[test]
    fn a_place_is_named_by_a_pointer_or_by_names() {
        let output = r#"{"result": {"parts": [{"text": " hi "}], "n": 7, "a/b": "slash"}}"#;
        assert_eq!(at("result.parts.0.text", output).unwrap(), "hi");
        assert_eq!(at("/result/parts/0/text", output).unwrap(), "hi");
        assert_eq!(at("result.n", output).unwrap(), "7");
        assert_eq!(at("result.a/b", output).unwrap(), "slash");
        for wrong in ["", ".", "a..b", "a."] {
            assert_eq!(AnswerPath::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn of_lines_the_last_that_has_it_counts() {
        let output = "starting\n{\"text\": \"first\"}\n{\"text\": \"last\"}\n{\"done\": true}\nnot json\n";
        assert_eq!(at("text", output).unwrap(), "last");
    }

    #[test]
    fn what_is_missing_is_said() {
        assert_eq!(at("a.b", "{\"a\": 1}").unwrap_err(), "the output has no text at 'a.b'");
        assert_eq!(at("a", "{\"a\": {}}").unwrap_err(), "the output has no text at 'a'");
        assert_eq!(at("a", "{\"a\": null}").unwrap_err(), "the output has no text at 'a'");
        assert_eq!(at("a", " \n").unwrap_err(), "no output, and so no text at 'a'");
        assert_eq!(at("a", "{\"a\": \"\"}").unwrap(), "", "silence that was said");
    }

    #[test]
    fn hostile_output_is_read_in_linear_time() {
        let deep = "[".repeat(1 << 20);
        assert!(at("a", &deep).is_err());
        assert!(at("a", &"{\n".repeat(1 << 18)).is_err());
    }
}
