//! What every store promises of a message that is sent twice with one key.

use tokio::task::JoinSet;

use super::Shared;
use super::fixtures::{at, draft, team, team_at};
use crate::messages::Appended;

pub async fn appending_twice_with_one_key_keeps_one(store: &Shared) {
    let team = team(store).await;
    let first = team.send(draft("alice", &["bob"]).key("k1", 1)).await;
    let again = team.append(draft("alice", &["bob"]).key("k1", 1).taken(at("17:00:00"))).await;
    assert_eq!(again, Appended::Repeated(first));
    assert_eq!(team.inbox("bob").await.len(), 1);
}

pub async fn a_key_used_for_other_content_is_taken(store: &Shared) {
    let team = team(store).await;
    let first = team.send(draft("alice", &["bob"]).key("k1", 1)).await;
    let other = draft("alice", &["carol"]).body("Something else").key("k1", 2);
    assert_eq!(team.append(other).await, Appended::KeyTaken(first));
    assert_eq!(team.inbox("carol").await, []);
    let again = team.append(draft("alice", &["bob"]).key("k1", 1)).await;
    assert_eq!(again, Appended::Repeated(first), "the key still stands for the first message");
}

pub async fn a_repeated_key_adds_nothing(store: &Shared) {
    let team = team(store).await;
    team.send(draft("alice", &["bob"]).key("k1", 1)).await;
    let before = (team.events().await, store.counts(at("16:00:00")).await.unwrap());
    team.append(draft("alice", &["bob"]).key("k1", 1)).await;
    team.append(draft("alice", &["bob", "carol"]).key("k1", 2)).await;
    assert_eq!((team.events().await, store.counts(at("16:00:00")).await.unwrap()), before);
}

pub async fn a_key_counts_within_its_sender(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/work/bank").await);
    let first = shop.send(draft("alice", &["carol"]).key("k1", 1)).await;
    assert_ne!(shop.send(draft("bob", &["carol"]).key("k1", 1)).await, first);
    assert_ne!(bank.send(draft("alice", &["carol"]).key("k1", 1)).await, first);
    assert_eq!(shop.append(draft("alice", &["carol"]).key("k1", 1)).await, Appended::Repeated(first));
}

pub async fn keys_are_compared_exactly(store: &Shared) {
    let team = team(store).await;
    for key in ["k1", "K1", "k1 ", "k", "", "ḱ1", "k\u{301}1"] {
        team.send(draft("alice", &["bob"]).key(key, 1)).await;
    }
    assert_eq!(team.inbox("bob").await.len(), 7);
}

pub async fn a_key_is_remembered_after_much_other_mail(store: &Shared) {
    let team = team(store).await;
    let first = team.send(draft("alice", &["bob"]).key("k1", 1)).await;
    team.send_many(50).await;
    team.send(draft("alice", &["bob"]).key("k2", 1).taken(at("23:00:00"))).await;
    let again = draft("alice", &["bob"]).key("k1", 1).taken(at("23:59:59"));
    assert_eq!(team.append(again).await, Appended::Repeated(first));
}

pub async fn the_same_content_without_a_key_is_sent_twice(store: &Shared) {
    let team = team(store).await;
    let sent = team.send_many(2).await;
    assert_ne!(sent[0], sent[1]);
    assert_eq!(team.inbox("bob").await.len(), 2);
}

pub async fn appending_at_once_with_one_key_keeps_one(store: &Shared) {
    let team = team(store).await;
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let (store, message) = (store.clone(), team.new_message(draft("alice", &["bob"]).key("k1", 1)));
        tasks.spawn(async move { store.append(&message).await.unwrap() });
    }
    let answers = tasks.join_all().await;
    let inbox = team.inbox("bob").await;
    assert_eq!(inbox.len(), 1);
    let repeated = Appended::Repeated(inbox[0].message.id);
    assert_eq!(answers.iter().filter(|answer| **answer == repeated).count(), 7, "{answers:?}");
}
