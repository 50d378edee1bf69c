//! A server that runs for the length of a command, on a free port and with a home of its own.
//!
//! It is ended when the value goes, however the command ends. What it says goes to a file, so that it never waits for a
//! reader.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::process::{cargo, step};

const READY_WITHIN: Duration = Duration::from_secs(20);
const BETWEEN_QUESTIONS: Duration = Duration::from_millis(50);
const LONGEST_ANSWER: u64 = 4096;

/// A server that answers.
pub struct Running {
    child: Child,
    address: SocketAddr,
    log: PathBuf,
    _home: TempDir,
}

impl Running {
    /// Builds the binary, starts it, and waits until it says that it is ready.
    pub fn start(root: &Path) -> Result<Self> {
        step(Command::new(cargo()).args(["build", "--locked", "-p", "cli"]).current_dir(root))?;
        Self::start_built(root, "postrider")
    }

    /// Starts a program that is built, and waits until it says that it is ready.
    pub fn start_built(root: &Path, name: &str) -> Result<Self> {
        Self::start_program(&root.join("target/debug").join(name), &root.join("target/running.log"))
    }

    fn start_program(program: &Path, log: &Path) -> Result<Self> {
        let home = tempfile::tempdir().context("a home for the server")?;
        let address = free_address()?;
        let output = File::create(log).with_context(|| format!("creating {}", log.display()))?;
        let mut command = Command::new(program);
        // A developer's own settings must not change what is tested.
        let own_settings = std::env::vars_os().map(|(name, _)| name).filter(|name| {
            let name = name.to_string_lossy();
            ["POSTRIDER_", "AGENT_MAIL_", "GC_"].iter().any(|prefix| name.starts_with(prefix))
        });
        for name in own_settings {
            command.env_remove(name);
        }
        command.args(["serve", "--port", &address.port().to_string()]).env("POSTRIDER_HOME", home.path());
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let child = command.spawn().with_context(|| format!("`{}` cannot be run", program.display()))?;
        let mut running = Self { child, address, log: log.to_owned(), _home: home };
        running.wait_until_ready()?;
        Ok(running)
    }

    /// Where MCP is served.
    pub fn mcp_url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Fails with the server's last words when it has ended, so that nobody looks for the cause in its silence.
    pub fn check_alive(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            Some(status) => bail!("the server ended with {status}. It said:\n{}", self.said()),
            None => Ok(()),
        }
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let start = Instant::now();
        while start.elapsed() < READY_WITHIN {
            self.check_alive()?;
            if is_ready(self.address) {
                return Ok(());
            }
            thread::sleep(BETWEEN_QUESTIONS);
        }
        bail!("the server was not ready within {} s. It said:\n{}", READY_WITHIN.as_secs(), self.said())
    }

    fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address on which nobody listens at the moment.
fn free_address() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port")?;
    Ok(listener.local_addr()?)
}

fn is_ready(address: SocketAddr) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        let question = format!("GET /health/readiness HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(question.as_bytes())?;
        let mut answer = Vec::new();
        stream.take(LONGEST_ANSWER).read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    };
    ask().is_ok_and(|answer| answer.starts_with("HTTP/1.1 200 "))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};

    use super::*;

    fn answer_once(status: &'static str) -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let asked =
                BufReader::new(&stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty()).count();
            assert!(asked > 0);
            write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").unwrap();
        });
        address
    }

    #[test]
    fn only_a_server_that_says_200_is_ready() {
        assert!(is_ready(answer_once("200 OK")));
        assert!(!is_ready(answer_once("503 Service Unavailable")));
        assert!(!is_ready(free_address().unwrap()));
    }

    #[test]
    fn a_server_that_ends_at_once_is_reported_with_its_words() {
        let folder = tempfile::tempdir().unwrap();
        // The shell takes `serve` for a script that it cannot find.
        let outcome = Running::start_program(Path::new("sh"), &folder.path().join("log"));
        let problem = outcome.err().unwrap().to_string();
        assert!(problem.contains("the server ended with exit status") && problem.contains("serve"), "{problem}");
    }

    #[cfg(unix)]
    #[test]
    fn the_server_is_ended_with_the_value() {
        let child = Command::new("sleep").arg("600").spawn().unwrap();
        let number = child.id().to_string();
        let (log, home) = (PathBuf::new(), tempfile::tempdir().unwrap());
        let running = Running { child, address: free_address().unwrap(), log, _home: home };
        assert!(crate::process::answers("kill", &["-0", &number]));
        drop(running);
        assert!(!crate::process::answers("kill", &["-0", &number]));
    }
}
