//! What install does about the sandbox of a client: as little as lets commands in it reach the mail, and only where one is in the way.
//!
//! A sandbox that lets the socket of a server through needs no setting, only a server. One that does not gets the home folder as
//! a folder that may be written to, which is more: whoever may write there can change the mail, and its settings.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use serde::Serialize;
use serde_json::Value;

use super::configuration::Planned;
use super::files::{self, Change, FileKind};
use super::opening::{Opening, Wish};
use super::writable::WritableHome;
use super::{ConfigFault, refused, unusable};
use crate::clients::{self, Client, Folders, Scope};
use crate::config::{Config, ServerStart};

/// What install is told about the sandbox.
#[derive(Args, Debug)]
pub(crate) struct SandboxOptions {
    /// Keep the client's sandbox closed, also where it keeps commands in it from the mail
    #[arg(long)]
    pub no_sandbox_access: bool,
    /// Let hooks and `stdio` start a server that ends by itself; uninstall does not take this back
    #[arg(long)]
    pub start_on_demand: bool,
}

/// The sandbox of a client, as its settings say.
pub(crate) struct SandboxAccess<'a> {
    client: &'a Client,
    /// Whether it keeps commands from the mail.
    pub keeps_out: bool,
    /// Whether the client does not start with what install writes.
    excludes_us: bool,
    /// Whether there are settings of it.
    has_settings: bool,
    home: PathBuf,
    /// The user's own settings, and what would go into them.
    writable: Option<(PathBuf, WritableHome)>,
}

impl<'a> SandboxAccess<'a> {
    /// Looks at the settings of a client, for the mail in `home`.
    pub(crate) fn of(client: &'a Client, folders: &Folders, home: &Path) -> anyhow::Result<Self> {
        let is_toml = client.sandbox.settings.ends_with(".toml");
        let mut settings = Value::Object(serde_json::Map::new());
        let mut has_settings = false;
        for path in settings_of(client, folders) {
            let text = files::read(&path)?;
            has_settings |= text.is_some();
            let text = text.unwrap_or_default();
            merge(
                &mut settings,
                WritableHome::settings(unmarked(&text), is_toml).map_err(|fault| unusable(&path, &fault))?,
            );
        }
        // What a sandbox opens is where the folder really is.
        let home = home.canonicalize().unwrap_or_else(|_| home.to_owned());
        let file = client.files.iter().find(|file| file.user == client.sandbox.settings);
        let writable = match (&client.sandbox.opening, home.to_str(), file) {
            (clients::Opening::WritableHome { list, closed, knows_tilde }, Some(named), Some(file)) => {
                let below = home.strip_prefix(&folders.home).ok().filter(|_| *knows_tilde).and_then(Path::to_str);
                let folder = below.map_or_else(|| named.to_owned(), |below| format!("~/{below}"));
                let user = folders.home.clone();
                let writable = WritableHome { list, closed, folder, user, is_toml };
                file.path(Scope::User, folders).map(|path| (path, writable))
            }
            _ => None,
        };
        let (keeps_out, excludes_us) = ((client.sandbox.keeps_out)(&settings), (client.sandbox.excludes_us)(&settings));
        Ok(Self { client, keeps_out, excludes_us, has_settings, home, writable })
    }

    /// Refuses where the client would not start any more.
    pub(crate) fn require_possible(&self) -> anyhow::Result<()> {
        if !self.excludes_us {
            return Ok(());
        }
        let title = self.client.title;
        Err(refused(
            "SANDBOX_EXCLUDES_INSTALL",
            &format!(
                "{title} does not start with hooks or MCP servers while its sandbox is on (~/{})",
                self.client.sandbox.settings
            ),
            "Nothing was changed. Turn the sandbox off, or keep `postrider serve` running: `postrider` at its shell reaches that.",
        ))
    }

