//! The surface that others build on, under snapshot: a change here is a change for every client and must be meant.
//!
//! Accept a meant change with `INSTA_UPDATE=always cargo test -p cli --test surface`.

use serde_json::{Value, json};

use crate::harness::http::Answer;
use crate::harness::mcp::{PROJECT, as_agent, message, request, tool_call, with};
use crate::harness::{Place, Server};

/// The bytes of the `result` of an answer.
fn result_of(answer: &Answer) -> &str {
    let (_, rest) = answer.body.split_once("\"result\":").expect("a result");
    rest.strip_suffix('}').expect("the result comes last")
}

fn tools_of(server: &Server) -> String {
    result_of(&server.post(request("tools/list", &json!({})))).to_owned()
}

/// One tool a line, so that a change can be read.
fn by_lines(tools: &str) -> String {
    tools.replace("{\"name\":", "\n{\"name\":")
}

#[test]
fn the_list_of_tools_is_small_complete_and_the_same_in_every_process() {
    let tools = tools_of(&Server::start());
    insta::assert_snapshot!("tools_full", by_lines(&tools));
    assert!(tools.len() <= 12_000, "every agent pays for {} bytes", tools.len());
    assert_eq!(tools_of(&Server::start()), tools, "the same bytes from another process");
    let tools: Value = serde_json::from_str(&tools).unwrap();
    let tools = tools["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 17);
    for tool in tools {
        assert!(tool["title"].as_str().is_some_and(|title| !title.contains('_')), "{tool}");
        let hints =
            ["readOnlyHint", "idempotentHint", "destructiveHint"].map(|hint| tool["annotations"][hint].as_bool());
        assert!(hints.iter().all(Option::is_some), "{tool}");
        assert_eq!(hints[2], Some(false), "nothing that an agent can call destroys mail: {tool}");
        assert!(tool["description"].as_str().is_some_and(|about| !about.is_empty()), "{tool}");
    }
}

#[test]
fn the_lean_list_is_smaller_and_hides_nothing_from_those_who_know() {
    let place = Place::new();
    let server = place.serve_with(&["--tools", "lean"], &[]);
    let tools = tools_of(&server);
    insta::assert_snapshot!("tools_lean", by_lines(&tools));
    assert!(tools.len() <= 5_000, "every agent pays for {} bytes", tools.len());
    assert_eq!(server.call("health_check", json!({}))["status"], "ready", "unlisted tools can be called");
    server.stop();
    let by_settings = Place::with_settings("tools = \"lean\"").serve();
    assert_eq!(tools_of(&by_settings), tools);
}

#[test]
fn the_program_has_none_of_the_fixtures_of_the_conformance_suite() {
    let program = std::fs::read(env!("CARGO_BIN_EXE_postrider")).unwrap();
    let has = |text: &str| memchr::memmem::find(&program, text.as_bytes()).is_some();
    assert!(has("fetch_inbox"), "what the program has is found in it");
    for fixture in ["test_multiple_content_types", "test://static-binary", "input_required"] {
        assert!(!has(fixture), "{fixture}");
    }
    let server = Server::start();
    let refused = server.post(tool_call("test_simple_text", &json!({}))).json();
    assert_eq!(refused["error"]["code"], -32602);
    assert_eq!(server.rpc("prompts/list", json!({}))["result"]["prompts"], json!([]));
}

#[test]
fn a_tool_that_is_gone_says_who_has_to_be_updated() {
    let refused = Server::start().refused("mailbox", json!({ "project_key": PROJECT, "verb": "count" }));
    assert_eq!(refused.code, "CLIENT_OUTDATED");
    assert!(refused.message.contains("'mailbox'") && refused.hint.starts_with("Update"), "{refused:?}");
}

#[test]
fn the_modern_list_holds_the_same_tools() {
    let server = Server::start();
    let tools = tools_of(&server);
    let members = tools.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap();
    assert!(server.modern("tools/list", json!({})).body.contains(members));
}

#[test]
fn the_families_of_resources() {
    let server = Server::start();
    let templates = server.rpc("resources/templates/list", json!({}))["result"].clone();
    insta::assert_json_snapshot!("resource_templates", templates);
}

#[test]
fn the_introductions_of_both_eras() {
    let server = Server::start();
    let (_, mut initialized) = server.initialize("2025-11-25");
    let mut discovered = server.modern("server/discover", json!({})).json()["result"].clone();
    initialized["serverInfo"]["version"] = json!("[version]");
    discovered["_meta"]["io.modelcontextprotocol/serverInfo"]["version"] = json!("[version]");
    insta::assert_json_snapshot!("initialize", initialized);
    insta::assert_json_snapshot!("discover", discovered);
}

#[test]
fn the_help_of_the_program_and_of_every_command() {
    let place = Place::new();
    let help = |arguments: &[&str]| {
        // Help shows the environment's values, which are this test's own.
        let output = place.command(arguments).env_remove("POSTRIDER_HOME").output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stdout).unwrap()
    };
    let program = help(&["--help"]);
    insta::assert_snapshot!("help", program);
    let listed = program.split("Commands:").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap();
    let commands: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(commands.len() >= 7, "{commands:?}");
    for command in commands.into_iter().filter(|command| *command != "help") {
        insta::assert_snapshot!(format!("help_{command}"), help(&[command, "--help"]));
    }
}

/// Puts words in the place of what differs from run to run.
fn redacted(mut value: Value) -> Value {
    redact(&mut value);
    value
}

