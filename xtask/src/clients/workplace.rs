//! A place to work at for a client and its agent: a repository with mail, and nothing of the developer's own.
//!
//! Two agents are there: ours, which the client runs, and another, which writes to it and reserves files. What is found
//! out here is for `hooks`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::model::{Model, Step};
use super::vendor::Vendor;
use super::{Bench, Client, LIMIT};
use crate::process::listen;

/// The agent that the client runs.
pub const OURS: &str = "GreenDog";
/// The agent that writes to it.
pub const OTHER: &str = "BlueLake";

/// A client in its repository.
pub struct Workplace {
    /// Whose client it is.
    pub vendor: Vendor,
    client: Client,
    /// Our program.
    pub postrider: PathBuf,
}

impl Workplace {
    /// Makes the repository, lets both agents join, and installs the hooks.
    pub fn provide(bench: &Bench, vendor: Vendor) -> Result<Self> {
        let mut client = Client::new(bench, vendor.client())?;
        let postrider = bench.root.join("target/debug/postrider");
        let own = postrider.parent().map(Path::to_owned).into_iter();
        client.path = std::env::join_paths(own.chain(std::env::split_paths(&client.path)))?;
        let place = Self { vendor, client, postrider };
        let home = place.client.home.path();
        // Codex wants its folder to be there.
        for folder in [place.repository(), home.join("codex")] {
            fs::create_dir_all(folder)?;
        }
        if let Some((path, content)) = vendor.setting(&place.repository()) {
            let path = home.join(path);
            fs::create_dir_all(path.parent().context("a setting is in a folder")?)?;
            fs::write(path, content)?;
        }
        fs::write(place.file("notes.txt"), "notes\n")?;
        heard(Command::new("git").args(["init", "--quiet"]).current_dir(place.repository()))?;
        for agent in [OURS, OTHER] {
            heard(&mut place.postrider(&["join", agent]))?;
        }
        heard(&mut place.postrider(&["install", vendor.client()]))?;
        Ok(place)
    }

    /// A file of the repository.
    pub fn file(&self, name: &str) -> PathBuf {
        self.repository().join(name)
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

    /// From whom the other agent has mail, newest first.
    pub fn senders(&self) -> Result<Vec<String>> {
        let inbox = heard(&mut self.postrider(&["mail", "inbox", "--as", OTHER, "--json"]))?;
        let inbox: Value = serde_json::from_str(&inbox).context("the inbox is no JSON")?;
        let from = |message: &Value| message["from"].as_str().unwrap_or_default().to_owned();
        Ok(inbox.as_array().into_iter().flatten().map(from).collect())
    }

    /// Runs a session of our agent to its end, with a model that takes these steps. Returns what the model was asked.
    pub fn session(&self, steps: Vec<Step>) -> Result<Vec<String>> {
        self.session_of(Some(OURS), steps)
    }

    /// The same in the name of an agent, or in whatever name the session is given.
    pub fn session_of(&self, agent: Option<&str>, steps: Vec<Step>) -> Result<Vec<String>> {
        let model = Model::start(self.vendor, steps)?;
        let start = self.vendor.start(&model.url(), "Please do your work.");
        let arguments: Vec<&str> = start.arguments.iter().map(String::as_str).collect();
        let mut client = self.client.command(&arguments);
        client.envs(start.environment).envs(agent.map(|name| ("POSTRIDER_AGENT", name)));
        let said = heard(self.settled(&mut client))?;
        let questions = model.questions()?;
        if questions.is_empty() { bail!("the model was not asked: {}", said.trim()) } else { Ok(questions) }
    }

    fn repository(&self) -> PathBuf {
        self.client.home.path().join("repository")
    }

    fn postrider(&self, arguments: &[&str]) -> Command {
        let mut command = self.client.fresh(&self.postrider, arguments);
        self.settled(&mut command);
        command
    }

    fn settled<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.current_dir(self.repository()).env("POSTRIDER_HOME", self.client.home.path().join("mail"))
    }
}

/// Runs a command quietly to its end; fails with what it said.
pub fn heard(command: &mut Command) -> Result<String> {
    let said = listen(command, LIMIT)?;
    if said.status.success() { Ok(said.text) } else { bail!("{}: {}", said.status, said.text.trim()) }
}
