//! People who write from the page: who they are, what they may do for agents, and what is told of it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use mail::Error;
use mail::agents::{AgentStore, PERSON};
use mail::channels::OfficeMark;
use mail::events::{Event, EventKind, EventStore};
use mail::ids::ReservationId;
use mail::messages::{Importance, InboxEntry, InboxQuery, MessageStore, Vouched};
use mail::office::{Claim, Registration, ReserveRequest, Rules, Secrets, TakenIn};
use mail::presence::PresenceStore;
use mail::reservations::{Reservation, ReservationStore};

use crate::shop::{PROJECT, Shop, draft, named, shop};
use crate::talk::{arrive, kept, post, strict, talking};
use crate::team;

async fn welcome(shop: &Shop) -> mail::agents::Agent {
    shop.office.welcome_person(PROJECT, "Anna").await.unwrap()
}

async fn last_event(shop: &Shop) -> Event {
    shop.store.events(shop.team.project, 0, 1_000).await.unwrap().pop().unwrap()
}

async fn inbox(shop: &Shop, agent: usize) -> Vec<InboxEntry> {
    shop.store.inbox(shop.team.agents[agent], &InboxQuery::newest(100)).await.unwrap()
}

async fn reserve(shop: &Shop, name: &str, path: &str) -> Reservation {
    let paths = [path.to_owned()];
    let (agent, wait) = (Claim::of(name), Duration::ZERO);
    let request = ReserveRequest {
        project_key: PROJECT,
        agent,
        paths: &paths,
        ttl_seconds: 60,
        exclusive: true,
        reason: "",
        wait,
    };
    shop.office.for_person().reserve(request).await.unwrap().remove(0)
}

#[tokio::test]
async fn a_person_is_made_known_once_and_found_again() {
    for rules in [Rules::default(), strict()] {
        let shop = shop(rules).await;
        let anna = welcome(&shop).await;
        assert_eq!((anna.name.as_str(), anna.program.as_str()), ("Anna", PERSON));
        assert_eq!(welcome(&shop).await.id, anna.id);
        let registered = shop.store.events(shop.team.project, 0, 100).await.unwrap();
        let registered = registered.iter().filter(|event| event.kind == EventKind::AgentRegistered).count();
        assert_eq!(registered, 3);
    }
}

#[tokio::test]
async fn a_name_of_an_agent_is_not_given_to_a_person() {
    let shop = shop(Rules::default()).await;
    let refused = shop.office.welcome_person(PROJECT, "agent-0").await.unwrap_err();
    assert_eq!(
        (refused.code(), refused.to_string().as_str()),
        ("NAME_TAKEN", "'agent-0' belongs to an agent of this project")
    );
    assert_eq!(shop.office.welcome_person(PROJECT, "all").await.unwrap_err().code(), "INVALID_ARGUMENT");
    assert_eq!(shop.office.welcome_person("nowhere", "Anna").await.unwrap_err().code(), "PROJECT_NOT_FOUND");
}

#[tokio::test]
async fn no_agent_becomes_a_person_and_no_person_an_agent() {
    let shop = shop(Rules::default()).await;
    let profile = |program: &str| mail::agents::Profile { program: Some(program.to_owned()), ..Default::default() };
    let as_person = Registration { profile: profile(PERSON), ..named(Some("codex"), None) };
    let refused = shop.office.register(as_person).await.unwrap_err();
    assert!(matches!(refused, Error::Invalid { what: "program", .. }), "{refused:?}");
    welcome(&shop).await;
    let as_agent = Registration { profile: profile("codex"), ..named(Some("Anna"), None) };
    assert_eq!(shop.office.register(as_agent).await.unwrap().agent.program, PERSON);
    assert_eq!(welcome(&shop).await.program, PERSON, "she is not locked out");
}

