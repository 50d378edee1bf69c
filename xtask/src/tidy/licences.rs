//! Every dependency may be used under a licence that we accept, and none is on the list of those we do not use.
//!
//! The facts come from `cargo metadata`, which knows the whole lock file: every platform, every feature.

mod expression;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::Violation;
use super::house::House;

const ACCEPTED: [&str; 14] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MPL-2.0",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Unlicense",
    "Zlib",
];

/// Postrider is written without them.
const FORBIDDEN: [&str; 14] = [
    "asupersync",
    "beads_rust",
    "fastmcp",
    "fastmcp_rust",
    "frankensearch",
    "frankensqlite",
    "frankentui",
    "fsqlite",
    "ftui",
    "mcp_agent_mail",
    "ntm",
    "sqlmodel",
    "toon_rust",
    "tru",
];

const LOCK_FILE: &str = "Cargo.lock";

/// Finds packages that we may not or will not use.
pub fn check(house: &House) -> Vec<Violation> {
    if !house.has(LOCK_FILE) {
        return Vec::new();
    }
    match metadata(house.root()) {
        Ok(metadata) => unwanted(&metadata, &house.text(LOCK_FILE).unwrap_or_default()),
        Err(problem) => vec![Violation::new(LOCK_FILE, 1, format!("licences are unknown: {problem:#}"))],
    }
}

fn unwanted(metadata: &Value, lock: &str) -> Vec<Violation> {
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut found = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let what = if FORBIDDEN.contains(&name) {
            format!("`{name}` is not to be used, remove the dependency")
        } else {
            match package["license"].as_str() {
                Some(licence) if expression::is_satisfied(licence, &ACCEPTED) => continue,
                Some(licence) => format!("`{name}` has the licence `{licence}`, which we do not accept, replace it"),
                None => format!("`{name}` states no licence, replace it"),
            }
        };
        found.push(Violation::new(LOCK_FILE, line_of(lock, name), what));
    }
    found
}

fn line_of(lock: &str, name: &str) -> usize {
    let wanted = format!("name = \"{name}\"");
    lock.lines().position(|line| line == wanted).map_or(1, |index| index + 1)
}

/// Asks cargo, without the network when it can answer without.
fn metadata(root: &Path) -> Result<Value> {
    let mut problem = String::new();
    for more in [&["--offline"][..], &[]] {
        let mut command = Command::new(crate::process::cargo());
        command.args(["metadata", "--format-version", "1", "--locked"]).args(more).current_dir(root);
        let output = command.output().context("`cargo metadata` cannot be run")?;
        if output.status.success() {
            return serde_json::from_slice(&output.stdout).context("`cargo metadata` did not answer with JSON");
        }
        problem = String::from_utf8_lossy(&output.stderr).trim().replace('\n', " ");
    }
    bail!("`cargo metadata --locked` failed: {problem}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::made_up::places;
    use super::*;

    #[test]
    fn packages_under_accepted_licences_pass() {
        let metadata = json!({"packages": [
            {"name": "a", "license": "MIT OR Apache-2.0"},
            {"name": "b", "license": "Apache-2.0 AND ISC"},
        ]});
        assert!(unwanted(&metadata, "").is_empty());
    }

    #[test]
    fn packages_that_we_may_not_or_will_not_use_are_found() {
        let metadata = json!({"packages": [
            {"name": "a", "license": "GPL-3.0-only"},
            {"name": "b", "license": null},
            {"name": FORBIDDEN[0], "license": "MIT"},
            {"name": "d", "license": "MIT"},
        ]});
        let lines: Vec<usize> = unwanted(&metadata, "\nname = \"b\"\n").iter().map(|found| found.line).collect();
        assert_eq!(lines, [1, 2, 1]);
    }

    #[test]
    fn licences_that_cannot_be_learned_are_a_violation() {
        assert_eq!(places(check, &[("Cargo.lock", "")]), ["Cargo.lock:1"]);
        assert!(places(check, &[]).is_empty());
    }
}
