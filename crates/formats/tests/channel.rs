//! The shared vectors for channels and presence, every one of them.

use formats::channel::{FileName, Place, Reading, order, read};
use formats::mention;
use formats::presence::{self, Heartbeat};
use jiff::Timestamp;
use serde_json::{Value, json};

fn file() -> Value {
    serde_json::from_str(include_str!("vectors/channels.json")).unwrap()
}

/// The vectors of a section, which should not have become fewer.
fn section(name: &str, at_least: usize) -> Vec<Value> {
    let vectors = file()[name].as_array().unwrap().clone();
    assert!(vectors.len() >= at_least, "{name}");
    vectors
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap()
}

/// Reads the document of a vector, in the folder that the vectors are about.
fn read_vector(vector: &Value) -> Reading {
    let document = vector["raw"].as_str().map_or_else(|| vector["message"].to_string(), str::to_owned);
    read(document.as_bytes(), Place { file: vector["file"].as_str(), channel: Some("agent-os-paper") })
}

#[test]
fn every_message_calls_whom_it_should_and_nobody_else() {
    for vector in section("is_for_us", 40) {
        let (name, agent) = (text(&vector, "name"), text(&vector, "agent"));
        let reading = read_vector(&vector);
        assert_eq!(json!(reading.is_for(agent)), vector["is_for_us"], "{name}");
        assert_eq!(json!(reading.is_from(agent)), vector["is_from_us"], "{name}");
        assert_eq!(json!(reading.wants_answer_of(agent)), vector["respond"], "{name}");
        assert_eq!(reading.message.is_none(), vector["malformed"] == true, "{name}");
        if let Some(message) = reading.message {
            assert_eq!(json!(mention::is_for(agent, &message.to, &message.text)), vector["is_for_us"], "{name}");
        }
    }
}

#[test]
fn every_file_name_tells_what_it_should() {
    for vector in section("file_names", 24) {
        let name = text(&vector, "file");
        let parsed = FileName::parse(name).map(|parsed| {
            json!({
                "time": parsed.time.to_string(), "agent": parsed.agent, "hex4": parsed.hex4, "id": parsed.stem(),
            })
        });
        assert_eq!(json!(parsed.is_some()), vector["valid"], "{name}");
        assert_eq!(json!(parsed), vector["parsed"], "{name}");
    }
}

#[test]
fn every_document_gets_its_verdict() {
    for vector in section("messages", 29) {
        let reading = read_vector(&vector);
        assert_eq!(json!(reading.verdict.as_str()), vector["verdict"], "{}: {:?}", vector["name"], reading.problems);
        assert_eq!(reading.problems.is_empty(), vector["verdict"] == "ok", "{}", vector["name"]);
    }
}

#[test]
fn every_heartbeat_is_shown_as_it_should() {
    for vector in section("presence", 9) {
        let age = vector["age_seconds"].as_i64();
        let beat = Heartbeat::read(vector["file"].to_string().as_bytes());
        let said = beat.as_ref().map(|beat| (beat.state.as_deref().unwrap_or_default(), beat.substate.as_deref()));
        assert_eq!(said.is_none(), vector["file"].is_null());
        let shown = presence::shown(said, age);
        assert_eq!(shown, text(&vector, "shown"), "{}", vector["name"]);
    }
}

#[test]
fn every_state_is_followed_by_those_it_should() {
    for vector in section("transitions", 8) {
        let (from, to) = (text(&vector, "from"), text(&vector, "to"));
        assert_eq!(json!(presence::may_follow(from, to)), vector["allowed"], "{from} to {to}");
    }
}

/// File names in order, each with a document of that time.
fn sorted(names: &Value, said: impl Fn(&FileName) -> Timestamp) -> Value {
    let names = names.as_array().unwrap().iter().map(|name| FileName::parse(name.as_str().unwrap()).unwrap());
    let mut names: Vec<(FileName, Timestamp)> = names.map(|name| (name.clone(), said(&name))).collect();
    names.sort_by(|(one, said), (other, said_by_other)| order((one, *said), (other, *said_by_other)));
    names.iter().map(|(name, _)| format!("{}.json", name.stem())).collect()
}

#[test]
fn files_are_ordered_by_time_and_within_a_second_by_what_they_say() {
    let ordering = &file()["ordering"];
    assert_eq!(sorted(&ordering["files"], |name| name.time), ordering["sorted"]);
    let tied = &ordering["same_second"];
    assert_eq!(sorted(&tied["files"], |name| name.time), tied["sorted_by_name"]);
    let gemini_first = sorted(&tied["files"], |name| {
        let millisecond = if name.agent == "gemini" { 1 } else { 2 };
        Timestamp::from_millisecond(name.time.as_millisecond() + millisecond).unwrap()
    });
    assert_eq!(gemini_first, tied["files"], "the first sent is the first, whatever it is called");
}
