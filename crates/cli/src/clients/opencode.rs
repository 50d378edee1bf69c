//! OpenCode. Its hooks are functions of a plugin, which calls ours with the input of Claude Code. A session may have others beside it
//! in one process.

use super::{Clearing, Client, ConfigFile, ConfigPart, Event, InputShape, Sandbox, Signs, patch, reply};

/// The plugin: it calls our hooks, and listens for wake-ups.
pub(super) const PLUGIN: &str = include_str!("opencode/plugin.js");

pub(crate) const OPENCODE: Client = Client {
    name: "opencode",
    title: "OpenCode",
    product: "OpenCode",
    program: "opencode",
    // Its plugin says who calls.
    signs: Signs { session: None, variable: None, members: &[], transcripts: None },
    input: InputShape::USUAL,
    events: &[
        (Event::SessionStart, "session.created"),
        (Event::Prompt, "chat.message"),
        (Event::BeforeTool, "tool.execute.before"),
        (Event::AfterTool, "tool.execute.after"),
        (Event::Stop, "session.idle"),
        (Event::BeforeCompaction, "experimental.session.compacting"),
        (Event::SessionEnd, "session.deleted"),
    ],
    other_events: &[],
    unheard: &[],
    prompts_itself: false,
    clearing: Clearing::TOLD,
    writes: &[
        ("write", "filePath", patch::path),
        ("edit", "filePath", patch::path),
        ("multiedit", "filePath", patch::path),
        ("patch", "patchText", patch::paths),
        ("apply_patch", "patchText", patch::paths),
    ],
    reply: reply::plugin,
    shell_settings: None,
    session_variables: &["POSTRIDER_SESSION"],
    subagent_variable: Some("POSTRIDER_SUBAGENT"),
    shared_shell: None,
    server_tools: &["postrider_"],
    hides_callers: false,
    socket_variables: None,
    // Its plugin does it, which runs a monitor.
    wake: None,
    shares_process: true,
    compacts_silently: false,
    longest_call: Some(60),
    moved_by: "XDG_CONFIG_HOME",
    files: &[
        ConfigFile {
            project: ".opencode/plugins/postrider.js",
            user: ".config/opencode/plugins/postrider.js",
            moved: "opencode/plugins/postrider.js",
            parts: &[ConfigPart::Module(PLUGIN)],
        },
        ConfigFile {
            project: "opencode.json",
            user: ".config/opencode/opencode.json",
            moved: "opencode/opencode.json",
            parts: &[ConfigPart::ServerInOneList],
        },
    ],
    sandbox: Sandbox::NONE,
    hook_timeout: 5,
    names_hooks: false,
    lists_servers: true,
    next_in_project: "Restart opencode in this project. At its first start with a plugin it needs the network once.",
    next_for_user: "Restart opencode. At its first start with a plugin it needs the network once.",
};
