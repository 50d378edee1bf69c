//! What no office would ask of a store: people and mail that are not there, and numbers and texts at their limits.
//!
//! A number that was given out in vain is missing in one engine alone, so nothing is told by its number after that.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use mail::Store;
use mail::agents::{AgentName, Profile, Taking};
use mail::channels::{ChannelName, NewPost, PostQuery};
use mail::clock::after_seconds;
use mail::ids::{AgentId, MessageId, ProjectId};
use mail::messages::{Appended, IdempotencyKey, Importance, InboxQuery, Mark, NewMessage, Role, Vouched};
use mail::overview::Listing;
use mail::presence::{NewPresence, Source};
use mail::reservations::pattern::Pattern;
use mail::reservations::{NewEnd, Request};
use mail::responses::JsonFacts;
use mail::watches::{NewWatch, RunOutcome, RunQuery};

use super::told;

/// What was asked, and what came of it.
type Answers = Vec<(String, String)>;

const HOME: ProjectId = ProjectId(1);
const NOWHERE: ProjectId = ProjectId(99);
const ALICE: AgentId = AgentId(1);
const NOBODY: AgentId = AgentId(99);
/// Numbers of messages, of which the first alone is one.
const NUMBERS: [MessageId; 5] = [MessageId(1), MessageId(99), MessageId(0), MessageId(-1), MessageId(i64::MAX)];

/// Asks everything of an empty store.
pub async fn ask_oddly(store: &Arc<dyn Store>) -> Answers {
    let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    store.ensure_project("/p", now).await.unwrap();
    let alice = AgentName::parse("alice").unwrap();
    store.register(HOME, &alice, &Profile::default(), None, Taking::NewOnly, now).await.unwrap();
    let first = store.append(&message(now)).await.unwrap();
    assert_eq!(first, Appended::New { id: MessageId(1), created_at: now });
    let mut answers = write_for_nobody(store, now).await;
    answers.extend(watch_for_nobody(store, now).await);
    answers.extend(read_at_the_limits(store, now).await);
    answers.extend(write_odd_messages(store, now).await);
    answers.extend(write_long_words(store, now).await);
    answers.push(("what is left".to_owned(), told(store.counts(now).await)));
    answers
}

fn message(now: Timestamp) -> NewMessage {
    NewMessage {
        from_as: None,
        project: HOME,
        from: ALICE,
        recipients: vec![(ALICE, "alice".to_owned(), Role::To)],
        subject: "hello".to_owned(),
        body: "there".to_owned(),
        thread: None,
        reply_to: None,
        marks_read: true,
        importance: Importance::Normal,
        ack_required: false,
        kind: None,
        work_id: None,
        is_passing: false,
        door: "test",
        vouched: Vouched::Claimed,
        idempotency: None,
        open_key: None,
        post: None,
        json: JsonFacts::default(),
        now,
    }
}

async fn write_for_nobody(store: &Arc<dyn Store>, now: Timestamp) -> Answers {
    let mut answers = Answers::new();
    let mut note = |what: String, answer: String| answers.push((what, answer));
    let bob = AgentName::parse("bob").unwrap();
    let registered = store.register(NOWHERE, &bob, &Profile::default(), None, Taking::NewOrKnown, now).await;
    note("register nowhere".to_owned(), told(registered.map(|agent| agent.is_some())));
    for (project, agent) in [(NOWHERE, ALICE), (HOME, NOBODY), (NOWHERE, NOBODY)] {
        let what = |doing: &str| format!("{doing} {project:?} {agent:?}");
        let request = Request {
            project,
            agent,
            agent_name: "nobody".to_owned(),
            patterns: vec![Pattern::parse("nobody.rs").unwrap()],
            exclusive: true,
            reason: String::new(),
            ttl_seconds: 60,
            wait_until: None,
            ticket: None,
        };
        note(what("reserve"), told(store.reserve(&request, now).await.map(drop)));
        note(what("release"), told(store.release(project, agent, None, agent, now).await));
        note(what("retire"), told(store.retire(project, agent, agent, now).await));
        note(what("line"), told(store.waiters(project, now).await));
        note(what("renew"), told(store.renew(project, agent, None, NewEnd::At(now), now).await));
        let said = NewPresence {
            state: "AWAKE".to_owned(),
            substate: None,
            source: Source::File,
            watcher_pid: Some(i64::MAX),
            channel: None,
            seen_at: now,
        };
        note(what("presence"), told(store.set_presence(project, agent, &said, now).await));
        note(what("heard of"), told(store.presence(agent).await));
    }
    for seq in [-1, 0, i64::MAX] {
        for project in [HOME, NOWHERE] {
            note(format!("advance {project:?} {seq}"), told(store.advance_cursor("sink", project, seq).await));
            let held = store.hold_cursor("sink", project, "one", after_seconds(now, seq.clamp(0, 60)), now).await;
            note(format!("hold {project:?} {seq}"), told(held));
        }
    }
    note("cursors".to_owned(), told(store.cursors().await));
    answers
}

