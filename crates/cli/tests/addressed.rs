//! Addresses beyond a name, how recipients stand, and short answers, at every door.

use serde_json::{Value, json};

use crate::driven::{self, Home};
use crate::harness::http::Answer;
use crate::harness::mcp::{PROJECT, answer_of, as_agent, message, modern_request, tool_call, with};
use crate::harness::{Place, Server};
use crate::hooks::Agent;

const OTHER: &str = "/data/projects/other";

fn team() -> Server {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake"]);
    server
}

/// What a client in a session is answered.
fn in_session(server: &Server, tool: &str, arguments: &Value) -> Answer {
    let (session, _) = server.initialize("2025-11-25");
    server.send("POST", "/mcp", &[("Mcp-Session-Id", &session)], tool_call(tool, arguments))
}

fn modern(server: &Server, client: Value, tool: &str, arguments: &Value) -> Value {
    let (headers, body) = modern_request("tools/call", json!({ "name": tool, "arguments": arguments }));
    let mut body: Value = serde_json::from_str(&body).unwrap();
    body["params"]["_meta"]["io.modelcontextprotocol/clientInfo"] = client;
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    answer_of(&server.send("POST", "/mcp", &headers, body.to_string())).unwrap()
}

#[test]
fn whoever_said_who_it_is_gets_no_copy_of_what_it_wrote() {
    let server = team();
    let said = message("GreenDog", "BlueLake", "Hello");
    let is_brief = |answer: &Value| {
        let text = answer.to_string();
        assert!(answer["id"].is_i64() && answer["to"][0].is_string() && answer["thread_id"].is_string(), "{answer}");
        !text.contains("in more words") && !text.contains("deliveries") && answer.get("subject").is_none()
    };
    assert!(is_brief(&answer_of(&in_session(&server, "send_message", &said)).unwrap()));
    assert!(is_brief(&modern(&server, json!({ "name": "claude-code", "version": "2" }), "send_message", &said)));
    let bare = server.call("send_message", said.clone());
    assert!(!is_brief(&bare) && bare["deliveries"][0]["payload"]["body_md"] == "Hello, in more words.", "{bare}");
    for client in [Value::Null, json!({ "name": "postrider", "version": "0" })] {
        assert!(!is_brief(&modern(&server, client.clone(), "send_message", &said)), "{client}");
    }
    let reply =
        json!({ "project_key": PROJECT, "message_id": 1, "sender_name": "BlueLake", "body_md": "In more words" });
    let answer = answer_of(&in_session(&server, "reply_message", &reply)).unwrap();
    assert!(is_brief(&answer) && answer["to"] == json!(["GreenDog"]), "{answer}");
}

#[test]
fn a_client_on_standard_input_that_began_with_initialize_gets_the_short_answer() {
    let home = Home::new();
    for is_joined in [false, true] {
        let _server = is_joined.then(|| home.serve(&[], &[]));
        let mut client = home.client();
        client.register("Anna");
        let send = json!({ "name": "send_message", "arguments": driven::message("Anna", "Anna", "Note") });
        let bare = client.ask("tools/call", send.clone())["result"]["structuredContent"].clone();
        assert!(bare["deliveries"].is_array(), "{bare}");
        client.initialize();
        let brief = client.ask("tools/call", send)["result"]["structuredContent"].clone();
        assert!(brief["id"].is_i64() && brief.get("deliveries").is_none(), "{brief}");
    }
}

#[test]
fn a_reply_at_any_door_leaves_nothing_unread() {
    let server = team();
    let place = &server.place;
    let unread = || server.call("fetch_inbox", as_agent("BlueLake", json!({ "unread_only": true })));
    let terminal = |words: &[&str]| place.done(&[words, &["--as", "BlueLake", "--project", PROJECT]].concat());
    for door in ["tool", "terminal", "ack"] {
        let id = server.mail("GreenDog", "BlueLake", door);
        assert_eq!(unread()[0]["id"], id);
        match door {
            "tool" => {
                let words = json!({ "message_id": id, "sender_name": "BlueLake", "body_md": "Yes." });
                server.call("reply_message", with(json!({ "project_key": PROJECT }), words));
            }
            "terminal" => _ = terminal(&["mail", "reply", &id.to_string(), "-m", "Yes."]),
            _ => {
                terminal(&["mail", "ack", &id.to_string()]);
                terminal(&["mail", "mark-unread", &id.to_string()]);
                terminal(&["mail", "ack", &id.to_string()]);
            }
        }
        assert_eq!(unread(), json!([]), "{door}");
    }
    let blue = Agent::new(place, "claude", Some("BlueLake"));
    assert!(!blue.told("SessionStart").unwrap().contains("Unread"), "the digest says so, too");
}

