//! Messages in JSON at every door: files are reserved, faults are seen by both sides, and what nobody can read is reported.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::mcp::{PROJECT, as_agent, message, with};
use crate::harness::{self, Place, Server};

/// A valid message of that type from that sender.
fn said(kind: &str, sender: &str, number: u32, fields: Value) -> String {
    let base = json!({
        "version": "1.0.0", "timestamp": "2026-01-06T10:20:30Z", "sender_id": sender, "type": kind, "task_id": "bd-42",
        "message_id": format!("msg-{number:08}-5c6d-4e7f-8a9b-0c1d2e3f4a5b"),
    });
    with(base, fields).to_string()
}

fn asking(sender: &str, number: u32, pattern: &str, alternatives: Value) -> String {
    let request = json!({ "mode": "exclusive", "file_patterns": [pattern], "duration_minutes": 30 });
    said("file_reservation", sender, number, json!({ "reservation_request": request, "alternatives": alternatives }))
}

fn send(server: &Server, sender: &str, body: &str, more: Value) -> Value {
    let to = if sender == "Ann" { "Bob" } else { "Ann" };
    server.call("send_message", with(with(message(sender, to, "x"), json!({ "body_md": body })), more))
}

/// What the office wrote to an agent, oldest first.
fn told(server: &Server, agent: &str) -> Vec<Value> {
    let inbox = server.call("fetch_inbox", as_agent(agent, json!({ "limit": 100 })));
    let told = inbox.as_array().unwrap().iter().rev().filter(|one| one["from"] == "postrider");
    told.cloned().collect()
}

#[test]
fn a_request_is_granted_refused_or_granted_by_an_alternative_and_its_sender_has_that_twice() {
    let server = Server::start();
    server.register(&["Ann", "Bob"]);
    let first = send(&server, "Ann", &asking("Ann", 1, "src/**", json!([])), json!({ "strict": true }));
    let granted = &first["reservation"]["granted"][0];
    assert_eq!((&granted["path_pattern"], &granted["exclusive"]), (&json!("src/**"), &json!(true)));
    let told_ann = told(&server, "Ann");
    assert_eq!((told_ann.len(), &told_ann[0]["id"]), (1, &first["reservation"]["message_id"]));
    assert_eq!((&told_ann[0]["subject"], &told_ann[0]["reply_to"]), (&first["reservation"]["message"], &first["id"]));

    let refused = send(&server, "Bob", &asking("Bob", 2, "src/a.rs", json!([])), json!({}));
    assert_eq!((&refused["reservation"]["granted"], refused.get("problems")), (&json!([]), None));
    let conflict = &refused["reservation"]["conflicts"][0];
    assert_eq!((&conflict["holder"], &conflict["held_path"]), (&json!("Ann"), &json!("src/**")));
    let report = told(&server, "Bob").remove(0);
    assert_eq!((&report["kind"], &report["work_id"]), (&json!("error_report"), &json!("bd-42")));

    let alternatives =
        json!([{ "pattern": "src/b.rs" }, { "pattern": "docs/**", "mode": "shared", "note": "to read" }]);
    let other = send(&server, "Bob", &asking("Bob", 3, "src/a.rs", alternatives), json!({ "idempotency_key": "k" }));
    let outcome = &other["reservation"];
    assert_eq!((&outcome["alternative"], &outcome["granted"][0]["exclusive"]), (&json!(2), &json!(false)));
    assert_eq!(told(&server, "Bob").len(), 2);
    let held = server.read("resource://reservations/data-projects-app");
    assert_eq!(held["reservations"].as_array().map(Vec::len), Some(2), "{held}");
    // The board is told by the agents.
    assert_eq!(server.read("resource://work/data-projects-app?id=bd-42")["item"]["state"], "mentioned");
}

