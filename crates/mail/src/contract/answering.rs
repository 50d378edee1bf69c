//! What every store promises of messages that answer others: whoever answers has read what it answers, also across projects.

use super::Shared;
use super::fixtures::{Draft, at, draft, named, team, team_at};
use crate::events::EventKind;
use crate::ids::MessageId;
use crate::messages::{Appended, DeliveryState, InboxQuery, Mark, NewMessage, Parties, Role};

fn answer(from: &str, to: &str, id: MessageId) -> Draft {
    Draft { reply_to: Some(id), ..draft(from, &[to]) }
}

pub async fn whoever_answers_has_read_what_it_answers(store: &Shared) {
    let team = team(store).await;
    let id = team.send(draft("alice", &["bob"]).cc(&["carol"])).await;
    let before = team.events().await.len();
    let answered = team.sent(answer("bob", "alice", id).taken(at("16:05:00"))).await;
    let read = DeliveryState { read_at: Some(answered.created_at), ..DeliveryState::default() };
    assert_eq!(team.delivery(id, "bob").await.state, read);
    assert_eq!(team.delivery(id, "carol").await.state, DeliveryState::default(), "another has not");
    let unread = InboxQuery { unread_only: true, ..InboxQuery::newest(10) };
    assert_eq!(store.inbox(team.agent("bob"), &unread).await.unwrap(), []);
    assert_eq!(team.take("bob", 10, at("16:06:00")).await, []);
    let told: Vec<_> = team.events().await[before..].iter().map(|one| (one.kind, one.reference, one.agent)).collect();
    let bob = Some(team.agent("bob"));
    assert_eq!(told, [(EventKind::MessageSent, answered.id.0, bob), (EventKind::MessageRead, id.0, bob)]);
}

pub async fn what_was_read_before_keeps_its_time_when_it_is_answered(store: &Shared) {
    let team = team(store).await;
    let id = team.send(draft("alice", &["bob"])).await;
    let state = store.mark(team.agent("bob"), id, &Mark::Read, at("16:01:00")).await.unwrap().unwrap();
    team.send(answer("bob", "alice", id).taken(at("16:05:00"))).await;
    assert_eq!(team.delivery(id, "bob").await.state, state);
    assert_eq!(team.count_events(EventKind::MessageRead).await, 1);
}

pub async fn what_was_marked_unread_is_read_by_an_answer_or_another_acknowledgement(store: &Shared) {
    let team = team(store).await;
    let (id, bob) = (team.send(draft("alice", &["bob"])).await, team.agent("bob"));
    let ack = |note: &str| Mark::Acknowledged { note: note.to_owned() };
    store.mark(bob, id, &ack("first"), at("16:01:00")).await.unwrap();
    store.mark(bob, id, &Mark::Unread, at("16:02:00")).await.unwrap();
    let state = store.mark(bob, id, &ack("second"), at("16:03:00")).await.unwrap().unwrap();
    let times = (state.read_at, state.acked_at, state.ack_note.as_str());
    assert_eq!(times, (Some(at("16:03:00")), Some(at("16:01:00")), "first"));
    assert_eq!(team.delivery(id, "bob").await.state, state);
    assert_eq!(team.count_events(EventKind::MessageAcknowledged).await, 1);
    assert_eq!(team.count_events(EventKind::MessageRead).await, 1);
    store.mark(bob, id, &Mark::Unread, at("16:04:00")).await.unwrap();
    team.send(answer("bob", "alice", id).taken(at("16:05:00"))).await;
    assert_eq!(team.delivery(id, "bob").await.state.read_at, Some(at("16:05:00")));
}

pub async fn an_answer_to_what_one_did_not_get_reads_nothing(store: &Shared) {
    let team = team(store).await;
    let id = team.send(draft("alice", &["bob"])).await;
    team.send(answer("carol", "alice", id)).await;
    team.send(answer("alice", "bob", id)).await;
    team.send(answer("bob", "alice", MessageId(9_999))).await;
    assert_eq!(team.delivery(id, "bob").await.state, DeliveryState::default());
    assert_eq!(team.count_events(EventKind::MessageRead).await, 0);
}