#[test]
fn a_role_is_taken_at_the_terminal_and_its_mail_comes_along() {
    let server = team();
    let place = &server.place;
    let by = |name: &str, words: &[&str]| place.run(&[words, &["--as", name, "--project", PROJECT]].concat());
    let sent = by("GreenDog", &["mail", "send", "role:reviewer", "-s", "Review", "-m", "Please."]);
    assert!(sent.stdout.contains("Nobody holds 'role:reviewer' now: it waits"), "{}", sent.stdout);
    assert!(by("GreenDog", &["role", "list"]).stdout.contains("reviewer: nobody; a message waits"));
    let taken = by("BlueLake", &["role", "take", "reviewer", "--for", "2h"]);
    assert!(taken.stdout.contains("A message that waited is in your inbox."), "{}", taken.stdout);
    assert!(by("BlueLake", &["mail", "inbox"]).stdout.contains("Review"));
    let refused = by("GreenDog", &["role", "take", "reviewer"]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("is held by BlueLake") && refused.stderr.contains("ROLE_HELD"),
        "{}",
        refused.stderr
    );
    let held = by("GreenDog", &["mail", "send", "role:reviewer", "-s", "Again", "-m", "Please."]);
    assert!(held.stdout.contains("'role:reviewer' is held by BlueLake."), "{}", held.stdout);
    assert!(by("BlueLake", &["role", "release", "reviewer"]).stdout.contains("gave role 'reviewer' back"));
    let roles = place.json(&["role", "list", "--project", PROJECT]);
    let (role, project) = (&roles["roles"][0], roles["project"].as_str());
    assert_eq!((&role["role"], &role["holder"]), (&json!("reviewer"), &Value::Null));
    assert!(project.is_some_and(|slug| !slug.contains('/')), "{roles}");
}

#[test]
fn a_name_of_another_project_is_written_to_from_a_shell_and_answers() {
    let place = Place::new();
    place.done(&["join", "GreenDog", "--project", PROJECT]);
    place.done(&["join", "RedFox", "--project", OTHER]);
    let by = |name: &str, project: &str, words: &[&str]| {
        place.done(&[&["mail"], words, &["--as", name, "--project", project]].concat())
    };
    let sent = by("GreenDog", PROJECT, &["send", "RedFox@data-projects-other", "-s", "Port?", "-m", "Which?"]);
    assert!(sent.contains("It went to the project 'data-projects-other'."), "{sent}");
    assert!(by("RedFox", OTHER, &["read", "1"]).contains("GreenDog@data-projects-app"));
    by("RedFox", OTHER, &["reply", "1", "-m", "8765"]);
    let answer = by("GreenDog", PROJECT, &["read", "2"]);
    assert!(answer.contains("RedFox@data-projects-other") && answer.contains("8765"), "{answer}");
    assert!(by("GreenDog", PROJECT, &["sent"]).contains("Port?"), "what was sent there is among what was sent");
}

#[test]
fn a_sender_at_a_terminal_is_told_who_is_not_awake_and_who_could_be_asked() {
    let server = team();
    server.call("register_agent", json!({ "project_key": PROJECT, "name": "codex-2", "program": "codex-cli" }));
    server.call("leave", as_agent("codex-2", json!({})));
    let send = ["mail", "send", "codex-2", "-s", "Hi", "-m", "Hello.", "--as", "GreenDog", "--project", PROJECT];
    let told = server.place.done(&send);
    assert!(told.contains("codex-2 is asleep, last seen just now; awake now: BlueLake."), "{told}");
    let json = server.place.json(&send);
    assert_eq!(
        (&json["standing"][0]["standing"], &json["standing"][0]["instead"]),
        (&json!("asleep"), &json!("BlueLake"))
    );
}

#[test]
fn who_else_is_here_is_told_by_whois_and_at_the_start_of_a_session() {
    let server = team();
    let about =
        json!({ "project_key": PROJECT, "name": "GreenDog", "program": "codex-cli", "task_description": "the lexer" });
    server.call("register_agent", about);
    let colleagues =
        server.call("whois", json!({ "project_key": PROJECT, "sender_name": "BlueLake" }))["colleagues"].clone();
    assert_eq!(colleagues.as_array().map(Vec::len), Some(1), "{colleagues}");
    let green = &colleagues[0];
    assert_eq!(
        (&green["name"], &green["task"], &green["standing"]),
        (&json!("GreenDog"), &json!("the lexer"), &json!("awake"))
    );
    let started = server.call("macro_start_session", json!({ "project_key": PROJECT, "agent_name": "BlueLake" }));
    assert_eq!(started["colleagues"][0]["name"], "GreenDog");
    assert!(started["how_to"].as_str().unwrap().contains("file_reservation_paths"), "{started}");
    let told = Agent::new(&server.place, "claude", Some("BlueLake")).told("SessionStart").unwrap();
    assert!(told.contains("Colleagues: 1") && told.contains("GreenDog (codex-cli, awake): the lexer"), "{told}");
    assert!(told.contains("send_message") && told.contains("file_reservation_paths"), "{told}");
    assert_eq!(server.call("whois", as_agent("GreenDog", json!({})))["standing"], "awake");
}

#[test]
fn a_refusal_names_what_can_be_addressed() {
    let server = team();
    let refused = server.refused("send_message", message("GreenDog", "team:red", "Hello"));
    assert_eq!(refused.code, "ADDRESS_UNKNOWN");
    assert!(refused.hint.contains("role:NAME") && refused.hint.contains("NAME@PROJECT"), "{refused:?}");
    let refused = server.refused("send_message", message("GreenDog", "program:nothing", "Hello"));
    assert_eq!(refused.code, "PROGRAM_NOT_FOUND");
}
