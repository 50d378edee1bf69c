//! What `docs/tools.schema.json` promises of every tool's answer is what the tools answer, no more and no less.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::harness::calls::one_of_each;
use crate::harness::mcp::{as_agent, message, with};
use crate::harness::{self, Place, Server};

/// The documented answers, made strict: a field that is not described is an error.
fn documented() -> Map<String, Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tools.schema.json");
    let text = std::fs::read_to_string(path).expect("the schemas are documented");
    let mut schemas: Value = serde_json::from_str(&text).expect("the schemas are JSON");
    forbid_more(&mut schemas);
    schemas.as_object().expect("a schema for each tool").clone()
}

fn forbid_more(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if members.contains_key("properties") {
                members.insert("additionalProperties".to_owned(), json!(false));
            }
            members.values_mut().for_each(forbid_more);
        }
        Value::Array(items) => items.iter_mut().for_each(forbid_more),
        _ => {}
    }
}

fn check(schemas: &Map<String, Value>, tool: &str, answer: &Value) {
    let validator = jsonschema::JSONSchema::compile(&schemas[tool]).expect("the schema is one");
    let problems: Vec<String> = match validator.validate(answer) {
        Ok(()) => Vec::new(),
        Err(errors) => errors.map(|error| format!("{} at '{}'", error, error.instance_path)).collect(),
    };
    assert!(problems.is_empty(), "{tool} answers {answer}, which is not as documented: {problems:?}");
}

#[test]
fn every_answer_is_as_documented() {
    let server = Server::start();
    let schemas = documented();
    let mut tools = BTreeSet::new();
    for (tool, arguments) in one_of_each(&server) {
        check(&schemas, tool, &server.call(tool, arguments));
        tools.insert(tool);
    }
    assert_eq!(tools, schemas.keys().map(String::as_str).collect(), "every documented tool was called");
}

#[test]
fn answers_with_nothing_or_with_everything_in_them_are_as_documented_too() {
    let server = Place::with_settings("identity = \"claimed\"").serve();
    let schemas = documented();
    one_of_each(&server);
    let call = |tool: &str, arguments: Value| {
        let answer = server.call(tool, arguments);
        check(&schemas, tool, &answer);
        answer
    };
    let agent = call("register_agent", json!({ "project_key": harness::mcp::PROJECT }));
    let name = agent["name"].as_str().unwrap();
    assert_eq!(call("fetch_inbox", as_agent(name, json!({}))), json!([]));
    call("wait_for_mail", as_agent(name, json!({ "timeout_seconds": 0 })));
    call("release_file_reservations", as_agent(name, json!({})));
    let mail = json!({
        "project_key": harness::mcp::PROJECT, "sender_name": name, "to": "GreenDog", "cc": ["BlueLake"], "bcc": ["RedFox"], "subject": "Bead: x", "body_md": "Issue: bd-9",
    });
    let sent = call("send_message", mail);
    for reader in ["GreenDog", "BlueLake", "RedFox"] {
        call("mark_message_read", as_agent(reader, json!({ "message_id": sent["id"] })));
        call("fetch_inbox", as_agent(reader, json!({ "include_bodies": false })));
    }
    call("file_reservation_paths", as_agent("RedFox", json!({ "paths": ["src/**"] })));
    let taken = call("macro_start_session", as_agent("GreenDog", json!({ "reserve_paths": ["src/a.rs"] })));
    assert_eq!(taken["file_reservations"]["conflicts"][0]["holder"], "RedFox");
    assert!(!taken["inbox"].as_array().unwrap().is_empty());
}

#[test]
fn answers_about_proved_names_are_as_documented_too() {
    let server = Place::with_settings("identity = \"strict\"").serve();
    let schemas = documented();
    server.register(&[]);
    let agent = server.call("register_agent", json!({ "project_key": harness::mcp::PROJECT, "name": "GreenDog" }));
    check(&schemas, "register_agent", &agent);
    let proof = json!({ "registration_token": agent["registration_token"] });
    let sent = server.call("send_message", with(message("GreenDog", "GreenDog", "Note"), proof.clone()));
    check(&schemas, "send_message", &sent);
    let inbox = server.call("fetch_inbox", as_agent("GreenDog", proof));
    check(&schemas, "fetch_inbox", &inbox);
    assert_eq!((&sent["vouched"], &inbox[0]["vouched"]), (&json!("verified"), &json!("verified")));
}
