//! A channel and its folder say the same in the end, however often the server is killed.
//!
//! Foreign agents drop files, some of them piece by piece, and clients post over HTTP, while the server is killed with -9 at
//! random moments and started again. A second office with a home of its own shares the folder all the time. At the end
//! what each of them has is compared: every file is one message, every accepted post is one file, nothing is there twice.

#![allow(clippy::print_stderr)] // the seed and the counts are worth seeing

mod foreign;
mod harness;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use foreign::{Shared, posts, until};
use harness::mcp::PROJECT;
use harness::{Place, has_python};

const ROUNDS: u64 = 20;
const OF_EACH: usize = 2;

/// Drops files until it is told to stop, and writes down what they say.
const DROPPER: &str = r#"
import json, os, sys, time
folder, number, stop, log = sys.argv[1:5]
os.makedirs(folder, exist_ok=True)
count = 0
while not os.path.exists(stop):
    count += 1
    now = time.time()
    name = time.strftime("msg-%Y%m%d-%H%M%S", time.gmtime(now)) + f"-dropper{number}-{count:04x}"
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03}Z"
    text = f"drop-{number}-{count}"
    said = json.dumps({"id": name, "timestamp": stamp, "session_id": "dev", "from": f"dropper{number}", "to": "all",
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
fn every_file_is_one_message_and_every_accepted_post_is_one_file() {
    if !has_python("files of foreign agents while the server is killed") {
        return;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed = std::env::var("POSTRIDER_CRASH_SEED").map_or(now % 1_000_000_007, |seed| seed.parse().unwrap());
    eprintln!("channel files: {ROUNDS} rounds, seed {seed}");
    let shared = Shared::new();
    let (here, there) = (shared.place(), shared.place());
    let other = there.serve();
    let port = free_port();
    let server = start(&here, &port);
    prepare(&here);
    let agents = start_agents(&here, &shared.dev(), &port);
    let _server = torment(&here, &port, server, seed);
    fs::write(here.file("stop"), "").unwrap();
    for mut agent in agents {
        assert!(agent.wait().unwrap().success(), "an agent failed (seed {seed})");
    }

    let (dropped, answered) = (logged(&here, "dropper"), logged(&here, "poster"));
    assert!(dropped.len() > 20 && answered.len() > 20, "the test did not test anything: {dropped:?} {answered:?}");
    until("all three say the same", || {
        let sets = [posts(&here), posts(&there), shared.texts()].map(BTreeSet::from_iter);
        let has_all = sets[0].is_superset(&dropped) && sets[0].is_superset(&answered);
        (has_all && sets[0] == sets[1] && sets[1] == sets[2]).then_some(())
    });
    for (whose, texts) in [("here", posts(&here)), ("there", posts(&there)), ("the folder", shared.texts())] {
        let different: BTreeSet<&String> = texts.iter().collect();
        assert_eq!(texts.len(), different.len(), "something is there twice: {whose} (seed {seed})");
    }
    eprintln!("channel files: {} dropped, {} posted, each there once", dropped.len(), answered.len());
    drop(other);
}

/// A server that is killed with -9 when it is dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(place: &Place, port: &str) -> Server {
    let mut command = place.command(&["serve", "--port", port, "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("url"), "the server did not start: {line:?}");
    Server(child)
}

fn prepare(place: &Place) {
    for number in 0..OF_EACH {
        place.done(&["join", &format!("poster{number}"), "--project", PROJECT]);
    }
}

fn start_agents(place: &Place, folder: &Path, port: &str) -> Vec<Child> {
    let stop = place.file("stop");
    let agents = (0..OF_EACH).flat_map(|number| {
        let [dropped, answered] = ["dropper", "poster"].map(|what| place.file(&format!("{what}{number}")));
        let number = number.to_string();
        let mut dropper = Command::new("python3");
        dropper.args(["-c", DROPPER]).arg(folder).arg(&number).arg(&stop).arg(dropped);
        let mut poster = Command::new("python3");
        poster.args(["-c", POSTER, port, &number]).arg(&stop).arg(answered).arg(PROJECT);
        [dropper, poster].map(|mut agent| agent.spawn().unwrap())
    });
    agents.collect()
}

/// Kills the server again and again; the last one is left running.
fn torment(place: &Place, port: &str, mut server: Server, seed: u64) -> Server {
    let mut random = seed.max(1);
    for _ in 0..ROUNDS {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // The moment is the point of the test, not a way to wait for something.
        thread::sleep(Duration::from_micros(20_000 + random % 400_000));
        drop(server);
        server = start(place, port);
    }
    server
}

fn logged(place: &Place, what: &str) -> BTreeSet<String> {
    let logs =
        (0..OF_EACH).map(|number| fs::read_to_string(place.file(&format!("{what}{number}"))).unwrap_or_default());
    logs.collect::<String>().lines().map(str::to_owned).collect()
}

fn free_port() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string()
}
