//! A message of any type: the object as it came, and the questions that are asked of it.
//!
//! A message here may be invalid. What is missing, or of another shape than asked for, answers with nothing; whether the
//! message is valid was told when it was read.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::fields::{TYPE_NAME, Type, tables};
use super::table::{Field, Shape};

/// The longest id by which messages are told apart, in bytes; a valid one is much shorter.
const LONGEST_ID: usize = 256;

/// A message. A field within an object is named by its path, such as `error.code`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message(pub(super) Map<String, Value>);

impl Message {
    /// Its type, if that is one of the known ones.
    pub fn kind(&self) -> Option<Type> {
        Type::parse(self.type_name())
    }

    /// What the message says its type is; empty if it says nothing.
    pub fn type_name(&self) -> &str {
        self.text(TYPE_NAME)
    }

    /// The task that it is about.
    pub fn task_id(&self) -> Option<&str> {
        Some(self.text("task_id")).filter(|id| !id.is_empty())
    }

    /// The message's own id.
    pub fn message_id(&self) -> Option<&str> {
        Some(self.text("message_id")).filter(|id| !id.is_empty())
    }

    /// The message's own id in one form, however it is written; `None` if nobody could tell it from others by that.
    pub fn unique_id(&self) -> Option<String> {
        let id = self.message_id()?;
        let id = id.strip_prefix("msg-").unwrap_or(id);
        let is_usable = (1..=LONGEST_ID).contains(&id.len()) && !id.contains(char::is_control);
        is_usable.then(|| id.to_ascii_lowercase())
    }

    /// Whether a body says just the same, however it is written.
    pub fn is_body(&self, body: &str) -> bool {
        let read = super::find_in(body).and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok());
        read.as_ref() == Some(&self.0)
    }

    /// Who sent it.
    pub fn sender_id(&self) -> Option<&str> {
        Some(self.text("sender_id")).filter(|id| !id.is_empty())
    }

    /// The text of a field; empty if there is none.
    pub fn text(&self, path: &str) -> &str {
        self.value(path).and_then(Value::as_str).unwrap_or_default()
    }

    /// The word of a field that has a fixed set of them; empty if it is none of those.
    pub fn choice(&self, name: &str) -> &str {
        let word = self.text(name);
        let is_known = |field: &Field| {
            field.name == name && matches!(field.rule.shape, Shape::Choice(words) if words.contains(&word))
        };
        if tables(self.kind()).into_iter().flatten().any(is_known) { word } else { "" }
    }

    /// The number of a field.
    pub fn number(&self, path: &str) -> Option<f64> {
        self.value(path)?.as_f64()
    }

    /// The time of a field, whatever zone it is written in.
    pub fn time(&self, path: &str) -> Option<Timestamp> {
        self.text(path).parse().ok()
    }

    /// Whether a field is true.
    pub fn is_set(&self, path: &str) -> bool {
        self.value(path) == Some(&Value::Bool(true))
    }

    /// The texts of a list; empty if anything else is in it.
    pub fn texts(&self, path: &str) -> Vec<&str> {
        let list = self.value(path).and_then(Value::as_array);
        list.and_then(|list| list.iter().map(Value::as_str).collect()).unwrap_or_default()
    }

    /// The items of a list as lines to show: a text as it is, anything else as JSON.
    pub fn lines(&self, path: &str) -> Vec<String> {
        let list = self.value(path).and_then(Value::as_array).into_iter().flatten();
        list.map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned)).collect()
    }

    /// How much of its task is done, in percent; `None` if it does not say so or says what cannot be.
    pub fn percentage(&self) -> Option<f64> {
        self.number("progress.percentage").filter(|percentage| (0.0..=100.0).contains(percentage))
    }

    /// As text, with the known fields in the order of the format and the others behind them.
    pub fn write(&self) -> String {
        written(&self.0, &tables(self.kind()))
    }

    /// As a JSON value.
    pub fn to_value(&self) -> Value {
        self.0.clone().into()
    }

    fn value(&self, path: &str) -> Option<&Value> {
        let mut names = path.split('.');
        let outermost = self.0.get(names.next()?)?;
        names.try_fold(outermost, |value, name| value.get(name))
    }
}

