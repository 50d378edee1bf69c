//! A place to work at for a client and its agent: a home, a repository with mail, and nothing of the developer's own.
//!
//! Two agents are there: ours, which the client runs, and another, which writes to it and reserves files. What is found
//! out here is for `promises`. All that was started here ends with the value.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::bench::{Bench, forget_own_settings};
use super::model::{Model, Step};
use super::remains;
use super::table::Row;
use super::terminal::Terminal;
use crate::process::{Group, listen};

/// The agent that the client runs.
pub const OURS: &str = "GreenDog";
/// The agent that writes to it.
pub const OTHER: &str = "BlueLake";

/// What a session is told, when it does not matter.
pub const PROMPT: &str = "Please do your work.";

/// How long a session without a terminal may take, and a client until it can be typed into.
const LIMIT: Duration = Duration::from_secs(90);
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// How much of an answer shows a cause, in characters.
const LONGEST_ANSWER: usize = 500;

/// A client in its repository.
pub struct Place {
    /// The client.
    pub row: &'static Row,
    /// Its model.
    pub model: Model,
    /// Our program.
    pub postrider: PathBuf,
    program: PathBuf,
    path: OsString,
    home: TempDir,
    /// How many terminals were opened.
    opened: AtomicUsize,
}

impl Place {
    /// Makes the repository, lets both agents join, and tells the client of us.
    pub fn provide(bench: &Bench, row: &'static Row) -> Result<Self> {
        let place = Self::without_us(bench, row)?;
        place.install()?;
        if row.fetches_first {
            place.session(Vec::new())?;
        }
        Ok(place)
    }

    /// The same with a client that has not heard of us.
    pub fn without_us(bench: &Bench, row: &'static Row) -> Result<Self> {
        let home = bench.home()?;
        let postrider = bench.bring_postrider(home.path())?;
        let (model, path) = (Model::start(row.speech)?, bench.path(row, &postrider)?);
        let place =
            Self { row, model, postrider, program: bench.program(row), path, home, opened: AtomicUsize::new(0) };
        for folder in ["repository", "run"] {
            fs::create_dir_all(place.home().join(folder))?;
        }
        private(&place.home().join("run"))?;
        place.write_all(&(row.files)(&place))?;
        fs::write(place.file("notes.txt"), "notes\n")?;
        heard(Command::new("git").args(["init", "--quiet"]).current_dir(place.repository()))?;
        for agent in [OURS, OTHER] {
            heard(&mut place.postrider(&["join", agent]))?;
        }
        Ok(place)
    }

    /// Tells the client of us.
    pub fn install(&self) -> Result<String> {
        heard(&mut self.postrider(&["install", self.row.name, "--scope", self.row.scopes[0]]))
    }

    /// The home folder.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Where the client works.
    pub fn repository(&self) -> PathBuf {
        self.home().join("repository")
    }

    /// A file of the repository.
    pub fn file(&self, name: &str) -> PathBuf {
        self.repository().join(name)
    }

    /// Writes files below the home.
    pub fn write_all(&self, files: &[(String, String)]) -> Result<()> {
        for (path, content) in files {
            let path = self.home().join(path);
            fs::create_dir_all(path.parent().context("a file is in a folder")?)?;
            fs::write(&path, content).with_context(|| format!("writing {}", path.display()))?;
        }
        Ok(())
    }

