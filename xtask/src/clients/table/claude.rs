//! Claude Code.

use serde_json::json;

use super::super::speech::{Call, Speech};
use super::super::workplace::Place;
use super::{Keys, Row, Sandbox, Tools, words};
use crate::npm::Pin;

pub const CLAUDE: Row = Row {
    name: "claude",
    title: "Claude Code",
    pins: &[Pin { name: "@anthropic-ai/claude-code", version: "2.1.328" }],
    program: "claude",
    scopes: &["project", "user"],
    speech: Speech::Messages,
    files,
    environment: |place| {
        vec![
            ("ANTHROPIC_BASE_URL", place.model.url()),
            ("ANTHROPIC_API_KEY", KEY.to_owned()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
            ("DISABLE_AUTOUPDATER", "1".to_owned()),
        ]
    },
    once: |_, prompt| [words(&["-p", prompt]), words(ALLOWED)].concat(),
    open: |_| words(ALLOWED),
    resume: &["--continue"],
    ends_with_its_turn: false,
    fetches_first: false,
    tools: Tools {
        look: |file| Call::new("Read", json!({ "file_path": file })),
        shell: |command| Call::new("Bash", json!({ "command": command, "description": "Mail" })),
        writes: |file| vec![Call::new("Write", json!({ "file_path": file, "content": "written\n" }))],
        own: |tool, arguments| Call::new(&format!("mcp__postrider__{tool}"), arguments),
    },
    keys: Keys {
        ready: "shift+tab",
        dialogs: &[("trust this folder", &["Enter"]), ("Detected a custom API key", &["Up", "Enter"])],
        clear: Some("/clear"),
        compact: Some("/compact"),
        quit: &["C-c", "C-c"],
    },
    sandbox: Some(Sandbox {
        files: |_| {
            let settings = json!({ "enableAllProjectMcpServers": true, "sandbox": { "enabled": true } });
            vec![(".claude/settings.json".to_owned(), settings.to_string())]
        },
        once: |_, prompt| [words(&["-p", prompt]), words(ALLOWED)].concat(),
        bears_install: true,
        needs_server: false,
        opening: "with `~/.postrider` in `sandbox.filesystem.allowWrite`",
        setting: "sandbox.filesystem.allowWrite",
    }),
    not_offered: &[],
};

const KEY: &str = "dummy";
const ALLOWED: &[&str] = &["--permission-mode", "acceptEdits", "--allowedTools", "Bash,mcp__postrider"];

/// The questions of a first start are answered, and the server of the project is approved.
fn files(place: &Place) -> Vec<(String, String)> {
    let trusted = json!({ place.repository().display().to_string(): { "hasTrustDialogAccepted": true } });
    let state = json!({ "hasCompletedOnboarding": true, "theme": "dark", "projects": trusted,
                        "customApiKeyResponses": { "approved": [KEY], "rejected": [] } });
    let settings = json!({ "enableAllProjectMcpServers": true });
    vec![(".claude.json".to_owned(), state.to_string()), (".claude/settings.json".to_owned(), settings.to_string())]
}
