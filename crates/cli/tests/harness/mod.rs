//! A post office of a test's own: a temporary home, the real binary serving it, and what is kept there.
//!
//! Nothing is shared between tests, so that all of them may run at once. Nothing here knows what mail is; the HTTP and
//! MCP spoken with the server are in `http` and `mcp`, scripts for Node in `node`, pages that are run as they stand in
//! `pages`.

pub mod calls;
pub mod http;
pub mod mcp;
pub mod node;
pub mod pages;
pub mod repository;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;

use serde_json::Value;
use tempfile::TempDir;
pub use testing::{DEADLINE, has_python, not_run, send_signal};

/// How variables begin that whoever runs the tests may have set, or the coding agent in whose shell they run.
const OTHERS: [&str; 9] =
    ["POSTRIDER_", "AGENT_MAIL_", "GC_", "CLAUDE", "CODEX_", "GEMINI_", "QWEN_", "COPILOT_", "PLUGIN_ROOT"];

/// A folder with a home for mail in it. Clones are one folder; it goes when the last one does.
#[derive(Clone)]
pub struct Place {
    folder: Arc<TempDir>,
    /// The network namespace in which everything runs; that of the test if there is none.
    namespace: Option<String>,
}

/// A program that ran to its end.
pub struct Ran {
    /// The exit code; `None` when it was killed.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it complained of.
    pub stderr: String,
}

/// All that a post office keeps: every message, and how much there is of everything else.
#[derive(Debug, PartialEq, Eq)]
pub struct Kept {
    export: String,
    counts: Value,
}

/// A running server. It is killed when it is dropped, unless it was stopped before.
pub struct Server {
    /// Where its mail is.
    pub place: Place,
    /// Its host and port.
    pub address: String,
    /// Where it says that its mail is kept.
    pub mail: String,
    process: Option<Child>,
}

