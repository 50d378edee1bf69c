//! Waiting for mail: it comes back at once, or as soon as there is something, or when it can no longer come.
//!
//! Nothing here measures time. A wait that must come back early is asked for the longest time there is, and is known by
//! what it brings.

use serde_json::{Value, json};

use crate::harness::mcp::{as_agent, tool_call};
use crate::harness::{self, Server};

const LONGEST: i64 = 50;

fn office() -> Server {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake", "RedFox"]);
    server
}

fn waiting(name: &str, seconds: i64) -> Value {
    as_agent(name, json!({ "timeout_seconds": seconds }))
}

fn subjects(messages: &Value) -> Vec<&str> {
    messages
        .as_array()
        .expect("a list of messages")
        .iter()
        .map(|message| message["subject"].as_str().expect("a message has a subject"))
        .collect()
}

#[test]
fn unseen_mail_comes_back_at_once_oldest_first_and_stays_unread() {
    let server = office();
    for subject in ["first", "second"] {
        server.mail("GreenDog", "BlueLake", subject);
    }
    let unseen = server.call("wait_for_mail", waiting("BlueLake", LONGEST));
    assert_eq!(subjects(&unseen), ["first", "second"]);
    assert_eq!(unseen[0]["body_md"], "first, in more words.");
    let unread = server.call("fetch_inbox", as_agent("BlueLake", json!({ "unread_only": true })));
    assert_eq!(subjects(&unread), ["second", "first"]);
}

#[test]
fn mail_is_brought_once_unless_it_is_asked_for_again() {
    let server = office();
    let first = server.mail("GreenDog", "BlueLake", "first");
    server.mail("GreenDog", "BlueLake", "second");
    server.call("wait_for_mail", waiting("BlueLake", LONGEST));
    assert_eq!(server.call("wait_for_mail", waiting("BlueLake", 0)), json!([]));
    let again = as_agent("BlueLake", json!({ "timeout_seconds": LONGEST, "after_id": first }));
    assert_eq!(subjects(&server.call("wait_for_mail", again)), ["second"]);
}

#[test]
fn a_limit_leaves_the_rest_for_the_next_wait() {
    let server = office();
    for subject in ["first", "second"] {
        server.mail("GreenDog", "BlueLake", subject);
    }
    let one = as_agent("BlueLake", json!({ "timeout_seconds": LONGEST, "limit": 1 }));
    assert_eq!(subjects(&server.call("wait_for_mail", one.clone())), ["first"]);
    assert_eq!(subjects(&server.call("wait_for_mail", one)), ["second"]);
}

#[test]
fn whoever_waits_is_woken_by_mail_and_others_are_not() {
    let server = office();
    let blue = server.begin("wait_for_mail", &waiting("BlueLake", LONGEST));
    let red = server.begin("wait_for_mail", &waiting("RedFox", LONGEST));
    server.until_under_way(2);
    server.mail("GreenDog", "BlueLake", "for blue");
    assert_eq!(subjects(&blue.answer().unwrap()), ["for blue"]);
    server.until_under_way(1);
    server.mail("GreenDog", "RedFox", "for red");
    assert_eq!(subjects(&red.answer().unwrap()), ["for red"]);
}

#[test]
fn a_reply_and_a_copy_wake_like_any_mail() {
    let server = office();
    let id = server.mail("GreenDog", "BlueLake", "question");
    let green = server.begin("wait_for_mail", &waiting("GreenDog", LONGEST));
    let red = server.begin("wait_for_mail", &waiting("RedFox", LONGEST));
    server.until_under_way(2);
    let reply = json!({
        "project_key": harness::mcp::PROJECT, "message_id": id, "sender_name": "BlueLake", "body_md": "Yes.",
        "bcc": ["RedFox"],
    });
    server.call("reply_message", reply);
    assert_eq!(subjects(&green.answer().unwrap()), ["Re: question"]);
    let copy = red.answer().unwrap();
    assert_eq!((subjects(&copy), &copy[0]["role"]), (vec!["Re: question"], &json!("bcc")));
}

