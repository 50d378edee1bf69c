//! Which processes are above ours, whether one still runs, and what it runs.
//!
//! A process is known by its number and the time it began, because numbers are used again. It is read from `/proc`; where there
//! is none, nothing is known, and no session is found this way.

use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How far up is looked.
const HIGHEST: usize = 64;
/// Programs that only run others. A client starts our hooks through them. Deliberately absent: `npm` and `npx`, whose process calls
/// itself by what it runs, and stands above a client and not below it.
const SHELLS: [&str; 20] = [
    "sh", "bash", "dash", "zsh", "fish", "ksh", "mksh", "ash", "rbash", "yash", "csh", "tcsh", "nu", "pwsh", "xonsh",
    "elvish", "busybox", "env", "timeout", "xargs",
];

/// A process of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it began, in ticks of the system.
    pub started: u64,
}

/// A process above ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ancestor {
    /// The process.
    pub process: Process,
    /// The name of its program.
    pub name: String,
}

impl Ancestor {
    /// Whether it only runs another program.
    pub fn is_shell(&self) -> bool {
        SHELLS.contains(&self.name.trim_start_matches('-'))
    }
}

impl Process {
    /// Whether it still runs. One that ended and was not waited for does not.
    pub fn is_running(self) -> bool {
        self.stat().is_some_and(|stat| !matches!(stat.state, 'Z' | 'X'))
    }

    /// Whether its user has stopped it, so that it does nothing until it is continued.
    pub fn is_stopped(self) -> bool {
        self.stat().is_some_and(|stat| matches!(stat.state, 'T' | 't'))
    }

    /// This process.
    pub fn own() -> Option<Self> {
        let pid = std::process::id();
        stat(pid).map(|stat| Self { pid, started: stat.started })
    }

    /// The file that it runs.
    pub fn program(self) -> Option<PathBuf> {
        self.stat()?;
        fs::read_link(format!("/proc/{}/exe", self.pid)).ok()
    }

    /// Whether a person may look at what it does: it has a terminal, or another process that runs a program of that name has one. The
    /// name, not the file: the process that all terminals of Codex share runs a copy of its own.
    pub fn has_terminal(self) -> bool {
        let Some(stat) = self.stat() else { return false };
        if stat.terminal != 0 {
            return true;
        }
        let Some(program) = self.program() else { return false };
        let Ok(processes) = fs::read_dir("/proc") else { return false };
        let mut pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.any(|pid| {
            fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|other| other.file_name() == program.file_name())
                && self::stat(pid).is_some_and(|stat| stat.terminal != 0)
        })
    }

    fn stat(self) -> Option<Stat> {
        stat(self.pid).filter(|stat| stat.started == self.started)
    }
}

/// The processes above this one, the nearest first.
pub fn ancestors() -> Vec<Ancestor> {
    let mut above = Vec::new();
    let mut next = stat(std::process::id()).map(|stat| stat.parent);
    while let Some(pid) = next.filter(|pid| *pid > 0 && above.len() < HIGHEST) {
        let Some(stat) = stat(pid) else { break };
        above.push(Ancestor { process: Process { pid, started: stat.started }, name: stat.name });
        next = Some(stat.parent);
    }
    above
}

/// The value that a variable had when a process began; none if that cannot be read.
pub fn variable_of(process: Process, name: &str) -> Option<String> {
    let environment = fs::read(format!("/proc/{}/environ", process.pid)).ok()?;
    let mut variables = environment.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    variables.find_map(|variable| Some(variable.strip_prefix(name)?.strip_prefix('=')?.to_owned()))
}

struct Stat {
    name: String,
    state: char,
    parent: u32,
    /// Its terminal; 0 if it has none.
    terminal: i64,
    started: u64,
}

fn stat(pid: u32) -> Option<Stat> {
    parse(&String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/stat")).ok()?))
}

/// Reads `pid (name) state parent group session terminal … started`. The name may hold anything, parentheses too.
fn parse(text: &str) -> Option<Stat> {
    let (head, rest) = text.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_owned();
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let parent = fields.next()?.parse().ok()?;
    let terminal = fields.nth(2)?.parse().ok()?;
    // The 22nd field of all; the seventh was the last one.
    let started = fields.nth(14)?.parse().ok()?;
    Some(Stat { name, state, parent, terminal, started })
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_name_with_parentheses_hides_no_field() {
        let text = "17 (a) b) (c) S 4 17 17 34816 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 987654 1 2 3";
        let Stat { name, state, parent, terminal, started } = parse(text).unwrap();
        assert_eq!((name.as_str(), state, parent, terminal, started), ("a) b) (c", 'S', 4, 34_816, 987_654));
        for broken in ["", "17 (a", "17 (a) S", "17 (a) S x"] {
            assert!(parse(broken).is_none(), "{broken}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_runs_until_it_ends_and_its_number_alone_is_not_it() {
        let mut child = Command::new("cat").env("SAID", "a=b").stdin(Stdio::piped()).spawn().unwrap();
        let process = Process { pid: child.id(), started: stat(child.id()).unwrap().started };
        assert!(process.is_running());
        assert!(!process.is_stopped());
        let another = Process { started: process.started + 1, ..process };
        assert!(!another.is_running() && another.program().is_none());
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(!process.is_running());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_processes_above_begin_with_the_parent_and_say_what_they_run() {
        let above = ancestors();
        assert_eq!(above[0].process.pid, std::os::unix::process::parent_id());
        assert!(above[0].process.is_running());
        let path = std::env::var("PATH").unwrap();
        let own = Process::own().unwrap();
        assert_eq!(own.program(), std::env::current_exe().ok());
        assert!(Process { started: own.started + 1, ..own }.program().is_none());
        assert_eq!(variable_of(own, "PATH"), Some(path));
        assert_eq!(variable_of(own, "PAT"), None);
    }

    /// Runs a program without a terminal, and once it is told to also at one; each time it says the number of the process.
    const AT_A_TERMINAL: &str = "import os, pty, subprocess, sys
plain = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, start_new_session=True)
print(plain.pid, flush=True)
sys.stdin.readline()
pid, _ = pty.fork()
if pid == 0: os.execv(sys.argv[1], [sys.argv[1]])
print(pid, flush=True)
sys.stdin.read()
os.kill(pid, 9)";

    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_is_looked_at_while_any_process_that_runs_it_has_a_terminal() {
        use std::io::{BufRead as _, BufReader, Write as _};

        if !testing::has_python("a program at a terminal") {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("codex");
        fs::copy("/bin/cat", &program).unwrap();
        let mut command = Command::new("python3");
        command.args(["-c", AT_A_TERMINAL]).arg(&program).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut python = command.spawn().unwrap();
        let mut lines = BufReader::new(python.stdout.take().unwrap()).lines();
        let mut next = || lines.next().unwrap().unwrap().parse::<u32>().unwrap();
        let plain = next();
        let plain = Process { pid: plain, started: stat(plain).unwrap().started };
        assert!(!plain.has_terminal());
        python.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        next();
        // The child is there, and has still to become the program.
        while !plain.has_terminal() {
            std::thread::yield_now();
        }
        drop(python.stdin.take());
        python.wait().unwrap();
    }
}
