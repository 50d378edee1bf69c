//! The rules of reading, one by one.

use serde_json::json;

use super::*;

const PLACE: Place<'_> = Place { file: Some("msg-20260111-163315-claude-4c78.json"), channel: Some("agent-os-paper") };

fn document() -> Value {
    json!({
        "id": "msg-20260111-163315-claude-4c78", "timestamp": "2026-01-11T16:33:15.123Z",
        "session_id": "agent-os-paper", "from": "claude", "to": "codex", "type": "chat", "content": { "text": "hi" },
    })
}

/// Reads the document with another value in one place.
fn with(pointer: &str, value: Value) -> Reading {
    let mut document = document();
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    document.pointer_mut(parent).unwrap()[field] = value;
    read(document.to_string().as_bytes(), PLACE)
}

/// The verdict, and the fields that have a problem.
fn told(reading: &Reading) -> (Verdict, Vec<&str>) {
    (reading.verdict, reading.problems.iter().map(|problem| problem.path.as_str()).collect())
}

#[test]
fn a_document_of_required_fields_alone_is_used() {
    assert_eq!(told(&read(document().to_string().as_bytes(), PLACE)), (Verdict::Ok, vec![]));
    assert_eq!(told(&with("/content/text", json!(""))), (Verdict::Ok, vec![]));
}

#[test]
fn without_any_required_field_a_document_is_passed_over() {
    for field in ["id", "timestamp", "session_id", "from", "to", "type", "content"] {
        let mut document = document();
        document.as_object_mut().unwrap().remove(field);
        let reading = read(document.to_string().as_bytes(), PLACE);
        assert_eq!(told(&reading), (Verdict::Skip, vec![field]));
        assert_eq!(reading.problems[0].to_string(), format!("Missing required field: {field}"));
        for wrong in [json!(null), json!(1), json!(["x"]), json!(""), json!(" ")] {
            assert_eq!(told(&with(&format!("/{field}"), wrong.clone())), (Verdict::Skip, vec![field]), "{wrong}");
        }
    }
}

#[test]
fn a_name_that_is_too_long_or_has_control_characters_is_none() {
    for field in ["id", "session_id", "from", "to", "type"] {
        let longest = if field == "id" { LONGEST_FILE_NAME } else { LONGEST_NAME };
        let path = format!("/{field}");
        assert_ne!(with(&path, json!("é".repeat(longest))).verdict, Verdict::Skip, "{field}");
        for wrong in ["é".repeat(longest + 1), "a\nb".to_owned(), "a\0".to_owned(), "\u{9b}".to_owned()] {
            assert_eq!(told(&with(&path, json!(wrong))), (Verdict::Skip, vec![field]));
        }
    }
}

#[test]
fn an_optional_part_of_a_wrong_type_is_left_out_and_told() {
    for (path, wrong) in [
        ("/metadata", json!([])),
        ("/content/code", json!(1)),
        ("/content/artifacts", json!("a.txt")),
        ("/metadata", json!({ "mode": 1 })),
        ("/metadata", json!({ "in_reply_to": ["x"] })),
    ] {
        let reading = with(path, wrong);
        assert_eq!((reading.verdict, reading.problems.len()), (Verdict::Warn, 1), "{path}");
        let message = reading.message.unwrap();
        assert_eq!((message.code, message.artifacts, message.metadata), (None, vec![], Map::new()), "{path}");
    }
    assert_eq!(told(&with("/metadata", json!(null))), (Verdict::Ok, vec![]));
}

#[test]
fn metadata_that_mailboxes_cannot_use_is_told_and_kept() {
    let all = ["metadata.importance", "metadata.ack_required", "metadata.thread_id"];
    for odd in [
        json!({ "importance": "URGENT", "ack_required": "yes", "thread_id": 12 }),
        json!({ "importance": 1, "ack_required": 1, "thread_id": ["x"] }),
    ] {
        let reading = with("/metadata", odd.clone());
        assert_eq!(told(&reading), (Verdict::Warn, all.to_vec()));
        assert_eq!(Value::Object(reading.message.unwrap().metadata), odd, "it may mean something to others");
    }
    for usual in [
        json!({ "importance": "urgent", "ack_required": true, "thread_id": "bd-1" }),
        json!({ "importance": null, "ack_required": null, "thread_id": null }),
    ] {
        assert_eq!(told(&with("/metadata", usual)), (Verdict::Ok, vec![]));
    }
}