fn written(object: &Map<String, Value>, tables: &[&[Field]]) -> String {
    let fields: Vec<&Field> = tables.iter().copied().flatten().collect();
    let mut members = Vec::with_capacity(object.len());
    for field in &fields {
        let text = match (object.get(field.name), &field.rule.shape) {
            (None, _) => continue,
            (Some(Value::Object(inner)), Shape::Object(fields)) => written(inner, &[fields]),
            (Some(value), _) => value.to_string(),
        };
        members.push(format!("\"{}\":{text}", field.name));
    }
    let others = object.iter().filter(|(name, _)| fields.iter().all(|field| field.name != name.as_str()));
    members.extend(others.map(|(name, value)| format!("{}:{value}", Value::from(name.as_str()))));
    format!("{{{}}}", members.join(","))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(value: Value) -> Message {
        let Value::Object(map) = value else { panic!("no object: {value}") };
        Message(map)
    }

    #[test]
    fn a_message_is_written_in_the_order_of_the_format_with_unknown_fields_last() {
        let sent = message(json!({
            "aside": 1, "error": {"zeal": 2, "message": "m", "code": "c"}, "type": "error_report", "task_id": "t",
        }));
        let wanted = r#"{"type":"error_report","task_id":"t","error":{"code":"c","message":"m","zeal":2},"aside":1}"#;
        assert_eq!(sent.write(), wanted);
        assert_eq!(message(json!({})).write(), "{}");
    }

    #[test]
    fn a_type_that_is_unknown_absent_or_no_text_is_kept_as_it_came() {
        for (value, word) in [
            (json!({"type": "chat", "x": 1}), "chat"),
            (json!({"type": "", "x": 1}), ""),
            (json!({"type": ["chat"], "x": 1}), ""),
            (json!({"x": 1}), ""),
        ] {
            let message = message(value.clone());
            assert_eq!((message.kind(), message.type_name()), (None, word), "{value}");
            assert_eq!(message.to_value(), value);
        }
    }

    #[test]
    fn ids_are_told_when_there_are_any() {
        let known = message(json!({"type": "status_update", "task_id": "bd-1", "message_id": "m", "sender_id": "s"}));
        assert_eq!((known.task_id(), known.message_id(), known.sender_id()), (Some("bd-1"), Some("m"), Some("s")));
        let unknown = message(json!({"type": "chat", "task_id": "bd-2"}));
        assert_eq!((unknown.task_id(), unknown.message_id(), unknown.sender_id()), (Some("bd-2"), None, None));
        let request = message(json!({"type": "coordination_request", "task_id": 3}));
        assert_eq!(request.task_id(), None);
    }

    #[test]
    fn an_id_is_the_same_with_and_without_its_prefix_and_in_any_case() {
        let id = |text: &str| message(json!({"message_id": text})).unique_id();
        let plain = Some("3f2b8a10-5c6d-4e7f-8a9b-0c1d2e3f4a5b".to_owned());
        assert_eq!(id("msg-3F2B8A10-5c6d-4e7f-8a9b-0c1d2e3f4a5b"), plain);
        assert_eq!(id("3f2b8a10-5c6d-4e7f-8a9b-0c1d2e3f4a5b"), plain);
        for odd in ["", "msg-", "a\0b", &"x".repeat(257)] {
            assert_eq!(id(odd), None, "{odd}");
        }
    }

    #[test]
    fn the_same_message_is_known_however_it_is_written() {
        let sent = message(json!({"type": "chat", "x": [1, {"y": null}]}));
        for same in
            [r#"{"type":"chat","x":[1,{"y":null}]}"#, "```json\n{ \"x\": [1, {\"y\": null}], \"type\": \"chat\" }\n```"]
        {
            assert!(sent.is_body(same), "{same}");
        }
        for other in ["", "{}", r#"{"type":"chat","x":[1]}"#, "{\"type\":\"chat\""] {
            assert!(!sent.is_body(other), "{other}");
        }
    }

    #[test]
    fn a_percentage_is_told_only_within_its_range() {
        let told = |percentage: Value| message(json!({"progress": {"percentage": percentage}})).percentage();
        assert_eq!((told(json!(0)), told(json!(99.5)), told(json!(100))), (Some(0.0), Some(99.5), Some(100.0)));
        assert_eq!((told(json!(-1)), told(json!(100.1)), told(json!("70"))), (None, None, None));
        assert_eq!(message(json!({})).percentage(), None);
    }

    #[test]
    fn a_blocker_of_any_shape_makes_a_line() {
        let blocked = message(json!({"blockers": ["waiting for bd-41", {"id": "bd-2"}]}));
        assert_eq!(blocked.lines("blockers"), ["waiting for bd-41", r#"{"id":"bd-2"}"#]);
    }

    #[test]
    fn what_is_missing_or_of_another_shape_answers_with_nothing() {
        let report = message(json!({"error": {"code": "E"}, "needs_human_intervention": true}));
        assert_eq!((report.text("error.code"), report.text("error.message")), ("E", ""));
        assert!(report.is_set("needs_human_intervention") && !report.is_set("error"));
        assert!(report.texts("suggested_actions").is_empty());
        let mixed = message(json!({"error": "E", "suggested_actions": ["a", 1], "blockers": {}}));
        assert_eq!((mixed.text("error.code"), mixed.texts("suggested_actions").len()), ("", 0));
        assert!(mixed.lines("blockers").is_empty());
    }

    #[test]
    fn a_word_that_is_none_of_its_field_is_no_choice() {
        let update =
            |word: &str| message(json!({"type": "error_report", "severity": word})).choice("severity").to_owned();
        assert_eq!(
            (update("high"), update("High"), update("urgent")),
            ("high".to_owned(), String::new(), String::new())
        );
        assert_eq!(message(json!({"type": "chat", "severity": "high"})).choice("severity"), "");
    }
}
