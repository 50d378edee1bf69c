//! What a client says on standard input: one JSON object.
//!
//! Read leniently: what is not there, or of another kind than it used to be, counts as not said, because a new version of
//! a client must not silence us. Only the members that matter are read at all; the others may be large, nested without
//! end, or hold half of a character that a client cut in two.

use std::collections::{BTreeMap, HashSet};
use std::io::Read;
use std::path::PathBuf;

use anyhow::{Context, bail};
use serde_json::value::RawValue;

use super::super::members::{self, LenientText, RawMembers};
use crate::clients::{self, Client, HookCall, Places, TRANSCRIPT};

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
    /// Whether the user is said to have said nothing at all.
    pub is_empty_prompt: bool,
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

/// An input, of which it may not yet be known whose it is.
pub struct Said<'t> {
    members: RawMembers<'t>,
}

/// Reads all of `source`.
pub fn read_all(source: impl Read) -> anyhow::Result<String> {
    let mut text = Vec::new();
    source.take(LONGEST + 1).read_to_end(&mut text).context("cannot read standard input")?;
    if text.len() as u64 > LONGEST {
        bail!("the input is longer than {LONGEST} bytes");
    }
    if text.trim_ascii().is_empty() {
        bail!("there is no input; a client gives its event as JSON");
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

impl<'t> Said<'t> {
    /// Reads the members of an input that matter to some client.
    pub fn read(text: &'t str) -> anyhow::Result<Self> {
        let known: HashSet<&'static str> = clients::input_members().collect();
        let members = members::read(text, |name| known.get(name).copied());
        Ok(Self { members: members.ok().context("the input is not the JSON object of an event")? })
    }

    /// The client that says it, of an event that it calls so.
    pub fn client(&self, event: &str, variable: impl Fn(&str) -> Option<String>) -> Option<&'static Client> {
        let is_said = |name: &str| self.members.get(name).is_some_and(|member| member.get() != "null");
        let call = HookCall {
            event,
            has_member: &is_said,
            session_id: &|client| self.text(client.input.session_id),
            transcript: &self.text(&TRANSCRIPT),
            variable: &variable,
        };
        call.client()
    }

    /// What a client says with it.
    pub fn input(&self, client: &Client) -> Input {
        let shape = &client.input;
        let tool_member = |name: &str| clients::tool_members().find(|known| *known == name);
        let tool = self.find(shape.tool_input).and_then(|tool| members::read(tool.get(), tool_member).ok());
        let tool = tool.unwrap_or_default();
        let (own, parent, agent) = (self.text(shape.session_id), self.text(shape.parent), self.text(shape.agent_id));
        let is_below = !parent.is_empty() && parent != own;
        Input {
            session_id: if is_below { parent } else { own.clone() },
            cwd: self.text(shape.cwd).into(),
            model: self.text(shape.model),
            source: self.text(shape.source),
            reason: self.text(shape.reason),
            trigger: self.text(shape.trigger),
            is_empty_prompt: self.find(shape.prompt).is_some_and(|prompt| prompt.get() == "\"\""),
            tool_name: self.text(shape.tool_name),
            tool_use_id: self.text(shape.tool_use_id),
            tool_input: tool.iter().map(|(name, member)| (*name, text_of(member))).collect(),
            agent_id: if is_below && agent.is_empty() { own } else { agent },
            agent_type: self.text(shape.agent_type),
        }
    }

    /// The first of these members that is there and has something in it, if it is text.
    fn text(&self, places: Places) -> String {
        places.iter().filter_map(|place| self.at(place)).map(text_of).find(|text| !text.is_empty()).unwrap_or_default()
    }

    fn find(&self, places: Places) -> Option<&'t RawValue> {
        places.iter().find_map(|place| self.at(place))
    }

    /// What stands at a place; the names in it are those of members inside one another.
    fn at(&self, place: &'static str) -> Option<&'t RawValue> {
        let mut names = place.split('.');
        let mut value = *self.members.get(names.next()?)?;
        for name in names {
            value = *members::read(value.get(), |known| (known == name).then_some(name)).ok()?.get(name)?;
        }
        Some(value)
    }
}

impl Input {
    /// Whether it is an agent below the main one that this is about.
    pub fn is_of_subagent(&self) -> bool {
        !self.agent_id.is_empty()
    }

    /// The files that the tool is about to write, as the client names them.
    pub fn written(&self, client: &Client) -> Vec<String> {
        client.written(&self.tool_name, |name| self.tool_input.get(name).cloned().unwrap_or_default())
    }
}

/// The member, if it is text.
fn text_of(member: &RawValue) -> String {
    serde_json::from_str::<LenientText>(member.get()).ok().unwrap_or_default().0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::tests::examples;
    use crate::clients::{CLAUDE, CODEX, GEMINI, QWEN};

    fn read(text: &[u8], client: &Client) -> anyhow::Result<Input> {
        let text = read_all(text)?;
        Ok(Said::read(&text)?.input(client))
    }

    #[test]
    fn what_each_client_says_of_each_event_is_understood() {
        for (client, event, text) in examples::all() {
            let input = read(text.as_bytes(), client).expect("the examples can be read");
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
            (&QWEN, "PreToolUse", &[lib]),
            (&QWEN, "PreToolUse-edit", &[lib]),
            (&QWEN, "PreToolUse-shell", &[]),
        ] {
            let input = read(examples::input(client, event).as_bytes(), client).unwrap();
            assert_eq!(input.written(client), paths, "{} {event}", client.name);
        }
    }

    #[test]
    fn members_of_another_kind_count_as_not_said() {
        let text = r#"{"session_id": 7, "cwd": null, "tool_input": [1], "trigger": true, "agent_id": {},
                       "tool_name": "Edit", "new": {"deep": []}}"#;
        let input = read(text.as_bytes(), &CLAUDE).unwrap();
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
            assert_eq!(read(text.as_bytes(), &CLAUDE).unwrap().written(&CLAUDE), ["a.rs"], "{tool_input:.60}");
        }
        let patch = r#"{"tool_name": "apply_patch", "tool_input": {"command": "*** Add File: a.rs\n+\ud83d cut"}}"#;
        assert_eq!(read(patch.as_bytes(), &CODEX).unwrap().written(&CODEX), ["a.rs"]);
        let bytes = b"{\"tool_name\": \"Write\", \"tool_input\": {\"file_path\": \"a.rs\", \"content\": \"\xff\"}}";
        assert_eq!(read(&bytes[..], &CLAUDE).unwrap().written(&CLAUDE), ["a.rs"]);
    }

    #[test]
    fn what_is_no_event_is_refused_in_words() {
        for (text, said) in [("", "no input"), (" \n", "no input"), ("{", "not the JSON"), ("[1]", "not the JSON")] {
            let error = read(text.as_bytes(), &CLAUDE).unwrap_err().to_string();
            assert!(error.contains(said), "{text:?}: {error}");
        }
        let error = read_all(std::io::repeat(b' ')).unwrap_err().to_string();
        assert!(error.contains("longer"), "{error}");
        let nested = format!("{{\"x\":{}", "[".repeat(1_000_000));
        assert!(read(nested.as_bytes(), &CLAUDE).is_err());
    }
}
