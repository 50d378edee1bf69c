//! What a message cannot do without, said once more and apart from the code: the tables are one slip away from asking for
//! too much or too little.

use formats::json::read;

use super::material::{Change, changed, full_messages, places};

/// The fields that every message needs.
const BASE: &[&str] = &["version", "timestamp", "sender_id", "message_id", "type"];

/// The fields that a type needs beside them. What is inside an object is needed where the object is.
fn needed(kind: &str) -> &'static [&'static str] {
    match kind {
        "task_assignment" => &[
            "task_id",
            "description",
            "specification",
            "specification.acceptance_criteria",
            "file_patterns",
            "priority",
            "priority_value",
        ],
        "task_completion" => {
            &["task_id", "status", "completion_summary", "files_modified", "test_results", "errors_encountered"]
        }
        "error_report" => &[
            "task_id",
            "severity",
            "error",
            "error.code",
            "error.message",
            "reproduction_steps",
            "needs_human_intervention",
        ],
        "status_update" => &["task_id", "update_type", "status_summary", "blockers"],
        "coordination_request" => &["request_type", "participants", "coordination_topic"],
        "file_reservation" => {
            &["task_id", "reservation_request", "reservation_request.mode", "reservation_request.file_patterns"]
        }
        other => panic!("no such type: {other}"),
    }
}

#[test]
fn a_field_is_missed_exactly_if_its_type_needs_it() {
    for message in full_messages() {
        let kind = message["type"].as_str().unwrap();
        let mut missed = Vec::new();
        for place in places(&message) {
            let path = place.trim_start_matches('/').replace('/', ".");
            let problems = read(&changed(&message, &place, Change::Drop).to_string()).problems;
            let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
            if !said.is_empty() {
                assert_eq!(said, [format!("Missing required field: {path}")], "{kind}");
                missed.push(path);
            }
        }
        let mut needed: Vec<&str> = BASE.iter().chain(needed(kind)).copied().collect();
        needed.sort_unstable();
        missed.sort_unstable();
        assert_eq!(missed, needed, "{kind}");
    }
}

#[test]
fn a_message_of_nothing_but_what_its_type_needs_is_valid() {
    for mut message in full_messages() {
        let kind = message["type"].as_str().unwrap().to_owned();
        let keeps = |path: &str| BASE.iter().chain(needed(&kind)).any(|needed| *needed == path);
        message.as_object_mut().unwrap().retain(|name, _| keeps(name));
        for (outer, value) in message.as_object_mut().unwrap() {
            if let Some(inner) = value.as_object_mut() {
                inner.retain(|name, _| keeps(&format!("{outer}.{name}")));
            }
        }
        assert_eq!(read(&message.to_string()).problems, [], "{message}");
    }
}
