//! Many who write at once: in one process, and in several on one file.

#![allow(clippy::unwrap_used)] // Also what a test calls may panic.

mod team;

use std::collections::HashSet;
use std::time::Duration;

use mail::events::{EventKind, EventStore};
use mail::messages::{About, InboxQuery, MessageStore};
use mail::reservations::{ReservationStore, Reserved};
use mail::search::SearchStore;
use mail::search::query::Query;
use store::{Engine, upkeep};
use team::{at, open, send, team};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ids_times_and_events_rise_without_gaps_however_many_write() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("mail.db"));
    let team = team(&store, 2).await;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..32 {
        let (store, message) = (store.clone(), team.message(0, &[1], "body"));
        tasks.spawn(async move {
            let mut sent = Vec::new();
            for _ in 0..10 {
                sent.push(send(&store, &message).await);
            }
            assert!(sent.is_sorted_by(|one, next| one < next), "what one caller sends one after the other rises");
            sent
        });
    }
    let mut sent: Vec<_> = tasks.join_all().await.into_iter().flatten().collect();
    sent.sort();
    assert!(sent.iter().map(|(id, _)| id.0).eq(1..=320));
    assert!(sent.is_sorted_by(|(_, one), (_, next)| one < next), "times strictly rise with the numbers");
    let events = store.events(team.project, 0, 1000).await.unwrap();
    assert!(events.iter().map(|event| event.seq).eq(1..=322));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_append_that_fails_does_not_hurt_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("mail.db"));
    let team = team(&store, 2).await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..64 {
        // Naming a recipient twice is refused by the table, after the message was written.
        let recipients: &[usize] = if number % 4 == 0 { &[1, 1] } else { &[1] };
        let (store, message) = (store.clone(), team.message(0, recipients, "findable"));
        tasks.spawn(async move { store.append(&message).await.is_ok() });
    }
    let kept = tasks.join_all().await.into_iter().filter(|kept| *kept).count();
    assert_eq!(kept, 48);
    let inbox = store.inbox(&InboxQuery::newest(team.agents[1], 100)).await.unwrap();
    assert_eq!(inbox.len(), 48);
    assert_eq!(inbox[0].message.id.0, 48, "a number that was taken back is given again");
    let found =
        store.search(team.project, &Query::parse("findable").unwrap(), &About::default(), None, 100).await.unwrap();
    assert_eq!(found.len(), 48);
    let events = store.events(team.project, 0, 1000).await.unwrap();
    assert!(events.iter().map(|event| event.seq).eq(1..=50));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_on_one_file_lose_nothing_and_share_one_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mail.db");
    let stores = [open(&path), open(&path)];
    let team = team(&stores[0], 2).await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..8 {
        let (store, message) = (stores[number % 2].clone(), team.message(0, &[1], "body"));
        tasks.spawn(async move {
            let mut sent = Vec::new();
            for _ in 0..25 {
                sent.push(send(&store, &message).await);
            }
            sent
        });
    }
    let mut sent: Vec<_> = tasks.join_all().await.into_iter().flatten().collect();
    sent.sort();
    assert!(sent.iter().map(|(id, _)| id.0).eq(1..=200));
    assert!(sent.is_sorted_by(|(_, one), (_, next)| one < next));
    for store in &stores {
        let events = store.events(team.project, 0, 1000).await.unwrap();
        assert!(events.iter().map(|event| event.seq).eq(1..=202));
        assert_eq!(store.inbox(&InboxQuery::newest(team.agents[1], 1000)).await.unwrap().len(), 200);
    }
    drop(stores);
    assert_eq!(upkeep::integrity_check(&path).unwrap(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_never_grant_the_same_file_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mail.db");
    let stores = [open(&path), open(&path)];
    let team = team(&stores[0], 8).await;
    for round in 0..10 {
        let mut tasks = tokio::task::JoinSet::new();
        for agent in 0..8 {
            let pattern = if agent % 2 == 0 { "src/**" } else { "src/lib.rs" };
            let (store, request) = (stores[agent / 2 % 2].clone(), team.request(agent, pattern));
            tasks.spawn(async move {
                (agent, matches!(store.reserve(&request, at(round)).await.unwrap(), Reserved::Granted(_)))
            });
        }
        let winners: Vec<_> = tasks.join_all().await.into_iter().filter(|(_, won)| *won).collect();
        assert_eq!(winners.len(), 1, "round {round}");
        // The other process gives it back, from rows alone.
        let winner = winners[0].0;
        let other = &stores[(winner / 2 + 1) % 2];
        let back =
            other.release(team.project, team.agents[winner], None, team.agents[winner], at(round)).await.unwrap();
        assert_eq!(back.len(), 1);
    }
    let events = stores[1].events(team.project, 8, 1000).await.unwrap();
    let told: HashSet<_> =
        events.iter().map(|event| (event.kind == EventKind::LeaseGranted, event.reference)).collect();
    assert_eq!((events.len(), told.len()), (20, 20));
}

#[tokio::test]
async fn what_another_process_changed_is_seen_by_the_next_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mail.db");
    let (one, other) = (open(&path), open(&path));
    let team = team(&one, 3).await;
    let granted = |answer| matches!(answer, Reserved::Granted(_));
    assert!(granted(one.reserve(&team.request(0, "a.txt"), at(1)).await.unwrap()));
    assert!(granted(other.reserve(&team.request(1, "b.txt"), at(2)).await.unwrap()));
    assert!(!granted(one.reserve(&team.request(2, "b.txt"), at(3)).await.unwrap()), "granted by the other process");
    other.renew(team.project, team.agents[1], None, at(5), at(4)).await.unwrap().unwrap();
    assert!(!granted(one.reserve(&team.request(2, "b.txt"), at(4)).await.unwrap()));
    assert!(granted(one.reserve(&team.request(2, "b.txt"), at(5)).await.unwrap()), "made shorter by the other process");
    other.release(team.project, team.agents[0], None, team.agents[0], at(6)).await.unwrap();
    assert!(granted(one.reserve(&team.request(1, "a.txt"), at(7)).await.unwrap()), "given back by the other process");
}

async fn stamp(store: &Engine) -> i64 {
    store.changes(None, Duration::ZERO).await.unwrap().stamp
}

#[tokio::test]
async fn a_commit_of_another_process_changes_the_stamp() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mail.db");
    let (one, other) = (open(&path), open(&path));
    let team = team(&one, 2).await;
    let before = stamp(&one).await;
    assert_eq!(stamp(&one).await, before, "nobody wrote");
    send(&other, &team.message(0, &[1], "body")).await;
    let after = stamp(&one).await;
    assert_ne!(after, before);
    send(&one, &team.message(0, &[1], "body")).await;
    assert_ne!(stamp(&one).await, after);
}

#[tokio::test]
async fn mail_survives_a_process_that_never_closed_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mail.db");
    let store = open(&path);
    let team = team(&store, 2).await;
    send(&store, &team.message(0, &[1], "kept")).await;
    // As after a kill: the file and its log are there, and nobody folded the one into the other.
    let copy = folder.path().join("after-kill.db");
    std::fs::copy(&path, &copy).unwrap();
    std::fs::copy(folder.path().join("mail.db-wal"), folder.path().join("after-kill.db-wal")).unwrap();
    let again = open(&copy);
    let inbox = again.inbox(&InboxQuery::newest(team.agents[1], 10)).await.unwrap();
    assert_eq!(inbox[0].message.body, "kept");
}
