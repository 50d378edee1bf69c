//! What clients in the field rely on: bare calls from a shell, browsers, coding agents, and every era of the protocol.
//!
//! Each promise is one that some client breaks without. What the tools do is in `http_workflow`.

use serde_json::{Value, json};

use crate::harness::Server;
use crate::harness::mcp::{PROJECT, answer_of, as_agent, message, modern_request, request, tool_call, with};

const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error in {answer}"))
}

#[test]
fn health_is_told_to_anybody_by_get() {
    let server = Server::start();
    for path in ["/health", "/health/liveness"] {
        let answer = server.get(path);
        assert_eq!((answer.status, answer.json()), (200, json!({ "status": "alive" })), "{path}");
    }
    let answer = server.get("/health/readiness");
    assert_eq!((answer.status, answer.json()), (200, json!({ "status": "ready" })), "the store answers");
}

#[test]
fn both_addresses_answer_in_place_whatever_is_accepted() {
    let server = Server::start();
    let call = tool_call("health_check", &json!({}));
    for path in ["/mcp", "/mcp/"] {
        for accept in
            [None, Some("*/*"), Some("application/json"), Some("application/json, text/event-stream"), Some("")]
        {
            let headers: Vec<(&str, &str)> = accept.map(|accept| ("Accept", accept)).into_iter().collect();
            let answer = server.send("POST", path, &headers, &call);
            let value = answer_of(&answer).unwrap();
            assert_eq!(value["status"], "ready", "{path} {accept:?}");
        }
    }
}

#[test]
fn a_client_that_takes_only_events_gets_its_answer_as_one() {
    let server = Server::start();
    let mut stream = server.listen("POST", &[("Accept", "text/event-stream")], &tool_call("health_check", &json!({})));
    let answer = stream.event().unwrap();
    assert_eq!(answer["result"]["structuredContent"]["status"], "ready");
    assert_eq!(stream.event(), None, "the stream ends with the answer");
}

#[test]
fn a_list_is_one_text_block_and_empty_is_an_empty_list() {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake"]);
    let call = tool_call("fetch_inbox", &as_agent("BlueLake", json!({})));
    let empty = server.post(&call).json()["result"].clone();
    assert_eq!(empty["content"], json!([{ "type": "text", "text": "[]" }]));
    assert_eq!(empty["structuredContent"], json!({ "result": [] }));
    for subject in ["one", "two"] {
        server.mail("GreenDog", "BlueLake", subject);
    }
    let both = server.post(&call).json()["result"].clone();
    assert_eq!(both["content"].as_array().unwrap().len(), 1);
    assert_eq!(both["structuredContent"]["result"].as_array().unwrap().len(), 2);
}

#[test]
fn a_send_between_two_who_just_registered_has_the_shape_that_scripts_read() {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake"]);
    let sent = server.call("send_message", message("GreenDog", "BlueLake", "Hello"));
    let payload = &sent["deliveries"][0]["payload"];
    assert!(payload["id"].is_i64() && payload["id"] == sent["id"], "{sent}");
    assert_eq!((&payload["subject"], &payload["body_md"]), (&json!("Hello"), &json!("Hello, in more words.")));
    assert_eq!(payload["created_ts"], sent["created_ts"]);
    let time = sent["created_ts"].as_str().unwrap();
    assert!(time.len() > 19 && time.as_bytes()[10] == b'T' && time.ends_with('Z'), "RFC 3339 with a zone: {time}");
}

#[test]
fn a_subject_may_be_as_long_as_a_body() {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake"]);
    let subject = "word ".repeat(100_000);
    let sent = server.call("send_message", message("GreenDog", "BlueLake", &subject));
    assert_eq!(sent["subject"], subject);
}

