//! Real coding agents against a real server: each is installed, told of the server, and asked whether it is connected.
//! Then each is run with a stand-in for its model, to see what our hooks tell it.
//!
//! No agent logs in or talks to a vendor's model. This needs the network and is not a part of `cargo xtask test`.

mod codex;
mod hooks;
mod model;
pub mod sdk;
mod vendor;
mod workplace;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::npm::{self, Pin};
use crate::process::timed;
use crate::running::Running;

const CLAUDE: Pin = Pin { name: "@anthropic-ai/claude-code", version: "2.1.327" };
const CODEX: Pin = Pin { name: "@openai/codex", version: "0.169.0" };
const GEMINI: Pin = Pin { name: "@google/gemini-cli", version: "0.61.0" };

/// The agents, as npm knows them.
pub const CLIENTS: [Pin; 3] = [CLAUDE, CODEX, GEMINI];

const LIMIT: Duration = Duration::from_secs(90);
/// More than this of what a client said makes the table unreadable.
const LONGEST_WORDS: usize = 300;

/// How the names of a developer's own settings begin, for the clients and for Postrider.
const OWN: [&str; 10] =
    ["ANTHROPIC", "CLAUDE", "CODEX", "GEMINI", "GOOGLE", "OPENAI", "XDG_", "POSTRIDER_", "AGENT_MAIL_", "GC_"];

/// Asks every client and prints what it said, then tries its hooks; fails when one is not connected or not told.
pub fn run(root: &Path) -> Result<()> {
    let bench = Bench::provide(root)?;
    let server = Running::start(root)?;
    let url = server.mcp_url();
    let reports: Vec<Report> = [("claude", claude as Ask), ("codex", codex::ask), ("gemini", gemini)]
        .into_iter()
        .map(|(name, ask)| report(&bench, name, ask, &url))
        .collect();
    println!("{}", table(&reports));
    let apart: Vec<&str> = reports.iter().filter(|report| !report.connected).map(|report| report.name).collect();
    let told = hooks::run(&bench);
    if apart.is_empty() { told } else { bail!("not connected: {}", apart.join(", ")) }
}

/// Tells a client of the server at that address and returns the words that show it is connected.
type Ask = fn(&Client, &str) -> Result<String>;

/// Where the clients are installed.
struct Bench {
    root: PathBuf,
}

impl Bench {
    /// Installs them.
    fn provide(root: &Path) -> Result<Self> {
        npm::provide_referees(root)?;
        let mut npm = Command::new("npm");
        // One of them refuses the Node of older systems.
        npm.env("PATH", npm::path_with_node(root)?);
        npm::install(&root.join("target/clients"), &CLIENTS, npm)?;
        Ok(Self { root: root.to_owned() })
    }
}

/// One client with a home of its own.
struct Client {
    program: PathBuf,
    home: tempfile::TempDir,
    path: std::ffi::OsString,
}

impl Client {
    fn new(bench: &Bench, name: &str) -> Result<Self> {
        let program = bench.root.join("target/clients/node_modules/.bin").join(name);
        let home = tempfile::tempdir().context("a home for the client")?;
        Ok(Self { program, home, path: npm::path_with_node(&bench.root)? })
    }

    /// The client, as if on a fresh machine.
    fn command(&self, arguments: &[&str]) -> Command {
        self.fresh(&self.program, arguments)
    }

    /// A program at the client's home. Nothing of the developer's own settings or logins reaches it.
    fn fresh(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        forget_own_settings(&mut command);
        let home = self.home.path();
        command.args(arguments).current_dir(home).env("HOME", home).env("PATH", &self.path).env("NO_COLOR", "1");
        command.env("CODEX_HOME", home.join("codex")).env("GEMINI_CLI_TRUST_WORKSPACE", "true");
        command
    }

    /// Runs the client to its end and returns what it said.
    fn hear(&self, arguments: &[&str]) -> Result<String> {
        workplace::heard(&mut self.command(arguments))
    }
}

/// Keeps the developer's own settings from a command.
fn forget_own_settings(command: &mut Command) {
    for name in std::env::vars_os().map(|(name, _)| name) {
        let text = name.to_string_lossy().to_ascii_uppercase();
        if OWN.iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(name);
        }
    }
}

