//! What a tool answers: a value, or a refusal that says what to do next.
//!
//! Both become a tool result. A refusal is not a protocol error, because a model sees the result and
//! can correct itself, and sees nothing of a protocol error.

mod twin;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::foreign::{self, Ignored};
use crate::wire::push_text;

/// The value that a tool call came to, as compact JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    pub(crate) json: String,
    /// The same, as it stands inside a JSON string.
    escaped: String,
}

impl Output {
    /// Writes `value` as JSON.
    ///
    /// # Panics
    /// If `value` cannot be JSON at all (a map whose keys are no strings), which is a mistake in the
    /// type. Inside a handler the panic is caught and answered as a refusal.
    pub fn json(value: &impl Serialize) -> Output {
        Output::of(twin::write(value).expect("a wire struct always serialises"))
    }

    /// JSON that is written already.
    ///
    /// # Panics
    /// If it is none, which is a mistake in the program.
    pub fn written(json: &'static str) -> Output {
        Output::json(&serde_json::from_str::<Value>(json).expect("this is JSON"))
    }

    /// The same with a warning of each argument that was not acted on. An answer that is a list has no place for one.
    pub(crate) fn warned(self, ignored: &[Ignored]) -> Output {
        if ignored.is_empty() {
            return self;
        }
        match serde_json::from_str(&self.json) {
            Ok(Value::Object(mut answer)) => {
                foreign::warn(&mut answer, ignored);
                Output::json(&answer)
            }
            _ => self,
        }
    }

    /// Apart from `json`, which is compiled once for each type of answer.
    fn of((json, escaped): (Vec<u8>, Vec<u8>)) -> Output {
        let text = |bytes| String::from_utf8(bytes).expect("JSON is text");
        Output { json: text(json), escaped: text(escaped) }
    }
}

/// A call that was understood and not done: the code for programs, the rest for the reader.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// A stable code, such as `INVALID_ARGUMENT`.
    pub code: &'static str,
    /// The fact, with the value in quotes.
    pub message: String,
    /// The next thing to try. May be empty.
    pub hint: String,
    /// More members of the structured answer, beside `error`.
    pub data: Map<String, Value>,
}

impl Refusal {
    /// A refusal without a hint.
    pub fn new(code: &'static str, message: impl Into<String>) -> Refusal {
        Refusal { code, message: message.into(), hint: String::new(), data: Map::new() }
    }

    /// Says what to try next.
    pub fn hint(mut self, hint: impl Into<String>) -> Refusal {
        self.hint = hint.into();
        self
    }

    /// The whole refusal as one line of text: message, hint, and the code if neither says it.
    pub fn text(&self) -> String {
        let mut text = self.message.clone();
        if !self.hint.is_empty() {
            if !text.ends_with(['.', '!', '?', ':']) {
                text.push('.');
            }
            text.push(' ');
            text.push_str(&self.hint);
        }
        if !text.contains(self.code) {
            text.push_str(" [");
            text.push_str(self.code);
            text.push(']');
        }
        text
    }

    /// The text with all that the structured answer has: some clients show the one alone, some the other.
    fn whole_text(&self) -> String {
        let mut data = self.data.clone();
        // The text says it in words.
        data.remove("error");
        let said = self.text();
        if data.is_empty() { said } else { format!("{said}\n{}", Value::Object(data)) }
    }

    fn structured(&self) -> String {
        let error = json!({ "code": self.code, "message": self.message, "hint": self.hint });
        let mut members = self.data.clone();
        members.insert("error".to_owned(), error);
        Value::Object(members).to_string()
    }
}

/// Appends the members of a tool result for what a handler came to.
pub(crate) fn push_tool_result(json: &mut String, outcome: &Result<Output, Refusal>) {
    json.push_str("\"content\":[{\"type\":\"text\",\"text\":");
    match outcome {
        Ok(Output { json: value, escaped }) => {
            json.reserve(value.len() + escaped.len() + 64);
            json.push('"');
            json.push_str(escaped);
            json.push_str("\"}],\"structuredContent\":");
            // MCP wants an object here, and the text stays the bare list.
            if value.starts_with('{') {
                json.push_str(value);
            } else {
                json.push_str("{\"result\":");
                json.push_str(value);
                json.push('}');
            }
            json.push_str(",\"isError\":false");
        }
        Err(refusal) => {
            push_text(json, &refusal.whole_text());
            json.push_str("}],\"structuredContent\":");
            json.push_str(&refusal.structured());
            json.push_str(",\"isError\":true");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(outcome: &Result<Output, Refusal>) -> Value {
        let mut json = String::from("{");
        push_tool_result(&mut json, outcome);
        json.push('}');
        serde_json::from_str(&json).expect("a tool result is JSON")
    }

    #[test]
    fn a_value_is_told_twice_as_text_and_as_structure() {
        let answer = result(&Ok(Output::json(&json!({"id": 1, "body": "a \"b\"\n"}))));
        assert_eq!(answer["content"][0]["text"], r#"{"body":"a \"b\"\n","id":1}"#);
        assert_eq!(answer["structuredContent"], json!({"id": 1, "body": "a \"b\"\n"}));
        assert_eq!(answer["isError"], false);
    }

    #[test]
    fn a_list_stays_bare_in_the_text_and_is_wrapped_in_the_structure() {
        let answer = result(&Ok(Output::json(&json!([]))));
        assert_eq!(answer["content"][0]["text"], "[]");
        assert_eq!(answer["structuredContent"], json!({"result": []}));
    }

    #[test]
    fn a_refusal_is_an_error_whose_text_starts_with_the_fact() {
        let mut refusal = Refusal::new("AGENT_NOT_FOUND", "Agent 'X' not found").hint("Call register_agent first.");
        refusal.data.insert("candidates".to_owned(), json!(["Y"]));
        let answer = result(&Err(refusal));
        assert_eq!(answer["isError"], true);
        let text = "Agent 'X' not found. Call register_agent first. [AGENT_NOT_FOUND]\n{\"candidates\":[\"Y\"]}";
        assert_eq!(answer["content"][0]["text"], text);
        let error =
            json!({"code": "AGENT_NOT_FOUND", "message": "Agent 'X' not found", "hint": "Call register_agent first."});
        assert_eq!(answer["structuredContent"], json!({"error": error, "candidates": ["Y"]}));
    }

    #[test]
    fn a_code_that_the_text_already_says_is_not_repeated() {
        let refusal = Refusal::new("FULL", "FULL: no room");
        assert_eq!(refusal.text(), "FULL: no room");
    }

    #[test]
    fn extra_data_cannot_replace_the_error() {
        let mut refusal = Refusal::new("CODE", "fact");
        refusal.data.insert("error".to_owned(), json!("mine"));
        let answer = result(&Err(refusal));
        assert_eq!(answer["structuredContent"]["error"]["code"], "CODE");
    }
}
