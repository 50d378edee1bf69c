//! What every store promises of the mail about pieces of work, and of narrowing mail to a kind or a piece of work.

use formats::{Kind, channel, json, markdown};

use super::Shared;
use super::fixtures::{Draft, PLENTY, Team, at, draft, entry_ids, ids, team, team_at};
use crate::ids::MessageId;
use crate::messages::{About, InboxQuery, Mark};
use crate::search::query::Query;
use crate::work::{OpenAck, WorkQuery, WorkRecord};

const PROGRESS: Kind = Kind::Markdown(markdown::Kind::Progress);
const DONE: Kind = Kind::Markdown(markdown::Kind::Done);
const UPDATE: Kind = Kind::Json(json::Type::StatusUpdate);

pub async fn items_that_changed_last_come_first_and_a_limit_keeps_them(store: &Shared) {
    let team = team(store).await;
    for work in ["a-1", "a-2", "a-3", "a-1"] {
        team.send(word("alice", PROGRESS, work)).await;
    }
    assert_eq!(names(&work(store, &team, None, PLENTY).await), ["a-1", "a-3", "a-2"]);
    assert_eq!(names(&work(store, &team, None, 2).await), ["a-1", "a-3"]);
}

pub async fn pages_of_items_meet_without_gap_or_repeat(store: &Shared) {
    let team = team(store).await;
    for work in ["a-1", "a-2", "a-3"] {
        team.send(word("alice", PROGRESS, work)).await;
    }
    let first = work(store, &team, None, 2).await;
    let rest = work(store, &team, Some(first[1].newest), 2).await;
    assert_eq!((names(&first), names(&rest)), (vec!["a-3", "a-2"], vec!["a-1"]));
}

pub async fn an_item_is_told_by_all_words_but_those_that_were_replaced(store: &Shared) {
    let team = team(store).await;
    let passing = |from: &str, kind| Draft { is_passing: true, ..word(from, kind, "a-1") };
    team.send(passing("alice", PROGRESS)).await;
    let alice = team.send(passing("alice", PROGRESS)).await;
    let done = team.send(word("alice", DONE, "a-1")).await;
    let again = team.send(word("alice", DONE, "a-1")).await;
    let bob = team.send(passing("bob", PROGRESS)).await;
    let blocked = team.send(word("alice", UPDATE, "a-1")).await;
    let json = team.send(passing("alice", UPDATE)).await;
    team.send(passing("alice", PROGRESS)).await;
    let newest = team.send(passing("alice", PROGRESS)).await;
    team.send(Draft { is_passing: true, ..word("alice", PROGRESS, "a-2") }).await;
    let record = item(store, &team, "a-1").await.unwrap();
    assert_eq!(ids(&record.words), [done, again, bob, blocked, json, newest], "without {alice}");
    assert_eq!(record.newest, newest);
    assert_eq!(record.words[0], team.message(done).await);
}

pub async fn of_very_many_words_about_an_item_the_newest_are_told(store: &Shared) {
    let team = team(store).await;
    let mut sent = Vec::new();
    for _ in 0..205 {
        sent.push(team.send(word("alice", DONE, "a-1")).await);
    }
    assert_eq!(ids(&item(store, &team, "a-1").await.unwrap().words), sent[5..]);
}

pub async fn only_typed_messages_make_an_item(store: &Shared) {
    let team = team(store).await;
    team.send(Draft { work_id: Some("a-1".into()), ..draft("alice", &["bob"]) }).await;
    team.send(Draft { kind: Some(PROGRESS), ..draft("alice", &["bob"]) }).await;
    assert_eq!(work(store, &team, None, PLENTY).await, []);
    assert_eq!(item(store, &team, "a-1").await, None);
}

pub async fn a_type_of_a_channel_is_a_kind_and_makes_no_item(store: &Shared) {
    let team = team(store).await;
    let incident = Kind::Channel(channel::Type::Incident);
    let id = team.send(word("alice", incident, "a-1")).await;
    assert_eq!(work(store, &team, None, PLENTY).await, []);
    let about = About { kind: Some(incident), work_id: None };
    let query = InboxQuery { about, limit: PLENTY, ..InboxQuery::default() };
    assert_eq!(entry_ids(&store.inbox(team.agent("bob"), &query).await.unwrap()), [id]);
    team.send(word("alice", PROGRESS, "a-1")).await;
    team.send(word("bob", incident, "a-1")).await;
    assert_eq!(item(store, &team, "a-1").await.unwrap().words.len(), 1, "only what is typed tells of the work");
}

