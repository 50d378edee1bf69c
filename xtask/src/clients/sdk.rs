//! The client libraries with which people build agents of their own, each from PyPI and in a virtual environment of its own.
//!
//! Each goes through a small workflow of two agents (`xtask/clients/workflow.py`), over HTTP with one server and over
//! standard input and output with a program that it starts itself. No model is asked anything.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::bench::forget_own_settings;
use crate::npm::Pin;
use crate::process::{listen, step, timed};
use crate::running::Running;

/// The libraries, as PyPI knows them, and the script of each.
pub const LIBRARIES: [(Pin, &str); 3] = [
    (Pin { name: "fastmcp", version: "4.1.2" }, "fastmcp_client.py"),
    (Pin { name: "langchain-mcp-adapters", version: "0.3.2" }, "langchain_client.py"),
    (Pin { name: "openai-agents", version: "0.24.0" }, "openai_client.py"),
];

const TRANSPORTS: [&str; 2] = ["http", "stdio"];
/// Most of it goes by until a library is loaded.
const LIMIT: Duration = Duration::from_secs(300);
/// The file that says that an environment is complete.
const COMPLETE: &str = "complete";
/// The last words of a failure, which are the ones that matter.
const LONGEST_WORDS: usize = 300;

/// Tries every library over every transport and prints what came of it; fails when one did not reach its end.
pub fn run(root: &Path) -> Result<()> {
    let pythons: Vec<PathBuf> = LIBRARIES.iter().map(|(pin, _)| provide(root, *pin)).collect::<Result<_>>()?;
    let server = Running::start(root)?;
    let mut rows = Vec::new();
    for ((pin, script), python) in LIBRARIES.iter().zip(&pythons) {
        for transport in TRANSPORTS {
            let script = root.join("xtask/clients").join(script);
            let outcome = timed(&format!("{} over {transport}", pin.name), || match transport {
                "http" => workflow(python, &script, [transport, &server.mcp_url()]),
                _ => workflow(python, &script, [transport, &root.join("target/debug/postrider").to_string_lossy()]),
            });
            rows.push(Row { pin: *pin, transport, outcome });
        }
    }
    println!("{}", table(&rows));
    let failed: Vec<String> = rows.iter().filter_map(Row::failure).collect();
    if failed.is_empty() { Ok(()) } else { bail!("not every client worked\n{}", failed.join("\n")) }
}

/// What a library did.
struct Counts {
    listed: u64,
    called: u64,
    read: u64,
}

struct Row {
    pin: Pin,
    transport: &'static str,
    outcome: Result<Counts>,
}

impl Row {
    fn failure(&self) -> Option<String> {
        let problem = format!("{:#}", self.outcome.as_ref().err()?);
        let cut = problem.char_indices().rev().nth(LONGEST_WORDS).map_or(0, |(at, _)| at);
        Some(format!("{} over {}: {}", self.pin.name, self.transport, &problem[cut..]))
    }
}

/// Makes the environment of one library, unless it is there; returns its Python.
fn provide(root: &Path, pin: Pin) -> Result<PathBuf> {
    let folder = root.join("target/pypi").join(format!("{}-{}", pin.name, pin.version));
    let python = folder.join("bin/python");
    if folder.join(COMPLETE).exists() {
        return Ok(python);
    }
    step(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let library = format!("{}=={}", pin.name, pin.version);
    step(Command::new(&python).args(["-m", "pip", "install", "--quiet", &library]))?;
    fs::write(folder.join(COMPLETE), "").with_context(|| format!("writing to {}", folder.display()))?;
    Ok(python)
}

/// Runs one script to its end, at a home of its own.
fn workflow(python: &Path, script: &Path, arguments: [&str; 2]) -> Result<Counts> {
    let home = tempfile::tempdir().context("a home for the client")?;
    let mut command = Command::new(python);
    forget_own_settings(&mut command);
    command.arg(script).args(arguments).current_dir(home.path());
    command.env("HOME", home.path()).env("POSTRIDER_HOME", home.path()).env("NO_PROXY", "127.0.0.1");
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    let said = listen(&mut command, LIMIT)?;
    if !said.status.success() {
        bail!("{}", said.text.trim());
    }
    counts(&said.text).with_context(|| format!("no counts in: {}", said.text.trim()))
}

/// The counts, on a line of their own among what libraries say of themselves.
fn counts(text: &str) -> Option<Counts> {
    text.lines().find_map(|line| {
        let told: Value = serde_json::from_str(line).ok()?;
        let count = |name: &str| told[name].as_u64();
        Some(Counts { listed: count("listed")?, called: count("called")?, read: count("read")? })
    })
}

fn table(rows: &[Row]) -> String {
    let line = |cells: [&str; 7]| {
        let [name, version, transport, listed, called, read, ok] = cells;
        format!("{name:<24} | {version:<8} | {transport:<9} | {listed:>6} | {called:>6} | {read:>4} | {ok}")
    };
    let mut lines = vec![line(["client", "version", "transport", "listed", "called", "read", "ok"])];
    for Row { pin, transport, outcome } in rows {
        let [listed, called, read] = match outcome {
            Ok(counts) => [counts.listed, counts.called, counts.read].map(|count| count.to_string()),
            Err(_) => [const { String::new() }; 3],
        };
        let ok = if outcome.is_ok() { "yes" } else { "NO" };
        lines.push(line([pin.name, pin.version, transport, &listed, &called, &read, ok]));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_library_has_its_script_and_an_exact_version() {
        for (pin, script) in LIBRARIES {
            assert!(crate::root().join("xtask/clients").join(script).is_file(), "{script}");
            assert!(pin.version.split('.').all(|part| part.parse::<u32>().is_ok()), "{}", pin.name);
        }
    }

    #[test]
    fn the_counts_are_found_among_other_lines() {
        let text = "Starting server\n{\"listed\": 17, \"called\": 8, \"read\": 3}\nwarning: {}\n";
        let counts = counts(text).unwrap();
        assert_eq!((counts.listed, counts.called, counts.read), (17, 8, 3));
        assert!(super::counts("{\"listed\": 17}\n").is_none());
    }

    #[test]
    fn a_client_that_failed_is_a_no_in_the_table_and_says_why() {
        let [(pin, _), ..] = LIBRARIES;
        let worked = Row { pin, transport: "http", outcome: Ok(Counts { listed: 17, called: 8, read: 3 }) };
        let failed = Row { pin, transport: "stdio", outcome: Err(anyhow::anyhow!("x{}last", "y".repeat(400))) };
        assert!(worked.failure().is_none());
        let words = failed.failure().unwrap();
        assert!(words.starts_with("fastmcp over stdio: y") && words.ends_with("last"), "{words}");
        let table = table(&[worked, failed]);
        let lines: Vec<&str> = table.lines().collect();
        assert!(lines[1].ends_with("|     17 |      8 |    3 | yes") && lines[2].ends_with("| NO"), "{table}");
    }
}
