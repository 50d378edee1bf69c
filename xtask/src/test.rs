//! Everything that must hold, in one command: what the README tells a new developer to run, and the build machine too.
//!
//! It installs what the tests need when it may. What it cannot run it says loudly at the end; on a build machine that
//! is a failure.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::process::{answers, cargo, is_ci, step, timed};
use crate::{conformance, npm, tools};

/// Runs every check; `quick` leaves out clippy and conformance.
pub fn run(root: &Path, quick: bool) -> Result<()> {
    let mut left_out = LeftOut::default();
    let has_referees = provide(root, &mut left_out)?;

    step(cargo_in(root).args(["fmt", "--all", "--check"]))?;
    if !quick {
        step(cargo_in(root).args(CLIPPY))?;
    }
    for arguments in test_runs(answers(&cargo(), &["nextest", "--version"])) {
        let mut command = cargo_in(root);
        command.args(*arguments);
        if has_referees {
            command.env("POSTRIDER_TEST_NPM", npm::referees(root));
        }
        step(&mut command)?;
    }
    if !quick && has_referees {
        timed("conformance", || conformance::run(root, None))?;
    }
    left_out.report();
    Ok(())
}

/// With the fixtures of the conformance suite, which the tests are built without.
const CLIPPY: [&str; 8] = [
    "clippy",
    "--workspace",
    "--all-targets",
    "--features=conformance/conformance-fixtures",
    "--locked",
    "--",
    "-D",
    "warnings",
];

/// nextest is faster and runs everything but the examples in the documentation.
fn test_runs(has_nextest: bool) -> &'static [&'static [&'static str]] {
    if has_nextest {
        &[&["nextest", "run", "--workspace", "--locked"], &["test", "--workspace", "--locked", "--doc"]]
    } else {
        &[&["test", "--workspace", "--locked"]]
    }
}

fn cargo_in(root: &Path) -> Command {
    let mut command = Command::new(cargo());
    command.current_dir(root);
    command
}

/// Makes ready what tests need beside Rust; says whether the referees from npm are there.
fn provide(root: &Path, left_out: &mut LeftOut) -> Result<bool> {
    let missing = timed("looking for the programs that tests use", tools::provide)?;
    if !missing.is_empty() {
        left_out.add(is_ci(), tools::advice(&missing))?;
    }
    if missing.iter().any(|tool| ["node", "npm"].contains(&tool.command)) {
        return Ok(false);
    }
    match timed("packages from npm", || npm::provide_referees(root)) {
        Ok(()) => Ok(true),
        Err(problem) => {
            let what = format!(
                "packages from npm are missing (needed for interop tests, conformance and tests of the page): {problem:#}"
            );
            left_out.add(is_ci(), what)?;
            Ok(false)
        }
    }
}

/// What could not be run, to be said when everything else has scrolled by.
#[derive(Default)]
struct LeftOut(Vec<String>);

impl LeftOut {
    /// Remembers it; on a build machine, fails at once.
    fn add(&mut self, is_ci: bool, what: String) -> Result<()> {
        if is_ci {
            bail!("{what}");
        }
        self.0.push(what);
        Ok(())
    }

    fn report(&self) {
        if self.0.is_empty() {
            return;
        }
        eprintln!("\n!!! NOT EVERYTHING RAN !!!");
        for what in &self.0 {
            eprintln!("{what}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_run_is_a_failure_on_a_build_machine_only() {
        let mut left_out = LeftOut::default();
        left_out.add(false, "no node".into()).unwrap();
        assert_eq!(left_out.0, ["no node"]);
        assert_eq!(left_out.add(true, "no npm".into()).unwrap_err().to_string(), "no npm");
    }

    #[test]
    fn documentation_is_tested_with_and_without_nextest() {
        let with = test_runs(true);
        assert!(with.iter().any(|run| run.contains(&"--doc")));
        assert!(test_runs(false).iter().all(|run| !run.contains(&"--lib") && !run.contains(&"--tests")));
    }

    #[test]
    fn nothing_but_formatting_may_change_the_lock_file() {
        assert!(CLIPPY.contains(&"--locked"));
        for has_nextest in [true, false] {
            assert!(test_runs(has_nextest).iter().all(|run| run.contains(&"--locked")));
        }
    }
}
