//! Settings: from flags, the environment and `postrider.toml`, in that order of weight.
//!
//! Every setting has one name, one default and one place in the README's table. A setting that is not known, or has a
//! wrong value, is an error; nothing falls back silently. The current folder is never searched for settings: a repository
//! that somebody cloned must not name the server, the token or the identity.

mod checks;
mod nats;
mod projects;
mod provider;
mod serving;
mod sessions;

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};
use mail::projects::{slug_of, slug_with_hash};
use serde::Deserialize;
use server::Profile;
use store::Location;

pub use nats::Nats;
pub use projects::{By, Projects, names_remotes};
pub use provider::{Mail, MailProvider};
pub use serving::{ServerSettings, ServerStart};
pub use sessions::{SessionSettings, WakeSettings};

/// The name of the file in the home folder.
pub const FILE: &str = "postrider.toml";

/// The heading of what is the same for all commands, so that those of a command itself come first.
pub const EVERYWHERE: &str = "Global options";

/// What every command takes.
#[derive(Args, Debug, Default)]
pub struct Global {
    /// Where mail is kept [default: ~/.postrider]
    #[arg(long, global = true, env = "POSTRIDER_HOME", value_name = "DIR", help_heading = EVERYWHERE, display_order = 103)]
    pub home: Option<PathBuf>,
    /// Whether the command line itself names the home, and not the environment.
    #[arg(skip)]
    pub names_home: bool,
    /// A settings file [default: postrider.toml in the home folder]
    #[arg(long, global = true, env = "POSTRIDER_CONFIG", value_name = "FILE", help_heading = EVERYWHERE, display_order = 104)]
    pub config: Option<PathBuf>,
    /// Print JSON, for programs
    #[arg(long, global = true, help_heading = EVERYWHERE, display_order = 105)]
    pub json: bool,
}

impl Global {
    /// What the environment alone says, for a command line that is not read for options.
    pub fn of_environment() -> Self {
        let path = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self { home: path("POSTRIDER_HOME"), config: path("POSTRIDER_CONFIG"), ..Self::default() }
    }
}

/// How names are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Identity {
    /// Whoever names itself is believed
    #[default]
    Claimed,
    /// Acting in a name takes its registration token
    Strict,
}

/// Which tools are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Tools {
    /// All of them
    #[default]
    Full,
    /// The nine that a worker needs
    Lean,
}

/// What becomes of a message that seems to hold a secret.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Secrets {
    /// It is sent, and its sender is told
    #[default]
    Warn,
    /// It is refused
    Refuse,
}

/// How the log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

/// How an agent's session is reached: one of these.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nudge {
    /// A pane of tmux.
    pub tmux: Option<String>,
    /// A program and its arguments.
    pub command: Option<Vec<String>>,
    /// A file to write.
    pub file: Option<PathBuf>,
}

/// What becomes of a write to a file that another agent has reserved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reserved {
    /// It is refused
    #[default]
    Deny,
    /// It is let through, with a warning
    Warn,
}

/// How hooks behave.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hooks {
    /// What becomes of a write to a file that another agent has reserved.
    #[serde(default)]
    pub reserved: Reserved,
}

/// What a settings file may say. Some of it is secret, so none of it can be shown for debugging.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingsFile {
    /// The address to listen on.
    pub host: Option<IpAddr>,
    /// The port to listen on.
    pub port: Option<u16>,
    /// The bearer token that every call needs.
    pub token: Option<String>,
    /// What people sign in with at the page, where that is not the token.
    pub page_token: Option<String>,
    /// How names are taken.
    pub identity: Option<Identity>,
    /// Which tools are listed.
    pub tools: Option<Tools>,
    /// Names under which the server may be called.
    pub allowed_hosts: Option<Vec<String>>,
    /// Pages that may call.
    pub allowed_origins: Option<Vec<String>>,
    /// The longest subject or body, in bytes.
    pub max_body_bytes: Option<usize>,
    /// Requests a second from one address; 0 for no limit.
    pub rate_limit: Option<u32>,
    /// What is logged.
    pub log: Option<String>,
    /// How the log is written.
    pub log_format: Option<LogFormat>,
    /// What becomes of a message that seems to hold a secret.
    pub secrets: Option<Secrets>,
    /// How long a worker who asks for help may wait before that is overdue, in minutes.
    pub help_overdue_minutes: Option<u32>,
    /// A server elsewhere that `stdio` and other clients use.
    pub url: Option<String>,
    /// Who acts at the terminal, when nobody else is named.
    pub agent: Option<String>,
    /// The URL of a PostgreSQL database that keeps the mail, instead of a file in the home folder.
    pub database: Option<String>,
    /// Where mail is kept.
    pub mail: Option<Mail>,
    /// How agents' sessions are reached, by name.
    pub nudge: Option<HashMap<String, Nudge>>,
    /// How hooks behave.
    #[serde(default)]
    pub hooks: Hooks,
    /// What becomes of an agent's things when its sessions have ended.
    #[serde(default)]
    pub sessions: SessionSettings,
    /// Which mail wakes an idle session.
    #[serde(default)]
    pub wake: WakeSettings,
    /// The folder of each project's channels, by the project's path.
    #[serde(default)]
    pub channels: HashMap<String, PathBuf>,
    /// What projects are known by.
    #[serde(default)]
    pub projects: Projects,
    /// The NATS server that events go to, and foreign messages come from.
    pub nats: Option<Nats>,
    /// How a server begins and ends.
    #[serde(default)]
    pub server: ServerSettings,
}

