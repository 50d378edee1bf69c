//! Claude Code.

use super::{Client, ConfigFile, ConfigPart, Event, WrittenFiles, reply};

pub(crate) const CLAUDE: Client = Client {
    name: "claude",
    title: "Claude Code",
    product: "Claude Code",
    program: "claude-code",
    events: &[
        (Event::SessionStart, "SessionStart"),
        (Event::Prompt, "UserPromptSubmit"),
        (Event::BeforeTool, "PreToolUse"),
        (Event::AfterTool, "PostToolUse"),
        (Event::Stop, "Stop"),
        (Event::SessionEnd, "SessionEnd"),
    ],
    writes: &[
        ("Edit", WrittenFiles::Path("file_path")),
        ("Write", WrittenFiles::Path("file_path")),
        ("MultiEdit", WrittenFiles::Path("file_path")),
        ("NotebookEdit", WrittenFiles::Path("notebook_path")),
    ],
    reply: reply::specific,
    shell_settings: Some("CLAUDE_ENV_FILE"),
    moved_by: "CLAUDE_CONFIG_DIR",
    files: &[
        ConfigFile {
            project: ".claude/settings.json",
            user: ".claude/settings.json",
            moved: "settings.json",
            parts: &[ConfigPart::Hooks],
        },
        // It lies beside the folder, and in it once the folder is moved.
        ConfigFile { project: ".mcp.json", user: ".claude.json", moved: ".claude.json", parts: &[ConfigPart::Server] },
    ],
    hook_timeout: 5,
    names_hooks: false,
    next_in_project: "Start claude in this project. It asks whether it may use the server 'postrider': say yes.",
    next_for_user: "Start claude anew: sessions that run keep what they had.",
};
