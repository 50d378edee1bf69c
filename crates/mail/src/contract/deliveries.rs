//! What every store promises of mailboxes delivery by delivery: what is open, taking back, archiving and bringing back.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::Shared;
use super::fixtures::{PLENTY, Team, at, draft, team, team_at};
use crate::events::EventKind;
use crate::ids::MessageId;
use crate::mailboxes::{Count, DeliveryQuery};
use crate::messages::{DeliveryState, Mark, PAGE_BYTES};

async fn archived(store: &Shared, team: &Team, name: &str, id: MessageId) -> Option<bool> {
    store.archive(team.agent(name), id, team.agent(name), at("16:05:00")).await.unwrap()
}

fn query(team: &Team, name: Option<&str>) -> DeliveryQuery {
    let agent = name.map(|name| team.agent(name));
    DeliveryQuery { project: team.id(), agent, unread_only: false, after: None, limit: PLENTY }
}

async fn open(store: &Shared, query: &DeliveryQuery) -> Vec<(String, String)> {
    let deliveries = store.open_deliveries(query).await.unwrap();
    deliveries.into_iter().map(|delivery| (delivery.id().to_string(), delivery.recipient)).collect()
}

pub async fn open_deliveries_are_oldest_first_and_each_has_its_place(store: &Shared) {
    let mut team = team(store).await;
    team.join("dave").await;
    let first = team.send(draft("alice", &["bob"])).await;
    let second = team.send(draft("alice", &["bob", "carol"]).bcc(&["dave"])).await;
    let deliveries = store.open_deliveries(&query(&team, Some("bob"))).await.unwrap();
    assert_eq!(
        deliveries.iter().map(|delivery| (delivery.message.id, delivery.place)).collect::<Vec<_>>(),
        [(first, 1), (second, 1)]
    );
    assert_eq!(deliveries[0].message, team.message(first).await);
    assert_eq!(open(store, &query(&team, Some("dave"))).await, [(format!("{second}.3"), "dave".to_owned())]);
}

pub async fn everybodys_open_deliveries_are_told_with_their_recipients(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    let id = shop.send(draft("alice", &["carol"]).cc(&["bob"])).await;
    bank.send(draft("alice", &["bob"])).await;
    let all = open(store, &query(&shop, None)).await;
    assert_eq!(all, [(format!("{id}.1"), "carol".to_owned()), (format!("{id}.2"), "bob".to_owned())]);
}

pub async fn unread_deliveries_are_told_alone(store: &Shared) {
    let team = team(store).await;
    let id = team.send(draft("alice", &["bob", "carol"])).await;
    store.mark(team.agent("bob"), id, &Mark::Read, at("16:05:00")).await.unwrap();
    let unread = |name| DeliveryQuery { unread_only: true, ..query(&team, name) };
    assert_eq!(open(store, &unread(Some("bob"))).await, []);
    assert_eq!(open(store, &unread(None)).await, [(format!("{id}.2"), "carol".to_owned())]);
}

pub async fn pages_of_deliveries_meet_without_gap_or_repeat(store: &Shared) {
    let team = team(store).await;
    for _ in 0..5 {
        team.send(draft("alice", &["bob", "carol"])).await;
    }
    for name in [None, Some("carol")] {
        let (mut after, mut told) = (None, Vec::new());
        loop {
            let page = store.open_deliveries(&DeliveryQuery { after, limit: 3, ..query(&team, name) }).await.unwrap();
            let Some(last) = page.last() else { break };
            assert!(page.len() <= 3);
            after = Some((last.message.id, last.place));
            told.extend(page.into_iter().map(|delivery| (delivery.id().to_string(), delivery.recipient)));
        }
        assert_eq!(told, open(store, &query(&team, name)).await, "{name:?}");
    }
}

pub async fn open_deliveries_with_long_bodies_are_read_in_short_pages(store: &Shared) {
    let team = team(store).await;
    for _ in 0..3 {
        team.send(draft("alice", &["bob"]).body(&"x".repeat(PAGE_BYTES / 2 + 1))).await;
    }
    assert_eq!(store.open_deliveries(&query(&team, Some("bob"))).await.unwrap().len(), 2);
}