    /// What install does to the entry in the user's settings, for a sandbox that is opened through them.
    pub(crate) fn wanted(
        &self,
        options: &SandboxOptions,
        config: &Config,
        scope: Scope,
        folders: &Folders,
    ) -> Option<Opening> {
        let is_refused = options.no_sandbox_access || self.is_unsafe(config);
        let wish = match scope {
            _ if self.keeps_out && !is_refused => Wish::Open,
            Scope::User if is_refused => Wish::Close,
            _ => Wish::Release,
        };
        self.opening(wish, scope, folders)
    }

    /// What uninstall does to it.
    pub(crate) fn unwanted(&self, scope: Scope, folders: &Folders) -> Option<Opening> {
        self.opening(if scope == Scope::User { Wish::Close } else { Wish::Release }, scope, folders)
    }

    fn opening(&self, wish: Wish, scope: Scope, folders: &Folders) -> Option<Opening> {
        let (path, writable) = self.writable.clone()?;
        Some(Opening::new(path, writable, wish, scope, folders))
    }

    /// Whether the user's settings let commands inside write to the home folder.
    fn is_open(&self) -> bool {
        self.settings_say(|writable, text| writable.is_in(text))
    }

    /// The same once a plan is carried out.
    fn will_be_open(&self, plan: &[Planned]) -> bool {
        let Some((path, writable)) = &self.writable else { return false };
        let Some(planned) = plan.iter().find(|planned| planned.change.path == *path) else { return self.is_open() };
        writable.is_in(unmarked(planned.change.after.as_deref().unwrap_or_default())).unwrap_or(false)
    }

    fn settings_say(&self, question: impl Fn(&WritableHome, &str) -> Result<bool, ConfigFault>) -> bool {
        self.writable.as_ref().is_some_and(|(path, writable)| {
            let text = files::read(path).ok().flatten().unwrap_or_default();
            question(writable, unmarked(&text)).unwrap_or(false)
        })
    }

    /// What whoever wants it closed has to know if it stays open.
    pub(crate) fn still_open(&self, plan: &[Planned]) -> Option<String> {
        let ((path, _), Client { name, title, .. }) = (self.writable.as_ref()?, self.client);
        self.will_be_open(plan).then(|| {
            format!(
                "Commands in the sandbox of {title} may still write to '{}' ('{}'): another project wants that, or install did not \
                 write it. `postrider uninstall {name} --scope user` takes out the entry of this folder; one around it is yours.",
                self.home.display(),
                path.display()
            )
        })
    }

    /// How commands inside reach the mail, for a client that has settings here.
    pub(crate) fn reach(&self, has_socket: bool, start: ServerStart) -> Option<(Reach, String)> {
        let name = self.client.name;
        if !self.has_settings {
            return None;
        }
        let is_open = self.is_open();
        let on_demand = start == ServerStart::OnDemand;
        Some(match (&self.client.sandbox.opening, self.keeps_out) {
            (_, false) => (Reach::Free, "its settings put nothing between commands and the mail".to_owned()),
            (clients::Opening::WritableHome { .. }, true) if is_open => {
                (Reach::Database, "commands inside may write to the home folder".to_owned())
            }
            (clients::Opening::Socket, true) if has_socket => {
                (Reach::Socket, "commands inside reach the server's socket".to_owned())
            }
            (clients::Opening::Socket, true) if on_demand && !self.excludes_us => {
                (Reach::Socket, "commands inside reach the socket of a server, which hooks start".to_owned())
            }
            (clients::Opening::Socket, true) => {
                (Reach::Outbox, "commands inside reach only a server, and none runs: postrider serve".to_owned())
            }
            (_, true) => (
                Reach::Outbox,
                format!("commands inside only leave mail in .postrider/outbox: postrider install {name}"),
            ),
        })
    }

    /// Whether commands inside would write to settings that name programs.
    pub(crate) fn is_unsafe(&self, config: &Config) -> bool {
        let is_whole = matches!(self.client.sandbox.opening, clients::Opening::WritableHome { closed: [], .. });
        let in_home = config.source.as_ref().and_then(|source| source.canonicalize().ok());
        is_whole && config.names_programs() && in_home.is_some_and(|source| source.starts_with(&self.home))
    }

