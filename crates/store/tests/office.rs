//! What the post office makes of a real store: names that several want, mail of other days, long threads.
//!
//! What every store promises by itself is told by the contract; how an answer looks at a door, by the tests of the doors.

use std::collections::HashSet;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use mail::agents::AgentStore;
use mail::clock::ManualClock;
use mail::ids::AgentId;
use mail::messages::{MessageStore, Vouched};
use mail::office::{Claim, Draft, Identity, ReplyDraft, ReserveRequest, Rules, TakenMail, WaitRequest, Which};
use mail::{Error, Office};
use store::{Postgres, PostgresOptions};
use tokio::task::JoinSet;

use crate::shop::{PROJECT, draft, named, office_over, shop};
use crate::team::{at, send, team};

const PATIENCE: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_generated_at_once_are_all_different() {
    let shop = shop(Rules::default()).await;
    let mut tasks = JoinSet::new();
    for _ in 0..16 {
        let office = shop.office.clone();
        tasks.spawn(async move { office.register(named(None, None)).await.unwrap().agent.id });
    }
    let agents: HashSet<AgentId> = tasks.join_all().await.into_iter().collect();
    assert_eq!(agents.len(), 16);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_want_one_name_a_strict_office_believes_the_first() {
    let shop = shop(strict()).await;
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let office = shop.office.clone();
        tasks.spawn(async move { office.register(named(Some("dave"), None)).await });
    }
    let (won, lost): (Vec<_>, Vec<_>) = tasks.join_all().await.into_iter().partition(Result::is_ok);
    assert_eq!((won.len(), lost.len()), (1, 7));
    assert!(lost.iter().all(|answer| matches!(answer, Err(Error::Unproved { given: false, .. }))), "{lost:?}");
    let token = &won[0].as_ref().unwrap().token;
    let again = shop.office.register(named(Some("dave"), Some(token))).await.unwrap();
    assert_eq!(again.token, *token, "who shows its token keeps it");
}

#[tokio::test]
async fn a_name_without_a_token_is_given_out_once() {
    let shop = shop(strict()).await;
    // As after an import: the name is there, and nobody has a token for it.
    let unproved = shop.office.send(draft("agent-0", None)).await;
    assert!(matches!(unproved, Err(Error::Unproved { given: false, .. })), "{unproved:?}");
    let taken = shop.office.register(named(Some("agent-0"), None)).await.unwrap();
    assert_eq!(taken.agent.id, shop.team.agents[0]);
    for token in [None, Some("wrong")] {
        let refused = shop.office.register(named(Some("agent-0"), token)).await;
        assert!(matches!(refused, Err(Error::Unproved { given, .. }) if given == token.is_some()), "{refused:?}");
    }
    let sent = shop.office.send(draft("agent-0", Some(&taken.token))).await.unwrap();
    assert_eq!(sent.message.vouched, Vouched::Verified);
}

#[tokio::test]
async fn where_names_are_claimed_a_token_proves_nothing() {
    let shop = shop(Rules::default()).await;
    let token = shop.office.register(named(Some("agent-0"), None)).await.unwrap().token;
    for shown in [None, Some(token.as_str()), Some("wrong")] {
        let sent = shop.office.send(draft("agent-0", shown)).await.unwrap();
        assert_eq!(sent.message.vouched, Vouched::Claimed, "{shown:?}");
        shop.office.register(named(Some("agent-0"), shown)).await.unwrap();
    }
    let known = shop.store.token_hashes(shop.team.agents[0]).await.unwrap();
    assert_eq!(known.len(), 3, "one was shown and kept, the others were given new ones");
}

