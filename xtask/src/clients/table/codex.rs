//! Codex. All its terminals share one process.

use serde_json::json;

use super::super::speech::{Call, Speech};
use super::super::workplace::Place;
use super::{Keys, Row, Sandbox, Tools, words};
use crate::npm::Pin;

pub const CODEX: Row = Row {
    name: "codex",
    title: "Codex",
    pins: &[Pin { name: "@openai/codex", version: "0.169.0" }],
    program: "codex",
    scopes: &["project", "user"],
    speech: Speech::Responses,
    files,
    environment: |_| vec![("STAND_IN_KEY", "dummy".to_owned())],
    // No person is there to trust the hooks, and its sandbox keeps our program from the mail.
    once: |_, prompt| words(&["exec", TRUST, "-s", "danger-full-access", prompt]),
    // With the flag by which hooks need no trust it does not use the shared process.
    open: |_| words(&["-s", "danger-full-access", "-a", "never"]),
    resume: &["resume", "--last"],
    ends_with_its_turn: false,
    fetches_first: false,
    tools: Tools {
        look: |_| Call::new("exec_command", json!({ "cmd": "echo hello" })),
        shell: |command| Call::new("exec_command", json!({ "cmd": command })),
        writes: |file| {
            let patch = format!("*** Begin Patch\n*** Add File: {}\n+written\n*** End Patch\n", file.display());
            let shell = format!("apply_patch <<'EOF'\n{patch}EOF\n");
            vec![Call::new("apply_patch", json!(patch)), Call::new("exec_command", json!({ "cmd": shell }))]
        },
        own: |tool, arguments| Call::new(&format!("mcp__postrider/{tool}"), arguments),
    },
    keys: Keys {
        ready: "GPT-5.5",
        dialogs: &[("2. Use existing model", &["Down", "Enter"]), ("2. Trust all and continue", &["Down", "Enter"])],
        clear: Some("/clear"),
        compact: Some("/compact"),
        quit: &["C-c", "C-c"],
    },
    sandbox: Some(Sandbox {
        files: |_| Vec::new(),
        once: |_, prompt| words(&["exec", TRUST, "-s", "workspace-write", prompt]),
        bears_install: true,
        needs_server: false,
        opening: "with the home folder of the mail in `sandbox_workspace_write.writable_roots`",
        setting: "sandbox_workspace_write.writable_roots",
    }),
    not_offered: &[],
};

const TRUST: &str = "--dangerously-bypass-hook-trust";

/// In a folder that nobody trusts no hooks of the project run. The model is one that this version gives its patch tool to.
fn files(place: &Place) -> Vec<(String, String)> {
    let (url, repository) = (place.model.url(), place.repository().display().to_string());
    let settings = format!(
        "# My own settings.\nmodel = \"gpt-5.5\"\nmodel_provider = \"stand-in\"\ncheck_for_update_on_startup = false\n\n\
         [model_providers.stand-in]\nname = \"stand-in\"\nbase_url = \"{url}/v1\"\nenv_key = \"STAND_IN_KEY\"\n\n\
         [projects.{repository:?}]\ntrust_level = \"trusted\"\n"
    );
    vec![(".codex/config.toml".to_owned(), settings)]
}
