//! The programs that the tests need beside Rust, and how to get the missing ones.
//!
//! Nothing is installed when all of them answer, and nothing is ever asked: without the right to install, the missing
//! ones are named and the caller decides what that means.

use std::fs;
use std::process::Command;

use anyhow::Result;

use crate::process::{answers, step};

/// A program that tests use.
#[derive(Debug, PartialEq, Eq)]
pub struct Tool {
    /// What is run.
    pub command: &'static str,
    /// The Debian package that brings it.
    pub package: &'static str,
    /// What cannot run without it.
    pub needed_for: &'static str,
}

impl Tool {
    /// What it is asked to learn whether it is there.
    fn asked(&self) -> &'static str {
        match self.command {
            "tmux" | "ip" => "-V",
            "openssl" => "version",
            _ => "--version",
        }
    }

    /// What is run: found by its name, but for PostgreSQL's server, for which Debian has a folder for each version.
    fn program(&self) -> String {
        if self.command != "postgres" {
            return self.command.to_owned();
        }
        let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        // A folder may hold the clients alone.
        let programs = versions.map(|version| version.path().join("bin/postgres")).filter(|program| program.exists());
        programs.max().map_or_else(|| self.command.to_owned(), |newest| newest.display().to_string())
    }

    fn is_there(&self) -> bool {
        answers(&self.program(), &[self.asked()])
    }
}

/// All of them. A new program is one more line here.
pub const TOOLS: [Tool; 15] = [
    Tool { command: "node", package: "nodejs", needed_for: "interop tests and conformance" },
    Tool { command: "npm", package: "npm", needed_for: "interop tests and conformance" },
    Tool { command: "git", package: "git", needed_for: "tidy, which asks git for the files, and the guard of commits" },
    Tool { command: "curl", package: "curl", needed_for: "tests of shell clients" },
    Tool { command: "jq", package: "jq", needed_for: "tests of shell clients" },
    Tool { command: "python3", package: "python3", needed_for: "mail providers that somebody else wrote" },
    Tool { command: "tmux", package: "tmux", needed_for: "nudges" },
    Tool { command: "nats-server", package: "nats-server", needed_for: "tests with NATS" },
    Tool { command: "openssl", package: "openssl", needed_for: "tests of TLS" },
    Tool { command: "faketime", package: "faketime", needed_for: "the test of a server whose clock is wrong" },
    Tool { command: "ip", package: "iproute2", needed_for: "the test of two machines" },
    Tool { command: "bwrap", package: "bubblewrap", needed_for: "stand-ins for the sandboxes of clients" },
    Tool { command: "postgres", package: "postgresql", needed_for: "tests with PostgreSQL" },
    Tool { command: "chromium", package: "chromium", needed_for: "tests of the page" },
    Tool { command: "systemd-analyze", package: "systemd", needed_for: "the test of the systemd unit" },
];

/// Installs what is missing when that is possible; returns what is missing still.
pub fn provide() -> Result<Vec<&'static Tool>> {
    let missing = missing(Tool::is_there);
    if missing.is_empty() {
        return Ok(missing);
    }
    let Some(superuser) = superuser() else { return Ok(missing) };
    let packages: Vec<&str> = missing.iter().map(|tool| tool.package).collect();
    // A failed installation is not the end: what is still missing is reported below.
    let installed = step(&mut apt(&superuser, &["update"]))
        .and_then(|()| step(apt(&superuser, &["install", "--yes", "--no-install-recommends"]).args(&packages)));
    if let Err(problem) = installed {
        eprintln!("    {problem:#}");
    }
    Ok(self::missing(Tool::is_there))
}

/// A line for a developer who is to install them by hand.
pub fn advice(missing: &[&Tool]) -> String {
    let lines = missing.iter().map(|tool| {
        let Tool { command, package, needed_for } = tool;
        format!("`{command}` is missing (needed for {needed_for}): install the package `{package}`")
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn missing(is_there: impl Fn(&Tool) -> bool) -> Vec<&'static Tool> {
    TOOLS.iter().filter(|tool| !is_there(tool)).collect()
}

/// The words to put before a command that needs the superuser; `None` when we may not be one.
fn superuser() -> Option<Vec<&'static str>> {
    if !answers("apt-get", &["--version"]) {
        return None;
    }
    let id = Command::new("id").arg("-u").output().ok()?;
    if id.stdout.trim_ascii() == b"0" {
        return Some(Vec::new());
    }
    answers("sudo", &["-n", "true"]).then(|| vec!["sudo", "-n"])
}

fn apt(superuser: &[&str], arguments: &[&str]) -> Command {
    let words: Vec<&str> =
        superuser.iter().copied().chain(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]).collect();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).args(arguments);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_does_not_answer_is_missing() {
        assert!(missing(|_| true).is_empty());
        assert_eq!(missing(|tool| tool.command != "npm"), [&TOOLS[1]]);
    }

    #[test]
    fn a_postgresql_that_is_installed_is_found_though_it_is_on_no_path() {
        let postgres = TOOLS.iter().find(|tool| tool.command == "postgres").unwrap();
        let installed = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        if installed.into_iter().any(|version| version.path().join("bin/postgres").exists()) {
            assert!(postgres.is_there(), "{}", postgres.program());
        }
    }

    #[test]
    fn advice_names_the_program_its_package_and_its_use() {
        let advice = advice(&[&TOOLS[0]]);
        assert_eq!(
            advice,
            "`node` is missing (needed for interop tests and conformance): install the package `nodejs`"
        );
    }

    #[test]
    fn installing_asks_nothing() {
        let command = apt(&["sudo", "-n"], &["install", "--yes"]);
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(command.get_program(), "sudo");
        assert_eq!(words, ["-n", "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "--yes"]);
    }
}
