//! The coding agents that Postrider knows: one row each, and all that is known of them.
//!
//! `hook`, `install`, `uninstall`, their help texts and their tests read this table. A new client is a file with its
//! row and recorded examples of what it says (`tests/hooks/NAME`). What is done at an event is for `hook`, how a file
//! is edited for `install`.

mod claude;
mod codex;
mod gemini;
mod patch;
mod reply;
mod sandbox;

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde_json::Value;

pub(crate) use claude::CLAUDE;
pub(crate) use codex::CODEX;
pub(crate) use gemini::GEMINI;
pub(crate) use reply::HookReply;
pub(crate) use sandbox::{Opening, Sandbox};

/// Every client, in the order in which they are listed.
pub(crate) const ALL: [&Client; 3] = [&CLAUDE, &CODEX, &GEMINI];

/// A program that runs an agent, with hooks and MCP servers beside it.
#[derive(Debug)]
pub(crate) struct Client {
    /// What it is called on our command line, and on its own.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// What it is called in the help of `hook`.
    pub product: &'static str,
    /// The program that an agent is registered with.
    pub program: &'static str,
    /// The events that it has, and what it calls them.
    pub events: &'static [(Event, &'static str)],
    /// The tools that write files.
    pub writes: &'static [WritingTool],
    /// What we say of an event, in the JSON that the client accepts.
    pub reply: fn(&HookReply, &'static str) -> Value,
    /// The environment variable that names a file of settings for the shells of a session.
    pub shell_settings: Option<&'static str>,
    /// The environment variables that hold the session's id in its shells.
    pub session_variables: &'static [&'static str],
    /// The environment variable that holds, in the shells of an agent below the main one, that agent's own id.
    pub subagent_variable: Option<&'static str>,
    /// The tool that runs a shell, where the shells of agents below the main one cannot be told from its own.
    pub shared_shell: Option<&'static str>,
    /// The environment variables that hold the session's socket for messages, and the proof for it.
    pub socket_variables: Option<[&'static str; 2]>,
    /// Whether several sessions share one process, and so the environment of the first.
    pub shares_process: bool,
    /// Whether no event follows a compaction, and the one before it also comes when nothing is compacted.
    pub compacts_silently: bool,
    /// The environment variable that moves its own folder.
    pub moved_by: &'static str,
    /// The files of its configuration.
    pub files: &'static [ConfigFile],
    /// The sandbox of its shells.
    pub sandbox: Sandbox,
    /// How long a hook may take, in the unit that the client counts in.
    pub hook_timeout: u64,
    /// Whether the entry of a hook has a name.
    pub names_hooks: bool,
    /// What a person does after an install for the project.
    pub next_in_project: &'static str,
    /// What a person does after an install for the user.
    pub next_for_user: &'static str,
}

/// A moment in the life of an agent at which its client asks us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A session begins, or goes on after it was cleared or put together.
    SessionStart,
    /// The user said something, and the model has not seen it yet.
    Prompt,
    /// A tool is about to be called.
    BeforeTool,
    /// A tool was called.
    AfterTool,
    /// The agent is done with what it was told to do.
    Stop,
    /// The conversation is about to be compacted.
    BeforeCompaction,
    /// The session ends.
    SessionEnd,
    /// An agent below the main one begins.
    SubagentStart,
}

/// Every event, and what a hook does then.
const EVENTS: [(Event, &str); 8] = [
    (Event::SessionStart, "registers the agent, tells who it is and what waits"),
    (Event::Prompt, "tells new mail, once"),
    (Event::BeforeTool, "refuses a write to what another agent has reserved"),
    (Event::AfterTool, "tells new mail, once"),
    (Event::Stop, "asks to handle urgent mail first, once for each message"),
    (Event::BeforeCompaction, "keeps where the agent stands, to tell it when it goes on"),
    (Event::SessionEnd, "tells others that the agent is gone, and gives back what it held exclusively"),
    (Event::SubagentStart, "tells a sub-agent whose it is, and its own name"),
];

/// A tool that writes files: its name, the member of its input that says which, and how that is read.
type WritingTool = (&'static str, &'static str, fn(&str) -> Vec<String>);

/// A file of a client's configuration, as a path below each folder it may be in, and what goes into it.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    /// Below the project.
    pub project: &'static str,
    /// Below the user's home.
    pub user: &'static str,
    /// Below the folder that [`Client::moved_by`] names.
    pub moved: &'static str,
    /// What goes into it.
    pub parts: &'static [ConfigPart],
}

/// A part of what install writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConfigPart {
    Hooks,
    /// The MCP server, in the JSON object `mcpServers`.
    Server,
    /// The MCP server, in the TOML table `mcp_servers`.
    TomlServer,
}

