//! What every store promises of what recipients do with their deliveries: being shown, reading, acknowledging.

use tokio::task::JoinSet;

use super::Shared;
use super::fixtures::{at, draft, team, team_at};
use crate::events::EventKind;
use crate::ids::MessageId;
use crate::messages::{DeliveryState, Mark};

pub async fn reading_is_noted_with_its_time(store: &Shared) {
    let team = team(store).await;
    let id = team.send(draft("alice", &["bob"])).await;
    let time = at("16:05:00.000001");
    let state = store.mark(team.agent("bob"), id, &Mark::Read, time).await.unwrap();
    assert_eq!(state, Some(DeliveryState { read_at: Some(time), ..DeliveryState::default() }));
    assert_eq!(Some(team.delivery(id, "bob").await.state), state);
}

pub async fn acknowledging_also_reads(store: &Shared) {
    let team = team(store).await;
    let id = team.send(draft("alice", &["bob"])).await;
    let time = at("16:05:00");
    let state = store.mark(team.agent("bob"), id, &ack("On it, très bientôt 🦀\n"), time).await.unwrap();
    let expected = DeliveryState {
        read_at: Some(time),
        acked_at: Some(time),
        ack_note: "On it, très bientôt 🦀\n".into(),
        ..DeliveryState::default()
    };
    assert_eq!(state, Some(expected));
    assert_eq!(Some(team.delivery(id, "bob").await.state), state);
}

pub async fn acknowledging_what_was_read_keeps_when_it_was_read(store: &Shared) {
    let team = team(store).await;
    let (id, bob) = (team.send(draft("alice", &["bob"])).await, team.agent("bob"));
    store.mark(bob, id, &Mark::Read, at("16:05:00")).await.unwrap();
    let state = store.mark(bob, id, &ack(""), at("16:06:00")).await.unwrap().unwrap();
    assert_eq!((state.read_at, state.acked_at), (Some(at("16:05:00")), Some(at("16:06:00"))));
    assert_eq!(state.ack_note, "");
}

pub async fn reading_again_keeps_the_first_time(store: &Shared) {
    let team = team(store).await;
    let (id, bob) = (team.send(draft("alice", &["bob"])).await, team.agent("bob"));
    let first = store.mark(bob, id, &Mark::Read, at("16:05:00")).await.unwrap();
    for time in ["16:06:00", "16:04:00"] {
        assert_eq!(store.mark(bob, id, &Mark::Read, at(time)).await.unwrap(), first, "{time}");
    }
    assert_eq!(team.count_events(EventKind::MessageRead).await, 1);
}

pub async fn acknowledging_again_keeps_the_first_time_and_note(store: &Shared) {
    let team = team(store).await;
    let (id, bob) = (team.send(draft("alice", &["bob"])).await, team.agent("bob"));
    let first = store.mark(bob, id, &ack(""), at("16:05:00")).await.unwrap();
    assert_eq!(store.mark(bob, id, &ack("second"), at("16:06:00")).await.unwrap(), first, "also an empty note");
    assert_eq!(store.mark(bob, id, &Mark::Read, at("16:07:00")).await.unwrap(), first);
    assert_eq!(Some(team.delivery(id, "bob").await.state), first);
    assert_eq!(team.count_events(EventKind::MessageAcknowledged).await, 1);
}

/// One mark is one event: whoever follows the log knows that an acknowledgement reads.
pub async fn acknowledging_writes_one_event(store: &Shared) {
    let team = team(store).await;
    let (id, bob) = (team.send(draft("alice", &["bob"])).await, team.agent("bob"));
    let before = team.events().await.len();
    store.mark(bob, id, &ack("yes"), at("16:05:00")).await.unwrap();
    let events = team.events().await;
    assert_eq!(events.len(), before + 1);
    assert_eq!(events[before].kind, EventKind::MessageAcknowledged);
    store.mark(bob, id, &Mark::Read, at("16:06:00")).await.unwrap();
    assert_eq!(team.events().await, events, "it was read already");
}