#[test]
fn whoever_receives_a_malformed_message_is_told_wherever_it_looks() {
    let place = Place::new();
    let server = place.serve();
    server.register(&["Ann", "Bob"]);
    let body =
        said("status_update", "Cid", 1, json!({ "update_type": "status", "status_summary": "s", "blockers": [] }));
    let sent = send(&server, "Ann", &body, json!({ "thread_id": "t" }));
    send(&server, "Ann", "Hello", json!({ "thread_id": "t" }));
    let paths = |message: &Value| -> Vec<String> {
        let problems = message["problems"].as_array().cloned().unwrap_or_default();
        problems.iter().map(|problem| problem["path"].as_str().unwrap().to_owned()).collect()
    };
    let wanted = ["update_type", "sender_id"];
    assert_eq!(paths(&sent), wanted);
    for include_bodies in [true, false] {
        let more = json!({ "include_bodies": include_bodies, "thread_id": "t" });
        let inbox = server.call("fetch_inbox", as_agent("Bob", more));
        assert_eq!((paths(&inbox[1]), inbox[0].get("problems")), (wanted.map(str::to_owned).to_vec(), None));
    }
    let id = sent["id"].as_i64().unwrap();
    for (uri, place) in [
        (format!("resource://message/{id}?project=data-projects-app"), "/message"),
        ("resource://thread/t?project=data-projects-app".to_owned(), "/messages/0"),
        (harness::mcp::inbox_of("Bob"), "/messages/1"),
    ] {
        let read = server.read(&uri);
        let message = read.pointer(place).unwrap_or(&read);
        assert_eq!(paths(message), wanted, "{uri}: {read}");
    }
    let waited = server.call("wait_for_mail", as_agent("Bob", json!({ "timeout_seconds": 0 })));
    assert!(waited.to_string().contains("wanted progress, milestone"), "{waited}");
    drop(server);
    let read = place.done(&["mail", "peek", &id.to_string(), "--as", "Bob", "--project", PROJECT]);
    assert!(read.contains("Problem:  sender_id: found 'Cid', wanted 'Ann'"), "{read}");
    let list = place.done(&["mail", "inbox", "--as", "Bob", "--project", PROJECT]);
    assert!(list.lines().any(|line| line.ends_with("malformed")), "{list}");
}

#[test]
fn a_message_of_an_unknown_type_is_reported_and_logged_without_its_body() {
    let place = Place::new();
    let server = place.serve();
    server.register(&["Ann", "Bob"]);
    let sent = send(&server, "Ann", &said("gossip", "Ann", 1, json!({ "text": "confidential" })), json!({}));
    assert_eq!(sent["problems"][0]["path"], "type");
    let report: Value = serde_json::from_str(told(&server, "Ann")[0]["body_md"].as_str().unwrap()).unwrap();
    assert_eq!((&report["error"]["code"], &report["type"]), (&json!("unknown_type"), &json!("error_report")));
    send(&server, "Ann", &said("error_report", "Ann", 2, json!({ "version": "2.0.0" })), json!({}));
    assert_eq!(told(&server, "Ann").len(), 1, "a report is never reported on");
    server.stop();
    let log = place.log();
    let line = log.lines().find(|line| line.contains("unknown type")).expect("it is logged");
    assert!(line.contains("gossip") && line.contains("Ann") && line.contains(PROJECT), "{line}");
    assert!(!log.contains("confidential"), "{log}");
}

#[test]
fn at_the_terminal_the_receipt_tells_what_was_reserved() {
    let place = Place::new();
    for name in ["Ann", "Bob"] {
        place.done(&["join", "--as", name, "--project", PROJECT]);
    }
    let send = |from: &str, to: &str, number: u32| {
        let body = asking(from, number, "src/**", json!([]));
        place.done(&["mail", "send", to, "--as", from, "-s", "files", "-m", &body, "--project", PROJECT])
    };
    let receipt = send("Ann", "Bob", 1);
    assert!(receipt.contains("\nReserved: 'src/**' (exclusive) until 2"), "{receipt}");
    let receipt = send("Bob", "Ann", 2);
    assert!(receipt.contains("\nNot reserved: 'src/**' is reserved by 'Ann' until 2"), "{receipt}");
}

#[test]
fn after_a_kill_each_message_that_asked_for_files_has_its_answer_once() {
    const AT_ONCE: u32 = 24;
    let place = Place::new();
    let mut server = place.serve();
    server.register(&["Ann", "Bob"]);
    for round in 0..3 {
        let asked = |number: u32| {
            let number = round * AT_ONCE + number;
            let body = asking("Ann", number, &format!("src/{number}.rs"), json!([]));
            with(message("Ann", "Bob", "x"), json!({ "body_md": body, "idempotency_key": format!("k{number}") }))
        };
        let under_way: Vec<_> = (0..AT_ONCE).map(|number| server.begin("send_message", &asked(number))).collect();
        // What is repeated under its key is the first one again, or new.
        server.call("send_message", asked(0));
        server.kill();
        drop(under_way);
        server = place.serve();
    }
    let inbox = server.call("fetch_inbox", as_agent("Bob", json!({ "limit": 100 })));
    let ids = |messages: &[Value], field: &str| -> Vec<i64> {
        messages.iter().map(|message| message[field].as_i64().unwrap()).collect()
    };
    let kept = ids(inbox.as_array().unwrap(), "id");
    let answered = ids(&told(&server, "Ann"), "reply_to");
    assert!(kept.len() >= 3);
    assert_eq!(answered.len(), kept.len(), "each has one answer");
    assert_eq!(answered.into_iter().collect::<BTreeSet<_>>(), kept.into_iter().collect());
}
