//! Long runs of the crash tests: servers and watchers are killed again and again, and no accepted mail is lost.
//!
//! The tests themselves lie in `crates/cli/tests`: `crash.rs`, `channel_files_crash.rs` for channels, and
//! `many_servers_crash.rs` for servers that share a database. A plain `cargo test` runs a few rounds of each.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::process::{cargo, step};

const TESTS: [&str; 3] = [
    "crash::no_answered_send_is_lost_and_none_is_there_twice",
    "channel_files_crash::every_file_is_one_message_every_accepted_post_is_one_file_and_no_call_is_answered_twice",
    "many_servers_crash::three_servers_lose_nothing_and_double_nothing_whatever_is_killed",
];

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
    command.args(["test", "--locked", "-p", "cli", "--test", "runner", "--"]);
    // One after the other: each has the machine to itself.
    command.args(["--nocapture", "--test-threads=1", "--exact"]).args(TESTS);
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
        let mut counting = 0;
        for file in files {
            let Ok(text) = fs::read_to_string(&file) else { continue };
            let module = file.file_stem().unwrap().to_string_lossy().into_owned();
            let is_run = |test: &&str| {
                let (its_module, function) = test.split_once("::").unwrap();
                its_module == module && text.contains(&format!("#[test]\nfn {function}() {{"))
            };
            if text.contains("setting(\"ROUNDS\"") {
                counting += 1;
                assert!(TESTS.iter().any(is_run), "no test of {module} is run");
            }
        }
        assert_eq!(counting, TESTS.len());
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
