//! Sessions, and the names that were generated for them, as the post office looks after them; and agents that get another name.

use jiff::SignedDuration;
use mail::Error;
use mail::agents::AgentStore;
use mail::messages::{InboxQuery, Message, MessageStore};
use mail::office::{Claim, Draft, Identity, ReserveRequest, Rules, SessionSign, Settled};
use mail::sessions::{Release, SessionRules, SessionStore};

use crate::shop::{PROJECT, Shop, draft, named, office_over, shop};

const AGENT: Claim<'static> = Claim { name: "agent-0", token: None };
const SIGN: SessionSign<'static> =
    SessionSign { key: "claude-1", client: "claude", host: "here", place: "/projects/shop", is_idle: false };
const DAY: i64 = 24 * 3600;

/// A shop with an agent whose name was generated.
async fn with_generated() -> (Shop, String) {
    let shop = shop(Rules::default()).await;
    let name = shop.office.register(named(None, None)).await.unwrap().agent.name;
    (shop, name)
}

async fn ask(shop: &Shop, to: &str, ack: bool) -> Message {
    let draft = Draft { to: vec![to.to_owned()], ack_required: Some(ack), ..draft("agent-1", None) };
    shop.office.send(draft).await.unwrap().message
}

async fn reserve(shop: &Shop, agent: Claim<'_>, path: &str, exclusive: bool) {
    let paths = [path.to_owned()];
    let (wait, ttl_seconds) = (std::time::Duration::ZERO, 7 * DAY);
    let request =
        ReserveRequest { project_key: PROJECT, agent, paths: &paths, ttl_seconds, exclusive, reason: "", wait };
    shop.office.reserve(request).await.unwrap();
}

async fn settle(shop: &Shop, days: i64) -> Settled {
    shop.clock.advance_seconds(days * DAY);
    shop.office.settle_sessions(PROJECT, "Anna").await.unwrap()
}

async fn mail_of(shop: &Shop, name: &str) -> Vec<Message> {
    let agent = shop.office.whois(PROJECT, name).await.unwrap();
    let found = shop.store.inbox(agent.id, &InboxQuery::newest(100)).await.unwrap();
    found.into_iter().map(|entry| entry.message).collect()
}

#[tokio::test]
async fn mail_that_wants_an_answer_is_told_to_the_person_once_and_stays() {
    let (shop, name) = with_generated().await;
    let sent = ask(&shop, &name, true).await;
    ask(&shop, &name, false).await;
    assert_eq!(settle(&shop, 0).await, Settled::default(), "its next session may come");
    let settled = settle(&shop, 1).await;
    assert_eq!((settled.handed_over, settled.retired.len()), (vec![name.clone()], 0));
    let told = mail_of(&shop, "Anna").await;
    assert_eq!((told.len(), told[0].from.as_str()), (1, "postrider"));
    assert_eq!(told[0].subject, format!("1 message waits for '{name}'"));
    assert!(told[0].body.contains(&format!("- #{} from agent-1", sent.id)), "{}", told[0].body);
    assert_eq!(mail_of(&shop, &name).await.len(), 2, "nothing is taken away");
    assert_eq!(settle(&shop, 1).await, Settled::default());
    ask(&shop, &name, true).await;
    assert_eq!(settle(&shop, 1).await.handed_over, [name]);
    assert_eq!(mail_of(&shop, "Anna").await.len(), 2, "of the new message alone");
}

#[tokio::test]
async fn the_person_is_who_is_there_already() {
    let (shop, name) = with_generated().await;
    shop.office.welcome_person(PROJECT, "Bea").await.unwrap();
    ask(&shop, &name, true).await;
    settle(&shop, 1).await;
    assert_eq!(mail_of(&shop, "Bea").await.len(), 1);
    assert!(shop.office.whois(PROJECT, "Anna").await.is_err());
}

#[tokio::test]
async fn two_who_pass_by_at_once_tell_the_person_once() {
    let (shop, name) = with_generated().await;
    ask(&shop, &name, true).await;
    shop.clock.advance_seconds(DAY);
    let other = office_over(shop.store.clone(), shop.clock.clone());
    let (one, two) = tokio::join!(shop.office.settle_sessions(PROJECT, "Anna"), other.settle_sessions(PROJECT, "Anna"));
    one.and(two).unwrap();
    assert_eq!(mail_of(&shop, "Anna").await.len(), 1);
}

#[tokio::test]
async fn a_generated_name_that_nothing_waits_for_retires_and_comes_back_with_its_session() {
    let (shop, name) = with_generated().await;
    assert_eq!(settle(&shop, 6).await, Settled::default());
    assert_eq!(settle(&shop, 1).await.retired, std::slice::from_ref(&name));
    assert!(matches!(shop.office.send(draft_to(&name)).await, Err(Error::Retired { .. })));
    assert_eq!(settle(&shop, 30).await, Settled::default(), "the names that were chosen stay");
    shop.office.register(named(Some(&name), None)).await.unwrap();
    shop.office.send(draft_to(&name)).await.unwrap();
    assert_eq!(settle(&shop, 6).await, Settled::default());
}

