//! Nothing accepted is lost and nothing is delivered twice, however often the server is killed.
//!
//! Real client processes send over HTTP while the server is killed with -9 at random moments and started again. Each
//! client writes down what was answered; at the end the database is compared with what they wrote. Half of the clients
//! repeat an unanswered send under its idempotency key, the other half never repeat.
//!
//! Long runs: `cargo xtask crash --rounds 1000`. The moments come from a seed that is printed, and can be given.

#![allow(clippy::print_stderr)] // the seed and the counts are worth seeing

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

const PROJECT: &str = "/crash/test";
const POSTRIDER: &str = env!("CARGO_BIN_EXE_postrider");

#[test]
fn no_answered_send_is_lost_and_none_is_there_twice() {
    let rounds = setting("ROUNDS", 25);
    let clients = setting("CLIENTS", 6);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed = setting("SEED", now % 1_000_000_007);
    eprintln!("crash: {rounds} rounds, {clients} clients, seed {seed}");
    let folder = tempfile::tempdir().unwrap();
    let post = Post { home: folder.path().join("home"), port: free_port() };

    let server = post.start();
    post.prepare(clients);
    let children: Vec<Child> = (0..clients).map(|number| post.start_client(number, folder.path())).collect();
    let server = post.torment(server, rounds, seed);
    fs::write(folder.path().join("stop"), "").unwrap();
    for mut child in children {
        assert!(child.wait().unwrap().success(), "a client failed");
    }
    drop(server);

    let answered: Vec<_> = (0..clients).map(|number| read_log(&log_of(folder.path(), number))).collect();
    let total: usize = answered.iter().map(HashMap::len).sum();
    assert!(total as u64 > rounds, "only {total} sends were answered: the test did not test anything");
    let kept = post.kept();
    let mut times_kept: HashMap<&str, Vec<i64>> = HashMap::new();
    for (subject, id) in &kept {
        times_kept.entry(subject).or_default().push(*id);
    }
    for (subject, id) in answered.iter().flatten() {
        assert_eq!(times_kept.get(subject.as_str()), Some(&vec![*id]), "'{subject}' was answered once (seed {seed})");
    }
    for (subject, ids) in &times_kept {
        assert_eq!(ids.len(), 1, "'{subject}' is there more than once (seed {seed})");
    }
    post.check_integrity(kept.len());
    eprintln!("crash: {total} answered, {} kept, none lost, none twice", kept.len());
}

/// Not a test of its own: the body of a client process, which the test above starts.
#[test]
fn client_process() {
    let Ok(task) = std::env::var("POSTRIDER_CRASH_CLIENT") else { return };
    let task: Value = serde_json::from_str(&task).unwrap();
    let (number, port) = (task["number"].as_u64().unwrap(), task["port"].as_u64().unwrap() as u16);
    let stop = PathBuf::from(task["stop"].as_str().unwrap());
    let mut log = OpenOptions::new().create(true).append(true).open(task["log"].as_str().unwrap()).unwrap();
    let repeats = number % 2 == 0;
    let mut count = 0;
    while !stop.exists() {
        count += 1;
        let subject = format!("c{number}-{count}");
        let mut arguments = json!({
            "project_key": PROJECT, "sender_name": format!("client{number}"), "to": ["reader", "other"],
            "subject": subject, "body_md": format!("body of {subject}"),
        });
        if repeats {
            arguments["idempotency_key"] = json!(subject);
        }
        while !stop.exists() {
            match call(port, "send_message", &arguments) {
                Ok(answer) => {
                    let id = answer["id"].as_i64().unwrap_or_else(|| panic!("a send was refused: {answer}"));
                    writeln!(log, "{subject} {id}").unwrap();
                    break;
                }
                // Without a key nobody knows whether it was taken: never the same again.
                Err(_) if !repeats => break,
                // Leaves the machine to the server that is coming back.
                Err(_) => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }
}

struct Post {
    home: PathBuf,
    port: u16,
}

impl Post {
    fn start(&self) -> Server {
        let port = self.port.to_string();
        let mut child = self.command(&["serve", "--port", &port]).stdout(Stdio::null()).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while call(self.port, "health_check", &json!({})).is_err() {
            assert!(child.try_wait().unwrap().is_none(), "the server did not start");
            assert!(Instant::now() < deadline, "the server does not answer");
            std::thread::yield_now();
        }
        Server(child)
    }

    fn prepare(&self, clients: u64) {
        call(self.port, "ensure_project", &json!({ "human_key": PROJECT })).unwrap();
        let names = (0..clients).map(|number| format!("client{number}"));
        for name in names.chain(["reader".to_owned(), "other".to_owned()]) {
            call(self.port, "register_agent", &json!({ "project_key": PROJECT, "name": name })).unwrap();
        }
    }

    fn start_client(&self, number: u64, folder: &Path) -> Child {
        let task = json!({
            "number": number, "port": self.port, "stop": folder.join("stop"), "log": log_of(folder, number),
        });
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::client_process", "--nocapture"])
            .env("POSTRIDER_CRASH_CLIENT", task.to_string())
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Kills the server again and again; the last one is left running.
    fn torment(&self, mut server: Server, rounds: u64, seed: u64) -> Server {
        let mut random = seed.max(1);
        for _ in 0..rounds {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            // The moment is the point of the test, not a way to wait for something.
            std::thread::sleep(Duration::from_micros(1_000 + random % 250_000));
            drop(server);
            server = self.start();
        }
        server
    }

    /// Subject and id of every message, from an export.
    fn kept(&self) -> Vec<(String, i64)> {
        let output = self.command(&["export"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let lines = String::from_utf8(output.stdout).unwrap();
        let kept = lines.lines().map(|line| {
            let message: Value = serde_json::from_str(line).unwrap();
            assert_eq!(message["deliveries"].as_array().unwrap().len(), 2, "{message}");
            (message["subject"].as_str().unwrap().to_owned(), message["id"].as_i64().unwrap())
        });
        kept.collect()
    }

    fn check_integrity(&self, messages: usize) {
        let output = self.command(&["doctor", "--json"]).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["ok"], json!(true), "{report}");
        assert_eq!(report["integrity_checked"], json!(true));
        assert_eq!(report["counts"]["messages"], json!(messages));
        assert_eq!(report["counts"]["deliveries"], json!(2 * messages));
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(POSTRIDER);
        command.args(arguments).env("POSTRIDER_HOME", &self.home).env_remove("AGENT_MAIL_BEARER_TOKEN");
        command
    }
}

/// A server that is killed with -9 when it is dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One call on a connection of its own; an error when no whole answer came.
fn call(port: u16, tool: &str, arguments: &Value) -> std::io::Result<Value> {
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments },
    })
    .to_string();
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n";
    stream.write_all(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let cut_off = || std::io::Error::other("the answer was cut off");
    let (_, body) = answer.split_once("\r\n\r\n").ok_or_else(cut_off)?;
    let answer: Value = serde_json::from_str(body).map_err(|_| cut_off())?;
    Ok(answer["result"]["structuredContent"].clone())
}

fn read_log(path: &Path) -> HashMap<String, i64> {
    let Ok(file) = fs::File::open(path) else { return HashMap::new() };
    let lines = BufReader::new(file).lines().map(|line| {
        let line = line.unwrap();
        let (subject, id) = line.split_once(' ').unwrap();
        (subject.to_owned(), id.parse().unwrap())
    });
    lines.collect()
}

fn log_of(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("answered-{number}"))
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(format!("POSTRIDER_CRASH_{name}")).ok().map_or(default, |value| value.parse().unwrap())
}