/// Whose configuration is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// Of the project: files in its folder, for everybody who works on it
    Project,
    /// Of the user: files in the home folder, for every project
    User,
}

/// The folders that configurations are in.
#[derive(Debug)]
pub(crate) struct Folders {
    pub project: PathBuf,
    /// The user's home.
    pub home: PathBuf,
    /// Where the user moved the client's own folder, if so.
    pub moved: Option<PathBuf>,
}

/// Reads the name of a client on a command line; `described` is what the help says of each.
pub(crate) fn parser(described: fn(&Client) -> &'static str) -> impl TypedValueParser<Value = &'static Client> {
    let names = ALL.iter().map(move |client| PossibleValue::new(client.name).help(described(client)));
    PossibleValuesParser::new(names)
        .map(|name| *ALL.iter().find(|client| client.name == name).expect("only the names of clients are taken"))
}

/// The events as a table for people: a column for each client, and what is done then.
pub(crate) fn table_of_events() -> String {
    let head = (ALL.map(|client| client.name), "");
    let rows = EVENTS.map(|(event, does)| (ALL.map(|client| client.event_name(event)), does));
    let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|(names, _)| names[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..ALL.len()).map(width).collect();
    let line = |(names, does): &([&str; ALL.len()], &str)| {
        let cells: String = names.iter().zip(&widths).map(|(name, width)| format!("  {name:<width$}")).collect();
        format!("{cells}   {does}").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The members of a tool's input that say for some client which files are written.
pub(crate) fn tool_members() -> impl Iterator<Item = &'static str> {
    ALL.iter().flat_map(|client| client.writes).map(|(_, member, _)| *member)
}

impl Client {
    /// The event that it calls `name`.
    pub(crate) fn event(&self, name: &str) -> Option<Event> {
        self.events.iter().find(|(_, known)| *known == name).map(|(event, _)| *event)
    }

    /// What it calls an event; empty if it has no such event.
    pub(crate) fn event_name(&self, event: Event) -> &'static str {
        self.events.iter().find(|(known, _)| *known == event).map_or("", |(_, name)| name)
    }

    /// The files that a call of a tool writes, as the client names them; `input` gives a member of the tool's input.
    pub(crate) fn written(&self, tool: &str, input: impl Fn(&str) -> String) -> Vec<String> {
        let writes = self.writes.iter().find(|(name, ..)| *name == tool);
        writes.map_or_else(Vec::new, |(_, member, files)| files(&input(member)))
    }

    /// The folders that its configuration is in, seen from here; none without a current folder or a home.
    pub(crate) fn folders_here(&self) -> Option<Folders> {
        let (here, home) = (std::env::current_dir().ok()?, std::env::home_dir()?);
        let moved = std::env::var_os(self.moved_by).filter(|moved| !moved.is_empty());
        let moved = moved.and_then(|moved| std::path::absolute(moved).ok());
        Some(Folders { project: project_of(&here), home, moved })
    }

    /// What a person does after install.
    pub(crate) fn next_steps(&self, scope: Scope) -> Vec<String> {
        let check = format!("Check with `{} mcp list` and `postrider doctor`.", self.name);
        let share = "Commit the files, so that everybody who works here has mail. Whoever has no postrider on the PATH sees \
                     their client complain of hooks that fail, and works on.";
        match scope {
            Scope::Project => vec![self.next_in_project.to_owned(), check, share.to_owned()],
            Scope::User => vec![self.next_for_user.to_owned(), check],
        }
    }
}

impl ConfigFile {
    /// One that has the same path below the project and below the user's home.
    const fn alike(path: &'static str, moved: &'static str, parts: &'static [ConfigPart]) -> Self {
        Self { project: path, user: path, moved, parts }
    }

    /// Where it is.
    pub(crate) fn path(&self, scope: Scope, folders: &Folders) -> PathBuf {
        match (scope, &folders.moved) {
            (Scope::Project, _) => folders.project.join(self.project),
            (Scope::User, Some(moved)) => moved.join(self.moved),
            (Scope::User, None) => folders.home.join(self.user),
        }
    }
}

impl Scope {
    /// What it is called in a command.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
        }
    }
}

/// The folder of the repository that `here` is in, else `here` itself.
///
/// A worktree counts as one of its own, though its mail is that of the main one: clients read the files where they run.
pub(crate) fn project_of(here: &Path) -> PathBuf {
    // In a worktree `.git` is a file.
    here.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(here).to_owned()
}

#[cfg(test)]
pub(crate) mod tests;