#[tokio::test]
async fn an_answer_joins_its_thread_whatever_that_is_called() {
    let shop = shop(Rules::default()).await;
    let mut odd = shop.team.message(0, &[1], "Bead: a\tb");
    odd.thread = Some("a\tb".into());
    let (id, _) = send(&shop.store, &odd).await;
    let answer = |thread| ReplyDraft {
        reply_to: id,
        subject: None,
        draft: Draft { to: vec![], thread, ..draft("agent-1", None) },
    };
    let sent = shop.office.reply(answer(None)).await.unwrap();
    assert_eq!(sent.message.thread, "a\tb");
    let refused = shop.office.reply(answer(Some("a\tb"))).await;
    assert!(matches!(refused, Err(Error::Invalid { what: "thread_id", .. })), "{refused:?}");
}

#[tokio::test]
async fn mail_with_a_tab_in_its_work_id_can_be_answered() {
    let shop = shop(Rules::default()).await;
    let sent = shop.office.send(Draft { body: "Bead: a\tb", ..draft("agent-0", None) }).await.unwrap();
    assert_eq!(sent.message.work_id, None);
    let draft = Draft { to: vec![], ..draft("agent-1", None) };
    let answer = shop.office.reply(ReplyDraft { reply_to: sent.message.id, subject: None, draft }).await.unwrap();
    assert_eq!(answer.message.thread, sent.message.thread);
}

#[tokio::test]
async fn marking_reads_no_body() {
    let shop = shop(Rules::default()).await;
    let (id, _) = send(&shop.store, &shop.team.message(0, &[1], "Hello")).await;
    // A body that is not text fails whoever reads it.
    let other = rusqlite::Connection::open(shop.path()).unwrap();
    other.execute("UPDATE message SET body = CAST(x'ff' AS TEXT)", []).unwrap();
    assert!(shop.store.message(shop.team.project, id).await.is_err());
    let state = shop.office.mark_read(PROJECT, Claim::of("agent-1"), id).await.unwrap();
    assert!(state.read_at.is_some());
    other.execute("UPDATE message SET body = 'Hello'", []).unwrap();
    let stranger = shop.office.mark_read(PROJECT, Claim::of("agent-0"), id).await;
    assert!(matches!(stranger, Err(Error::NotARecipient { .. })), "{stranger:?}");
    let unknown = shop.office.mark_read(PROJECT, Claim::of("agent-1"), mail::ids::MessageId(id.0 + 1)).await;
    assert!(matches!(unknown, Err(Error::UnknownMessage { .. })), "{unknown:?}");
}

#[tokio::test]
async fn a_summary_of_a_long_thread_tells_its_newest_and_its_whole_length() {
    let shop = shop(Rules::default()).await;
    let mut times = Vec::new();
    // Three bodies that fill a page, so that the older ones are not looked at.
    for body in ["Decision: old", &"x".repeat(9 << 20), &"y".repeat(9 << 20), "Decision: new"] {
        let mut message = shop.team.message(times.len() % 2, &[1], body);
        message.thread = Some("T".into());
        times.push(send(&shop.store, &message).await.1);
    }
    let (_, summary) = shop.office.summarize(PROJECT, "T").await.unwrap();
    assert_eq!(summary.total_messages, 4);
    assert_eq!((summary.first_at, summary.last_at), (Some(times[0]), Some(times[3])));
    let points: Vec<_> = summary.key_points.iter().map(|point| point.text.as_str()).collect();
    assert!(points.iter().any(|point| point.contains("new")), "{points:?}");
    assert!(!points.iter().any(|point| point.contains("old")), "{points:?}");
}

#[tokio::test]
async fn a_request_stands_for_a_bounded_number_of_globs() {
    let shop = shop(Rules::default()).await;
    let braces = |folder: usize| format!("{folder}/{{a,b,c,d}}{{a,b,c,d}}{{a,b,c,d}}"); // 64 globs
    let reserve = async |paths: Vec<String>| {
        let agent = Claim::of("agent-0");
        let (ttl_seconds, wait) = (60, Duration::ZERO);
        let request = ReserveRequest {
            project_key: PROJECT,
            agent,
            paths: &paths,
            ttl_seconds,
            exclusive: true,
            reason: "",
            wait,
        };
        shop.office.reserve(request).await
    };
    let full: Vec<String> = (0..16).map(braces).collect();
    assert_eq!(
        reserve([full.clone(), full.clone()].concat()).await.unwrap().len(),
        16,
        "what is named twice counts once"
    );
    let over = [full.clone(), vec!["one/more".to_owned()]].concat();
    let refused = reserve(over.clone()).await.unwrap_err();
    assert!(matches!(refused, Error::Invalid { what: "paths", .. }), "{refused:?}");
    assert!(refused.to_string().contains("at most 1024 alternatives"), "{refused}");
    assert!(shop.office.check_paths(PROJECT, &over).await.is_err());
    let back =
        shop.office.release(PROJECT, Claim::of("agent-0"), Which { paths: Some(&over), ids: None }).await.unwrap();
    assert_eq!(back.len(), 16, "who gives back compares nothing");
}

