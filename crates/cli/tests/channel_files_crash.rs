//! A channel and its folder say the same in the end, whoever is killed and however often.
//!
//! Foreign agents drop files, some of them piece by piece, and clients post over HTTP at two offices that share the folder.
//! Some files call an agent, and a watcher answers for it. At random moments one of them is killed with -9 and started again:
//! either server, the watcher, a foreign agent in the middle of a file, or server and watcher together. At the end what each of
//! them has is compared: every whole file is one message, every accepted post is one file, every call has one answer or is
//! known to have failed, and nothing is there twice.
//!
//! Long runs: `cargo xtask crash --rounds 1000`. The moments come from a seed that is printed, and can be given.

#![allow(clippy::print_stderr)] // the seed and the counts are worth seeing

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::foreign::{Shared, posts, until};
use crate::harness::mcp::PROJECT;
use crate::harness::{Place, has_python};
use crate::watchers::{Watcher, failed, join};

const ROUNDS: u64 = 30;
/// How many offices there are, each with a client, and how many foreign agents.
const OF_EACH: usize = 2;
/// Answers so that two answers to one message would say the same.
const ANSWER: &str = "cat >/dev/null; sleep 0.05; echo \"answer $POSTRIDER_MESSAGE_ID\"";

/// Drops files until it is told to stop, and writes down what they say. Nobody calls more often than is answered.
const DROPPER: &str = r#"
import json, os, sys, time
folder, number, stop, log, life = sys.argv[1:6]
os.makedirs(folder, exist_ok=True)
count = 0
while not os.path.exists(stop):
    count += 1
    now = time.time()
    agent = f"dropper{number}-{life}-{count // 90}"
    name = time.strftime("msg-%Y%m%d-%H%M%S", time.gmtime(now)) + f"-{agent}-{count % 65536:04x}"
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03}Z"
    text = f"drop-{number}-{life}-{count}" + (" @answerer" if count % 10 == 3 else "")
    said = json.dumps({"id": name, "timestamp": stamp, "session_id": "dev", "from": agent, "to": "all",
                       "type": "chat", "content": {"text": text}, "metadata": {}})
    if count % 2:
        with open(f"{folder}/.{name}", "w") as file:
            file.write(said)
        os.rename(f"{folder}/.{name}", f"{folder}/{name}.json")
    else:
        with open(f"{folder}/{name}.json", "w") as file:
            file.write(said[:40])
            file.flush()
            time.sleep(0.01)
            file.write(said[40:])
    with open(log, "a") as file:
        file.write(text + "\n")
    time.sleep(0.03)
"#;

/// Posts until it is told to stop, repeats what was not answered, and writes down what was.
const POSTER: &str = r##"
import http.client, json, os, sys, time
port, number, stop, log, project = sys.argv[1:6]
count = 0
while not os.path.exists(stop):
    count += 1
    text = f"post-{number}-{count}"
    arguments = {"project_key": project, "sender_name": f"poster{number}", "to": ["#dev"], "subject": text,
                 "body_md": text, "idempotency_key": text}
    call = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                       "params": {"name": "send_message", "arguments": arguments}})
    while not os.path.exists(stop):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
            connection.request("POST", "/mcp", call, {"Content-Type": "application/json"})
            answer = json.load(connection.getresponse())
        except (OSError, http.client.HTTPException, ValueError):
            time.sleep(0.01)
            continue
        answer["result"]["structuredContent"]["id"]
        with open(log, "a") as file:
            file.write(text + "\n")
        break
    time.sleep(0.01)
"##;

