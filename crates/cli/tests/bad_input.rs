//! Bad input gets a clear refusal and leaves nothing behind, whatever it is.
//!
//! What is kept is compared before and after: every message by `export`, everything else by the counts of `doctor`.

use serde_json::{Map, Value, json};

use crate::harness::calls::one_of_each;
use crate::harness::mcp::{PROJECT, as_agent, message, request, tool_call, with};
use crate::harness::{self, Server};

/// The tools as they are listed: name, and properties of the input schema.
fn listed(server: &Server) -> Vec<(String, Map<String, Value>, Vec<String>)> {
    let tools = server.rpc("tools/list", json!({}))["result"]["tools"].clone();
    let read = |tool: &Value| {
        let schema = &tool["inputSchema"];
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let required = required.iter().map(|name| name.as_str().expect("a name").to_owned()).collect();
        (
            tool["name"].as_str().expect("a tool has a name").to_owned(),
            schema["properties"].as_object().expect("a schema has properties").clone(),
            required,
        )
    };
    tools.as_array().expect("a list of tools").iter().map(read).collect()
}

/// Values that a parameter with this schema must not take.
fn wrong_values(schema: &Value) -> Vec<Value> {
    let mut wrong = vec![json!({}), json!({ "a": 1 }), json!([[]])];
    match schema["type"].as_str().expect("one plain type") {
        "string" => wrong.extend([json!(1), json!(true), json!(1.5), json!([]), json!(["a"])]),
        "boolean" => wrong.extend([json!("yes"), json!(1), json!(0), json!([])]),
        "integer" => {
            wrong.extend([json!("x"), json!(""), json!(true), json!(1.5), json!([]), json!([1]), json!(1e300)])
        }
        "array" => wrong.extend([json!(1), json!(true), json!([1]), json!([null]), json!(["a", 2]), json!([["a"]])]),
        other => panic!("no parameter is of type '{other}'"),
    }
    wrong.extend(schema["minimum"].as_i64().map(|least| json!(least - 1)));
    wrong.extend(schema["maximum"].as_i64().map(|most| json!(most + 1)));
    wrong.extend(schema.get("enum").map(|_| json!("none-of-these")));
    wrong
}

fn changed(arguments: &Value, name: &str, value: Value) -> Value {
    with(arguments.clone(), json!({ name: value }))
}

#[test]
fn every_parameter_of_every_tool_refuses_every_wrong_type_by_name() {
    let server = Server::start();
    let calls = one_of_each(&server);
    let before = server.place.kept();
    let mut tried = 0;
    for (tool, properties, required) in listed(&server) {
        let (_, arguments) = calls.iter().find(|(name, _)| *name == tool).expect("every tool has a valid call");
        for (name, schema) in &properties {
            let missing = required.contains(name).then_some(Value::Null);
            for wrong in wrong_values(schema).into_iter().chain(missing) {
                let refused = server.refused(&tool, changed(arguments, name, wrong.clone()));
                assert_eq!(refused.code, "INVALID_ARGUMENT", "{tool}.{name} = {wrong}");
                assert!(refused.message.contains(&format!("'{name}'")), "{tool}.{name} = {wrong}: {refused:?}");
                tried += 1;
            }
        }
    }
    assert!(tried > 700, "only {tried} wrong values were tried");
    assert_eq!(server.place.kept(), before);
}

