//! What every store promises of wake-ups.

use jiff::Timestamp;
use tokio::task::JoinSet;

use super::Shared;
use super::fixtures::{Draft, Team, at, draft, team};
use crate::ids::MessageId;
use crate::messages::{Importance, Mark};
use crate::sessions::Session;
use crate::wake_ups::{WakeClaim, WakeFor, WakeOutcome, WakeUp};

fn urgent(time: &str) -> Draft {
    Draft { importance: Importance::Urgent, now: at(time), ..draft("alice", &["bob"]) }
}

/// What comes of asking for a wake-up of bob.
async fn claim(store: &Shared, team: &Team, now: Timestamp) -> WakeClaim {
    let claim = store.claim_wake_up(team.id(), team.agent("bob"), "claude-1", WakeFor::Pressing, None, now);
    claim.await.unwrap()
}

/// A wake-up of bob that has to be granted.
async fn taken(store: &Shared, team: &Team, now: &str) -> WakeUp {
    match claim(store, team, at(now)).await {
        WakeClaim::Taken(wake_up) => wake_up,
        other => panic!("a wake-up was wanted, not {other:?}"),
    }
}

async fn note(store: &Shared, team: &Team, time: &str) {
    let session = Session {
        agent: team.agent("bob"),
        key: "claude-1".to_owned(),
        client: "claude".to_owned(),
        host: "here".to_owned(),
        place: "/projects/shop".to_owned(),
        is_idle: true,
        began_at: at(time),
        seen_at: at(time),
    };
    store.note_session(team.id(), &session).await.unwrap();
}

pub async fn pressing_mail_is_one_wake_up_whatever_waits_beside_it(store: &Shared) {
    let team = team(store).await;
    team.send(draft("carol", &["bob"])).await;
    assert_eq!(claim(store, &team, at("16:00:01")).await, WakeClaim::Nothing, "nothing presses");
    let newest = team.send(urgent("16:00:02")).await;
    let told = taken(store, &team, "16:00:03").await;
    let from = vec!["alice".to_owned(), "carol".to_owned()];
    assert_eq!(told, WakeUp { number: 1, count: 2, from, and_others: false, newest });
    team.send(urgent("16:00:04")).await;
    assert_eq!(claim(store, &team, at("16:00:05")).await, WakeClaim::Later(at("16:01:03")));
    assert_eq!(claim(store, &team, at("16:00:05")).await, WakeClaim::Later(at("16:01:03")), "asking changes nothing");
}

pub async fn all_mail_wakes_or_none_where_that_is_asked_for(store: &Shared) {
    let team = team(store).await;
    team.send(draft("carol", &["bob"])).await;
    for (rule, is_due) in [(WakeFor::None, false), (WakeFor::All, true)] {
        let claim = store.claim_wake_up(team.id(), team.agent("bob"), "x", rule, None, at("16:00:01")).await.unwrap();
        assert_eq!(matches!(claim, WakeClaim::Taken(_)), is_due, "{rule}");
    }
}

pub async fn an_answer_wakes_whoever_asked_and_an_answer_to_that_nobody(store: &Shared) {
    let team = team(store).await;
    let asked = team.send(draft("bob", &["alice"])).await;
    let answered = team.send(Draft { reply_to: Some(asked), ..draft("alice", &["bob"]) }).await;
    assert_eq!(taken(store, &team, "16:00:01").await.newest, answered);
    team.send(Draft { reply_to: Some(answered), ..draft("bob", &["alice"]) }).await;
    let alice = team.agent("alice");
    let thanked = store.claim_wake_up(team.id(), alice, "x", WakeFor::Pressing, None, at("16:00:02")).await.unwrap();
    assert_eq!(thanked, WakeClaim::Nothing);
}

pub async fn what_was_read_shown_or_archived_wakes_nobody(store: &Shared) {
    let team = team(store).await;
    let bob = team.agent("bob");
    let read = team.send(urgent("16:00:00")).await;
    store.mark(bob, read, &Mark::Read, at("16:00:01")).await.unwrap();
    team.send(urgent("16:00:02")).await;
    team.take("bob", 9, at("16:00:03")).await;
    let archived = team.send(urgent("16:00:04")).await;
    store.archive(bob, archived, bob, at("16:00:05")).await.unwrap();
    assert_eq!(claim(store, &team, at("16:00:06")).await, WakeClaim::Nothing);
}

pub async fn what_was_there_when_a_session_began_does_not_wake_it(store: &Shared) {
    let team = team(store).await;
    team.send(urgent("16:00:00")).await;
    note(store, &team, "16:00:01").await;
    assert_eq!(claim(store, &team, at("16:00:02")).await, WakeClaim::Nothing, "it was told then");
    team.send(urgent("16:00:03")).await;
    assert_eq!(taken(store, &team, "16:00:04").await.count, 2);
}

pub async fn a_wake_up_of_which_something_came_is_followed_by_one_for_later_mail(store: &Shared) {
    let team = team(store).await;
    let first = team.send(urgent("16:00:00")).await;
    taken(store, &team, "16:00:01").await;
    team.take("bob", 1, at("16:00:02")).await;
    assert_eq!(claim(store, &team, at("16:30:00")).await, WakeClaim::Nothing);
    let later = team.send(urgent("16:00:03")).await;
    assert_eq!(claim(store, &team, at("16:00:04")).await, WakeClaim::Later(at("16:00:11")));
    let again = taken(store, &team, "16:00:11").await;
    assert_eq!((again.number, again.count, again.newest), (2, 1, later));
    note(store, &team, "16:00:12").await;
    assert_eq!(claim(store, &team, at("16:30:00")).await, WakeClaim::Nothing, "a turn began");
    assert!(first < later);
}

