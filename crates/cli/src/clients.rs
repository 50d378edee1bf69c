//! The coding agents that Postrider knows: one row each, and all that is known of them.
//!
//! `hook`, `install`, `uninstall`, their help texts and their tests read this table. A new client is a file with its
//! row and recorded examples of what it says (`tests/hooks/NAME`). What is done at an event is for `hook`, how a file
//! is edited for `install`.

mod claude;
mod cline;
mod codex;
mod copilot;
mod events;
mod files;
mod gemini;
mod input;
mod kilo;
mod kimi;
mod opencode;
mod patch;
mod qwen;
mod reply;
mod sandbox;
mod signs;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use relay::waking::Protocol;

use crate::named_calls::NAMES;

pub(crate) use claude::CLAUDE;
pub(crate) use cline::CLINE;
pub(crate) use codex::CODEX;
pub(crate) use copilot::COPILOT;
pub(crate) use events::{Event, list_of_events};
pub(crate) use files::{ConfigFile, ConfigPart, Folders, Scope, project_of};
pub(crate) use gemini::GEMINI;
pub(crate) use input::{InputShape, Places};
pub(crate) use kilo::KILO;
pub(crate) use kimi::KIMI;
pub(crate) use opencode::OPENCODE;
pub(crate) use qwen::QWEN;
pub(crate) use reply::HookReply;
pub(crate) use sandbox::{Opening, Sandbox};
pub(crate) use signs::{HookCall, Signs, TRANSCRIPT};

/// Every client, in the order in which they are listed. Whoever imitates another comes after it.
pub(crate) const ALL: [&Client; 9] = [&CLAUDE, &CODEX, &GEMINI, &QWEN, &OPENCODE, &COPILOT, &KILO, &CLINE, &KIMI];

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
    /// What tells that it calls a hook.
    pub signs: Signs,
    /// Where its input has what we read.
    pub input: InputShape,
    /// The events that it has, and what it calls them.
    pub events: &'static [(Event, &'static str)],
    /// What it calls them where it runs the hooks of another client.
    pub other_events: &'static [(Event, &'static str)],
    /// The events at which nothing that is said reaches the model.
    pub unheard: &'static [Event],
    /// Whether a prompt without text also comes after each call of a tool.
    pub prompts_itself: bool,
    /// What it says of the end and the start of a session when its conversation was cleared.
    pub clearing: Clearing,
    /// The tools that write files.
    pub writes: &'static [WritingTool],
    /// What we say of an event, as the client reads it: one line, but for a client that shows the model all of it.
    pub reply: fn(&HookReply, &'static str) -> String,
    /// The environment variable that names a file of settings for the shells of a session.
    pub shell_settings: Option<&'static str>,
    /// The environment variables that hold the session's id in its shells.
    pub session_variables: &'static [&'static str],
    /// The environment variable that holds, in the shells of an agent below the main one, that agent's own id.
    pub subagent_variable: Option<&'static str>,
    /// The tool that runs a shell, where the shells of agents below the main one cannot be told from its own.
    pub shared_shell: Option<&'static str>,
    /// How the names of our tools begin, where a call of one does not tell our server which agent makes it.
    pub server_tools: &'static [&'static str],
    /// Whether an agent below the main one calls our tools and uses shells just as that one does, and no hook can refuse it: then no
    /// name is filled in.
    pub hides_callers: bool,
    /// The environment variables that hold the session's socket for messages, and the proof for it.
    pub socket_variables: Option<[&'static str; 2]>,
    /// How an idle session of it is woken from outside; none if only somebody who reads our lines can do that, or nobody.
    pub wake: Option<Protocol>,
    /// Whether several sessions share one process, and so the environment of the first.
    pub shares_process: bool,
    /// Whether no start of a session follows a compaction, so that the next prompt tells where the agent stood, and the event before
    /// it may also come when nothing is compacted.
    pub compacts_silently: bool,
    /// After how many seconds it gives up a call of a tool or hands it back unfinished, where that is known.
    pub longest_call: Option<u64>,
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
    /// Whether `mcp list` of its program shows the servers.
    pub lists_servers: bool,
    /// What a person does after an install for the project.
    pub next_in_project: &'static str,
    /// What a person does after an install for the user.
    pub next_for_user: &'static str,
}

