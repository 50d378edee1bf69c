//! One Chromium for all tests of this process, steered by scripts for Node.
//!
//! A script holds promises, each a function that drives the browser and the server; `driver.mjs` says what it is asked.
//! The browser goes when this process does, for then its driver has nothing more to read.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, ChildStdout, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

use serde_json::{Value, json};

use crate::harness::node::{node, packages};
use crate::harness::repository::is_there;
use crate::harness::{DEADLINE, Server};

const DRIVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/page/driver.mjs");
const NEEDED: [&str; 2] = ["playwright-core", "axe-core"];

static BROWSER: OnceLock<Option<Browser>> = OnceLock::new();

/// The browser of this process.
pub struct Browser {
    asks: Mutex<ChildStdin>,
    asked: AtomicU64,
    waiting: Arc<Mutex<HashMap<u64, Sender<Value>>>>,
    complaints: Arc<Mutex<String>>,
}

/// The browser; none, said loudly, where it cannot be started.
pub fn browser() -> Option<&'static Browser> {
    BROWSER.get_or_init(Browser::start).as_ref()
}

impl Browser {
    fn start() -> Option<Self> {
        let packages = packages("the page in a browser", &NEEDED)?;
        if !is_there("chromium") {
            return None;
        }
        let mut command = node(&packages, DRIVER);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut driver = command.spawn().expect("node runs");
        let asks = driver.stdin.take().expect("standard input is piped");
        let answers = driver.stdout.take().expect("standard output is piped");
        let mut stderr = driver.stderr.take().expect("standard error is piped");
        let (waiting, complaints) = (Arc::default(), Arc::<Mutex<String>>::default());
        let heard = complaints.clone();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = stderr.read(&mut bytes) {
                heard.lock().expect("nobody panics here").push_str(&String::from_utf8_lossy(&bytes[..length]));
            }
            // It ends with this process, which closes its standard input, or by itself.
            let _ = driver.wait();
        });
        let told = Arc::clone(&waiting);
        thread::spawn(move || tell(answers, &told));
        Some(Self { asks: Mutex::new(asks), asked: AtomicU64::new(1), waiting, complaints })
    }

    /// Looks whether a promise of a script holds with this server.
    pub fn look(&self, script: &str, promise: &str, server: &Server, token: Option<&str>) {
        let id = self.asked.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = mpsc::channel();
        self.waiting.lock().expect("nobody panics here").insert(id, answer);
        let server_told = json!({
            "origin": format!("http://{}", server.address),
            "token": token,
            "home": server.place.home(),
            "binary": env!("CARGO_BIN_EXE_postrider"),
        });
        let ask = json!({ "id": id, "script": script, "promise": promise, "server": server_told });
        // A driver that has ended does not answer, which is said below.
        let _ = writeln!(self.asks.lock().expect("nobody panics here"), "{ask}");
        let answer = answered.recv_timeout(DEADLINE).unwrap_or_else(|why| {
            let complaints = self.complaints.lock().expect("nobody panics here");
            panic!("{promise} of {script}.mjs was not answered: {why}\n{complaints}\n{}", server.place.log())
        });
        let broken = answer["broken"].as_str();
        assert!(broken.is_none(), "{}\n{}", broken.unwrap_or_default(), server.place.log());
    }
}

/// Hands every answer to whoever waits for it; those who wait when the driver ends get none.
fn tell(answers: ChildStdout, waiting: &Mutex<HashMap<u64, Sender<Value>>>) {
    for line in BufReader::new(answers).lines().map_while(Result::ok) {
        let answer: Value = serde_json::from_str(&line).expect("the driver answers with JSON");
        let asked = waiting.lock().expect("nobody panics here").remove(&answer["id"].as_u64().unwrap_or_default());
        if let Some(asked) = asked {
            // A test that has given up listens no more.
            let _ = asked.send(answer);
        }
    }
    waiting.lock().expect("nobody panics here").clear();
}
