//! GitHub Copilot CLI.

use serde_json::json;

use super::super::speech::{Call, Speech};
use super::{Keys, Row, Tools, words};
use crate::npm::Pin;

pub const COPILOT: Row = Row {
    name: "copilot",
    title: "GitHub Copilot CLI",
    pins: &[Pin { name: "@github/copilot", version: "1.0.102" }],
    program: "copilot",
    scopes: &["user", "project"],
    speech: Speech::Chat,
    files: |place| {
        let settings = json!({ "trusted_folders": [place.repository()], "banner": "never" });
        vec![(".copilot/config.json".to_owned(), settings.to_string())]
    },
    environment: |place| {
        vec![
            ("COPILOT_PROVIDER_BASE_URL", format!("{}/v1", place.model.url())),
            ("COPILOT_MODEL", "stand-in".to_owned()),
            ("COPILOT_OFFLINE", "true".to_owned()),
        ]
    },
    once: |_, prompt| words(&["-p", prompt, "--allow-all-tools"]),
    // Without it no extension is loaded, and nothing wakes it.
    open: |_| words(&["--allow-all", "--experimental"]),
    resume: &["--continue"],
    ends_with_its_turn: false,
    fetches_first: false,
    tools: Tools {
        look: |file| Call::new("view", json!({ "path": file })),
        shell: |command| Call::new("bash", json!({ "command": command, "description": "Mail" })),
        writes: |file| vec![Call::new("create", json!({ "path": file, "file_text": "written\n" }))],
        own: |tool, arguments| Call::new(&format!("postrider-{tool}"), arguments),
    },
    keys: Keys {
        ready: "? help",
        dialogs: &[("trust the files in this folder", &["2"])],
        clear: Some("/clear"),
        compact: Some("/compact"),
        quit: &["/exit", "Enter"],
    },
    sandbox: None,
    not_offered: &[],
};
