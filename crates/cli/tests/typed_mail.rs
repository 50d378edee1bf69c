//! Typed messages at the door: what a sender is told, what strict and careful offices refuse, and the board of work.

use serde_json::{Value, json};

use crate::harness::mcp::{PROJECT, as_agent, message, with};
use crate::harness::{self, Place, Server};

const WORK: &str = "resource://work/data-projects-app";
const ASKS: &str = "Bead: a-1\nIssue Type: STUCK\n\n## Problem\nNo module.\n\n## Question\nWhere is it?";

fn office() -> Server {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake"]);
    server
}

fn typed(subject: &str, body: &str) -> Value {
    with(message("GreenDog", "BlueLake", subject), json!({ "body_md": body }))
}

/// A token that nobody has, made here so that no scanner finds it in a file.
fn secret() -> String {
    format!("ghp_{}", &"a1B2c3D4e5F6g7H8i9J0".repeat(2)[..36])
}

#[test]
fn a_sender_is_told_what_is_wrong_with_a_typed_message_that_was_sent_all_the_same() {
    let server = office();
    let sent = server.call("send_message", typed("[a-1] DONE", "Status: DONE"));
    assert_eq!((&sent["kind"], &sent["work_id"], &sent["thread_id"]), (&json!("DONE"), &json!("a-1"), &json!("a-1")));
    let problems = sent["problems"].as_array().expect("it has faults");
    assert!(problems.iter().any(|problem| problem["path"] == "commit_sha"), "{sent}");
    assert!(problems.iter().all(|problem| problem["message"].is_string()), "{sent}");
    let plain = server.call("send_message", typed("Lunch?", "At one."));
    assert_eq!((plain.get("problems"), plain.get("warnings")), (None, None), "{plain}");
}

#[test]
fn strict_refuses_a_malformed_message_with_all_its_problems() {
    let server = office();
    let strict = |subject: &str, body: &str| with(typed(subject, body), json!({ "strict": true }));
    let refused = server.refused("send_message", strict("[a-1] DONE", "Status: DONE"));
    assert_eq!(refused.structured["error"]["code"], "MALFORMED_MESSAGE");
    let paths: Vec<_> = refused.structured["problems"].as_array().unwrap().iter().map(|one| &one["path"]).collect();
    assert!(paths.contains(&&json!("commit_sha")) && paths.contains(&&json!("summary")), "{paths:?}");
    let id = "msg-3f2b8a10-5c6d-4e7f-8a9b-0c1d2e3f4a5b";
    let body = json!({
        "version": "1.0.0", "timestamp": "2026-01-06T10:20:30Z", "sender_id": "GreenDog", "message_id": id,
        "type": "status_update", "update_type": "progress", "status_summary": "s", "blockers": [],
    });
    let refused = server.refused("send_message", strict("x", &body.to_string()));
    let wanted = json!({ "error": "invalid_format", "details": "Missing required field: task_id", "message_id": id });
    assert_eq!(refused.structured["rejection"], wanted);
    let prose = server.refused("send_message", strict("Lunch?", "At one."));
    assert_eq!(prose.code, "MALFORMED_MESSAGE", "who asks for strict means a typed message");
    assert_eq!(server.read(WORK)["items"], json!([]), "nothing was kept");
    server.call("send_message", strict("HELP_REQUEST", ASKS));
}

#[test]
fn a_secret_is_warned_of_and_stands_in_no_log() {
    let place = Place::new();
    let server = place.serve_with(&[], &[("POSTRIDER_LOG", "trace")]);
    server.register(&["GreenDog", "BlueLake"]);
    let sent = server.call("send_message", typed("Keys", &format!("The token is\n{}", secret())));
    assert_eq!(sent["warnings"][0]["code"], "SECRET_SUSPECTED");
    assert_eq!(sent["warnings"][0]["message"], "body_md line 2 looks like a GitHub token ('github_token')");
    server.stop();
    assert!(place.log().contains("stopping"), "the log is written: {}", place.log());
    assert!(!place.log().contains(&secret()[4..20]), "the log repeats it");
}

#[test]
fn a_careful_office_refuses_a_secret_without_repeating_it() {
    let place = Place::with_settings("secrets = \"refuse\"\nlog = \"trace\"\n");
    let server = place.serve();
    server.register(&["GreenDog", "BlueLake"]);
    let body = format!("{{\"type\": \"task_assignment\", \"priority\": \"{}\"}}", secret());
    let refused = server.refused("send_message", with(typed("x", &body), json!({ "strict": true })));
    assert_eq!(refused.structured["error"]["code"], "SECRET_REFUSED");
    assert!(!refused.structured.to_string().contains(&secret()[4..20]));
    assert_eq!(server.call("fetch_inbox", as_agent("BlueLake", json!({}))), json!([]));
    server.stop();
    assert!(place.log().contains("stopping"), "the log is written: {}", place.log());
    assert!(!place.log().contains(&secret()[4..20]), "the log repeats it");
}

