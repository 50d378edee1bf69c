//! Our binary as the mail program of another tool: every promise of a provider, driven as such a tool drives it, with a
//! server and without; and the traps that break real callers.

use std::io::Write;
use std::os::unix::fs::symlink;
use std::process::Stdio;
use std::sync::Arc;

use mail::provider::suite::Shared;
use serde_json::{Value, json};
use store::Exec;

use crate::harness::{Place, Ran, Server};

/// The program under the name that stands for nothing but this, as a tool is configured with it.
fn exec(place: &Place) -> Shared {
    let link = place.file("postrider-exec-mail");
    symlink(env!("CARGO_BIN_EXE_postrider"), &link).unwrap();
    let city = place.file("city").to_str().unwrap().to_owned();
    let home = place.home().to_str().unwrap().to_owned();
    Arc::new(Exec::new(link, vec![("GC_CITY".to_owned(), city), ("POSTRIDER_HOME".to_owned(), home)]))
}

mod without_a_server {
    async fn fresh() -> (super::Shared, super::Place) {
        let place = super::Place::new();
        (super::exec(&place), place)
    }

    testing::provider_suite!(fresh);
}

mod through_a_server {
    async fn fresh() -> (super::Shared, super::Server) {
        let server = super::Server::start();
        (super::exec(&server.place), server)
    }

    testing::provider_suite!(fresh);
}

/// One operation, with this on standard input.
fn operation(place: &Place, words: &[&str], input: &str) -> Ran {
    let mut command = place.command(&[&["exec-mail"], words].concat());
    command.env("GC_CITY", place.file("city")).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // An operation that takes no input may be over before it is written.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().unwrap().into()
}

