//! The clients that mail can be installed for: which files they read, which events they tell of, what to do next.
//!
//! Facts about programs of others, each in one place. How the files are changed is for `entries` and `toml`.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::entries::{self, Hooks, SERVER, Server};
use super::program::Program;
use super::{Fault, toml};

/// A coding agent that runs hooks and MCP servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Client {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
    /// Gemini CLI
    Gemini,
}

/// Whose configuration is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scope {
    /// Of the project: files in its folder, for everybody who works on it
    Project,
    /// Of the user: files in the home folder, for every project
    User,
}

/// A part of what install writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The hooks.
    Hooks,
    /// The MCP server, in JSON.
    Server,
    /// The MCP server, in TOML.
    TomlServer,
}

/// A file of a client's configuration, and what goes into it.
#[derive(Debug)]
pub struct ConfigFile {
    /// Where it is.
    pub path: PathBuf,
    /// What goes into it.
    pub parts: &'static [Part],
}

/// The folders that configurations are in.
#[derive(Debug)]
pub struct Folders {
    /// The project.
    pub project: PathBuf,
    /// The user's home.
    pub home: PathBuf,
    /// Where the user moved the client's own folder, if so.
    pub moved: Option<PathBuf>,
}

impl Client {
    /// What it is called in a command.
    pub fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
        }
    }

    /// The environment variable that moves its folder.
    pub fn variable(self) -> &'static str {
        match self {
            Self::Claude => "CLAUDE_CONFIG_DIR",
            Self::Codex => "CODEX_HOME",
            Self::Gemini => "GEMINI_CLI_HOME",
        }
    }

    /// The files that it reads.
    pub fn files(self, scope: Scope, folders: &Folders) -> Vec<ConfigFile> {
        let Folders { project, home, moved } = folders;
        let own = |name: &str| moved.clone().unwrap_or_else(|| home.join(name));
        let file = |path, parts| ConfigFile { path, parts };
        match (self, scope) {
            (Self::Claude, Scope::Project) => vec![
                file(project.join(".claude/settings.json"), &[Part::Hooks]),
                file(project.join(".mcp.json"), &[Part::Server]),
            ],
            (Self::Claude, Scope::User) => vec![
                file(own(".claude").join("settings.json"), &[Part::Hooks]),
                // It lies beside the folder, and in it once the folder is moved.
                file(moved.as_ref().unwrap_or(home).join(".claude.json"), &[Part::Server]),
            ],
            (Self::Codex, scope) => {
                let folder = if scope == Scope::User { own(".codex") } else { project.join(".codex") };
                vec![
                    file(folder.join("hooks.json"), &[Part::Hooks]),
                    file(folder.join("config.toml"), &[Part::TomlServer]),
                ]
            }
            (Self::Gemini, scope) => {
                let base = if scope == Scope::User { moved.as_ref().unwrap_or(home) } else { project };
                vec![file(base.join(".gemini/settings.json"), &[Part::Hooks, Part::Server])]
            }
        }
    }

    /// The events that a hook is wanted for, as the client calls them.
    pub fn events(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd"],
            Self::Codex => &["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"],
            Self::Gemini => &["SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd"],
        }
    }

    /// What a person does after install.
    pub fn next_steps(self, scope: Scope) -> Vec<String> {
        let first = match (self, scope) {
            (Self::Claude, Scope::Project) => {
                "Start claude in this project. It asks whether it may use the server 'postrider': say yes."
            }
            (Self::Claude, Scope::User) => "Start claude anew: sessions that run keep what they had.",
            (Self::Codex, Scope::Project) => {
                "Codex runs hooks once they are trusted: start codex in this project, trust the folder, open /hooks and \
                 trust those of postrider."
            }
            (Self::Codex, Scope::User) => {
                "Codex runs hooks once they are trusted: start codex, open /hooks and trust those of postrider."
            }
            (Self::Gemini, Scope::Project) => {
                "Start gemini anew in this project, and trust the folder: it reads no settings of one that is not trusted."
            }
            (Self::Gemini, Scope::User) => "Start gemini anew: sessions that run keep what they had.",
        };
        let check = format!("Check with `{} mcp list` and `postrider doctor`.", self.word());
        let share =
            "Commit the files, so that everybody who works here has mail. Whoever has no postrider on the PATH sees \
                     their client complain of hooks that fail, and works on."
                .to_owned();
        let share = (scope == Scope::Project).then_some(share);
        [first.to_owned(), check].into_iter().chain(share).collect()
    }

    fn hooks<'a>(self, program: &'a str) -> Hooks<'a> {
        let is_gemini = self == Self::Gemini;
        // Gemini counts in milliseconds, the others in seconds.
        let timeout = if is_gemini { 5_000 } else { 5 };
        Hooks { client: self.word(), events: self.events(), timeout, is_named: is_gemini, program }
    }
}

impl Scope {
    /// What it is called in a command.
    pub fn word(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
        }
    }
}

impl ConfigFile {
    /// The text with everything in it. What is in `own` was there before us, and stays.
    pub fn install(&self, text: &str, client: Client, program: &Program, own: &[String]) -> Result<String, Fault> {
        self.edited(text, |text, part| match part {
            Part::Hooks => entries::install_hooks(text, &client.hooks(&program.for_a_shell()), own),
            Part::Server => entries::install_server(text, &program.word),
            Part::TomlServer => toml::install(text, &program.word),
        })
    }

