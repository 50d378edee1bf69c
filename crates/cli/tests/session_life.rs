//! A long life: two sessions of one client in one project, which are idle, busy, cleared, compacted, resumed and restarted in
//! turn while mail comes. Each message is told once to the right agent, and no run that ended holds a file.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::process::{Child, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::harness::mcp::{PROJECT, as_agent};
use crate::harness::{Place, Server};
use crate::hooks::Agent;

/// How many messages are sent, to both sessions together.
const MESSAGES: usize = 500;

/// A program that runs hooks as a client does: a process of its own, which is no shell to those that look at its name.
struct Client {
    agent: Agent,
    process: Child,
    answers: BufReader<ChildStdout>,
    session: String,
}

impl Client {
    fn start(place: &Place, session: String) -> Self {
        let program = place.file("claude");
        if !program.exists() {
            symlink("/bin/sh", &program).expect("a fresh folder has room");
        }
        let line = "while IFS= read -r event && IFS= read -r input; do
                        printf '%s' \"$input\" | postrider hook claude \"$event\" --within 60000; echo .
                    done";
        // The shell of the place finds our program; it is replaced by the client.
        let mut shell = place.shell(&format!("exec '{}' -c '{}'", program.display(), line.replace('\'', "'\\''")));
        let mut process = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a shell runs");
        let answers = BufReader::new(process.stdout.take().expect("a pipe"));
        Self { agent: Agent::new(place, "claude", None), process, answers, session }
    }

    /// What the hook of an event answers.
    fn event(&mut self, event: &str, more: Value) -> Option<Value> {
        let mut input = self.agent.example(event);
        let members = input.as_object_mut().expect("an example is an object");
        members.insert("session_id".to_owned(), json!(self.session));
        members.extend(more.as_object().expect("more members").clone());
        let event = event.split('-').next().expect("a name");
        let stdin = self.process.stdin.as_mut().expect("a pipe");
        writeln!(stdin, "{event}\n{input}").expect("the client reads");
        let mut answer = String::new();
        while !answer.ends_with(".\n") || !(answer.len() == 2 || answer.ends_with("\n.\n")) {
            assert_ne!(self.answers.read_line(&mut answer).expect("the client answers"), 0, "the client ended");
        }
        let answer = answer.strip_suffix(".\n").unwrap_or_default();
        (!answer.is_empty()).then(|| serde_json::from_str(answer).expect("a hook prints JSON"))
    }

    fn told(&mut self, event: &str, more: Value) -> String {
        let answer = self.event(event, more);
        let text = |answer: Value| answer["hookSpecificOutput"]["additionalContext"].as_str().map(str::to_owned);
        answer.and_then(text).unwrap_or_default()
    }

    /// Begins a session, and says in which name.
    fn begin(&mut self, source: &str) -> String {
        let told = self.told("SessionStart", json!({ "source": source }));
        let name = told.strip_prefix("You are ").and_then(|rest| rest.split(' ').next());
        name.unwrap_or_else(|| panic!("no name is told: {told}")).to_owned()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// An agent over all its runs, and what it was told.
struct Life {
    client: Client,
    name: String,
    told: String,
    runs: usize,
}

impl Life {
    fn begin(server: &Server, id: &str) -> Self {
        let mut client = Client::start(&server.place, format!("{id}-0"));
        let name = client.begin("startup");
        let life = Self { client, name, told: String::new(), runs: 0 };
        life.reserve(server);
        life
    }

    /// What this run reserves.
    fn path(&self) -> String {
        format!("{}/{}.rs", self.name, self.runs)
    }

    fn reserve(&self, server: &Server) {
        let paths = json!({ "paths": [self.path()], "exclusive": true });
        server.call("file_reservation_paths", as_agent(&self.name, paths));
    }

    /// Hears of everything that is new.
    fn hear(&mut self, event: &str) {
        loop {
            let told = self.client.told(event, json!({}));
            if told.is_empty() {
                return;
            }
            self.told.push_str(&told);
        }
    }

    fn is_still(&self, name: &str, what: &str) {
        assert_eq!(name, self.name, "{what}");
    }

    /// The same session in the same process, under another id.
    fn clear(&mut self) {
        assert_eq!(self.client.event("SessionEnd-clear", json!({})), None);
        self.client.session.push('c');
        let name = self.client.begin("clear");
        self.is_still(&name, "cleared");
    }

    fn compact(&mut self) {
        assert_eq!(self.client.event("PreCompact", json!({})), None);
        let name = self.client.begin("compact");
        self.is_still(&name, "compacted");
    }

    /// Another process: of the same session if that is resumed, else of a new one. The run before ended, or was killed.
    fn restart(&mut self, server: &Server, source: &str, is_killed: bool) {
        if !is_killed {
            assert_eq!(self.client.event("SessionEnd", json!({})), None);
        }
        let held = self.path();
        self.runs += 1;
        let session = match source {
            "resume" => self.client.session.clone(),
            _ => format!("{}-{}", self.name, self.runs),
        };
        // The one before is killed when it is dropped, and gone before the next begins.
        drop(std::mem::replace(&mut self.client, Client::start(&server.place, session)));
        let name = self.client.begin(source);
        self.is_still(&name, source);
        let reservations = server.read("resource://reservations/data-projects-app").to_string();
        assert!(!reservations.contains(&held), "a run that ended holds '{held}': {reservations}");
        self.reserve(server);
    }
}

#[test]
fn each_of_many_messages_is_told_once_to_the_right_agent_whatever_its_session_goes_through() {
    let server = Server::start();
    server.register(&["Orchestrator"]);
    let mut lives = ["first", "second"].map(|id| Life::begin(&server, id));
    assert_ne!(lives[0].name, lives[1].name);
    for number in 0..MESSAGES {
        let life = &mut lives[number % 2];
        let body = json!({ "project_key": PROJECT, "sender_name": "Orchestrator", "to": [life.name],
                           "subject": format!("Part {number}"), "body_md": format!("word{number}.") });
        server.call("send_message", body);
        match number / 2 % 12 {
            0 | 6 => life.hear("UserPromptSubmit"),
            1 | 7 => life.hear("PostToolUse"),
            2 => life.clear(),
            4 => life.compact(),
            8 => life.restart(&server, "resume", false),
            9 => life.restart(&server, "startup", false),
            10 => life.restart(&server, "resume", true),
            11 => life.restart(&server, "startup", true),
            // Nothing happens: mail waits for a session that is idle.
            _ => {}
        }
    }
    for (at, life) in lives.iter_mut().enumerate() {
        life.hear("UserPromptSubmit");
        for number in 0..MESSAGES {
            let times = life.told.matches(&format!("> word{number}.\n")).count();
            assert_eq!(times, usize::from(number % 2 == at), "message {number} to {}", life.name);
        }
        assert_eq!(server.call("wait_for_mail", as_agent(&life.name, json!({ "timeout_seconds": 0 }))), json!([]));
    }
}
