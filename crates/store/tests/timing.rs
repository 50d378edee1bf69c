//! How long things take. Nothing is asserted: run it on a quiet machine, in release, and read.
//!
//! `cargo test --release -p store --test timing -- --ignored --nocapture`

#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod team;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mail::messages::{InboxQuery, Mark, MessageStore};
use mail::projects::ProjectStore;
use mail::reservations::pattern::Pattern;
use mail::reservations::{Request, ReservationStore, Reserved};
use mail::search::SearchStore;
use mail::search::query::Query;
use store::{Options, Sqlite};
use team::{Team, at, open, send, team};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures, and takes a while"]
async fn how_long_things_take() {
    let folder = tempfile::tempdir().unwrap();
    opening(folder.path());
    let path = folder.path().join("mail.db");
    let store = open(&path);
    let team = team(&store, 8).await;
    appending(&store, &team, 1, 500).await;
    appending(&store, &team, 64, 20_000).await;
    reading(&store, &team).await;
    searching(&store, &team).await;
    reserving(&store, &team, &path).await;
    println!("memory: {}", memory());
}

fn opening(folder: &Path) {
    let path = folder.join("fresh.db");
    let began = Instant::now();
    let store = Sqlite::open(&path, &Options::default()).unwrap();
    println!("open a new database: {:?}, memory {}", began.elapsed(), memory());
    drop(store);
    let began = Instant::now();
    drop(Sqlite::open(&path, &Options::default()).unwrap());
    println!("open it again, and close: {:?}", began.elapsed());
}

async fn appending(store: &Arc<Sqlite>, team: &Team, callers: usize, count: usize) {
    let body: String = (0..170).map(|number| format!("word{} ", number * number % 997)).collect();
    let began = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for caller in 0..callers {
        let (store, message) = (store.clone(), team.message(caller % 7, &[7, (caller + 1) % 7], &body));
        tasks.spawn(async move {
            let mut slowest = Duration::ZERO;
            for _ in 0..count / callers {
                let began = Instant::now();
                send(&store, &message).await;
                slowest = slowest.max(began.elapsed());
            }
            slowest
        });
    }
    let slowest = tasks.join_all().await.into_iter().max().unwrap();
    let rate = count as f64 / began.elapsed().as_secs_f64();
    println!("append, {callers} callers: {rate:.0}/s, slowest {slowest:?} ({} bytes, 2 recipients)", body.len());
}

async fn reading(store: &Arc<Sqlite>, team: &Team) {
    let reader = team.agents[7];
    let slim = InboxQuery { with_bodies: false, ..InboxQuery::newest(reader, 20) };
    each("inbox of 20 without bodies", 20_000, async || drop(store.inbox(&slim).await.unwrap())).await;
    let full = InboxQuery::newest(reader, 20);
    each("inbox of 20 with bodies", 20_000, async || drop(store.inbox(&full).await.unwrap())).await;
    let everything = InboxQuery { with_bodies: false, ..InboxQuery::newest(reader, 1_000_000) };
    let all = store.inbox(&everything).await.unwrap();
    let ids: Vec<_> = all.iter().map(|entry| entry.message.id).collect();
    let mut tasks = tokio::task::JoinSet::new();
    for part in ids.chunks(ids.len() / 64 + 1).map(<[_]>::to_vec) {
        let store = store.clone();
        tasks.spawn(async move {
            for id in part {
                store.mark(reader, id, &Mark::Read, at(9)).await.unwrap();
            }
        });
    }
    let began = Instant::now();
    tasks.join_all().await;
    println!("mark read, 64 callers: {:.0}/s", ids.len() as f64 / began.elapsed().as_secs_f64());
    let unread = InboxQuery { unread_only: true, ..slim };
    each("unread of none", 20_000, async || assert!(store.inbox(&unread).await.unwrap().is_empty())).await;
    each("unseen of none", 20_000, async || assert!(store.unseen(reader, None, 20).await.unwrap().is_empty())).await;
    each("message by id", 20_000, async || drop(store.message(team.project, ids[9]).await.unwrap())).await;
    each("project", 20_000, async || drop(store.ensure_project("/projects/shop", at(0)).await.unwrap())).await;
}

async fn searching(store: &Arc<Sqlite>, team: &Team) {
    for text in ["word1", "word1 NOT word4", "NOT word4", "word9*", "absent", "from:agent-3 \"word1 word4\""] {
        let query = Query::parse(text).unwrap();
        each(&format!("search {text}"), 200, async || {
            drop(store.search(team.project, &query, None, 20).await.unwrap());
        })
        .await;
    }
}

async fn reserving(store: &Arc<Sqlite>, team: &Team, path: &Path) {
    for part in 0..10 {
        let patterns = (0..1000).map(|number| Pattern::parse(&format!("src/dir{part}/file{number}-*.rs")).unwrap());
        let request = Request { patterns: patterns.collect(), ..team.request(part % 7, "x") };
        assert!(matches!(store.reserve(&request, at(10)).await.unwrap(), Reserved::Granted(_)));
    }
    let free = team.request(7, "docs/*.md");
    each("reserve and release beside 10,000 leases", 500, async || {
        assert!(matches!(store.reserve(&free, at(11)).await.unwrap(), Reserved::Granted(_)));
        store.release(team.project, team.agents[7], None, at(11)).await.unwrap();
    })
    .await;
    let taken = team.request(7, "src/dir5/*.rs");
    each("be refused beside 10,000 leases", 500, async || {
        assert!(matches!(store.reserve(&taken, at(11)).await.unwrap(), Reserved::Refused(_)));
    })
    .await;
    let other = open(path);
    let began = Instant::now();
    other.reserve(&taken, at(11)).await.unwrap();
    println!("the first reserve of another process, which reads the book: {:?}", began.elapsed());
}

async fn each(what: &str, count: u32, mut work: impl AsyncFnMut()) {
    let (began, busy_before) = (Instant::now(), thread_busy());
    for _ in 0..count {
        work().await;
    }
    let per_call = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(count);
    let busy = per_call(thread_busy().saturating_sub(busy_before));
    println!("{what}: {:.1} µs, of them {busy:.1} busy on the caller's thread", per_call(began.elapsed()));
}

/// How long this thread has had a processor, where the system tells; on a busy machine the better measure.
fn thread_busy() -> Duration {
    let said = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(said.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0))
}

/// What the process holds in memory, where the system tells.
fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("unknown").trim().to_owned()
}
