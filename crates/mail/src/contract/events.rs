//! What every store promises of the event log and of those who follow it.

use std::collections::HashMap;

use tokio::task::JoinSet;

use super::Shared;
use super::fixtures::{PLENTY, Team, at, draft, parsed, register, stamp, team, team_at};
use crate::events::{Cursor, Event, EventKind};
use crate::ids::{AgentId, MessageId, ProjectId};
use crate::messages::{Appended, Mark};
use crate::reservations::NewEnd;

pub async fn the_log_tells_what_happened_to_what_by_whom_and_when(store: &Shared) {
    let team = team(store).await;
    let (alice, bob) = (team.agent("alice"), team.agent("bob"));
    let id = team.send(draft("alice", &["bob"]).taken(at("16:00:00"))).await;
    store.mark(bob, id, &Mark::Read, at("16:01:00")).await.unwrap();
    store.mark(bob, id, &Mark::Acknowledged { note: String::new() }, at("16:02:00")).await.unwrap();
    let reservation = team.granted(&team.request("alice", &["a.txt"]), at("16:03:00")).await[0].id.0;
    store.renew(team.id(), alice, None, NewEnd::At(at("17:00:00")), at("16:04:00")).await.unwrap().unwrap();
    store.release(team.id(), alice, None, alice, at("16:05:00")).await.unwrap();
    let expected = [
        (EventKind::MessageSent, id.0, alice, "16:00:00"),
        (EventKind::MessageRead, id.0, bob, "16:01:00"),
        (EventKind::MessageAcknowledged, id.0, bob, "16:02:00"),
        (EventKind::ReservationGranted, reservation, alice, "16:03:00"),
        (EventKind::ReservationGranted, reservation, alice, "16:04:00"),
        (EventKind::ReservationReleased, reservation, alice, "16:05:00"),
    ];
    let told = team.events().await;
    for (seq, name) in (1..).zip(["alice", "bob", "carol"]) {
        let agent = team.agent(name);
        assert_eq!(told[seq - 1], event(seq, EventKind::AgentRegistered, agent.0, agent, "15:00:00"));
    }
    let rest: Vec<_> = (4..)
        .zip(expected)
        .map(|(seq, (kind, reference, agent, time))| event(seq, kind, reference, agent, time))
        .collect();
    assert_eq!(told[3..], rest);
}

pub async fn a_message_event_carries_the_time_of_the_message(store: &Shared) {
    let team = team(store).await;
    team.send(draft("alice", &["bob"])).await;
    let second = team.sent(draft("alice", &["bob"])).await;
    assert_eq!(team.events().await.last().unwrap().at, second.created_at, "which the store moved on");
}

