//! Kimi Code. Its terminal was not tried.

use serde_json::json;

use super::super::speech::{Call, Speech};
use super::super::workplace::Place;
use super::{Keys, Row, Tools, words};
use crate::npm::Pin;

pub const KIMI: Row = Row {
    name: "kimi",
    title: "Kimi Code",
    pins: &[Pin { name: "@moonshot-ai/kimi-code", version: "2.1.0" }],
    program: "kimi",
    scopes: &["user"],
    speech: Speech::Chat,
    files,
    environment: |_| Vec::new(),
    once: |_, prompt| words(&["-p", prompt]),
    open: |_| words(&["--auto"]),
    resume: &["--continue"],
    ends_with_its_turn: false,
    fetches_first: false,
    tools: Tools {
        look: |file| Call::new("Read", json!({ "path": file })),
        shell: |command| Call::new("Bash", json!({ "command": command })),
        writes: |file| vec![Call::new("Write", json!({ "path": file, "content": "written\n" }))],
        own: |tool, arguments| Call::new(&format!("mcp__postrider__{tool}"), arguments),
    },
    keys: Keys {
        ready: "context",
        dialogs: &[],
        clear: Some("/clear"),
        compact: Some("/compact"),
        quit: &["C-c", "C-c"],
    },
    sandbox: None,
    not_offered: &[
        ("turn", "what a hook says after a tool does not reach the model"),
        ("stop", "a block at Stop has no effect"),
        ("idle", "Postrider knows no way into an idle session of it"),
    ],
};

fn files(place: &Place) -> Vec<(String, String)> {
    let url = place.model.url();
    let settings = format!(
        "default_model = \"stand-in\"\n\n[providers.stand-in]\ntype = \"openai\"\nbase_url = \"{url}/v1\"\napi_key = \"dummy\"\n\n\
         [models.stand-in]\nprovider = \"stand-in\"\nmodel = \"stand-in\"\nmax_context_size = 100000\n"
    );
    vec![(".kimi-code/config.toml".to_owned(), settings)]
}