pub async fn work_of_another_project_is_not_told(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    shop.send(word("alice", PROGRESS, "a-1")).await;
    assert_eq!(work(store, &bank, None, PLENTY).await, []);
    assert_eq!(item(store, &bank, "a-1").await, None);
    assert_eq!(store.work_story(bank.id(), "a-1", None, PLENTY).await.unwrap(), []);
    assert_eq!(store.work_of_thread(bank.id(), "a-1").await.unwrap(), None);
    let before = store.work_stamp(bank.id()).await.unwrap();
    shop.send(word("alice", PROGRESS, "a-1")).await;
    assert_eq!(store.work_stamp(bank.id()).await.unwrap(), before);
}

pub async fn ids_of_work_are_compared_exactly(store: &Shared) {
    let team = team(store).await;
    for work in ["a-1", "A-1", "a-1 ", "タスク-1", "a-%"] {
        team.send(word("alice", PROGRESS, work)).await;
        assert_eq!(item(store, &team, work).await.unwrap().words.len(), 1, "{work}");
    }
}

pub async fn acks_are_open_until_they_are_given(store: &Shared) {
    let team = team(store).await;
    let typed = team.send(word("alice", DONE, "a-1").cc(&["carol"]).wants_ack()).await;
    let prose = Draft { work_id: Some("a-1".into()), ..draft("carol", &["alice"]) };
    let prose = team.send(prose.wants_ack()).await;
    team.send(word("alice", DONE, "a-1")).await;
    let open = |message, agent: &str| OpenAck { message, agent: agent.to_owned() };
    let due = [open(typed, "bob"), open(typed, "carol"), open(prose, "alice")];
    assert_eq!(item(store, &team, "a-1").await.unwrap().open_acks, due);
    store.mark(team.agent("carol"), typed, &Mark::Read, at("16:05:00")).await.unwrap();
    let ack = Mark::Acknowledged { note: String::new() };
    store.mark(team.agent("bob"), typed, &ack, at("16:05:00")).await.unwrap();
    assert_eq!(item(store, &team, "a-1").await.unwrap().open_acks, due[1..]);
}

pub async fn an_open_ack_does_not_betray_a_blind_copy(store: &Shared) {
    let team = team(store).await;
    let id = team.send(word("alice", DONE, "a-1").bcc(&["carol"]).wants_ack()).await;
    let open = item(store, &team, "a-1").await.unwrap().open_acks;
    assert_eq!(open, [OpenAck { message: id, agent: "bob".into() }]);
}

pub async fn a_story_holds_what_names_the_item_and_what_stands_in_its_thread(store: &Shared) {
    let team = team(store).await;
    let elsewhere = team.send(word("alice", PROGRESS, "a-1").thread("standup")).await;
    let prose = team.send(draft("bob", &["alice"]).thread("a-1")).await;
    team.send(draft("bob", &["alice"]).thread("standup")).await;
    let both = team.send(word("alice", DONE, "a-1").thread("a-1")).await;
    let story = async |after, limit| ids(&store.work_story(team.id(), "a-1", after, limit).await.unwrap());
    assert_eq!(story(None, PLENTY).await, [elsewhere, prose, both]);
    assert_eq!(story(None, 1).await, [elsewhere]);
    assert_eq!(story(Some(elsewhere), 2).await, [prose, both]);
    assert_eq!(story(Some(both), 2).await, []);
}

pub async fn a_thread_is_about_what_its_newest_message_with_work_is_about(store: &Shared) {
    let team = team(store).await;
    assert_eq!(store.work_of_thread(team.id(), "T").await.unwrap(), None);
    for work in ["a-1", "a-2"] {
        team.send(word("alice", PROGRESS, work).thread("T")).await;
    }
    team.send(draft("bob", &["alice"]).thread("T")).await;
    assert_eq!(store.work_of_thread(team.id(), "T").await.unwrap().as_deref(), Some("a-2"));
}

