//! Three servers over one PostgreSQL are one post office, however often servers and database are killed.
//!
//! Clients send, wait, reserve and read through all three at once. What was answered is there once; nobody who waits is
//! given a message twice; nobody is granted a path that another holds; at the end every waiter is given mail that was sent
//! elsewhere while it waited. Whoever waits also looks by itself now and then: that servers tell each other at once, also
//! after the database was away, is what the store's own `many_servers` tests see.
//!
//! Long runs: `cargo xtask crash --rounds 1000`. The moments come from a seed that is printed, and can be given.

#![allow(clippy::print_stderr)] // the seed and the counts are worth seeing

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use testing::postgres::Private;

use crate::harness::{self, Place, Server};

const PROJECT: &str = "/many/servers";
const SENDERS: usize = 24;
const WAITERS: usize = 16;
const RESERVERS: usize = 12;
const READERS: usize = 12;
/// How long one may wait for mail, in seconds.
const LONGEST_WAIT: u64 = 50;
/// How many answers lie between two crashes.
const BETWEEN_CRASHES: usize = 400;

/// What the clients share.
struct Town {
    addresses: Mutex<Vec<String>>,
    is_over: AtomicBool,
    /// How many calls were answered.
    answers: AtomicUsize,
    /// The number of each message that was answered, by its subject.
    sent: Mutex<HashMap<String, i64>>,
    /// Which waiter was given which message.
    given: Mutex<BTreeSet<(String, i64)>>,
    /// Who held what, and from when to when it was surely held.
    held: Mutex<Vec<(String, String, Instant, Instant)>>,
}

impl Town {
    /// Calls a tool at one of the servers. `None` if it is not known what became of it, or it may be tried again.
    fn call(&self, dice: &mut Dice, tool: &str, arguments: &Value) -> Option<Value> {
        let address = {
            let addresses = self.addresses.lock().unwrap();
            addresses[dice.roll(addresses.len())].clone()
        };
        let answer = harness::http::try_call(&address, tool, arguments)?;
        if answer["result"]["isError"] == true {
            let may_repeat = &answer["result"]["structuredContent"]["retryable"];
            assert_eq!(*may_repeat, true, "{tool} {arguments} was refused: {answer}");
            // A refusal that may be repeated is no reason to hurry.
            thread::sleep(Duration::from_millis(5));
            return None;
        }
        self.answers.fetch_add(1, Ordering::Relaxed);
        Some(answer["result"]["structuredContent"].clone())
    }

    fn insist(&self, dice: &mut Dice, tool: &str, arguments: &Value) -> Value {
        loop {
            if let Some(answer) = self.call(dice, tool, arguments) {
                return answer;
            }
        }
    }

    /// Notes what a wait came to, which nobody may be given a second time; whether it came to anything.
    fn note_given(&self, waiter: &str, mail: &Value) -> bool {
        let messages = mail.as_array().expect("a wait comes to a list");
        for message in messages {
            let id = message["id"].as_i64().expect("a message has a number");
            let is_first = self.given.lock().unwrap().insert((waiter.to_owned(), id));
            assert!(is_first, "{waiter} was given message {id} twice");
        }
        !messages.is_empty()
    }

    fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::Relaxed)
    }
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

fn send(town: &Town, mut dice: Dice, number: usize) {
    let mut count = 0;
    while town.goes_on() {
        count += 1;
        let subject = format!("s{number}-{count}");
        let arguments = json!({
            "project_key": PROJECT, "sender_name": format!("sender{number}"),
            "to": [format!("waiter{}", dice.roll(WAITERS))], "subject": subject, "body_md": format!("body of {subject}"),
            "idempotency_key": subject,
        });
        let answer = town.insist(&mut dice, "send_message", &arguments);
        town.sent.lock().unwrap().insert(subject, answer["id"].as_i64().expect("a message has a number"));
    }
}

fn wait(town: &Town, mut dice: Dice, number: usize) {
    let name = format!("waiter{number}");
    while town.goes_on() {
        if let Some(answer) = town.call(&mut dice, "wait_for_mail", &waiting(&name, 1)) {
            town.note_given(&name, &answer["result"]);
        }
    }
}

fn waiting(name: &str, seconds: u64) -> Value {
    json!({ "project_key": PROJECT, "agent_name": name, "timeout_seconds": seconds })
}

