//! A NATS server of a test's own, with its own folder and port, and what its stream holds.
//!
//! Where there is no `nats-server` a build machine fails, and others are told what was not run.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use async_nats::jetstream::{self, stream};
use async_nats::{ConnectOptions, HeaderMap};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::{DEADLINE, not_run, send_signal};

/// A server that runs, or has run and will again. It is killed when it is dropped.
pub struct Nats {
    /// Its port, which stays the same.
    pub port: u16,
    folder: TempDir,
    settings: String,
    process: Option<Child>,
}

/// What a stream holds of one publication.
#[derive(Clone, Debug)]
pub struct Held {
    /// The subject.
    pub subject: String,
    /// The id by which it is known to be the same.
    pub id: String,
    /// What happened.
    pub event: String,
    /// The number of the event in its project.
    pub seq: i64,
    /// The project's slug.
    pub project: String,
    /// The post office that says so.
    pub office: String,
    /// What was said.
    pub payload: String,
}

/// Somebody else at a NATS server.
pub struct Client {
    runtime: Runtime,
    jetstream: jetstream::Context,
}

impl Nats {
    /// A server that keeps streams and lets everybody in; `None`, loudly, if there is no such program.
    pub fn start(what: &str) -> Option<Self> {
        Self::start_with(what, "")
    }

    /// A server with more settings.
    pub fn start_with(what: &str, settings: &str) -> Option<Self> {
        let mut server = Self::prepare(what, settings)?;
        server.run();
        Some(server)
    }

    /// A server that does not run yet.
    pub fn prepare(what: &str, settings: &str) -> Option<Self> {
        if program().is_none() {
            not_run(what, "there is no nats-server");
            return None;
        }
        let folder = tempfile::tempdir().expect("the system has a folder for temporary files");
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = free.expect("the system has a port").port();
        Some(Self { port, folder, settings: settings.to_owned(), process: None })
    }

    /// A path for a file of the test, which the server's settings may name.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// More settings, for the next start.
    pub fn set(&mut self, settings: &str) {
        settings.clone_into(&mut self.settings);
    }

    /// Starts the server, and waits until it listens.
    pub fn run(&mut self) {
        let store = self.file("store");
        let all = format!(
            "listen: \"127.0.0.1:{}\"\njetstream {{ store_dir: \"{}\" }}\n{}",
            self.port,
            store.display(),
            self.settings
        );
        fs::write(self.file("nats.conf"), all).expect("the folder can be written to");
        let log = File::create(self.file("nats.log")).expect("the folder can be written to");
        let mut command = Command::new(program().expect("it was there"));
        command.arg("-c").arg(self.file("nats.conf")).stdout(Stdio::null()).stderr(log);
        self.process = Some(command.spawn().expect("nats-server starts"));
        let start = Instant::now();
        while !self.answers() {
            assert!(start.elapsed() < DEADLINE, "nats-server does not listen: {}", self.log());
            thread::yield_now();
        }
    }

    /// Ends the server without warning. What it keeps stays.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Asks the server to end, and waits until it has.
    pub fn stop(&mut self) {
        self.signal("-TERM");
        if let Some(mut process) = self.process.take() {
            let _ = process.wait();
        }
    }

    /// Sends the server a signal, such as `-STOP`.
    pub fn signal(&self, signal: &str) {
        send_signal(signal, self.process.as_ref().expect("the server runs").id());
    }

    /// The settings of a post office that uses this server.
    pub fn toml(&self) -> String {
        format!("[nats]\nurl = \"nats://127.0.0.1:{}\"\n", self.port)
    }

    /// Somebody else at this server.
    pub fn client(&self) -> Client {
        self.client_with(ConnectOptions::new())
    }

    /// Somebody else at this server, let in by these options.
    pub fn client_with(&self, options: ConnectOptions) -> Client {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime can be made");
        let scheme = if self.settings.contains("tls") { "tls" } else { "nats" };
        let address = format!("{scheme}://127.0.0.1:{}", self.port);
        let client = runtime.block_on(options.connect(address)).expect("the server lets us in");
        let jetstream = runtime.block_on(async { jetstream::new(client) });
        Client { runtime, jetstream }
    }

