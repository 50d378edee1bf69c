//! A folder of channels, and agents that know nothing of Postrider and write into it: programs in Python.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::mcp::PROJECT;
use crate::harness::{DEADLINE, Place};

/// Writes one message as the convention asks for: under another name, then renamed.
const DROP: &str = r#"
import json, os, sys
folder, name, to, text = sys.argv[1:5]
_, date, time, *agent, _ = name.split("-")
stamp = f"{date[:4]}-{date[4:6]}-{date[6:]}T{time[:2]}:{time[2:4]}:{time[4:]}.000Z"
os.makedirs(folder, exist_ok=True)
with open(f"{folder}/{name}.tmp", "w") as file:
    json.dump({"id": name, "timestamp": stamp, "session_id": "dev", "from": "-".join(agent), "to": to, "type": "chat",
               "content": {"text": text, "code": None, "artifacts": []}, "metadata": {"mode": "chat"}}, file)
os.rename(f"{folder}/{name}.tmp", f"{folder}/{name}.json")
"#;

/// A folder that post offices share.
pub struct Shared(tempfile::TempDir);

impl Shared {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("the system has a folder for temporary files"))
    }

    /// A home whose project has this folder.
    pub fn place(&self) -> Place {
        Place::with_settings(&self.settings())
    }

    /// The settings of such a home.
    pub fn settings(&self) -> String {
        format!("[channels]\n'{PROJECT}' = '{}'\n", self.0.path().display())
    }

    /// The folder, as an argument.
    pub fn path(&self) -> String {
        self.0.path().to_str().expect("a plain path").to_owned()
    }

    /// A program of the folder.
    pub fn script(&self, name: &str) -> PathBuf {
        self.0.path().join("scripts").join(name)
    }

    pub fn dev(&self) -> PathBuf {
        self.0.path().join("channels/dev")
    }

    /// Has a foreign agent say something.
    pub fn say(&self, name: &str, to: &str, text: &str) {
        python(DROP, &[&self.dev().to_string_lossy(), name, to, text]);
    }

    /// The messages in the folder, by the names of their files.
    pub fn messages(&self) -> Vec<(String, Value)> {
        let Ok(all) = fs::read_dir(self.dev()) else { return Vec::new() };
        let mut names: Vec<PathBuf> = all.map(|entry| entry.expect("a folder can be read").path()).collect();
        names.retain(|path| path.extension().is_some_and(|ending| ending == "json") && !is_hidden(path));
        names.sort();
        names.iter().map(|path| (file_name(path), read(path))).collect()
    }

    /// What they say.
    pub fn texts(&self) -> Vec<String> {
        self.messages().iter().map(|(_, said)| text_of(&said["content"]["text"])).collect()
    }
}

/// Runs a program in Python to its end.
pub fn python(program: &str, arguments: &[&str]) {
    let ran = Command::new("python3").arg("-c").arg(program).args(arguments).status().expect("python3 is installed");
    assert!(ran.success(), "{arguments:?}");
}

/// What the posts of `dev` say that are kept in a home, in the order in which they were accepted.
pub fn posts(place: &Place) -> Vec<String> {
    let lines = place.done(&["export"]);
    let all = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("an export is lines of JSON"));
    all.filter(|message| message["post"]["channel"] == "dev").map(|message| text_of(&message["body_md"])).collect()
}

/// Looks until there is something.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < DEADLINE, "not in time: {what}");
        // Between two looks, not instead of one.
        thread::sleep(Duration::from_millis(50));
    }
}

pub fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort();
    texts
}

fn read(path: &Path) -> Value {
    let text = fs::read_to_string(path).expect("a file can be read");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("'{}' is no JSON: {error}", path.display()))
}

fn file_name(path: &Path) -> String {
    path.file_name().expect("it is in a folder").to_string_lossy().into_owned()
}

fn is_hidden(path: &Path) -> bool {
    file_name(path).starts_with('.')
}

fn text_of(value: &Value) -> String {
    value.as_str().expect("a message has a text").to_owned()
}