pub async fn one_recipients_mark_leaves_the_other_deliveries_alone(store: &Shared) {
    let team = team(store).await;
    let id = team.send(draft("alice", &["bob"]).cc(&["carol"])).await;
    let other = team.send(draft("alice", &["bob"])).await;
    store.mark(team.agent("bob"), id, &ack("yes"), at("16:05:00")).await.unwrap();
    assert_eq!(team.delivery(id, "carol").await.state, DeliveryState::default());
    assert_eq!(team.delivery(other, "bob").await.state, DeliveryState::default());
}

pub async fn who_has_no_delivery_marks_nothing(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    let id = shop.send(draft("alice", &["bob"])).await;
    let before = (shop.events().await, bank.events().await);
    for stranger in [shop.agent("carol"), shop.agent("alice"), bank.agent("bob")] {
        assert_eq!(store.mark(stranger, id, &Mark::Read, at("16:05:00")).await.unwrap(), None);
        assert_eq!(store.mark(stranger, id, &ack("yes"), at("16:05:00")).await.unwrap(), None);
    }
    let unknown = MessageId(id.0 + 1);
    assert_eq!(store.mark(shop.agent("bob"), unknown, &Mark::Read, at("16:05:00")).await.unwrap(), None);
    assert_eq!(shop.delivery(id, "bob").await.state, DeliveryState::default());
    assert_eq!((shop.events().await, bank.events().await), before);
}

pub async fn being_shown_is_noted_without_being_read(store: &Shared) {
    let team = team(store).await;
    let (sent, bob) = (team.send_many(3).await, team.agent("bob"));
    let before = team.events().await;
    assert_eq!(team.take("bob", 2, at("16:05:00")).await, sent[..2]);
    let shown = DeliveryState { shown_at: Some(at("16:05:00")), ..DeliveryState::default() };
    assert_eq!(team.delivery(sent[0], "bob").await.state, shown);
    assert_eq!(team.delivery(sent[1], "bob").await.state, shown);
    assert_eq!(team.delivery(sent[2], "bob").await.state, DeliveryState::default());
    assert_eq!(team.events().await, before);
    let read = store.mark(bob, sent[0], &Mark::Read, at("16:06:00")).await.unwrap();
    assert_eq!(read, Some(DeliveryState { read_at: Some(at("16:06:00")), ..shown }));
}

pub async fn being_shown_again_keeps_the_first_time(store: &Shared) {
    let team = team(store).await;
    let (id, bob) = (team.send(draft("alice", &["bob"])).await, team.agent("bob"));
    team.take("bob", 1, at("16:05:00")).await;
    let again = store.take_unseen(bob, Some(MessageId(0)), 1, at("16:06:00"), None).await.unwrap();
    assert_eq!(again[0].state.shown_at, Some(at("16:05:00")));
    assert_eq!(team.delivery(id, "bob").await.state.shown_at, Some(at("16:05:00")));
}

pub async fn what_one_is_shown_is_not_noted_for_others(store: &Shared) {
    let team = team(store).await;
    let id = team.send(draft("alice", &["bob", "carol"])).await;
    team.take("bob", 1, at("16:05:00")).await;
    assert_eq!(team.delivery(id, "carol").await.state.shown_at, None);
    assert_eq!(team.take("carol", 1, at("16:06:00")).await, [id]);
}

pub async fn acknowledging_at_once_counts_the_first(store: &Shared) {
    let team = team(store).await;
    let id = team.send(draft("alice", &["bob"])).await;
    let mut tasks = JoinSet::new();
    for number in 0..8 {
        let (store, bob) = (store.clone(), team.agent("bob"));
        tasks.spawn(async move {
            let mark = Mark::Acknowledged { note: number.to_string() };
            store.mark(bob, id, &mark, at(&format!("16:05:0{number}"))).await.unwrap().unwrap()
        });
    }
    let answers = tasks.join_all().await;
    let kept = team.delivery(id, "bob").await.state;
    assert!(answers.iter().all(|answer| *answer == kept), "all are told the same: {answers:?}");
    assert_eq!(team.count_events(EventKind::MessageAcknowledged).await, 1);
}

fn ack(note: &str) -> Mark {
    Mark::Acknowledged { note: note.to_owned() }
}
