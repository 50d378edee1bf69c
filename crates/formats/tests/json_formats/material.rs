//! What the tests of the JSON formats work on: the shared vectors, and messages that are a little wrong.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

/// A message or a text, and the verdict on it.
pub struct Vector {
    pub name: String,
    pub text: String,
    pub is_valid: bool,
    /// What one of the problems must say.
    pub says: Option<String>,
}

/// The shared vectors.
pub fn vectors() -> Vec<Vector> {
    let file: Value = serde_json::from_str(include_str!("../vectors/json-formats.json")).unwrap();
    let vectors: Vec<Vector> = file["vectors"].as_array().unwrap().iter().map(vector).collect();
    assert!(vectors.len() >= 150);
    vectors
}

fn vector(value: &Value) -> Vector {
    let raw = value["raw"].as_str().map(str::to_owned);
    Vector {
        name: value["name"].as_str().unwrap().to_owned(),
        text: raw.unwrap_or_else(|| value["message"].to_string()),
        is_valid: value["valid"].as_bool().unwrap(),
        says: value["error_contains"].as_str().map(str::to_owned),
    }
}

/// The valid messages of the vectors.
pub fn valid_messages() -> Vec<Value> {
    let valid = vectors().into_iter().filter(|vector| vector.is_valid);
    valid.map(|vector| serde_json::from_str(&vector.text).unwrap()).collect()
}

/// One message of each type with most of its fields: the longest of the valid ones.
pub fn full_messages() -> Vec<Value> {
    let mut messages = valid_messages();
    messages.sort_by_key(|message| (message["type"].to_string(), std::cmp::Reverse(message.to_string().len())));
    messages.dedup_by(|second, first| second["type"] == first["type"]);
    assert_eq!(messages.len(), 6);
    messages
}

/// A change at one place of a message.
#[derive(Debug, Clone)]
pub enum Change {
    /// The field or item is gone.
    Drop,
    /// Something else stands there.
    Set(Value),
}

/// Every place in a message, as the names and numbers that lead to it.
pub fn places(message: &Value) -> Vec<String> {
    let inner: Vec<(String, &Value)> = match message {
        Value::Object(map) => map.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(place, item)| (place.to_string(), item)).collect(),
        _ => Vec::new(),
    };
    let deeper = |(name, value): (String, &Value)| {
        let below = places(value).into_iter().map(|place| format!("/{name}{place}"));
        [format!("/{name}")].into_iter().chain(below).collect::<Vec<_>>()
    };
    inner.into_iter().flat_map(deeper).collect()
}

/// The message with a change at a place.
pub fn changed(message: &Value, place: &str, change: Change) -> Value {
    let mut message = message.clone();
    let (around, name) = place.rsplit_once('/').unwrap();
    match (change, message.pointer_mut(around)) {
        (_, None) => {}
        (Change::Drop, Some(Value::Object(map))) => drop(map.remove(name)),
        (Change::Drop, Some(Value::Array(items))) => {
            if let Some(place) = name.parse().ok().filter(|place| *place < items.len()) {
                items.remove(place);
            }
        }
        (Change::Drop, Some(_)) => {}
        (Change::Set(value), Some(Value::Object(map))) => drop(map.insert(name.to_owned(), value)),
        (Change::Set(value), Some(around)) => {
            if let Some(old) = around.pointer_mut(&format!("/{name}")) {
                *old = value;
            }
        }
    }
    message
}

/// Valid messages with up to four changes each.
pub fn changed_messages() -> BoxedStrategy<Value> {
    let steps = proptest::collection::vec((any::<Index>(), select(changes())), 0..5);
    let apply = |(mut message, steps): (Value, Vec<(Index, Change)>)| {
        for (place, change) in steps {
            let places = places(&message);
            if !places.is_empty() {
                message = changed(&message, &places[place.index(places.len())], change);
            }
        }
        message
    };
    (select(valid_messages()), steps).prop_map(apply).boxed()
}

/// Changes that break some rule almost anywhere, and some that seldom do.
pub fn changes() -> Vec<Change> {
    let values = [
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(2.0),
        json!(3),
        json!(4),
        json!(-1),
        json!(0.5),
        json!(100),
        json!(100.5),
        json!(1e308),
        json!(u64::MAX),
        json!(""),
        json!("x"),
        json!("a\u{0}b"),
        json!("urgent"),
        json!("low"),
        json!("blocked"),
        json!("medium"),
        json!("unblocker"),
        json!("review"),
        json!("shared_read"),
        json!("file_reservation"),
        json!("1.2.3"),
        json!("2.0.0"),
        json!("2024-02-29T23:59:59.5Z"),
        json!("2025-02-29T23:59:59Z"),
        json!("2025-12-25T12:00:00+00:00"),
        json!("2016-12-31T23:59:60Z"),
        json!("0000-01-01T00:00:00.0123456789012Z"),
        json!("3F2B8A10-5c6d-4e7f-8a9b-0c1d2e3f4a5b"),
        json!([]),
        json!(["x"]),
        json!(["x", 1]),
        json!([{}]),
        json!([null]),
        json!({}),
        json!({"x": null}),
        json!({"code": 1, "labels": "x", "percentage": 101, "mode": "exclusive"}),
    ];
    [Change::Drop].into_iter().chain(values.into_iter().map(Change::Set)).collect()
}
