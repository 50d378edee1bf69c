//! Running other programs: as a step that a developer watches, or quietly with a deadline.
//!
//! What the programs are for is none of this module's business.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// The cargo that runs us, or the one on the path.
pub fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

/// Whether a build machine asks, so that what cannot run is a failure.
pub fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

/// Whether the program is there and answers to these arguments.
pub fn answers(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Says what begins, does it, and says how long it took; fails when it does.
pub fn timed<T>(title: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    println!("==> {title}");
    let start = Instant::now();
    let outcome = work();
    let verdict = if outcome.is_ok() { "done" } else { "FAILED" };
    println!("    {verdict} after {:.1} s: {title}", start.elapsed().as_secs_f64());
    outcome
}

/// Runs a command as a step, with its output in the open.
pub fn step(command: &mut Command) -> Result<()> {
    let title = title(command);
    timed(&title, || {
        let status = command.status().with_context(|| format!("`{title}` cannot be run"))?;
        if status.success() { Ok(()) } else { bail!("`{title}` failed with {status}") }
    })
}

fn title(command: &Command) -> String {
    let program = command.get_program().to_string_lossy();
    let name = program.rsplit('/').next().unwrap_or_default().to_owned();
    let arguments = command.get_args().map(|argument| argument.to_string_lossy().into_owned());
    std::iter::once(name).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// What a program wrote before it ended.
pub struct Said {
    /// How it ended.
    pub status: ExitStatus,
    /// Standard output, then standard error.
    pub text: String,
}

/// Runs a command quietly and returns what it said; after `limit` it is ended with all that it started.
pub fn listen(command: &mut Command, limit: Duration) -> Result<Said> {
    let title = title(command);
    let mut group = Group::start(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()))?;
    let (sender, receiver) = mpsc::channel();
    let readers = [
        group.child.stdout.take().map(|pipe| read_aside(pipe, sender.clone())),
        group.child.stderr.take().map(|pipe| read_aside(pipe, sender.clone())),
    ];
    drop(sender);
    let deadline = Instant::now() + limit;
    // Both pipes close when the program, and whatever it left behind, has ended.
    loop {
        match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(()) => {}
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => bail!("`{title}` had not ended after {} s", limit.as_secs()),
        }
    }
    let status = group.child.wait()?;
    let mut text = String::new();
    for reader in readers.into_iter().flatten() {
        let bytes = reader.join().unwrap_or_default();
        text.push_str(&String::from_utf8_lossy(&bytes));
    }
    Ok(Said { status, text })
}

fn read_aside(mut pipe: impl Read + Send + 'static, done: mpsc::Sender<()>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // A pipe that breaks has said all it will say.
        let _ = pipe.read_to_end(&mut bytes);
        drop(done);
        bytes
    })
}

/// A program with all that it starts, ended together when this value goes.
pub struct Group {
    /// The program itself.
    pub child: Child,
}

impl Group {
    /// Starts the command in a process group of its own.
    pub fn start(command: &mut Command) -> Result<Self> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let child = command.spawn().with_context(|| format!("`{}` cannot be run", title(command)))?;
        Ok(Self { child })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The group may be gone already; then there is nothing to end.
        #[cfg(unix)]
        answers("kill", &["-KILL", "--", &format!("-{}", self.child.id())]);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_a_program_says_on_both_pipes_is_heard() {
        let said = listen(&mut shell("echo out; echo err >&2; exit 3"), Duration::from_secs(30)).unwrap();
        assert_eq!(said.text, "out\nerr\n");
        assert_eq!(said.status.code(), Some(3));
    }

    #[test]
    fn a_program_that_never_ends_is_ended() {
        let start = Instant::now();
        let outcome = listen(&mut shell("sleep 600 & sleep 600"), Duration::from_millis(100));
        assert!(outcome.is_err_and(|problem| problem.to_string().contains("had not ended")));
        assert!(start.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn a_failing_step_is_an_error_that_names_the_command() {
        let problem = step(Command::new("sh").args(["-c", "exit 4"])).unwrap_err().to_string();
        assert!(problem.starts_with("`sh -c exit 4` failed"), "{problem}");
    }

    #[test]
    fn only_programs_that_are_there_answer() {
        assert!(answers("sh", &["-c", "exit 0"]));
        assert!(!answers("sh", &["-c", "exit 1"]));
        assert!(!answers("no-such-program-of-this-name", &[]));
    }
}
