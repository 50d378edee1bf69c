//! What a client says on standard input: one JSON object.
//!
//! Read leniently: what is not there, or of another kind than it used to be, counts as not said, because a new version of
//! a client must not silence us. Only the members that matter are read at all; the others may be large, nested without
//! end, or hold half of a character that a client cut in two.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;

use anyhow::{Context, bail};

use super::super::members::{self, LenientText, RawMembers};
use crate::clients::{self, Client};

/// The longest input that is read, in bytes.
const LONGEST: u64 = 16 << 20;

/// What a client says of an event.
#[derive(Debug, Default)]
pub struct Input {
    /// Which session.
    pub session_id: String,
    /// Where the agent is.
    pub cwd: PathBuf,
    /// The model behind the agent, where a client says so.
    pub model: String,
    /// How a session begins.
    pub source: String,
    /// Why a session ends.
    pub reason: String,
    /// Who wants the conversation compacted.
    pub trigger: String,
    /// Which tool.
    pub tool_name: String,
    /// What the client calls this use of it.
    pub tool_use_id: String,
    /// The members of what the tool is told that say which files are written.
    pub tool_input: BTreeMap<&'static str, String>,
    /// Which agent below the main one, if it is not the main one.
    pub agent_id: String,
    /// What kind of agent that is.
    pub agent_type: String,
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
        let text = String::from_utf8_lossy(&text);
        let said = members::read(&text, |name| MEMBERS.into_iter().find(|known| *known == name));
        let said = said.ok().context("the input is not the JSON object of an event")?;
        let tool_member = |name: &str| clients::tool_members().find(|known| *known == name);
        let tool = said.get("tool_input").and_then(|tool| members::read(tool.get(), tool_member).ok());
        let tool = tool.unwrap_or_default();
        Ok(Self {
            session_id: text_of(&said, "session_id"),
            cwd: text_of(&said, "cwd").into(),
            model: text_of(&said, "model"),
            source: text_of(&said, "source"),
            reason: text_of(&said, "reason"),
            trigger: text_of(&said, "trigger"),
            tool_name: text_of(&said, "tool_name"),
            tool_use_id: text_of(&said, "tool_use_id"),
            tool_input: tool.keys().map(|name| (*name, text_of(&tool, name))).collect(),
            agent_id: text_of(&said, "agent_id"),
            agent_type: text_of(&said, "agent_type"),
        })
    }

    /// Whether it is an agent below the main one that this is about.
    pub fn is_of_subagent(&self) -> bool {
        !self.agent_id.is_empty()
    }

    /// The files that the tool is about to write, as the client names them.
    pub fn written(&self, client: &Client) -> Vec<String> {
        client.written(&self.tool_name, |name| self.tool_input.get(name).cloned().unwrap_or_default())
    }
}

const MEMBERS: [&str; 11] = [
    "session_id",
    "cwd",
    "model",
    "source",
    "reason",
    "trigger",
    "tool_name",
    "tool_use_id",
    "tool_input",
    "agent_id",
    "agent_type",
];

/// The member, if it is text.
fn text_of(members: &RawMembers<'_>, name: &str) -> String {
    let member = members.get(name).and_then(|member| serde_json::from_str::<LenientText>(member.get()).ok());
    member.unwrap_or_default().0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::tests::examples;
    use crate::clients::{CLAUDE, CODEX, GEMINI};

    #[test]
    fn what_each_client_says_of_each_event_is_understood() {
        for (client, event, text) in examples::all() {
            let input = Input::read(text.as_bytes()).expect("the examples can be read");
            assert!(!input.session_id.is_empty(), "{} {event}", client.name);
            assert_eq!(input.cwd, PathBuf::from("/data/projects/app"), "{} {event}", client.name);
            let is_main = !event.to_lowercase().contains("subagent");
            assert_eq!(!input.is_of_subagent(), is_main, "{} {event}", client.name);
        }
    }

    #[test]
    fn the_files_that_a_tool_writes_are_found_in_what_each_client_says() {
        let lib = "/data/projects/app/src/lib.rs";
        let notebook = "/data/projects/app/notes.ipynb";
        let patched = ["src/lib.rs", "src/new.rs", "src/old.rs", "docs/a.md", "docs/b.md"];
        for (client, event, paths) in [
            (&CLAUDE, "PreToolUse", &[lib][..]),
            (&CLAUDE, "PreToolUse-MultiEdit", &[lib]),
            (&CLAUDE, "PreToolUse-NotebookEdit", &[notebook]),
            (&CLAUDE, "PreToolUse-Bash", &[]),
            (&CLAUDE, "PreToolUse-subagent", &[lib]),
            (&CODEX, "PreToolUse", &patched),
            (&CODEX, "PreToolUse-Bash", &[]),
            (&CODEX, "PreToolUse-patch-at-a-shell", &["src/lib.rs"]),
            (&GEMINI, "BeforeTool", &[lib]),
            (&GEMINI, "BeforeTool-replace", &[lib]),
        ] {
            let input = Input::read(examples::input(client, event).as_bytes()).unwrap();
            assert_eq!(input.written(client), paths, "{} {event}", client.name);
        }
    }

    #[test]
    fn members_of_another_kind_count_as_not_said() {
        let text = r#"{"session_id": 7, "cwd": null, "tool_input": [1], "trigger": true, "agent_id": {},
                       "tool_name": "Edit", "new": {"deep": []}}"#;
        let input = Input::read(text.as_bytes()).unwrap();
        assert!(input.session_id.is_empty() && input.trigger.is_empty() && !input.is_of_subagent());
        assert!(input.written(&CLAUDE).is_empty());
    }

    #[test]
    fn what_a_client_cut_in_two_or_nests_without_end_hides_no_write() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        for tool_input in [
            r#"{"file_path": "a.rs", "content": "\ud83d cut"}"#.to_owned(),
            r#"{"\ud83d": 1, "content": ["\udc00"], "file_path": "a.rs"}"#.to_owned(),
            format!(r#"{{"content": {deep}, "file_path": "a.rs"}}"#),
            r#"{"file_path": "b.rs", "file_path": "a.rs"}"#.to_owned(),
        ] {
            let text =
                format!(r#"{{"prompt": "\ud83d", "x": {deep}, "tool_name": "Write", "tool_input": {tool_input}}}"#);
            assert_eq!(Input::read(text.as_bytes()).unwrap().written(&CLAUDE), ["a.rs"], "{tool_input:.60}");
        }
        let patch = r#"{"tool_name": "apply_patch", "tool_input": {"command": "*** Add File: a.rs\n+\ud83d cut"}}"#;
        assert_eq!(Input::read(patch.as_bytes()).unwrap().written(&CODEX), ["a.rs"]);
        let bytes = b"{\"tool_name\": \"Write\", \"tool_input\": {\"file_path\": \"a.rs\", \"content\": \"\xff\"}}";
        assert_eq!(Input::read(&bytes[..]).unwrap().written(&CLAUDE), ["a.rs"]);
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