fn draft_to(name: &str) -> Draft<'static> {
    Draft { to: vec![name.to_owned()], ..draft("agent-1", None) }
}

#[tokio::test]
async fn a_name_is_kept_while_a_session_is_open_or_it_holds_something() {
    let (shop, name) = with_generated().await;
    let me = Claim::of(&name);
    assert!(shop.office.note_session(PROJECT, me, SIGN).await.unwrap());
    for _ in 0..4 {
        assert_eq!(settle(&shop, 5).await, Settled::default());
        shop.office.note_session(PROJECT, me, SIGN).await.unwrap();
    }
    reserve(&shop, me, "docs/**", false).await;
    shop.office.end_session(PROJECT, me, Some(SIGN.key)).await.unwrap();
    assert_eq!(settle(&shop, 6).await, Settled::default());
    let held = shop.office.reservations(PROJECT, None, 9).await.unwrap().1;
    assert_eq!(held.len(), 1, "a shared reservation lasts as long as it was asked for");
    assert_eq!(settle(&shop, 2).await.retired, [name]);
}

#[tokio::test]
async fn the_name_of_a_sub_agent_counts_as_generated() {
    let shop = shop(Rules::default()).await;
    for name in ["agent-0/reviewer-3fa9", "rig/polecat-3"] {
        shop.office.register(named(Some(name), None)).await.unwrap();
    }
    assert_eq!(settle(&shop, 8).await.retired, ["agent-0/reviewer-3fa9"]);
}

#[tokio::test]
async fn the_end_of_the_last_session_gives_back_what_the_rules_say_and_the_agent_is_gone() {
    for (release, left) in [(Release::Exclusive, 1), (Release::All, 0), (Release::None, 2)] {
        let sessions = SessionRules { release, ..SessionRules::default() };
        let shop = shop(Rules { sessions, ..Rules::default() }).await;
        for key in ["claude-1", "claude-2"] {
            assert!(shop.office.note_session(PROJECT, AGENT, SessionSign { key, ..SIGN }).await.unwrap());
        }
        reserve(&shop, AGENT, "src/**", true).await;
        reserve(&shop, AGENT, "docs/**", false).await;
        let (first, _) = shop.office.end_session(PROJECT, AGENT, Some("claude-1")).await.unwrap();
        assert!(!first.is_last && first.released.is_empty());
        assert_eq!(shop.office.sessions(shop.team.project, &shop.team.agents).await.unwrap().len(), 1);
        let (last, is_gone) = shop.office.end_session(PROJECT, AGENT, Some("claude-2")).await.unwrap();
        assert!(last.is_last && is_gone, "{release}");
        assert_eq!(shop.office.reservations(PROJECT, None, 9).await.unwrap().1.len(), left, "{release}");
    }
}

#[tokio::test]
async fn a_session_of_a_machine_that_went_away_is_not_told() {
    let shop = shop(Rules::default()).await;
    shop.office.note_session(PROJECT, AGENT, SIGN).await.unwrap();
    let sessions = async || shop.office.sessions(shop.team.project, &shop.team.agents).await.unwrap().len();
    shop.clock.advance_seconds(7 * DAY);
    assert_eq!(sessions().await, 1);
    shop.clock.advance_seconds(1);
    assert_eq!(sessions().await, 0);
}

#[tokio::test]
async fn what_nobody_could_show_is_no_session() {
    let shop = shop(Rules::default()).await;
    let long = "x".repeat(129);
    for sign in [
        SessionSign { key: "", ..SIGN },
        SessionSign { client: "a\nb", ..SIGN },
        SessionSign { host: &long, ..SIGN },
        SessionSign { place: " ", ..SIGN },
    ] {
        let refused = shop.office.note_session(PROJECT, AGENT, sign).await.unwrap_err();
        assert_eq!(refused.code(), "INVALID_ARGUMENT", "{sign:?}");
    }
    assert_eq!(shop.store.sessions(shop.team.project, &shop.team.agents).await.unwrap(), []);
}

#[tokio::test]
async fn a_renamed_agent_is_reached_under_both_names_and_acts_under_both() {
    let shop = shop(Rules::default()).await;
    shop.office.send(draft_to("agent-0")).await.unwrap();
    let renamed = shop.office.rename(PROJECT, AGENT, "Reviewer").await.unwrap();
    assert_eq!(renamed.name, "Reviewer");
    let sent = shop.office.send(draft_to("agent-0")).await.unwrap().message;
    assert_eq!(sent.to, ["Reviewer"], "it is written to under the name that it has");
    assert_eq!(mail_of(&shop, "agent-0").await.len(), 2);
    let sent = shop.office.send(Draft { to: vec!["agent-1".into()], ..draft("agent-0", None) }).await.unwrap();
    assert_eq!(sent.message.from, "Reviewer");
    assert_eq!(shop.office.whois(PROJECT, "agent-0").await.unwrap().id, shop.team.agents[0]);
    let registered = shop.office.register(named(Some("agent-0"), None)).await.unwrap().agent;
    assert_eq!((registered.id, registered.name.as_str()), (shop.team.agents[0], "Reviewer"));
    assert!(!shop.office.ensure_mailbox(PROJECT, "agent-0").await.unwrap());
}

