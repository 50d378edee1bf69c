//! What PostgreSQL's engine promises when the database is slow or away, where that cannot be seen through a server.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use mail::StoreError;
use mail::agents::{AgentName, AgentStore, Profile, Taking};
use mail::clock::{Clock, SystemClock};
use mail::ids::ProjectId;
use mail::messages::About;
use mail::projects::ProjectStore;
use mail::search::SearchStore;
use mail::search::query::Query;
use mail::threads::ThreadStore;
use mail::transfer::TransferStore;
use store::{Engine, Postgres, PostgresOptions};
use testing::postgres::{Private, fresh_url};

fn options() -> PostgresOptions {
    PostgresOptions { statement_deadline: Duration::from_secs(1), ..PostgresOptions::default() }
}

async fn register(store: &Engine, project: ProjectId, name: &str) -> Result<(), StoreError> {
    let (name, now) = (AgentName::parse(name).unwrap(), SystemClock.now());
    store.register(project, &name, &Profile::default(), None, Taking::NewOrKnown, now).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_beyond_the_queue_is_refused_and_all_others_are_answered() {
    let Some(database) = Private::start() else { return };
    let options = PostgresOptions { writers: 1, queue: 4, ..options() };
    let store = Arc::new(Postgres::open(&database.url(), &options).await.unwrap());
    let project = store.ensure_project("/data/app", SystemClock.now()).await.unwrap().id;
    let holding = database.holding("LOCK TABLE agent IN ACCESS EXCLUSIVE MODE");
    let writes = (0..50).map(|number| {
        let store = store.clone();
        async move { register(&store, project, &format!("agent{number}")).await }
    });
    let mut writes: FuturesUnordered<_> = writes.collect();
    let mut answers = Vec::new();
    while let Some(answer) = writes.next().await {
        answers.push(answer);
    }
    assert!(answers.iter().all(|answer| matches!(answer, Err(StoreError::Busy | StoreError::TooSlow))), "{answers:?}");
    // Those for whom there is no room are told before the others, who wait for the table.
    let told_first = answers.iter().take_while(|answer| matches!(answer, Err(StoreError::Busy))).count();
    // One begins a transaction, a queue goes into it at its begin, a second once it has its locks, and a third waits.
    assert!(told_first >= 50 - 1 - 3 * 4, "{told_first} of 50 were refused at once");
    store.check_ready().await.unwrap();
    drop(holding);
    register(&store, project, "after").await.unwrap();
    assert_eq!(store.agents(project, None, 100).await.unwrap().len(), 1, "what was refused is not there");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_slow_writes_take_no_longer_than_one() {
    let Some(database) = Private::start() else { return };
    let store = Arc::new(Postgres::open(&database.url(), &PostgresOptions { writers: 1, ..options() }).await.unwrap());
    let project = store.ensure_project("/data/app", SystemClock.now()).await.unwrap().id;
    let _holding = database.holding("LOCK TABLE agent IN ACCESS EXCLUSIVE MODE");
    let writes = (0..200).map(|number| {
        let store = store.clone();
        async move { register(&store, project, &format!("agent{number}")).await }
    });
    // One by one they would take 200 times the deadline.
    let all = futures_util::future::join_all(writes);
    let all = tokio::time::timeout(Duration::from_secs(60), all).await.expect("they wait together");
    assert!(all.iter().all(|refused| matches!(refused, Err(StoreError::Busy | StoreError::TooSlow))), "{all:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_is_shared_by_all_who_take_from_it() {
    let Some(url) = fresh_url() else { return };
    let stores = [Postgres::open(&url, &options()).await.unwrap(), Postgres::open(&url, &options()).await.unwrap()];
    let mut taken = 0;
    // Too few for anything to be filled again while they are taken.
    for _ in 0..4 {
        for store in &stores {
            taken += store.pace().unwrap().take("192.0.2.1", 2, 3).await.unwrap();
        }
    }
    assert!((3..=4).contains(&taken), "{taken} of 3 were taken");
    assert_eq!(stores[1].pace().unwrap().take("192.0.2.2", 2, 3).await.unwrap(), 2, "another address has its own");
    assert_eq!(
        stores[0].pace().unwrap().take("192.0.2.3", 5, 3).await.unwrap(),
        3,
        "a lot is never more than the limit"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_database_tells_the_time() {
    let Some(url) = fresh_url() else { return };
    let store = Postgres::open(&url, &options()).await.unwrap();
    let (before, told, after) = (SystemClock.now(), store.clock().now(), SystemClock.now());
    // They run on one machine, so that there is no more between them than the way there and back.
    let slack = jiff::SignedDuration::from_secs(5);
    assert!(before - slack <= told && told <= after + slack, "{before} {told} {after}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_found_by_text_with_a_nul() {
    let Some(url) = fresh_url() else { return };
    let store = Postgres::open(&url, &options()).await.unwrap();
    let project = store.ensure_project("/data/app", SystemClock.now()).await.unwrap().id;
    register(&store, project, "GreenDog").await.unwrap();
    assert!(store.agents_named(project, &["Green\0Dog", "GreenDog\0"]).await.unwrap().is_empty());
    assert_eq!(store.thread_length(project, "T-1\0").await.unwrap(), 0);
    let query = Query::parse("from:Green\0Dog").unwrap();
    assert!(store.search(project, &query, &About::default(), None, 10).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn to_read_a_database_makes_nothing_there() {
    let Some(url) = fresh_url() else { return };
    for _ in 0..2 {
        let refused = Postgres::open_as_it_is(&url, &options()).await.map(drop).unwrap_err();
        assert!(refused.to_string().contains("no mail was kept in it yet"), "{refused}");
    }
    Postgres::open(&url, &options()).await.unwrap();
    Postgres::open_as_it_is(&url, &options()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_accepted_is_kept_also_where_the_role_would_not_wait_for_the_disk() {
    // What is not waited for is on disk ten seconds later.
    let late = |_: &std::path::Path| "-c wal_writer_delay=10s".to_owned();
    let Some(database) = Private::start_with(5432, late) else { return };
    database.psql("ALTER ROLE postgres SET synchronous_commit = off");
    let store = Postgres::open(&database.url(), &options()).await.unwrap();
    let project = store.ensure_project("/data/app", SystemClock.now()).await.unwrap().id;
    register(&store, project, "GreenDog").await.unwrap();
    database.crash();
    drop(store);
    database.recover();
    let store = Postgres::open(&database.url(), &options()).await.unwrap();
    assert_eq!(store.agents(project, None, 10).await.unwrap().len(), 1);
}