    /// What whoever installs has to know.
    pub(crate) fn note(&self, options: &SandboxOptions, config: &Config, plan: &[Planned]) -> Option<String> {
        let is_refused = options.no_sandbox_access || self.is_unsafe(config);
        if is_refused && let Some(still_open) = self.still_open(plan) {
            return Some(still_open);
        }
        if !self.keeps_out {
            return None;
        }
        let Client { name, title, .. } = self.client;
        let home = self.home.display();
        Some(match &self.writable {
            Some(_) if self.is_unsafe(config) => format!(
                "Commands in the sandbox of {title} cannot reach the mail: '{home}' is not opened to them, because the settings there \
                 have [nudge], or a program in [mail]. Put the file elsewhere and set POSTRIDER_CONFIG, then install again."
            ),
            Some(_) if options.no_sandbox_access => format!(
                "Commands in the sandbox of {title} cannot reach the mail; what they send waits in .postrider/outbox for a hook or a server."
            ),
            Some((path, writable)) => format!(
                "Commands in the sandbox of {title} may write to '{home}' ('{}'), so that postrider works there. They can change the \
                 {} there, too; --no-sandbox-access keeps the sandbox closed.",
                path.display(),
                if writable.closed.is_empty() { "mail and the settings" } else { "mail" }
            ),
            None if options.start_on_demand => {
                format!("Commands in the sandbox of {title} reach the mail while a server runs, which hooks now start.")
            }
            None => format!(
                "Commands in the sandbox of {title} reach the mail only while a server runs: keep `postrider serve` running, or let \
                 hooks start one with `postrider install {name} --start-on-demand`."
            ),
        })
    }
}

/// What lets the mail through a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reach {
    /// No sandbox is in the way.
    Free,
    /// The home folder may be written to.
    Database,
    /// The socket of a server.
    Socket,
    /// An outbox in the workspace carries what is sent, and nothing else gets through.
    Outbox,
}

/// A client whose sandbox lets commands write to the settings in a home folder.
pub(crate) fn writer_of_settings(home: &Path) -> Option<&'static Client> {
    let lets_write = |client: &&'static Client| {
        let is_opened_by_folder = matches!(client.sandbox.opening, clients::Opening::WritableHome { .. });
        let access = || SandboxAccess::of(client, &client.folders_here()?, home).ok();
        let has_settings =
            |access: SandboxAccess<'_>| access.settings_say(|writable, text| writable.has_settings_in(text));
        is_opened_by_folder && access().is_some_and(has_settings)
    };
    clients::ALL.into_iter().find(lets_write)
}