/// What a client says when a conversation is cleared, which may go on under another id.
#[derive(Debug)]
pub(crate) struct Clearing {
    /// Why the session ends. Where leaving has the same reason, its process tells that it ended.
    pub reason: &'static str,
    /// How the next one begins.
    pub source: &'static str,
}

impl Clearing {
    const TOLD: Self = Self { reason: "clear", source: "clear" };
}

/// A tool that writes files: its name, the member of its input that says which, and how that is read.
type WritingTool = (&'static str, &'static str, fn(&str) -> Vec<String>);

/// The client of a name.
pub(crate) fn of_name(name: &str) -> Option<&'static Client> {
    ALL.into_iter().find(|client| client.name == name)
}

/// Reads the name of a client on a command line; `described` is what the help says of each.
pub(crate) fn parser(described: fn(&Client) -> &'static str) -> impl TypedValueParser<Value = &'static Client> {
    let names = ALL.iter().map(move |client| PossibleValue::new(client.name).help(described(client)));
    PossibleValuesParser::new(names).map(|name| of_name(&name).expect("only the names of clients are taken"))
}

/// The members of an input that matter to some client.
pub(crate) fn input_members() -> impl Iterator<Item = &'static str> {
    let first = |place: &'static str| place.split('.').next().unwrap_or(place);
    let of_shapes = ALL.iter().flat_map(|client| client.input.places()).map(first);
    of_shapes.chain(ALL.iter().flat_map(|client| client.signs.members).copied()).chain(TRANSCRIPT)
}

/// The members of a tool's input that say for some client which files are written, or who calls a tool of ours.
pub(crate) fn tool_members() -> impl Iterator<Item = &'static str> {
    ALL.iter().flat_map(|client| client.writes).map(|(_, member, _)| *member).chain(NAMES)
}

impl Client {
    /// The event that it calls `name`.
    pub(crate) fn event(&self, name: &str) -> Option<Event> {
        self.called(name).map(|(event, _)| event)
    }

    /// The event that it calls `name`, with that name.
    pub(crate) fn called(&self, name: &str) -> Option<(Event, &'static str)> {
        self.events.iter().chain(self.other_events).find(|(_, known)| *known == name).copied()
    }

    /// Whether what is said at an event reaches the model.
    pub(crate) fn hears(&self, event: Event) -> bool {
        !self.unheard.contains(&event)
    }

    /// Whether a session of it ends without a word, in a process that goes on.
    pub(crate) fn ends_unseen(&self) -> bool {
        self.shares_process && self.event_name(Event::SessionEnd).is_empty()
    }

    /// What it calls an event; empty if it has no such event.
    pub(crate) fn event_name(&self, event: Event) -> &'static str {
        self.events.iter().find(|(known, _)| *known == event).map_or("", |(_, name)| name)
    }

    /// The files that a call of a tool writes, as the client names them; `input` gives a member of the tool's input.
    pub(crate) fn written(&self, tool: &str, input: impl Fn(&str) -> String) -> Vec<String> {
        let writes = self.writes.iter().filter(|(name, ..)| *name == tool);
        writes.flat_map(|(_, member, files)| files(&input(member))).collect()
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
        let check = match self.lists_servers {
            true => format!("Check with `{} mcp list` and `postrider doctor`.", self.name),
            false => "Check with `postrider doctor`.".to_owned(),
        };
        let share = "Commit the files, so that everybody who works here has mail. Whoever has no postrider on the PATH sees \
                     their client complain of hooks that fail, and works on.";
        match scope {
            Scope::Project => vec![self.next_in_project.to_owned(), check, share.to_owned()],
            Scope::User => vec![self.next_for_user.to_owned(), check],
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