async fn watch_for_nobody(store: &Arc<dyn Store>, now: Timestamp) -> Answers {
    let mut answers = Answers::new();
    let mut note = |what: String, answer: String| answers.push((what, answer));
    for agent in [ALICE, NOBODY] {
        let watch = NewWatch {
            agent,
            channel: "nowhere".to_owned(),
            since: now,
            holder: "one".to_owned(),
            instead_of: None,
            until: after_seconds(now, 60),
        };
        note(format!("watch {agent:?}"), told(store.begin_watch(&watch, now).await));
        for id in NUMBERS {
            let what = |doing: &str| format!("{doing} {agent:?} {id}");
            note(what("hold"), told(store.hold_watch(agent, "nowhere", "one", id, now).await));
            note(what("take on"), told(store.take_on(agent, "nowhere", id, now).await));
            note(what("finish"), told(store.finish_run(agent, id, &RunOutcome::Silent, now).await));
            note(what("retry"), told(store.retry_runs(agent, &[id, id], now).await));
            note(what("mark"), told(store.mark(agent, id, &Mark::Read, now).await));
            note(what("archive"), told(store.archive(agent, id, agent, now).await));
            note(what("bring back"), told(store.bring_back(agent, id, NOBODY, now).await));
            note(what("name"), told(store.name_post(id, "name").await));
            note(what("key"), told(store.note_key(id, "key").await));
            note(what("give back"), told(store.give_back(agent, &[id], now).await));
            note(what("take"), told(store.take_unseen(agent, Some(id), 1, now, None).await));
        }
        note(format!("runs {agent:?}"), told(store.runs(agent, RunQuery { limit: 9, ..RunQuery::default() }).await));
        note(format!("end {agent:?}"), told(store.end_watch(agent, "nowhere", "one").await));
    }
    answers
}

async fn write_odd_messages(store: &Arc<dyn Store>, now: Timestamp) -> Answers {
    let plain = || message(now);
    let alice = || (ALICE, "alice".to_owned(), Role::To);
    let post = |hops: u32| {
        let channel = ChannelName::parse("dev").unwrap();
        Some(NewPost { hops, sent_at: Some(Timestamp::MAX), ..NewPost::chat(channel) })
    };
    let odd = [
        ("nowhere", NewMessage { project: NOWHERE, ..plain() }),
        ("from nobody", NewMessage { from: NOBODY, ..plain() }),
        ("to nobody", NewMessage { recipients: vec![alice(), (NOBODY, "nobody".to_owned(), Role::To)], ..plain() }),
        ("to one twice", NewMessage { recipients: vec![alice(), alice()], ..plain() }),
        ("to none", NewMessage { recipients: Vec::new(), ..plain() }),
        ("to what is not there", NewMessage { reply_to: Some(MessageId(i64::MAX)), ..plain() }),
        ("before all time", NewMessage { now: Timestamp::MIN, ..plain() }),
        ("most hops", NewMessage { post: post(mail::watches::MOST_HOPS), ..plain() }),
    ];
    let mut answers = Answers::new();
    for (what, message) in odd {
        answers.push((what.to_owned(), told(store.append(&message).await.map(drop))));
    }
    // Whoever comes after is not hindered.
    answers.push(("afterwards".to_owned(), told(store.append(&plain()).await.map(drop))));
    answers
}

