//! `channel check`: what programs get line by line, and what people see.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{Place, Ran};

const VECTORS: &str = include_str!("../../formats/tests/vectors/channels.json");
const NAME: &str = "msg-20260111-163315-claude-4c78.json";

fn section(name: &str) -> Vec<Value> {
    let file: Value = serde_json::from_str(VECTORS).unwrap();
    file[name].as_array().unwrap().clone()
}

/// The answers to lines, each read as JSON.
fn answers(arguments: &[&str], lines: &[Value]) -> Vec<Value> {
    let place = Place::new();
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(place.file("lines.jsonl"), lines).unwrap();
    let ran = place.run(&[&["channel", "check", "--jsonl", "lines.jsonl"], arguments].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}"))).collect()
}

/// The document of the first vector, with another text.
fn saying(text: &str) -> Value {
    let mut document = section("messages")[0]["message"].clone();
    document["content"]["text"] = json!(text);
    document
}

/// Checks a file of that name.
fn checked(name: &str, bytes: impl AsRef<[u8]>, arguments: &[&str]) -> Ran {
    let place = Place::new();
    fs::write(place.file(name), bytes).unwrap();
    place.run(&[&["channel", "check", name], arguments].concat())
}

#[test]
fn a_link_is_not_used_and_the_channel_is_that_of_the_folder() {
    let place = Place::new();
    for channel in ["dev", "agent-os-paper"] {
        fs::create_dir_all(place.file(&format!("channels/{channel}"))).unwrap();
        fs::write(place.file(&format!("channels/{channel}/{NAME}")), saying("hello").to_string()).unwrap();
    }
    let check = |file: &str| place.run(&["channel", "check", file, "--json"]);
    let verdict = |ran: &Ran| serde_json::from_str::<Value>(&ran.stdout).unwrap()["verdict"].clone();
    let here = check(&format!("channels/agent-os-paper/{NAME}"));
    assert_eq!((verdict(&here), here.code), (json!("ok"), Some(0)), "{}", here.stdout);
    let elsewhere = check(&format!("channels/dev/{NAME}"));
    assert!(verdict(&elsewhere) == "warn" && elsewhere.stdout.contains("session_id"), "{}", elsewhere.stdout);
    let link = place.file("msg-20260111-163316-claude-4c78.json");
    std::os::unix::fs::symlink(place.file(&format!("channels/dev/{NAME}")), &link).unwrap();
    let linked = check(link.to_str().unwrap());
    assert_eq!((verdict(&linked), linked.code), (json!("skip"), Some(1)), "{}", linked.stdout);
    assert!(linked.stdout.contains("no link is followed"), "{}", linked.stdout);
}

#[test]
fn every_vector_is_answered_as_expected_in_one_run() {
    let (calls, documents, names) = (section("is_for_us"), section("messages"), section("file_names"));
    let mut answers = answers(&[], &[calls.clone(), documents.clone(), names.clone()].concat());
    assert_eq!(answers.len(), calls.len() + documents.len() + names.len());
    let answers_to_names = answers.split_off(calls.len() + documents.len());
    let answers_to_documents = answers.split_off(calls.len());
    for (vector, answer) in calls.iter().zip(&answers) {
        for member in ["is_for_us", "is_from_us", "respond"] {
            assert_eq!(answer[member], vector[member], "{}: {answer}", vector["name"]);
        }
        assert_eq!(answer["verdict"] == "skip", vector["malformed"] == true, "{}", vector["name"]);
    }
    for (vector, answer) in documents.iter().zip(&answers_to_documents) {
        assert_eq!(answer["verdict"], vector["verdict"], "{}: {answer}", vector["name"]);
        assert_eq!(answer["is_for_us"], Value::Null, "nobody was named");
        let has_problems = answer["problems"].as_array().is_some_and(|problems| !problems.is_empty());
        assert_eq!(has_problems, vector["verdict"] != "ok", "{answer}");
    }
    for (vector, answer) in names.iter().zip(&answers_to_names) {
        let wanted = if vector["valid"] == true { "ok" } else { "skip" };
        assert_eq!(answer["verdict"], wanted, "{}", vector["file"]);
    }
    let names: Vec<_> = answers[0].as_object().unwrap().keys().collect();
    assert_eq!(names, ["is_for_us", "is_from_us", "problems", "respond", "verdict"]);
}