#[tokio::test]
async fn nobody_takes_a_persons_name_where_names_have_to_be_proved() {
    let shop = shop(strict()).await;
    welcome(&shop).await;
    for token in [None, Some("guessed")] {
        let refused = shop.office.register(named(Some("Anna"), token)).await;
        assert!(matches!(refused, Err(Error::Unproved { .. })), "{refused:?}");
        let refused = shop.office.send(draft("Anna", token)).await;
        assert!(matches!(refused, Err(Error::Unproved { .. })), "{refused:?}");
    }
}

#[tokio::test]
async fn what_a_person_sends_is_vouched_for_as_a_humans() {
    for rules in [Rules::default(), strict()] {
        let shop = shop(rules).await;
        welcome(&shop).await;
        let sent = shop.office.for_person().send(draft("Anna", None)).await.unwrap();
        assert_eq!(sent.message.vouched, Vouched::Human);
        let said = post("Anna", &["agent-0"], "Hello");
        assert_eq!(shop.office.for_person().post(said).await.unwrap().message.vouched, Vouched::Human);
        let unknown = shop.office.for_person().send(draft("Otto", None)).await;
        assert!(matches!(unknown, Err(Error::UnknownAgent { .. })), "{unknown:?}");
    }
}

#[tokio::test]
async fn the_document_of_what_a_person_said_says_so_and_is_known_by_the_same_mark() {
    let shop = shop(Rules::default()).await;
    welcome(&shop).await;
    let human = shop.office.for_person().post(post("Anna", &["agent-0"], "Hello")).await.unwrap().message;
    let human = kept(&shop, &human).await;
    let said = human.said("office", "name");
    assert_eq!(said.metadata_text("vouched"), Some("human"));
    let mark = OfficeMark::of(&said).expect("it was made for it");
    let mut claimed = human.clone();
    claimed.message.vouched = Vouched::Claimed;
    let claimed = claimed.said("office", "name");
    assert_eq!((claimed.metadata_text("vouched"), OfficeMark::of(&claimed)), (None, Some(mark)));
    let other = talking().await;
    let TakenIn::New(id) = arrive(&other, "msg-1", &said).await else { panic!("it is new there") };
    let there = other.store.message(other.team.project, id).await.unwrap().unwrap();
    assert_eq!(there.vouched, Vouched::Claimed, "anybody could have written that word");
}

#[tokio::test]
async fn what_a_person_does_for_an_agent_is_no_sign_of_its_life() {
    let shop = shop(strict()).await;
    let anna = welcome(&shop).await;
    let id = shop.office.for_person().send(draft("Anna", None)).await.unwrap().message.id;
    shop.office.for_person().mark_read(PROJECT, Claim::of("agent-1"), id).await.unwrap();
    shop.office.for_person().send(draft("agent-0", None)).await.unwrap();
    for agent in &shop.team.agents {
        assert_eq!(shop.store.presence(*agent).await.unwrap(), None);
    }
    assert!(shop.store.presence(anna.id).await.unwrap().is_some(), "she came to the page");
}

#[tokio::test]
async fn a_person_puts_anybodys_mail_away_and_brings_it_back() {
    let shop = shop(strict()).await;
    let anna = welcome(&shop).await;
    let id = shop.office.for_person().send(draft("agent-0", None)).await.unwrap().message.id;
    let (office, agent) = (&shop.office, "agent-1");
    shop.heard.mail.lock().unwrap().clear();
    assert!(office.archive_for(PROJECT, "Anna", agent, id, false).await.unwrap());
    assert!(!office.archive_for(PROJECT, "Anna", agent, id, false).await.unwrap());
    assert_eq!(inbox(&shop, 1).await, []);
    let last = last_event(&shop).await;
    assert_eq!((last.kind, last.agent), (EventKind::MessageArchived, Some(anna.id)));
    assert!(office.archive_for(PROJECT, "Anna", agent, id, true).await.unwrap());
    assert!(!office.archive_for(PROJECT, "Anna", agent, id, true).await.unwrap());
    assert_eq!(inbox(&shop, 1).await.len(), 1);
    let last = last_event(&shop).await;
    assert_eq!((last.kind, last.agent), (EventKind::MessageBroughtBack, Some(anna.id)));
    assert_eq!(*shop.heard.mail.lock().unwrap(), [shop.team.agents[1]; 2], "its mailbox changed twice");
    for refused in [
        office.archive_for(PROJECT, "Anna", "agent-0", id, false).await,
        office.archive_for(PROJECT, "Anna", "agent-0", id, true).await,
    ] {
        assert!(matches!(refused, Err(Error::NotARecipient { .. })), "{refused:?}");
    }
}