#[test]
fn a_mode_that_is_not_known_is_told_and_kept() {
    for odd in ["daemon", "", "Chat", "watcher "] {
        let reading = with("/metadata", json!({ "mode": odd }));
        assert_eq!(told(&reading), (Verdict::Warn, vec!["metadata.mode"]), "{odd}");
        assert_eq!(reading.problems[0].wanted, "chat, watcher");
        assert_eq!(reading.message.unwrap().metadata_text("mode"), Some(odd));
    }
    for usual in [json!("chat"), json!("watcher"), json!(null)] {
        assert_eq!(told(&with("/metadata", json!({ "mode": usual }))), (Verdict::Ok, vec![]));
    }
}

#[test]
fn unknown_fields_are_kept_where_they_were() {
    let read = |path, value| with(path, value).message.unwrap();
    assert_eq!(read("/priority", json!("high")).extra["priority"], "high");
    assert_eq!(read("/metadata", json!({ "hops": 2 })).metadata["hops"], 2);
    assert_eq!(read("/content/lang", json!("en")).extra["content"], json!({ "lang": "en" }));
}

#[test]
fn a_time_without_zone_is_utc_and_told() {
    let reading = with("/timestamp", json!("2026-01-11T16:33:15"));
    assert_eq!(told(&reading), (Verdict::Warn, vec!["timestamp"]));
    assert_eq!(reading.message.unwrap().timestamp.to_string(), "2026-01-11T16:33:15Z");
    assert_eq!(told(&with("/timestamp", json!("2026-01-11T17:33:15.9+01:00"))), (Verdict::Ok, vec![]));
}

#[test]
fn a_file_that_is_named_otherwise_is_passed_over_whatever_is_in_it() {
    let place = Place { file: Some(".tmp.json"), channel: None };
    for text in [document().to_string(), String::new(), "[]".to_owned()] {
        let reading = read(text.as_bytes(), place);
        assert_eq!((reading.verdict, reading.problems[0].path.as_str()), (Verdict::Skip, "file"), "{text}");
    }
}

#[test]
fn what_may_be_half_written_is_looked_at_again_and_what_is_broken_is_not() {
    let whole = document().to_string();
    for half in ["", " \n", "\0\0", "{", "{\"id\"", "{\"id\":tru", "{\"id\":-", &format!("{whole}\0\0\0\0")] {
        assert_eq!(read(half.as_bytes(), PLACE).verdict, Verdict::Retry, "{half:?}");
    }
    for broken in ["[", "tru", "\"x", "{,", "{}{", "\u{feff}{}", "{\"id\":\"\n\"}", "{\"id\":\"\\ud800\"}"] {
        assert_eq!(read(broken.as_bytes(), PLACE).verdict, Verdict::Skip, "{broken:?}");
    }
    assert_eq!(read(b"{\"id\":\"\xc3", PLACE).verdict, Verdict::Retry);
    assert_eq!(read(b"{\"id\":\"\xff\"", PLACE).verdict, Verdict::Skip);
}

#[test]
fn who_writes_a_byte_order_mark_is_told_so() {
    let reading = read(format!("\u{feff}{}", document()).as_bytes(), PLACE);
    let told = reading.problems[0].to_string();
    assert!(reading.verdict == Verdict::Skip && told.contains("byte order mark"), "{told}");
}

#[test]
fn a_long_text_is_read_and_a_deep_or_crowded_document_is_not() {
    let long = with("/content/text", json!("@".repeat(4 << 20)));
    assert_eq!((long.verdict, long.is_for("@")), (Verdict::Ok, Some(true)));
    let lists = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    for hostile in [lists(10_000), format!("[{}0]", "0,".repeat(MOST_VALUES))] {
        let text = document().to_string().replacen('{', &format!("{{\"x\":{hostile},"), 1);
        assert_eq!(read(text.as_bytes(), PLACE).verdict, Verdict::Skip);
    }
}

#[test]
fn whom_a_document_calls_is_told_even_if_it_cannot_be_used() {
    let reading = with("/from", json!(1));
    assert_eq!((reading.is_for("codex"), reading.is_for("gemini")), (Some(true), Some(false)));
    assert!(!reading.wants_answer_of("codex") && !reading.is_from("1"));
    assert!(!with("/from", json!("")).is_from(""), "nobody has no name");
    assert!(with("/id", json!(1)).is_from("claude"));
    assert_eq!(with("/to", json!(null)).is_for("codex"), None);
    assert_eq!(with("/content", json!({})).is_for("codex"), None);
}
