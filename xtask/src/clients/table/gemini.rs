//! Gemini CLI.

use serde_json::{Value, json};

use super::super::speech::{Call, Speech};
use super::{Keys, Row, Sandbox, Tools, words};
use crate::npm::Pin;

pub const GEMINI: Row = Row {
    name: "gemini",
    title: "Gemini CLI",
    pins: &[Pin { name: "@google/gemini-cli", version: "0.61.0" }],
    program: "gemini",
    scopes: &["project", "user"],
    speech: Speech::Google,
    files: |_| vec![(".gemini/settings.json".to_owned(), settings().to_string())],
    environment: |place| {
        vec![
            ("GOOGLE_GEMINI_BASE_URL", place.model.url()),
            ("GEMINI_API_KEY", "dummy".to_owned()),
            ("GEMINI_CLI_TRUST_WORKSPACE", "true".to_owned()),
        ]
    },
    once: |_, prompt| [words(&["-p", prompt]), words(ALLOWED)].concat(),
    open: |_| words(ALLOWED),
    resume: &["--resume", "latest"],
    ends_with_its_turn: false,
    fetches_first: false,
    tools: Tools {
        look: |file| Call::new("read_file", json!({ "file_path": file })),
        shell: |command| Call::new("run_shell_command", json!({ "command": command })),
        writes: |file| vec![Call::new("write_file", json!({ "file_path": file, "content": "written\n" }))],
        own: |tool, arguments| Call::new(&format!("mcp_postrider_{tool}"), arguments),
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
            settings["security"]["toolSandboxing"] = true.into();
            vec![
                (".gemini/settings.json".to_owned(), settings.to_string()),
                (".gemini/policies/lab.toml".to_owned(), POLICY.to_owned()),
            ]
        },
        // The mode in which nothing is asked opens the network.
        once: |_, prompt| words(&["-p", prompt, "-m", MODEL]),
        bears_install: true,
        needs_server: true,
        opening: "by the socket of a server that runs",
        setting: "postrider serve",
    }),
    not_offered: &[(
        "idle",
        "nothing listens in an idle session; a background shell of its own can wake it, with two settings",
    )],
};

/// A shell is asked nothing.
const POLICY: &str =
    "[[rule]]\ntoolName = \"run_shell_command\"\ndecision = \"allow\"\npriority = 900\nallowRedirection = true\n";
const MODEL: &str = "gemini-2.5-pro";
const ALLOWED: &[&str] = &["--approval-mode", "yolo", "-m", MODEL];

/// Without the type of login the client takes another address for another way to log in.
fn settings() -> Value {
    let key = json!({ "auth": { "selectedType": "gemini-api-key" } });
    json!({ "security": key, "privacy": { "usageStatisticsEnabled": false },
            "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false } })
}
