//! Long runs of the crash tests: servers and watchers are killed again and again, and no accepted mail is lost.
//!
//! The tests themselves lie in `crates/cli/tests`: `crash.rs`, `channel_files_crash.rs` for channels, and
//! `many_servers_crash.rs` for servers that share a database. A plain `cargo test` runs a few rounds of each.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::process::{cargo, step};

/// The files of the tests.
const TESTS: [&str; 3] = ["crash", "channel_files_crash", "many_servers_crash"];

/// How long and how hard.
#[derive(Debug, PartialEq, Eq)]
pub struct Plan {
    /// How often a server, or what it relies on, is killed.
    pub rounds: u64,
    /// How many clients send at once; the test chooses when this is not given.
    pub clients: Option<u64>,
    /// Repeats an earlier run; the test chooses and prints one when this is not given.
    pub seed: Option<u64>,
}

/// Builds and runs the tests.
pub fn run(root: &Path, plan: &Plan) -> Result<()> {
    step(command(plan).current_dir(root))
}

fn command(plan: &Plan) -> Command {
    let mut command = Command::new(cargo());
    command.args(["test", "--locked", "-p", "cli"]);
    for test in TESTS {
        command.args(["--test", test]);
    }
    command.args(["--", "--nocapture"]);
    command.env("POSTRIDER_CRASH_ROUNDS", plan.rounds.to_string());
    for (name, value) in [("POSTRIDER_CRASH_CLIENTS", plan.clients), ("POSTRIDER_CRASH_SEED", plan.seed)] {
        if let Some(value) = value {
            command.env(name, value.to_string());
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_test_that_counts_its_rounds_is_run() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/cli/tests");
        let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let mut counting: Vec<String> = files
            .filter(|file| fs::read_to_string(file).is_ok_and(|text| text.contains("setting(\"ROUNDS\"")))
            .map(|file| file.file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        counting.sort();
        let command = command(&Plan { rounds: 1, clients: None, seed: None });
        let words: Vec<&str> = command.get_args().map(|word| word.to_str().unwrap()).collect();
        let mut run: Vec<&str> = words.windows(2).filter(|two| two[0] == "--test").map(|two| two[1]).collect();
        run.sort();
        assert_eq!(run, counting);
    }

    #[test]
    fn the_plan_reaches_the_test_by_its_environment() {
        let settings = |plan: &Plan| -> Vec<String> {
            let command = command(plan);
            let pairs = command.get_envs().map(|(name, value)| {
                format!("{}={}", name.to_string_lossy(), value.unwrap_or_default().to_string_lossy())
            });
            pairs.collect()
        };
        let (short, full) =
            (Plan { rounds: 2, clients: None, seed: None }, Plan { rounds: 3, clients: Some(4), seed: Some(5) });
        assert_eq!(settings(&short), ["POSTRIDER_CRASH_ROUNDS=2"]);
        assert_eq!(
            settings(&full),
            ["POSTRIDER_CRASH_CLIENTS=4", "POSTRIDER_CRASH_ROUNDS=3", "POSTRIDER_CRASH_SEED=5"]
        );
    }
}