    /// The text with nothing of ours in it but what is in `own`.
    pub fn uninstall(&self, text: &str, own: &[String]) -> Result<String, Fault> {
        self.edited(text, |text, part| match part {
            Part::Hooks => entries::uninstall_hooks(text, own),
            Part::Server | Part::TomlServer if own.iter().any(|name| name == SERVER) => Ok(text.to_owned()),
            Part::Server => entries::uninstall_server(text),
            Part::TomlServer => toml::uninstall(text),
        })
    }

    /// What is in the text already and could be ours: the events that have a hook, and the name of the server.
    pub fn entries(&self, text: &str) -> Result<Vec<String>, Fault> {
        let text = unmarked(text);
        let mut found = Vec::new();
        for part in self.parts {
            let server = match part {
                Part::Hooks => {
                    found.extend(entries::hooked_events(text)?);
                    continue;
                }
                Part::Server => entries::server(text)?,
                Part::TomlServer => toml::server(text)?,
            };
            found.extend(matches!(server, Server::Ours(_)).then(|| SERVER.to_owned()));
        }
        Ok(found)
    }

    /// Whether the text has a server of our name that is somebody else's.
    pub fn has_foreign_server(&self, text: &str) -> Result<bool, Fault> {
        let text = unmarked(text);
        let is_foreign = |part: &Part| match part {
            Part::Hooks => Ok(false),
            Part::Server => Ok(entries::server(text)? == Server::Foreign),
            Part::TomlServer => Ok(toml::server(text)? == Server::Foreign),
        };
        self.parts.iter().try_fold(false, |found, part| Ok(found || is_foreign(part)?))
    }

    /// The text after an edit for each part. A byte order mark is no part of what is edited.
    fn edited(&self, text: &str, edit: impl Fn(&str, Part) -> Result<String, Fault>) -> Result<String, Fault> {
        let (mark, body) = text.split_at(text.len() - unmarked(text).len());
        let edited = self.parts.iter().try_fold(body.to_owned(), |text, part| edit(&text, *part))?;
        Ok(format!("{mark}{edited}"))
    }

    /// Whether nothing is left in a text that we began.
    pub fn is_void(&self, text: &str) -> bool {
        let is_json = !self.parts.contains(&Part::TomlServer);
        text.trim().is_empty() || (is_json && text.split_whitespace().collect::<String>() == "{}")
    }
}

/// The text without the byte order mark that some editors begin a file with.
fn unmarked(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The folder of the repository that `here` is in, else `here` itself.
///
/// A worktree counts as one of its own, though its mail is that of the main one: clients read the files where they run.
pub fn project_of(here: &Path) -> PathBuf {
    // In a worktree `.git` is a file.
    here.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(here).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(client: Client, scope: Scope, moved: Option<&str>) -> Vec<String> {
        let folders = Folders { project: "/p".into(), home: "/h".into(), moved: moved.map(PathBuf::from) };
        client.files(scope, &folders).iter().map(|file| file.path.display().to_string()).collect()
    }

    #[test]
    fn every_client_has_its_files_where_it_reads_them() {
        use {Client::*, Scope::*};
        assert_eq!(paths(Claude, Project, Some("/m")), ["/p/.claude/settings.json", "/p/.mcp.json"]);
        assert_eq!(paths(Claude, User, None), ["/h/.claude/settings.json", "/h/.claude.json"]);
        assert_eq!(paths(Claude, User, Some("/m")), ["/m/settings.json", "/m/.claude.json"]);
        assert_eq!(paths(Codex, Project, Some("/m")), ["/p/.codex/hooks.json", "/p/.codex/config.toml"]);
        assert_eq!(paths(Codex, User, None), ["/h/.codex/hooks.json", "/h/.codex/config.toml"]);
        assert_eq!(paths(Codex, User, Some("/m")), ["/m/hooks.json", "/m/config.toml"]);
        assert_eq!(paths(Gemini, Project, Some("/m")), ["/p/.gemini/settings.json"]);
        assert_eq!(paths(Gemini, User, None), ["/h/.gemini/settings.json"]);
        assert_eq!(paths(Gemini, User, Some("/m")), ["/m/.gemini/settings.json"]);
    }

    #[test]
    fn a_byte_order_mark_stays_where_it_is() {
        let program = Program { word: "postrider".to_owned(), why: String::new(), is_doubtful: false };
        for (client, text) in [(Client::Gemini, "\u{feff}{ \"a\": 1 }"), (Client::Codex, "\u{feff}a = 1\n")] {
            let folders = Folders { project: "/p".into(), home: "/h".into(), moved: None };
            let file = client.files(Scope::Project, &folders).pop().unwrap();
            let whole = file.install(text, client, &program, &[]).unwrap();
            assert!(whole.starts_with(text.trim_end_matches([' ', '}'])) && whole.len() > text.len(), "{whole}");
            assert!(!file.has_foreign_server(&whole).unwrap());
            assert_eq!(file.uninstall(&whole, &[]).unwrap(), text);
        }
    }

    #[test]
    fn the_project_is_the_nearest_repository_above_or_the_folder_itself() {
        let place = tempfile::tempdir().unwrap();
        let deep = place.path().join("repo/a/b");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::create_dir_all(place.path().join("repo/.git")).unwrap();
        assert_eq!(project_of(&deep), place.path().join("repo"));
        std::fs::write(place.path().join("repo/a/.git"), "gitdir: elsewhere").unwrap();
        assert_eq!(project_of(&deep), place.path().join("repo/a"), "a worktree is a repository too");
        let bare = Path::new("/no/such/folder");
        assert_eq!(project_of(bare), bare);
    }
}
