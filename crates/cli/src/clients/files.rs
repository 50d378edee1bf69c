//! The files of a client's configuration: where each is, and what goes into it. Nothing is read or written here.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::Event;

/// A file of a client's configuration, as a path below each folder it may be in, and what goes into it.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    /// Below the project; empty if the client reads no such file there.
    pub project: &'static str,
    /// Below the user's home; empty if the client reads no such file there.
    pub user: &'static str,
    /// Below the folder that [`super::Client::moved_by`] names.
    pub moved: &'static str,
    /// What goes into it.
    pub parts: &'static [ConfigPart],
}

/// A part of what install writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConfigPart {
    /// The hooks, in JSON as Claude Code has it.
    Hooks,
    /// The hooks, each a TOML table `hooks`.
    TomlHooks,
    /// The MCP server, in the JSON object `mcpServers`.
    Server,
    /// The same with the list of tools that may be used.
    ServerWithTools,
    /// The MCP server, in the JSON object `mcp`, with the program and its arguments in one list.
    ServerInOneList,
    /// The MCP server, in `mcpServers`, with program and arguments in an object `transport`.
    ServerInTransport,
    /// The MCP server, in the TOML table `mcp_servers`.
    TomlServer,
    /// A file that is ours alone: the hooks in a JSON list for each event.
    HookLists,
    /// A file that is ours alone: a script that runs the hook of an event.
    Script(Event),
    /// A file that is ours alone: JavaScript, with the command of a hook and that of a monitor put in.
    Module(&'static str),
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

impl ConfigFile {
    /// One that has the same path below the project and below the user's home.
    pub(super) const fn alike(path: &'static str, moved: &'static str, parts: &'static [ConfigPart]) -> Self {
        Self { project: path, user: path, moved, parts }
    }

    /// One that a client reads in the user's home alone.
    pub(super) const fn of_user(user: &'static str, moved: &'static str, parts: &'static [ConfigPart]) -> Self {
        Self { project: "", user, moved, parts }
    }

    /// Where it is, if the client reads it there.
    pub(crate) fn path(&self, scope: Scope, folders: &Folders) -> Option<PathBuf> {
        let (folder, name) = match (scope, &folders.moved) {
            (Scope::Project, _) => (&folders.project, self.project),
            (Scope::User, Some(moved)) => (moved, self.moved),
            (Scope::User, None) => (&folders.home, self.user),
        };
        (!name.is_empty()).then(|| folder.join(name))
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
