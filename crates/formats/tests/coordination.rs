//! The shared vectors for coordination messages, every one of them.

use formats::markdown::{Field, Kind, Message, read, read_timestamp};
use serde_json::{Map, Value, json};

fn file() -> Value {
    serde_json::from_str(include_str!("vectors/coordination.json")).unwrap()
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().unwrap()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap()
}

/// A message, and what became of it.
#[derive(Debug, PartialEq)]
struct Received {
    message: Message,
    ack_required: bool,
    acked: bool,
}

impl Received {
    fn is_pending(&self) -> bool {
        self.ack_required && !self.acked
    }
}

fn received(subject: &str, body: &str, about: &Value) -> Received {
    Received {
        message: read(subject, body).value,
        ack_required: about["ack_required"].as_bool().unwrap_or_default(),
        acked: about["acked"].as_bool().unwrap_or_default(),
    }
}

fn printed(fields: Vec<(&'static str, &Field)>) -> Map<String, Value> {
    let value = |field: &Field| match field {
        Field::Text(text) => json!(text),
        Field::Number(number) => json!(number),
        Field::Flag(flag) => json!(flag),
        Field::List(list) => json!(list),
    };
    fields.into_iter().map(|(name, field)| (name.to_owned(), value(field))).collect()
}

#[test]
fn every_vector_is_read_as_expected() {
    let file = file();
    assert!(list(&file, "vectors").len() >= 90);
    for vector in list(&file, "vectors") {
        let (name, expected) = (text(vector, "name"), &vector["expected"]);
        let received = received(text(vector, "subject"), text(vector, "body"), vector);
        let message = &received.message;
        let mut wanted = expected.clone();
        // Vectors without a time of their own say nothing about one.
        if vector.get("timestamp").is_none() {
            wanted["timestamp"] = Value::Null;
        }
        let read = json!({
            "type": message.type_name(),
            "parsed": printed(message.fields()),
            "is_completion": message.is_completion(),
            "is_success": message.is_success(),
            "is_pending": received.is_pending(),
            "timestamp": vector["timestamp"].as_str().and_then(read_timestamp),
        });
        assert_eq!(read, wanted, "{name}");
    }
}

#[test]
fn the_work_of_every_vector_is_its_bead_or_issue_unless_that_can_be_no_id() {
    for vector in list(&file(), "vectors") {
        let parsed = &vector["expected"]["parsed"];
        let wanted = parsed["bead_id"].as_str().or(parsed["issue_id"].as_str());
        let wanted = wanted.filter(|id| !id.contains(char::is_control));
        // What the body names below a misspelt kind is not printed, and is the work all the same.
        let wanted = wanted.or((text(vector, "name") == "hyphen_instead_of_underscore").then_some("a-1"));
        let message = read(text(vector, "subject"), text(vector, "body")).value;
        assert_eq!(message.work_id(), wanted, "{}", text(vector, "name"));
    }
}

#[test]
fn every_filter_chooses_as_expected() {
    let file = file();
    for case in list(&file, "filter_cases") {
        let name = text(case, "name");
        let plain = json!({});
        let messages: Vec<_> = match case {
            case if case.get("input_types").is_some() => {
                list(case, "input_types").iter().map(|kind| received(kind.as_str().unwrap(), "", &plain)).collect()
            }
            case if case.get("input_beads").is_some() => list(case, "input_beads")
                .iter()
                .map(|bead| received("PROGRESS", &format!("Bead: {}", bead.as_str().unwrap()), &plain))
                .collect(),
            case => list(case, "input").iter().map(|input| received(text(input, "type"), "", input)).collect(),
        };
        let words: Vec<_> = name.split(' ').collect();
        let is_chosen = |received: &&Received| match words[..] {
            ["FilterByType", kind] => received.message.kind() == Kind::parse_any_case(kind),
            ["FilterByBeadID", bead] => received.message.bead_id() == bead,
            ["FilterCompletions"] => received.message.is_completion(),
            ["FilterSuccesses"] => received.message.is_success(),
            ["FilterPending"] => received.is_pending(),
            _ => panic!("no filter is called {name}"),
        };
        let chosen: Vec<&Received> = messages.iter().filter(is_chosen).collect();
        if let Some(count) = case["expect_count"].as_u64() {
            assert_eq!(chosen.len() as u64, count, "{name}");
        }
        if let Some(indexes) = case["expect_indexes"].as_array() {
            let wanted: Vec<_> = indexes.iter().map(|index| &messages[index.as_u64().unwrap() as usize]).collect();
            assert_eq!(chosen, wanted, "{name}");
        }
    }
}