#[test]
fn an_inbox_keeps_what_was_read_and_names_its_fields_as_clients_expect() {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake"]);
    let id = server.mail("GreenDog", "BlueLake", "Hello");
    for _ in 0..2 {
        let marked = server.call("acknowledge_message", as_agent("BlueLake", json!({ "message_id": id })));
        assert_eq!(marked["acknowledged"], true, "twice is fine");
    }
    let inbox = server.call("fetch_inbox", as_agent("BlueLake", json!({})));
    let expected = json!({
        "id": id, "from": "GreenDog", "to": ["BlueLake"], "subject": "Hello", "body_md": "Hello, in more words.",
        "importance": "normal", "ack_required": false, "kind": null, "thread_id": id.to_string(),
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(inbox[0][name], *value, "{name} in {inbox}");
    }
    assert!(inbox[0]["created_ts"].is_string() && inbox[0]["read_ts"].is_string() && inbox[0]["ack_ts"].is_string());
}

#[test]
fn names_are_taken_as_they_are_given() {
    let server = Server::start();
    server.register(&[]);
    for name in ["CobaltForest", "qc-1", "mayor", "rig/polecat-3", "Grün Hund", "漢字"] {
        let agent = server.call("register_agent", json!({ "project_key": PROJECT, "name": name }));
        assert_eq!(agent["name"], name);
        assert!(!agent["registration_token"].as_str().unwrap().is_empty());
    }
}

#[test]
fn a_message_id_may_be_a_number_or_a_string_of_digits_everywhere() {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake"]);
    let id = server.mail("GreenDog", "BlueLake", "Hello");
    for id in [json!(id), json!(id.to_string())] {
        for tool in ["mark_message_read", "acknowledge_message"] {
            server.call(tool, as_agent("BlueLake", json!({ "message_id": id })));
        }
        let reply = json!({ "project_key": PROJECT, "message_id": id, "sender_name": "BlueLake", "body_md": "Yes." });
        server.call("reply_message", reply);
        server.call("fetch_inbox", as_agent("BlueLake", json!({ "before_id": id })));
        let after = json!({ "after_id": id, "timeout_seconds": 0 });
        server.call("wait_for_mail", as_agent("BlueLake", after));
        server.call("search_messages", json!({ "project_key": PROJECT, "query": "Hello", "before_id": id }));
    }
}

#[test]
fn importance_goes_up_to_urgent_and_recipients_may_be_one_bare_name() {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake"]);
    for importance in ["low", "normal", "high", "urgent"] {
        let more = json!({ "importance": importance, "to": "BlueLake" });
        let sent = server.call("send_message", with(message("GreenDog", "BlueLake", "Hello"), more));
        assert_eq!((&sent["importance"], &sent["to"]), (&json!(importance), &json!(["BlueLake"])));
    }
    let urgent = server.call("fetch_inbox", as_agent("BlueLake", json!({ "urgent_only": true })));
    assert_eq!(urgent, json!([]), "urgent_only asks for acknowledgements that are due, not for importance");
}

#[test]
fn a_session_id_is_never_needed_and_any_is_taken_even_after_a_restart() {
    let server = Server::start();
    let (session, _) = server.initialize("2025-11-25");
    let place = server.place.clone();
    server.stop();
    let server = place.serve();
    for session in [session.as_str(), "never-given-out"] {
        let headers = [("Mcp-Session-Id", session), ("MCP-Protocol-Version", "2025-11-25")];
        let answer = server.send("POST", "/mcp/", &headers, tool_call("health_check", &json!({})));
        assert_eq!(answer_of(&answer).unwrap()["status"], "ready");
    }
}

#[test]
fn every_old_revision_is_negotiated_and_an_unknown_one_gets_our_newest() {
    let server = Server::start();
    for version in LEGACY {
        let (_, result) = server.initialize(version);
        assert_eq!(result["protocolVersion"], version);
        assert_eq!(result["serverInfo"]["name"], "postrider");
        assert_eq!(result["capabilities"]["resources"]["subscribe"], true);
    }
    let (session, result) = server.initialize("1999-01-01");
    assert_eq!(result["protocolVersion"], "2025-11-25");
    let ping = server.send("POST", "/mcp", &[("Mcp-Session-Id", &session)], request("ping", &json!({})));
    assert_eq!((ping.status, ping.json()), (200, json!({ "jsonrpc": "2.0", "id": 1, "result": {} })));
}

#[test]
fn a_get_without_a_session_and_unknown_addresses_are_refused_as_clients_expect() {
    let server = Server::start();
    for path in ["/mcp", "/mcp/"] {
        let answer = server.send("GET", path, &[("Accept", "text/event-stream")], "");
        assert_eq!(answer.status, 405, "a GET that is answered 200 breaks clients");
    }
    let well_known = server.get("/.well-known/oauth-protected-resource");
    assert_eq!((well_known.status, well_known.body.as_str()), (404, ""));
    assert_eq!(server.get("/nothing").json()["error"]["code"], "NOT_FOUND");
    assert_eq!(server.send("PUT", "/mcp", &[], "{}").status, 405);
}

#[test]
fn an_id_is_echoed_byte_for_byte() {
    let server = Server::start();
    for id in ["1", "-7", "\"a\"", "\"\\u0041\"", "12345678901234567890123", "1.0", "\"\""] {
        let answer = server.post(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}"));
        assert!(answer.body.contains(&format!("\"id\":{id},")), "{id}: {}", answer.body);
    }
}

#[test]
fn what_wants_no_answer_gets_none() {
    let server = Server::start();
    let notes = [
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }),
        json!({ "jsonrpc": "2.0", "id": 9, "result": {} }),
    ];
    for note in notes {
        let answer = server.post(note.to_string());
        assert_eq!((answer.status, answer.body.as_str()), (202, ""), "{note}");
    }
}