fn reserve(town: &Town, mut dice: Dice, number: usize) {
    let name = format!("reserver{number}");
    while town.goes_on() {
        let path = format!("src/{}.rs", dice.roll(3));
        let arguments = json!({
            "project_key": PROJECT, "agent_name": name, "paths": [path], "exclusive": true, "ttl_seconds": 600,
        });
        let granted = town.call(&mut dice, "file_reservation_paths", &arguments).is_some();
        let from = Instant::now();
        if granted {
            thread::sleep(Duration::from_millis(dice.roll(20) as u64));
        }
        let until = Instant::now();
        // Also when no answer came: it may have been granted.
        town.insist(&mut dice, "release_file_reservations", &json!({ "project_key": PROJECT, "agent_name": name }));
        if granted {
            town.held.lock().unwrap().push((path, name.clone(), from, until));
        }
    }
}

fn read(town: &Town, mut dice: Dice, number: usize) {
    while town.goes_on() {
        let agent = format!("waiter{}", number % WAITERS);
        town.call(&mut dice, "fetch_inbox", &json!({ "project_key": PROJECT, "agent_name": agent, "limit": 20 }));
        town.call(&mut dice, "search_messages", &json!({ "project_key": PROJECT, "query": "body NOT nothing" }));
    }
}

#[test]
fn three_servers_lose_nothing_and_double_nothing_whatever_is_killed() {
    let Some(database) = Private::start() else { return };
    let rounds = setting("ROUNDS", 20) as usize;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed = setting("SEED", now % 1_000_000_007);
    eprintln!("many servers: {rounds} rounds, seed {seed}");
    let mut dice = Dice(seed);
    let places: Vec<Place> = (0..3).map(|_| Place::new()).collect();
    let url = database.url();
    let start = |place: &Place| place.serve_with(&[], &[("POSTRIDER_DATABASE", &url)]);
    let mut servers: Vec<Server> = places.iter().map(start).collect();
    let town = Arc::new(Town {
        addresses: Mutex::new(servers.iter().map(|server| server.address.clone()).collect()),
        is_over: AtomicBool::new(false),
        answers: AtomicUsize::new(0),
        sent: Mutex::default(),
        given: Mutex::default(),
        held: Mutex::default(),
    });
    prepare(&town, &mut dice);
    let clients = begin(&town, seed);
    for round in 0..rounds {
        let before = town.answers.load(Ordering::Relaxed);
        let begun = Instant::now();
        while town.answers.load(Ordering::Relaxed) < before + BETWEEN_CRASHES {
            assert!(begun.elapsed() < harness::DEADLINE, "nothing is answered any more in round {round} (seed {seed})");
            thread::sleep(Duration::from_millis(10));
        }
        if round % 3 == 2 {
            database.crash();
            database.recover();
        } else {
            let place = dice.roll(servers.len());
            servers.remove(place).kill();
            servers.insert(place, start(&places[place]));
            town.addresses.lock().unwrap()[place] = servers[place].address.clone();
        }
    }
    town.is_over.store(true, Ordering::Relaxed);
    for client in clients {
        client.join().expect("no client saw what it may not see");
    }
    every_waiter_is_given_what_is_sent_elsewhere(&town, &servers, &mut dice);
    let given = town.given.lock().unwrap().len();
    eprintln!("many servers: {given} given to those who waited, none twice");
    assert!(given > WAITERS, "nothing was given while servers were killed (seed {seed})");
    nothing_is_lost_or_doubled(&town, &places[0], &url, seed);
    nobody_held_what_another_held(&town, seed);
    for server in servers {
        server.stop();
    }
}

fn prepare(town: &Town, dice: &mut Dice) {
    town.insist(dice, "ensure_project", &json!({ "human_key": PROJECT }));
    let people = [("sender", SENDERS), ("waiter", WAITERS), ("reserver", RESERVERS)];
    for (name, count) in people {
        for number in 0..count {
            let name = format!("{name}{number}");
            let arguments = json!({ "project_key": PROJECT, "name": name, "program": "test", "model": "test" });
            town.insist(dice, "register_agent", &arguments);
        }
    }
}