/// Where things are, and what the file says.
pub struct Config {
    /// The home folder.
    pub home: PathBuf,
    /// The settings file that was read, if there was one.
    pub source: Option<PathBuf>,
    /// What it says.
    pub file: SettingsFile,
}

impl Config {
    /// Finds the home folder and reads the settings file, but for programs that a command in a sandbox may have named.
    pub fn load(global: &Global) -> anyhow::Result<Self> {
        let mut config = Self::load_whole(global)?;
        config.leave_out_programs();
        Ok(config)
    }

    /// The same with all that the file says, for those who run nothing of it: what is wrong with it can be told and mended.
    pub fn load_whole(global: &Global) -> anyhow::Result<Self> {
        let home = match &global.home {
            Some(home) => home.clone(),
            None => std::env::home_dir()
                .context("there is no home folder; set POSTRIDER_HOME or pass --home")?
                .join(".postrider"),
        };
        let source = match &global.config {
            Some(named) => Some(named.clone()),
            None => Some(home.join(FILE)).filter(|path| path.is_file()),
        };
        let mut file = source.as_deref().map_or_else(|| Ok(SettingsFile::default()), read)?;
        let named = std::env::var_os("POSTRIDER_DATABASE").map(|named| named.into_string().unwrap_or_default());
        file.database = named.or(file.database);
        let config = Self { home, source, file };
        config.check_channels()?;
        config.check_location()?;
        config.note_who_sees_folders();
        Ok(config)
    }

    /// The file of the database, beside which is told which server of this machine has it.
    pub fn database(&self) -> PathBuf {
        self.home.join("postrider.db")
    }

    /// Where the mail is kept: the database that the settings name, else a file in the home folder.
    pub fn location(&self) -> Location {
        let url = self.file.database.clone();
        url.map_or_else(|| Location::File(self.database()), Location::Postgres)
    }

    /// The same settings for a command that is about one project: the folders of others are left alone.
    pub fn about(mut self, project: &str) -> Self {
        let names = |path: &str| [path.to_owned(), slug_of(path), slug_with_hash(path)];
        let named = if project.len() > 1 { project.trim_end_matches('/') } else { project };
        self.file.channels.retain(|path, _| names(path).iter().any(|name| name == named));
        self
    }

    pub fn channels_folder(&self, project: &str) -> Option<&Path> {
        self.file.channels.get(project).map(PathBuf::as_path)
    }

    /// Who keeps the mail of the terminal.
    pub fn mail_provider(&self) -> anyhow::Result<MailProvider> {
        self.file.mail.as_ref().map_or_else(|| Ok(MailProvider::default()), Mail::provider)
    }

    /// Which tools are listed.
    pub fn profile(&self) -> Profile {
        match self.file.tools.unwrap_or_default() {
            Tools::Full => Profile::Full,
            Tools::Lean => Profile::Lean,
        }
    }

    /// The longest subject or body, in bytes.
    pub fn longest_body(&self) -> usize {
        self.file.max_body_bytes.unwrap_or(mail::office::Rules::default().longest_body)
    }

    /// The largest request, in bytes, at every door: a body at its limit fits however JSON writes it.
    pub fn largest_request(&self) -> usize {
        // JSON may write one byte as six, `\u0001`, and a request says more than its body.
        self.longest_body().saturating_mul(6).saturating_add(1 << 20)
    }

    /// The bearer token: from the environment, else from the file. An empty one is a mistake, not "none".
    pub fn token(&self) -> anyhow::Result<Option<String>> {
        checks::secret("AGENT_MAIL_BEARER_TOKEN", self.file.token.as_ref())
    }

    /// What people sign in with at the page, where that is not the bearer token.
    pub fn page_token(&self) -> anyhow::Result<Option<String>> {
        checks::secret("POSTRIDER_PAGE_TOKEN", self.file.page_token.as_ref())
    }