pub async fn each_reservation_is_told_by_an_event_of_its_own(store: &Shared) {
    let team = team(store).await;
    let reservations = team.granted(&team.request("alice", &["b.txt", "a.txt"]), at("16:00:00")).await;
    team.granted(&team.request("alice", &["c.txt", "a.txt"]), at("16:00:01")).await;
    assert_eq!(team.count_events(EventKind::ReservationGranted).await, 4, "one that is prolonged tells so too");
    let told: Vec<i64> = team.events().await[3..5].iter().map(|event| event.reference).collect();
    assert_eq!(told, [reservations[0].id.0, reservations[1].id.0]);
    let named = parsed(&["a.txt", "b.txt"]);
    store
        .renew(team.id(), team.agent("alice"), Some(&named), NewEnd::At(at("17:00:00")), at("16:00:02"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(team.count_events(EventKind::ReservationGranted).await, 6);
    store.release(team.id(), team.agent("alice"), None, team.agent("alice"), at("16:00:03")).await.unwrap();
    assert_eq!(team.count_events(EventKind::ReservationReleased).await, 3);
}

pub async fn what_changed_nothing_is_not_told(store: &Shared) {
    let team = team(store).await;
    let (alice, bob) = (team.agent("alice"), team.agent("bob"));
    let id = team.send(draft("alice", &["bob"]).key("k1", 1)).await;
    store.mark(bob, id, &Mark::Acknowledged { note: String::new() }, at("16:01:00")).await.unwrap();
    team.granted(&team.request("alice", &["a.txt"]), at("16:02:00")).await;
    let before = team.events().await;

    register(store, team.id(), "alice").await;
    store.ensure_project("/projects/shop", at("16:03:00")).await.unwrap();
    team.append(draft("alice", &["bob"]).key("k1", 1)).await;
    team.append(draft("alice", &["bob"]).key("k1", 2)).await;
    store.mark(bob, id, &Mark::Read, at("16:03:00")).await.unwrap();
    store.mark(bob, id, &Mark::Acknowledged { note: "again".into() }, at("16:03:00")).await.unwrap();
    store.mark(alice, id, &Mark::Read, at("16:03:00")).await.unwrap();
    store.take_unseen(bob, None, 1, at("16:03:00"), None).await.unwrap();
    team.reserve(&team.request("bob", &["a.txt"]), at("16:03:00")).await;
    store.release(team.id(), bob, None, bob, at("16:03:00")).await.unwrap();
    store
        .renew(team.id(), bob, Some(&parsed(&["a.txt"])), NewEnd::At(at("17:00:00")), at("16:03:00"))
        .await
        .unwrap()
        .unwrap_err();
    store.advance_cursor("page", team.id(), 1).await.unwrap();
    assert_eq!(team.events().await, before);
}

pub async fn the_log_is_read_in_pages_from_where_one_stood(store: &Shared) {
    let team = team(store).await;
    team.send_many(3).await;
    let all = team.events().await;
    assert!(all.iter().map(|event| event.seq).eq(1..=6));
    assert_eq!(store.events(team.id(), 0, 2).await.unwrap(), all[..2]);
    assert_eq!(store.events(team.id(), 2, 3).await.unwrap(), all[2..5]);
    assert_eq!(store.events(team.id(), 5, 3).await.unwrap(), all[5..]);
    assert_eq!(store.events(team.id(), 6, 3).await.unwrap(), []);
    assert_eq!(store.events(team.id(), 0, 0).await.unwrap(), []);
    assert_eq!(store.events(team.id(), i64::MAX, 3).await.unwrap(), []);
}

pub async fn each_project_has_a_log_of_its_own(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    let mut shops = Vec::new();
    for _ in 0..2 {
        shops.push(shop.send(draft("alice", &["bob"])).await.0);
        bank.send(draft("alice", &["bob"])).await;
    }
    let told = shop.events().await;
    assert!(told.iter().map(|event| event.seq).eq(1..=5));
    assert!(told[3..].iter().map(|event| event.reference).eq(shops));
    assert!(bank.events().await.iter().map(|event| event.seq).eq(1..=5));
    assert_eq!(store.events(ProjectId(i64::MAX), 0, PLENTY).await.unwrap(), []);
}

pub async fn what_is_written_at_once_is_numbered_without_gaps(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    let writers = start_writers(store, &[&shop, &bank]);
    writers.join_all().await;
    for team in [&shop, &bank] {
        let told = team.events().await;
        assert!(told.iter().map(|event| event.seq).eq(1..=3 + 100));
        let sent: Vec<i64> = told[3..].iter().map(|event| event.reference).collect();
        assert!(sent.is_sorted_by(|one, next| one < next), "the log and the numbers tell of one order");
    }
}

/// A number that can be seen means that all lower ones can be seen too; else a follower would skip them for ever.
pub async fn a_follower_of_the_log_misses_nothing(store: &Shared) {
    let team = team(store).await;
    let mut writers = start_writers(store, &[&team, &team]);
    let mut seen = 3;
    while seen < 3 + 200 {
        let all_is_written = writers.is_empty();
        let next = store.events(team.id(), seen, 7).await.unwrap();
        assert!(!(all_is_written && next.is_empty()), "events are missing after {seen}");
        for event in &next {
            assert_eq!(event.seq, seen + 1);
            let message = store.message(team.id(), MessageId(event.reference)).await.unwrap();
            assert!(message.is_some(), "what an event tells of is there");
            seen = event.seq;
        }
        while let Some(writer) = writers.try_join_next() {
            writer.unwrap();
        }
        tokio::task::yield_now().await;
    }
    writers.join_all().await;
    assert_eq!(store.events(team.id(), seen, PLENTY).await.unwrap(), []);
}

pub async fn a_cursor_never_moves_back(store: &Shared) {
    let team = team(store).await;
    let seq_after = async |seq| {
        store.advance_cursor("nats", team.id(), seq).await.unwrap();
        store.cursors().await.unwrap()[0].seq
    };
    assert_eq!(seq_after(2).await, 2);
    assert_eq!(seq_after(1).await, 2);
    assert_eq!(seq_after(2).await, 2);
    assert_eq!(seq_after(3).await, 3);
}

pub async fn cursors_tell_how_far_each_sink_has_come_and_what_is_newest(store: &Shared) {
    assert_eq!(store.cursors().await.unwrap(), []);
    let (shop, bank) = (team_at(store, "/a/shop").await, team_at(store, "/b/bank").await);
    store.advance_cursor("nats", bank.id(), 3).await.unwrap();
    store.advance_cursor("nats", shop.id(), 2).await.unwrap();
    store.advance_cursor("archive", shop.id(), 1).await.unwrap();
    shop.send(draft("alice", &["bob"])).await;
    let expected = [cursor("archive", "a-shop", 1, 4), cursor("nats", "a-shop", 2, 4), cursor("nats", "b-bank", 3, 3)];
    assert_eq!(store.cursors().await.unwrap(), expected);
}

pub async fn one_holder_does_the_work_of_a_sink_until_its_time_is_over(store: &Shared) {
    let (team, other) = (team(store).await, team_at(store, "/b/bank").await);
    let hold =
        async |holder, until, now| store.hold_cursor("nats", team.id(), holder, at(until), at(now)).await.unwrap();
    assert_eq!(hold("one", "16:00:05", "16:00:00").await, Some(0), "a sink that is new begins at the first event");
    assert_eq!(hold("two", "16:00:09", "16:00:04").await, None);
    store.advance_cursor("nats", team.id(), 2).await.unwrap();
    assert_eq!(hold("one", "16:00:08", "16:00:04").await, Some(2), "its holder goes on");
    assert_eq!(hold("two", "16:00:12", "16:00:07").await, None);
    assert_eq!(hold("two", "16:00:12", "16:00:08").await, Some(2), "its time was over");
    assert_eq!(hold("one", "16:00:13", "16:00:09").await, None);
    assert_eq!(hold("two", "16:00:09", "16:00:09").await, Some(2));
    assert_eq!(hold("one", "16:00:13", "16:00:09").await, Some(2), "it was let go");
    let elsewhere = store.hold_cursor("nats", other.id(), "two", at("16:00:13"), at("16:00:09"));
    assert_eq!(elsewhere.await.unwrap(), Some(0), "each project is held on its own");
    assert_eq!(store.hold_cursor("x", team.id(), "two", at("16:00:13"), at("16:00:09")).await.unwrap(), Some(0));
}

pub async fn the_change_stamp_changes_with_every_commit(store: &Shared) {
    let team = team(store).await;
    let (alice, bob) = (team.agent("alice"), team.agent("bob"));
    let mut stamps = HashMap::from([(stamp(store).await, "the start")]);
    let mut changed = async |what| {
        assert_eq!(stamps.insert(stamp(store).await, what), None, "{what} has a stamp of its own");
    };
    store.ensure_project("/projects/bank", at("16:00:00")).await.unwrap();
    changed("a project").await;
    register(store, team.id(), "dave").await;
    changed("an agent").await;
    let id = team.send(draft("alice", &["bob"])).await;
    changed("a message").await;
    assert_eq!(team.take("bob", 1, at("16:00:00")).await, [id]);
    changed("being shown").await;
    store.mark(bob, id, &Mark::Read, at("16:00:00")).await.unwrap();
    changed("reading").await;
    team.granted(&team.request("alice", &["a.txt"]), at("16:00:00")).await;
    changed("a reservation").await;
    team.queued(&team.patient("bob", &["a.txt"], at("17:00:00")), at("16:00:00")).await;
    changed("a place in the line").await;
    store.release(team.id(), alice, None, alice, at("16:00:00")).await.unwrap();
    changed("a release").await;
    store.advance_cursor("nats", team.id(), 1).await.unwrap();
    changed("a cursor").await;
}

fn event(seq: usize, kind: EventKind, reference: i64, agent: AgentId, time: &str) -> Event {
    let seq = i64::try_from(seq).expect("the suites write short logs");
    Event { seq, kind, reference, agent: Some(agent), at: at(time) }
}

fn cursor(sink: &str, project: &str, seq: i64, newest: i64) -> Cursor {
    Cursor { sink: sink.into(), project: project.into(), seq, newest }
}

/// Four writers of 25 messages for each of the teams, all at once.
fn start_writers(store: &Shared, teams: &[&Team]) -> JoinSet<()> {
    let mut writers = JoinSet::new();
    for team in teams.iter().cycle().take(4 * teams.len()) {
        let (store, message) = (store.clone(), team.new_message(draft("alice", &["bob"])));
        writers.spawn(async move {
            for _ in 0..25 {
                let appended = store.append(&message).await.unwrap();
                assert!(matches!(appended, Appended::New { .. }));
            }
        });
    }
    writers
}
