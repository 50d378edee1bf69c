//! Whether an object keeps the rules of its tables, and every place where it does not.
//!
//! One walk over the known fields. Unknown fields are not looked at, so a hostile object costs no more than its known
//! fields do; the problems are counted, and only the first hundred are told.

use serde_json::{Map, Value};

use super::fields::{TYPE_NAME, Type, tables};
use super::table::{Field, Shape};
use crate::Problem;

/// What is wrong with a message, in the order of its tables.
pub(super) fn problems(message: &Map<String, Value>) -> Vec<Problem> {
    let mut problems = Problems::default();
    let kind = message.get(TYPE_NAME).and_then(Value::as_str).and_then(Type::parse);
    for table in tables(kind) {
        check_object("", message, table, &mut problems);
    }
    problems.into_told()
}

/// How many problems are told one by one.
const TOLD: usize = 100;

#[derive(Default)]
struct Problems {
    told: Vec<Problem>,
    more: usize,
}

impl Problems {
    /// Notes a problem. It is worded only if it will be told: a list may hold a million wrong items.
    fn note(&mut self, word: impl FnOnce() -> Problem) {
        if self.told.len() < TOLD {
            self.told.push(word());
        } else {
            self.more += 1;
        }
    }

    fn into_told(mut self) -> Vec<Problem> {
        if self.more > 0 {
            self.told.push(Problem::wrong("", &format!("{} more problems", self.more), "none"));
        }
        self.told
    }
}

fn check_object(prefix: &str, object: &Map<String, Value>, fields: &[Field], problems: &mut Problems) {
    for field in fields {
        let path = || format!("{prefix}{}", field.name);
        match object.get(field.name) {
            None if field.rule.required => problems.note(|| Problem::missing(path(), field.rule.shape.wanted())),
            None => {}
            Some(Value::Null) if !field.rule.required => {}
            Some(value) => check_value(&path(), value, &field.rule.shape, object, problems),
        }
    }
}

/// Checks one value; `around` is the object that it stands in.
fn check_value(path: &str, value: &Value, shape: &Shape, around: &Map<String, Value>, problems: &mut Problems) {
    match (shape, value) {
        (Shape::Object(fields), Value::Object(object)) => check_object(&format!("{path}."), object, fields, problems),
        (Shape::Texts, Value::Array(items)) => {
            for (place, item) in items.iter().enumerate().filter(|(_, item)| !item.is_string()) {
                problems.note(|| Problem::wrong(format!("{path}.{place}"), &as_json(item), Shape::Text.wanted()));
            }
        }
        (shape, value) if fits(value, shape, around) => {}
        (shape, Value::String(text)) if shape.is_text() => {
            problems.note(|| Problem::wrong(path, text, shape.wanted()));
        }
        (shape, value) => problems.note(|| Problem::wrong(path, &as_json(value), shape.wanted())),
    }
}

/// Whether a value without parts is of its shape.
fn fits(value: &Value, shape: &Shape, around: &Map<String, Value>) -> bool {
    match (shape, value) {
        (Shape::Text, Value::String(_))
        | (Shape::Number, Value::Number(_))
        | (Shape::Flag, Value::Bool(_))
        | (Shape::List, Value::Array(_)) => true,
        (Shape::Name, Value::String(text)) => !text.is_empty(),
        (Shape::Form(form), Value::String(text)) => form.matches(text),
        (Shape::Choice(words), Value::String(text)) => words.contains(&text.as_str()),
        (Shape::Between(low, high), Value::Number(number)) => {
            number.as_f64().is_some_and(|number| (f64::from(*low)..=f64::from(*high)).contains(&number))
        }
        (Shape::PlaceOf { field, words }, value) => is_place(value, around, field, words),
        _ => false,
    }
}

/// Whether a number is the place of the word in the field beside it, or of any word if that field has none of them.
fn is_place(value: &Value, around: &Map<String, Value>, field: &str, words: &[&str]) -> bool {
    let is = |place: usize| value.as_f64() == u32::try_from(place).ok().map(f64::from);
    let word = around.get(field).and_then(Value::as_str);
    match words.iter().position(|other| Some(*other) == word) {
        Some(place) => is(place),
        None => (0..words.len()).any(is),
    }
}

