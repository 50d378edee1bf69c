//! What clients up to 2025-11-25 rely on, with and without `initialize`.

use bytes::Bytes;
use futures_util::StreamExt;
use http::HeaderMap;
use mcp::ReplyBody;
use serde_json::json;

use crate::toy::{COUNTER, ICON, events_of, header, headers, json_of, legacy, message_of, toy};

#[tokio::test]
async fn a_lone_tool_call_is_answered_with_plain_json() {
    let toy = toy();
    for accept in [None, Some("*/*"), Some("application/json, text/event-stream"), Some("text/html")] {
        let headers = accept.map_or_else(HeaderMap::new, |accept| headers(&[("accept", accept)]));
        let call = legacy(json!("a"), "tools/call", json!({"name": "echo", "arguments": {"text": "hi"}}));
        let reply = toy.post(&headers, &call).await;
        assert_eq!((reply.status.as_u16(), header(&reply, "content-type")), (200, Some("application/json")));
        let result = json!({
            "content": [{"type": "text", "text": r#"{"text":"hi"}"#}],
            "structuredContent": {"text": "hi"},
            "isError": false,
        });
        assert_eq!(json_of(&reply), json!({"jsonrpc": "2.0", "id": "a", "result": result}));
    }
}

#[tokio::test]
async fn a_client_that_takes_only_events_gets_its_answer_as_one() {
    let headers = headers(&[("accept", "text/event-stream")]);
    let reply = toy().post(&headers, &legacy(json!(1), "ping", json!({}))).await;
    assert_eq!(header(&reply, "content-type"), Some("text/event-stream"));
    let events: Vec<Bytes> = events_of(reply).collect().await;
    assert_eq!(events.len(), 1, "the stream ends after the answer");
    assert_eq!(message_of(&events[0]), json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
}

#[tokio::test]
async fn initialize_echoes_a_version_we_speak_and_gives_a_session() {
    let toy = toy();
    for (wanted, given) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1.0", "2025-11-25"),
    ] {
        let params =
            json!({"protocolVersion": wanted, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
        let reply = toy.post(&HeaderMap::new(), &legacy(json!(0), "initialize", params)).await;
        let session = header(&reply, "mcp-session-id").expect("a session id").to_owned();
        assert!(session.bytes().all(|byte| byte.is_ascii_graphic()));
        let result = &json_of(&reply)["result"];
        assert_eq!(result["protocolVersion"], given);
        let mut info = json!({"name": "toy", "title": "Toy \"server\"", "version": "1.2.3"});
        if given == "2025-11-25" {
            info["icons"] = json!([{ "src": ICON, "mimeType": "image/svg+xml", "sizes": ["any"] }]);
        }
        assert_eq!(result["serverInfo"], info, "{given}");
        assert_eq!(result["instructions"], "Play nicely.");
        assert_eq!(result["capabilities"]["resources"], json!({"subscribe": true}));
        assert!(result["capabilities"]["tools"].is_object() && result.get("resultType").is_none());
    }
}

#[tokio::test]
async fn no_other_answer_carries_a_session() {
    let reply = toy().post(&HeaderMap::new(), &legacy(json!(0), "ping", json!({}))).await;
    assert_eq!(header(&reply, "mcp-session-id"), None);
}

#[tokio::test]
async fn notifications_and_a_clients_answers_are_accepted_without_a_body() {
    let toy = toy();
    let bodies = [
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "method": "no/such/notification", "params": [1]}),
        json!({"jsonrpc": "2.0", "id": 4, "result": {}}),
    ];
    for body in bodies {
        let reply = toy.post(&HeaderMap::new(), &body).await;
        assert_eq!(reply.status.as_u16(), 202);
        assert!(matches!(reply.body, ReplyBody::Empty));
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_a_bad_request() {
    let toy = toy();
    for (body, code) in [("[]", -32600), ("{", -32700), ("7", -32600), ("{}", -32600)] {
        let reply = toy.endpoint.post(&HeaderMap::new(), Bytes::from(body)).await;
        assert_eq!((reply.status.as_u16(), json_of(&reply)["error"]["code"].as_i64()), (400, Some(code)));
    }
    let params = toy.bare("ping", json!([1])).await;
    assert_eq!(params["error"]["code"], -32602);
}

#[tokio::test]
async fn methods_that_need_no_fixture_answer_what_they_must() {
    let toy = toy();
    assert_eq!(toy.bare("ping", json!({})).await["result"], json!({}));
    assert_eq!(toy.bare("logging/setLevel", json!({"level": "info"})).await["result"], json!({}));
    assert_eq!(toy.bare("prompts/list", json!({})).await["result"], json!({"prompts": []}));
    let completion = toy.bare("completion/complete", json!({})).await;
    assert_eq!(completion["result"]["completion"]["values"], json!([]));
    assert_eq!(toy.bare("prompts/get", json!({"name": "x"})).await["error"]["code"], -32602);
}

#[tokio::test]
async fn an_unknown_method_is_an_error_in_an_ordinary_answer() {
    let toy = toy();
    for method in ["no/such", "subscriptions/unlisten", "", "tools/call/"] {
        let reply = toy.post(&HeaderMap::new(), &legacy(json!(1), method, json!({}))).await;
        assert_eq!((reply.status.as_u16(), json_of(&reply)["error"]["code"].as_i64()), (200, Some(-32601)));
    }
}

#[tokio::test]
async fn an_unknown_tool_is_an_error_that_names_the_nearest() {
    let answer = toy().bare("tools/call", json!({"name": "ecko", "arguments": {}})).await;
    assert_eq!(answer["error"]["code"], -32602);
    assert_eq!(answer["error"]["message"], "Unknown tool 'ecko'. Did you mean 'echo'?");
    let nameless = toy().bare("tools/call", json!({})).await;
    assert_eq!(nameless["error"]["message"], "'params.name' must be a string.");
}

#[tokio::test]
async fn wrong_arguments_a_refusal_and_a_panic_are_all_tool_errors() {
    let toy = toy();
    let calls = [
        (
            json!({"name": "echo", "arguments": {"test": "x"}}),
            "INVALID_ARGUMENT",
            "Unknown argument 'test'. Did you mean 'text'?",
        ),
        (json!({"name": "echo"}), "INVALID_ARGUMENT", "Argument 'text' is missing."),
        (
            json!({"name": "numbers", "arguments": {"people": 1}}),
            "INVALID_ARGUMENT",
            "Unknown argument 'people'. Did you mean 'names'?",
        ),
        (json!({"name": "refuse", "arguments": {}}), "NO", "Not today. Ask tomorrow. [NO]"),
        (json!({"name": "crash", "arguments": {}}), "INTERNAL", "The tool 'crash' failed unexpectedly."),
    ];
    for (params, code, text) in calls {
        let answer = toy.bare("tools/call", params).await;
        let result = &answer["result"];
        assert_eq!((&result["isError"], &result["structuredContent"]["error"]["code"]), (&json!(true), &json!(code)));
        let told = result["content"][0]["text"].as_str().expect("a text");
        assert!(told.starts_with(text), "{told}");
    }
    assert_eq!(toy.bare("ping", json!({})).await["result"], json!({}), "the server lives on");
}

#[tokio::test]
async fn a_list_is_bare_in_the_text_and_wrapped_in_the_structure() {
    let answer = toy().bare("tools/call", json!({"name": "numbers", "arguments": {"count": 2}})).await;
    assert_eq!(answer["result"]["content"][0]["text"], "[0,1]");
    assert_eq!(answer["result"]["structuredContent"], json!({"result": [0, 1]}));
}

#[tokio::test]
async fn resources_are_listed_page_by_page_and_read() {
    let toy = toy();
    let first = toy.bare("resources/list", json!({})).await;
    assert_eq!(
        (&first["result"]["resources"][0]["uri"], &first["result"]["nextCursor"]),
        (&json!(COUNTER), &json!("2"))
    );
    let second = toy.bare("resources/list", json!({"cursor": "2"})).await;
    assert!(second["result"].get("nextCursor").is_none());
    let bad = toy.bare("resources/list", json!({"cursor": "x"})).await;
    assert_eq!((&bad["error"]["code"], &bad["error"]["data"]["code"]), (&json!(-32602), &json!("BAD_CURSOR")));
    let templates = toy.bare("resources/templates/list", json!({})).await;
    assert_eq!(templates["result"]["resourceTemplates"][0]["uriTemplate"], "toy://{name}");
    let read = toy.bare("resources/read", json!({"uri": COUNTER})).await;
    let content = json!({"uri": COUNTER, "mimeType": "application/json", "text": r#"{"count":0}"#});
    assert_eq!(read["result"], json!({"contents": [content]}));
}

#[tokio::test]
async fn a_resource_that_cannot_be_read_says_why() {
    let toy = toy();
    let gone = toy.bare("resources/read", json!({"uri": "toy://gone"})).await;
    let data = json!({"code": "NOT_FOUND", "hint": "", "uri": "toy://gone"});
    assert_eq!((&gone["error"]["code"], &gone["error"]["data"]), (&json!(-32002), &data));
    let locked = toy.bare("resources/read", json!({"uri": "toy://locked"})).await;
    let data = json!({"code": "LOCKED", "hint": "Ask.", "uri": "toy://locked"});
    assert_eq!(locked["error"], json!({"code": -32602, "message": "It is locked", "data": data}));
    let crash = toy.bare("resources/read", json!({"uri": "toy://crash"})).await;
    assert_eq!(crash["error"]["code"], -32603);
}

#[tokio::test]
async fn an_unknown_protocol_header_is_refused_and_known_ones_are_served() {
    let toy = toy();
    let ping = legacy(json!(1), "ping", json!({}));
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let reply = toy.post(&headers(&[("mcp-protocol-version", version)]), &ping).await;
        assert_eq!(reply.status.as_u16(), 200);
    }
    let reply = toy.post(&headers(&[("mcp-protocol-version", "1999-01-01")]), &ping).await;
    assert_eq!((reply.status.as_u16(), json_of(&reply)["error"]["code"].as_i64()), (400, Some(-32022)));
}

#[tokio::test]
async fn the_id_comes_back_byte_for_byte() {
    let toy = toy();
    for id in ["0", "1.50", "12345678901234567890123456789", "\"\\u0041\"", "\"\""] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        let reply = toy.endpoint.post(&HeaderMap::new(), Bytes::from(body)).await;
        let ReplyBody::Json(json) = reply.body else { panic!("a JSON answer") };
        assert_eq!(json, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    }
}

#[tokio::test]
async fn the_list_of_tools_has_the_same_bytes_in_every_process() {
    let reply = toy().post(&HeaderMap::new(), &legacy(json!(1), "tools/list", json!({}))).await;
    let ReplyBody::Json(json) = reply.body else { panic!("a JSON answer") };
    // One line a tool, so that a change is seen where it is.
    insta::assert_snapshot!(json.replace("},{\"name\"", "},\n{\"name\""));
}
