//! The official MCP conformance suite against a server of ours, once for each revision that we promise.
//!
//! The suite calls test tools, prompts and resources of its own. The server of `xtask/conformance` has them beside
//! Postrider's, behind the same door. `xtask/conformance/<revision>.yml` lists the scenarios that must fail, with the
//! reason. The list is a ratchet: an entry that starts to pass fails the run.

mod score;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::npm;
use crate::process::{cargo, listen, step, timed};
use crate::running::Running;
use score::Score;

const REVISIONS: [&str; 2] = ["2026-07-28", "2025-11-25"];
const LIMIT: Duration = Duration::from_secs(15 * 60);
const SUMMARY: &str = "=== SUMMARY ===";
/// Where the suite says which scenarios it scores.
const REQUIREMENTS: &str = "node_modules/@modelcontextprotocol/conformance/requirements";

/// The server, and the feature that lets fixtures in. An example of the whole workspace is built with what its tests were
/// built with.
const PROGRAM: &str = "examples/conformance-server";
const BUILD: [&str; 7] = [
    "build",
    "--locked",
    "--workspace",
    "--features",
    "conformance/conformance-fixtures",
    "--example",
    "conformance-server",
];

/// Runs the suite on every revision, or on one.
pub fn run(root: &Path, revision: Option<&str>) -> Result<()> {
    let revisions = chosen(revision)?;
    npm::provide_referees(root)?;
    step(Command::new(cargo()).args(BUILD).current_dir(root))?;
    let mut server = Running::start_built(root, PROGRAM)?;
    let (mut scores, mut failed) = (Vec::new(), Vec::new());
    for revision in revisions {
        match timed(&format!("conformance with {revision}"), || judge(root, &mut server, revision)) {
            Ok(score) => scores.push(format!("conformance with {revision}: {score}")),
            Err(problem) => {
                eprintln!("{problem:#}");
                failed.push(revision);
            }
        }
    }
    println!("{}", scores.join("\n"));
    if failed.is_empty() { Ok(()) } else { bail!("the server does not conform to {}", failed.join(" and ")) }
}

fn chosen(revision: Option<&str>) -> Result<Vec<&'static str>> {
    let Some(wanted) = revision else { return Ok(REVISIONS.to_vec()) };
    match REVISIONS.iter().find(|known| **known == wanted) {
        Some(known) => Ok(vec![known]),
        None => bail!("there is no requirement set for '{wanted}', choose one of {}", REVISIONS.join(", ")),
    }
}

fn judge(root: &Path, server: &mut Running, revision: &str) -> Result<Score> {
    let said = listen(&mut suite(root, &server.mcp_url(), revision), LIMIT)?;
    let log = root.join(format!("target/conformance-{revision}.log"));
    fs::write(&log, &said.text).with_context(|| format!("writing {}", log.display()))?;
    println!("{}", summary(&said.text));
    server.check_alive()?;
    let required = npm::referees(root).join(REQUIREMENTS).join(format!("{revision}.yaml"));
    let required = fs::read_to_string(&required).with_context(|| format!("reading {}", required.display()))?;
    let score = Score::read(&required, summary(&said.text));
    if said.status.success() {
        return Ok(score);
    }
    bail!("{score}; the suite ended with {}, see {}", said.status, log.display())
}

fn suite(root: &Path, url: &str, revision: &str) -> Command {
    let mut command = Command::new(npm::node(root));
    command.arg(npm::referees(root).join("node_modules/.bin/conformance"));
    command.args(["server", "--url", url, "--requirements", revision, "--expected-failures"]);
    command.arg(root.join(format!("xtask/conformance/{revision}.yml")));
    command.current_dir(root);
    command
}

/// The table at the end; everything when the suite did not come that far.
fn summary(text: &str) -> &str {
    text.rfind(SUMMARY).map_or(text, |at| &text[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_revision_is_run_unless_one_is_chosen() {
        assert_eq!(chosen(None).unwrap(), REVISIONS);
        assert_eq!(chosen(Some("2025-11-25")).unwrap(), ["2025-11-25"]);
        assert!(chosen(Some("2020-01-01")).unwrap_err().to_string().contains("2026-07-28, 2025-11-25"));
    }

    #[test]
    fn the_summary_is_shown_and_a_suite_that_broke_is_shown_whole() {
        assert_eq!(summary("noise\n=== SUMMARY ===\ntable"), "=== SUMMARY ===\ntable");
        assert_eq!(summary("cannot connect"), "cannot connect");
    }

    #[test]
    fn every_expected_failure_has_a_reason_and_stands_once() {
        for revision in REVISIONS {
            let list = fs::read_to_string(crate::root().join(format!("xtask/conformance/{revision}.yml"))).unwrap();
            let mut scenarios = Vec::new();
            for entry in list.lines().filter_map(|line| line.trim_start().strip_prefix("- ")) {
                let (scenario, reason) = entry.split_once(" # ").unwrap_or_else(|| panic!("no reason: {entry}"));
                assert!(!reason.trim().is_empty(), "{entry}");
                scenarios.push(scenario.trim());
            }
            let count = scenarios.len();
            scenarios.sort_unstable();
            scenarios.dedup();
            assert_eq!(scenarios.len(), count, "{revision}");
        }
    }
}
