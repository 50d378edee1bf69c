//! Whatever arrives, the answer is JSON-RPC and the server lives.

use bytes::Bytes;
use http::HeaderMap;
use mcp::{Reply, ReplyBody};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::toy::{Toy, modern, modern_headers, toy};

/// Whether a reply is one that a client of the protocol can read.
fn is_proper(reply: &Reply) -> bool {
    match &reply.body {
        ReplyBody::Empty => reply.status == 202,
        ReplyBody::EventStream(_) => reply.status == 200,
        ReplyBody::Json(json) => serde_json::from_str::<Value>(json).is_ok_and(|answer| {
            answer["jsonrpc"] == "2.0" && (answer.get("result").is_some() != answer.get("error").is_some())
        }),
    }
}

fn post(toy: &Toy, headers: &HeaderMap, body: Vec<u8>) -> Reply {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(toy.endpoint.post(headers, Bytes::from(body)))
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((member(), inner), 0..5).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

/// Names that mean something somewhere, so that random messages get far.
fn member() -> impl Strategy<Value = String> {
    let known = vec![
        "jsonrpc",
        "id",
        "method",
        "params",
        "name",
        "arguments",
        "uri",
        "cursor",
        "_meta",
        "notifications",
        "text",
        "count",
        "names",
        "order",
        "requestId",
        "protocolVersion",
        "clientInfo",
        "resourceSubscriptions",
        "io.modelcontextprotocol/protocolVersion",
        "io.modelcontextprotocol/clientCapabilities",
    ];
    prop_oneof![4 => proptest::sample::select(known).prop_map(str::to_owned), 1 => ".{0,8}"]
}

fn any_method() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "initialize",
        "ping",
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
        "resources/templates/list",
        "prompts/list",
        "prompts/get",
        "completion/complete",
        "server/discover",
        "subscriptions/listen",
        "logging/setLevel",
        "no/such",
    ])
}

fn any_tool() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec!["echo", "numbers", "refuse", "nothing"])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn random_bytes_get_a_proper_reply(body in proptest::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(is_proper(&post(&toy(), &HeaderMap::new(), body)));
    }

    #[test]
    fn random_json_gets_a_proper_reply(body in any_json()) {
        prop_assert!(is_proper(&post(&toy(), &HeaderMap::new(), body.to_string().into_bytes())));
    }

    #[test]
    fn random_params_of_every_method_get_a_proper_reply(method in any_method(), params in any_json(), is_modern: bool) {
        let toy = toy();
        let reply = if is_modern && params.is_object() {
            post(&toy, &modern_headers(method, None), modern(json!(1), method, params).to_string().into_bytes())
        } else {
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            post(&toy, &HeaderMap::new(), body.to_string().into_bytes())
        };
        prop_assert!(is_proper(&reply), "{}", reply.status);
    }

    #[test]
    fn random_arguments_of_every_tool_get_a_result_or_an_error(tool in any_tool(), arguments in any_json()) {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
        prop_assert!(is_proper(&post(&toy(), &HeaderMap::new(), body.to_string().into_bytes())));
    }

    #[test]
    fn a_cut_message_gets_a_proper_reply(at in 0_usize..200) {
        let body = modern(json!(1), "tools/call", json!({"name": "echo", "arguments": {"text": "héllo"}})).to_string();
        let cut = body.as_bytes()[..at.min(body.len())].to_vec();
        prop_assert!(is_proper(&post(&toy(), &modern_headers("tools/call", Some("echo")), cut)));
    }
}

#[test]
fn hostile_sizes_are_answered_in_linear_time() {
    let toy = toy();
    let deep = "[".repeat(4 << 20);
    let many = format!(
        r#"{{"method":"tools/call","id":1,"params":{{"name":"echo","arguments":{{{}"text":1}}}}}}"#,
        r#""x":1,"#.repeat(500_000)
    );
    let long = format!(r#"{{"method":"{}","id":1}}"#, "m".repeat(4 << 20));
    let nested = format!(
        r#"{{"id":1,"method":"tools/call","params":{{"name":"echo","arguments":{}1{}}}}}"#,
        r#"{"a":"#.repeat(200_000),
        "}".repeat(200_000)
    );
    let escapes = format!(
        r#"{{"id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{}"}}}}}}"#,
        "\\u0000".repeat(500_000)
    );
    for body in [format!("{{\"a\":{deep}"), many, long, nested, escapes] {
        assert!(is_proper(&post(&toy, &HeaderMap::new(), body.into_bytes())));
    }
}
