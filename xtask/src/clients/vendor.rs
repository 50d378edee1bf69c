//! What differs between the clients: how each is run with a stand-in for its model, and how that model speaks.
//!
//! An answer is the least that a client takes for one. Nothing here knows what is asked, or runs anything.

use std::path::Path;

use serde_json::{Value, json};

/// Whose client it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vendor {
    /// Claude Code, by the Messages API.
    Anthropic,
    /// Codex, by the Responses API.
    OpenAi,
    /// Gemini CLI, by streamGenerateContent.
    Google,
}

/// A tool that the model wants called.
#[derive(Clone, Debug)]
pub struct Call {
    tool: &'static str,
    /// An object, or text for the tool of Codex that takes a patch.
    input: Value,
}

/// What a client is started with.
pub struct Start {
    /// Behind its name.
    pub arguments: Vec<String>,
    /// In its environment.
    pub environment: Vec<(&'static str, String)>,
}

impl Vendor {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Anthropic, Self::OpenAi, Self::Google];

    /// The client, as it and `postrider install` call it.
    pub fn client(self) -> &'static str {
        match self {
            Self::Anthropic => "claude",
            Self::OpenAi => "codex",
            Self::Google => "gemini",
        }
    }

    /// How the client is told `prompt` in a session of its own, with its model at `url`. It may write files and run
    /// commands without asking.
    pub fn start(self, url: &str, prompt: &str) -> Start {
        let provider =
            format!("model_providers.stand-in={{name=\"stand-in\",base_url=\"{url}/v1\",env_key=\"STAND_IN_KEY\"}}");
        let (arguments, environment): (&[&str], &[(&'static str, &str)]) = match self {
            Self::Anthropic => (
                &["-p", prompt, "--permission-mode", "acceptEdits", "--allowedTools", "Bash"],
                &[
                    ("ANTHROPIC_BASE_URL", url),
                    ("ANTHROPIC_API_KEY", "dummy"),
                    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
                ],
            ),
            // No person is there to trust the hooks, and its sandbox keeps our program from the mail. The model is one that
            // this version gives its patch tool to.
            Self::OpenAi => (
                &[
                    "exec",
                    "--dangerously-bypass-hook-trust",
                    "-s",
                    "danger-full-access",
                    "-m",
                    "gpt-5.5",
                    "-c",
                    "model_provider=\"stand-in\"",
                    "-c",
                    &provider,
                    prompt,
                ],
                &[("STAND_IN_KEY", "dummy")],
            ),
            Self::Google => (
                &["-p", prompt, "--approval-mode", "yolo", "-m", "gemini-2.5-pro"],
                &[("GOOGLE_GEMINI_BASE_URL", url), ("GEMINI_API_KEY", "dummy")],
            ),
        };
        let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
        let environment = environment.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        Start { arguments, environment }
    }

    /// A file below the client's home that has to be there before it works in `repository`, and its content.
    pub fn setting(self, repository: &Path) -> Option<(&'static str, String)> {
        match self {
            Self::Anthropic => None,
            // In a folder that nobody trusts no hooks of the project run.
            Self::OpenAi => {
                let trust = format!("[projects.{:?}]\ntrust_level = \"trusted\"\n", repository.display().to_string());
                Some(("codex/config.toml", trust))
            }
            // Without it the client takes another address for another way to log in.
            Self::Google => {
                let key = json!({ "auth": { "selectedType": "gemini-api-key" } });
                let settings = json!({ "security": key, "privacy": { "usageStatisticsEnabled": false } });
                Some((".gemini/settings.json", settings.to_string()))
            }
        }
    }

    /// Whether a request for that path is a question to the model.
    pub fn is_question(self, path: &str) -> bool {
        let path = path.split('?').next().unwrap_or_default();
        path.ends_with(match self {
            Self::Anthropic => "/messages",
            Self::OpenAi => "/responses",
            Self::Google => ":streamGenerateContent",
        })
    }

    /// A call that changes nothing.
    pub fn look(self, file: &Path) -> Call {
        match self {
            Self::Anthropic => Call { tool: "Read", input: json!({ "file_path": file }) },
            Self::OpenAi => Call { tool: "exec_command", input: json!({ "cmd": "echo hello" }) },
            Self::Google => Call { tool: "read_file", input: json!({ "file_path": file }) },
        }
    }

    /// A call that runs a command at the shell of the session.
    pub fn run(self, command: &str) -> Call {
        match self {
            Self::Anthropic => Call { tool: "Bash", input: json!({ "command": command, "description": "Mail" }) },
            Self::OpenAi => Call { tool: "exec_command", input: json!({ "cmd": command }) },
            Self::Google => Call { tool: "run_shell_command", input: json!({ "command": command }) },
        }
    }

    /// Every way in which the model can ask for a new file.
    pub fn writes(self, file: &Path) -> Vec<Call> {
        let whole = json!({ "file_path": file, "content": "written\n" });
        let patch = format!("*** Begin Patch\n*** Add File: {}\n+written\n*** End Patch\n", file.display());
        match self {
            Self::Anthropic => vec![Call { tool: "Write", input: whole }],
            Self::OpenAi => vec![
                Call { tool: "apply_patch", input: json!(patch) },
                Call { tool: "exec_command", input: json!({ "cmd": format!("apply_patch <<'EOF'\n{patch}EOF\n") }) },
            ],
            Self::Google => vec![Call { tool: "write_file", input: whole }],
        }
    }

    /// The `number`th answer, as a stream of events: the call, or a word and the end of the turn.
    pub fn answer(self, number: usize, call: Option<&Call>) -> String {
        match self {
            Self::Anthropic => anthropic(number, call),
            Self::OpenAi => open_ai(number, call),
            Self::Google => google(call),
        }
    }
}

/// The word of a model that has nothing to do.
const WORD: &str = "Done.";

fn anthropic(number: usize, call: Option<&Call>) -> String {
    let id = format!("toolu_{number}");
    let (block, delta, reason) = match call {
        Some(Call { tool, input }) => (
            json!({ "type": "tool_use", "id": id, "name": tool, "input": {} }),
            json!({ "type": "input_json_delta", "partial_json": input.to_string() }),
            "tool_use",
        ),
        None => (json!({ "type": "text", "text": "" }), json!({ "type": "text_delta", "text": WORD }), "end_turn"),
    };
    let usage = json!({ "input_tokens": 1, "output_tokens": 1 });
    let message = json!({ "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": "stand-in",
                          "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage });
    let end = json!({ "stop_reason": reason, "stop_sequence": null });
    events(&[
        json!({ "type": "message_start", "message": message }),
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": end, "usage": { "output_tokens": 1 } }),
        json!({ "type": "message_stop" }),
    ])
}

fn open_ai(number: usize, call: Option<&Call>) -> String {
    let (id, call_id) = (format!("item_{number}"), format!("call_{number}"));
    let item = match call {
        Some(Call { tool, input: Value::String(text) }) => {
            json!({ "type": "custom_tool_call", "id": id, "call_id": call_id, "name": tool, "input": text })
        }
        Some(Call { tool, input }) => {
            let arguments = input.to_string();
            json!({ "type": "function_call", "id": id, "call_id": call_id, "name": tool, "arguments": arguments })
        }
        None => {
            let content = json!([{ "type": "output_text", "text": WORD }]);
            json!({ "type": "message", "id": id, "role": "assistant", "content": content })
        }
    };
    let response = format!("resp_{number}");
    let usage = json!({ "input_tokens": 1, "output_tokens": 1, "total_tokens": 2 });
    events(&[
        json!({ "type": "response.created", "response": { "id": response } }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({ "type": "response.completed", "response": { "id": response, "usage": usage } }),
    ])
}

fn google(call: Option<&Call>) -> String {
    let part = match call {
        Some(Call { tool, input }) => json!({ "functionCall": { "name": tool, "args": input } }),
        None => json!({ "text": WORD }),
    };
    let content = json!({ "role": "model", "parts": [part] });
    let usage = json!({ "promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2 });
    let candidate = json!({ "index": 0, "content": content, "finishReason": "STOP" });
    events(&[json!({ "candidates": [candidate], "usageMetadata": usage })])
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

    #[test]
    fn an_answer_is_the_call_or_the_end_of_the_turn() {
        for vendor in Vendor::ALL {
            let file = Path::new("/made/up/held.txt");
            for call in vendor.writes(file).iter().chain([&vendor.look(file)]) {
                let answer = vendor.answer(3, Some(call));
                assert!(answer.contains(call.tool) && !answer.contains(WORD), "{answer}");
            }
            let end = vendor.answer(4, None);
            assert!(end.contains(WORD) && end.ends_with("\n\n"), "{end}");
            assert!(vendor.writes(file).iter().all(|call| call.input.to_string().contains("held.txt")));
        }
    }

    #[test]
    fn only_the_model_is_asked_for_an_answer() {
        assert!(Vendor::Anthropic.is_question("/v1/messages?beta=true"));
        assert!(Vendor::OpenAi.is_question("/v1/responses"));
        assert!(Vendor::Google.is_question("/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse"));
        assert!(
            !Vendor::Anthropic.is_question("/v1/messages/count_tokens") && !Vendor::OpenAi.is_question("/v1/models")
        );
    }
}