#[test]
fn an_unknown_argument_is_refused_with_the_nearest_real_one() {
    let server = Server::start();
    let calls = one_of_each(&server);
    let before = server.place.kept();
    for (tool, properties, _) in listed(&server) {
        let (_, arguments) = calls.iter().find(|(name, _)| *name == tool).unwrap();
        for name in properties.keys().filter(|name| name.len() > 4) {
            let refused = server.refused(&tool, changed(arguments, &format!("{name}x"), json!(1)));
            assert_eq!(refused.hint, format!("Did you mean '{name}'?"), "{tool}");
        }
        let refused = server.refused(&tool, changed(arguments, "qqqqqqqqqq", json!(1)));
        assert!(refused.message.contains("'qqqqqqqqqq'"), "{refused:?}");
    }
    for (tool, word, meant) in [
        ("send_message", "recipient", "to"),
        ("send_message", "body", "body_md"),
        ("fetch_inbox", "name", "agent_name"),
    ] {
        assert_eq!(server.refused(tool, json!({ word: "x" })).hint, format!("Did you mean '{meant}'?"));
    }
    for not_an_object in ["[]", "1", "\"x\"", "true"] {
        let body =
            format!(r#"{{"id":1,"method":"tools/call","params":{{"name":"whois","arguments":{not_an_object}}}}}"#);
        let refused = harness::mcp::answer_of(&server.post(body)).unwrap_err();
        assert!(refused.message.contains("must be an object"), "{refused:?}");
    }
    assert_eq!(server.place.kept(), before);
}

#[test]
fn projects_and_agents_that_are_not_there_are_refused_with_near_misses() {
    let server = Server::start();
    let calls = one_of_each(&server);
    let before = server.place.kept();
    for (tool, arguments) in &calls {
        for (name, _) in arguments.as_object().unwrap().iter() {
            let refused = |value: &str| server.refused(tool, changed(arguments, name, json!(value)));
            match name.as_str() {
                "project_key" | "human_key" => {
                    for wrong in ["./app", "data/projects/app", "../app", "/data/../etc", "", "C:app", "/a\u{0}b"] {
                        assert_eq!(refused(wrong).code, "INVALID_PROJECT_KEY", "{tool} {wrong:?}");
                    }
                    let long = format!("/{}", "x".repeat(5_000));
                    assert_eq!(refused(&long).code, "INVALID_PROJECT_KEY", "{tool}");
                }
                "agent_name" | "sender_name" if !tool.starts_with("macro_") => {
                    let refused = refused("GrenDog");
                    assert_eq!(refused.code, "AGENT_NOT_FOUND", "{tool}");
                    assert_eq!(refused.message, "Agent 'GrenDog' not found");
                    assert_eq!(refused.structured["suggestions"], json!(["GreenDog"]));
                    assert!(refused.hint.starts_with("Did you mean 'GreenDog'?"), "{refused:?}");
                }
                _ => {}
            }
        }
        if arguments.get("project_key").is_some() && *tool != "macro_start_session" {
            let near = server.refused(tool, changed(arguments, "project_key", json!("/data/projects/ap")));
            assert_eq!((near.code.as_str(), &near.structured["suggestions"]), ("PROJECT_NOT_FOUND", &json!([PROJECT])));
            let far = server.refused(tool, changed(arguments, "project_key", json!("/nothing/like/it/at/all")));
            assert_eq!(far.hint, "Call ensure_project first.", "{tool}");
        }
    }
    let stranger = server.refused("whois", as_agent("zzzzzzzzzzzz", json!({})));
    assert_eq!(stranger.hint, "Call register_agent first.");
    assert_eq!(server.place.kept(), before);
}

#[test]
fn empty_and_oversized_values_are_refused_and_leave_nothing() {
    let server = Server::start();
    one_of_each(&server);
    let before = server.place.kept();
    let (long, huge) = ("x".repeat(20_000), "x".repeat(4 * 1024 * 1024 + 1));
    let names: Vec<String> = (0..1_001).map(|number| format!("n{number}")).collect();
    let send = |more: Value| ("send_message", with(message("GreenDog", "BlueLake", "Hello"), more));
    let register = |more: Value| ("register_agent", with(json!({ "project_key": PROJECT }), more));
    let start = |more: Value| ("macro_start_session", with(json!({ "project_key": "/new/project" }), more));
    let reserve = |more: Value| ("file_reservation_paths", as_agent("RedFox", more));
    let search = |query: &str| ("search_messages", json!({ "project_key": PROJECT, "query": query }));
    let mut cases = vec![
        (send(json!({ "subject": "" })), "INVALID_ARGUMENT"),
        (send(json!({ "subject": " \n" })), "INVALID_ARGUMENT"),
        (send(json!({ "subject": huge })), "TOO_LARGE"),
        (send(json!({ "body_md": "" })), "INVALID_ARGUMENT"),
        (send(json!({ "body_md": huge })), "TOO_LARGE"),
        (send(json!({ "to": [] })), "NO_RECIPIENTS"),
        (send(json!({ "to": [""] })), "AGENT_NOT_FOUND"),
        (send(json!({ "to": ["BlueLake", "nobody"] })), "AGENT_NOT_FOUND"),
        (send(json!({ "cc": [long] })), "AGENT_NOT_FOUND"),
        (send(json!({ "bcc": ["nobody"] })), "AGENT_NOT_FOUND"),
        (send(json!({ "to": names })), "INVALID_ARGUMENT"),
        (reserve(json!({ "paths": names.clone() })), "INVALID_ARGUMENT"),
        (reserve(json!({ "paths": [] })), "INVALID_ARGUMENT"),
        (reserve(json!({ "paths": ["a"], "reason": long })), "TOO_LARGE"),
        (("acknowledge_message", as_agent("GreenDog", json!({ "message_id": 1, "ack_body": long }))), "TOO_LARGE"),
        (("fetch_inbox", as_agent("GreenDog", json!({ "thread_id": "" }))), "INVALID_ARGUMENT"),
        (("summarize_thread", json!({ "project_key": PROJECT, "thread_id": "" })), "INVALID_ARGUMENT"),
        (("summarize_thread", json!({ "project_key": PROJECT, "thread_id": long })), "THREAD_NOT_FOUND"),
        (("macro_prepare_thread", as_agent("New", json!({ "thread_id": "none" }))), "THREAD_NOT_FOUND"),
        (start(json!({ "reserve_paths": ["../x"] })), "INVALID_PATH"),
        (search(&"x ".repeat(501)), "INVALID_QUERY"),
    ];
    for label in ["", " ", "a\nb", long.as_str()] {
        cases.push((send(json!({ "thread_id": label })), "INVALID_ARGUMENT"));
        cases.push((send(json!({ "idempotency_key": label })), "INVALID_ARGUMENT"));
    }
    for name in ["", "  ", "a\u{7}b", "all", "#general", &"x".repeat(129)] {
        cases.push((register(json!({ "name": name })), "INVALID_ARGUMENT"));
        cases.push((start(json!({ "agent_name": name })), "INVALID_ARGUMENT"));
    }
    for field in ["program", "model", "task_description"] {
        cases.push((register(json!({ field: long })), "TOO_LARGE"));
        cases.push((start(json!({ field: long })), "TOO_LARGE"));
    }
    for ((tool, arguments), code) in cases {
        let refused = server.refused(tool, arguments.clone());
        let shown: String = arguments.to_string().chars().take(200).collect();
        assert_eq!(refused.code, code, "{tool} {shown}");
        assert!(refused.message.len() < 1_000, "a refusal does not grow with its cause: {tool} {shown}");
    }
    assert_eq!(server.place.kept(), before);
}

#[test]
fn paths_that_climb_out_or_cannot_be_read_are_refused() {
    let server = Server::start();
    server.register(&["GreenDog"]);
    let before = server.place.kept();
    let long = "x/".repeat(1_000);
    let bombs = ["{".repeat(50), "{a,b}".repeat(12)];
    let wrong = [
        "",
        "..",
        "../x",
        "a/../../x",
        "/etc/passwd",
        "a/*/../x",
        "[a",
        "{a",
        "a\\",
        "a\nb",
        "[z-a]",
        &long,
        &bombs[0],
        &bombs[1],
    ];
    for path in wrong {
        for tool in ["file_reservation_paths", "release_file_reservations", "renew_file_reservations"] {
            let refused = server.refused(tool, as_agent("GreenDog", json!({ "paths": ["fine.rs", path] })));
            assert_eq!(refused.code, "INVALID_PATH", "{tool} {path:?}");
        }
    }
    assert_eq!(server.place.kept(), before);
}

#[test]
fn a_query_that_does_not_parse_is_refused_with_the_place_and_others_are_not() {
    let server = Server::start();
    server.register(&["GreenDog"]);
    let search = |query: &str| json!({ "project_key": PROJECT, "query": query });
    let deep = format!("{}x{}", "(".repeat(200), ")".repeat(200));
    for query in ["", " ", "\"open", "(a", "a)", "a AND", "OR b", "NOT", "subject:", "from:", &deep] {
        let refused = server.refused("search_messages", search(query));
        assert_eq!(refused.code, "INVALID_QUERY", "{query:?}");
    }
    for query in
        ["a:b", "O'Brien", "100%", "C++", "'; DROP TABLE message; --", "a-b", "\"*\" x", "naïve 漢字", "^x", "{x}"]
    {
        server.call("search_messages", search(query));
    }
}

#[test]
fn messages_that_are_not_there_or_not_yours_cannot_be_marked_or_answered() {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake", "RedFox"]);
    let id = server.mail("GreenDog", "BlueLake", "Hello");
    server.call("ensure_project", json!({ "human_key": "/other" }));
    server.call("register_agent", json!({ "project_key": "/other", "name": "BlueLake" }));
    let before = server.place.kept();
    for tool in ["mark_message_read", "acknowledge_message"] {
        for none in [json!(0), json!(-1), json!(id + 1), json!(i64::MAX), json!("99999")] {
            let refused = server.refused(tool, as_agent("BlueLake", json!({ "message_id": none })));
            assert_eq!(refused.code, "MESSAGE_NOT_FOUND");
        }
        let foreign = json!({ "project_key": "/other", "agent_name": "BlueLake", "message_id": id });
        assert_eq!(server.refused(tool, foreign).code, "MESSAGE_NOT_FOUND", "another project's mail");
        let refused = server.refused(tool, as_agent("RedFox", json!({ "message_id": id })));
        assert_eq!(refused.code, "NOT_A_RECIPIENT");
    }
    for none in [0, id + 1] {
        let reply = json!({ "project_key": PROJECT, "message_id": none, "sender_name": "BlueLake", "body_md": "x" });
        assert_eq!(server.refused("reply_message", reply).code, "MESSAGE_NOT_FOUND");
    }
    assert_eq!(server.place.kept(), before);
}

#[test]
fn what_is_no_message_of_the_protocol_is_refused_as_such() {
    let server = Server::start();
    server.register(&["GreenDog"]);
    let before = server.place.kept();
    let deep_arguments = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    let deep_call =
        format!(r#"{{"id":1,"method":"tools/call","params":{{"name":"whois","arguments":{deep_arguments}}}}}"#);
    let mut invalid_text = tool_call("whois", &as_agent("GreenDog", json!({}))).into_bytes();
    let place = invalid_text.windows(8).position(|part| part == b"GreenDog").unwrap();
    invalid_text[place] = 0xff;
    let cases: Vec<(Vec<u8>, i64)> = vec![
        (b"".to_vec(), -32700),
        (b"   ".to_vec(), -32700),
        (b"{".to_vec(), -32700),
        (b"not json".to_vec(), -32700),
        (b"{\"id\":1,\"method\":\"ping\"} trailing".to_vec(), -32700),
        (b"{\"id\":1,\"method\":\"ping\",}".to_vec(), -32700),
        (invalid_text, -32700),
        (deep_call.into_bytes(), -32700),
        (format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)).into_bytes(), -32600),
        (format!("[{}]", request("ping", &json!({}))).into_bytes(), -32600),
        (b"[]".to_vec(), -32600),
        (b"\"ping\"".to_vec(), -32600),
        (b"null".to_vec(), -32600),
        (b"{}".to_vec(), -32600),
        (b"{\"id\":null,\"method\":\"ping\"}".to_vec(), -32600),
        (b"{\"id\":{},\"method\":\"ping\"}".to_vec(), -32600),
        (b"{\"id\":1,\"method\":7}".to_vec(), -32600),
        (b"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}".to_vec(), -32600),
    ];
    for (body, code) in cases {
        let shown = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
        let answer = server.post(body);
        assert_eq!(answer.status, 400, "{shown}");
        assert_eq!(answer.json()["error"]["code"], code, "{shown}: {answer:?}");
    }
    assert_eq!(server.place.kept(), before);
}
