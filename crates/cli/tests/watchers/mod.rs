//! Watchers of a test's own: the real binary with small shell programs as what answers, heard through its JSON lines.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use crate::harness::mcp::PROJECT;
use crate::harness::{DEADLINE, Place, Ran};

/// The channel that is watched.
pub const CHANNEL: &str = "dev";

/// A watcher that runs. It is killed when it is dropped.
pub struct Watcher {
    child: Child,
    lines: Receiver<Value>,
}

impl Watcher {
    /// Starts a watcher of the channel that runs `script`, and waits until it watches.
    pub fn start(place: &Place, agent: &str, script: &str) -> Self {
        Self::start_with(place, agent, &["--channel", CHANNEL, "--poll", "100ms"], script)
    }

    /// Starts a watcher with other options, and waits until it watches.
    pub fn start_with(place: &Place, agent: &str, options: &[&str], script: &str) -> Self {
        let mut command = watch(place, agent, &[options, &["--json"]].concat(), script);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().expect("the binary starts");
        let output = BufReader::new(child.stdout.take().expect("standard output is piped"));
        let (told, lines) = channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let line = serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"));
                if told.send(line).is_err() {
                    return;
                }
            }
        });
        let mut watcher = Self { child, lines };
        watcher.until("watching");
        watcher
    }

    /// The next thing of that name that it tells.
    pub fn until(&mut self, event: &str) -> Value {
        loop {
            let line = self.lines.recv_timeout(DEADLINE).unwrap_or_else(|_| panic!("'{event}' was never told"));
            if line["event"] == event {
                return line;
            }
        }
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to stop, waits until it has, and returns all that it still told.
    pub fn stop(mut self) -> Vec<Value> {
        self.signal("-TERM");
        let rest = self.lines.iter().collect();
        assert!(self.child.wait().expect("it ends").success());
        rest
    }

    /// Kills it without warning.
    pub fn kill(mut self) {
        self.signal("-KILL");
        let _ = self.child.wait();
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status().expect("kill runs");
        assert!(sent.success());
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A watcher that is not started.
pub fn watch(place: &Place, agent: &str, options: &[&str], script: &str) -> Command {
    let head = ["watch", "--agent", agent, "--project", PROJECT, "--since", "start"];
    place.command(&[&head, options, &["--", "sh", "-c", script]].concat())
}

/// Runs a watcher of the channel that ends when all is dealt with.
pub fn once(place: &Place, agent: &str, options: &[&str], script: &str) -> Ran {
    let options = [&["--channel", CHANNEL, "--once"], options].concat();
    watch(place, agent, &options, script).output().expect("the binary runs").into()
}

/// Looks until it is so.
pub fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < DEADLINE, "not in time: {what}");
        thread::yield_now();
    }
}

/// Makes agents known.
pub fn join(place: &Place, names: &[&str]) {
    for name in names {
        place.done(&["join", name, "--project", PROJECT]);
    }
}

/// Says something in the channel, to one agent or to `all`, and returns its number.
pub fn say(place: &Place, from: &str, to: &str, text: &str) -> i64 {
    let words = ["send-message", "--agent", from, "--channel", CHANNEL, "--to", to, "--text", text];
    let posted = place.json(&[&words[..], &["--project", PROJECT]].concat());
    posted["id"].as_str().and_then(|id| id.parse().ok()).unwrap_or_else(|| panic!("a message has a number: {posted}"))
}

/// What was said in the channel: who, and what.
pub fn said(place: &Place) -> Vec<(String, String)> {
    let posts = place.json(&["channel", "read", CHANNEL, "--limit", "1000", "--project", PROJECT]);
    let messages = posts["messages"].as_array().unwrap_or_else(|| panic!("a list of messages: {posts}"));
    let text = |message: &Value, name: &str| message[name].as_str().expect("a text").to_owned();
    messages.iter().map(|message| (text(message, "from"), text(message, "text"))).collect()
}

/// What an agent said in the channel.
pub fn said_by(place: &Place, agent: &str) -> Vec<String> {
    said(place).into_iter().filter(|(from, _)| from == agent).map(|(_, text)| text).collect()
}

/// The numbers of the messages that failed, and why.
pub fn failed(place: &Place, agent: &str) -> Vec<(i64, String)> {
    let runs = place.json(&["watch", "failed", "--agent", agent, "--project", PROJECT]);
    let runs = runs.as_array().expect("a list of runs");
    let read =
        |run: &Value| (run["message_id"].as_i64().expect("a number"), run["note"].as_str().expect("a text").to_owned());
    runs.iter().map(read).collect()
}

/// How an agent is said to be.
pub fn presence(place: &Place, agent: &str) -> Value {
    let who = place.json(&["who", "--project", PROJECT]);
    let agents = who["agents"].as_array().unwrap_or_else(|| panic!("a list of agents: {who}"));
    agents.iter().find(|known| known["name"] == agent).cloned().unwrap_or(json!(null))
}
