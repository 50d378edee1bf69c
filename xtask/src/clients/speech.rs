//! How the stand-in for a model speaks: four protocols, of which every client here knows one.
//!
//! An answer is the least that a client takes for one. Nothing here knows a client, or what is asked.

use serde_json::{Value, json};

/// A protocol between a client and its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speech {
    /// Anthropic's Messages.
    Messages,
    /// OpenAI's Responses.
    Responses,
    /// OpenAI's chat completions.
    Chat,
    /// Google's generateContent.
    Google,
}

/// A tool that the model wants called.
#[derive(Clone, Debug)]
pub struct Call {
    /// As the client calls it.
    pub tool: String,
    /// An object, or text for the tool of Codex that takes a patch.
    pub input: Value,
}

impl Call {
    /// A call of that tool.
    pub fn new(tool: &str, input: Value) -> Self {
        Self { tool: tool.to_owned(), input }
    }
}

/// What the model says, and how it is labelled.
pub struct Answer {
    /// The content type.
    pub kind: &'static str,
    /// The body.
    pub body: String,
}

/// The word of a model that has nothing to do.
const WORD: &str = "Done.";

impl Speech {
    /// Every protocol.
    #[cfg(test)]
    pub const ALL: [Self; 4] = [Self::Messages, Self::Responses, Self::Chat, Self::Google];

    /// Whether a request for that path is a question to the model.
    pub fn is_question(self, path: &str) -> bool {
        let path = path.split('?').next().unwrap_or_default();
        let ends: &[&str] = match self {
            Self::Messages => &["/messages"],
            Self::Responses => &["/responses"],
            Self::Chat => &["/chat/completions"],
            Self::Google => &[":streamGenerateContent", ":generateContent"],
        };
        ends.iter().any(|end| path.ends_with(end))
    }

    /// The `number`th answer to that question: the call, or a word and the end of the turn.
    pub fn answer(self, number: usize, path: &str, question: &Value, call: Option<&Call>) -> Answer {
        let streams = match self {
            Self::Google => path.contains(":streamGenerateContent"),
            // Nobody asks for a whole answer here.
            Self::Responses => true,
            Self::Messages | Self::Chat => question["stream"] == json!(true),
        };
        let values = match self {
            Self::Messages => messages(number, call),
            Self::Responses => responses(number, call),
            Self::Chat if streams => chat_in_pieces(number, call),
            Self::Chat => vec![chat(number, call)],
            Self::Google => vec![google(call)],
        };
        if streams {
            let end = if self == Self::Chat { "data: [DONE]\n\n" } else { "" };
            return Answer { kind: "text/event-stream", body: events(&values) + end };
        }
        let whole = match self {
            Self::Messages => whole_message(number, call),
            Self::Responses | Self::Chat | Self::Google => values.into_iter().next().unwrap_or_default(),
        };
        Answer { kind: "application/json", body: whole.to_string() }
    }
}

/// The block of a message, the delta that fills it, and why the message ends.
fn message_parts(number: usize, call: Option<&Call>) -> (Value, Value, &'static str) {
    match call {
        Some(Call { tool, input }) => (
            json!({ "type": "tool_use", "id": format!("toolu_{number}"), "name": tool, "input": {} }),
            json!({ "type": "input_json_delta", "partial_json": input.to_string() }),
            "tool_use",
        ),
        None => (json!({ "type": "text", "text": "" }), json!({ "type": "text_delta", "text": WORD }), "end_turn"),
    }
}

fn message(number: usize, content: &[Value], reason: Option<&str>) -> Value {
    let usage = json!({ "input_tokens": 1, "output_tokens": 1 });
    json!({ "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": "stand-in",
            "content": content, "stop_reason": reason, "stop_sequence": null, "usage": usage })
}

fn messages(number: usize, call: Option<&Call>) -> Vec<Value> {
    let (block, delta, reason) = message_parts(number, call);
    let end = json!({ "stop_reason": reason, "stop_sequence": null });
    vec![
        json!({ "type": "message_start", "message": message(number, &[], None) }),
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": end, "usage": { "output_tokens": 1 } }),
        json!({ "type": "message_stop" }),
    ]
}

fn whole_message(number: usize, call: Option<&Call>) -> Value {
    let (mut block, _, reason) = message_parts(number, call);
    match call {
        Some(call) => block["input"] = call.input.clone(),
        None => block["text"] = WORD.into(),
    }
    message(number, &[block], Some(reason))
}