pub async fn what_is_archived_is_hidden_for_its_recipient_alone(store: &Shared) {
    let team = team(store).await;
    let id = team.send(draft("alice", &["bob", "carol"])).await;
    assert_eq!(archived(store, &team, "bob", id).await, Some(true));
    assert_eq!(open(store, &query(&team, Some("bob"))).await, []);
    assert!(team.inbox("bob").await.is_empty());
    assert_eq!(team.take("bob", 1, at("16:06:00")).await, []);
    assert_eq!(open(store, &query(&team, None)).await, [(format!("{id}.2"), "carol".to_owned())]);
    let state = DeliveryState { archived_at: Some(at("16:05:00")), ..DeliveryState::default() };
    assert_eq!(team.delivery(id, "bob").await.state, state, "it was not read, and is not gone");
}

pub async fn archiving_twice_is_told_and_keeps_the_first_time(store: &Shared) {
    let team = team(store).await;
    let (id, bob) = (team.send(draft("alice", &["bob"])).await, team.agent("bob"));
    assert_eq!(archived(store, &team, "bob", id).await, Some(true));
    assert_eq!(store.archive(bob, id, bob, at("16:09:00")).await.unwrap(), Some(false));
    assert_eq!(team.delivery(id, "bob").await.state.archived_at, Some(at("16:05:00")));
    assert_eq!(team.count_events(EventKind::MessageArchived).await, 1);
}

pub async fn of_many_who_archive_at_once_one_does(store: &Shared) {
    let team = team(store).await;
    let id = team.send(draft("alice", &["bob"])).await;
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let (store, bob) = (store.clone(), team.agent("bob"));
        tasks.spawn(async move { store.archive(bob, id, bob, at("16:05:00")).await.unwrap() });
    }
    let answers = tasks.join_all().await;
    assert_eq!(answers.iter().filter(|answer| **answer == Some(true)).count(), 1, "{answers:?}");
    assert_eq!(team.count_events(EventKind::MessageArchived).await, 1);
}

pub async fn who_has_no_delivery_archives_nothing(store: &Shared) {
    let team = team(store).await;
    let id = team.send(draft("alice", &["bob"])).await;
    let before = team.events().await;
    assert_eq!(archived(store, &team, "carol", id).await, None);
    assert_eq!(archived(store, &team, "bob", MessageId(id.0 + 1)).await, None);
    assert_eq!(team.events().await, before);
}

pub async fn who_archives_a_delivery_or_brings_it_back_is_told(store: &Shared) {
    let team = team(store).await;
    let (alice, bob, carol) = (team.agent("alice"), team.agent("bob"), team.agent("carol"));
    let id = team.send(draft("alice", &["bob"])).await;
    let before = team.events().await.len();
    assert_eq!(store.archive(bob, id, carol, at("16:05:00")).await.unwrap(), Some(true));
    assert_eq!(store.bring_back(bob, id, alice, at("16:06:00")).await.unwrap(), Some(true));
    let events = team.events().await;
    let told: Vec<_> = events[before..].iter().map(|one| (one.kind, one.reference, one.agent, one.at)).collect();
    let expected = [
        (EventKind::MessageArchived, id.0, Some(carol), at("16:05:00")),
        (EventKind::MessageBroughtBack, id.0, Some(alice), at("16:06:00")),
    ];
    assert_eq!(told, expected);
}

pub async fn what_was_archived_comes_back_as_it_was(store: &Shared) {
    let team = team(store).await;
    let bob = team.agent("bob");
    let (read, unread) =
        (team.send(draft("alice", &["bob", "carol"])).await, team.send(draft("alice", &["bob"])).await);
    store.mark(bob, read, &Mark::Read, at("16:04:00")).await.unwrap();
    let before = team.inbox("bob").await;
    for id in [read, unread] {
        assert_eq!(archived(store, &team, "bob", id).await, Some(true));
        assert_eq!(archived(store, &team, "carol", read).await, if id == read { Some(true) } else { Some(false) });
    }
    assert_eq!(team.inbox("bob").await, []);
    for id in [read, unread] {
        assert_eq!(store.bring_back(bob, id, bob, at("16:06:00")).await.unwrap(), Some(true));
    }
    assert_eq!(team.inbox("bob").await, before);
    assert_eq!(team.delivery(read, "carol").await.state.archived_at, Some(at("16:05:00")), "each for itself");
    assert_eq!(team.take("bob", PLENTY, at("16:07:00")).await, [unread], "what was not seen is new still");
    assert_eq!(archived(store, &team, "bob", read).await, Some(true), "and can be archived again");
}