#[test]
fn mail_is_asked_for_by_kind_and_work() {
    let server = office();
    for (subject, body) in [("[a-1] PROGRESS", "Step: needle"), ("[a-2] DONE", "needle"), ("Hello", "needle")] {
        server.call("send_message", typed(subject, body));
    }
    let subjects = |tool: &str, more: Value| -> Vec<String> {
        let asked = with(json!({ "project_key": PROJECT }), more);
        let found = server.call(tool, asked);
        found.as_array().unwrap().iter().map(|one| one["subject"].as_str().unwrap().to_owned()).collect()
    };
    let inbox = |more| subjects("fetch_inbox", with(json!({ "agent_name": "BlueLake" }), more));
    assert_eq!(inbox(json!({ "kind": "done" })), ["[a-2] DONE"]);
    assert_eq!(inbox(json!({ "work_id": "a-1" })), ["[a-1] PROGRESS"]);
    assert_eq!(subjects("search_messages", json!({ "query": "needle", "kind": "PROGRESS" })), ["[a-1] PROGRESS"]);
    assert_eq!(subjects("search_messages", json!({ "query": "needle", "work_id": "a-2" })), ["[a-2] DONE"]);
    let refused = server.refused("fetch_inbox", as_agent("BlueLake", json!({ "kind": "finished" })));
    assert!(
        refused.message.contains("'finished'") && refused.message.contains("task_completion"),
        "{}",
        refused.message
    );
    let narrowed = server.read(&format!("{}&kind=DONE", harness::mcp::inbox_of("BlueLake")));
    assert_eq!(narrowed["count"], 1);
}

#[test]
fn the_board_tells_how_each_piece_of_work_stands() {
    let server = office();
    server.call("send_message", typed("BEAD_ACCEPTED", "Accepted bead: a-1\nTitle: Parser"));
    let asked = server.call("send_message", typed("HELP_REQUEST", ASKS))["id"].clone();
    let update = r#"{"type":"status_update","task_id":"a-2","status_summary":"ok","progress":{"percentage":70}}"#;
    server.call("send_message", typed("[a-2] news", update));
    let board = server.read(WORK);
    let items = board["items"].as_array().unwrap();
    assert_eq!(
        (&items[0]["work_id"], &items[0]["state"], &items[0]["percent"]),
        (&json!("a-2"), &json!("in_progress"), &json!(70.0))
    );
    let stuck = &items[1];
    assert_eq!(
        (&stuck["work_id"], &stuck["state"], &stuck["title"]),
        (&json!("a-1"), &json!("help_wanted"), &json!("Parser"))
    );
    assert_eq!((&stuck["agent"], &stuck["help"]["message_id"]), (&json!("GreenDog"), &asked));
    assert_eq!((&stuck["help"]["question"], &stuck["help"]["overdue"]), (&json!("Where is it?"), &json!(false)));
    assert_eq!(stuck["open_acks"], json!([{ "message_id": asked, "agent": "BlueLake" }]));
    let help = json!({ "project_key": PROJECT, "sender_name": "BlueLake", "message_id": asked, "body_md": "In lib." });
    server.call("reply_message", help);
    server.call("acknowledge_message", as_agent("BlueLake", json!({ "message_id": asked })));
    let told = server.read(&format!("{WORK}?id=a-1"));
    assert_eq!((&told["item"]["state"], &told["item"]["open_acks"]), (&json!("accepted"), &json!([])));
    let story: Vec<_> = told["story"].as_array().unwrap().iter().map(|one| (&one["kind"], &one["gist"])).collect();
    assert_eq!(
        story,
        [
            (&json!("BEAD_ACCEPTED"), &json!("Parser")),
            (&json!("HELP_REQUEST"), &json!("STUCK · Where is it?")),
            (&json!("HELP_RESPONSE"), &json!("In lib.")),
        ]
    );
    assert_eq!(server.read(&format!("{WORK}?state=in_progress&agent=GreenDog"))["items"].as_array().unwrap().len(), 1);
}

#[test]
fn a_board_is_read_in_pages_and_refuses_what_it_does_not_know() {
    let server = office();
    for id in 1..=3 {
        server.call("send_message", typed(&format!("[a-{id}] PROGRESS"), "Step: 1"));
    }
    let mut seen = Vec::new();
    let mut next = Some(format!("{WORK}?limit=2&state=in_progress"));
    while let Some(uri) = next {
        let page = server.read(&uri);
        seen.extend(page["items"].as_array().unwrap().iter().map(|item| item["work_id"].as_str().unwrap().to_owned()));
        next = page["next"].as_str().map(str::to_owned);
    }
    assert_eq!(seen, ["a-3", "a-2", "a-1"]);
    for (query, help) in [("state=finished", "help_wanted"), ("id=a-9", "a-1"), ("sate=done", "'state'")] {
        let answer = server.rpc("resources/read", json!({ "uri": format!("{WORK}?{query}") }));
        assert!(answer["error"].to_string().contains(help), "{query}: {answer}");
    }
}

#[test]
fn who_watches_the_board_hears_of_mail_and_acks_and_of_nothing_else() {
    let server = office();
    let mut stream = server.subscribe(&[WORK]);
    let first = stream.event().unwrap();
    assert_eq!(first["params"]["notifications"]["resourceSubscriptions"], json!([WORK]));
    server.call("file_reservation_paths", as_agent("BlueLake", json!({ "paths": ["a.rs"] })));
    let id = server.call("send_message", typed("HELP_REQUEST", ASKS))["id"].clone();
    assert_eq!(stream.event().unwrap()["params"]["uri"], WORK);
    server.call("mark_message_read", as_agent("BlueLake", json!({ "message_id": id })));
    server.call("acknowledge_message", as_agent("BlueLake", json!({ "message_id": id })));
    assert_eq!(stream.event().unwrap()["params"]["uri"], WORK);
}