pub async fn the_stamp_of_work_rises_with_mail_and_acks_alone(store: &Shared) {
    let team = team(store).await;
    let stamp = async || store.work_stamp(team.id()).await.unwrap();
    let nothing = stamp().await;
    let id = team.send(word("alice", DONE, "a-1").wants_ack()).await;
    let sent = stamp().await;
    assert!(sent > nothing);
    team.granted(&team.request("bob", &["src/**"]), at("16:00:00")).await;
    store.mark(team.agent("bob"), id, &Mark::Read, at("16:05:00")).await.unwrap();
    assert_eq!(stamp().await, sent);
    store.mark(team.agent("bob"), id, &Mark::Acknowledged { note: String::new() }, at("16:05:00")).await.unwrap();
    assert!(stamp().await > sent);
}

pub async fn an_inbox_can_be_narrowed_to_a_kind_and_a_piece_of_work(store: &Shared) {
    let team = team(store).await;
    let progress = team.send(word("alice", PROGRESS, "a-1").wants_ack()).await;
    let done = team.send(word("alice", DONE, "a-1").thread("T")).await;
    let other = team.send(word("alice", DONE, "a-2").thread("T").wants_ack()).await;
    let update = team.send(word("alice", UPDATE, "a-1")).await;
    team.send(draft("alice", &["bob"])).await;
    team.send(word("alice", DONE, "a-1").to(&["carol"])).await;
    store.mark(team.agent("bob"), done, &Mark::Read, at("16:05:00")).await.unwrap();
    let all = InboxQuery::newest(PLENTY);
    let inbox = async |query: InboxQuery| entry_ids(&store.inbox(team.agent("bob"), &query).await.unwrap());
    let newest = team.inbox("bob").await[0].message.id;
    let about = |kind, work_id: &str| About { kind, work_id: Some(work_id.to_owned()).filter(|id| !id.is_empty()) };
    let narrowed = |kind, work_id| InboxQuery { about: about(kind, work_id), ..all.clone() };
    assert_eq!(inbox(narrowed(Some(DONE), "")).await, [newest, other, done]);
    assert_eq!(inbox(narrowed(None, "a-1")).await, [newest, update, done, progress]);
    assert_eq!(inbox(narrowed(Some(UPDATE), "a-1")).await, [update]);
    assert_eq!(inbox(narrowed(Some(UPDATE), "a-2")).await, []);
    let before = Some(newest);
    assert_eq!(inbox(InboxQuery { limit: 1, before, ..narrowed(None, "a-1") }).await, [update]);
    assert_eq!(inbox(InboxQuery { unread_only: true, before, ..narrowed(Some(DONE), "") }).await, [other]);
    assert_eq!(inbox(InboxQuery { ack_required_only: true, ..narrowed(None, "a-1") }).await, [progress]);
    assert_eq!(inbox(InboxQuery { thread: Some("T".into()), ..narrowed(Some(DONE), "a-1") }).await, [done]);
}

pub async fn a_search_can_be_narrowed_to_a_kind_and_a_piece_of_work(store: &Shared) {
    let team = team(store).await;
    let progress = team.send(word("alice", PROGRESS, "a-1").body("needle")).await;
    let done = team.send(word("alice", DONE, "a-2").body("needle")).await;
    team.send(word("alice", DONE, "a-1").body("hay")).await;
    let query = Query::parse("needle").unwrap();
    let found = async |kind, work: Option<&str>| {
        let about = About { kind, work_id: work.map(str::to_owned) };
        ids(&store.search(team.id(), &query, &about, None, PLENTY).await.unwrap())
    };
    assert_eq!(found(None, None).await, [done, progress]);
    assert_eq!(found(Some(DONE), None).await, [done]);
    assert_eq!(found(None, Some("a-1")).await, [progress]);
    assert_eq!(found(Some(DONE), Some("a-1")).await, []);
}

/// A typed message to bob (from bob: to alice).
fn word(from: &str, kind: Kind, work: &str) -> Draft {
    let to = if from == "bob" { "alice" } else { "bob" };
    Draft { kind: Some(kind), work_id: Some(work.to_owned()), ..draft(from, &[to]) }
}

async fn work(store: &Shared, team: &Team, before: Option<MessageId>, limit: usize) -> Vec<WorkRecord> {
    store.work(&WorkQuery { project: team.id(), id: None, before, limit }).await.unwrap()
}

async fn item(store: &Shared, team: &Team, id: &str) -> Option<WorkRecord> {
    let query = WorkQuery { project: team.id(), id: Some(id.to_owned()), before: None, limit: 1 };
    store.work(&query).await.unwrap().pop()
}

fn names(records: &[WorkRecord]) -> Vec<&str> {
    records.iter().map(|record| record.id.as_str()).collect()
}
