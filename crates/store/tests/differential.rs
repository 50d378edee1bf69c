//! Both engines, given the same, answer the same: thousands of random operations, one after the other.
//!
//! Numbers of messages rise in both and are the same but for gaps, which nobody is promised not to see; they are compared
//! by their order.

mod operations;
mod postgres_server;

use std::collections::VecDeque;
use std::sync::Arc;

use mail::Store;
use operations::{Dice, Known, act};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use store::{Options, Postgres, PostgresOptions, Sqlite};

/// How many operations are compared in a long run.
const OPERATIONS: usize = 4_000;
/// How many short runs there are, and how many operations each has at most; a run that fails is made shorter.
const RUNS: u32 = 12;
const MOST_OPERATIONS: usize = 500;

/// What the engines answered differently, if they did.
async fn difference(seed: u64, operations: usize) -> Result<(), String> {
    let Some(url) = postgres_server::fresh_url() else { return Ok(()) };
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Sqlite::open(&folder.path().join("mail.db"), &Options::default()).unwrap();
    let postgres = Postgres::open(&url, &PostgresOptions::default()).await.unwrap();
    let (sqlite, postgres): (Arc<dyn Store>, Arc<dyn Store>) = (Arc::new(sqlite), Arc::new(postgres));
    let (mut known_here, mut known_there) = (Known::default(), Known::default());
    let (mut seeds, mut last) = (Dice(seed), VecDeque::new());
    for operation in 0..operations {
        let seed = seeds.roll(usize::MAX) as u64;
        let here = act(&mut Dice(seed), &sqlite, &mut known_here).await;
        let there = act(&mut Dice(seed), &postgres, &mut known_there).await;
        if here != there {
            return Err(format!("operation {operation}, after {last:#?}:\nSQLite     {here}\nPostgreSQL {there}"));
        }
        last.push_front(here);
        last.truncate(5);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_engines_answer_thousands_of_operations_alike() {
    difference(1, OPERATIONS).await.unwrap();
}

#[test]
fn both_engines_answer_any_run_of_operations_alike() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    // The same runs each time; `PROPTEST_CASES` asks for more of them.
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases()) };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let alike = runner.run(&(any::<u64>(), 1..=MOST_OPERATIONS), |(seed, operations)| {
        runtime.block_on(difference(seed, operations)).map_err(TestCaseError::fail)
    });
    alike.unwrap();
}

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(RUNS)
}
