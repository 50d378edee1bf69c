//! What clients of 2026-07-28 rely on.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use crate::toy::{COUNTER, ICON, header, headers, json_of, legacy, modern, modern_headers, toy};

async fn refused(headers: &HeaderMap, body: &Value) -> (u16, i64) {
    let reply = toy().post(headers, body).await;
    (reply.status.as_u16(), json_of(&reply)["error"]["code"].as_i64().expect("an error"))
}

#[tokio::test]
async fn discover_introduces_the_server() {
    let (status, answer) = toy().modern("server/discover", json!({})).await;
    assert_eq!(status, 200);
    let result = &answer["result"];
    assert_eq!(result["supportedVersions"][0], "2026-07-28");
    assert_eq!(result["capabilities"]["resources"], json!({"subscribe": true}));
    assert!(result["capabilities"]["prompts"].is_object() && result["capabilities"].get("logging").is_none());
    assert_eq!(result["instructions"], "Play nicely.");
}

#[tokio::test]
async fn every_result_is_complete_and_says_who_made_it() {
    let toy = toy();
    let requests = [
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        ("tools/call", json!({"name": "echo", "arguments": {"text": "x"}})),
        ("tools/call", json!({"name": "refuse", "arguments": {}})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": COUNTER})),
        ("prompts/list", json!({})),
        ("completion/complete", json!({})),
    ];
    for (method, params) in requests {
        let (status, answer) = toy.modern(method, params).await;
        assert_eq!((status, &answer["result"]["resultType"]), (200, &json!("complete")), "{method}");
        let info = &answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!(info["name"], "toy", "{method}");
        // The picture comes once, with the introduction.
        let icon = (method == "server/discover").then_some(ICON);
        assert_eq!(info["icons"][0]["src"].as_str(), icon, "{method}");
    }
}

#[tokio::test]
async fn lists_and_reads_say_how_long_they_keep() {
    let toy = toy();
    for (method, params, ttl, scope) in [
        ("server/discover", json!({}), 3_600_000, "public"),
        ("tools/list", json!({}), 3_600_000, "public"),
        ("prompts/list", json!({}), 3_600_000, "public"),
        ("resources/templates/list", json!({}), 3_600_000, "public"),
        ("resources/list", json!({}), 0, "private"),
        ("resources/read", json!({"uri": COUNTER}), 0, "private"),
    ] {
        let (_, answer) = toy.modern(method, params).await;
        let result = &answer["result"];
        assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(ttl), &json!(scope)), "{method}");
    }
    let (_, call) = toy.modern("tools/call", json!({"name": "echo", "arguments": {"text": "x"}})).await;
    assert!(call["result"].get("ttlMs").is_none(), "a call is not to be cached");
}

#[tokio::test]
async fn a_request_must_say_its_version_and_capabilities() {
    let headers = modern_headers("server/discover", None);
    let meta = |meta: Value| legacy(json!(101), "server/discover", json!({ "_meta": meta }));
    assert_eq!(refused(&headers, &legacy(json!(101), "server/discover", json!({}))).await, (400, -32602));
    let no_version = meta(json!({"io.modelcontextprotocol/clientCapabilities": {}}));
    assert_eq!(refused(&headers, &no_version).await, (400, -32602));
    let no_capabilities = meta(json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"}));
    assert_eq!(refused(&headers, &no_capabilities).await, (400, -32602));
    let enough = meta(json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }));
    assert_eq!(toy().post(&headers, &enough).await.status.as_u16(), 200, "clientInfo is not required");
}

#[tokio::test]
async fn an_unsupported_version_is_told_what_is_supported_under_the_same_id() {
    let mut body = modern(json!(301), "server/discover", json!({}));
    body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("v999.0.0");
    let matching = headers(&[("mcp-protocol-version", "v999.0.0"), ("mcp-method", "server/discover")]);
    let reply = toy().post(&matching, &body).await;
    let answer = json_of(&reply);
    assert_eq!((reply.status.as_u16(), &answer["id"]), (400, &json!(301)));
    assert_eq!((&answer["error"]["code"], &answer["error"]["data"]["requested"]), (&json!(-32022), &json!("v999.0.0")));
    assert_eq!(answer["error"]["data"]["supported"][0], "2026-07-28");
    assert_eq!(refused(&modern_headers("server/discover", None), &body).await, (400, -32020), "the header differs");
}

#[tokio::test]
async fn headers_must_say_what_the_body_says() {
    let list = modern(json!(1), "tools/list", json!({}));
    assert_eq!(refused(&HeaderMap::new(), &list).await, (400, -32020));
    assert_eq!(refused(&headers(&[("mcp-protocol-version", "2026-07-28")]), &list).await, (400, -32020));
    assert_eq!(refused(&modern_headers("prompts/list", None), &list).await, (400, -32020));
    assert_eq!(refused(&modern_headers("TOOLS/LIST", None), &list).await, (400, -32020));
    let call = modern(json!(1), "tools/call", json!({"name": "echo", "arguments": {"text": "x"}}));
    assert_eq!(refused(&modern_headers("tools/call", None), &call).await, (400, -32020));
    assert_eq!(refused(&modern_headers("tools/call", Some("wrong")), &call).await, (400, -32020));
    assert_eq!(refused(&modern_headers("tools/call", Some("=?base64?!!!?=")), &call).await, (400, -32020));
    assert_eq!(refused(&modern_headers("tools/call", Some("naïve")), &call).await, (400, -32020));
    for accepted in ["echo", "  echo  ", "=?base64?ZWNobw==?="] {
        let reply = toy().post(&modern_headers("tools/call", Some(accepted)), &call).await;
        assert_eq!(reply.status.as_u16(), 200, "{accepted:?}");
    }
    let read = modern(json!(1), "resources/read", json!({"uri": COUNTER}));
    assert_eq!(refused(&modern_headers("resources/read", Some("toy://other")), &read).await, (400, -32020));
}

#[tokio::test]
async fn methods_of_the_old_era_are_gone_and_unknown_ones_not_found() {
    for method in ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "no/such"]
    {
        let (status, answer) = toy().modern(method, json!({})).await;
        assert_eq!((status, &answer["error"]["code"], &answer["id"]), (404, &json!(-32601), &json!(1)), "{method}");
    }
}

#[tokio::test]
async fn an_unknown_tool_or_resource_is_a_wrong_parameter() {
    let (_, tool) = toy().modern("tools/call", json!({"name": "ecko", "arguments": {}})).await;
    assert_eq!(tool["error"]["code"], -32602);
    let (_, resource) = toy().modern("resources/read", json!({"uri": "toy://gone"})).await;
    assert_eq!((&resource["error"]["code"], &resource["error"]["data"]["uri"]), (&json!(-32602), &json!("toy://gone")));
}

#[tokio::test]
async fn a_session_id_is_ignored_and_none_is_given() {
    let mut with_session = modern_headers("tools/list", None);
    with_session.insert(HeaderName::from_static("mcp-session-id"), HeaderValue::from_static("over"));
    let toy = toy();
    toy.endpoint.delete(&with_session);
    let reply = toy.post(&with_session, &modern(json!(1), "tools/list", json!({}))).await;
    assert_eq!((reply.status.as_u16(), header(&reply, "mcp-session-id")), (200, None));
}

#[tokio::test]
async fn a_handshake_version_in_meta_is_served_the_old_way() {
    let mut body = modern(json!(1), "ping", json!({}));
    body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2025-11-25");
    let reply = toy().endpoint.post(&HeaderMap::new(), Bytes::from(body.to_string())).await;
    assert_eq!(json_of(&reply)["result"], json!({}));
}
