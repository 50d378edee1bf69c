//! The shared vectors for JSON messages: the verdict, what the problems say, and that nothing is lost.

use formats::json::{Message, Type, find_in, read, rejection};
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
fn each_type_is_read_into_its_own_fields() {
    for sent in full_messages() {
        let message = read(&sent.to_string()).value.unwrap();
        assert_eq!(message.kind(), Type::parse(sent["type"].as_str().unwrap()));
        assert_eq!(message.task_id(), sent["task_id"].as_str());
        assert_eq!(message.sender_id(), sent["sender_id"].as_str());
        let extra = match &message {
            Message::TaskAssignment(message) => {
                let specification = message.specification.as_ref().unwrap();
                assert_eq!(
                    Value::from(specification.acceptance_criteria.clone()),
                    sent["specification"]["acceptance_criteria"]
                );
                assert_eq!(message.priority.unwrap().as_str(), sent["priority"]);
                &message.extra
            }
            Message::TaskCompletion(message) => {
                assert_eq!(Value::from(message.files_modified.clone()), sent["files_modified"]);
                assert_eq!(message.status.unwrap().as_str(), sent["status"]);
                &message.extra
            }
            Message::ErrorReport(message) => {
                assert_eq!(
                    (message.code(), message.message()),
                    ("API_CONNECTION_ERROR", sent["error"]["message"].as_str().unwrap())
                );
                assert_eq!(message.suggested_actions().len(), 3);
                &message.extra
            }
            Message::StatusUpdate(message) => {
                assert_eq!(message.percentage(), sent["progress"]["percentage"].as_f64());
                assert_eq!(message.current_step(), sent["progress"]["current_step"].as_str());
                &message.extra
            }
            Message::CoordinationRequest(message) => {
                assert_eq!(Value::from(message.participants.clone()), sent["participants"]);
                &message.extra
            }
            Message::FileReservation(message) => {
                let request = message.reservation_request.as_ref().unwrap();
                assert_eq!(request.mode.unwrap().as_str(), sent["reservation_request"]["mode"]);
                &message.extra
            }
            Message::Unknown(message) => panic!("unknown: {message:?}"),
        };
        assert!(extra.is_empty(), "{extra:?}");
    }
}
