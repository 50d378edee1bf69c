//! The test prompts. Postrider has none of its own.

use mcp::{Asked, Ending, Scene};
use serde_json::{Value, json};

use crate::content::{embedded, image, text};
use crate::inputs;

/// The list of prompts.
pub fn list(is_modern: bool) -> Scene {
    let argument = |name: &str| json!({ "name": name, "description": "A text.", "required": true });
    let prompt = |name: &str, arguments: &[&str]| {
        let arguments: Vec<Value> = arguments.iter().map(|name| argument(name)).collect();
        json!({ "name": name, "description": "A prompt of the conformance suite.", "arguments": arguments })
    };
    let mut list = json!({ "prompts": [
        prompt("test_simple_prompt", &[]),
        prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
        prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
        prompt("test_prompt_with_image", &[]),
        prompt("test_input_required_result_prompt", &[]),
    ] });
    if is_modern {
        list["ttlMs"] = json!(0);
        list["cacheScope"] = json!("public");
    }
    Scene::Plain(Ending::Complete(list))
}

/// What the prompt `name` comes to.
pub fn play(name: &str, asked: &Asked<'_>) -> Option<Scene> {
    let argument = |name: &str| asked.params["arguments"][name].as_str().unwrap_or_default();
    Some(match name {
        "test_simple_prompt" => messages(&[text("This is a simple prompt for testing.")]),
        "test_prompt_with_arguments" => {
            let said = format!("Prompt with arguments: arg1='{}', arg2='{}'", argument("arg1"), argument("arg2"));
            messages(&[text(&said)])
        }
        "test_prompt_with_embedded_resource" => messages(&[
            embedded(argument("resourceUri"), "text/plain", "Embedded resource content for testing."),
            text("Please process the embedded resource above."),
        ]),
        "test_prompt_with_image" => messages(&[image(), text("Please analyze the image above.")]),
        "test_input_required_result_prompt" if asked.is_modern => {
            let needed = json!({ "user_context": inputs::elicit("What context should the prompt use?", "context") });
            match inputs::is_answered(&needed, asked.params) {
                true => messages(&[text("A prompt in the context that was asked for.")]),
                false => Scene::Plain(Ending::InputRequired(json!({ "inputRequests": needed }))),
            }
        }
        _ => return None,
    })
}

/// Messages of the user.
fn messages(contents: &[Value]) -> Scene {
    let messages: Vec<Value> = contents.iter().map(|content| json!({ "role": "user", "content": content })).collect();
    Scene::Plain(Ending::Complete(json!({ "messages": messages })))
}