#[test]
fn every_file_is_one_message_every_accepted_post_is_one_file_and_no_call_is_answered_twice() {
    if !has_python("files of foreign agents while everybody is killed") {
        return;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let (rounds, seed) = (setting("ROUNDS", ROUNDS), setting("SEED", now % 1_000_000_007));
    eprintln!("channel files: {rounds} rounds, seed {seed}");
    let mut team = Team::start();
    let posters: Vec<Child> = (0..OF_EACH).map(|number| team.start_poster(number)).collect();
    team.torment(rounds, seed);
    fs::write(team.file("stop"), "").unwrap();
    for mut agent in team.droppers.drain(..).map(|mut dropper| dropper.0.take().unwrap()).chain(posters) {
        assert!(agent.wait().unwrap().success(), "an agent failed (seed {seed})");
    }

    let (dropped, posted) = (team.logged("dropper"), team.logged("poster"));
    assert!(dropped.len() > 20 && posted.len() > 20, "the test did not test anything: {dropped:?} {posted:?}");
    let [here, there] = &team.places;
    until("all is taken in", || {
        let kept = BTreeSet::from_iter(posts(here));
        dropped.union(&posted).all(|text| kept.contains(text)).then_some(())
    });
    let (answered, given_up) = until("every call is dealt with", || team.calls_dealt_with());
    assert!(answered > given_up, "{answered} answered, {given_up} given up (seed {seed})");
    until("all three say the same", || {
        let sets = [posts(here), posts(there), whole_texts(&team.shared)].map(BTreeSet::from_iter);
        (sets[0] == sets[1] && sets[1] == sets[2]).then_some(())
    });
    for (whose, texts) in [("here", posts(here)), ("there", posts(there)), ("the folder", whole_texts(&team.shared))] {
        let different: BTreeSet<&String> = texts.iter().collect();
        assert_eq!(texts.len(), different.len(), "something is there twice: {whose} (seed {seed})");
    }
    eprintln!("channel files: {} dropped, {} posted, each there once", dropped.len(), posted.len());
    eprintln!("channel files: {answered} calls answered once, {given_up} given up");
}

/// Everybody who is killed. What is not there is about to be.
struct Team {
    shared: Shared,
    places: [Place; OF_EACH],
    ports: [String; OF_EACH],
    servers: [Killed; OF_EACH],
    watcher: Option<Watcher>,
    droppers: Vec<Killed>,
    /// How many foreign agents have been started.
    lives: usize,
}

/// A process that is killed with -9 when it is dropped.
struct Killed(Option<Child>);

impl Drop for Killed {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Team {
    fn start() -> Self {
        let shared = Shared::new();
        let places = [shared.place(), shared.place()];
        let ports = [free_port(), free_port()];
        let servers = [0, 1].map(|number| serve(&places[number], &ports[number]));
        for (number, place) in places.iter().enumerate() {
            join(place, &[&format!("poster{number}")]);
        }
        let watcher = Some(Watcher::start(&places[0], "answerer", ANSWER));
        let mut team = Self { shared, places, ports, servers, watcher, droppers: Vec::new(), lives: 0 };
        for number in 0..OF_EACH {
            let dropper = team.start_dropper(number);
            team.droppers.push(dropper);
        }
        team
    }

    /// Kills one after another, and starts it again.
    fn torment(&mut self, rounds: u64, seed: u64) {
        let mut random = seed.max(1);
        for _ in 0..rounds {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            // The moment is the point of the test, not a way to wait for something.
            thread::sleep(Duration::from_micros(20_000 + random % 400_000));
            let number = (random >> 32) as usize % OF_EACH;
            match (random >> 40) % 5 {
                0 => self.restart_server(0),
                1 => self.restart_server(1),
                2 => self.restart_watcher(),
                3 => {
                    self.droppers[number] = Killed(None);
                    self.droppers[number] = self.start_dropper(number);
                }
                // The watcher is back first, and finds no server.
                _ => {
                    self.servers[0] = Killed(None);
                    self.restart_watcher();
                    self.servers[0] = serve(&self.places[0], &self.ports[0]);
                }
            }
        }
    }

    fn restart_server(&mut self, number: usize) {
        self.servers[number] = Killed(None);
        self.servers[number] = serve(&self.places[number], &self.ports[number]);
    }

    fn restart_watcher(&mut self) {
        self.watcher = None;
        self.watcher = Some(Watcher::start(&self.places[0], "answerer", ANSWER));
    }

    fn start_dropper(&mut self, number: usize) -> Killed {
        self.lives += 1;
        let (stop, log) = (self.file("stop"), self.file(&format!("dropper{number}")));
        let mut dropper = Command::new("python3");
        dropper.args(["-c", DROPPER]).arg(self.shared.dev()).arg(number.to_string()).arg(stop).arg(log);
        Killed(Some(dropper.arg(self.lives.to_string()).spawn().unwrap()))
    }

    fn start_poster(&self, number: usize) -> Child {
        let (stop, log) = (self.file("stop"), self.file(&format!("poster{number}")));
        let mut poster = Command::new("python3");
        poster.args(["-c", POSTER, &self.ports[number], &number.to_string()]).arg(stop).arg(log).arg(PROJECT);
        poster.spawn().unwrap()
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.places[0].file(name)
    }

    /// What agents of a kind wrote down.
    fn logged(&self, what: &str) -> BTreeSet<String> {
        let logs =
            (0..OF_EACH).map(|number| fs::read_to_string(self.file(&format!("{what}{number}"))).unwrap_or_default());
        logs.collect::<String>().lines().map(str::to_owned).collect()
    }

    /// How many calls were answered and how many given up, once each is one or the other.
    fn calls_dealt_with(&self) -> Option<(usize, usize)> {
        let lines = self.places[0].done(&["export"]);
        let all: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let text = |message: &Value| message["body_md"].as_str().unwrap().to_owned();
        let calls = all.iter().filter(|message| text(message).ends_with("@answerer"));
        let calls: BTreeSet<i64> = calls.map(|message| message["id"].as_i64().unwrap()).collect();
        let answers = all.iter().filter_map(|message| text(message).strip_prefix("answer ")?.parse().ok());
        let answered: BTreeSet<i64> = answers.collect();
        let given_up: BTreeSet<i64> = failed(&self.places[0], "answerer").into_iter().map(|(id, _)| id).collect();
        assert!(answered.is_disjoint(&given_up), "what was given up was answered: {answered:?} {given_up:?}");
        assert!(answered.is_subset(&calls), "nobody asked: {answered:?} {calls:?}");
        (answered.len() + given_up.len() == calls.len()).then_some((answered.len(), given_up.len()))
    }
}

fn serve(place: &Place, port: &str) -> Killed {
    let mut command = place.command(&["serve", "--port", port, "--json"]);
    let log = File::create(place.file("server.log")).unwrap();
    let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("url"), "the server did not start: {line:?} {}", place.log());
    Killed(Some(child))
}

/// What the files say that are whole: an agent that was killed left half of one.
fn whole_texts(shared: &Shared) -> Vec<String> {
    let files = fs::read_dir(shared.dev()).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "json"));
    let said = files.filter_map(|path| serde_json::from_slice::<Value>(&fs::read(path).unwrap()).ok());
    said.map(|said| said["content"]["text"].as_str().unwrap().to_owned()).collect()
}

fn free_port() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string()
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(format!("POSTRIDER_CRASH_{name}")).ok().map_or(default, |value| value.parse().unwrap())
}