#[tokio::test]
async fn a_person_gives_back_somebodys_reservation_and_its_holder_is_told() {
    let shop = shop(strict()).await;
    let anna = welcome(&shop).await;
    reserve(&shop, "agent-1", "docs/**").await;
    let reservation = reserve(&shop, "agent-1", "src/**").await;
    let woken = shop.heard.reservations.load(Ordering::Relaxed);
    let (back, is_told) = shop.office.release_for(PROJECT, "Anna", reservation.id).await.unwrap();
    assert_eq!((back.id, back.holder, is_told), (reservation.id, shop.team.agents[1], true));
    assert_eq!(shop.heard.reservations.load(Ordering::Relaxed), woken + 1);
    let events = shop.store.events(shop.team.project, 0, 100).await.unwrap();
    let released = events.iter().find(|event| event.kind == EventKind::ReservationReleased).unwrap();
    assert_eq!((released.reference, released.agent), (reservation.id.0, Some(anna.id)));
    let told = inbox(&shop, 1).await.remove(0).message;
    let how = (told.from.as_str(), told.vouched, told.door.as_str(), told.importance, told.kind);
    assert_eq!(how, ("Anna", Vouched::Human, "page", Importance::High, None));
    assert!(told.body.contains("`src/**`") && told.body.contains("Anna"), "{}", told.body);
    let now = team::at(0);
    assert_eq!(shop.store.reservations(shop.team.project, None, 10, now).await.unwrap().len(), 1, "the other stays");
    for gone in [reservation.id, ReservationId(99), ReservationId(i64::MIN)] {
        let refused = shop.office.release_for(PROJECT, "Anna", gone).await.unwrap_err();
        let expected = format!("Reservation '{gone}' is not active any more");
        assert_eq!((refused.code(), refused.to_string()), ("RESERVATION_OVER", expected));
    }
    assert_eq!(inbox(&shop, 1).await.len(), 1);
}

#[tokio::test]
async fn a_reservation_is_given_back_although_its_holder_cannot_be_told() {
    let shop = shop(Rules { secrets: Secrets::Refuse, ..Rules::default() }).await;
    welcome(&shop).await;
    let reservation = reserve(&shop, "agent-1", &format!("src/ghp_{}", "a1B2c3D4e5F6".repeat(3))).await;
    let (_, is_told) = shop.office.release_for(PROJECT, "Anna", reservation.id).await.unwrap();
    assert!(!is_told && inbox(&shop, 1).await.is_empty());
    assert!(shop.store.reservations(shop.team.project, None, 10, team::at(0)).await.unwrap().is_empty());
}

#[tokio::test]
async fn who_gives_back_its_own_reservation_is_not_told() {
    let shop = shop(Rules::default()).await;
    let anna = welcome(&shop).await;
    let reservation = reserve(&shop, "Anna", "src/**").await;
    shop.office.release_for(PROJECT, "Anna", reservation.id).await.unwrap();
    assert!(shop.store.inbox(anna.id, &InboxQuery::newest(1)).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_retired_person_is_back_when_it_comes_back() {
    let shop = shop(strict()).await;
    let anna = welcome(&shop).await;
    shop.office.welcome_person(PROJECT, "Otto").await.unwrap();
    assert!(shop.office.retire(PROJECT, "Otto", "Anna").await.unwrap());
    assert!(shop.store.agents_named(shop.team.project, &["Anna"]).await.unwrap()[0].retired_at.is_some());
    let back = welcome(&shop).await;
    assert_eq!((back.id, back.retired_at), (anna.id, None));
}
