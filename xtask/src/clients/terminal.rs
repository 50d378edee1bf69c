//! A client at a terminal: a tmux server of its own, keys that are typed, and what is on the screen.
//!
//! What the keys mean is for the table of clients. The terminal ends with the value, and what the client left behind with
//! [`super::remains`].

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::process::{answers, listen};

const LIMIT: Duration = Duration::from_secs(10);
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);
/// How long a screen stands still before it counts as still.
const STILL: Duration = Duration::from_millis(1_500);
/// Between the text of a line and the key that ends it: a client takes what comes at once for a paste.
const BEFORE_ENTER: Duration = Duration::from_millis(300);

/// A screen on which a client asks something, and the keys that answer.
pub type Dialog = (&'static str, &'static [&'static str]);

/// A terminal in which a client runs.
pub struct Terminal {
    socket: PathBuf,
}

impl Terminal {
    /// Starts the client; the command's environment and folder are the terminal's.
    pub fn start(socket: &Path, client: &Command) -> Result<Self> {
        let mut tmux = Command::new("tmux");
        for (name, value) in client.get_envs() {
            match value {
                Some(value) => tmux.env(name, value),
                None => tmux.env_remove(name),
            };
        }
        tmux.env_remove("TMUX").env_remove("TMUX_PANE").env("TERM", "xterm-256color");
        if let Some(folder) = client.get_current_dir() {
            tmux.current_dir(folder);
        }
        tmux.arg("-S").arg(socket).args(["-f", "/dev/null", "new-session", "-d", "-x", "180", "-y", "50", "--"]);
        tmux.arg(client.get_program()).args(client.get_args());
        let said = listen(&mut tmux, LIMIT).context("the terminal")?;
        if !said.status.success() {
            bail!("tmux: {}", said.text.trim());
        }
        let terminal = Self { socket: socket.to_owned() };
        // What it says last is still to be read when it has ended.
        terminal.tmux(&["set-option", "-g", "remain-on-exit", "on"])?;
        Ok(terminal)
    }

    /// What is on the screen.
    pub fn screen(&self) -> String {
        let screen = self.tmux(&["capture-pane", "-p"]).unwrap_or_default();
        // Most of it is empty.
        let lines = screen.lines().map(str::trim_end).filter(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Presses keys, by the names that tmux has for them.
    pub fn press(&self, keys: &[&str]) -> Result<()> {
        for key in keys {
            self.tmux(&["send-keys", key])?;
            thread::sleep(BEFORE_ENTER);
        }
        Ok(())
    }

    /// Types a line and ends it.
    pub fn line(&self, text: &str) -> Result<()> {
        self.tmux(&["send-keys", "-l", text])?;
        thread::sleep(BEFORE_ENTER);
        self.press(&["Enter"])
    }

    /// Waits for a text on a screen that stands still, and answers what the client asks on the way.
    pub fn ready(&self, text: &str, dialogs: &[Dialog], limit: Duration) -> Result<()> {
        let deadline = Instant::now() + limit;
        loop {
            let screen = self.still(deadline)?;
            if let Some((_, keys)) = dialogs.iter().find(|(asked, _)| screen.contains(asked)) {
                self.press(keys)?;
            } else if screen.contains(text) {
                return Ok(());
            }
            if Instant::now() >= deadline {
                bail!("the terminal does not show '{text}'");
            }
        }
    }

    /// Waits until the screen stands still, and returns it.
    fn still(&self, deadline: Instant) -> Result<String> {
        let (mut screen, mut since) = (self.screen(), Instant::now());
        loop {
            thread::sleep(BETWEEN_LOOKS);
            let now = self.screen();
            if now != screen {
                (screen, since) = (now, Instant::now());
            } else if since.elapsed() >= STILL || Instant::now() >= deadline {
                return Ok(screen);
            }
        }
    }

    /// Waits until the client has ended.
    pub fn end(&self, limit: Duration) -> Result<()> {
        let deadline = Instant::now() + limit;
        while Instant::now() < deadline {
            if self.tmux(&["display-message", "-p", "#{pane_dead}"]).map_or(true, |dead| dead.trim() == "1") {
                return Ok(());
            }
            thread::sleep(BETWEEN_LOOKS);
        }
        bail!("the client did not end within {} s", limit.as_secs())
    }

    fn tmux(&self, words: &[&str]) -> Result<String> {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.socket).args(words);
        let said = listen(&mut command, LIMIT)?;
        if said.status.success() { Ok(said.text) } else { bail!("tmux: {}", said.text.trim()) }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may be gone with its client.
        answers("tmux", &["-S", &self.socket.to_string_lossy(), "kill-server"]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_at_a_terminal_is_answered_and_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo Trust this?; read answer; clear; echo ready $answer; read line; echo said $line"]);
        shell.current_dir(folder.path());
        let terminal = Terminal::start(&folder.path().join("tmux"), &shell).unwrap();
        terminal.ready("ready 1", &[("Trust this?", &["1", "Enter"])], LIMIT).unwrap();
        terminal.line("hello").unwrap();
        terminal.end(LIMIT).unwrap();
        assert!(terminal.screen().contains("said hello"), "{}", terminal.screen());
    }
}
