//! Each argument and tool of the table of what clients of other servers send, one by one: a row without a test fails.
//!
//! The whole workflow of such a client is in `field_client`.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::harness::calls::one_of_each;
use crate::harness::mcp::{PROJECT, as_agent, message, with};
use crate::harness::{Place, Server};

/// A test of one argument at one tool.
type Case = fn(&Server);

/// Of rows that name no tool the tool is empty.
const CASES: &[(&str, &str, Case)] = &[
    ("", "human_key", human_key),
    ("fetch_inbox", "since_ts", since_ts),
    ("macro_start_session", "inbox_limit", inbox_limit),
    ("macro_start_session", "file_reservation_paths", reserved_at_the_start),
    ("release_file_reservations", "file_reservation_ids", released_by_number),
    ("renew_file_reservations", "file_reservation_ids", renewed_by_number),
    ("renew_file_reservations", "extend_seconds", extend_seconds),
    ("send_message", "sender_token", sender_token_at_send),
    ("reply_message", "sender_token", sender_token_at_reply),
    ("send_message", "attachment_paths", attachments_at_send),
    ("reply_message", "attachment_paths", attachments_at_reply),
    ("summarize_thread", "include_examples", include_examples),
    ("summarize_thread", "llm_mode", llm_mode),
];

const TOOLS: &[(&str, Case)] = &[("macro_contact_handshake", macro_contact_handshake)];

#[test]
fn every_argument_of_the_table_does_what_its_row_says_and_is_in_no_list() {
    for row in api::FOREIGN {
        let tools = if row.tools.is_empty() { &[""] } else { row.tools };
        for tool in tools {
            let case = CASES.iter().find(|(of, name, _)| of == tool && *name == row.name);
            let (.., case) = case.unwrap_or_else(|| panic!("'{}' at '{tool}' has no test", row.name));
            let server = Server::start();
            server.register(&["GreenDog", "BlueLake"]);
            case(&server);
            let listed = server.rpc("tools/list", json!({}))["result"]["tools"].clone();
            for one in listed.as_array().expect("tools").iter().filter(|one| tools.contains(&&*text(&one["name"]))) {
                assert_eq!(one["inputSchema"]["properties"].get(row.name), None, "{one}");
            }
        }
    }
}

#[test]
fn every_tool_of_the_table_answers_and_is_in_no_list() {
    for row in api::FOREIGN_TOOLS {
        let case = TOOLS.iter().find(|(name, _)| *name == row.name);
        let (_, case) = case.unwrap_or_else(|| panic!("'{}' has no test", row.name));
        let server = Server::start();
        server.register(&["GreenDog"]);
        case(&server);
        assert!(!server.rpc("tools/list", json!({})).to_string().contains(row.name));
    }
}

#[test]
fn null_is_not_given_and_text_is_a_number_or_a_flag_at_every_tool() {
    let server = Server::start();
    for (tool, mut arguments) in one_of_each(&server) {
        for (name, value) in arguments.as_object_mut().expect("an object") {
            if (value.is_number() && name != "message_id") || value.is_boolean() {
                *value = value.to_string().into();
            }
        }
        let params = server.rpc("tools/list", json!({}))["result"]["tools"].clone();
        let declared = params.as_array().expect("tools").iter().find(|one| one["name"] == tool).cloned();
        for name in declared.unwrap_or_default()["inputSchema"]["properties"].as_object().into_iter().flatten() {
            let given = arguments.as_object_mut().expect("an object");
            given.entry(name.0.clone()).or_insert(Value::Null);
        }
        server.call(tool, arguments);
    }
}

