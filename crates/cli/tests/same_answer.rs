//! Every answer of a tool says the same in its text and in its structure: some clients show their model the one alone, some the other.

use serde_json::{Value, json};

use crate::harness::Server;
use crate::harness::mcp::{PROJECT, message, tool_call, with};

/// What each tool is asked; more than once where a later answer has more in it.
fn questions() -> Vec<(&'static str, Value)> {
    let green = |more: Value| with(json!({ "project_key": PROJECT, "agent_name": "GreenDog" }), more);
    let blue = |more: Value| with(json!({ "project_key": PROJECT, "agent_name": "BlueLake" }), more);
    let thread = json!({ "thread_id": "T-1", "ack_required": true, "body_md": "- [ ] BlueLake: lexer\n\nWho?" });
    vec![
        ("health_check", json!({})),
        ("ensure_project", json!({ "human_key": PROJECT })),
        ("register_agent", json!({ "project_key": PROJECT, "name": "GreenDog" })),
        ("macro_start_session", blue(json!({ "program": "test" }))),
        ("send_message", with(message("GreenDog", "BlueLake", "Parser \"first\"\n"), thread)),
        ("fetch_inbox", blue(json!({}))),
        ("wait_for_mail", blue(json!({ "timeout_seconds": 0 }))),
        ("wait_for_mail", green(json!({ "timeout_seconds": 0 }))),
        (
            "reply_message",
            json!({ "project_key": PROJECT, "message_id": 1, "sender_name": "BlueLake", "body_md": "I." }),
        ),
        ("mark_message_read", blue(json!({ "message_id": 1 }))),
        ("acknowledge_message", blue(json!({ "message_id": 1 }))),
        ("search_messages", json!({ "project_key": PROJECT, "query": "lexer" })),
        ("summarize_thread", json!({ "project_key": PROJECT, "thread_id": "T-1" })),
        ("macro_prepare_thread", green(json!({ "thread_id": "T-1" }))),
        ("file_reservation_paths", green(json!({ "paths": ["src/**", "docs/**"], "exclusive": true }))),
        ("file_reservation_paths", blue(json!({ "paths": ["src/lib.rs", "docs/a.md"] }))),
        ("renew_file_reservations", green(json!({}))),
        ("release_file_reservations", green(json!({}))),
        ("whois", green(json!({}))),
        ("whois", json!({ "project_key": PROJECT })),
        // Refusals.
        ("whois", json!({ "project_key": PROJECT, "agent_name": "GrenDog" })),
        ("macro_start_session", json!({ "project_key": "relative" })),
        ("macro_prepare_thread", green(json!({ "thread_id": "" }))),
        ("send_message", message("GreenDog", "BleuLake", "Who?")),
        ("acknowledge_message", blue(json!({ "message_id": 99 }))),
    ]
}

/// Checks one answer and returns whether it is a refusal.
fn says_the_same(what: &str, result: &Value) -> bool {
    let blocks = result["content"].as_array().expect("content");
    assert_eq!(blocks.len(), 1, "{what}: {result}");
    let (text, structure) = (blocks[0]["text"].as_str().expect("text"), &result["structuredContent"]);
    let is_refusal = result["isError"] == true;
    if !is_refusal {
        let said: Value = serde_json::from_str(text).expect("an answer is JSON");
        assert_eq!(if said.is_object() { structure } else { &structure["result"] }, &said, "{what}");
        return false;
    }
    let (words, data) = text.split_once("\n{").map_or((text, "}"), |(words, data)| (words, data));
    for part in ["code", "message", "hint"] {
        let part = structure["error"][part].as_str().expect("text");
        assert!(!part.is_empty() && words.contains(part), "{what}: {text}");
    }
    let data: Value = serde_json::from_str(&format!("{{{data}")).expect("the rest is JSON");
    let mut rest = structure.clone();
    rest.as_object_mut().expect("an object").remove("error");
    assert_eq!(rest, data, "{what}");
    true
}

#[test]
fn every_tool_says_the_same_in_text_and_in_structure_also_when_it_refuses() {
    let server = Server::start();
    let tools = server.rpc("tools/list", json!({}))["result"]["tools"].clone();
    let names: Vec<&str> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let mut refused = 0;
    for (tool, arguments) in questions() {
        let result = server.post(tool_call(tool, &arguments)).json()["result"].clone();
        refused += usize::from(says_the_same(tool, &result));
        let modern = server.modern("tools/call", json!({ "name": tool, "arguments": arguments })).json();
        says_the_same(tool, &modern["result"]);
    }
    assert_eq!(refused, 6, "one conflict, and what is asked to be refused");
    for name in names {
        assert!(questions().iter().any(|(tool, _)| *tool == name), "'{name}' is not asked");
        let unknown = server.post(tool_call(name, &json!({ "no_such_argument": 1 }))).json();
        assert!(says_the_same(name, &unknown["result"]), "{name}");
    }
}
