//! A client in the field, over its whole workflow: it sends `null` for what is not set, builds addresses as browsers do,
//! and reads the forms of answers that it knows. Its project has a space in its path.

use serde_json::{Value, json};

use crate::harness::Server;
use crate::harness::mcp::tool_call;

const PROJECT: &str = "/data/projects/my app";
/// The same, as `URLSearchParams` writes it.
const QUERY: &str = "project=%2Fdata%2Fprojects%2Fmy+app";

/// Calls a tool as that client does, and reads the one text block of the answer.
fn call(server: &Server, tool: &str, arguments: Value) -> Value {
    let headers = [("accept", "application/json, text/event-stream"), ("content-type", "application/json")];
    let answer = server.send("POST", "/mcp/", &headers, tool_call(tool, &arguments)).json();
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    serde_json::from_str(text).expect("the text is JSON")
}

fn send(server: &Server, from: &str, token: &Value, to: &str, subject: &str) -> Value {
    let handshake = json!({
        "project_key": PROJECT, "requester": from, "target": to, "auto_accept": true,
        "requester_registration_token": token, "target_registration_token": null,
    });
    call(server, "macro_contact_handshake", handshake);
    let message = json!({
        "project_key": PROJECT, "sender_name": from, "sender_token": token, "to": [to], "subject": subject,
        "body_md": "# Research\n\n- [ ] look at the cells", "thread_id": "RS-1", "ack_required": true,
        "cc": null, "bcc": null, "importance": null, "attachment_paths": null,
    });
    call(server, "send_message", message)
}

#[test]
fn the_workflow_of_a_client_in_the_field_goes_through_unchanged() {
    let server = Server::start();
    assert_eq!(call(&server, "health_check", json!({}))["status"], "ready");
    let project = call(&server, "ensure_project", json!({ "human_key": PROJECT }));
    let start = json!({
        "human_key": PROJECT, "program": "claude-code", "model": "opus-4.5", "task_description": null,
        "agent_name": null, "inbox_limit": 5, "file_reservation_paths": ["src/**"],
    });
    let session = call(&server, "macro_start_session", start);
    let (me, token) = (session["agent"]["name"].as_str().expect("a name"), &session["agent"]["registration_token"]);
    let reservation = session["file_reservations"]["granted"][0]["id"].clone();
    let other =
        json!({ "project_key": PROJECT, "name": "BlueLake", "program": null, "model": null, "task_description": null });
    let other = call(&server, "register_agent", other);
    let again =
        json!({ "project_key": PROJECT, "name": "BlueLake", "registration_token": other["registration_token"] });
    assert_eq!(call(&server, "register_agent", again)["id"], other["id"], "a token that is used again keeps the name");

    let sent = send(&server, me, token, "BlueLake", "KICKOFF: cells");
    let delivery = &sent["deliveries"][0];
    assert_eq!((&delivery["project"], &delivery["payload"]["id"]), (&json!(PROJECT), &sent["id"]));
    let unset = json!({ "thread_id": null, "urgent_only": null, "include_bodies": true });
    let inbox = |more: Value| {
        let mut asked = json!({ "project_key": PROJECT, "agent_name": "BlueLake", "limit": "20", "since_ts": null });
        for members in [&unset, &more] {
            asked.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        }
        call(&server, "fetch_inbox", asked)
    };
    assert_eq!(inbox(json!({}))[0]["id"], sent["id"]);
    assert_eq!(inbox(json!({ "since_ts": sent["created_ts"] })), json!([]));
    let read = json!({ "project_key": PROJECT, "agent_name": "BlueLake", "message_id": sent["id"].to_string() });
    call(&server, "mark_message_read", read.clone());
    call(&server, "acknowledge_message", read);
    let reply = json!({
        "project_key": PROJECT, "message_id": sent["id"], "sender_name": "BlueLake", "body_md": "On it.",
        "sender_token": other["registration_token"], "to": null, "cc": null,
    });
    call(&server, "reply_message", reply);
    let summary = json!({ "project_key": PROJECT, "thread_id": "RS-1", "include_examples": true, "llm_mode": false });
    let summary = call(&server, "summarize_thread", summary);
    assert_eq!(summary["summary"]["participants"], json!([me, "BlueLake"]));
    assert_eq!(summary["summary"]["action_items"], json!(["look at the cells"]));

    let renew = json!({
        "project_key": PROJECT, "agent_name": me, "file_reservation_ids": [reservation], "paths": null, "extend_seconds": 1800,
    });
    assert_eq!(call(&server, "renew_file_reservations", renew)["renewed"], 1);
    let release =
        json!({ "project_key": PROJECT, "agent_name": me, "file_reservation_ids": [reservation], "paths": null });
    assert_eq!(call(&server, "release_file_reservations", release)["released"], 1);

    assert_eq!(server.read("resource://agents")["projects"][0]["slug"], project["slug"]);
    let mailbox = server.read(&format!("resource://inbox/BlueLake?{QUERY}&limit=20"));
    assert_eq!(mailbox["messages"][0]["id"], sent["id"]);
    let thread = server.read(&format!("resource://thread/RS-1?{QUERY}&include_bodies=true"));
    assert_eq!(thread["messages"].as_array().expect("messages").len(), 2);
}
