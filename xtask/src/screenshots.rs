//! Pictures of the page for the documentation, taken of the sample mailbox that does not move.
//!
//! They show what there is and check nothing. A picture that is too big to look at in a repository is an error.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::npm;
use crate::process::{Group, answers, cargo, step};

/// Where they are kept, from the root.
const FOLDER: &str = "docs/page";
/// How big a picture may be, in bytes.
const LARGEST: u64 = 150_000;
/// What the person of the page is called.
const PERSON: &str = "Ada";

/// Builds the binary, takes every picture again, and checks that none is too big.
pub fn run(root: &Path) -> Result<()> {
    npm::provide_referees(root)?;
    step(Command::new(cargo()).args(["build", "--locked", "-p", "cli"]).current_dir(root))?;
    let demo = Demo::start(&root.join("target/debug/postrider"))?;
    let folder = root.join(FOLDER);
    let mut node = Command::new(npm::node(root));
    node.arg(root.join("xtask/screenshots/take.mjs")).arg(npm::referees(root)).arg(&demo.page).arg(&folder);
    step(&mut node)?;
    demo.stop()?;
    check_sizes(&folder)
}

/// The sample mailbox, served.
struct Demo {
    group: Group,
    page: String,
}

impl Demo {
    fn start(program: &Path) -> Result<Self> {
        let mut command = Command::new(program);
        command.args(["demo", "--still", "--port", "0", "--json"]).env("USER", PERSON);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut group = Group::start(&mut command)?;
        let stdout = group.child.stdout.take().context("standard output is piped")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).context("the demo cannot be heard")?;
        Ok(Self { group, page: page_of(&line)? })
    }

    /// Ends it as a person would, so that it takes its mailbox with it.
    fn stop(mut self) -> Result<()> {
        answers("kill", &["-TERM", &self.group.child.id().to_string()]);
        let status = self.group.child.wait()?;
        if status.success() { Ok(()) } else { bail!("the demo ended with {status}") }
    }
}

/// Where the page is, as the demo's first line says.
fn page_of(line: &str) -> Result<String> {
    let said: Value =
        serde_json::from_str(line).with_context(|| format!("the demo did not start: '{}'", line.trim()))?;
    let page = said["page"].as_str().with_context(|| format!("no page in '{}'", line.trim()))?;
    Ok(page.trim_end_matches('/').to_owned())
}

fn check_sizes(folder: &Path) -> Result<()> {
    let mut too_big = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let entry = entry?;
        let size = entry.metadata()?.len();
        if size > LARGEST {
            too_big.push(format!("{} has {size} bytes", entry.file_name().display()));
        }
    }
    too_big.sort();
    if too_big.is_empty() { Ok(()) } else { bail!("more than {LARGEST} bytes in a picture: {}", too_big.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_found_in_what_the_demo_says() {
        assert_eq!(page_of("{\"page\":\"http://127.0.0.1:1/\"}\n").unwrap(), "http://127.0.0.1:1");
        for line in ["", "{}", "port taken"] {
            assert!(page_of(line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_picture_that_is_too_big_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("fits.png"), vec![0; LARGEST as usize]).unwrap();
        check_sizes(folder.path()).unwrap();
        fs::write(folder.path().join("inbox.png"), vec![0; LARGEST as usize + 1]).unwrap();
        assert!(check_sizes(folder.path()).unwrap_err().to_string().ends_with("inbox.png has 150001 bytes"));
    }
}
