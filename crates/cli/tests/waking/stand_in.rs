//! A program that stands in for Claude Code: it runs hooks and other programs inside itself, and listens at a socket.

use std::io::{BufRead, BufReader, Read as _, Write};
use std::os::unix::fs::symlink;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::signal;
use crate::harness::{DEADLINE, Place};
use crate::hooks::Agent;

/// What a client does: it runs the hook of an event, or a command line.
const CLIENT: &str = "while IFS= read -r event && IFS= read -r input; do
    if [ \"$event\" = run ]; then eval \"$input\"; else
    printf '%s' \"$input\" | postrider hook claude \"$event\" --within 60000; fi; echo .
done";

pub struct Claude {
    agent: Agent,
    process: Child,
    answers: BufReader<ChildStdout>,
    session: String,
    socket: PathBuf,
    heard: Receiver<Vec<Value>>,
    /// What is answered to each message; nothing if it is empty.
    answer: Arc<Mutex<String>>,
}

impl Claude {
    pub fn start(place: &Place, name: &'static str, session: &str) -> Self {
        let program = place.file("claude");
        if !program.exists() {
            symlink("/bin/sh", &program).expect("a fresh folder has room");
        }
        if !place.file("stdio.in").exists() {
            let made = Command::new("mkfifo").arg(place.file("stdio.in")).status();
            assert!(made.expect("mkfifo runs").success());
        }
        let socket = place.file(&format!("{session}.sock"));
        let answer = Arc::default();
        let heard = listen(&socket, &answer);
        let line = CLIENT.replace('\'', "'\\''");
        let mut shell = place.shell(&format!("exec '{}' -c '{line}'", program.display()));
        shell.env("CLAUDE_CODE_MESSAGING_SOCKET", &socket).env("CLAUDE_CODE_MESSAGING_TOKEN", "EXAMPLE");
        shell.env("CLAUDE_CODE_SESSION_ID", session).env("POSTRIDER_AGENT", name);
        let mut process = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a shell runs");
        let answers = BufReader::new(process.stdout.take().expect("a pipe"));
        let (agent, session) = (Agent::new(place, "claude", Some(name)), session.to_owned());
        Self { agent, process, answers, session, socket, heard, answer }
    }

    /// What the hook of an event answers.
    pub fn event(&mut self, event: &str) -> Option<Value> {
        let mut input = self.agent.example(event);
        input["session_id"] = json!(self.session);
        if event == "SessionEnd" {
            input["reason"] = json!("prompt_input_exit");
        }
        let answer = self.say(event.split('-').next().expect("a name"), &input.to_string());
        (!answer.is_empty()).then(|| serde_json::from_str(&answer).expect("a hook prints JSON"))
    }

    /// Runs a command line inside the client.
    pub fn run(&mut self, line: &str) {
        assert_eq!(self.say("run", line), "");
    }

    fn say(&mut self, what: &str, input: &str) -> String {
        let stdin = self.process.stdin.as_mut().expect("a pipe");
        writeln!(stdin, "{what}\n{input}").expect("the client reads");
        let mut answer = String::new();
        while !(answer == ".\n" || answer.ends_with("\n.\n")) {
            assert_ne!(self.answers.read_line(&mut answer).expect("the client answers"), 0, "the client ended");
        }
        answer.strip_suffix(".\n").unwrap_or_default().to_owned()
    }

    /// The lines of the next message at its socket.
    pub fn heard(&self, within: Duration) -> Option<Vec<Value>> {
        self.heard.recv_timeout(within).ok()
    }

    /// Answers each message from now on.
    pub fn answers(&mut self, status: &str) {
        *self.answer.lock().unwrap() = status.to_owned();
    }

    /// Takes its socket away.
    pub fn deafen(&mut self) {
        std::fs::remove_file(&self.socket).expect("a socket");
        self.run("unset CLAUDE_CODE_MESSAGING_SOCKET");
        self.event("SessionStart");
    }

    pub fn signal(&self, name: &str) {
        signal(self.process.id(), name);
    }

    /// Ends it without a word. Its socket stays.
    pub fn kill(&mut self) {
        self.process.kill().expect("it can be killed");
        self.process.wait().expect("it ends");
    }
}

impl Drop for Claude {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn listen(socket: &PathBuf, answer: &Arc<Mutex<String>>) -> Receiver<Vec<Value>> {
    let listener = UnixListener::bind(socket).expect("a socket");
    let (sender, heard): (Sender<Vec<Value>>, _) = channel();
    let answer = answer.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut text = String::new();
            stream.and_then(|mut stream| stream.read_to_string(&mut text)).expect("the message can be read");
            let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
            let status = answer.lock().unwrap().clone();
            let from =
                lines.last().and_then(|message| message["from"].as_str()?.strip_prefix("uds:").map(str::to_owned));
            if let Some(from) = from.filter(|_| !status.is_empty()) {
                let receipt = json!({ "msgV": 1, "type": "control", "action": "delivery_status", "status": status });
                let mut back = UnixStream::connect(from).expect("somebody listens for what became of it");
                writeln!(back, "{receipt}").expect("it is read");
            }
            if sender.send(lines).is_err() {
                return;
            }
        }
    });
    heard
}

/// A program of ours that runs, and the lines that it prints.
pub struct Running {
    process: Child,
    lines: Receiver<String>,
}

impl Running {
    pub fn start(place: &Place, arguments: &[&str]) -> Self {
        let mut process = place.command(arguments).stdout(Stdio::piped()).spawn().expect("the binary runs");
        let output = BufReader::new(process.stdout.take().expect("a pipe"));
        let (sender, lines) = channel();
        thread::spawn(move || {
            let mut lines = output.lines().map_while(Result::ok);
            // Once nobody wants them the pipe is closed.
            let _ = lines.try_for_each(|line| sender.send(line));
        });
        Self { process, lines }
    }

    pub fn line(&self, within: Duration) -> Option<String> {
        self.lines.recv_timeout(within).ok()
    }

    pub fn kill(mut self) {
        self.process.kill().expect("it can be killed");
        self.process.wait().expect("it ends");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Place {
    /// What is noted of all sessions.
    pub fn records(&self) -> String {
        let files = std::fs::read_dir(self.home().join("sessions")).into_iter().flatten().flatten();
        files.filter_map(|file| std::fs::read_to_string(file.path()).ok()).collect()
    }

    /// Waits until something is so.
    pub fn once(&self, mut is_so: impl FnMut() -> bool, what: &str) {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < DEADLINE, "{what}");
            thread::sleep(Duration::from_millis(10));
        }
    }
}