pub async fn a_wake_up_of_which_nothing_came_is_repeated_twice_and_then_no_more(store: &Shared) {
    let team = team(store).await;
    team.send(urgent("16:00:00")).await;
    for (number, time) in [(1, "16:00:01"), (2, "16:01:01"), (3, "16:11:01")] {
        assert_eq!(taken(store, &team, time).await.number, number);
    }
    team.send(urgent("16:12:00")).await;
    assert_eq!(claim(store, &team, at("23:00:00")).await, WakeClaim::Nothing);
    note(store, &team, "23:00:01").await;
    team.send(urgent("23:00:02")).await;
    assert_eq!(taken(store, &team, "23:00:03").await.count, 3);
}

pub async fn an_agent_that_is_left_alone_is_so_until_it_is_heard_of(store: &Shared) {
    let team = team(store).await;
    let bob = team.agent("bob");
    let first = team.send(urgent("16:00:00")).await;
    for time in ["16:00:01", "16:01:01", "16:11:01"] {
        taken(store, &team, time).await;
    }
    store.archive(bob, first, bob, at("16:12:00")).await.unwrap();
    team.send(urgent("16:13:00")).await;
    assert_eq!(claim(store, &team, at("23:00:00")).await, WakeClaim::Nothing);
}

pub async fn what_a_client_holds_for_its_user_is_not_repeated_before_later_mail_comes(store: &Shared) {
    let team = team(store).await;
    let bob = team.agent("bob");
    team.send(urgent("16:00:00")).await;
    let number = taken(store, &team, "16:00:01").await.number;
    assert!(store.settle_wake_up(bob, number, WakeOutcome::Held, at("16:00:02")).await.unwrap());
    assert_eq!(claim(store, &team, at("23:00:00")).await, WakeClaim::Nothing);
    team.send(urgent("23:00:01")).await;
    assert_eq!(taken(store, &team, "23:00:02").await.count, 2);
}

pub async fn of_many_who_claim_a_wake_up_at_once_one_gets_it(store: &Shared) {
    let team = team(store).await;
    team.send(urgent("16:00:00")).await;
    let mut claiming = JoinSet::new();
    for at_once in 0..8 {
        let (store, project, bob) = (store.clone(), team.id(), team.agent("bob"));
        let session = format!("claude-{at_once}");
        claiming.spawn(async move {
            store.claim_wake_up(project, bob, &session, WakeFor::Pressing, None, at("16:00:01")).await.unwrap()
        });
    }
    let claims = claiming.join_all().await;
    let taken = claims.iter().filter(|claim| matches!(claim, WakeClaim::Taken(_))).count();
    assert_eq!(taken, 1, "{claims:?}");
}

pub async fn what_became_of_a_wake_up_is_told_with_each_message_that_it_told_of(store: &Shared) {
    let team = team(store).await;
    let bob = team.agent("bob");
    let seen = team.send(urgent("15:59:00")).await;
    team.take("bob", 1, at("15:59:01")).await;
    let (one, two) = (team.send(urgent("16:00:00")).await, team.send(draft("carol", &["bob", "alice"])).await);
    let number = taken(store, &team, "16:00:10").await.number;
    assert!(receipts(store, &[one]).await.is_empty(), "nobody knows yet");
    assert!(store.settle_wake_up(bob, number, WakeOutcome::Held, at("16:00:11")).await.unwrap());
    assert!(!store.settle_wake_up(bob, number, WakeOutcome::Delivered, at("16:00:12")).await.unwrap(), "once");
    assert!(!store.settle_wake_up(bob, 99, WakeOutcome::Delivered, at("16:00:12")).await.unwrap());
    let held = |id: MessageId| format!("{id} bob claude-1 held 16:00:11");
    assert_eq!(receipts(store, &[seen, two, one]).await, [held(two), held(one)]);
    store.mark(bob, two, &Mark::Read, at("16:00:13")).await.unwrap();
    let later = team.send(urgent("16:00:14")).await;
    let claim =
        store.claim_wake_up(team.id(), bob, "codex-2", WakeFor::Pressing, Some(WakeOutcome::Delivered), at("16:00:30"));
    assert!(matches!(claim.await.unwrap(), WakeClaim::Taken(_)));
    let delivered = |id: MessageId| format!("{id} bob codex-2 delivered 16:00:30");
    let told = receipts(store, &[one, two, later]).await;
    assert_eq!(told, [held(one), delivered(one), held(two), delivered(later)], "what was read is told of no more");
}

async fn receipts(store: &Shared, messages: &[MessageId]) -> Vec<String> {
    let found = store.wake_receipts(messages).await.unwrap().into_iter();
    let time = |at: Timestamp| at.strftime("%H:%M:%S").to_string();
    found
        .map(|one| format!("{} {} {} {} {}", one.message, one.recipient, one.session, one.outcome, time(one.at)))
        .collect()
}