/// The beginning of a value as JSON, enough to recognise it by: nobody renders a megabyte to show a line.
fn as_json(value: &Value) -> String {
    const ENOUGH: usize = 400;
    let mut beginning = [0; ENOUGH];
    let mut left = &mut beginning[..];
    // The only way to fail is to have seen enough.
    let _ = serde_json::to_writer(&mut left, value);
    let length = ENOUGH - left.len();
    String::from_utf8_lossy(&beginning[..length]).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The problems that a message with these fields has beyond those of its base fields.
    fn told(fields: Value) -> Vec<String> {
        let Value::Object(map) = fields else { panic!("no object: {fields}") };
        let base = ["version", "timestamp", "sender_id", "message_id"];
        let told = problems(&map).into_iter().filter(|problem| !base.contains(&problem.path.as_str()));
        told.map(|problem| problem.to_string()).collect()
    }

    fn reservation(request: Value) -> Vec<String> {
        told(json!({"type": "file_reservation", "task_id": "bd-1", "reservation_request": request}))
    }

    #[test]
    fn a_missing_field_is_named_with_its_path() {
        assert_eq!(reservation(json!({"file_patterns": []})), ["Missing required field: reservation_request.mode"]);
        assert_eq!(told(json!({})), ["Missing required field: type"]);
    }

    #[test]
    fn a_value_of_a_wrong_type_is_shown_as_json_and_a_wrong_text_as_it_is() {
        let said = reservation(json!({"mode": "shared", "file_patterns": "a", "duration_minutes": "9"}));
        assert_eq!(
            said,
            [
                "reservation_request.mode: found 'shared', wanted exclusive, shared_read or shared_write",
                "reservation_request.file_patterns: found '\"a\"', wanted a list of texts",
                "reservation_request.duration_minutes: found '\"9\"', wanted a number",
            ]
        );
    }

    #[test]
    fn null_is_absent_where_a_field_is_optional_and_wrong_where_it_is_required() {
        assert!(reservation(json!({"mode": "exclusive", "file_patterns": [], "reason": null})).is_empty());
        let said = reservation(json!({"mode": null, "file_patterns": []}));
        assert_eq!(said, ["reservation_request.mode: found 'null', wanted exclusive, shared_read or shared_write"]);
    }

    #[test]
    fn each_item_that_is_no_text_is_told_with_its_place() {
        let said = reservation(json!({"mode": "exclusive", "file_patterns": ["a", 1, "b", null]}));
        assert_eq!(
            said,
            [
                "reservation_request.file_patterns.1: found '1', wanted text",
                "reservation_request.file_patterns.3: found 'null', wanted text",
            ]
        );
    }

    #[test]
    fn a_number_that_contradicts_its_word_is_told_with_all_the_right_ones() {
        let priority = |word: &str, number: Value| {
            let said = told(json!({"type": "task_assignment", "priority": word, "priority_value": number}));
            said.into_iter().find(|problem| problem.starts_with("priority_value"))
        };
        assert_eq!(priority("high", json!(1)), None);
        assert_eq!(priority("high", json!(1.0)), None);
        assert_eq!(
            priority("high", json!(3)).unwrap(),
            "priority_value: found '3', wanted the number of the priority: 0 for urgent, 1 for high, 2 for normal, 3 for low"
        );
        assert_eq!(priority("unheard-of", json!(3)), None);
        assert!(priority("unheard-of", json!(4)).is_some() && priority("unheard-of", json!(0.5)).is_some());
    }

    #[test]
    fn many_problems_are_counted_but_not_told_one_by_one() {
        let said = reservation(json!({"mode": "exclusive", "file_patterns": vec![0; 5000]}));
        // The four base fields are missing too, and fill the first four places.
        assert_eq!(said.len(), TOLD - 4 + 1);
        assert_eq!(said.last().unwrap(), &format!("found '{} more problems', wanted none", 5000 - (TOLD - 4)));
    }

    #[test]
    fn a_huge_value_is_shown_by_its_beginning() {
        let said = reservation(json!({"mode": vec!["x".repeat(1000); 1000], "file_patterns": []}));
        assert!(said[0].starts_with("reservation_request.mode: found '[\"xxx") && said[0].len() < 300, "{}", said[0]);
    }
}