fn responses(number: usize, call: Option<&Call>) -> Vec<Value> {
    let (id, call_id) = (format!("item_{number}"), format!("call_{number}"));
    let item = match call {
        Some(Call { tool, input: Value::String(text) }) => {
            json!({ "type": "custom_tool_call", "id": id, "call_id": call_id, "name": tool, "input": text })
        }
        Some(Call { tool, input }) => {
            let arguments = input.to_string();
            // A tool of a server is in a namespace, and its name is asked for without it.
            let (namespace, name) =
                tool.split_once('/').map_or((None, tool.as_str()), |(space, name)| (Some(space), name));
            let mut item =
                json!({ "type": "function_call", "id": id, "call_id": call_id, "name": name, "arguments": arguments });
            if let Some(namespace) = namespace {
                item["namespace"] = namespace.into();
            }
            item
        }
        None => {
            let content = json!([{ "type": "output_text", "text": WORD }]);
            json!({ "type": "message", "id": id, "role": "assistant", "content": content })
        }
    };
    let response = format!("resp_{number}");
    let usage = json!({ "input_tokens": 1, "output_tokens": 1, "total_tokens": 2 });
    vec![
        json!({ "type": "response.created", "response": { "id": response } }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({ "type": "response.completed", "response": { "id": response, "usage": usage } }),
    ]
}

/// What a chat says: the message, and why it ends.
fn chat_message(number: usize, call: Option<&Call>) -> (Value, &'static str) {
    match call {
        Some(Call { tool, input }) => {
            let function = json!({ "name": tool, "arguments": input.to_string() });
            let call = json!({ "index": 0, "id": format!("call_{number}"), "type": "function", "function": function });
            (json!({ "role": "assistant", "content": null, "tool_calls": [call] }), "tool_calls")
        }
        None => (json!({ "role": "assistant", "content": WORD }), "stop"),
    }
}

fn chat(number: usize, call: Option<&Call>) -> Value {
    let (message, reason) = chat_message(number, call);
    let choice = json!({ "index": 0, "message": message, "finish_reason": reason });
    json!({ "id": format!("chat_{number}"), "object": "chat.completion", "created": 1, "model": "stand-in",
            "choices": [choice], "usage": chat_usage() })
}

fn chat_in_pieces(number: usize, call: Option<&Call>) -> Vec<Value> {
    let (delta, reason) = chat_message(number, call);
    let piece = |delta: Value, reason: Value, usage: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
        json!({ "id": format!("chat_{number}"), "object": "chat.completion.chunk", "created": 1, "model": "stand-in",
                "choices": [choice], "usage": usage })
    };
    vec![piece(delta, Value::Null, Value::Null), piece(json!({}), reason.into(), chat_usage())]
}

fn chat_usage() -> Value {
    json!({ "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 })
}

fn google(call: Option<&Call>) -> Value {
    let part = match call {
        Some(Call { tool, input }) => json!({ "functionCall": { "name": tool, "args": input } }),
        None => json!({ "text": WORD }),
    };
    let content = json!({ "role": "model", "parts": [part] });
    let usage = json!({ "promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2 });
    let candidate = json!({ "index": 0, "content": content, "finishReason": "STOP" });
    json!({ "candidates": [candidate], "usageMetadata": usage })
}

/// Each value as an event of a stream, named by its type if it has one.
fn events(values: &[Value]) -> String {
    let event = |value: &Value| match value["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {value}\n\n"),
        None => format!("data: {value}\n\n"),
    };
    values.iter().map(event).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(speech: Speech, streams: bool, call: Option<&Call>) -> Answer {
        let path = if streams { "/m:streamGenerateContent" } else { "/m:generateContent" };
        speech.answer(3, path, &json!({ "stream": streams }), call)
    }

    #[test]
    fn an_answer_is_the_call_or_the_end_of_the_turn_as_a_stream_or_whole() {
        let call = Call::new("write_it", json!({ "file": "held.txt" }));
        for (speech, streams) in Speech::ALL.into_iter().flat_map(|speech| [(speech, true), (speech, false)]) {
            let (asks, ends) = (said(speech, streams, Some(&call)), said(speech, streams, None));
            assert!(asks.body.contains("write_it") && asks.body.contains("held.txt"), "{}", asks.body);
            assert!(ends.body.contains(WORD) && !asks.body.contains(WORD), "{}", ends.body);
            assert_eq!(ends.kind == "text/event-stream", streams || speech == Speech::Responses);
            assert!(streams || speech == Speech::Responses || serde_json::from_str::<Value>(&asks.body).is_ok());
        }
    }

    #[test]
    fn a_stream_of_a_chat_says_that_it_is_over() {
        assert!(said(Speech::Chat, true, None).body.ends_with("data: [DONE]\n\n"));
    }

    #[test]
    fn a_tool_in_a_namespace_is_asked_for_by_both_names() {
        let call = Call::new("mcp__postrider/health_check", json!({}));
        let body = said(Speech::Responses, true, Some(&call)).body;
        assert!(
            body.contains(r#""name":"health_check""#) && body.contains(r#""namespace":"mcp__postrider""#),
            "{body}"
        );
    }

    #[test]
    fn only_the_model_is_asked_for_an_answer() {
        assert!(Speech::Messages.is_question("/v1/messages?beta=true"));
        assert!(Speech::Responses.is_question("/v1/responses") && Speech::Chat.is_question("/v1/chat/completions"));
        assert!(Speech::Google.is_question("/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse"));
        assert!(!Speech::Messages.is_question("/v1/messages/count_tokens") && !Speech::Chat.is_question("/v1/models"));
    }
}
