//! Claude Code.

use relay::waking::Protocol;

use super::{Clearing, Client, ConfigFile, ConfigPart, Event, InputShape, Sandbox, Signs, patch, reply};

pub(crate) const CLAUDE: Client = Client {
    name: "claude",
    title: "Claude Code",
    product: "Claude Code",
    program: "claude-code",
    signs: Signs {
        session: Some("CLAUDE_CODE_SESSION_ID"),
        variable: Some("CLAUDECODE"),
        members: &[],
        transcripts: Some(".claude"),
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
    writes: &[
        ("Edit", "file_path", patch::path),
        ("Write", "file_path", patch::path),
        ("MultiEdit", "file_path", patch::path),
        ("NotebookEdit", "notebook_path", patch::path),
    ],
    reply: reply::specific,
    shell_settings: Some("CLAUDE_ENV_FILE"),
    session_variables: &["CLAUDE_CODE_SESSION_ID"],
    subagent_variable: None,
    shared_shell: Some("Bash"),
    server_tools: &[],
    hides_callers: false,
    socket_variables: Some(["CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN"]),
    wake: Some(Protocol::Claude),
    shares_process: false,
    compacts_silently: false,
    longest_call: Some(120),
    moved_by: "CLAUDE_CONFIG_DIR",
    files: &[
        ConfigFile::alike(".claude/settings.json", "settings.json", &[ConfigPart::Hooks]),
        // It lies beside the folder, and in it once the folder is moved.
        ConfigFile { project: ".mcp.json", user: ".claude.json", moved: ".claude.json", parts: &[ConfigPart::Server] },
    ],
    sandbox: Sandbox::CLAUDE,
    hook_timeout: 5,
    names_hooks: false,
    lists_servers: true,
    next_in_project: "Start claude in this project. It asks whether it may use the server 'postrider': say yes.",
    next_for_user: "Restart claude: sessions that run keep what they had.",
};