    /// Starts a server of ours, and waits for its socket in the home folder.
    pub fn serve(&self) -> Result<Group> {
        let mut command = self.postrider(&["serve", "--port", "0"]);
        let server = Group::start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()))?;
        let (socket, deadline) = (self.home().join(".postrider/postrider.sock"), Instant::now() + LIMIT);
        while !socket.exists() {
            ensure!(Instant::now() < deadline, "the server has no socket");
            thread::sleep(BETWEEN_LOOKS);
        }
        Ok(server)
    }

    /// The command by which the other agent sends a message.
    pub fn send(&self, subject: &str, body: &str, more: &[&str]) -> Command {
        let message = ["mail", "send", OURS, "--as", OTHER, "-s", subject, "-m", body];
        self.postrider(&[&message, more].concat())
    }

    /// The other agent reserves a file of the repository. Says until when.
    pub fn reserve(&self, name: &str) -> Result<String> {
        let paths =
            json!({ "project_key": self.repository(), "agent_name": OTHER, "paths": [name], "exclusive": true });
        let params = json!({ "name": "file_reservation_paths", "arguments": paths });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let mut stdio = self.postrider(&["stdio"]);
        let mut child = stdio.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        // The end of its input is the end of the server.
        writeln!(child.stdin.take().context("a pipe")?, "{call}")?;
        let said = child.wait_with_output()?.stdout;
        let answer: Value = serde_json::from_slice(&said).context("the server gave no answer")?;
        let until = answer["result"]["structuredContent"]["granted"][0]["expires_ts"].as_str();
        Ok(until.with_context(|| format!("the file is not reserved: {answer}"))?.to_owned())
    }

    /// The mail of the other agent, oldest first: from whom, and the subject.
    pub fn inbox(&self) -> Result<Vec<(String, String)>> {
        let inbox = heard(&mut self.postrider(&["mail", "inbox", "--as", OTHER, "--json"]))?;
        let inbox: Value = serde_json::from_str(&inbox).context("the inbox is no JSON")?;
        let text = |message: &Value, member: &str| message[member].as_str().unwrap_or_default().to_owned();
        let messages = inbox.as_array().into_iter().flatten();
        Ok(messages.map(|message| (text(message, "from"), text(message, "subject"))).collect())
    }

    /// Runs a session of our agent to its end, with a model that takes these steps. Returns what the model was asked.
    pub fn session(&self, steps: Vec<Step>) -> Result<Vec<String>> {
        self.run(Some(OURS), &(self.row.once)(self, PROMPT), steps)
    }

    /// The same with other words behind the client's name, and in the name of an agent or whatever name the session is given.
    pub fn run(&self, agent: Option<&str>, words: &[String], steps: Vec<Step>) -> Result<Vec<String>> {
        self.model.script(steps);
        let said = heard(&mut self.client(agent, words));
        let questions = self.model.questions()?;
        let questions: Vec<String> = questions.into_iter().map(|question| question.text).collect();
        match said {
            Ok(said) if questions.is_empty() => bail!("the model was not asked: {}", said.trim()),
            Ok(_) => Ok(questions),
            Err(problem) => Err(problem),
        }
    }

    /// What the last tool answered, for whoever looks for a cause.
    pub fn last_answer(&self) -> Result<String> {
        const BEGINNINGS: [&str; 4] = ["functionResponse", "tool_result", "function_call_output", r#""role":"tool""#];
        let text = self.model.questions()?.pop().map(|question| question.text).unwrap_or_default();
        let start = BEGINNINGS.iter().filter_map(|beginning| text.rfind(beginning)).max().unwrap_or(0);
        Ok(text[start..].chars().take(LONGEST_ANSWER).collect())
    }

    /// Opens a session at a terminal and waits until it can be typed into.
    pub fn open(&self, agent: Option<&str>, more: &[&str]) -> Result<Terminal> {
        let mut words = (self.row.open)(self);
        words.extend(more.iter().map(|word| (*word).to_owned()));
        // One that ends may still hold its socket.
        let socket = self.home().join(format!("tmux{}", self.opened.fetch_add(1, Ordering::Relaxed)));
        let terminal = Terminal::start(&socket, &self.client(agent, &words))?;
        let keys = &self.row.keys;
        terminal.ready(keys.ready, keys.dialogs, LIMIT).with_context(|| terminal.screen())?;
        Ok(terminal)
    }

    /// The first word of `--version` that begins with a digit.
    pub fn version(&self) -> Result<String> {
        let said = heard(&mut self.client(None, &["--version".to_owned()]))?;
        let words = said.split(|c: char| c.is_whitespace() || c == '/').map(|word| word.trim_end_matches([',', '.']));
        let number = words.map(|word| word.trim_start_matches('v')).find(|word| is_version(word));
        number.map(str::to_owned).with_context(|| format!("no version in: {said}"))
    }

    /// Our program, as the other agent or a person runs it.
    pub fn postrider(&self, arguments: &[&str]) -> Command {
        let mut command = self.fresh(&self.postrider);
        command.args(arguments);
        command
    }

    fn client(&self, agent: Option<&str>, words: &[String]) -> Command {
        let mut command = self.fresh(&self.program);
        command.args(words).envs((self.row.environment)(self)).envs(agent.map(|name| ("POSTRIDER_AGENT", name)));
        command
    }

    /// A program at this place. Nothing of the developer's own settings or logins reaches it.
    fn fresh(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        forget_own_settings(&mut command);
        let home = self.home();
        // Some clients believe this rather than where they are.
        command.env("PWD", self.repository());
        command.current_dir(self.repository()).env("HOME", home).env("PATH", &self.path).env("NO_COLOR", "1");
        command.env("XDG_RUNTIME_DIR", home.join("run"));
        command
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !remains::end(self.home()) {
            println!("    something that {} started does not end", self.row.title);
        }
    }
}

/// Whether a word is a version: three numbers or more.
fn is_version(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit()) && word.split('.').count() >= 3
}

#[cfg(unix)]
fn private(folder: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?)
}

#[cfg(not(unix))]
fn private(_folder: &Path) -> Result<()> {
    Ok(())
}

/// Runs a command quietly to its end; fails with what it said.
pub fn heard(command: &mut Command) -> Result<String> {
    let said = listen(command, LIMIT)?;
    if said.status.success() { Ok(said.text) } else { bail!("{}: {}", said.status, said.text.trim()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_has_three_numbers() {
        assert!(is_version("2.1.328") && is_version("0.169.0-alpha.1"));
        assert!(!is_version("1.2") && !is_version("codex-cli") && !is_version(""));
    }
}
