//! Who is there, as the post office tells it over a real store: what counts as a sign of life, and what ends it.

use std::time::Duration;

use formats::presence::Heartbeat;
use jiff::Timestamp;
use mail::clock::Clock;
use mail::events::{EventKind, EventStore};
use mail::messages::{InboxQuery, MessageStore};
use mail::office::{Claim, DeliveriesRequest, Identity, Rules, Sign, WaitRequest};
use mail::presence::{Presence, PresenceStore, Source};

use crate::shop::{PROJECT, Shop, draft, named, shop};

const AGENT: Claim<'static> = Claim { name: "agent-0", token: None };
const WORKING: Sign<'static> =
    Sign { state: "AWAKE", substate: Some("WORKING"), watcher_pid: Some(7), channel: Some("dev") };

/// What is known of an agent when everything that was begun before is written.
async fn known(shop: &Shop, agent: usize) -> Option<Presence> {
    shop.store.append(&shop.team.message(1, &[1], "writes are done in their order")).await.unwrap();
    shop.store.presence(shop.team.agents[agent]).await.unwrap()
}

async fn shown(shop: &Shop, agent: usize) -> String {
    known(shop, agent).await.map_or_else(String::new, |known| known.shown(shop.clock.now()))
}

async fn inbox(shop: &Shop, agent: Claim<'_>) -> Result<(), mail::Error> {
    let query = InboxQuery { with_bodies: false, ..InboxQuery::newest(1) };
    shop.office.inbox(PROJECT, agent, &query).await.map(drop)
}

fn heartbeat(agent: &str, state: &str, timestamp: Option<Timestamp>) -> Heartbeat {
    let state = Some(state.to_owned());
    Heartbeat { agent_id: agent.to_owned(), timestamp, state, substate: None, watcher_pid: Some(9), channel: None }
}

fn seconds(shop: &Shop, seconds: i64) -> Timestamp {
    shop.clock.now() + jiff::SignedDuration::from_secs(seconds)
}

#[tokio::test]
async fn whoever_acts_is_awake_and_nobody_else() {
    let shop = shop(Rules::default()).await;
    assert_eq!(known(&shop, 0).await, None);
    inbox(&shop, AGENT).await.unwrap();
    assert_eq!(shown(&shop, 0).await, "AWAKE");
    assert_eq!(known(&shop, 1).await, None);
    shop.office.send(draft("agent-1", None)).await.unwrap();
    assert_eq!(shown(&shop, 1).await, "AWAKE");
    let new = shop.office.register(named(Some("carol"), None)).await.unwrap().agent;
    known(&shop, 0).await;
    assert_eq!(shop.store.presence(new.id).await.unwrap().map(|known| known.source), Some(Source::Activity));
}

#[tokio::test]
async fn to_look_into_a_mailbox_or_to_be_written_to_is_no_sign_of_life() {
    let shop = shop(Rules::default()).await;
    shop.office.send(draft("agent-0", None)).await.unwrap();
    let whose = Some(Claim::of("agent-1"));
    let request = DeliveriesRequest { project_key: PROJECT, whose, unread_only: true, after: None, limit: 9 };
    assert_eq!(shop.office.open_deliveries(request).await.unwrap().len(), 1);
    shop.office.count_open(PROJECT, whose).await.unwrap();
    shop.office.whois(PROJECT, "agent-1").await.unwrap();
    shop.office.present(PROJECT, None, 9).await.unwrap();
    shop.office.ensure_mailbox(PROJECT, "agent-1").await.unwrap();
    assert_eq!(known(&shop, 1).await, None);
}

#[tokio::test]
async fn a_name_that_was_not_proved_is_nobodys_sign_of_life() {
    let strict = shop(Rules { identity: Identity::Strict, ..Rules::default() }).await;
    assert!(inbox(&strict, AGENT).await.is_err());
    assert!(strict.office.beat(PROJECT, AGENT, WORKING).await.is_err());
    assert_eq!(known(&strict, 0).await, None);
}

