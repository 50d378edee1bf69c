//! The test tools that ask the client something before they answer, as it was until 2025-11-25: a request of the server on
//! the stream of the call, whose answer comes with a POST of its own.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::{StreamExt, stream};
use mcp::{Cue, Scene};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::content::{result, text};

/// The questions that wait for an answer, by the id of the request.
#[derive(Default)]
pub struct Asking {
    last: AtomicU64,
    waiting: Mutex<HashMap<String, oneshot::Sender<Value>>>,
}

impl Asking {
    /// What a call of the tool `name` comes to.
    pub fn play(&self, name: &str, params: &Value) -> Option<Scene> {
        let arguments = &params["arguments"];
        Some(match name {
            "test_sampling" => {
                let messages = [json!({ "role": "user", "content": text(arguments["prompt"].as_str()?) })];
                self.ask("sampling/createMessage", &json!({ "messages": messages, "maxTokens": 100 }))
            }
            "test_elicitation" => self.elicit(arguments["message"].as_str()?, &who(), &["username", "email"]),
            "test_elicitation_sep1034_defaults" => self.elicit("Every field has a default.", &with_defaults(), &[]),
            "test_elicitation_sep1330_enums" => self.elicit("Choose.", &choices(), &[]),
            _ => return None,
        })
    }

    /// Takes the answer of a client.
    pub fn hear(&self, answer: &Value) {
        let asked = answer["id"].as_str().and_then(|id| self.waiting().remove(id));
        if let Some(asked) = asked {
            // The call may be over.
            let _ = asked.send(answer["result"].clone());
        }
    }

    fn elicit(&self, message: &str, properties: &Value, required: &[&str]) -> Scene {
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        self.ask("elicitation/create", &json!({ "message": message, "requestedSchema": schema }))
    }

    fn ask(&self, method: &str, params: &Value) -> Scene {
        let id = format!("fixture-{}", self.last.fetch_add(1, Ordering::Relaxed));
        let (sender, answer) = oneshot::channel();
        let request = Cue::Message(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        self.waiting().insert(id, sender);
        let last = async move {
            let said = answer.await.unwrap_or_default();
            Cue::Ending(result(&[text(&format!("The client answered: {said}"))]))
        };
        Scene::Streamed(stream::iter([request]).chain(stream::once(last)).boxed())
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, HashMap<String, oneshot::Sender<Value>>> {
        self.waiting.lock().expect("nothing panics while it is held")
    }
}

fn who() -> Value {
    json!({
        "username": { "type": "string", "description": "User's response" },
        "email": { "type": "string", "description": "User's email address" },
    })
}

fn with_defaults() -> Value {
    json!({
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
        "verified": { "type": "boolean", "default": true },
    })
}

fn choices() -> Value {
    let options = ["option1", "option2", "option3"];
    let titled = |word: &str| {
        let choice = |(value, which): (&str, &str)| json!({ "const": value, "title": format!("{which} {word}") });
        [("value1", "First"), ("value2", "Second"), ("value3", "Third")].map(choice)
    };
    let names = ["Option One", "Option Two", "Option Three"];
    json!({
        "untitledSingle": { "type": "string", "enum": options },
        "titledSingle": { "type": "string", "oneOf": titled("Option") },
        "legacyEnum": { "type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": names },
        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
        "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } },
    })
}
