//! Cline. Its hooks are programs in a folder, one for each event. A refusal would end the whole run, so that writes are never held up
//! there. All its terminals share one process.

use super::{Clearing, Client, ConfigFile, ConfigPart, Event, InputShape, Sandbox, Signs, reply};

pub(crate) const CLINE: Client = Client {
    name: "cline",
    title: "Cline",
    product: "Cline",
    program: "cline",
    signs: Signs { session: None, variable: None, members: &["clineVersion"], transcripts: None },
    input: InputShape {
        session_id: &["sessionContext.rootSessionId", "taskId"],
        cwd: &["workspaceInfo.rootPath"],
        tool_name: &["preToolUse.toolName", "postToolUse.toolName"],
        tool_use_id: &["tool_call.id", "tool_result.id"],
        tool_input: &["preToolUse.parameters", "postToolUse.parameters"],
        // The main agent has an id as well, but none above it.
        agent_id: &["parent_agent_id"],
        ..InputShape::USUAL
    },
    events: &[
        (Event::SessionStart, "TaskStart"),
        (Event::BeforeTool, "PreToolUse"),
        (Event::AfterTool, "PostToolUse"),
        (Event::Stop, "TaskComplete"),
    ],
    other_events: &[],
    unheard: &[Event::SessionStart, Event::BeforeTool, Event::Stop],
    prompts_itself: false,
    clearing: Clearing::TOLD,
    writes: &[],
    reply: reply::modification,
    shell_settings: None,
    session_variables: &[],
    subagent_variable: None,
    shared_shell: None,
    server_tools: &[],
    hides_callers: true,
    socket_variables: None,
    wake: None,
    shares_process: true,
    compacts_silently: true,
    longest_call: None,
    moved_by: "CLINE_DIR",
    files: &[
        ConfigFile::of_user(".cline/hooks/TaskStart", "hooks/TaskStart", &[ConfigPart::Script(Event::SessionStart)]),
        ConfigFile::of_user(".cline/hooks/PreToolUse", "hooks/PreToolUse", &[ConfigPart::Script(Event::BeforeTool)]),
        ConfigFile::of_user(".cline/hooks/PostToolUse", "hooks/PostToolUse", &[ConfigPart::Script(Event::AfterTool)]),
        ConfigFile::of_user(".cline/hooks/TaskComplete", "hooks/TaskComplete", &[ConfigPart::Script(Event::Stop)]),
        ConfigFile::of_user(
            ".cline/data/settings/cline_mcp_settings.json",
            "data/settings/cline_mcp_settings.json",
            &[ConfigPart::ServerInTransport],
        ),
    ],
    sandbox: Sandbox::NONE,
    hook_timeout: 5,
    names_hooks: false,
    lists_servers: false,
    next_in_project: "",
    next_for_user: "Restart cline: sessions that run keep what they had.",
};