impl Place {
    /// An empty place.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("the system has a folder for temporary files");
        fs::create_dir(folder.path().join("home")).expect("a fresh folder has room");
        Self { folder: Arc::new(folder), namespace: None }
    }

    /// A place with these settings.
    pub fn with_settings(toml: &str) -> Self {
        let place = Self::new();
        fs::write(place.home().join("postrider.toml"), toml).expect("the home can be written to");
        place
    }

    /// The same place, with everything run in a network namespace. Its servers can be asked by commands alone.
    pub fn in_namespace(self, name: &str) -> Self {
        Self { namespace: Some(name.to_owned()), ..self }
    }

    /// The home folder.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// The database.
    pub fn database(&self) -> PathBuf {
        self.home().join("postrider.db")
    }

    /// A path for a file of the test, outside the home.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The binary on this home, with none of the settings that whoever runs the tests may have.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_postrider"));
        command.args(arguments);
        command
    }

    /// A shell that finds the binary, on this home.
    pub fn shell(&self, line: &str) -> Command {
        let mut command = self.program("sh");
        let folder = Path::new(env!("CARGO_BIN_EXE_postrider")).parent().expect("the binary is in a folder");
        let others = std::env::var_os("PATH").unwrap_or_default();
        let path = [folder.to_owned()].into_iter().chain(std::env::split_paths(&others));
        command.arg("-c").arg(line).env("PATH", std::env::join_paths(path).expect("a path can be prepended"));
        command
    }

    /// The folder of this place, in which commands run.
    pub fn folder(&self) -> String {
        self.folder.path().to_str().expect("a plain path").to_owned()
    }

    fn program(&self, program: &str) -> Command {
        let mut command = match &self.namespace {
            // The program takes the place of `ip`, and so has the number of its process.
            Some(name) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", name, program]);
                command
            }
            None => Command::new(program),
        };
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if OTHERS.iter().any(|prefix| name.starts_with(prefix)) {
                command.env_remove(name);
            }
        }
        command
            .env_remove("COLUMNS")
            .env("POSTRIDER_HOME", self.home())
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs a command to its end.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.command(arguments).output().expect("the binary runs").into()
    }

    /// Runs a command that must succeed, and returns what it printed.
    pub fn done(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?} failed: {}{}", ran.stderr, ran.stdout);
        ran.stdout
    }

    /// Runs a command that must succeed, with `--json`, and reads what it printed.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let printed = self.done(&[arguments, &["--json"]].concat());
        serde_json::from_str(&printed).expect("--json prints JSON")
    }

    /// What is kept here now, whether or not a server runs.
    pub fn kept(&self) -> Kept {
        Kept { export: self.done(&["export"]), counts: self.json(&["doctor", "--quick"])["counts"].clone() }
    }

    /// Starts a server here and waits until it listens.
    pub fn serve(&self) -> Server {
        self.serve_with(&[], &[])
    }

    /// Starts a server with more arguments and environment.
    pub fn serve_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Server {
        let mut command = self.command(&[&["serve", "--port", "0", "--json"], arguments].concat());
        command.envs(environment.iter().copied());
        let (server, said) = self.start(command);
        assert_eq!(said["home"], self.home().to_str().expect("a plain path"));
        server
    }

    /// Starts a command that serves, and waits until it says in a line of JSON where it listens; that line is returned too.
    pub fn start(&self, mut command: Command) -> (Server, Value) {
        let log = File::create(self.file("server.log")).expect("the place can be written to");
        command.stdout(Stdio::piped()).stderr(log);
        let mut process = command.spawn().expect("the binary starts");
        let stdout = process.stdout.take().expect("standard output is piped");
        let first_line = within_deadline("the server says where it listens", move || {
            let mut line = String::new();
            BufReader::new(stdout).read_line(&mut line).map(|_| line)
        });
        let line = first_line.expect("standard output can be read");
        let said: Value =
            serde_json::from_str(&line).unwrap_or_else(|_| panic!("the server did not start: {line:?} {}", self.log()));
        let url = said["url"].as_str().expect("the first line has the url");
        let address = url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp"));
        let address = address.unwrap_or_else(|| panic!("'{url}' is no MCP address")).to_owned();
        let mail = said["mail"].as_str().expect("the first line says where the mail is").to_owned();
        (Server { place: self.clone(), address, mail, process: Some(process) }, said)
    }

    /// What the last server that was started here has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.file("server.log")).unwrap_or_default()
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("the binary prints UTF-8");
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Server {
    /// A server with an empty home and no settings.
    pub fn start() -> Self {
        Place::new().serve()
    }

    /// Asks the server to stop.
    pub fn ask_to_stop(&self) {
        self.signal("-TERM");
    }

    /// Waits until the server is gone, and returns how it went.
    pub fn ended(mut self) -> ExitStatus {
        let mut process = self.process.take().expect("a server ends once");
        let id = process.id();
        let (told, told_me) = mpsc::channel();
        thread::spawn(move || told.send(process.wait()));
        match told_me.recv_timeout(DEADLINE) {
            Ok(status) => status.expect("a child can be waited for"),
            Err(_) => {
                send_signal("-KILL", id);
                panic!("the server did not stop: {}", self.place.log())
            }
        }
    }

    /// Stops the server as an operator would, and checks that it goes without complaint.
    pub fn stop(self) {
        self.ask_to_stop();
        let place = self.place.clone();
        let status = self.ended();
        assert_eq!(status.code(), Some(0), "{}", place.log());
    }

    /// Kills the server without warning.
    pub fn kill(self) {
        self.signal("-KILL");
        self.ended();
    }

    /// Sends the server a signal, such as `-STOP`.
    pub fn signal(&self, signal: &str) {
        send_signal(signal, self.process.as_ref().expect("the server runs").id());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Runs `work` on a thread of its own, and fails when it takes too long.
pub fn within_deadline<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (told, told_me) = mpsc::channel();
    thread::spawn(move || told.send(work()));
    told_me.recv_timeout(DEADLINE).unwrap_or_else(|_| panic!("not in time: {what}"))
}

/// Writes a file of bytes over a part of another, as a failing disk would.
pub fn damage(path: &Path, from: u64, bytes: &[u8]) {
    use std::io::Seek;
    let mut file = File::options().write(true).open(path).expect("the file is there");
    file.seek(std::io::SeekFrom::Start(from)).expect("a file can be searched");
    file.write_all(bytes).expect("the file can be written to");
}
