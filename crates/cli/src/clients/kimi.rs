//! Kimi Code. It shows the model what is printed at a prompt as it is, and nothing of what is said after a tool or at a stop.

use super::{Clearing, Client, ConfigFile, ConfigPart, Event, InputShape, Signs, patch, reply};

pub(crate) const KIMI: Client = Client {
    name: "kimi",
    title: "Kimi Code",
    product: "Kimi Code",
    program: "kimi-code",
    signs: Signs { session: None, variable: None, members: &["client_type"], transcripts: None },
    input: InputShape { tool_use_id: &["tool_call_id"], ..InputShape::USUAL },
    events: &[
        (Event::SessionStart, "SessionStart"),
        (Event::Prompt, "UserPromptSubmit"),
        (Event::BeforeTool, "PreToolUse"),
        (Event::AfterTool, "PostToolUse"),
        (Event::Stop, "Stop"),
    ],
    other_events: &[],
    unheard: &[Event::SessionStart, Event::AfterTool, Event::Stop],
    prompts_itself: false,
    clearing: Clearing::TOLD,
    writes: &[("Write", "path", patch::path), ("Edit", "path", patch::path)],
    reply: reply::plain_at_prompts,
    shell_settings: None,
    session_variables: &[],
    subagent_variable: None,
    shared_shell: None,
    server_tools: None,
    socket_variables: None,
    shares_process: false,
    compacts_silently: true,
    longest_call: None,
    moved_by: "KIMI_CODE_HOME",
    files: &[
        ConfigFile::of_user(".kimi-code/config.toml", "config.toml", &[ConfigPart::TomlHooks]),
        ConfigFile::of_user(".kimi-code/mcp.json", "mcp.json", &[ConfigPart::Server]),
    ],
    hook_timeout: 5,
    names_hooks: false,
    lists_servers: false,
    next_in_project: "",
    next_for_user: "Restart kimi: sessions that run keep what they had.",
};