#[tokio::test]
async fn what_was_committed_wakes_those_who_wait_for_it_and_nobody_else() {
    let shop = shop(Rules::default()).await;
    shop.office.send(Draft { to: vec!["nobody".to_owned()], ..draft("agent-0", None) }).await.unwrap_err();
    assert_eq!(*shop.heard.mail.lock().unwrap(), [], "what was refused wakes nobody");
    shop.office.send(draft("agent-0", None)).await.unwrap();
    assert_eq!(*shop.heard.mail.lock().unwrap(), [shop.team.agents[1]]);

    let reservations = || shop.heard.reservations.load(Ordering::Relaxed);
    shop.office.release(PROJECT, Claim::of("agent-0"), Which::default()).await.unwrap();
    assert_eq!(reservations(), 0, "nothing was given back");
    let (agent, paths) = (Claim::of("agent-0"), ["src/**".to_owned()]);
    let (ttl_seconds, wait) = (60, Duration::ZERO);
    let request =
        ReserveRequest { project_key: PROJECT, agent, paths: &paths, ttl_seconds, exclusive: true, reason: "", wait };
    shop.office.reserve(request).await.unwrap();
    let granted = reservations();
    shop.office.release(PROJECT, agent, Which::default()).await.unwrap();
    assert_eq!(reservations(), granted + 1);
}

/// Rules under which names have to be proved.
fn strict() -> Rules {
    Rules { identity: Identity::Strict, ..Rules::default() }
}

/// At whatever moment the caller goes away: each step of the office is one in which it can.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mail_that_is_taken_for_a_caller_that_went_away_is_told_to_the_next() {
    let Some(url) = testing::postgres::fresh_url() else { return };
    let store = Arc::new(Postgres::open(&url, &PostgresOptions::default()).await.unwrap());
    let team = team(&store, 2).await;
    let office = office_over(store.clone(), Arc::new(ManualClock::at(at(0))));
    let request = WaitRequest {
        project_key: PROJECT,
        agent: Claim::of("agent-1"),
        after: None,
        limit: 1,
        at_most: Duration::ZERO,
        not_after: None,
    };
    for round in 0_usize..100 {
        let (sent, _) = send(&store, &team.message(0, &[1], "Hi")).await;
        let taken = match polled(office.take_mail(request), 20 * round * round).await {
            Some(taken) => taken.unwrap(),
            None => tokio::time::timeout(PATIENCE, until_some(&office, request)).await.expect("it is not lost"),
        };
        assert_eq!(taken.entries.iter().map(|entry| entry.message.id).collect::<Vec<_>>(), [sent], "round {round}");
    }
}

async fn until_some(office: &Office, request: WaitRequest<'_>) -> TakenMail {
    loop {
        let taken = office.take_mail(request).await.unwrap();
        if !taken.entries.is_empty() {
            return taken;
        }
    }
}

/// The outcome, if it is there after being asked for so many times.
async fn polled<T>(asking: impl Future<Output = T>, times: usize) -> Option<T> {
    let mut asking = pin!(asking);
    for _ in 0..times {
        if let Poll::Ready(outcome) = poll_fn(|context| Poll::Ready(asking.as_mut().poll(context))).await {
            return Some(outcome);
        }
        tokio::task::yield_now().await;
    }
    None
}
