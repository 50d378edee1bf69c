//! Three servers over one PostgreSQL tell NATS of everything once and in order, whichever of them dies.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testing::nats::{Held, Nats};
use testing::postgres;

use crate::harness::http::try_call;
use crate::harness::mcp::{PROJECT, message, with};
use crate::harness::{self, Place, Server};

const CLIENTS: usize = 6;
const ROUNDS: usize = 6;

/// Sends one message after another through whichever server is there; how many were answered.
fn send_all(number: usize, is_over: &AtomicBool, addresses: &Mutex<Vec<String>>) -> i64 {
    let mut answered = 0;
    while !is_over.load(Ordering::SeqCst) {
        let subject = format!("c{number}-{answered}");
        let send = with(message("alice", "bob", &subject), json!({ "idempotency_key": subject }));
        let address = {
            let addresses = addresses.lock().unwrap();
            addresses[(number + usize::try_from(answered).unwrap()) % addresses.len()].clone()
        };
        let is_sent = |answer: Value| answer["result"]["isError"] == false;
        match try_call(&address, "send_message", &send).is_some_and(is_sent) {
            true => answered += 1,
            // Leaves the machine to the server that is coming back.
            false => thread::sleep(Duration::from_millis(2)),
        }
    }
    answered
}

#[test]
fn of_many_servers_one_tells_nats_and_another_goes_on_when_it_dies() {
    let Some(nats) = Nats::start("three servers and NATS") else { return };
    let Some(url) = postgres::fresh_url() else { return };
    let start = |place: &Place| place.serve_with(&[], &[("POSTRIDER_DATABASE", &url)]);
    let places: Vec<Place> = (0..3).map(|_| Place::with_settings(&nats.toml())).collect();
    let mut servers: Vec<Server> = places.iter().map(start).collect();
    servers[0].call("ensure_project", json!({ "human_key": PROJECT }));
    servers[0].register(&["alice", "bob"]);
    let addresses = Arc::new(Mutex::new(servers.iter().map(|server| server.address.clone()).collect::<Vec<_>>()));
    let is_over = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let (is_over, addresses) = (is_over.clone(), addresses.clone());
            thread::spawn(move || send_all(number, &is_over, &addresses))
        })
        .collect();
    let client = nats.client();
    for round in 0..ROUNDS {
        // Whoever tells now is among those who are killed in turn.
        let told = client.count_in("POSTRIDER");
        let begun = Instant::now();
        while client.count_in("POSTRIDER") < told + 40 {
            assert!(begun.elapsed() < harness::DEADLINE, "NATS is told of nothing any more in round {round}");
        }
        servers.remove(round % 3).kill();
        servers.insert(round % 3, start(&places[round % 3]));
        addresses.lock().unwrap()[round % 3] = servers[round % 3].address.clone();
    }
    is_over.store(true, Ordering::SeqCst);
    let answered: i64 = clients.into_iter().map(|client| client.join().expect("a client does not fail")).sum();
    // What was sent without an answer may stand there too; nothing that was answered may be missing.
    let kept = messages(&places[0], &url);
    let told = |held: &[Held]| held.iter().filter(|one| one.event == "message.sent").count() as i64;
    let held = client.until("NATS has everything", |held| told(held) >= kept);
    let numbers: Vec<i64> = held.iter().map(|one| one.seq).collect();
    assert_eq!(numbers, (1..=numbers.len() as i64).collect::<Vec<_>>(), "each once, in order");
    assert!(told(&held) == kept && kept >= answered && answered > 0, "{answered} answered, {kept} kept");
    for server in servers {
        server.stop();
    }
}

/// How many messages there are.
fn messages(place: &Place, url: &str) -> i64 {
    let exported = place.command(&["export"]).env("POSTRIDER_DATABASE", url).output().expect("the binary runs");
    String::from_utf8(exported.stdout).expect("an export is text").lines().count() as i64
}
