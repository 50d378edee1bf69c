//! Qwen Code: the hooks of Claude Code with the tools of Gemini CLI. A prompt without text comes after every call of a tool.

use relay::waking::Protocol;

use super::{Clearing, Client, ConfigFile, ConfigPart, Event, InputShape, Sandbox, Signs, patch, reply};

pub(crate) const QWEN: Client = Client {
    name: "qwen",
    title: "Qwen Code",
    product: "Qwen Code",
    program: "qwen-code",
    signs: Signs {
        session: Some("QWEN_CODE_SESSION_ID"),
        variable: Some("QWEN_CODE_SESSION_ID"),
        members: &[],
        transcripts: Some(".qwen"),
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
    prompts_itself: true,
    clearing: Clearing::TOLD,
    writes: &[("write_file", "file_path", patch::path), ("edit", "file_path", patch::path)],
    reply: reply::specific,
    shell_settings: None,
    session_variables: &["QWEN_CODE_SESSION_ID"],
    subagent_variable: Some("QWEN_CODE_AGENT_ID"),
    shared_shell: None,
    server_tools: &["mcp__postrider__"],
    hides_callers: false,
    socket_variables: Some(["QWEN_CODE_MESSAGING_SOCKET", "QWEN_CODE_MESSAGING_TOKEN"]),
    wake: Some(Protocol::Qwen),
    shares_process: false,
    compacts_silently: true,
    longest_call: None,
    moved_by: "QWEN_HOME",
    files: &[ConfigFile::alike(".qwen/settings.json", "settings.json", &[ConfigPart::Hooks, ConfigPart::Server])],
    sandbox: Sandbox::QWEN,
    hook_timeout: 5,
    names_hooks: false,
    lists_servers: true,
    next_in_project: "Restart qwen in this project, and trust the folder if it asks.",
    next_for_user: "Restart qwen: sessions that run keep what they had.",
};