    /// The address of a server elsewhere: `POSTRIDER_URL`, else `AGENT_MAIL_BASE_URL` with `AGENT_MAIL_PATH`, else the
    /// file's `url`.
    pub fn url(&self) -> Option<String> {
        if let Some(url) = set("POSTRIDER_URL") {
            return Some(endpoint_of(&url));
        }
        if let Some(base) = set("AGENT_MAIL_BASE_URL") {
            let path = set("AGENT_MAIL_PATH").unwrap_or_else(|| "/mcp/".to_owned());
            return Some(format!("{}/{}", base.trim_end_matches('/'), path.trim_start_matches('/')));
        }
        self.file.url.as_deref().map(endpoint_of)
    }
}

/// The value of an environment variable; an empty one is not set.
pub fn set(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The MCP address of a server: a URL without a path gets `/mcp`.
pub fn endpoint_of(url: &str) -> String {
    let trimmed = url.trim_end_matches('/');
    let rest = trimmed.split_once("://").map_or(trimmed, |(_, rest)| rest);
    if rest.contains('/') { url.to_owned() } else { format!("{trimmed}/mcp") }
}

fn read(path: &Path) -> anyhow::Result<SettingsFile> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read '{}'", path.display()))?;
    toml::from_str(&text).map_err(|error| {
        anyhow!("'{}' has a setting that is wrong, in {}", path.display(), place_and_fault(&text, &error))
    })
}

/// Settings whose value nobody else may see.
const SECRET: [&str; 7] = ["token", "page_token", "database", "url", "credentials", "nats", "nats.url"];

/// Where a settings file is wrong, and how. The line is not shown, nor the value of a setting that may be a secret.
fn place_and_fault(text: &str, error: &toml::de::Error) -> String {
    let at = error.span().map_or(0, |span| span.start.min(text.len()));
    let before = text.get(..at).unwrap_or_default();
    let number = before.matches('\n').count() + 1;
    let line = text.lines().nth(number - 1).unwrap_or_default();
    let name = line.split('=').next().unwrap_or_default().trim();
    let fault = match SECRET.contains(&name) {
        true => format!("the value of '{name}' cannot be read: write it between quotation marks"),
        false => error.message().to_owned(),
    };
    format!("line {number}: {fault}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_setting_is_an_error() {
        let error = toml::from_str::<SettingsFile>("prot = 1").err().expect("an error").to_string();
        assert!(error.contains("prot"), "{error}");
    }

    #[test]
    fn what_is_wrong_with_a_settings_file_is_told_without_any_secret_in_it() {
        let fault = |text: &str| place_and_fault(text, &toml::from_str::<SettingsFile>(text).err().expect("an error"));
        for wrong in [
            "log = 'warn'\ndatabase = postgres://me:s3cret@db/mail",
            "log = 'warn'\ntoken = s3cret",
            "log = 'warn'\ntoken = \"s3cret",
            "[nats]\nurl = nats://me:s3cret@host",
            "log = 'warn'\nnats = \"nats://me:s3cret@host\"",
            "log = 'warn'\nnats.url = nats://me:s3cret@host",
        ] {
            let told = fault(wrong);
            assert!(told.starts_with("line 2: the value of '") && !told.contains("s3cret"), "{told}");
        }
        assert!(fault("log = 'warn'\n\nprot = 1").starts_with("line 3: unknown field `prot`"));
        assert!(fault("port = \"x\"").contains("expected u16"));
    }

    #[test]
    fn a_body_at_its_limit_fits_into_a_request_however_it_is_written() {
        let of = |max_body_bytes| {
            let file = SettingsFile { max_body_bytes, ..SettingsFile::default() };
            Config { home: PathBuf::new(), source: None, file }.largest_request()
        };
        let body = serde_json::to_string(&"\u{1}".repeat(1000)).unwrap();
        assert!(body.len() > 6000 && body.len() < of(Some(1000)));
        assert_eq!(of(None), (25 << 20), "four MiB unless it is set");
        assert_eq!(of(Some(usize::MAX)), usize::MAX);
    }

    #[test]
    fn an_address_without_a_path_means_its_mcp_endpoint() {
        assert_eq!(endpoint_of("http://127.0.0.1:8765"), "http://127.0.0.1:8765/mcp");
        assert_eq!(endpoint_of("http://127.0.0.1:8765/"), "http://127.0.0.1:8765/mcp");
        assert_eq!(endpoint_of("http://host/mcp/"), "http://host/mcp/");
        assert_eq!(endpoint_of("http://host/elsewhere"), "http://host/elsewhere");
    }
}