fn sent(place: &Place, to: &str, words: &Value) -> Value {
    let ran = operation(place, &["send", to], &words.to_string());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

fn hello() -> Value {
    json!({ "from": "mayor", "subject": "Hello", "body": "How are you?" })
}

#[test]
fn only_an_unknown_operation_exits_with_2() {
    let place = Place::new();
    for (words, input, code) in [
        (&["frobnicate"][..], "", 2),
        (&["--frobnicate"], "", 2),
        (&[], "", 1),
        (&["", "17"], "", 1),
        (&["send"], "{}", 1),
        (&["send", "bob"], "", 1),
        (&["send", "bob"], "[]", 1),
        (&["send", "bob"], r#"{"subject":"s","body":"nobody wrote it"}"#, 1),
        (&["inbox"], "", 1),
        (&["inbox", "bob", "carol"], "", 1),
        (&["inbox", "bob"], "", 0),
        (&["ensure-running"], "", 0),
    ] {
        let ran = operation(&place, words, input);
        assert_eq!(ran.code, Some(code), "{words:?} {input}: {}", ran.stderr);
        assert!(ran.stdout.is_empty() && ran.stderr.is_empty() == (code == 0), "{words:?}: {}", ran.stderr);
    }
}

#[test]
fn whoever_asks_for_help_or_the_version_first_gets_it_and_a_name_is_no_question() {
    let place = Place::new();
    let link = place.file("postrider-exec-mail");
    symlink(env!("CARGO_BIN_EXE_postrider"), &link).unwrap();
    for (question, answer) in
        [("--help", "Exit codes:"), ("-h", "Exit codes:"), ("--version", "postrider "), ("-V", "postrider ")]
    {
        let ran = operation(&place, &[question], "");
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{question}");
        assert!(ran.stdout.contains(answer), "{question}: {}", ran.stdout);
        let linked =
            std::process::Command::new(&link).arg(question).env("POSTRIDER_HOME", place.home()).output().unwrap();
        assert_eq!(String::from_utf8(linked.stdout).unwrap(), ran.stdout);
    }
    let ran = operation(&place, &["inbox", "--help"], "");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "a name may look like an option");
}

#[test]
fn options_before_the_command_count() {
    let (place, other) = (Place::new(), Place::new());
    sent(&place, "bob", &hello());
    let home = place.home();
    let mut command = other.command(&["--home", home.to_str().unwrap(), "exec-mail", "count", "bob"]);
    let ran = Ran::from(command.env("GC_CITY", place.file("city")).output().unwrap());
    assert_eq!(ran.stdout, "{\"total\":1,\"unread\":1}\n", "{}", ran.stderr);
}

#[test]
fn an_empty_list_is_no_output() {
    let place = Place::new();
    sent(&place, "bob", &hello());
    for words in [["inbox", "carol"], ["check", "carol"], ["all", "carol"], ["thread", "nothing"]] {
        let ran = operation(&place, &words, "");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{words:?}");
    }
}

#[test]
fn names_are_raw_and_whoever_is_named_has_a_mailbox() {
    let place = Place::new();
    for name in ["-s", "--to", "rig/polecat-3", "a b", "市長", " x ", "'; DROP TABLE agent; --"] {
        let delivery = sent(&place, name, &json!({ "from": name, "subject": "-", "body": "" }));
        assert_eq!((delivery["from"].as_str(), delivery["to"].as_str()), (Some(name), Some(name)));
        let inbox: Value = serde_json::from_str(&operation(&place, &["inbox", name], "").stdout).unwrap();
        assert_eq!(inbox, json!([delivery]), "{name}");
    }
}

#[test]
fn a_delivery_has_the_fields_that_callers_read_and_no_others() {
    let place = Place::new();
    let delivery = sent(&place, "bob", &hello());
    let created_at = delivery["created_at"].as_str().unwrap();
    assert!(created_at.ends_with('Z') && created_at.parse::<jiff::Timestamp>().is_ok(), "{created_at}");
    let expected = json!({
        "id": "1", "from": "mayor", "to": "bob", "subject": "Hello", "body": "How are you?",
        "created_at": created_at, "read": false, "thread_id": "1",
    });
    assert_eq!(delivery, expected);
    let reply = operation(&place, &["reply", "1"], r#"{"from":"bob","subject":"","body":"Well."}"#);
    let reply: Value = serde_json::from_str(&reply.stdout).unwrap();
    assert_eq!((&reply["reply_to"], &reply["thread_id"], &reply["subject"]), (&json!("1"), &json!("1"), &json!("")));
}

#[test]
fn callers_are_told_in_the_words_that_they_look_for() {
    let place = Place::new();
    sent(&place, "bob", &hello());
    for words in [["get", "99"], ["read", "x y"], ["archive", ""], ["delete", "-1"], ["mark-read", "1.7"]] {
        let ran = operation(&place, &words, "");
        assert_eq!(ran.code, Some(1), "{words:?}");
        assert!(ran.stderr.starts_with("gc-mail-error:not-found"), "{words:?}: {}", ran.stderr);
    }
    assert_eq!(operation(&place, &["archive", "1"], "").code, Some(0));
    for again in ["archive", "delete"] {
        let ran = operation(&place, &[again, "1"], "");
        assert_eq!(ran.code, Some(1));
        assert!(ran.stderr.contains("already archived"), "{}", ran.stderr);
    }
}

#[test]
fn whoever_calls_is_the_sender_when_none_is_named() {
    let place = Place::new();
    let mut command = place.command(&["exec-mail", "send", "bob"]);
    command.env("GC_CITY", place.file("city")).env("GC_AGENT", "deacon").env("GC_ALIAS", "");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(br#"{"from":"","subject":"s","body":"b"}"#).unwrap();
    let delivery: Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(delivery["from"], "deacon");
}

#[test]
fn what_is_sent_at_this_door_is_in_the_mailbox_of_every_other() {
    let server = Server::start();
    let place = &server.place;
    let city = place.file("city").to_str().unwrap().to_owned();
    sent(place, "bob", &hello());
    let over_mcp = |tool: &str, more: Value| {
        let mut arguments = json!({ "project_key": city, "agent_name": "bob" });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        server.call(tool, arguments)
    };
    assert_eq!(over_mcp("fetch_inbox", json!({}))[0]["subject"], "Hello");
    over_mcp("mark_message_read", json!({ "message_id": 1 }));
    assert_eq!(operation(place, &["inbox", "bob"], "").stdout, "");
    operation(place, &["mark-unread", "1"], "");
    assert_eq!(over_mcp("fetch_inbox", json!({ "unread_only": true }))[0]["id"], 1);
    operation(place, &["archive", "1"], "");
    assert_eq!(over_mcp("fetch_inbox", json!({})), json!([]));
}
