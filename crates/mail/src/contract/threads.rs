//! What every store promises of threads.

use super::Shared;
use super::fixtures::{Draft, PLENTY, draft, ids, team, team_at};
use crate::ids::MessageId;
use crate::messages::Message;
use crate::threads::LONGEST_THREAD;

pub async fn a_thread_is_oldest_first_and_a_limit_keeps_the_oldest(store: &Shared) {
    let team = team(store).await;
    let mut said = Vec::new();
    for from in ["carol", "alice", "bob", "alice"] {
        said.push(team.sent(draft(from, &["carol"]).thread("FEAT-1").body(from)).await);
        team.send(draft(from, &["carol"]).thread("FEAT-2")).await;
    }
    assert_eq!(store.thread(team.id(), "FEAT-1", None, PLENTY, true).await.unwrap(), said);
    assert_eq!(store.thread(team.id(), "FEAT-1", None, 3, true).await.unwrap(), said[..3]);
    assert_eq!(store.thread(team.id(), "FEAT-1", None, 0, true).await.unwrap(), []);
}

pub async fn pages_of_a_thread_meet_without_gap_or_repeat(store: &Shared) {
    let team = team(store).await;
    let mut said = Vec::new();
    for _ in 0..5 {
        said.push(team.send(draft("alice", &["bob"]).thread("T")).await);
    }
    let page = async |after| ids(&store.thread(team.id(), "T", Some(after), 2, true).await.unwrap());
    assert_eq!(page(MessageId(0)).await, said[..2]);
    assert_eq!(page(said[1]).await, said[2..4]);
    assert_eq!(page(said[3]).await, said[4..]);
    assert_eq!(page(said[4]).await, []);
}

pub async fn the_tail_of_a_thread_is_its_newest_messages_oldest_first(store: &Shared) {
    let (team, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    let mut said = Vec::new();
    for body in ["one", "two", "three", "four"] {
        said.push(team.sent(draft("alice", &["bob"]).thread("T").body(body)).await);
        team.send(draft("alice", &["bob"]).thread("U")).await;
        bank.send(draft("alice", &["bob"]).thread("T")).await;
    }
    assert_eq!(store.thread_tail(team.id(), "T", None, PLENTY).await.unwrap(), said);
    assert_eq!(store.thread_tail(team.id(), "T", None, 3).await.unwrap(), said[1..]);
    assert_eq!(store.thread_tail(team.id(), "T", None, 0).await.unwrap(), []);
    assert_eq!(store.thread_tail(team.id(), "V", None, PLENTY).await.unwrap(), []);
    assert_eq!(store.thread_tail(team.id(), "T", Some(said[3].id), 2).await.unwrap(), said[1..3]);
}

pub async fn a_thread_tells_its_length(store: &Shared) {
    let team = team(store).await;
    for length in 1..=3 {
        team.send(draft("alice", &["bob", "carol"]).thread("T")).await;
        assert_eq!(store.thread_length(team.id(), "T").await.unwrap(), length, "messages count, not deliveries");
    }
}

pub async fn an_unknown_thread_is_empty(store: &Shared) {
    let team = team(store).await;
    team.send(draft("alice", &["bob"]).thread("T")).await;
    for unknown in ["U", "t", "T ", "%", "_", ""] {
        let none: Vec<Message> = Vec::new();
        assert_eq!(store.thread(team.id(), unknown, None, PLENTY, true).await.unwrap(), none, "{unknown:?}");
        assert_eq!(store.thread_length(team.id(), unknown).await.unwrap(), 0, "{unknown:?}");
    }
}

pub async fn one_thread_name_in_two_projects_is_two_threads(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    let said = shop.sent(draft("alice", &["bob"]).thread("T")).await;
    bank.send(draft("alice", &["bob"]).thread("T")).await;
    assert_eq!(store.thread(shop.id(), "T", None, PLENTY, true).await.unwrap(), [said]);
    assert_eq!(store.thread_length(shop.id(), "T").await.unwrap(), 1);
}

pub async fn without_bodies_a_thread_tells_all_but_the_body(store: &Shared) {
    let team = team(store).await;
    let mut said = team.sent(draft("alice", &["bob"]).cc(&["carol"]).thread("T").body("Long text")).await;
    assert_eq!(store.thread(team.id(), "T", None, PLENTY, true).await.unwrap(), [said.clone()]);
    said.body.clear();
    assert_eq!(store.thread(team.id(), "T", None, PLENTY, false).await.unwrap(), [said]);
}

pub async fn a_thread_named_after_its_first_message_holds_the_answers(store: &Shared) {
    let team = team(store).await;
    let question = team.send(draft("alice", &["bob"])).await;
    let name = question.to_string();
    let reply = Draft { reply_to: Some(question), ..draft("bob", &["alice"]).thread(&name) };
    let answer = team.send(reply).await;
    let said = store.thread(team.id(), &name, None, PLENTY, true).await.unwrap();
    assert_eq!(ids(&said), [question, answer]);
    assert_eq!(store.thread_length(team.id(), &name).await.unwrap(), 2);
}

pub async fn a_thread_holds_what_anybody_said_to_anybody(store: &Shared) {
    let team = team(store).await;
    let open = team.sent(draft("alice", &["bob"]).thread("T")).await;
    let blind = team.sent(draft("bob", &[]).bcc(&["carol"]).thread("T")).await;
    let alone = team.sent(draft("carol", &["carol"]).thread("T")).await;
    assert_eq!(store.thread(team.id(), "T", None, PLENTY, true).await.unwrap(), [open, blind, alone]);
}

pub async fn a_thread_of_any_name_is_found(store: &Shared) {
    let team = team(store).await;
    let long = "ü".repeat(LONGEST_THREAD);
    let names = ["it's \"100%\" \\ fine", "漢字 🦀", "e\u{301}", "\u{e9}", "a", "A", "a ", &long];
    for name in names {
        team.send(draft("alice", &["bob"]).thread(name)).await;
    }
    for name in names {
        let said = store.thread(team.id(), name, None, PLENTY, true).await.unwrap();
        assert_eq!(said.len(), 1, "{name:?}");
        assert_eq!(said[0].thread, name);
        assert_eq!(store.thread_length(team.id(), name).await.unwrap(), 1, "{name:?}");
    }
}
