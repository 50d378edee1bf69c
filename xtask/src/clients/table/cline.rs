//! Cline. Its hooks are told of little, and its terminal was not tried.

use serde_json::json;

use super::super::speech::{Call, Speech};
use super::super::workplace::Place;
use super::{Keys, Row, Tools, words};
use crate::npm::Pin;

pub const CLINE: Row = Row {
    name: "cline",
    title: "Cline",
    pins: &[Pin { name: "cline", version: "3.0.65" }],
    program: "cline",
    scopes: &["user"],
    speech: Speech::Chat,
    files,
    environment: |_| vec![("CLINE_NO_AUTO_UPDATE", "1".to_owned())],
    once: |_, prompt| words(&["-P", "openai-compatible", "-m", "stand-in", prompt]),
    open: |_| words(&["-i"]),
    resume: &[],
    ends_with_its_turn: false,
    fetches_first: false,
    tools: Tools {
        look: |file| Call::new("read_files", json!({ "files": [{ "path": file }] })),
        shell: |command| Call::new("run_commands", json!({ "commands": [command] })),
        writes: |file| vec![Call::new("editor", json!({ "path": file, "new_text": "written\n" }))],
        own: |tool, arguments| Call::new(&format!("postrider__{tool}"), arguments),
    },
    keys: Keys { ready: "context", dialogs: &[], clear: None, compact: None, quit: &["C-c", "C-c"] },
    sandbox: None,
    not_offered: &[
        ("start", "what a hook says when a task begins does not reach the model"),
        ("stop", "it has no hook that holds the end of a turn"),
        ("write", "a refusal ends the whole run, so nothing is refused"),
        ("idle", "Postrider knows no way into an idle session of it"),
    ],
};

fn files(place: &Place) -> Vec<(String, String)> {
    let settings = json!({ "provider": "openai-compatible", "apiKey": "dummy", "model": "stand-in",
                           "baseUrl": format!("{}/v1", place.model.url()) });
    let provider = json!({ "settings": settings, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual" });
    let providers = json!({ "version": 1, "lastUsedProvider": "openai-compatible", "modes": {},
                            "providers": { "openai-compatible": provider } });
    vec![(".cline/data/settings/providers.json".to_owned(), providers.to_string())]
}