pub async fn bringing_back_what_is_not_away_changes_nothing(store: &Shared) {
    let team = team(store).await;
    let (bob, carol) = (team.agent("bob"), team.agent("carol"));
    let id = team.send(draft("alice", &["bob"])).await;
    let before = (team.events().await, team.inbox("bob").await);
    assert_eq!(store.bring_back(bob, id, bob, at("16:05:00")).await.unwrap(), Some(false));
    assert_eq!(store.bring_back(carol, id, bob, at("16:05:00")).await.unwrap(), None);
    let unknown = store.bring_back(bob, MessageId(id.0 + 1), bob, at("16:05:00")).await.unwrap();
    assert_eq!(unknown, None);
    assert_eq!((team.events().await, team.inbox("bob").await), before);
}

pub async fn of_many_who_bring_back_at_once_one_does(store: &Shared) {
    let team = team(store).await;
    let id = team.send(draft("alice", &["bob"])).await;
    archived(store, &team, "bob", id).await;
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let (store, bob) = (store.clone(), team.agent("bob"));
        tasks.spawn(async move { store.bring_back(bob, id, bob, at("16:06:00")).await.unwrap() });
    }
    let answers = tasks.join_all().await;
    assert_eq!(answers.iter().filter(|answer| **answer == Some(true)).count(), 1, "{answers:?}");
    assert_eq!(team.count_events(EventKind::MessageBroughtBack).await, 1);
}

pub async fn what_was_read_can_be_unread_again(store: &Shared) {
    let team = team(store).await;
    let (id, bob) = (team.send(draft("alice", &["bob"])).await, team.agent("bob"));
    assert_eq!(store.mark(bob, id, &Mark::Unread, at("16:04:00")).await.unwrap(), Some(DeliveryState::default()));
    store.mark(bob, id, &Mark::Read, at("16:05:00")).await.unwrap();
    for _ in 0..2 {
        let state = store.mark(bob, id, &Mark::Unread, at("16:06:00")).await.unwrap();
        assert_eq!(state, Some(DeliveryState::default()));
    }
    assert_eq!(team.count_events(EventKind::MessageUnread).await, 1, "only what changes is an event");
    let read = store.mark(bob, id, &Mark::Read, at("16:07:00")).await.unwrap().unwrap();
    assert_eq!(read.read_at, Some(at("16:07:00")));
}

pub async fn being_unread_again_keeps_an_acknowledgement(store: &Shared) {
    let team = team(store).await;
    let (id, bob) = (team.send(draft("alice", &["bob"])).await, team.agent("bob"));
    let ack = Mark::Acknowledged { note: "yes".into() };
    store.mark(bob, id, &ack, at("16:05:00")).await.unwrap();
    let state = store.mark(bob, id, &Mark::Unread, at("16:06:00")).await.unwrap().unwrap();
    assert_eq!((state.read_at, state.acked_at, state.ack_note.as_str()), (None, Some(at("16:05:00")), "yes"));
}

pub async fn what_is_open_is_counted(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    let ids = shop.send_many(3).await;
    bank.send(draft("alice", &["bob"])).await;
    shop.send(draft("alice", &["carol"])).await;
    let bob = shop.agent("bob");
    store.mark(bob, ids[0], &Mark::Read, at("16:05:00")).await.unwrap();
    archived(store, &shop, "bob", ids[1]).await;
    assert_eq!(store.count_open(shop.id(), Some(bob)).await.unwrap(), Count { total: 2, unread: 1 });
    assert_eq!(store.count_open(shop.id(), None).await.unwrap(), Count { total: 3, unread: 2 });
}

pub async fn nothing_is_taken_for_who_has_gone(store: &Shared) {
    let team = team(store).await;
    let (id, bob) = (team.send(draft("alice", &["bob"])).await, team.agent("bob"));
    let past = Instant::now();
    assert!(store.take_unseen(bob, None, 1, at("16:05:00"), Some(past)).await.unwrap().is_empty());
    assert_eq!(team.delivery(id, "bob").await.state, DeliveryState::default(), "it was not shown");
    let later = Some(Instant::now() + Duration::from_secs(60));
    assert_eq!(store.take_unseen(bob, None, 1, at("16:05:00"), later).await.unwrap().len(), 1);
}
