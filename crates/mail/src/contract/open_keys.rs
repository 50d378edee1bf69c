//! What every store promises of keys of which recipients have one message open.

use tokio::task::JoinSet;

use super::Shared;
use super::fixtures::{at, draft, entry_ids, team};
use crate::events::EventKind;
use crate::messages::{Appended, WhenOpen};

pub async fn what_is_open_under_a_key_is_not_sent_again(store: &Shared) {
    let team = team(store).await;
    let first = team.send(draft("alice", &["bob"]).open_key("disk", WhenOpen::Skip)).await;
    let again = draft("alice", &["bob"]).body("Another text.").open_key("disk", WhenOpen::Skip);
    assert_eq!(team.append(again).await, Appended::Repeated(first));
    assert_eq!(entry_ids(&team.inbox("bob").await), [first]);
    assert_eq!(team.count_events(EventKind::MessageSent).await, 1);
}

pub async fn what_was_read_is_open_and_what_was_archived_is_not(store: &Shared) {
    let team = team(store).await;
    let keyed = || draft("alice", &["bob"]).open_key("disk", WhenOpen::Skip);
    let first = team.send(keyed()).await;
    store.mark(team.agent("bob"), first, &crate::messages::Mark::Read, at("16:05:00")).await.unwrap();
    assert_eq!(team.append(keyed()).await, Appended::Repeated(first));
    store.archive(team.agent("bob"), first, team.agent("bob"), at("16:06:00")).await.unwrap();
    let second = team.send(keyed()).await;
    assert_eq!(team.append(keyed()).await, Appended::Repeated(second));
}

pub async fn a_recipient_who_has_none_open_gets_the_message(store: &Shared) {
    let team = team(store).await;
    let to = |names: &[&str]| draft("alice", names).open_key("disk", WhenOpen::Skip);
    let first = team.send(to(&["bob"])).await;
    let both = team.send(to(&["bob", "carol"])).await;
    assert_eq!(entry_ids(&team.inbox("bob").await), [both, first]);
    assert_eq!(team.append(to(&["carol"])).await, Appended::Repeated(both));
}

pub async fn what_stands_for_a_message_is_mail_of_its_own_recipients(store: &Shared) {
    let team = team(store).await;
    let to = |name: &str| draft("alice", &[name]).open_key("disk", WhenOpen::Skip);
    let bobs = team.send(to("bob")).await;
    let carols = team.send(to("carol")).await;
    assert_eq!(team.append(to("bob")).await, Appended::Repeated(bobs));
    assert_eq!(team.append(to("carol")).await, Appended::Repeated(carols));
}

pub async fn what_is_brought_back_counts_under_its_key_unless_another_was_sent_in_between(store: &Shared) {
    let team = team(store).await;
    let bob = team.agent("bob");
    let keyed = |when_open| draft("alice", &["bob"]).open_key("plan", when_open);
    let first = team.send(keyed(WhenOpen::Skip)).await;
    store.archive(bob, first, bob, at("16:05:00")).await.unwrap();
    store.bring_back(bob, first, bob, at("16:06:00")).await.unwrap();
    assert_eq!(team.append(keyed(WhenOpen::Skip)).await, Appended::Repeated(first));
    let second = team.send(keyed(WhenOpen::Replace)).await;
    store.bring_back(bob, first, bob, at("16:07:00")).await.unwrap();
    let third = team.send(keyed(WhenOpen::Replace)).await;
    assert_eq!(entry_ids(&team.inbox("bob").await), [third, first], "{second} is replaced, and {first} is plain mail");
    store.archive(bob, third, bob, at("16:08:00")).await.unwrap();
    team.send(keyed(WhenOpen::Skip)).await;
}

pub async fn an_open_key_counts_within_its_sender(store: &Shared) {
    let team = team(store).await;
    let from = |name: &str, when_open| draft(name, &["bob"]).open_key("disk", when_open);
    let alices = team.send(from("alice", WhenOpen::Skip)).await;
    let carols = team.send(from("carol", WhenOpen::Skip)).await;
    let newer = team.send(from("carol", WhenOpen::Replace)).await;
    assert_eq!(entry_ids(&team.inbox("bob").await), [newer, alices], "carol replaces {carols} and nobody else's");
}

pub async fn another_key_is_another_matter(store: &Shared) {
    let team = team(store).await;
    team.send(draft("alice", &["bob"]).open_key("disk", WhenOpen::Skip)).await;
    team.send(draft("alice", &["bob"]).open_key("Disk", WhenOpen::Skip)).await;
    team.send(draft("alice", &["bob"]).key("disk", 1)).await;
    team.send(draft("alice", &["bob"])).await;
    assert_eq!(team.inbox("bob").await.len(), 4);
}

pub async fn what_replaces_archives_the_earlier_ones_of_its_recipients(store: &Shared) {
    let team = team(store).await;
    let to = |names: &[&str], when_open| draft("alice", names).open_key("plan", when_open);
    let first = team.send(to(&["bob", "carol"], WhenOpen::Skip)).await;
    let second = team.send(to(&["bob"], WhenOpen::Replace)).await;
    assert_eq!(entry_ids(&team.inbox("bob").await), [second]);
    assert_eq!(entry_ids(&team.inbox("carol").await), [first], "who did not get the new one keeps the old one");
    let third = team.send(to(&["bob", "carol"], WhenOpen::Replace)).await;
    for name in ["bob", "carol"] {
        assert_eq!(entry_ids(&team.inbox(name).await), [third]);
    }
    let events = team.events().await;
    let archived: Vec<_> = events.iter().filter(|event| event.kind == EventKind::MessageArchived).collect();
    assert!(archived.iter().all(|event| event.agent == Some(team.agent("alice"))), "{archived:?}");
    let mut references: Vec<i64> = archived.iter().map(|event| event.reference).collect();
    references.sort_unstable();
    assert_eq!(references, [first.0, first.0, second.0]);
    assert!(events.is_sorted_by(|one, next| one.seq + 1 == next.seq), "{events:?}");
}

pub async fn of_many_who_send_under_one_key_at_once_one_is_kept(store: &Shared) {
    let team = team(store).await;
    let mut senders = JoinSet::new();
    for number in 0..12 {
        let keyed = draft("alice", &["bob"]).subject(&format!("{number}")).open_key("disk", WhenOpen::Skip);
        let (store, message) = (store.clone(), team.new_message(keyed));
        senders.spawn(async move { store.append(&message).await.unwrap() });
    }
    let kept: Vec<Appended> = senders.join_all().await;
    let new: Vec<_> = kept.iter().filter(|one| matches!(one, Appended::New { .. })).collect();
    assert_eq!(new.len(), 1, "{kept:?}");
    assert_eq!(team.inbox("bob").await.len(), 1);
}

pub async fn of_many_that_replace_each_other_at_once_the_newest_is_open(store: &Shared) {
    let team = team(store).await;
    let mut senders = JoinSet::new();
    for _ in 0..12 {
        let keyed = draft("alice", &["bob"]).open_key("disk", WhenOpen::Replace);
        let (store, message) = (store.clone(), team.new_message(keyed));
        senders.spawn(async move { store.append(&message).await.unwrap() });
    }
    let newest = senders.join_all().await.into_iter().map(|kept| match kept {
        Appended::New { id, .. } => id,
        other => panic!("each is sent, not {other:?}"),
    });
    let newest = newest.max().expect("twelve were sent");
    assert_eq!(entry_ids(&team.inbox("bob").await), [newest]);
    assert_eq!(team.count_events(EventKind::MessageArchived).await, 11);
}
