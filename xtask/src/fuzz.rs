//! Long runs of the property tests of the readers: whatever text comes in, no reader panics.
//!
//! The tests lie in `crates/formats`, wherever `proptest!` stands; a plain `cargo test` tries a few cases of each. A test
//! that fixes its own number of cases keeps it.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process::{cargo, step};

/// How many cases of each test are tried when nobody says.
pub const CASES: u64 = 100_000;

const CRATE: &str = "crates/formats";

/// Runs each file of property tests as a step of its own, so that a developer sees how far it is.
pub fn run(root: &Path, cases: u64) -> Result<()> {
    let targets = targets(&root.join(CRATE))?;
    ensure!(!targets.is_empty(), "there are no property tests in {CRATE}");
    for (number, target) in targets.iter().enumerate() {
        println!("{} of {}, {cases} cases of each test", number + 1, targets.len());
        step(command(target, cases).current_dir(root))?;
    }
    Ok(())
}

/// What cargo calls each part of the crate that has property tests, as its arguments.
fn targets(package: &Path) -> Result<Vec<Vec<String>>> {
    let mut targets = Vec::new();
    if has_property_tests(&package.join("src"))? {
        targets.push(vec!["--lib".to_owned()]);
    }
    let tests = package.join("tests");
    for entry in fs::read_dir(&tests).with_context(|| format!("reading {}", tests.display()))? {
        let path = entry?.path();
        if let Some(module) = path.file_stem()
            && has_property_tests(&path)?
        {
            targets.push(["--test", "runner", &format!("{}::", module.display())].map(str::to_owned).to_vec());
        }
    }
    targets.sort();
    Ok(targets)
}

fn has_property_tests(path: &Path) -> Result<bool> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            if has_property_tests(&entry?.path())? {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    let is_rust = path.extension().is_some_and(|extension| extension == "rs");
    Ok(is_rust && fs::read_to_string(path)?.lines().any(|line| line.trim() == "proptest! {"))
}

fn command(target: &[String], cases: u64) -> Command {
    let mut command = Command::new(cargo());
    command.args(["test", "--release", "--locked", "-p", "formats"]).args(target);
    command.env("PROPTEST_CASES", cases.to_string());
    // Fast, but with the checks of a debug build: a sum that overflows is a bug too. Linking as for users takes longer.
    command.env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true").env("CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS", "true");
    command.env("CARGO_PROFILE_RELEASE_LTO", "off").env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_with_property_tests_is_a_target_and_no_other() {
        let package = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = package.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("tests/plain.rs", "#[test]\n");
        write("tests/one.rs", "proptest! {\n");
        write("tests/many/mod.rs", "mod part;\n");
        write("tests/many/part.rs", "    proptest! {\n");
        write("tests/vectors/data.json", "proptest! {\n");
        write("src/lib.rs", "//! Nothing of proptest! { here\n");
        assert_eq!(targets(package.path()).unwrap(), [["--test", "runner", "many::"], ["--test", "runner", "one::"]]);
        write("src/deep/part.rs", "mod tests {\n    proptest! {\n");
        assert_eq!(targets(package.path()).unwrap()[0], ["--lib"]);
    }

    #[test]
    fn the_readers_of_this_house_are_among_the_targets() {
        let targets = targets(&crate::root().join(CRATE)).unwrap();
        assert!(targets.iter().any(|target| target.last().is_some_and(|name| name == "fuzz::")), "{targets:?}");
    }

    #[test]
    fn the_number_of_cases_reaches_the_tests_by_their_environment() {
        let command = command(&["--lib".to_owned()], 7);
        assert!(command.get_envs().any(|(name, value)| name == "PROPTEST_CASES" && value == Some("7".as_ref())));
        assert!(command.get_args().any(|argument| argument == "--release"));
    }
}
