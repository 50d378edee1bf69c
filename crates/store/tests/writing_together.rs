//! Several processes on one file: nothing is lost, and each sees what the others did.

use std::collections::HashSet;
use std::time::Duration;

use mail::events::{EventKind, EventStore};
use mail::messages::{InboxQuery, MessageStore};
use mail::reservations::{NewEnd, ReservationStore, Reserved};
use store::{Engine, upkeep};

use crate::team::{at, open, send, team};

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
        assert_eq!(store.inbox(team.agents[1], &InboxQuery::newest(1000)).await.unwrap().len(), 200);
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
        events.iter().map(|event| (event.kind == EventKind::ReservationGranted, event.reference)).collect();
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
    other.renew(team.project, team.agents[1], None, NewEnd::At(at(5)), at(4)).await.unwrap().unwrap();
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
