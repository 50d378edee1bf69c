//! Qwen Code.

use serde_json::{Value, json};

use super::super::speech::{Call, Speech};
use super::{Keys, Row, Sandbox, Tools, words};
use crate::npm::Pin;

pub const QWEN: Row = Row {
    name: "qwen",
    title: "Qwen Code",
    pins: &[Pin { name: "@qwen-code/qwen-code", version: "0.24.4" }],
    program: "qwen",
    scopes: &["project", "user"],
    speech: Speech::Chat,
    files: |_| vec![(".qwen/settings.json".to_owned(), settings().to_string())],
    environment: |place| {
        vec![
            ("OPENAI_BASE_URL", format!("{}/v1", place.model.url())),
            ("OPENAI_API_KEY", "dummy".to_owned()),
            ("OPENAI_MODEL", "stand-in".to_owned()),
        ]
    },
    once: |_, prompt| words(&["-p", prompt, "--approval-mode", "yolo"]),
    open: |_| words(&["--approval-mode", "yolo"]),
    resume: &["--continue"],
    ends_with_its_turn: false,
    fetches_first: false,
    tools: Tools {
        look: |file| Call::new("read_file", json!({ "file_path": file })),
        shell: |command| {
            Call::new("run_shell_command", json!({ "command": command, "is_background": false, "description": "Mail" }))
        },
        writes: |file| vec![Call::new("write_file", json!({ "file_path": file, "content": "written\n" }))],
        own: |tool, arguments| Call::new(&format!("mcp__postrider__{tool}"), arguments),
    },
    keys: Keys {
        ready: "Type your message",
        dialogs: &[],
        clear: Some("/clear"),
        compact: Some("/compress"),
        quit: &["/quit", "Enter"],
    },
    sandbox: Some(Sandbox {
        files: |_| {
            let mut settings = settings();
            settings["tools"] = json!({ "executionSandbox": { "filesystem": "workspace-write", "network": "closed" } });
            vec![(".qwen/settings.json".to_owned(), settings.to_string())]
        },
        once: |_, prompt| words(&["-p", prompt, "--approval-mode", "yolo"]),
        bears_install: false,
        needs_server: true,
        opening: "by the socket of a server that runs, without `install`: with an MCP server qwen does not start in it",
        setting: "postrider serve",
    }),
    not_offered: &[],
};

/// With a memory of its own the client asks its model on after the turn.
fn settings() -> Value {
    json!({ "security": { "auth": { "selectedType": "openai" } }, "privacy": { "usageStatisticsEnabled": false },
            "general": { "enableAutoUpdate": false }, "memory": { "enableManagedAutoMemory": false } })
}