#[test]
fn many_who_wait_are_all_woken_by_one_message() {
    let server = Server::start();
    let names: Vec<String> = (0..40).map(|number| format!("agent-{number}")).collect();
    server.register(&["GreenDog"]);
    server.register(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let pending: Vec<_> = names.iter().map(|name| server.begin("wait_for_mail", &waiting(name, LONGEST))).collect();
    server.until_under_way(names.len());
    server.mail("GreenDog", "all", "wake up");
    for wait in pending {
        assert_eq!(subjects(&wait.answer().unwrap()), ["wake up"]);
    }
}

#[test]
fn nothing_comes_back_as_an_empty_list_when_the_time_is_over() {
    let server = office();
    assert_eq!(server.call("wait_for_mail", waiting("BlueLake", 1)), json!([]));
}

#[test]
fn a_wait_longer_than_clients_wait_is_refused_with_the_range() {
    let server = office();
    let refused = server.refused("wait_for_mail", waiting("BlueLake", LONGEST + 1));
    assert_eq!(refused.code, "INVALID_ARGUMENT");
    assert!(refused.message.contains("from 0 to 50"), "{refused:?}");
}

#[test]
fn a_wait_ends_when_its_client_goes_away_and_takes_no_mail_with_it() {
    let server = office();
    let gone = server.begin("wait_for_mail", &waiting("BlueLake", LONGEST));
    server.until_under_way(1);
    drop(gone);
    server.until_under_way(0);
    server.mail("GreenDog", "BlueLake", "still here");
    assert_eq!(subjects(&server.call("wait_for_mail", waiting("BlueLake", 0))), ["still here"]);
}

/// Clients that abort a call say so on another connection, and keep the first one open.
#[test]
fn a_cancelled_call_ends_there_and_then_and_takes_no_mail_and_no_reservation_with_it() {
    let server = office();
    let held = as_agent("GreenDog", json!({ "paths": ["src/**"], "exclusive": true }));
    server.call("file_reservation_paths", held);
    let line = as_agent("BlueLake", json!({ "paths": ["src/**"], "exclusive": true, "wait_seconds": LONGEST }));
    for (tool, arguments) in [("wait_for_mail", waiting("BlueLake", LONGEST)), ("file_reservation_paths", line)] {
        let session = [("mcp-session-id", "one-client")];
        let cancel = |headers: &[(&str, &str)], id: &str| {
            let note = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"aborted"}}}}"#
            );
            assert_eq!(server.send("POST", "/mcp", headers, note).status, 202);
        };
        std::thread::scope(|scope| {
            let call = scope.spawn(|| server.send("POST", "/mcp", &session, tool_call(tool, &arguments)));
            server.until_under_way(1);
            // Neither another call of this client nor the same number of another client.
            cancel(&session, "\"1\"");
            cancel(&[("mcp-session-id", "another-client")], "1");
            cancel(&[], "1");
            server.until_under_way(1);
            cancel(&session, "1");
            let answer = call.join().expect("an answer");
            assert_eq!((answer.status, answer.body.as_str()), (202, ""));
        });
        server.until_under_way(0);
    }
    server.mail("GreenDog", "BlueLake", "still here");
    server.call("release_file_reservations", as_agent("GreenDog", json!({})));
    assert_eq!(subjects(&server.call("wait_for_mail", waiting("BlueLake", 0))), ["still here"]);
    // The place in the line is held a little longer.
    let free = as_agent("RedFox", json!({ "paths": ["src/**"], "exclusive": true, "wait_seconds": LONGEST }));
    assert_eq!(server.call("file_reservation_paths", free)["conflicts"], json!([]));
}

#[test]
fn a_message_written_by_another_process_wakes_too() {
    let server = office();
    let id = server.mail("GreenDog", "BlueLake", "old");
    let exported = server.place.done(&["export"]);
    server.call("wait_for_mail", waiting("BlueLake", 0));
    let wait = server.begin("wait_for_mail", &waiting("BlueLake", LONGEST));
    server.until_under_way(1);
    let mut line: Value = serde_json::from_str(&exported).unwrap();
    // Later than anything of its project, or it would come out of order.
    let later = json!("2100-01-01T00:00:00.000000Z");
    let new =
        [("id", json!(id + 1)), ("subject", json!("imported")), ("thread_id", json!("T-2")), ("created_ts", later)];
    for (name, value) in new {
        line[name] = value;
    }
    line["deliveries"][0]["shown_ts"] = Value::Null;
    std::fs::write(server.place.file("more.jsonl"), line.to_string()).unwrap();
    let file = server.place.file("more.jsonl");
    let imported = server.place.json(&["import", file.to_str().unwrap()]);
    assert_eq!(imported["imported"], 1);
    assert_eq!(subjects(&wait.answer().unwrap()), ["imported"]);
}

#[test]
fn a_server_that_stops_answers_those_who_wait_and_goes() {
    let server = office();
    let mail = server.begin("wait_for_mail", &waiting("BlueLake", LONGEST));
    let held = as_agent("GreenDog", json!({ "paths": ["src/**"], "exclusive": true }));
    server.call("file_reservation_paths", held);
    let line = json!({ "paths": ["src/**"], "exclusive": true, "wait_seconds": LONGEST });
    let reservation = server.begin("file_reservation_paths", &as_agent("BlueLake", line));
    server.until_under_way(2);
    let mut events = server.subscribe(&[&harness::mcp::inbox_of("BlueLake")]);
    assert_eq!(events.event().unwrap()["method"], "notifications/subscriptions/acknowledged");
    server.ask_to_stop();
    assert_eq!(mail.answer().unwrap(), json!([]));
    assert_eq!(reservation.answer().unwrap_err().code, "FILE_RESERVATION_CONFLICT");
    assert_eq!(events.event().unwrap()["result"]["resultType"], "complete", "a stream says goodbye");
    assert_eq!(events.event(), None);
    assert_eq!(server.ended().code(), Some(0));
}

#[test]
fn a_stopped_server_can_be_started_again_at_once() {
    let server = office();
    server.mail("GreenDog", "BlueLake", "kept");
    let place = server.place.clone();
    // A connection on which nothing is asked holds nobody up.
    let _idle = server.connect().unwrap();
    server.stop();
    let server = place.serve();
    assert_eq!(subjects(&server.call("wait_for_mail", waiting("BlueLake", 0))), ["kept"]);
    server.stop();
}
