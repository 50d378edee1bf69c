//! What a client says on standard input: one JSON object.
//!
//! Read leniently: what is not there, or of another kind than it used to be, counts as not said, because a new version of
//! a client must not silence us. Of a tool's answer nothing is kept; it may be large.

use std::io::Read;
use std::path::PathBuf;

use anyhow::{Context, bail};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

use super::client::Client;
use super::patch;

/// The longest input that is read, in bytes.
const LONGEST: u64 = 16 << 20;

/// What a client says of an event.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Input {
    /// Which session.
    #[serde(deserialize_with = "if_it_fits")]
    pub session_id: String,
    /// Where the agent is.
    #[serde(deserialize_with = "if_it_fits")]
    pub cwd: PathBuf,
    /// The model behind the agent, where a client says so.
    #[serde(deserialize_with = "if_it_fits")]
    pub model: String,
    /// Which tool.
    #[serde(deserialize_with = "if_it_fits")]
    pub tool_name: String,
    #[serde(deserialize_with = "if_it_fits")]
    tool_input: ToolInput,
    /// Whether the agent only goes on because a hook told it to.
    #[serde(deserialize_with = "if_it_fits")]
    pub stop_hook_active: bool,
    /// Which agent below the main one, if it is not the main one.
    #[serde(deserialize_with = "if_it_fits")]
    agent_id: String,
}

/// What a tool is told, as far as it says which files are written.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ToolInput {
    #[serde(deserialize_with = "if_it_fits")]
    file_path: String,
    #[serde(deserialize_with = "if_it_fits")]
    notebook_path: String,
    #[serde(deserialize_with = "if_it_fits")]
    command: String,
}

impl Input {
    /// Reads all of `source`.
    pub fn read(source: impl Read) -> anyhow::Result<Self> {
        let mut text = Vec::new();
        source.take(LONGEST + 1).read_to_end(&mut text).context("cannot read standard input")?;
        if text.len() as u64 > LONGEST {
            bail!("the input is longer than {LONGEST} bytes");
        }
        if text.trim_ascii().is_empty() {
            bail!("there is no input; a client gives its event as JSON");
        }
        // A list would be read as the members in their order.
        let is_object = text.trim_ascii().starts_with(b"{");
        let input = if is_object { serde_json::from_slice(&text).ok() } else { None };
        input.context("the input is not the JSON object of an event")
    }

    /// Whether it is an agent below the main one that this is about.
    pub fn is_of_subagent(&self) -> bool {
        !self.agent_id.is_empty()
    }

    /// The files that the tool is about to write, as the client names them.
    pub fn written(&self, client: Client) -> Vec<String> {
        let ToolInput { file_path, notebook_path, command } = &self.tool_input;
        let one = match (client, self.tool_name.as_str()) {
            (Client::Claude, "Edit" | "Write" | "MultiEdit") | (Client::Gemini, "write_file" | "replace") => file_path,
            (Client::Claude, "NotebookEdit") => notebook_path,
            (Client::Codex, "apply_patch") => return patch::paths(command).into_iter().map(str::to_owned).collect(),
            (Client::Codex, "Bash") => return patch::paths_at_a_shell(command),
            _ => return Vec::new(),
        };
        Some(one.clone()).filter(|path| !path.is_empty()).into_iter().collect()
    }
}

/// The value if it is of the kind that is wanted, else none.
fn if_it_fits<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(source: D) -> Result<T, D::Error> {
    let value = serde_json::Value::deserialize(source)?;
    Ok(T::deserialize(value).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::super::examples;
    use super::*;

    #[test]
    fn what_each_client_says_of_each_event_is_understood() {
        for (client, event, text) in examples::all() {
            let input = Input::read(text.as_bytes()).expect("the examples can be read");
            assert!(!input.session_id.is_empty(), "{client:?} {event}");
            assert_eq!(input.cwd, PathBuf::from("/data/projects/app"), "{client:?} {event}");
            let is_main = !event.contains("subagent");
            assert_eq!(!input.is_of_subagent(), is_main, "{client:?} {event}");
        }
    }

    #[test]
    fn the_files_that_a_tool_writes_are_found_in_what_each_client_says() {
        let lib = "/data/projects/app/src/lib.rs";
        let notebook = "/data/projects/app/notes.ipynb";
        let patched = ["src/lib.rs", "src/new.rs", "src/old.rs", "docs/a.md", "docs/b.md"];
        for (client, event, paths) in [
            (Client::Claude, "PreToolUse", &[lib][..]),
            (Client::Claude, "PreToolUse-MultiEdit", &[lib]),
            (Client::Claude, "PreToolUse-NotebookEdit", &[notebook]),
            (Client::Claude, "PreToolUse-Bash", &[]),
            (Client::Claude, "PreToolUse-subagent", &[lib]),
            (Client::Codex, "PreToolUse", &patched),
            (Client::Codex, "PreToolUse-Bash", &[]),
            (Client::Codex, "PreToolUse-patch-at-a-shell", &["src/lib.rs"]),
            (Client::Gemini, "BeforeTool", &[lib]),
            (Client::Gemini, "BeforeTool-replace", &[lib]),
        ] {
            let input = Input::read(examples::input(client, event).as_bytes()).unwrap();
            assert_eq!(input.written(client), paths, "{client:?} {event}");
        }
    }

    #[test]
    fn members_of_another_kind_count_as_not_said() {
        let text = r#"{"session_id": 7, "cwd": null, "tool_input": [1], "stop_hook_active": "yes", "agent_id": {},
                       "tool_name": "Edit", "new": {"deep": []}}"#;
        let input = Input::read(text.as_bytes()).unwrap();
        assert!(input.session_id.is_empty() && !input.stop_hook_active && !input.is_of_subagent());
        assert!(input.written(Client::Claude).is_empty());
    }

    #[test]
    fn what_is_no_event_is_refused_in_words() {
        for (text, said) in [("", "no input"), (" \n", "no input"), ("{", "not the JSON"), ("[1]", "not the JSON")] {
            let error = Input::read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(said), "{text:?}: {error}");
        }
        let error = Input::read(std::io::repeat(b' ')).unwrap_err().to_string();
        assert!(error.contains("longer"), "{error}");
        let nested = format!("{{\"x\":{}", "[".repeat(1_000_000));
        assert!(Input::read(nested.as_bytes()).is_err());
    }
}