/// Words that cannot be made shorter, as long as an office lets names be, and ten times that. Beyond, an index of one engine
/// has no room for them.
async fn write_long_words(store: &Arc<dyn Store>, now: Timestamp) -> Answers {
    let mut answers = Answers::new();
    for length in [256, 2_560] {
        let mut dice = super::Dice(length as u64);
        let long: String = (0..length).map(|_| char::from(b'a' + dice.roll(26) as u8)).collect();
        let words = || Some(long.clone());
        let channel = ChannelName::parse("dev").unwrap();
        let cited = NewPost { cited_as: words(), answers: words(), ..NewPost::chat(channel.clone()) };
        let named = NewPost { external_id: words(), keys: vec![long.clone()], ..NewPost::chat(channel) };
        let key = Some(IdempotencyKey { key: long.clone(), fingerprint: [0; 32] });
        let odd = [
            ("body", NewMessage { body: long.clone(), subject: long.clone(), ..message(now) }),
            ("thread", NewMessage { thread: words(), ..message(now) }),
            ("work", NewMessage { work_id: words(), kind: formats::Kind::all().next(), ..message(now) }),
            ("key", NewMessage { idempotency: key, ..message(now) }),
            ("citation", NewMessage { post: Some(cited), ..message(now) }),
            ("name", NewMessage { post: Some(named), ..message(now) }),
        ];
        for (what, message) in odd {
            answers.push((format!("{what} of {length}"), told(store.append(&message).await.map(drop))));
        }
        answers
            .push((format!("path of {length}"), told(store.ensure_project(&format!("/{long}"), now).await.map(drop))));
        answers.push((format!("sink of {length}"), told(store.advance_cursor(&long, HOME, 1).await)));
    }
    answers
}

async fn read_at_the_limits(store: &Arc<dyn Store>, now: Timestamp) -> Answers {
    let mut answers = Answers::new();
    let mut note = |what: String, answer: String| answers.push((what, answer));
    for id in NUMBERS {
        note(format!("message {id}"), told(store.message(HOME, id).await));
        note(format!("deliveries {id}"), told(store.deliveries(id).await));
        note(format!("hops {id}"), told(store.hops(id).await));
        note(format!("post {id}"), told(store.post(id).await));
        note(format!("outbox {id}"), told(store.outbox(ALICE, Some(id), 1, true).await));
        note(format!("export {id}"), told(store.export(Some(id), 1).await));
    }
    for limit in [0, usize::MAX] {
        let query = InboxQuery::newest(limit);
        note(format!("inbox {limit}"), told(store.inbox(ALICE, &query).await.map(|mail| mail.len())));
        note(format!("events {limit}"), told(store.events(HOME, i64::MIN, limit).await.map(|events| events.len())));
        note(format!("projects {limit}"), told(store.projects(None, limit).await.map(|projects| projects.len())));
        note(format!("present {limit}"), told(store.present(HOME, None, limit, now).await));
        note(format!("heard of {limit}"), told(store.heard_of(HOME, Timestamp::MIN, None, limit).await));
        let query = PostQuery { since: Some(Timestamp::MIN), limit, ..PostQuery::default() };
        note(format!("posts {limit}"), told(store.posts(HOME, "dev", &query).await.map(|posts| posts.len())));
        note(format!("count unseen {limit}"), told(store.count_unseen(NOBODY, limit).await));
        note(format!("unseen {limit}"), told(store.take_unseen(NOBODY, None, limit, now, None).await));
    }
    answers.extend(glance_at_the_limits(store).await);
    let mut note = |what: String, answer: String| answers.push((what, answer));
    note("none named".to_owned(), told(store.agents_named(HOME, &[]).await));
    note("none awaited".to_owned(), told(store.thread_awaiting(HOME, "dev", &[]).await));
    note("no keys".to_owned(), told(store.known_keys(HOME, "dev", &[]).await));
    note("no time".to_owned(), told(store.changes(None, Duration::ZERO).await.map(drop)));
    note("none imported".to_owned(), told(store.import(&[], now).await));
    answers
}

async fn glance_at_the_limits(store: &Arc<dyn Store>) -> Answers {
    let mut answers = Answers::new();
    let mut note = |what: String, answer: String| answers.push((what, answer));
    for (project, agent) in [(HOME, None), (HOME, Some(NOBODY)), (NOWHERE, None), (NOWHERE, Some(ALICE))] {
        let what = |doing: &str| format!("{doing} {project:?} {agent:?}");
        for before in NUMBERS {
            let listing = Listing { agent, before: Some(before), ..Listing::newest(project, usize::MAX) };
            for unread_only in [false, true] {
                note(what("list"), told(store.listing(&Listing { unread_only, ..listing.clone() }).await));
            }
            note(what("audit"), told(store.audit(project, Some(before.0), usize::MAX).await));
        }
        note(what("list nothing"), told(store.listing(&Listing { agent, ..Listing::newest(project, 0) }).await));
        note(what("count"), told(store.count_unread(project, agent, usize::MAX).await));
        for step in [SignedDuration::MIN, SignedDuration::ZERO, SignedDuration::from_micros(1), SignedDuration::MAX] {
            note(what("traffic"), told(store.traffic(project, Timestamp::MIN, step, 3).await));
            note(what("traffic"), told(store.traffic(project, Timestamp::MAX, step, 3).await));
        }
        note(what("write to whom"), told(store.correspondence(project, usize::MAX).await));
    }
    answers
}
