//! NATS is told of everything once and in order, however often it or the post office is killed.
//!
//! Clients send without pause. Who is killed, and when, comes from a seed that is printed. At the end the stream is
//! compared with what the post office has.

#![allow(clippy::print_stderr)] // the seed and the counts are worth seeing

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use testing::nats::{Held, Nats};

use crate::harness::mcp::{PROJECT, message, tool_call, with};
use crate::harness::{self, Place, Server};

const CLIENTS: usize = 3;
const ROUNDS: u64 = 20;

/// Clients that send to whichever server is there, until they are told to stop.
struct Clients {
    stop: Arc<AtomicBool>,
    threads: Vec<thread::JoinHandle<usize>>,
}

impl Clients {
    fn start(server: &Arc<Mutex<Option<Server>>>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let client = |number: usize| {
            let (stop, server) = (stop.clone(), server.clone());
            thread::spawn(move || send_all(number, &stop, &server))
        };
        let threads = (0..CLIENTS).map(client).collect();
        Self { stop, threads }
    }

    /// How many sends were answered.
    fn stop(self) -> usize {
        self.stop.store(true, Ordering::SeqCst);
        self.threads.into_iter().map(|client| client.join().expect("a client does not fail")).sum()
    }
}

/// Sends one message after another, to agents and in a channel; how many were answered.
fn send_all(number: usize, stop: &AtomicBool, server: &Mutex<Option<Server>>) -> usize {
    let mut answered = 0;
    while !stop.load(Ordering::SeqCst) {
        let to = if answered % 2 == 0 { "reader" } else { "#dev" };
        let subject = format!("c{number}-{answered}");
        let send = with(message(&format!("client{number}"), to, &subject), json!({ "idempotency_key": subject }));
        let address = server.lock().expect("nobody panics").as_ref().map(|server| server.address.clone());
        let sent = address.and_then(|address| call(&address, &send));
        match sent {
            Some(answer) if answer["result"]["isError"] == false => answered += 1,
            // Leaves the machine to the server that is coming back.
            _ => thread::sleep(Duration::from_millis(2)),
        }
    }
    answered
}

/// One call on a connection of its own; nothing when no whole answer came.
fn call(address: &str, arguments: &Value) -> Option<Value> {
    use std::io::{Read, Write};
    let body = tool_call("send_message", arguments);
    let mut stream = std::net::TcpStream::connect(address).ok()?;
    let head =
        format!("POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
}

/// A number below `most`, each time another.
fn chance(state: &mut u64, most: u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state % most
}

fn seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_nanos() as u64;
    let seed = std::env::var("POSTRIDER_CRASH_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(now % 1_000_000_007).max(1);
    eprintln!("nats_crash: seed {seed}");
    seed
}

fn prepare(server: &Server) {
    server.call("ensure_project", json!({ "human_key": PROJECT }));
    let names = (0..CLIENTS).map(|number| format!("client{number}"));
    for name in names.chain(["reader".to_owned()]) {
        server.call("register_agent", json!({ "project_key": PROJECT, "name": name }));
    }
}

/// The stream holds every event once and in order, and so every message that the office has.
fn check(nats: &Nats, place: &Place, answered: usize) {
    // Only the count is wanted: doctor rightly complains when NATS is more than a thousand events behind.
    let doctor = place.run(&["doctor", "--quick", "--json"]);
    let report: Value = serde_json::from_str(&doctor.stdout).expect("--json prints JSON");
    let wanted = report["counts"]["events"].as_i64().expect("events are counted");
    let client = nats.client();
    let start = std::time::Instant::now();
    // The stream is long, so all of it is read once it is complete.
    while client.count_in("POSTRIDER") < wanted.unsigned_abs() {
        assert!(start.elapsed() < harness::DEADLINE, "NATS was not told of everything: {}", place.log());
    }
    let held = client.held();
    let numbers: Vec<i64> = held.iter().map(|one| one.seq).collect();
    assert_eq!(numbers, (1..=wanted).collect::<Vec<_>>(), "each once, in order");
    let is_message = |one: &&Held| one.event == "message.sent";
    let messages = held.iter().filter(is_message).count();
    let export = place.done(&["export"]);
    assert_eq!(messages, export.lines().count());
    assert!(messages >= answered && answered > 50, "{answered} answered, {messages} in the stream");
    eprintln!("nats_crash: {answered} answered, {messages} messages in the stream, none lost, none twice");
}

#[test]
fn nats_that_is_killed_under_load_has_everything_once_and_in_order() {
    let Some(mut nats) = Nats::start("NATS killed under load") else { return };
    let mut random = seed();
    let place = Place::with_settings(&nats.toml());
    let server = place.serve();
    prepare(&server);
    let server = Arc::new(Mutex::new(Some(server)));
    let clients = Clients::start(&server);
    for round in 0..6 {
        // The moment is the point of the test, not a way to wait for something.
        thread::sleep(Duration::from_millis(100 + chance(&mut random, 400)));
        if round % 2 == 0 {
            nats.kill()
        } else {
            nats.stop()
        }
        nats.run();
    }
    let answered = clients.stop();
    check(&nats, &place, answered);
}

#[test]
fn a_post_office_that_is_killed_between_commit_and_publication_tells_everything_once_and_in_order() {
    let Some(nats) = Nats::start("a post office killed under load") else { return };
    let mut random = seed();
    let place = Place::with_settings(&nats.toml());
    let server = place.serve();
    prepare(&server);
    let server = Arc::new(Mutex::new(Some(server)));
    let clients = Clients::start(&server);
    for _ in 0..ROUNDS {
        // The moment is the point of the test, not a way to wait for something.
        thread::sleep(Duration::from_micros(1_000 + chance(&mut random, 250_000)));
        let killed = server.lock().expect("nobody panics").take().expect("a server runs");
        killed.kill();
        let next = place.serve();
        *server.lock().expect("nobody panics") = Some(next);
    }
    let answered = clients.stop();
    check(&nats, &place, answered);
}
