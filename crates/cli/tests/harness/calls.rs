//! One call of every tool that succeeds, with every parameter given: where tests of bad input and of answers start.

use serde_json::{Value, json};

use super::Server;
use super::mcp::PROJECT;

/// A call of every tool, in an order in which all of them succeed. Waits are as short as they can be.
pub fn one_of_each(server: &Server) -> Vec<(&'static str, Value)> {
    server.register(&["GreenDog", "BlueLake", "RedFox"]);
    let asked = json!({
        "project_key": PROJECT, "sender_name": "BlueLake", "to": ["GreenDog"], "subject": "Who takes the parser?",
        "body_md": "Decision: Rust.\n\n- [ ] GreenDog: lexer\n\nWho tests?", "thread_id": "T-1", "cc": ["RedFox"],
    });
    let id = server.call("send_message", asked)["id"].clone();
    let profile = json!({ "program": "codex-cli", "model": "gpt-5.2", "task_description": "Parser" });
    let sent = json!({
        "subject": "[bd-7] PROGRESS: half", "body_md": "Half of it.", "to": ["BlueLake"], "cc": ["RedFox"], "bcc": [],
        "sender_name": "GreenDog", "importance": "high", "ack_required": true,
    });
    let green = json!({ "agent_name": "GreenDog" });
    let calls = [
        ("ensure_project", json!({ "human_key": PROJECT })),
        ("register_agent", merged([&profile, &json!({ "name": "GreenDog" })])),
        ("whois", green.clone()),
        ("send_message", merged([&sent, &json!({ "thread_id": "T-1", "idempotency_key": "k-1", "strict": false })])),
        ("reply_message", merged([&sent, &json!({ "message_id": id, "idempotency_key": "k-2" })])),
        (
            "fetch_inbox",
            merged([
                &green,
                &json!({
                    "limit": 5, "unread_only": true, "urgent_only": false, "thread_id": "T-1", "include_bodies": true,
                    "before_id": 1000, "kind": "progress", "work_id": "bd-7",
                }),
            ]),
        ),
        ("wait_for_mail", merged([&green, &json!({ "timeout_seconds": 0, "limit": 5, "after_id": 0 })])),
        ("mark_message_read", merged([&green, &json!({ "message_id": id })])),
        ("acknowledge_message", merged([&green, &json!({ "message_id": id, "ack_body": "Yes" })])),
        (
            "search_messages",
            json!({ "query": "parser OR half", "limit": 5, "before_id": 1000, "kind": "PROGRESS", "work_id": "bd-7" }),
        ),
        ("summarize_thread", json!({ "thread_id": "T-1" })),
        (
            "file_reservation_paths",
            merged([
                &green,
                &json!({
                    "paths": ["src/**"], "ttl_seconds": 60, "exclusive": true, "reason": "bd-7", "wait_seconds": 0,
                }),
            ]),
        ),
        ("renew_file_reservations", merged([&green, &json!({ "paths": ["src/**"], "new_ttl_seconds": 60 })])),
        ("release_file_reservations", merged([&green, &json!({ "paths": ["src/**"] })])),
        ("macro_start_session", merged([&green, &profile, &json!({ "reserve_paths": ["docs/**"] })])),
        ("macro_prepare_thread", merged([&green, &profile, &json!({ "thread_id": "T-1" })])),
        ("health_check", json!({})),
    ];
    let needs_project = |tool: &str| !["ensure_project", "health_check"].contains(&tool);
    let project = json!({ "project_key": PROJECT });
    let complete = |(tool, arguments)| {
        let arguments = if needs_project(tool) { merged([&project, &arguments]) } else { arguments };
        (tool, arguments)
    };
    calls.into_iter().map(complete).collect()
}

fn merged<const N: usize>(objects: [&Value; N]) -> Value {
    let members = objects.into_iter().flat_map(|object| object.as_object().expect("an object").clone());
    Value::Object(members.collect())
}
