//! A server in a process of its own: started, asked what it costs, and stopped.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::Value;

use crate::caller::Caller;
use crate::load::{self, Outcome, Pace};
use crate::setting::Setting;
use crate::wire::Request;

/// How long a server may take to stop when it is asked to.
const LONGEST_GOODBYE: Duration = Duration::from_secs(30);
/// What Linux counts processor time in, for every program: a hundredth of a second.
const TICK: Duration = Duration::from_millis(10);

/// A server that runs. Dropping it kills it.
pub struct Server {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Server {
    /// Starts the measured binary over the mail in `home`, on a free port.
    pub fn start(setting: &Setting, home: &Path, more: &[&str]) -> anyhow::Result<Self> {
        let mut command = Command::new(&setting.binary);
        // Nothing of the caller's own settings may reach what is measured.
        command.env_clear().env("POSTRIDER_HOME", home).current_dir(home);
        command.args(["serve", "--port", "0", "--json"]).args(more);
        Self::spawn(command)
    }

    /// Starts the measured binary over the mail in a PostgreSQL database, on a free port.
    pub fn start_over(setting: &Setting, database: &str) -> anyhow::Result<Self> {
        let home = setting.fresh_folder()?;
        let mut command = Command::new(&setting.binary);
        command.env_clear().env("POSTRIDER_HOME", &home).env("POSTRIDER_DATABASE", database).current_dir(home);
        command.args(["serve", "--port", "0", "--json"]);
        Self::spawn(command)
    }

    /// Starts the bare server that the measured one is compared with.
    pub fn start_echo() -> anyhow::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["echo", "--port", "0"]);
        Self::spawn(command)
    }

    /// Starts a program that says where it listens, as `{"url":…}` in its first line.
    fn spawn(mut command: Command) -> anyhow::Result<Self> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cannot start a server")?;
        let mut server = Self { child, address: SocketAddr::from(([127, 0, 0, 1], 0)) };
        let stdout = server.child.stdout.as_mut().context("a server without output")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let told: Value = serde_json::from_str(&line).with_context(|| format!("a server that began with '{line}'"))?;
        let url = told["url"].as_str().context("a server that does not say where it listens")?;
        let host = url.split('/').nth(2).unwrap_or_default();
        server.address = host.parse().with_context(|| format!("a server that listens on '{url}'"))?;
        Ok(server)
    }

    /// The number of its process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// A new connection to it.
    pub fn caller(&self) -> anyhow::Result<Caller> {
        Caller::connect(self.address)
    }

    /// How much memory it holds, in bytes.
    pub fn memory(&self) -> anyhow::Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS in /proc")?;
        let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kilobytes * 1024.0)
    }

    /// How much processor time it has used.
    pub fn processor_time(&self) -> anyhow::Result<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The name of the program stands in brackets and may hold anything; numbers follow.
        let numbers = stat.rsplit(") ").next().unwrap_or_default();
        let ticks = numbers.split(' ').skip(11).take(2).map(str::parse::<u32>).sum::<Result<u32, _>>()?;
        Ok(TICK * ticks)
    }

    /// Puts a load on it; also returns how much processor time each answer cost it.
    pub fn load(&self, requests: &Arc<[Request]>, clients: usize, pace: Pace) -> anyhow::Result<(Outcome, Duration)> {
        let before = self.processor_time()?;
        let outcome = load::run(&[self.address], requests, clients, pace)?;
        let used = self.processor_time()?.saturating_sub(before);
        let answers = u32::try_from(outcome.answered).unwrap_or(u32::MAX).max(1);
        Ok((outcome, used / answers))
    }

    /// Asks it to stop, and waits until it has.
    pub fn stop(mut self) -> anyhow::Result<()> {
        let asked = Command::new("kill").arg(self.child.id().to_string()).status().context("cannot run kill")?;
        let deadline = Instant::now() + LONGEST_GOODBYE;
        while asked.success() && Instant::now() < deadline {
            if let Some(status) = self.child.try_wait()? {
                anyhow::ensure!(status.success(), "a server stopped with {status}");
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        bail!("a server did not stop")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that is gone already cannot be killed, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
