//! Drives the real program by lines: a home of its own, a server on a free port, clients with deadlines.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Longer than anything takes on a busy machine, and shorter than the longest wait for mail.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// The settings of whoever runs the tests are not the tests' business.
const FOREIGN: [&str; 12] = [
    "POSTRIDER_URL",
    "POSTRIDER_CONFIG",
    "POSTRIDER_TOOLS",
    "POSTRIDER_IDENTITY",
    "POSTRIDER_PROJECT",
    "POSTRIDER_AGENT",
    "POSTRIDER_HOST",
    "POSTRIDER_PORT",
    "AGENT_MAIL_BASE_URL",
    "AGENT_MAIL_PATH",
    "AGENT_MAIL_BEARER_TOKEN",
    "RUST_LOG",
];

/// A folder with mail.
pub struct Home(TempDir);

impl Home {
    pub fn new() -> Home {
        Home::with_settings("")
    }

    /// A folder with mail and these settings.
    pub fn with_settings(toml: &str) -> Home {
        let home = Home(tempfile::tempdir().expect("a temporary folder"));
        std::fs::create_dir(home.path()).expect("a folder");
        std::fs::write(home.path().join("postrider.toml"), toml).expect("a file");
        home
    }

    pub fn path(&self) -> PathBuf {
        self.0.path().join("home")
    }

    pub fn has_database(&self) -> bool {
        self.path().join("postrider.db").exists()
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_postrider"));
        for name in FOREIGN {
            command.env_remove(name);
        }
        command.args(arguments).env("POSTRIDER_HOME", self.path()).env("POSTRIDER_LOG", "error");
        // Clients run in the folder of their work, which is not the home.
        command.current_dir(self.0.path());
        command
    }

    pub fn serve(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Server {
        let mut command = self.command(&["serve", "--port", "0", "--json"]);
        let mut child = command
            .args(arguments)
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        output.read_line(&mut line).expect("the server says where it is");
        let said: Value = serde_json::from_str(&line).expect("one line of JSON");
        Server { child, url: said["url"].as_str().expect("a url").to_owned() }
    }

    pub fn client(&self) -> Client {
        self.client_with(&[], &[])
    }

    pub fn client_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Client {
        let mut command = self.command(&["stdio"]);
        command.args(arguments).envs(environment.iter().copied());
        Client::start(&mut command)
    }
}

/// A server that is killed with its test.
pub struct Server {
    child: Child,
    pub url: String,
}

impl Server {
    /// Asks the server to stop, and waits until it has.
    pub fn stop(mut self) {
        let asked = Command::new("kill").arg(self.child.id().to_string()).status().expect("kill runs");
        assert!(asked.success());
        assert!(self.child.wait().expect("the server ends").success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client that started its server.
pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    aside: VecDeque<Value>,
    last_id: u64,
}

impl Client {
    fn start(command: &mut Command) -> Client {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("postrider stdio starts");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"));
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Client { input: child.stdin.take(), child, lines, aside: VecDeque::new(), last_id: 0 }
    }

    pub fn send_line(&mut self, line: &[u8]) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(line).and_then(|()| input.write_all(b"\n")).expect("the client reads");
    }

    /// Begins a request and returns its id.
    pub fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params });
        self.send_line(request.to_string().as_bytes());
        self.last_id
    }

    /// Begins a call of a tool and returns its id.
    pub fn begin_call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.begin("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        let notification = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.send_line(notification.to_string().as_bytes());
    }

    /// The next message that `wanted` fits, within `within`. Others are kept for later.
    pub fn next_within(&mut self, within: Duration, wanted: impl Fn(&Value) -> bool) -> Option<Value> {
        if let Some(at) = self.aside.iter().position(&wanted) {
            return self.aside.remove(at);
        }
        let end = Instant::now() + within;
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(message) if wanted(&message) => return Some(message),
                Ok(message) => self.aside.push_back(message),
                Err(RecvTimeoutError::Timeout) => return None,
                Err(RecvTimeoutError::Disconnected) => panic!("the client ended; unread: {:?}", self.aside),
            }
        }
    }

    pub fn answer(&mut self, id: u64) -> Value {
        let answer = self.next_within(DEADLINE, |message| message["id"] == id && message.get("method").is_none());
        answer.unwrap_or_else(|| panic!("request {id} was not answered; unread: {:?}", self.aside))
    }

    /// The next message that has no id: a notice, or a refusal of what could not be read.
    pub fn nameless(&mut self) -> Value {
        self.next_within(DEADLINE, |message| message.get("id").is_none()).expect("a message without an id")
    }

    /// Forgets the notices that came before the last answer.
    pub fn forget_notices(&mut self) {
        self.aside.retain(|message| message.get("method").is_none());
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.answer(id)
    }

    /// What a tool call came to; it must not be refused.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.begin_call(tool, arguments);
        self.called(id)
    }

    pub fn called(&mut self, id: u64) -> Value {
        let answer = self.answer(id);
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        answer["result"]["structuredContent"].clone()
    }

    pub fn initialize(&mut self) -> Value {
        let client = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let answer = self.ask("initialize", params);
        self.notify("notifications/initialized", json!({}));
        answer
    }

    /// Makes the project and registers `name` in it.
    pub fn register(&mut self, name: &str) {
        self.call("ensure_project", json!({ "human_key": PROJECT }));
        self.call("register_agent", json!({ "project_key": PROJECT, "name": name }));
    }

    pub fn send(&mut self, from: &str, to: &str, subject: &str) {
        self.call("send_message", message(from, to, subject));
    }

    /// The subjects in an inbox, newest first.
    pub fn inbox(&mut self, name: &str) -> Vec<String> {
        subjects(&self.call("fetch_inbox", json!({ "project_key": PROJECT, "agent_name": name })))
    }

    /// Closes the input; returns what was still said after that. The client must end well.
    pub fn leave(mut self) -> Vec<Value> {
        drop(self.input.take());
        let mut rest = Vec::from(std::mem::take(&mut self.aside));
        let end = Instant::now() + DEADLINE;
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(message) => rest.push(message),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("the client does not end; it said {rest:?}"),
            }
        }
        assert!(self.child.wait().expect("the client ends").success());
        rest
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub const PROJECT: &str = "/projects/orchard";

pub fn message(from: &str, to: &str, subject: &str) -> Value {
    json!({ "project_key": PROJECT, "sender_name": from, "to": [to], "subject": subject, "body_md": "…" })
}

/// The subjects of a list of mail.
pub fn subjects(list: &Value) -> Vec<String> {
    let list = list["result"].as_array().expect("a list of mail");
    list.iter().map(|message| message["subject"].as_str().expect("a subject").to_owned()).collect()
}
