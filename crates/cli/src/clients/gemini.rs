//! Gemini CLI. It counts in milliseconds, and nothing that is said before a tool reaches the model.

use super::{Client, ConfigFile, ConfigPart, Event, Sandbox, patch, reply};

pub(crate) const GEMINI: Client = Client {
    name: "gemini",
    title: "Gemini CLI",
    product: "Gemini CLI",
    program: "gemini-cli",
    events: &[
        (Event::SessionStart, "SessionStart"),
        (Event::Prompt, "BeforeAgent"),
        (Event::BeforeTool, "BeforeTool"),
        (Event::AfterTool, "AfterTool"),
        (Event::Stop, "AfterAgent"),
        (Event::BeforeCompaction, "PreCompress"),
        (Event::SessionEnd, "SessionEnd"),
    ],
    writes: &[("write_file", "file_path", patch::path), ("replace", "file_path", patch::path)],
    reply: reply::decision,
    shell_settings: None,
    session_variables: &[],
    subagent_variable: None,
    shared_shell: None,
    socket_variables: None,
    shares_process: false,
    compacts_silently: true,
    moved_by: "GEMINI_CLI_HOME",
    files: &[ConfigFile::alike(
        ".gemini/settings.json",
        ".gemini/settings.json",
        &[ConfigPart::Hooks, ConfigPart::Server],
    )],
    sandbox: Sandbox::GEMINI,
    hook_timeout: 5_000,
    names_hooks: true,
    next_in_project: "Restart gemini in this project, and trust the folder: it reads no settings of one that is \
                      not trusted.",
    next_for_user: "Restart gemini: sessions that run keep what they had.",
};
