//! Gemini CLI. It counts in milliseconds, and nothing that is said before a tool reaches the model.

use super::{Clearing, Client, ConfigFile, ConfigPart, Event, InputShape, Signs, patch, reply};

pub(crate) const GEMINI: Client = Client {
    name: "gemini",
    title: "Gemini CLI",
    product: "Gemini CLI",
    program: "gemini-cli",
    signs: Signs {
        session: Some("GEMINI_SESSION_ID"),
        variable: Some("GEMINI_SESSION_ID"),
        members: &[],
        transcripts: Some(".gemini"),
    },
    input: InputShape::USUAL,
    events: &[
        (Event::SessionStart, "SessionStart"),
        (Event::Prompt, "BeforeAgent"),
        (Event::BeforeTool, "BeforeTool"),
        (Event::AfterTool, "AfterTool"),
        (Event::Stop, "AfterAgent"),
        (Event::BeforeCompaction, "PreCompress"),
        (Event::SessionEnd, "SessionEnd"),
    ],
    other_events: &[],
    unheard: &[],
    prompts_itself: false,
    clearing: Clearing::TOLD,
    writes: &[("write_file", "file_path", patch::path), ("replace", "file_path", patch::path)],
    reply: reply::decision,
    shell_settings: None,
    session_variables: &[],
    subagent_variable: None,
    shared_shell: None,
    server_tools: None,
    socket_variables: None,
    shares_process: false,
    compacts_silently: true,
    longest_call: Some(600),
    moved_by: "GEMINI_CLI_HOME",
    files: &[ConfigFile::alike(
        ".gemini/settings.json",
        ".gemini/settings.json",
        &[ConfigPart::Hooks, ConfigPart::Server],
    )],
    hook_timeout: 5_000,
    names_hooks: true,
    lists_servers: true,
    next_in_project: "Restart gemini in this project, and trust the folder: it reads no settings of one that is \
                      not trusted.",
    next_for_user: "Restart gemini: sessions that run keep what they had.",
};
