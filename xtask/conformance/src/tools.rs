//! The test tools that need nothing of the client.
//!
//! A text and an error are what tools of ours come to as well, so that those two are tools like ours. The others answer
//! what ours do not: pictures, sounds, resources, and notices on the way.

use futures_util::{StreamExt, stream};
use http::StatusCode;
use mcp::{Asked, Cue, Hints, Output, Refusal, Scene, Tool};
use serde_json::{Value, json};

use crate::content::{audio, embedded, image, plain, result, text};
use crate::inputs;

/// Every tool that is played, and what it is for.
const PLAYED: [(&str, &str); 21] = [
    ("test_image_content", "Answer a picture."),
    ("test_audio_content", "Answer a sound."),
    ("test_embedded_resource", "Answer a resource."),
    ("test_multiple_content_types", "Answer a text, a picture and a resource."),
    ("test_tool_with_logging", "Tell of three steps in the log."),
    ("test_logging_tool", "Tell of three steps in the log, if the request asks for a log."),
    ("test_tool_with_progress", "Tell of three steps as progress."),
    ("test_missing_capability", "Work with clients that can sample."),
    ("test_streaming_elicitation", "Ask for a name on a stream."),
    ("test_sampling", "Let the client's model answer a prompt."),
    ("test_elicitation", "Ask the user who it is."),
    ("test_elicitation_sep1034_defaults", "Ask with a default for each kind of field."),
    ("test_elicitation_sep1330_enums", "Ask with each kind of choice."),
    ("test_input_required_result_elicitation", "Need a name."),
    ("test_input_required_result_sampling", "Need the client's model."),
    ("test_input_required_result_list_roots", "Need the client's roots."),
    ("test_input_required_result_request_state", "Need a confirmation, and the state back."),
    ("test_input_required_result_multiple_inputs", "Need three things at once."),
    ("test_input_required_result_multi_round", "Need one thing after the other."),
    ("test_input_required_result_tampered_state", "Refuse a state that was changed."),
    ("test_input_required_result_capabilities", "Need what the client can do."),
];

/// The tools like ours.
pub fn like_ours() -> Vec<Tool> {
    vec![
        Tool::new("test_simple_text", "Answer a text.", &[], Hints::READS, |_| async {
            Ok(Output::json(&"This is a simple text response for testing."))
        }),
        Tool::new("test_error_handling", "Fail.", &[], Hints::READS, |_| async {
            Err(Refusal::new("TEST_ERROR", "This tool intentionally returns an error for testing"))
        }),
    ]
}

/// What `tools/list` says of those that are played.
pub fn declarations() -> Vec<Value> {
    let declare = |(name, about): &(&str, &str)| {
        let takes = match *name {
            "test_sampling" => taking("prompt"),
            "test_elicitation" => taking("message"),
            _ => json!({ "type": "object" }),
        };
        json!({ "name": name, "description": about, "inputSchema": takes })
    };
    let schema_tool = json!({
        "name": "json_schema_2020_12_tool",
        "description": "Tool with JSON Schema 2020-12 features",
        "inputSchema": schema_of_2020_12(),
    });
    PLAYED.iter().map(declare).chain([schema_tool]).collect()
}

fn taking(name: &str) -> Value {
    json!({ "type": "object", "properties": { name: { "type": "string" } }, "required": [name] })
}

fn schema_of_2020_12() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
        } },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}

/// What a call of the tool `name` comes to.
pub fn play(name: &str, asked: &Asked<'_>) -> Option<Scene> {
    let meta = &asked.params["_meta"];
    Some(match name {
        "test_image_content" => plain(&[image()]),
        "test_audio_content" => plain(&[audio()]),
        "test_embedded_resource" => {
            plain(&[embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")])
        }
        "test_multiple_content_types" => plain(&[
            text("Multiple content types test:"),
            image(),
            embedded("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#),
        ]),
        "test_tool_with_logging" | "test_logging_tool" => logging(asked.is_modern, meta),
        "test_tool_with_progress" => progress(meta),
        "test_missing_capability" if asked.is_modern => missing_capability(meta),
        "test_streaming_elicitation" if asked.is_modern => {
            Scene::Streamed(stream::iter([Cue::Ending(inputs::a_name())]).boxed())
        }
        "json_schema_2020_12_tool" => plain(&[text("The arguments are read by nobody.")]),
        _ => return None,
    })
}

/// Since 2026-07-28 a request says itself whether it wants a log.
fn logging(is_modern: bool, meta: &Value) -> Scene {
    if is_modern && meta["io.modelcontextprotocol/logLevel"].is_null() {
        return plain(&[text("The tool ran without a log.")]);
    }
    let steps = ["Tool execution started", "Tool processing data", "Tool execution completed"];
    let told =
        steps.map(|step| notification("message", &json!({ "level": "info", "logger": "fixtures", "data": step })));
    then_done(told, "The tool told of its steps in the log.")
}

fn progress(meta: &Value) -> Scene {
    let token = &meta["progressToken"];
    if token.is_null() {
        return plain(&[text("Nobody asked for progress.")]);
    }
    let told = [0, 50, 100]
        .map(|done| notification("progress", &json!({ "progressToken": token, "progress": done, "total": 100 })));
    then_done(told, "The tool told of its progress.")
}

fn notification(kind: &str, params: &Value) -> Cue {
    Cue::Message(json!({ "jsonrpc": "2.0", "method": format!("notifications/{kind}"), "params": params }))
}

fn then_done(told: [Cue; 3], said: &str) -> Scene {
    let last = Cue::Ending(result(&[text(said)]));
    Scene::Streamed(stream::iter(told.into_iter().chain([last])).boxed())
}

fn missing_capability(meta: &Value) -> Scene {
    if meta["io.modelcontextprotocol/clientCapabilities"]["sampling"].is_object() {
        return plain(&[text("The client can sample.")]);
    }
    Scene::Refused {
        code: -32021,
        status: StatusCode::BAD_REQUEST,
        message: "The tool requires the client capability 'sampling'.".to_owned(),
        data: json!({ "requiredCapabilities": { "sampling": {} } }),
    }
}