struct Report {
    name: &'static str,
    version: String,
    said: String,
    connected: bool,
}

fn report(bench: &Bench, name: &'static str, ask: Ask, url: &str) -> Report {
    let asked = timed(name, || {
        let client = Client::new(bench, name)?;
        Ok((version(&client)?, ask(&client, url)))
    });
    let (version, answer) = asked.unwrap_or_else(|problem| ("unknown".to_owned(), Err(problem)));
    let connected = answer.is_ok();
    let said = answer.unwrap_or_else(|problem| format!("{problem:#}"));
    Report { name, version, said, connected }
}

/// The first word of `--version` that begins with a digit.
fn version(client: &Client) -> Result<String> {
    let said = client.hear(&["--version"])?;
    let number = said.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    number.map(str::to_owned).with_context(|| format!("no version in: {said}"))
}

fn claude(client: &Client, url: &str) -> Result<String> {
    client.hear(&["mcp", "add", "--transport", "http", "postrider", url])?;
    connected_line(&client.hear(&["mcp", "list"])?)
}

fn gemini(client: &Client, url: &str) -> Result<String> {
    client.hear(&["mcp", "add", "--scope", "user", "--transport", "http", "postrider", url])?;
    connected_line(&client.hear(&["mcp", "list"])?)
}

/// The line on our server, when it ends in the word `Connected` and no other.
fn connected_line(list: &str) -> Result<String> {
    let line = list.lines().find(|line| line.contains("postrider:")).context("the server is not in the list")?;
    let verdict = line.rsplit(" - ").next().unwrap_or_default();
    let word = verdict.trim_matches(|c: char| !c.is_ascii_alphabetic());
    if word == "Connected" { Ok(line.trim().to_owned()) } else { bail!("{}", line.trim()) }
}

fn table(reports: &[Report]) -> String {
    let row = |name: &str, version: &str, connected: &str, said: &str| {
        let said: String = said.replace('\n', " ").chars().take(LONGEST_WORDS).collect();
        format!("{name:<8} | {version:<10} | {connected:<9} | {said}")
    };
    let mut lines = vec![row("client", "version", "connected", "what it said")];
    for report in reports {
        let connected = if report.connected { "yes" } else { "NO" };
        lines.push(row(report.name, &report.version, connected, &report.said));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_word_connected_counts_as_connected() {
        for line in ["postrider: URL (HTTP) - ✔ Connected", "✓ postrider: URL (http) - Connected"] {
            assert_eq!(connected_line(&format!("Checking…\n\n{line}\n")).unwrap(), line);
        }
        for line in [
            "postrider: URL (HTTP) - ✗ Failed to connect",
            "✗ postrider: URL (http) - Disconnected",
            "postrider: URL (HTTP) - ! Needs authentication",
            "postrider: URL - Not Connected",
            "other: URL (HTTP) - ✔ Connected",
            "",
        ] {
            assert!(connected_line(line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_client_sees_no_home_but_its_own() {
        let client = Client { program: "client".into(), home: tempfile::tempdir().unwrap(), path: "/made/up".into() };
        let command = client.command(&["mcp", "list"]);
        let home = command.get_envs().find(|(name, _)| *name == "HOME").and_then(|(_, value)| value).unwrap();
        assert_eq!(home, client.home.path());
        assert_eq!(command.get_current_dir(), Some(client.home.path()));
    }

    #[test]
    fn the_table_has_a_line_for_each_client() {
        let report = |connected| Report { name: "codex", version: "1.2".into(), said: "a\nb".into(), connected };
        let table = table(&[report(true), report(false)]);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[1].contains("yes") && lines[2].contains("NO") && lines[1].ends_with("a b"));
    }

    #[test]
    #[ignore = "installs three clients from npm; run it by name when a pinned version changes"]
    fn every_client_installs_and_tells_its_version() {
        let bench = Bench::provide(&crate::root()).unwrap();
        for (name, pin) in [("claude", CLAUDE), ("codex", CODEX), ("gemini", GEMINI)] {
            assert_eq!(version(&Client::new(&bench, name).unwrap()).unwrap(), pin.version);
        }
    }
}
