//! Codex. It refuses an answer with a member that it does not know. All its terminals share one process.

use relay::waking::Protocol;

use super::{Clearing, Client, ConfigFile, ConfigPart, Event, InputShape, Sandbox, Signs, patch, reply};

pub(crate) const CODEX: Client = Client {
    name: "codex",
    title: "Codex",
    product: "Codex CLI",
    program: "codex-cli",
    signs: Signs {
        session: None,
        // Of hooks that a plugin brings.
        variable: Some("PLUGIN_ROOT"),
        members: &["turn_id"],
        transcripts: Some(".codex"),
    },
    input: InputShape::USUAL,
    events: &[
        (Event::SessionStart, "SessionStart"),
        (Event::Prompt, "UserPromptSubmit"),
        (Event::BeforeTool, "PreToolUse"),
        (Event::AfterTool, "PostToolUse"),
        (Event::Stop, "Stop"),
        (Event::BeforeCompaction, "PreCompact"),
        (Event::SessionEnd, "SessionEnd"),
        (Event::SubagentStart, "SubagentStart"),
    ],
    other_events: &[],
    unheard: &[],
    prompts_itself: false,
    clearing: Clearing::TOLD,
    writes: &[("apply_patch", "command", patch::paths), ("Bash", "command", patch::paths_at_a_shell)],
    reply: reply::specific,
    shell_settings: None,
    session_variables: &["CODEX_THREAD_ID", "CODEX_SESSION_ID"],
    subagent_variable: Some("CODEX_THREAD_ID"),
    shared_shell: None,
    server_tools: &[],
    hides_callers: false,
    socket_variables: None,
    wake: Some(Protocol::Codex),
    shares_process: true,
    compacts_silently: false,
    // In code mode a script is handed back as running then; a call itself may take 300 seconds.
    longest_call: Some(30),
    moved_by: "CODEX_HOME",
    files: &[
        ConfigFile::alike(".codex/hooks.json", "hooks.json", &[ConfigPart::Hooks]),
        ConfigFile::alike(".codex/config.toml", "config.toml", &[ConfigPart::TomlServer]),
    ],
    sandbox: Sandbox::CODEX,
    hook_timeout: 5,
    names_hooks: false,
    lists_servers: true,
    next_in_project: "Codex runs hooks once they are trusted: start codex in this project, trust the folder, open \
                      /hooks and trust those of postrider.",
    next_for_user: "Codex runs hooks once they are trusted: start codex, open /hooks and trust those of postrider.",
};