fn begin(town: &Arc<Town>, seed: u64) -> Vec<thread::JoinHandle<()>> {
    type Client = fn(&Town, Dice, usize);
    let trades: [(Client, usize); 4] = [(send, SENDERS), (wait, WAITERS), (reserve, RESERVERS), (read, READERS)];
    let all = trades.into_iter().enumerate().flat_map(|(trade, (client, count))| {
        (0..count).map(move |number| (client, number, seed ^ ((trade * 1_000 + number) as u64) << 20))
    });
    all.map(|(client, number, seed)| {
        let town = town.clone();
        thread::spawn(move || client(&town, Dice(seed), number))
    })
    .collect()
}

/// Each waits at one server for what is then sent at another.
fn every_waiter_is_given_what_is_sent_elsewhere(town: &Town, servers: &[Server], dice: &mut Dice) {
    let names: Vec<String> = (0..WAITERS).map(|number| format!("waiter{number}")).collect();
    for name in &names {
        // What was sent before is taken first.
        while town.note_given(name, &town.insist(dice, "wait_for_mail", &waiting(name, 0))["result"]) {}
    }
    servers.iter().for_each(until_ready);
    let at = |number: usize| &servers[number % servers.len()];
    let begun = Instant::now();
    let pending: Vec<_> = names
        .iter()
        .enumerate()
        .map(|(number, name)| at(number).begin("wait_for_mail", &waiting(name, LONGEST_WAIT)))
        .collect();
    for (place, server) in servers.iter().enumerate() {
        server.until_under_way((0..WAITERS).filter(|number| number % servers.len() == place).count());
    }
    for (number, name) in names.iter().enumerate() {
        let arguments = json!({
            "project_key": PROJECT, "sender_name": "sender0", "to": [name], "subject": "wake up",
            "body_md": "It is time.",
        });
        at(number + 1).call("send_message", arguments);
    }
    for (name, wait) in names.iter().zip(pending) {
        let mail = wait.answer().expect("a wait is not refused");
        assert_eq!((&mail[0]["subject"], &mail[1]), (&json!("wake up"), &Value::Null), "{mail}");
        town.note_given(name, &mail);
    }
    // Whoever has waited to the end looks once more, so that mail alone does not show that anybody was woken.
    assert!(begun.elapsed() < Duration::from_secs(LONGEST_WAIT), "somebody was woken by the end of its wait alone");
}

/// A server may find the database again later than those that the clients were answered by.
fn until_ready(server: &Server) {
    let begun = Instant::now();
    while server.get("/health/readiness").status != 200 {
        assert!(begun.elapsed() < harness::DEADLINE, "the server never finds the database again");
    }
}

fn nothing_is_lost_or_doubled(town: &Town, place: &Place, url: &str, seed: u64) {
    let exported = place.command(&["export"]).env("POSTRIDER_DATABASE", url).output().expect("the binary runs");
    assert!(exported.status.success(), "{}", String::from_utf8_lossy(&exported.stderr));
    let text = String::from_utf8(exported.stdout).expect("an export is text");
    let records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    let mut times: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    let mut last = String::new();
    for record in &records {
        let message = if record["message"].is_object() { &record["message"] } else { record };
        let subject = message["subject"].as_str().expect("a message has a subject").to_owned();
        times.entry(subject).or_default().push(message["id"].as_i64().expect("a message has a number"));
        let at = message["created_ts"].as_str().expect("a message has a time").to_owned();
        assert!(at > last, "'{at}' does not come after '{last}' (seed {seed})");
        last = at;
    }
    let sent = town.sent.lock().unwrap();
    for (subject, id) in sent.iter() {
        assert_eq!(times.get(subject), Some(&vec![*id]), "'{subject}' was answered once (seed {seed})");
    }
    times.remove("wake up");
    for (subject, ids) in &times {
        assert_eq!(ids.len(), 1, "'{subject}' is there more than once (seed {seed})");
    }
    eprintln!("many servers: {} answered, {} kept, none lost, none twice", sent.len(), records.len());
}

fn nobody_held_what_another_held(town: &Town, seed: u64) {
    let mut held = town.held.lock().unwrap().clone();
    held.sort_by(|one, other| (&one.0, one.2).cmp(&(&other.0, other.2)));
    for pair in held.windows(2) {
        let [(path, one, _, until), (other_path, other, from, _)] = pair else { continue };
        assert!(path != other_path || one == other || until <= from, "'{path}' was held by two (seed {seed})");
    }
    eprintln!("many servers: {} reservations, never two on one path", held.len());
    assert!(!held.is_empty());
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(format!("POSTRIDER_CRASH_{name}")).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}
