//! GitHub Copilot CLI. It runs hooks of its own kind, and those of Claude Code with other answers. `/clear` ends a session as leaving
//! does, and begins the next one as a start does: that a session ended is seen by its process.

use super::{Clearing, Client, ConfigFile, ConfigPart, Event, InputShape, Sandbox, Signs, patch, reply};

pub(crate) const COPILOT: Client = Client {
    name: "copilot",
    title: "GitHub Copilot CLI",
    product: "GitHub Copilot CLI",
    program: "copilot-cli",
    signs: Signs {
        session: None,
        variable: Some("COPILOT_CLI"),
        members: &["sessionId", "initial_prompt"],
        transcripts: Some(".copilot"),
    },
    input: InputShape {
        session_id: &["sessionId", "session_id"],
        parent: &["parentAgentId", "parent_agent_id"],
        tool_name: &["toolName", "tool_name"],
        tool_input: &["toolArgs", "tool_input"],
        agent_id: &["agentId", "agent_id"],
        agent_type: &["agentType", "agent_type"],
        ..InputShape::USUAL
    },
    events: &[
        (Event::SessionStart, "sessionStart"),
        (Event::Prompt, "userPromptSubmitted"),
        (Event::BeforeTool, "preToolUse"),
        (Event::AfterTool, "postToolUse"),
        (Event::Stop, "agentStop"),
        (Event::BeforeCompaction, "preCompact"),
        (Event::SessionEnd, "sessionEnd"),
        (Event::SubagentStart, "subagentStart"),
    ],
    other_events: &[
        (Event::SessionStart, "SessionStart"),
        (Event::Prompt, "UserPromptSubmit"),
        (Event::BeforeTool, "PreToolUse"),
        (Event::AfterTool, "PostToolUse"),
        (Event::Stop, "Stop"),
        (Event::BeforeCompaction, "PreCompact"),
        (Event::SessionEnd, "SessionEnd"),
        (Event::SubagentStart, "SubagentStart"),
    ],
    unheard: &[],
    prompts_itself: false,
    clearing: Clearing { reason: "user_exit", source: "new" },
    writes: &[
        ("create", "path", patch::path),
        ("edit", "path", patch::path),
        // As it calls them in the hooks of Claude Code.
        ("Write", "path", patch::path),
        ("Edit", "path", patch::path),
    ],
    reply: reply::topmost,
    shell_settings: None,
    session_variables: &["COPILOT_AGENT_SESSION_ID"],
    // In the shell of an agent below the main one it is an id that no hook names.
    subagent_variable: Some("COPILOT_AGENT_SESSION_ID"),
    shared_shell: None,
    // The second where it runs the hooks of Claude Code.
    server_tools: &["postrider-", "mcp__postrider__"],
    hides_callers: false,
    socket_variables: None,
    wake: None,
    shares_process: false,
    compacts_silently: true,
    longest_call: None,
    moved_by: "COPILOT_HOME",
    files: &[
        ConfigFile {
            project: ".github/hooks/postrider.json",
            user: ".copilot/hooks/postrider.json",
            moved: "hooks/postrider.json",
            parts: &[ConfigPart::HookLists],
        },
        ConfigFile::of_user(".copilot/mcp-config.json", "mcp-config.json", &[ConfigPart::ServerWithTools]),
        ConfigFile::of_user(
            ".copilot/extensions/postrider/extension.mjs",
            "extensions/postrider/extension.mjs",
            &[ConfigPart::Module(include_str!("copilot/extension.mjs"))],
        ),
    ],
    sandbox: Sandbox::NONE,
    hook_timeout: 5,
    names_hooks: false,
    lists_servers: true,
    next_in_project: "Restart copilot in this project. It reads MCP servers of the user alone: run `postrider install copilot \
                      --scope user` for the tools.",
    next_for_user: "Restart copilot: sessions that run keep what they had. With --experimental it is woken by mail.",
};