fn unmarked(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The files of settings that speak of the sandbox, those that count more behind the others.
fn settings_of(client: &Client, folders: &Folders) -> Vec<PathBuf> {
    let Some(file) = client.files.iter().find(|file| file.user == client.sandbox.settings) else { return Vec::new() };
    let [user, project] = [Scope::User, Scope::Project].map(|scope| file.path(scope, folders));
    // Claude Code has a third one, which is not shared with others.
    let own = project.as_ref().map(|project| project.with_file_name("settings.local.json"));
    let own = own.filter(|own| client.sandbox.settings.ends_with("settings.json") && own.is_file());
    [user, project, own].into_iter().flatten().collect()
}

/// Puts the settings of one file over those of others.
fn merge(settings: &mut Value, over: Value) {
    match (settings, over) {
        (Value::Object(settings), Value::Object(over)) => {
            for (name, value) in over {
                merge(settings.entry(name).or_insert(Value::Null), value);
            }
        }
        (settings, over) => *settings = over,
    }
}

/// What is said with that, for the setting is one of the home and not of a client.
pub(crate) const STAYS: &str =
    "start = \"on-demand\" in postrider.toml is for every client; uninstall leaves it there.";

/// What becomes of our own settings file, so that hooks start a server.
pub(crate) fn start_on_demand(config: &Config) -> anyhow::Result<Planned> {
    let path = config.source.clone().unwrap_or_else(|| config.home.join(crate::config::FILE));
    let path = std::path::absolute(path)?;
    let before = files::read(&path)?;
    let text = before.as_deref().unwrap_or_default();
    let after = match config.file.server.start {
        ServerStart::OnDemand => text.to_owned(),
        ServerStart::ByHand => with_start(text).with_context(|| {
            format!(
                "'{}' has [server] in a way that cannot be added to; write start = \"on-demand\" there",
                path.display()
            )
        })?,
    };
    let change = Change { path, before, after: Some(after), kind: FileKind::Private };
    Ok(Planned { change, receipts: Vec::new(), folders: Vec::new(), foreign: None })
}

fn with_start(text: &str) -> Option<String> {
    const LINE: &str = "start = \"on-demand\"\n";
    let head = text.lines().position(|line| line.split('#').next().is_some_and(|head| head.trim() == "[server]"));
    let whole = match head {
        Some(head) => {
            let at: usize = text.split_inclusive('\n').take(head + 1).map(str::len).sum();
            let ended = if text[..at].ends_with('\n') { "" } else { "\n" };
            format!("{}{ended}{LINE}{}", &text[..at], &text[at..])
        }
        None => {
            let ended = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            let apart = if text.trim().is_empty() { "" } else { "\n" };
            format!("{text}{ended}{apart}[server]\n{LINE}")
        }
    };
    let read = ::toml::from_str::<Value>(&whole).ok()?;
    (read["server"]["start"] == "on-demand").then_some(whole)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::clients::{CLAUDE, CODEX, GEMINI};

    fn folders(place: &tempfile::TempDir) -> Folders {
        Folders { project: place.path().join("p"), home: place.path().join("h"), moved: None }
    }

    fn write(path: PathBuf, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn a_sandbox_is_opened_only_where_the_settings_together_say_that_it_keeps_the_mail_out() {
        let place = tempfile::tempdir().unwrap();
        let folders = folders(&place);
        let home = folders.home.join(".postrider");
        let keeps_out = |client| SandboxAccess::of(client, &folders, &home).unwrap().keeps_out;
        assert!(keeps_out(&CODEX) && !keeps_out(&CLAUDE) && !keeps_out(&GEMINI));
        write(folders.home.join(".codex/config.toml"), "[sandbox_workspace_write]\nnetwork_access = true\n");
        assert!(!keeps_out(&CODEX));
        write(folders.project.join(".codex/config.toml"), "[sandbox_workspace_write]\nnetwork_access = false\n");
        assert!(keeps_out(&CODEX));
        write(folders.project.join(".claude/settings.local.json"), "{\"sandbox\": {\"enabled\": true}}");
        assert!(keeps_out(&CLAUDE));
        let (path, writable) = SandboxAccess::of(&CLAUDE, &folders, &home).unwrap().writable.unwrap();
        assert_eq!((path, writable.folder.as_str()), (folders.home.join(".claude/settings.json"), "~/.postrider"));
    }

    #[test]
    fn settings_of_a_file_go_over_those_of_another() {
        let mut settings = json!({ "a": { "b": 1, "c": 2 }, "d": [1] });
        merge(&mut settings, json!({ "a": { "b": 3 }, "d": [2] }));
        assert_eq!(settings, json!({ "a": { "b": 3, "c": 2 }, "d": [2] }));
    }

    #[test]
    fn the_start_of_a_server_is_put_behind_the_head_of_its_table() {
        assert_eq!(with_start("").unwrap(), "[server]\nstart = \"on-demand\"\n");
        assert_eq!(with_start("a = 1").unwrap(), "a = 1\n\n[server]\nstart = \"on-demand\"\n");
        let text = "[server] # mine\n\n[nats]\nurl = 'x'\n";
        assert_eq!(with_start(text).unwrap(), "[server] # mine\nstart = \"on-demand\"\n\n[nats]\nurl = 'x'\n");
        assert_eq!(with_start("server = {}"), None);
    }
}