#[test]
fn an_argument_that_nobody_sends_is_refused_with_the_nearest() {
    let server = Server::start();
    server.register(&["GreenDog"]);
    let refused = server.refused("fetch_inbox", as_agent("GreenDog", json!({ "unred_only": true })));
    assert_eq!(refused.code, "INVALID_ARGUMENT");
    assert!(refused.hint.contains("unread_only"), "{refused:?}");
    let elsewhere = server.refused("fetch_inbox", as_agent("GreenDog", json!({ "llm_mode": true })));
    assert_eq!(elsewhere.code, "INVALID_ARGUMENT", "it is taken where it occurs");
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

fn numbers(messages: &Value) -> Vec<i64> {
    messages.as_array().expect("messages").iter().map(|one| one["id"].as_i64().expect("a number")).collect()
}

/// The codes and the first words of an answer's warnings.
fn warned(answer: &Value) -> Vec<String> {
    let warnings = answer["warnings"].as_array().cloned().unwrap_or_default();
    warnings.iter().map(|one| format!("{} {}", text(&one["code"]), text(&one["message"]))).collect()
}

fn human_key(server: &Server) {
    for (tool, mut arguments) in one_of_each(server) {
        let given = arguments.as_object_mut().expect("an object");
        if let Some(project) = given.remove("project_key") {
            given.insert("human_key".to_owned(), project);
        }
        server.call(tool, arguments);
    }
    let both = json!({ "human_key": "/data/other", "project_key": PROJECT, "agent_name": "GreenDog" });
    assert!(server.refused("whois", both).message.contains("'human_key' and 'project_key'"));
}

fn since_ts(server: &Server) {
    let sent: Vec<Value> =
        ["1", "2", "3"].map(|subject| server.call("send_message", message("GreenDog", "BlueLake", subject))).to_vec();
    let since = |time: Value| numbers(&server.call("fetch_inbox", as_agent("BlueLake", json!({ "since_ts": time }))));
    let [first, second, third] = [0, 1, 2].map(|at| sent[at]["id"].as_i64().expect("a number"));
    assert_eq!(since(sent[0]["created_ts"].clone()), [third, second]);
    assert!(since(sent[2]["created_ts"].clone()).is_empty());
    assert_eq!(since(Value::Null), [third, second, first]);
    // The same time in another zone.
    let time: Timestamp = text(&sent[1]["created_ts"]).parse().expect("a time");
    let east = time.to_zoned(jiff::tz::TimeZone::fixed(jiff::tz::offset(2)));
    assert_eq!(since(east.strftime("%Y-%m-%dT%H:%M:%S.%6f+02:00").to_string().into()), [third]);
    let refused = server.refused("fetch_inbox", as_agent("BlueLake", json!({ "since_ts": "yesterday" })));
    assert!(refused.message.contains("since_ts") && refused.message.contains("'yesterday'"), "{refused:?}");
}

fn inbox_limit(server: &Server) {
    for subject in ["1", "2", "3"] {
        server.mail("GreenDog", "BlueLake", subject);
    }
    let shown = |limit: Value| {
        let start = server.call("macro_start_session", as_agent("BlueLake", json!({ "inbox_limit": limit })));
        start["inbox"].as_array().expect("an inbox").len()
    };
    assert_eq!([shown(2.into()), shown("1".into()), shown(0.into()), shown(Value::Null)], [2, 1, 0, 3]);
}

fn reserved_at_the_start(server: &Server) {
    let paths = json!({ "file_reservation_paths": ["src/**"] });
    let start = server.call("macro_start_session", as_agent("BlueLake", paths));
    assert_eq!(start["file_reservations"]["granted"][0]["path_pattern"], "src/**");
}

/// Three reservations of `GreenDog`, and one of `BlueLake`; their numbers.
fn reserved(server: &Server) -> Vec<i64> {
    let reserve = |agent: &str, paths: Value| {
        let granted =
            server.call("file_reservation_paths", as_agent(agent, json!({ "paths": paths, "ttl_seconds": 60 })));
        numbers(&granted["granted"])
    };
    [reserve("GreenDog", json!(["a", "b", "c"])), reserve("BlueLake", json!(["d"]))].concat()
}

fn released_by_number(server: &Server) {
    let ids = reserved(server);
    let release = |which: Value| server.call("release_file_reservations", as_agent("GreenDog", which))["paths"].clone();
    assert_eq!(release(json!({ "file_reservation_ids": [ids[1], ids[3], 999] })), json!(["b"]), "its own alone");
    assert_eq!(release(json!({ "file_reservation_ids": [] })), json!([]), "an empty list is not all");
    assert_eq!(release(json!({ "file_reservation_ids": ids[0].to_string(), "paths": ["c"] })), json!(["a", "c"]));
}

fn renewed_by_number(server: &Server) {
    let ids = reserved(server);
    let renew = |which: Value| as_agent("GreenDog", with(which, json!({ "new_ttl_seconds": 600 })));
    let renewed = server.call("renew_file_reservations", renew(json!({ "file_reservation_ids": [ids[2]] })));
    assert_eq!(numbers(&renewed["file_reservations"]), [ids[2]]);
    let refused = server.refused("renew_file_reservations", renew(json!({ "file_reservation_ids": [ids[0], ids[3]] })));
    assert!(refused.message.contains(&format!("'{}'", ids[3])), "another's: {refused:?}");
}

fn extend_seconds(server: &Server) {
    reserved(server);
    let ends =
        |answer: &Value| text(&answer["file_reservations"][0]["expires_ts"]).parse::<Timestamp>().expect("a time");
    let renew =
        |how: Value| server.call("renew_file_reservations", as_agent("GreenDog", with(json!({ "paths": ["a"] }), how)));
    let first = ends(&renew(json!({ "new_ttl_seconds": 600 })));
    let longer = ends(&renew(json!({ "extend_seconds": 300 })));
    assert_eq!(longer.duration_since(first).as_secs(), 300, "added to what is left");
    let both = as_agent("GreenDog", json!({ "new_ttl_seconds": 600, "extend_seconds": 300 }));
    assert!(server.refused("renew_file_reservations", both).message.contains("extend_seconds"));
}

/// A server that wants every name proved, with two agents and their tokens.
fn strict() -> (Server, [String; 2]) {
    let server = Place::with_settings("identity = \"strict\"").serve();
    server.call("ensure_project", json!({ "human_key": PROJECT }));
    let tokens = ["GreenDog", "BlueLake"].map(|name| {
        let agent = server.call("register_agent", json!({ "project_key": PROJECT, "name": name }));
        text(&agent["registration_token"])
    });
    (server, tokens)
}

fn sender_token_at_send(_: &Server) {
    let (server, [token, other]) = strict();
    let signed = |token: &str| with(message("GreenDog", "BlueLake", "Plan"), json!({ "sender_token": token }));
    server.call("send_message", signed(&token));
    assert_ne!(server.refused("send_message", signed(&other)).code, "INVALID_ARGUMENT", "it is read as a token");
}

fn sender_token_at_reply(_: &Server) {
    let (server, [token, other]) = strict();
    let plan = with(message("GreenDog", "BlueLake", "Plan"), json!({ "registration_token": token }));
    let id = server.call("send_message", plan)["id"].clone();
    let answer = |token: &str| json!({ "project_key": PROJECT, "message_id": id, "sender_name": "BlueLake", "body_md": "Yes", "sender_token": token });
    server.call("reply_message", answer(&other));
    server.refused("reply_message", answer(&token));
}

fn attachments_at_send(server: &Server) {
    let send = |paths: Value| {
        server.call("send_message", with(message("GreenDog", "BlueLake", "Plan"), json!({ "attachment_paths": paths })))
    };
    let warnings = warned(&send(json!(["plan.png"])));
    assert!(
        warnings.len() == 1 && warnings[0].starts_with("ARGUMENT_IGNORED Argument 'attachment_paths'"),
        "{warnings:?}"
    );
    assert_eq!(warned(&send(json!([]))).len() + warned(&send(Value::Null)).len(), 0, "nothing was asked for");
    // Beside a warning of the message itself.
    let secret = json!({ "attachment_paths": ["a"], "body_md": "password=hunter2hunter2" });
    let both = warned(&server.call("send_message", with(message("GreenDog", "BlueLake", "Key"), secret)));
    assert!(both.len() == 2 && both[0].starts_with("SECRET_SUSPECTED"), "{both:?}");
}

fn attachments_at_reply(server: &Server) {
    let id = server.mail("GreenDog", "BlueLake", "Plan");
    let answer = json!({
        "project_key": PROJECT, "message_id": id, "sender_name": "BlueLake", "body_md": "Yes", "attachment_paths": "a.png",
    });
    assert_eq!(warned(&server.call("reply_message", answer)).len(), 1);
}

/// A thread of four messages, summed up.
fn summed_up(server: &Server, more: Value) -> Value {
    for subject in ["1", "2", "3", "4"] {
        server.call("send_message", with(message("GreenDog", "BlueLake", subject), json!({ "thread_id": "T-1" })));
    }
    server.call("summarize_thread", with(json!({ "project_key": PROJECT, "thread_id": "T-1" }), more))
}

fn include_examples(server: &Server) {
    let summary = summed_up(server, json!({ "include_examples": true }));
    let subjects: Vec<_> =
        summary["examples"].as_array().expect("examples").iter().map(|one| text(&one["subject"])).collect();
    assert_eq!(subjects, ["2", "3", "4"]);
    assert_eq!(summed_up(server, json!({ "include_examples": false })).get("examples"), None);
}

fn llm_mode(server: &Server) {
    let warnings = warned(&summed_up(server, json!({ "llm_mode": true })));
    assert!(warnings.len() == 1 && warnings[0].contains("'llm_mode'"), "{warnings:?}");
    assert_eq!(summed_up(server, json!({ "llm_mode": false })).get("warnings"), None, "it is so anyway");
}

fn macro_contact_handshake(server: &Server) {
    let asked = json!({
        "project_key": PROJECT, "requester": "GreenDog", "target": "Nobody", "auto_accept": true,
        "requester_registration_token": "t", "target_registration_token": null,
    });
    let answer = server.call("macro_contact_handshake", asked);
    assert_eq!((&answer["status"], &answer["approval_required"]), (&json!("approved"), &json!(false)));
    let agents = server.read("resource://agents/data-projects-app")["agents"].clone();
    assert_eq!(agents.as_array().expect("agents").len(), 1, "it registers nobody");
}
