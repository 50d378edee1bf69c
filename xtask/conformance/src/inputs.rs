//! The test tools that cannot finish without the client, as 2026-07-28 has it: the answer says what is needed, and the
//! client calls again with it.
//!
//! Nothing is kept between two calls; how far a call is travels with the client, under a seal.

use http::StatusCode;
use mcp::{Ending, Scene};
use serde_json::{Value, json};

use crate::content::{plain, text};

/// The key of the seal. A fixture has nothing to hide.
const KEY: [u8; 32] = *b"the fixtures of this test server";

/// What a call of the tool `name` comes to.
pub fn play(name: &str, params: &Value) -> Option<Scene> {
    let needed = match name.strip_prefix("test_input_required_result_")? {
        "elicitation" => return Some(scene(&name_needed(), params)),
        "sampling" => {
            return Some(scene(&json!({ "capital_question": sample("What is the capital of France?") }), params));
        }
        "list_roots" => return Some(scene(&json!({ "client_roots": roots() }), params)),
        "capabilities" => return Some(scene(&what_the_client_can(params), params)),
        "multi_round" => return Some(rounds(params)),
        "request_state" | "tampered_state" => json!({ "confirm": confirm() }),
        "multiple_inputs" => json!({
            "user_name": elicit("What is your name?", "name"),
            "greeting": sample("Generate a greeting"),
            "client_roots": roots(),
        }),
        _ => return None,
    };
    Some(match round_of(params) {
        Err(refused) => refused,
        Ok(Some(1)) if is_answered(&needed, params) => plain(&[text("state-ok")]),
        Ok(_) => Scene::Plain(needing(&needed, 1)),
    })
}

/// The answer that asks for a name.
pub fn a_name() -> Ending {
    Ending::InputRequired(json!({ "inputRequests": name_needed() }))
}

/// A question for the user.
pub fn elicit(message: &str, field: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { field: { "type": "string" } }, "required": [field] });
    json!({ "method": "elicitation/create", "params": { "message": message, "requestedSchema": schema } })
}

/// Whether the client sent what is needed. What it sent beside that does not matter.
pub fn is_answered(needed: &Value, params: &Value) -> bool {
    let mut names = needed.as_object().into_iter().flatten().map(|(name, _)| name);
    names.all(|name| params["inputResponses"][name].is_object())
}

fn name_needed() -> Value {
    json!({ "user_name": elicit("What is your name?", "name") })
}

fn confirm() -> Value {
    let schema = json!({ "type": "object", "properties": { "ok": { "type": "boolean" } }, "required": ["ok"] });
    json!({ "method": "elicitation/create", "params": { "message": "Please confirm", "requestedSchema": schema } })
}

fn sample(prompt: &str) -> Value {
    let messages = [json!({ "role": "user", "content": text(prompt) })];
    json!({ "method": "sampling/createMessage", "params": { "messages": messages, "maxTokens": 100 } })
}

fn roots() -> Value {
    json!({ "method": "roots/list", "params": {} })
}

fn what_the_client_can(params: &Value) -> Value {
    let mut needed = json!({});
    let can = &params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    for (capability, name, request) in [
        ("elicitation", "user_name", elicit("What is your name?", "name")),
        ("sampling", "greeting", sample("Generate a greeting")),
        ("roots", "client_roots", roots()),
    ] {
        if can[capability].is_object() {
            needed[name] = request;
        }
    }
    needed
}

fn scene(needed: &Value, params: &Value) -> Scene {
    if is_answered(needed, params) {
        return plain(&[text(&format!("The client answered: {}", params["inputResponses"]))]);
    }
    Scene::Plain(Ending::InputRequired(json!({ "inputRequests": needed })))
}

fn rounds(params: &Value) -> Scene {
    let first = json!({ "step1": elicit("Step 1: What is your name?", "name") });
    let second = json!({ "step2": elicit("Step 2: What is your favorite color?", "color") });
    match round_of(params) {
        Err(refused) => refused,
        Ok(Some(1)) if is_answered(&first, params) => Scene::Plain(needing(&second, 2)),
        Ok(Some(2)) if is_answered(&second, params) => plain(&[text("Both steps are done.")]),
        Ok(Some(2)) => Scene::Plain(needing(&second, 2)),
        Ok(_) => Scene::Plain(needing(&first, 1)),
    }
}

fn needing(needed: &Value, round: u8) -> Ending {
    Ending::InputRequired(json!({ "inputRequests": needed, "requestState": sealed(round) }))
}

fn sealed(round: u8) -> String {
    format!("{round}.{}", blake3::keyed_hash(&KEY, &[round]).to_hex())
}

/// The round in which the client was told what is needed; `None` in its first call.
fn round_of(params: &Value) -> Result<Option<u8>, Scene> {
    let Some(state) = params["requestState"].as_str() else { return Ok(None) };
    match [1, 2].into_iter().find(|round| sealed(*round) == state) {
        Some(round) => Ok(Some(round)),
        None => Err(Scene::Refused {
            code: -32602,
            status: StatusCode::OK,
            message: "'params.requestState' was changed on the way.".to_owned(),
            data: json!({}),
        }),
    }
}