#[test]
fn wrong_input_to_a_tool_is_a_tool_error_and_an_unknown_tool_is_not() {
    let server = Server::start();
    assert_eq!(server.refused("whois", json!({})).code, "INVALID_ARGUMENT");
    let answer = server.rpc("tools/call", json!({ "name": "fetch_imbox", "arguments": {} }));
    assert_eq!(code(&answer), -32602);
    assert!(answer["error"]["message"].as_str().unwrap().contains("Did you mean 'fetch_inbox'?"), "{answer}");
    assert_eq!(code(&server.rpc("tools/destroy", json!({}))), -32601);
}

#[test]
fn the_modern_era_discovers_lists_and_calls_without_a_session() {
    let server = Server::start();
    let discovered = server.modern("server/discover", json!({}));
    assert_eq!(discovered.status, 200);
    assert_eq!(discovered.header("mcp-session-id"), None);
    let result = discovered.json()["result"].clone();
    assert_eq!(result["supportedVersions"][0], "2026-07-28");
    for (method, params) in [
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({ "uri": "resource://projects" })),
        ("tools/call", json!({ "name": "health_check", "arguments": {} })),
    ] {
        let answer = server.modern(method, params);
        let result = answer.json()["result"].clone();
        assert_eq!(result["resultType"], "complete", "{method}");
        assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "postrider", "{method}");
        if method != "tools/call" {
            assert!(result["ttlMs"].is_i64() && result["cacheScope"].is_string(), "{method}: {result}");
        }
    }
}

#[test]
fn the_modern_era_is_strict_about_what_every_request_must_say() {
    let server = Server::start();
    let check = |headers: &[(&str, &str)], body: &str, status: u16, wanted: i64| {
        let answer = server.send("POST", "/mcp", headers, body);
        assert_eq!((answer.status, code(&answer.json())), (status, wanted), "{headers:?} {body}");
        answer.json()
    };
    let call = json!({ "name": "health_check", "arguments": {} });
    let (headers, body) = modern_request("tools/call", call.clone());
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    for missing in ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"] {
        let fewer: Vec<_> = headers.iter().copied().filter(|(name, _)| *name != missing).collect();
        check(&fewer, &body, 400, -32020);
        let mut other = fewer.clone();
        other.push((missing, "something else"));
        check(&other, &body, 400, -32020);
    }
    let bare = request("tools/call", &call);
    check(&headers, &bare, 400, -32602);
    let later = body.replace("2026-07-28", "2099-01-01");
    let headers_of_later: Vec<_> = headers
        .iter()
        .map(|(name, value)| (*name, if *value == "2026-07-28" { "2099-01-01" } else { *value }))
        .collect();
    let unsupported = check(&headers_of_later, &later, 400, -32022);
    assert_eq!(unsupported["error"]["data"]["supported"][0], "2026-07-28");
}

#[test]
fn each_era_has_its_own_word_for_what_is_not_there() {
    let server = Server::start();
    let nothing = json!({ "uri": "resource://nothing/here" });
    assert_eq!(code(&server.rpc("resources/read", nothing.clone())), -32002);
    assert_eq!(code(&server.modern("resources/read", nothing).json()), -32602);
    for method in ["initialize", "ping", "resources/subscribe", "tools/destroy"] {
        let answer = server.modern(method, json!({ "name": "x" }));
        assert_eq!((answer.status, code(&answer.json())), (404, -32601), "{method}");
    }
}