pub async fn the_same_answer_again_reads_nothing_again(store: &Shared) {
    let team = team(store).await;
    let (id, bob) = (team.send(draft("alice", &["bob"])).await, team.agent("bob"));
    team.append(answer("bob", "alice", id).key("k", 1)).await;
    store.mark(bob, id, &Mark::Unread, at("16:06:00")).await.unwrap();
    team.append(answer("bob", "alice", id).key("k", 1)).await;
    assert_eq!(team.delivery(id, "bob").await.state.read_at, None, "only what is sent answers");
}

pub async fn a_message_to_another_project_is_kept_there_under_the_name_that_leads_back(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    let there = bank.new_message(draft("bob", &["bob"]));
    let message = NewMessage { from: shop.agent("alice"), from_as: Some("alice@projects-shop".into()), ..there };
    let Appended::New { id, .. } = store.append(&message).await.unwrap() else { panic!("it is new") };
    assert_eq!(bank.message(id).await.from, "alice@projects-shop");
    assert_eq!(store.message(shop.id(), id).await.unwrap(), None, "it belongs to one project");
    assert_eq!(store.message_from(shop.id(), id).await.unwrap(), Some(bank.message(id).await));
    assert_eq!(store.message_from(bank.id(), id).await.unwrap(), None);
    assert_eq!(store.outbox(shop.agent("alice"), None, 10, true).await.unwrap(), [bank.message(id).await]);
    assert_eq!(bank.take("bob", 10, at("16:01:00")).await, [id]);
    assert_eq!(
        (shop.count_events(EventKind::MessageSent).await, bank.count_events(EventKind::MessageSent).await),
        (0, 1)
    );
    let own = shop.send(draft("alice", &["bob"])).await;
    assert_eq!(store.message_from(shop.id(), own).await.unwrap(), None, "it is in the project itself");
}

pub async fn an_answer_in_another_project_leaves_what_it_answers_to_its_own(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    let id = shop.send(draft("alice", &["bob"])).await;
    let there = bank.new_message(answer("bob", "bob", id));
    let message = NewMessage { from: shop.agent("bob"), from_as: Some("bob@projects-shop".into()), ..there };
    store.append(&message).await.unwrap();
    assert_eq!(shop.delivery(id, "bob").await.state, DeliveryState::default());
    let state = store.mark(shop.agent("bob"), id, &Mark::Read, at("16:07:00")).await.unwrap().unwrap();
    assert_eq!(state.read_at, Some(at("16:07:00")));
}

pub async fn an_answer_that_marks_nothing_read_leaves_what_it_answers(store: &Shared) {
    let team = team(store).await;
    let id = team.send(draft("alice", &["bob"])).await;
    let silent = NewMessage { marks_read: false, ..team.new_message(answer("bob", "alice", id)) };
    store.append(&silent).await.unwrap();
    assert_eq!(team.delivery(id, "bob").await.state, DeliveryState::default());
    assert_eq!(team.count_events(EventKind::MessageRead).await, 0);
}

pub async fn whose_a_message_is_stays_when_they_are_renamed(store: &Shared) {
    let team = team(store).await;
    let id = team.send(draft("alice", &["bob"]).bcc(&["carol"])).await;
    for (before, name) in [("alice", "Ann"), ("bob", "Robert")] {
        store.rename(team.id(), team.agent(before), &named(name), at("16:00:30")).await.unwrap().expect("it is free");
    }
    let recipients = vec![(team.agent("bob"), Role::To), (team.agent("carol"), Role::Bcc)];
    assert_eq!(store.parties(id).await.unwrap(), Some(Parties { sender: team.agent("alice"), recipients }));
    assert_eq!(store.parties(MessageId(9_999)).await.unwrap(), None);
}
