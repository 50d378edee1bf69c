//! The schema of each type and our own verdict are one rule: they agree on the vectors, and on messages a little wrong.

use formats::json::{Type, read, schema};
use jsonschema::{Draft, JSONSchema};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::material::{Change, changed, changed_messages, changes, full_messages, places, vectors};

struct Schemas(Vec<(Type, JSONSchema)>);

impl Schemas {
    fn new() -> Self {
        let compiled = |kind: &Type| {
            let schema = schema(*kind);
            let mut options = JSONSchema::options();
            options.with_draft(Draft::Draft202012).should_validate_formats(true);
            (*kind, options.compile(&schema).unwrap_or_else(|error| panic!("the schema of {kind}: {error}")))
        };
        Self(Type::ALL.iter().map(compiled).collect())
    }

    /// Fails unless a message is valid by the schema of its type, and by no other, exactly if `read` finds no problem.
    fn assert_agree_with_read(&self, message: &Value) {
        let read = read(&message.to_string());
        let accepted = if read.problems.is_empty() { read.value.and_then(|message| message.kind()) } else { None };
        for (kind, schema) in &self.0 {
            let by_schema = schema.is_valid(message);
            assert_eq!(by_schema, accepted == Some(*kind), "{kind}: {message}\nread: {:?}", read.problems);
        }
    }
}

#[test]
fn schema_and_verdict_agree_on_every_vector() {
    let schemas = Schemas::new();
    let mut compared = 0;
    for vector in vectors() {
        // A text that is no JSON has no value to give to a schema; any other has, whatever it is.
        match serde_json::from_str(&vector.text) {
            Ok(message) => schemas.assert_agree_with_read(&message),
            Err(_) => assert!(!vector.is_valid && read(&vector.text).value.is_none(), "{}", vector.name),
        }
        compared += 1;
    }
    assert!(compared >= 150);
}

#[test]
fn schema_and_verdict_agree_wherever_one_thing_is_changed() {
    let schemas = Schemas::new();
    let mut accepted = 0;
    let mut refused = 0;
    for message in full_messages() {
        for place in places(&message) {
            for change in changes() {
                let changed = changed(&message, &place, change);
                schemas.assert_agree_with_read(&changed);
                if read(&changed.to_string()).problems.is_empty() { accepted += 1 } else { refused += 1 }
            }
        }
    }
    // Were one verdict rare, the agreement would say little.
    assert!(accepted > 1000 && refused > 1000, "{accepted} accepted, {refused} refused");
}

#[test]
fn schema_and_verdict_agree_on_every_pair_of_priority_and_number() {
    let schemas = Schemas::new();
    let message = full_messages().into_iter().find(|message| message["type"] == "task_assignment").unwrap();
    let words = [json!("urgent"), json!("high"), json!("normal"), json!("low"), json!("none"), json!(1), json!(null)];
    let numbers = [json!(0), json!(1), json!(2), json!(3), json!(4), json!(-1), json!(1.0), json!(1.5), json!("1")];
    for word in words {
        for number in &numbers {
            let message = changed(&message, "/priority", Change::Set(word.clone()));
            let message = changed(&message, "/priority_value", Change::Set(number.clone()));
            schemas.assert_agree_with_read(&message);
        }
    }
}

proptest! {
    #[test]
    fn schema_and_verdict_agree_on_messages_with_several_changes(message in changed_messages()) {
        thread_local!(static SCHEMAS: Schemas = Schemas::new());
        SCHEMAS.with(|schemas| schemas.assert_agree_with_read(&message));
    }
}
