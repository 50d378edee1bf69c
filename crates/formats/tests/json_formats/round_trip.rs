//! What is written is read again as the same message, and no text whatever makes a reader fail.

use formats::json::{Stamp, Type, error_report, find_in, read, rejection};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Number, Value, json};

use super::material::{changed_messages, full_messages, vectors};

fn text() -> BoxedStrategy<String> {
    prop_oneof![any::<String>(), "[a-z]{1,8}"].boxed()
}

fn number() -> BoxedStrategy<Number> {
    let float = any::<f64>().prop_filter_map("JSON has no such number", Number::from_f64);
    prop_oneof![any::<i64>().prop_map(Number::from), any::<u64>().prop_map(Number::from), float].boxed()
}

fn value() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(text(), inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
    .boxed()
}

/// Objects of every type and of none, with known and unknown fields that hold anything.
fn object() -> BoxedStrategy<Value> {
    let known = full_messages().into_iter().flat_map(|message| message.as_object().unwrap().clone());
    let mut names: Vec<String> = known.map(|(name, _)| name).collect();
    names.sort();
    names.dedup();
    let kinds = Type::NAMES.into_iter().map(Value::from).chain([json!("chat"), json!(""), json!(7), Value::Null]);
    let name = prop_oneof![select(names), "x_.{0,8}"];
    (select(kinds.collect::<Vec<_>>()), btree_map(name, value(), 0..12))
        .prop_map(|(kind, fields)| {
            let mut object: Value = fields.into_iter().collect::<serde_json::Map<_, _>>().into();
            object["type"] = kind;
            object
        })
        .boxed()
}

/// Fails unless the text can be read, answered and found, and what was read is written and read as the same again.
fn assert_all_goes_well(text: &str) {
    let parsed = read(text);
    let _ = find_in(text).map(read);
    assert!(parsed.problems.len() <= 101);
    if let Some(message) = &parsed.value {
        assert_eq!(read(&message.write()).value.as_ref(), Some(message));
    }
    if let Some(rejection) = rejection(&parsed) {
        let id = "msg-3f2b8a10-5c6d-4e7f-8a9b-0c1d2e3f4a5b";
        let stamp = Stamp { timestamp: "2026-01-02T03:04:05Z", message_id: id, sender_id: "postmaster" };
        let report = error_report(&parsed, &rejection, stamp);
        assert_eq!(read(&report.write()).strict(), Ok(Some(report)));
    }
}

#[test]
fn every_vector_can_be_read_and_answered() {
    for vector in vectors() {
        assert_all_goes_well(&vector.text);
    }
}

proptest! {
    #[test]
    fn a_message_is_read_as_it_was_written(sent in object()) {
        let message = read(&sent.to_string()).value.unwrap();
        prop_assert_eq!(message.to_value(), sent);
        prop_assert_eq!(read(&message.write()).value, Some(message));
    }

    #[test]
    fn a_message_with_wrong_values_loses_none_of_them(sent in changed_messages()) {
        let text = sent.to_string();
        prop_assert_eq!(read(&text).value.unwrap().to_value(), sent);
        assert_all_goes_well(&text);
    }

    #[test]
    fn any_text_can_be_read_and_answered(text in any::<String>()) {
        assert_all_goes_well(&text);
        assert_all_goes_well(&format!("{{{text}"));
    }

    #[test]
    fn a_text_with_damaged_bytes_can_be_read_and_answered(
        vector in select(vectors().into_iter().map(|vector| vector.text).collect::<Vec<_>>()),
        damage in vec((any::<Index>(), any::<u8>()), 1..6),
        end in any::<Index>(),
    ) {
        let mut bytes = vector.into_bytes();
        if !bytes.is_empty() {
            for (place, byte) in damage {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            bytes.truncate(end.index(bytes.len() * 2));
        }
        assert_all_goes_well(&String::from_utf8_lossy(&bytes));
    }
}
