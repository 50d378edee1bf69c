//! Both engines, given the same, answer the same: thousands of random operations, one after the other.
//!
//! Errors are answers too: which kind of error is compared, and not its words. Numbers are compared as they are. Nobody is
//! promised that they have no gaps, so nothing is done here that leaves one in one engine alone, and is gone on from.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use mail::Store;
use mail::ids::{AgentId, ProjectId};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use store::{Options, Postgres, PostgresOptions, Sqlite};
use testing::postgres;

use crate::operations::{Dice, Known, REFUSED, act, ask_oddly, ask_with_nul};

/// How many operations are compared in a long run.
const OPERATIONS: usize = 4_000;
/// How many short runs there are, and how many operations each has at most; a run that fails is made shorter.
const RUNS: u32 = 12;
const MOST_OPERATIONS: usize = 500;

/// What the engines answered differently, if they did; else how much both refused.
async fn difference(seed: u64, operations: usize) -> Result<usize, String> {
    let Some(url) = postgres::fresh_url() else { return Ok(0) };
    let folder = tempfile::tempdir().unwrap();
    let [sqlite, postgres] = one_office(&folder.path().join("mail.db"), &url).await;
    let (mut known_here, mut known_there) = (Known::default(), Known::default());
    let (mut seeds, mut last, mut refused) = (Dice(seed), VecDeque::new(), 0);
    for operation in 0..operations {
        let seed = seeds.roll(usize::MAX) as u64;
        let here = act(&mut Dice(seed), &sqlite, &mut known_here).await;
        let there = act(&mut Dice(seed), &postgres, &mut known_there).await;
        if here != there {
            return Err(format!("operation {operation}, after {last:#?}:\nSQLite     {here}\nPostgreSQL {there}"));
        }
        refused += usize::from(here.contains(REFUSED));
        last.push_front(here);
        last.truncate(5);
    }
    Ok(refused)
}

/// An empty store of each engine. An office is named by lot when its store is made, and names its posts by that; here both
/// are one office, so that these names are compared too.
async fn one_office(path: &Path, url: &str) -> [Arc<dyn Store>; 2] {
    let sqlite = Sqlite::open(path, &Options::default()).unwrap();
    let postgres = Postgres::open(url, &PostgresOptions::default()).await.unwrap();
    let name = "UPDATE office SET id = '00112233445566ff'";
    assert_eq!(rusqlite::Connection::open(path).unwrap().execute(name, []).unwrap(), 1);
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    assert_eq!(client.execute(name, &[]).await.unwrap(), 1);
    [Arc::new(sqlite), Arc::new(postgres)]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_engines_answer_thousands_of_operations_alike() {
    let refused = difference(1, OPERATIONS).await.unwrap();
    assert!(refused < OPERATIONS / 100, "{refused} of {OPERATIONS} were refused, which compares nothing");
}

#[test]
fn both_engines_answer_any_run_of_operations_alike() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    // The same runs each time; `PROPTEST_CASES` asks for more of them.
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases()) };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let alike = runner.run(&(any::<u64>(), 1..=MOST_OPERATIONS), |(seed, operations)| {
        runtime.block_on(difference(seed, operations)).map(drop).map_err(TestCaseError::fail)
    });
    alike.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_engines_answer_alike_what_nobody_should_ask() {
    let Some(url) = postgres::fresh_url() else { return };
    let folder = tempfile::tempdir().unwrap();
    let [sqlite, postgres] = one_office(&folder.path().join("mail.db"), &url).await;
    assert_alike(&ask_oddly(&sqlite).await, &ask_oddly(&postgres).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_engines_know_nothing_by_a_name_with_a_nul_character() {
    let Some(url) = postgres::fresh_url() else { return };
    let folder = tempfile::tempdir().unwrap();
    let [sqlite, postgres] = one_office(&folder.path().join("mail.db"), &url).await;
    let mut answers = Vec::new();
    for store in [&sqlite, &postgres] {
        let (mut seeds, mut known) = (Dice(1), Known::default());
        // There is much that must not be found.
        for _ in 0..200 {
            act(&mut Dice(seeds.roll(usize::MAX) as u64), store, &mut known).await;
        }
        answers.push(ask_with_nul(store, ProjectId(1), AgentId(1)).await);
    }
    assert_alike(&answers[0], &answers[1]);
    assert!(answers[0].iter().all(|(_, answer)| !answer.contains(REFUSED)), "{:?}", answers[0]);
}

/// What was asked, and what each engine answered.
fn assert_alike(here: &[(String, String)], there: &[(String, String)]) {
    let differ = here.iter().zip(there).filter(|(here, there)| here != there);
    let told: Vec<String> = differ.map(|(here, there)| format!("{}: {} / {}", here.0, here.1, there.1)).collect();
    assert!(told.is_empty(), "SQLite / PostgreSQL\n{}", told.join("\n"));
}

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(RUNS)
}