#[tokio::test]
async fn acts_are_noted_once_a_minute_and_silence_shows() {
    let shop = shop(Rules::default()).await;
    let began = shop.clock.now();
    for (wait, seen_after) in [(0, 0), (59, 0), (1, 60), (59, 60), (300, 419)] {
        shop.clock.advance_seconds(wait);
        inbox(&shop, AGENT).await.unwrap();
        let seen_at = known(&shop, 0).await.unwrap().seen_at;
        assert_eq!(seen_at.duration_since(began).as_secs(), seen_after, "after {wait} more");
    }
    shop.clock.advance_seconds(300);
    assert_eq!(shown(&shop, 0).await, "AWAKE");
    shop.clock.advance_seconds(1);
    assert_eq!(shown(&shop, 0).await, "STALE");
    inbox(&shop, AGENT).await.unwrap();
    assert_eq!(shown(&shop, 0).await, "AWAKE");
}

#[tokio::test]
async fn whoever_waits_for_mail_is_there() {
    let shop = shop(Rules::default()).await;
    let request = WaitRequest {
        project_key: PROJECT,
        agent: AGENT,
        after: None,
        limit: 1,
        at_most: Duration::from_secs(50),
        not_after: None,
    };
    shop.office.wait_for_mail(request).await.unwrap();
    assert_eq!(shown(&shop, 0).await, "AWAKE");
}

#[tokio::test]
async fn a_watcher_is_believed_and_what_its_agent_does_changes_nothing_of_that() {
    let shop = shop(Rules::default()).await;
    assert!(shop.office.beat(PROJECT, AGENT, WORKING).await.unwrap());
    shop.clock.advance_seconds(100);
    inbox(&shop, AGENT).await.unwrap();
    let working = known(&shop, 0).await.unwrap();
    assert_eq!(
        (working.source, working.watcher_pid, working.channel.as_deref()),
        (Source::Watcher, Some(7), Some("dev"))
    );
    assert_eq!((working.shown(shop.clock.now()).as_str(), working.seen_at), ("AWAKE/WORKING", shop.clock.now()));
    assert!(!shop.office.beat(PROJECT, AGENT, WORKING).await.unwrap(), "a sign of life is no change");
    let events = shop.store.events(shop.team.project, 0, 1000).await.unwrap();
    assert_eq!(events.iter().filter(|event| event.kind == EventKind::PresenceChanged).count(), 1);
}

#[tokio::test]
async fn whoever_left_is_offline_until_it_does_something() {
    let shop = shop(Rules::default()).await;
    inbox(&shop, AGENT).await.unwrap();
    assert!(shop.office.leave(PROJECT, AGENT).await.unwrap());
    assert!(!shop.office.leave(PROJECT, AGENT).await.unwrap());
    assert_eq!(shown(&shop, 0).await, "OFFLINE");
    inbox(&shop, AGENT).await.unwrap();
    assert_eq!(shown(&shop, 0).await, "AWAKE", "at once, and not after a minute");
    shop.office.leave(PROJECT, AGENT).await.unwrap();
    shop.clock.advance_seconds(99_999);
    assert_eq!(shown(&shop, 0).await, "OFFLINE", "for however long");
    assert!(!shop.office.leave(PROJECT, AGENT).await.unwrap());
}

#[tokio::test]
async fn a_session_that_ends_takes_no_watcher_with_it() {
    let shop = shop(Rules::default()).await;
    inbox(&shop, AGENT).await.unwrap();
    assert!(shop.office.end_session(PROJECT, AGENT, None).await.unwrap().1);
    assert_eq!(shown(&shop, 0).await, "OFFLINE");
    shop.office.beat(PROJECT, AGENT, WORKING).await.unwrap();
    assert!(!shop.office.end_session(PROJECT, AGENT, None).await.unwrap().1);
    assert_eq!(shown(&shop, 0).await, "AWAKE/WORKING");
    shop.clock.advance_seconds(301);
    assert!(shop.office.end_session(PROJECT, AGENT, None).await.unwrap().1, "the watcher is gone");
}

#[tokio::test]
async fn a_state_that_is_no_word_is_refused_and_kept_by_nobody() {
    let shop = shop(Rules::default()).await;
    let long = "x".repeat(129);
    let wrong = [
        Sign { state: "awake", ..WORKING },
        Sign { substate: Some("at work"), ..WORKING },
        Sign { channel: Some(&long), ..WORKING },
        Sign { channel: Some("a\nb"), ..WORKING },
    ];
    for sign in wrong {
        let refused = shop.office.beat(PROJECT, AGENT, sign).await.unwrap_err();
        assert_eq!(refused.code(), "INVALID_ARGUMENT", "{sign:?}");
    }
    assert_eq!(known(&shop, 0).await, None);
    let refused =
        shop.office.heard(Source::File, PROJECT, &heartbeat("stranger", "gone fishing", None)).await.unwrap_err();
    assert_eq!(refused.code(), "INVALID_ARGUMENT");
    assert_eq!(shop.office.whois(PROJECT, "stranger").await.unwrap_err().code(), "AGENT_NOT_FOUND");
}