    /// What the server has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.file("nats.log")).unwrap_or_default()
    }

    /// Whether it says who it is, as it does to everybody first, and keeps streams.
    fn answers(&self) -> bool {
        let Ok(connection) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        let mut line = String::new();
        let _ = connection.set_read_timeout(Some(Duration::from_secs(5)));
        BufReader::new(connection).read_line(&mut line).is_ok() && line.contains("\"jetstream\":true")
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Client {
    /// Everything that the stream holds, in its order; nothing if it is not there.
    pub fn held(&self) -> Vec<Held> {
        self.runtime.block_on(async {
            let Ok(stream) = self.jetstream.get_stream("POSTRIDER").await else { return Vec::new() };
            let last = stream.cached_info().state.last_sequence;
            let mut held = Vec::new();
            for number in 1..=last {
                held.push(held_of(stream.get_raw_message(number).await.expect("what is kept can be read")));
            }
            held
        })
    }

    /// The newest publication that a stream holds.
    pub fn newest_in(&self, name: &str) -> Option<Held> {
        self.runtime.block_on(async {
            let stream = self.jetstream.get_stream(name).await.ok()?;
            stream.get_raw_message(stream.cached_info().state.last_sequence).await.ok().map(held_of)
        })
    }

    /// How many publications a stream holds.
    pub fn count_in(&self, name: &str) -> u64 {
        self.runtime.block_on(async {
            let stream = self.jetstream.get_stream(name).await;
            stream.map_or(0, |stream| stream.cached_info().state.messages)
        })
    }

    /// Waits until the stream holds what is wanted, and returns all of it.
    pub fn until(&self, what: &str, wanted: impl Fn(&[Held]) -> bool) -> Vec<Held> {
        let start = Instant::now();
        loop {
            let held = self.held();
            if wanted(&held) {
                return held;
            }
            assert!(start.elapsed() < DEADLINE, "never in the stream: {what}; it holds {held:?}");
        }
    }

    /// Publishes something, as a foreign agent does.
    pub fn publish(&self, subject: &str, payload: &str) {
        self.publish_as("", subject, payload);
    }

    /// Publishes something as if a post office did.
    pub fn publish_as(&self, office: &str, subject: &str, payload: &str) {
        let (subject, payload) = (subject.to_owned(), payload.to_owned());
        let mut headers = HeaderMap::new();
        headers.insert("Postrider-Office", office);
        self.runtime.block_on(async {
            let sent = self.jetstream.publish_with_headers(subject, headers, payload.into()).await;
            sent.expect("the server is there").await.expect("the stream keeps it");
        });
    }

    /// Says something that no stream keeps.
    pub fn say(&self, subject: &str, payload: &str) {
        let (subject, payload) = (subject.to_owned(), payload.to_owned());
        let client = self.jetstream.client();
        self.runtime.block_on(async { client.publish(subject, payload.into()).await.expect("the server is there") });
    }

    /// Makes a stream, before anybody else does.
    pub fn make_stream(&self, config: stream::Config) {
        self.runtime.block_on(self.jetstream.create_stream(config)).expect("the server makes streams");
    }
}

fn held_of(message: async_nats::jetstream::message::StreamMessage) -> Held {
    let header = |name: &str| message.headers.get(name).map(|value| value.as_str().to_owned()).unwrap_or_default();
    Held {
        subject: message.subject.to_string(),
        id: header("Nats-Msg-Id"),
        event: header("Postrider-Event"),
        seq: header("Postrider-Seq").parse().unwrap_or(0),
        project: header("Postrider-Project"),
        office: header("Postrider-Office"),
        payload: String::from_utf8(message.payload.to_vec()).expect("publications are text"),
    }
}

impl Held {
    /// What was said, as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.payload).expect("publications are JSON")
    }
}

/// The program; Debian puts it where only the superuser looks.
pub fn program() -> Option<PathBuf> {
    let answers =
        |program: &PathBuf| Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    [PathBuf::from("nats-server"), PathBuf::from("/usr/sbin/nats-server")].into_iter().find(answers)
}
