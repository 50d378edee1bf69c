//! A post office of its own: its settings, its processes, and what its database says.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rusqlite::{Connection, OpenFlags};

use super::{CHANNEL, meter};
use crate::mailboxes::{DATABASE, PROJECT};
use crate::process::Server;
use crate::setting::Setting;

/// How long anything may take that is waited for.
const PATIENCE: Duration = Duration::from_secs(300);
/// How long after each other something is looked at that is waited for.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// A home folder.
pub struct Home {
    path: PathBuf,
}

impl Home {
    /// A new one with these settings.
    pub fn make(setting: &Setting, settings: &str) -> anyhow::Result<Self> {
        let path = setting.fresh_folder()?;
        std::fs::write(path.join("postrider.toml"), settings)?;
        Ok(Self { path })
    }

    /// Another with the same mail and other settings. Nobody may use the first.
    pub fn copy(&self, setting: &Setting, settings: &str) -> anyhow::Result<Self> {
        let path = setting.fresh_folder()?;
        for entry in std::fs::read_dir(&self.path)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                std::fs::copy(entry.path(), path.join(entry.file_name()))?;
            }
        }
        std::fs::write(path.join("postrider.toml"), settings)?;
        Ok(Self { path })
    }

    /// Starts a server over it.
    pub fn serve(&self, setting: &Setting) -> anyhow::Result<Server> {
        Server::start(setting, &self.path, &[])
    }

    /// Starts a watcher over it, and comes back when it watches.
    pub fn watch(&self, setting: &Setting, agent: &str, command: &[&str]) -> anyhow::Result<Running> {
        let mut watch = Command::new(&setting.binary);
        watch.env_clear().env("POSTRIDER_HOME", &self.path).env("PATH", "/usr/bin:/bin").current_dir(&self.path);
        watch.args(["watch", "--json", "--project", PROJECT, "--agent", agent, "--channel", CHANNEL, "--since", "now"]);
        watch.arg("--").args(command).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut running = Running(watch.spawn().context("cannot start a watcher")?);
        let mut output = BufReader::new(running.0.stdout.take().context("a watcher without output")?);
        let mut line = String::new();
        output.read_line(&mut line)?;
        ensure!(line.contains("\"watching\""), "a watcher that began with '{line}'");
        // It tells of each message, and may not wait for somebody who reads that.
        std::thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
        Ok(running)
    }

    /// A number that the database tells; zero while there is no such table.
    pub fn ask(&self, question: &str) -> i64 {
        let database = self.path.join(DATABASE);
        let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY);
        connection.and_then(|connection| connection.query_row(question, [], |row| row.get(0))).unwrap_or(0)
    }

    /// How many foreign messages were taken in.
    pub fn taken_in(&self) -> usize {
        usize::try_from(self.ask("SELECT count(*) FROM arrival")).unwrap_or(0)
    }
}

/// A process that is killed when this is dropped.
pub struct Running(pub Child);

impl Running {
    /// What it has used so far, and uses from now on.
    pub fn meter(&self) -> meter::Meter {
        meter::Meter::of(self.0.id())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that is gone already cannot be killed, which is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Looks until it is so.
pub fn until(what: &str, mut is_so: impl FnMut() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let begun = Instant::now();
    while !is_so()? {
        ensure!(begun.elapsed() < PATIENCE, "not within {} s: {what}", PATIENCE.as_secs());
        std::thread::sleep(BETWEEN_LOOKS);
    }
    Ok(())
}
