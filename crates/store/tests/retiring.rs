//! Agents that a person retires: who may still write to them, and how they come back.

use std::sync::atomic::Ordering;

use mail::Error;
use mail::agents::AgentStore;
use mail::channels::NATS;
use mail::messages::{MessageStore, Role};
use mail::office::{Draft, PostDraft};

use crate::shop::{PROJECT, Shop, named, office_over};
use crate::talk::{arrive, deliveries, post, reply, said, take_in, talking, to};

/// A shop in which codex is retired.
async fn retired() -> Shop {
    let shop = talking().await;
    // Known to the office before, which is no reason to take mail for it.
    shop.office.send(to(&["codex"], "claude")).await.unwrap();
    shop.office.welcome_person(PROJECT, "Anna").await.unwrap();
    assert!(shop.office.retire(PROJECT, "Anna", "codex").await.unwrap());
    shop
}

fn is_refused<T: std::fmt::Debug>(answer: &Result<T, Error>) -> bool {
    matches!(answer, Err(Error::Retired { name, .. }) if name == "codex")
}

#[tokio::test]
async fn mail_to_a_retired_agent_is_refused_and_says_what_to_do() {
    let shop = retired().await;
    let refused = shop.office.send(to(&["codex"], "claude")).await.unwrap_err();
    assert_eq!(refused.code(), "AGENT_RETIRED");
    assert_eq!(refused.to_string(), "Agent 'codex' is retired since 2023-11-14T22:13:20.000000Z");
    assert_eq!(refused.code(), "AGENT_RETIRED");
    let one = || vec!["codex".to_owned()];
    for draft in [Draft { cc: one(), ..to(&["gemini"], "claude") }, Draft { bcc: one(), ..to(&["gemini"], "claude") }] {
        assert!(is_refused(&shop.office.send(draft).await));
    }
    let wrote = shop.office.send(to(&["claude"], "codex")).await.unwrap().message;
    assert!(is_refused(&shop.office.reply(reply("claude", &wrote)).await), "what it wrote cannot be answered");
}

#[tokio::test]
async fn everybody_is_whoever_is_not_retired() {
    let shop = retired().await;
    let message = shop.office.send(to(&["all"], "claude")).await.unwrap().message;
    assert_eq!(message.to, ["agent-0", "agent-1", "codex-2", "gemini", "Anna"]);
}

#[tokio::test]
async fn a_retired_agent_is_written_to_again_when_it_registered_again() {
    let shop = retired().await;
    shop.office.register(named(Some("codex"), None)).await.unwrap();
    shop.office.send(to(&["codex"], "claude")).await.unwrap();
}

#[tokio::test]
async fn nobody_retires_itself_and_nobody_twice() {
    let shop = retired().await;
    let (leases, boards) = (&shop.heard.leases, &shop.heard.boards);
    let woken = (leases.load(Ordering::Relaxed), boards.load(Ordering::Relaxed));
    assert!(!shop.office.retire(PROJECT, "Anna", "codex").await.unwrap());
    let refused = shop.office.retire(PROJECT, "Anna", "Anna").await.unwrap_err();
    assert_eq!(refused.to_string(), "Invalid agent name: 'Anna'; wanted: another name than your own");
    let unknown = shop.office.retire(PROJECT, "Anna", "nobody").await;
    assert!(matches!(unknown, Err(Error::UnknownAgent { another: true, .. })), "{unknown:?}");
    assert_eq!((leases.load(Ordering::Relaxed), boards.load(Ordering::Relaxed)), woken, "nothing changed");
    assert!(shop.office.retire(PROJECT, "Anna", "gemini").await.unwrap());
    assert_eq!((leases.load(Ordering::Relaxed), boards.load(Ordering::Relaxed)), (woken.0 + 1, woken.1 + 1));
}

#[tokio::test]
async fn in_a_channel_a_retired_agent_is_not_called() {
    let shop = retired().await;
    let message = shop.office.post(post("claude", &[], "Look, @codex and @gemini.")).await.unwrap().message;
    assert_eq!(message.cc, ["gemini"]);
    let message = shop.office.post(post("claude", &[], "Codex, look.")).await.unwrap().message;
    assert_eq!(deliveries(&shop, &message).await, []);
    let refused = shop.office.post(post("claude", &["someone-new", "codex"], "Look.")).await;
    assert!(is_refused(&refused), "{refused:?}");
    let made = shop.store.agents_named(shop.team.project, &["someone-new"]).await.unwrap();
    assert_eq!(made, [], "nothing is made for what is refused");
}

#[tokio::test]
async fn what_a_retired_agent_said_in_a_channel_is_answered_there() {
    let shop = talking().await;
    let said = shop.office.post(post("codex", &[], "Shall I?")).await.unwrap().message;
    shop.office.welcome_person(PROJECT, "Anna").await.unwrap();
    shop.office.retire(PROJECT, "Anna", "codex").await.unwrap();
    let answer = shop.office.reply(reply("claude", &said)).await.unwrap().message;
    assert_eq!(answer.to, ["#dev"]);
    let number = said.id.to_string();
    let answer = PostDraft { in_reply_to: Some(&number), ..post("claude", &[], "No.") };
    let answer = shop.office.post(answer).await.unwrap().message;
    assert_eq!((answer.to, answer.reply_to), (vec!["#dev".to_owned()], Some(said.id)));
}

#[tokio::test]
async fn what_was_said_outside_is_kept_for_a_retired_agent() {
    let shop = retired().await;
    arrive(&shop, "msg-1", &said("gemini", "codex", "from a folder")).await;
    take_in(&shop, "msg-2", &said("gemini", "codex", "from NATS"), NATS).await;
    for id in [2, 3] {
        let deliveries = shop.store.deliveries(mail::ids::MessageId(id)).await.unwrap();
        let deliveries: Vec<_> =
            deliveries.iter().map(|delivery| (delivery.recipient.as_str(), delivery.role)).collect();
        assert_eq!(deliveries, [("codex", Role::To)]);
    }
}

#[tokio::test]
async fn a_retired_agent_is_not_suggested() {
    let (shop, before) = (retired().await, talking().await);
    let near = async |shop: &Shop| shop.office.send(to(&["codx"], "claude")).await.unwrap_err().near().to_vec();
    assert_eq!(near(&before).await, ["codex"]);
    assert!(!near(&shop).await.contains(&"codex".to_owned()));
}

#[tokio::test]
async fn another_office_notices_within_seconds_that_an_agent_is_retired() {
    let shop = talking().await;
    let other = office_over(shop.store.clone(), shop.clock.clone());
    other.send(to(&["codex"], "claude")).await.unwrap();
    shop.office.welcome_person(PROJECT, "Anna").await.unwrap();
    shop.office.retire(PROJECT, "Anna", "codex").await.unwrap();
    assert!(is_refused(&shop.office.send(to(&["codex"], "claude")).await), "where it was retired at once");
    let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while !is_refused(&other.send(to(&["codex"], "claude")).await) {
        assert!(std::time::Instant::now() < end, "it is not noticed");
        tokio::time::sleep(std::time::Duration::from_millis(250)).await;
    }
}
