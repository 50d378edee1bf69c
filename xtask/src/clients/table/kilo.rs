//! Kilo, which comes from OpenCode.

use serde_json::json;

use super::super::speech::{Call, Speech};
use super::super::workplace::Place;
use super::{Keys, Row, Tools, words};
use crate::npm::Pin;

pub const KILO: Row = Row {
    name: "kilo",
    title: "Kilo",
    pins: &[Pin { name: "@kilocode/cli", version: "7.7.7" }],
    program: "kilo",
    scopes: &["project", "user"],
    speech: Speech::Chat,
    files,
    environment: |_| vec![("KILO_DISABLE_AUTOUPDATE", "1".to_owned()), ("KILO_DISABLE_MODELS_FETCH", "1".to_owned())],
    once: |_, prompt| words(&["run", "--auto", prompt]),
    open: |_| Vec::new(),
    resume: &["--continue"],
    ends_with_its_turn: true,
    fetches_first: true,
    tools: Tools {
        look: |file| Call::new("read", json!({ "filePath": file })),
        shell: |command| Call::new("bash", json!({ "command": command, "description": "Mail" })),
        writes: |file| vec![Call::new("write", json!({ "filePath": file, "content": "written\n" }))],
        own: |tool, arguments| Call::new(&format!("postrider_{tool}"), arguments),
    },
    keys: Keys { ready: "ctrl+p", dialogs: &[], clear: Some("/new"), compact: Some("/compact"), quit: &["C-c"] },
    sandbox: None,
    not_offered: &[("sandbox", "it has no sandbox"), ("refusal", "it has no sandbox"), ("outbox", "it has no sandbox")],
};

fn files(place: &Place) -> Vec<(String, String)> {
    let provider = json!({ "npm": "@ai-sdk/openai-compatible", "name": "stand-in", "models": { "stand-in": { "name": "stand-in" } },
                           "options": { "baseURL": format!("{}/v1", place.model.url()), "apiKey": "dummy" } });
    let settings = json!({ "$schema": "https://app.kilo.ai/config.json", "provider": { "stand-in": provider },
                           "model": "stand-in/stand-in", "small_model": "stand-in/stand-in", "autoupdate": false });
    vec![(".config/kilo/kilo.json".to_owned(), settings.to_string())]
}