#[tokio::test]
async fn a_foreign_agent_that_is_heard_of_has_a_mailbox_and_is_seen_when_its_file_says() {
    let shop = shop(Rules::default()).await;
    let written = seconds(&shop, -20);
    assert!(shop.office.heard(Source::File, PROJECT, &heartbeat("codex", "AWAKE", Some(written))).await.unwrap());
    assert!(
        !shop.office.heard(Source::File, PROJECT, &heartbeat("codex", "AWAKE", Some(written))).await.unwrap(),
        "the same file"
    );
    let (_, present) = shop.office.present(PROJECT, None, 9).await.unwrap();
    let codex = present.iter().find(|one| one.agent.name == "codex").unwrap().presence.as_ref().unwrap();
    assert_eq!((codex.seen_at, codex.source, codex.watcher_pid), (written, Source::File, Some(9)));
    let odd = Heartbeat { substate: Some("at work".into()), ..heartbeat("odd", "AWAKE", Some(seconds(&shop, 20))) };
    shop.office.heard(Source::File, PROJECT, &odd).await.unwrap();
    let (_, present) = shop.office.present(PROJECT, None, 9).await.unwrap();
    let odd = present.last().unwrap().presence.as_ref().unwrap();
    assert_eq!((odd.seen_at, odd.substate.as_deref()), (shop.clock.now(), None), "nobody was seen in the future");
    let silent = Heartbeat { state: None, ..heartbeat("silent", "", None) };
    assert!(shop.office.heard(Source::File, PROJECT, &silent).await.unwrap());
    assert_eq!(shop.office.present(PROJECT, None, 9).await.unwrap().1.len(), 5);
}

#[tokio::test]
async fn a_file_changes_nothing_of_what_is_known_and_newer() {
    let shop = shop(Rules::default()).await;
    inbox(&shop, AGENT).await.unwrap();
    let before = known(&shop, 0).await;
    for time in [Some(seconds(&shop, -1)), Some(seconds(&shop, 0)), None] {
        assert!(
            !shop.office.heard(Source::File, PROJECT, &heartbeat("agent-0", "OFFLINE", time)).await.unwrap(),
            "{time:?}"
        );
        assert_eq!(known(&shop, 0).await, before);
    }
    shop.clock.advance_seconds(5);
    assert!(
        shop.office
            .heard(Source::File, PROJECT, &heartbeat("agent-0", "OFFLINE", Some(seconds(&shop, -1))))
            .await
            .unwrap()
    );
    assert_eq!(shown(&shop, 0).await, "OFFLINE");
}

#[tokio::test]
async fn a_file_that_is_dated_far_in_the_future_makes_its_agent_awake_once() {
    let shop = shop(Rules::default()).await;
    inbox(&shop, AGENT).await.unwrap();
    let beat = heartbeat("agent-0", "AWAKE", Some(seconds(&shop, 10 * 365 * 24 * 60 * 60)));
    let first = heartbeat("codex", "AWAKE", beat.timestamp);
    assert!(
        shop.office.heard(Source::File, PROJECT, &first).await.unwrap(),
        "it was there when the file was first read"
    );
    shop.clock.advance_seconds(301);
    for heartbeat in [&beat, &first] {
        assert!(!shop.office.heard(Source::File, PROJECT, heartbeat).await.unwrap(), "and nobody knows since");
    }
    assert!(shown(&shop, 0).await.starts_with("STALE"), "{}", shown(&shop, 0).await);
    let (_, present) = shop.office.present(PROJECT, None, 9).await.unwrap();
    assert_eq!(present.last().unwrap().presence.as_ref().unwrap().seen_at, seconds(&shop, -301));
    let ahead = heartbeat("agent-0", "AWAKE", Some(seconds(&shop, 299)));
    shop.office.heard(Source::File, PROJECT, &ahead).await.unwrap();
    assert!(shown(&shop, 0).await.starts_with("AWAKE"), "clocks differ a little");
}
