//! What a sender sees of what it sent: who read it, who acknowledged it, and with which words.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::mcp::PROJECT;
use crate::harness::{Place, Ran, Server};

fn mail(place: &Place, name: &str, words: &[&str]) -> Command {
    place.command(&[&["mail"], words, &["--as", name, "--project", PROJECT]].concat())
}

fn done(place: &Place, name: &str, words: &[&str]) -> String {
    let ran = Ran::from(mail(place, name, words).output().expect("the binary runs"));
    assert_eq!(ran.code, Some(0), "{words:?} failed: {}", ran.stderr);
    ran.stdout
}

fn told(place: &Place, name: &str, words: &[&str]) -> Value {
    serde_json::from_str(&done(place, name, &[words, &["--json"]].concat())).expect("--json prints JSON")
}

/// A message of GreenDog that BlueLake has acknowledged and RedFox has not read.
fn followed(place: &Place) {
    for name in ["GreenDog", "BlueLake", "RedFox"] {
        place.done(&["join", name, "--project", PROJECT]);
    }
    done(place, "GreenDog", &["send", "BlueLake", "--cc", "RedFox", "-s", "The plan", "-m", "Text.", "--ack"]);
    done(place, "BlueLake", &["ack", "1", "-m", "Fine."]);
}

fn the_sender_sees_what_became_of_each_delivery(place: &Place) {
    followed(place);
    let sent = told(place, "GreenDog", &["sent"]);
    assert_eq!(sent.as_array().map(Vec::len), Some(1), "{sent}");
    let (first, second) = (&sent[0]["recipients"][0], &sent[0]["recipients"][1]);
    assert_eq!((&first["name"], &first["read"], &first["note"]), (&json!("BlueLake"), &json!(true), &json!("Fine.")));
    assert!(first["acknowledged_at"].is_string());
    assert_eq!(second, &json!({ "name": "RedFox", "role": "cc", "read": false }));
    for words in [&["thread", "1"][..], &["peek", "1"]] {
        let shown = done(place, "GreenDog", words);
        assert!(shown.contains("BlueLake (acknowledged: Fine.)"), "{shown}");
        assert!(shown.contains("RedFox (unread)"), "{shown}");
        assert!(!shown.contains("Wants:"), "nothing is wanted of the sender: {shown}");
    }
    assert_eq!(told(place, "GreenDog", &["peek", "1"])["recipients"], sent[0]["recipients"]);
    done(place, "RedFox", &["mark-read", "1"]);
    assert!(done(place, "GreenDog", &["sent"]).contains("read, not acknowledged"));
}

#[test]
fn the_sender_sees_what_became_of_each_delivery_at_a_server() {
    the_sender_sees_what_became_of_each_delivery(&Server::start().place);
}

#[test]
fn the_sender_sees_what_became_of_each_delivery_without_a_server() {
    the_sender_sees_what_became_of_each_delivery(&Place::new());
}

#[test]
fn others_see_their_own_delivery_and_are_asked_for_their_own_acknowledgement() {
    let place = Place::new();
    followed(&place);
    let shown = done(&place, "RedFox", &["peek", "1"]);
    assert!(shown.contains("Wants:    an acknowledgement, given with: postrider mail ack 1.2"), "{shown}");
    assert!(!shown.contains("Fine."), "{shown}");
    assert!(!done(&place, "BlueLake", &["peek", "1"]).contains("Wants:"), "it was given");
    assert!(!done(&place, "BlueLake", &["peek", "1.2"]).contains("Wants:"), "it is wanted of somebody else");
    assert_eq!(told(&place, "RedFox", &["peek", "1"]).get("recipients"), None);
    assert_eq!(told(&place, "RedFox", &["sent"]), json!([]));
}

#[test]
fn an_acknowledgement_ends_the_wait_if_it_was_asked_for() {
    let place = Place::new();
    followed(&place);
    let words = ["send", "BlueLake", "-s", "Stop", "-m", "Now.", "--ack", "--wait=3600", "--json"];
    let mut command = mail(&place, "GreenDog", &words);
    let asked = command.stdout(Stdio::piped()).spawn().expect("the binary starts");
    while told(&place, "BlueLake", &["count"])["unread"] == 0 {}
    done(&place, "BlueLake", &["ack", "2", "-m", "I stop."]);
    let ran = Ran::from(asked.wait_with_output().expect("the binary ends"));
    let answer: Value = serde_json::from_str(&ran.stdout).expect("--json prints JSON");
    let acknowledged = &answer["acknowledged"];
    assert_eq!((ran.code, &answer["answer"]), (Some(0), &Value::Null), "{answer}");
    assert_eq!((&acknowledged["name"], &acknowledged["note"]), (&json!("BlueLake"), &json!("I stop.")));
}