#[test]
fn a_bad_line_is_passed_over_and_the_next_one_answered() {
    let place = Place::new();
    let good = json!({ "agent": "codex", "message": saying("hi") }).to_string();
    let lines = [good.as_bytes(), b"", b"nonsense", b"[1]", b"\xff\xfe", b"{\"message\":", good.as_bytes()];
    fs::write(place.file("lines.jsonl"), lines.join(&b"\n"[..])).unwrap();
    let ran: Ran = place.shell("postrider channel check --jsonl < lines.jsonl").output().unwrap().into();
    let answers: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((ran.code, answers.len()), (Some(0), 7));
    for bad in &answers[1..6] {
        assert_eq!((&bad["verdict"], bad["problems"].as_array().unwrap().len()), (&json!("skip"), 1), "{bad}");
    }
    for good in [&answers[0], &answers[6]] {
        assert_eq!((&good["verdict"], &good["respond"]), (&json!("ok"), &json!(true)));
    }
}

#[test]
fn the_channel_and_the_agent_of_a_line_come_before_those_of_the_command() {
    let lines = [
        json!({ "message": saying("@gemini hi") }),
        json!({ "message": saying("@gemini hi"), "channel": "agent-os-paper", "agent": "qc-1" }),
    ];
    let told = answers(&["--channel", "dev", "--agent", "gemini"], &lines);
    assert_eq!((&told[0]["verdict"], &told[0]["respond"]), (&json!("warn"), &json!(true)), "{}", told[0]);
    assert_eq!((&told[1]["verdict"], &told[1]["respond"]), (&json!("ok"), &json!(false)), "{}", told[1]);
    assert!(told[0]["problems"][0].as_str().unwrap().starts_with("session_id: found 'agent-os-paper', wanted 'dev'"));
}

#[test]
fn a_person_sees_what_a_document_is_and_whom_it_calls() {
    let document = saying("hello @gemini").to_string();
    let told = checked(NAME, &document, &["--agent", "gemini"]);
    let used = "Can be used: chat from 'claude' to 'codex' in 'agent-os-paper'. It calls 'gemini'.\n";
    assert_eq!((told.code, told.stdout.as_str()), (Some(0), used));
    let other = checked(NAME, &document, &["--agent", "claude"]).stdout;
    assert!(other.contains("'claude' wrote it"), "{other}");
    let odd = checked("msg-20260111-163315-gemini-4c78.json", &document, &["--channel", "dev"]);
    assert_eq!(odd.code, Some(0));
    for part in ["Can be used", "from", "'gemini', as the file's name says", "session_id", "'dev'"] {
        assert!(odd.stdout.contains(part), "no '{part}' in {}", odd.stdout);
    }
    let program = checked(NAME, &document, &["--agent", "gemini", "--json"]);
    let line = json!({ "agent": "gemini", "file": NAME, "message": saying("hello @gemini") });
    assert_eq!(serde_json::from_str::<Value>(&program.stdout).unwrap(), answers(&[], &[line])[0]);
}

#[test]
fn a_document_that_cannot_be_used_fails() {
    let document = saying("é").to_string();
    let within_a_character = document.find('é').unwrap() + 1;
    let cut = checked(NAME, &document.as_bytes()[..within_a_character], &[]);
    assert_eq!(cut.code, Some(1));
    assert!(cut.stdout.starts_with("Not yet: it ends too early"), "{}", cut.stdout);
    let misnamed = checked("msg.json", &document, &[]);
    assert_eq!(misnamed.code, Some(1));
    assert!(misnamed.stdout.contains("msg-YYYYMMDD-HHMMSS-agent-hex4.json"), "{}", misnamed.stdout);
    assert_eq!(checked(NAME, "[]", &[]).code, Some(1));
    for unreadable in [&["channel", "check", "no-such-file"][..], &["channel", "check", "--jsonl", "no-such-file"]] {
        let ran = Place::new().run(unreadable);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
        assert!(ran.stderr.contains("cannot read 'no-such-file'"), "{}", ran.stderr);
    }
}
