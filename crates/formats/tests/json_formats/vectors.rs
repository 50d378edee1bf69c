//! The shared vectors for JSON messages: the verdict, what the problems say, and that nothing is lost.

use formats::json::{Type, find_in, read, rejection};
use serde_json::Value;

use super::material::{full_messages, vectors};

#[test]
fn every_vector_gets_its_verdict() {
    for vector in vectors() {
        let problems = read(&vector.text).problems;
        assert_eq!(problems.is_empty(), vector.is_valid, "{}: {problems:?}", vector.name);
    }
}

#[test]
fn the_problems_of_every_vector_say_what_they_must() {
    for vector in vectors() {
        let said: Vec<String> = read(&vector.text).problems.iter().map(ToString::to_string).collect();
        if let Some(says) = vector.says {
            assert!(said.iter().any(|problem| problem.contains(&says)), "{}: {said:?}", vector.name);
        }
    }
}

#[test]
fn every_rejection_carries_the_id_of_its_message() {
    for vector in vectors() {
        let parsed = read(&vector.text);
        let Some(rejection) = rejection(&parsed) else { continue };
        let sent = serde_json::from_str::<Value>(&vector.text).unwrap_or_default();
        let sent = sent["message_id"].as_str().filter(|id| !id.is_empty());
        assert_eq!(rejection.message_id.as_deref(), sent, "{}", vector.name);
        let wanted = match vector.name.as_str() {
            "version_2.0.0" | "version_0.9.0" => "version_mismatch",
            name if name.starts_with("unknown_type_") => "unknown_type",
            _ => "invalid_format",
        };
        assert_eq!(rejection.error, wanted, "{}", vector.name);
    }
}

#[test]
fn a_valid_message_is_written_as_it_was_read() {
    for vector in vectors().into_iter().filter(|vector| vector.is_valid) {
        let message = read(&vector.text).value.unwrap();
        let sent: Value = serde_json::from_str(&vector.text).unwrap();
        assert_eq!(message.to_value(), sent, "{}", vector.name);
        assert_eq!(serde_json::from_str::<Value>(&message.write()).unwrap(), sent, "{}", vector.name);
    }
}

#[test]
fn a_message_is_found_bare_and_in_a_code_block() {
    for vector in vectors().into_iter().filter(|vector| vector.is_valid) {
        let block = format!("```json\n{}\n```\n", vector.text);
        assert_eq!(find_in(&vector.text), Some(vector.text.as_str()));
        assert_eq!(find_in(&block), Some(vector.text.as_str()));
    }
}

#[test]
fn each_type_answers_for_its_own_fields() {
    for sent in full_messages() {
        let message = read(&sent.to_string()).value.unwrap();
        assert_eq!(message.kind(), Type::parse(sent["type"].as_str().unwrap()));
        assert_eq!(message.task_id(), sent["task_id"].as_str());
        assert_eq!(message.sender_id(), sent["sender_id"].as_str());
        assert_eq!(message.text("description"), sent["description"].as_str().unwrap_or_default());
        for word in ["priority", "status", "severity", "update_type", "request_type"] {
            assert_eq!(message.choice(word), sent[word].as_str().unwrap_or_default(), "{word}");
        }
        for list in ["files_modified", "participants", "specification.acceptance_criteria"] {
            let pointer = format!("/{}", list.replace('.', "/"));
            let wanted = sent.pointer(&pointer).cloned().unwrap_or_else(|| serde_json::json!([]));
            assert_eq!(Value::from(message.texts(list)), wanted, "{list}");
        }
        match message.kind().unwrap() {
            Type::ErrorReport => {
                assert_eq!(message.text("error.code"), "API_CONNECTION_ERROR");
                assert_eq!(message.text("error.message"), sent["error"]["message"]);
                assert_eq!(message.texts("suggested_actions").len(), 3);
            }
            Type::StatusUpdate => {
                assert_eq!(message.percentage(), sent["progress"]["percentage"].as_f64());
                assert_eq!(message.text("progress.current_step"), sent["progress"]["current_step"]);
            }
            _ => {}
        }
    }
}
