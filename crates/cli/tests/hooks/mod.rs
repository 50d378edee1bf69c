//! Runs hooks as a client does: the event's JSON on standard input, and the answer from standard output.

pub mod voices;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::harness::mcp::{PROJECT, message, with};
use crate::harness::{Place, Ran, Server, within_deadline};

/// Far longer than an answer takes, so that a busy machine does not silence a hook that a test wants to hear.
const PATIENT: [&str; 2] = ["--within", "60000"];

/// An agent in its client.
#[derive(Clone)]
pub struct Agent {
    pub place: Place,
    pub client: &'static str,
    /// The name that its environment gives it.
    pub name: Option<&'static str>,
}

impl Agent {
    pub fn new(place: &Place, client: &'static str, name: Option<&'static str>) -> Self {
        Self { place: place.clone(), client, name }
    }

    /// The example of an event, as its client would say it.
    pub fn example(&self, event: &str) -> Value {
        // Kilo runs the plugin for OpenCode.
        let client = if self.client == "kilo" { "opencode" } else { self.client };
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/hooks").join(client);
        let text = std::fs::read_to_string(folder.join(format!("{event}.json"))).expect("the event has an example");
        serde_json::from_str(&text).expect("an example is JSON")
    }

    /// Starts the hook of an event, which has its input.
    pub fn begin(&self, event: &str, input: &[u8], arguments: &[&str]) -> Child {
        let event = event.split('-').next().expect("a name");
        let mut command = self.place.command(&[&["hook", self.client, event], arguments].concat());
        command.envs(self.name.map(|name| ("POSTRIDER_AGENT", name)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        // A hook that has no use for its input need not read it.
        let _ = child.stdin.take().expect("a pipe").write_all(input);
        child
    }

    /// What comes of an event, with more members than the example has.
    pub fn answer_to(&self, event: &str, more: Value) -> Option<Value> {
        let input = with(self.example(event), more);
        let child = self.begin(event, input.to_string().as_bytes(), &PATIENT);
        if (self.client, event) == ("kimi", "UserPromptSubmit") { plain(child) } else { ended(child) }
    }

    /// What comes of an event.
    pub fn answer(&self, event: &str) -> Option<Value> {
        self.answer_to(event, json!({}))
    }

    /// What the agent is told at an event.
    pub fn told(&self, event: &str) -> Option<String> {
        self.told_at(event, json!({}))
    }

    /// The same with more members than the example has.
    pub fn told_at(&self, event: &str, more: Value) -> Option<String> {
        let answer = self.answer_to(event, more)?;
        let told = voices::context_in(&answer);
        Some(told.unwrap_or_else(|| panic!("nothing is told in {answer}")).to_owned())
    }
}

/// What a hook answered that must not complain.
pub fn ended(child: Child) -> Option<Value> {
    let ran = output_of(child);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", ran.stdout);
    if ran.stdout.is_empty() {
        return None;
    }
    assert_eq!(ran.stdout.matches('\n').count(), 1, "one line: {}", ran.stdout);
    assert!(ran.stdout.len() <= 4_000, "{} bytes", ran.stdout.len());
    Some(serde_json::from_str(&ran.stdout).expect("a hook prints JSON"))
}

/// What a hook answered whose client shows the model all of it as it is.
fn plain(child: Child) -> Option<Value> {
    let ran = output_of(child);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", ran.stdout);
    assert!(!ran.stdout.starts_with('{'), "{}", ran.stdout);
    (!ran.stdout.is_empty()).then(|| Value::from(ran.stdout.trim_end()))
}

/// How a hook ended.
pub fn output_of(child: Child) -> Ran {
    within_deadline("the hook ends", move || child.wait_with_output()).expect("the hook can be waited for").into()
}

/// Sends a message with more members than a plain one has.
pub fn send(server: &Server, from: &str, to: &str, subject: &str, more: Value) -> i64 {
    send_in(server, PROJECT, from, to, subject, more)
}

/// The same in another project.
pub fn send_in(server: &Server, project: &str, from: &str, to: &str, subject: &str, more: Value) -> i64 {
    let plain = with(message(from, to, subject), json!({ "project_key": project }));
    let sent = server.call("send_message", with(plain, more));
    sent["id"].as_i64().expect("a message has a number")
}