fn redact(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(redact),
        Value::Object(members) => {
            for (name, member) in members {
                match name.as_str() {
                    "id" | "message_id" | "reply_to" if member.is_i64() => *member = json!("[id]"),
                    name if name.ends_with("_ts") || name == "created_at" => *member = json!("[time]"),
                    "registration_token" => *member = json!("[token]"),
                    "version" => *member = json!("[version]"),
                    "message" | "text" if member.is_string() => *member = json!(without_times(member)),
                    _ => redact(member),
                }
            }
        }
        _ => {}
    }
}

/// A sentence without the times in it, also those in JSON behind it.
fn without_times(text: &Value) -> String {
    let text = text.as_str().unwrap_or_default();
    let words = text.split_inclusive([' ', '"']).map(|word| match word.split_once('Z') {
        Some((time, end)) if time.starts_with("20") && time.contains('T') && end.len() < 3 => format!("[time]{end}"),
        _ => word.to_owned(),
    });
    words.collect()
}

#[test]
fn the_shapes_of_the_answers_that_clients_read_most() {
    let server = Server::start();
    server.call("ensure_project", json!({ "human_key": PROJECT }));
    let registered = server.call("register_agent", json!({ "project_key": PROJECT, "name": "GreenDog" }));
    insta::assert_json_snapshot!("register_agent", redacted(registered));
    server.register(&["BlueLake", "RedFox"]);
    let more = json!({ "cc": ["RedFox"], "thread_id": "T-1", "ack_required": true });
    let body = json!({ "body_md": "Decision: Rust.\n\n- [ ] BlueLake: lexer\n\nWho tests it?" });
    let sent = server.call("send_message", with(message("GreenDog", "BlueLake", "Parser"), with(more, body)));
    insta::assert_json_snapshot!("send_message", redacted(sent.clone()));
    let reply =
        json!({ "project_key": PROJECT, "message_id": sent["id"], "sender_name": "BlueLake", "body_md": "I do." });
    insta::assert_json_snapshot!("reply_message", redacted(server.call("reply_message", reply)));
    let mark = as_agent("BlueLake", json!({ "message_id": sent["id"] }));
    insta::assert_json_snapshot!("acknowledge_message", redacted(server.call("acknowledge_message", mark)));
    let inbox = server.call("fetch_inbox", as_agent("BlueLake", json!({})));
    insta::assert_json_snapshot!("fetch_inbox", redacted(inbox));
    let search = json!({ "project_key": PROJECT, "query": "lexer" });
    insta::assert_json_snapshot!("search_messages", redacted(server.call("search_messages", search)));
    let thread = json!({ "project_key": PROJECT, "thread_id": "T-1" });
    insta::assert_json_snapshot!("summarize_thread", redacted(server.call("summarize_thread", thread)));
    let paths = json!({ "paths": ["src/**"], "exclusive": true, "reason": "bd-1" });
    let reserved = server.call("file_reservation_paths", as_agent("GreenDog", paths));
    insta::assert_json_snapshot!("file_reservation_paths", redacted(reserved));
    let call = tool_call("file_reservation_paths", &as_agent("BlueLake", json!({ "paths": ["src/lib.rs"] })));
    insta::assert_json_snapshot!("file_reservation_conflict", redacted(server.post(call).json()["result"].clone()));
    let again = with(message("GreenDog", "BlueLake", "Parser"), json!({ "cc": ["RedFox"] }));
    let again = server.modern("tools/call", json!({ "name": "send_message", "arguments": again })).json();
    insta::assert_json_snapshot!("send_message_brief", redacted(again["result"]["structuredContent"].clone()));
    let unknown = tool_call("whois", &as_agent("GrenDog", json!({})));
    insta::assert_json_snapshot!("agent_not_found", redacted(server.post(unknown).json()["result"].clone()));
}

#[test]
fn the_bodies_of_http_errors() {
    let settings = "token = \"t\"\nrate_limit = 1000\nmax_body_bytes = 10";
    let server = Place::with_settings(settings).serve();
    let token = ("Authorization", "Bearer t");
    let ping = request("ping", &json!({}));
    let large = "x".repeat(2 * 1024 * 1024);
    let refusals = [
        ("no token", server.send("POST", "/mcp", &[], &ping)),
        ("another host", server.send("POST", "/mcp", &[token, ("Host", "evil.example")], &ping)),
        ("another origin", server.send("POST", "/mcp", &[token, ("Origin", "http://evil.example")], &ping)),
        ("too large", server.send("POST", "/mcp", &[token], &large)),
        ("another method", server.send("PATCH", "/mcp", &[token], &ping)),
        ("another address", server.send("GET", "/mpc", &[token], "")),
        ("not JSON", server.send("POST", "/mcp", &[token], "{")),
        ("a batch", server.send("POST", "/mcp", &[token], "[]")),
        ("no method", server.send("POST", "/mcp", &[token], "{}")),
        ("another protocol", server.send("POST", "/mcp", &[token, ("MCP-Protocol-Version", "1999-01-01")], &ping)),
        ("an unknown method", server.send("POST", "/mcp", &[token], request("pong", &json!({})))),
        ("an unknown tool", server.send("POST", "/mcp", &[token], tool_call("whoms", &json!({})))),
        (
            "an unknown resource",
            server.send("POST", "/mcp", &[token], request("resources/read", &json!({ "uri": "x" }))),
        ),
    ];
    let told: Vec<Value> = refusals
        .iter()
        .map(|(what, answer)| json!({ "what": what, "status": answer.status, "body": answer.json() }))
        .collect();
    insta::assert_json_snapshot!("http_errors", told);
    let place = Place::with_settings("rate_limit = 1");
    let limited = place.serve();
    let flood = (0..50).map(|_| limited.post(&ping)).find(|answer| answer.status == 429).expect("a limit of one");
    insta::assert_json_snapshot!("http_rate_limited", flood.json());
}