#[tokio::test]
async fn another_office_reaches_a_renamed_agent_at_once_and_knows_its_name_within_seconds() {
    let shop = shop(Rules::default()).await;
    let other = office_over(shop.store.clone(), shop.clock.clone());
    other.send(draft_to("agent-0")).await.unwrap();
    shop.office.rename(PROJECT, AGENT, "Reviewer").await.unwrap();
    other.send(draft_to("agent-0")).await.unwrap();
    other.send(draft_to("Reviewer")).await.unwrap();
    assert_eq!(mail_of(&shop, "Reviewer").await.len(), 3);
}

#[tokio::test]
async fn whoever_was_renamed_still_holds_what_it_held_under_its_former_name() {
    let shop = shop(Rules::default()).await;
    reserve(&shop, AGENT, "src/**", true).await;
    shop.office.rename(PROJECT, AGENT, "Reviewer").await.unwrap();
    let paths = ["src/a.rs".to_owned()];
    let held = async |me| shop.office.held_by_others(PROJECT, Some(me), &paths).await.unwrap().len();
    assert_eq!(
        [held("agent-0").await, held("Reviewer").await, held("agent-1").await, held("nobody").await],
        [0, 0, 1, 1]
    );
}

#[tokio::test]
async fn nobody_takes_a_name_that_is_or_was_anothers_or_that_of_the_office() {
    let shop = shop(Rules::default()).await;
    shop.office.welcome_person(PROJECT, "Anna").await.unwrap();
    for name in ["agent-1", "Anna", "postrider"] {
        let refused = shop.office.rename(PROJECT, AGENT, name).await.unwrap_err();
        assert!(matches!(&refused, Error::NameTaken(taken) if taken == name), "{refused}");
    }
    shop.office.rename(PROJECT, AGENT, "Reviewer").await.unwrap();
    let refused = shop.office.rename(PROJECT, Claim::of("agent-1"), "agent-0").await.unwrap_err();
    assert!(matches!(refused, Error::NameTaken(_)), "it still reaches another");
    assert_eq!(shop.office.rename(PROJECT, AGENT, "Reviewer").await.unwrap().name, "Reviewer", "twice is once");
    for result in [
        shop.office.rename(PROJECT, Claim::of("Anna"), "Bea").await.map(drop),
        shop.office.retire_oneself(PROJECT, Claim::of("Anna")).await.map(drop),
    ] {
        assert_eq!(result.unwrap_err().to_string(), "Invalid agent name: 'Anna'; wanted: an agent, not a person");
    }
}

#[tokio::test]
async fn a_name_that_is_to_be_proved_is_given_up_by_its_owner_alone() {
    let shop = shop(Rules { identity: Identity::Strict, ..Rules::default() }).await;
    let mine = shop.office.register(named(Some("Mine"), None)).await.unwrap();
    let unproved = Claim::of("Mine");
    let proved = Claim { token: Some(&mine.token), ..unproved };
    for result in [
        shop.office.rename(PROJECT, unproved, "Yours").await.map(drop),
        shop.office.retire_oneself(PROJECT, unproved).await.map(drop),
        shop.office.note_session(PROJECT, unproved, SIGN).await.map(drop),
        shop.office.end_session(PROJECT, unproved, None).await.map(drop),
    ] {
        assert!(matches!(result, Err(Error::Unproved { .. })), "{result:?}");
    }
    shop.office.rename(PROJECT, proved, "Yours").await.unwrap();
    let again = shop.office.register(named(Some("Mine"), Some(&mine.token))).await.unwrap().agent;
    assert_eq!(again.name, "Yours");
    let stranger = shop.office.register(named(Some("Mine"), None)).await;
    assert!(matches!(stranger, Err(Error::Unproved { .. })), "a former name is proved as well: {stranger:?}");
    assert!(
        shop.office.retire_oneself(PROJECT, Claim { token: Some(&mine.token), ..Claim::of("Mine") }).await.unwrap()
    );
    assert!(shop.store.agents_named(shop.team.project, &["Yours"]).await.unwrap()[0].retired_at.is_some());
}

#[tokio::test]
async fn the_limits_are_those_of_the_settings() {
    let hour = SignedDuration::from_hours(1);
    let sessions = SessionRules { hand_over_after: hour, retire_after: hour * 2, ..SessionRules::default() };
    let shop = shop(Rules { sessions, ..Rules::default() }).await;
    let name = shop.office.register(named(None, None)).await.unwrap().agent.name;
    ask(&shop, &name, true).await;
    shop.clock.advance_seconds(3600);
    assert_eq!(settle(&shop, 0).await.handed_over, std::slice::from_ref(&name));
    shop.clock.advance_seconds(3600);
    assert_eq!(settle(&shop, 0).await.retired, [name]);
}
