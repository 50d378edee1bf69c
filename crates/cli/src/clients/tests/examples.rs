//! What clients say, and what Codex accepts, written down by example in `tests/hooks`: for tests.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::clients::{ALL, Client};

fn folder(name: &str) -> PathBuf {
    // It runs the same plugin.
    let name = if name == "kilo" { "opencode" } else { name };
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/hooks").join(name)
}

/// Every example: the client, the name of the file without its end, and the text.
pub(crate) fn all() -> Vec<(&'static Client, String, String)> {
    let mut all = Vec::new();
    for client in ALL {
        for entry in fs::read_dir(folder(client.name)).expect("every client has examples") {
            let path = entry.expect("a folder can be listed").path();
            let name = path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
            all.push((client, name, fs::read_to_string(&path).expect("an example is text")));
        }
        let missing: Vec<&str> = client
            .events
            .iter()
            .map(|(_, name)| *name)
            .filter(|name| !all.iter().any(|(known, example, _)| known.name == client.name && example == name))
            .collect();
        assert!(missing.is_empty(), "{} has no example of {missing:?}", client.name);
    }
    all
}

/// The example of an event.
pub(crate) fn input(client: &Client, event: &str) -> String {
    fs::read_to_string(folder(client.name).join(format!("{event}.json"))).expect("the event has an example")
}

/// What Codex accepts as the answer to an event.
pub(crate) fn codex_schema(event: &str) -> Value {
    let text = fs::read_to_string(folder("codex-answers").join(format!("{event}.schema.json"))).expect("a schema");
    serde_json::from_str(&text).expect("a schema is JSON")
}
