//! The office as a provider of deliveries, over a real store: the promises of every provider, and what is its own.

use std::sync::Arc;

use mail::Error;
use mail::ids::MessageId;
use mail::messages::{Importance, NewMessage};
use mail::office::{Claim, Draft, Identity, Registration, Rules};
use mail::provider::hiding::Hiding;
use mail::provider::native::{Names, Native};
use mail::provider::suite::Shared;
use mail::provider::{Provider, ProviderDelivery, ProviderError, Words};

use crate::shop::{PROJECT, Shop, draft, named, shop};
use crate::team::send;

const HELLO: Words<'static> = Words { from: "agent-0", subject: "Hello", body: "Hi" };

async fn fresh() -> (Shared, Shop) {
    let shop = shop(Rules::default()).await;
    (Arc::new(any_name(&shop)), shop)
}

async fn hiding() -> (Shared, Shop) {
    let shop = shop(Rules::default()).await;
    (Arc::new(Hiding(any_name(&shop))), shop)
}

fn any_name(shop: &Shop) -> Native {
    Native::new(shop.office.clone(), "/projects/letters", Names::Any, "exec")
}

mod suite {
    testing::provider_suite!(super::hiding);
}

mod kept {
    testing::kept_suite!(super::fresh);
}

/// The deliveries of those who are registered, as `reader` finds them.
fn deliveries(shop: &Shop, reader: Option<&str>) -> Native {
    Native::new(shop.office.clone(), PROJECT, Names::Known, "terminal").read_by(reader, None)
}

async fn crowd() -> Shop {
    let shop = shop(Rules::default()).await;
    for name in ["bob", "carol", "dave"] {
        shop.office.register(named(Some(name), None)).await.unwrap();
    }
    shop
}

async fn sent_to(shop: &Shop, to: &[&str], bcc: &[&str]) -> String {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let draft = Draft { to: owned(to), bcc: owned(bcc), ..draft("agent-0", None) };
    shop.office.send(draft).await.unwrap().message.id.to_string()
}

fn code(answer: Result<impl std::fmt::Debug, ProviderError>) -> String {
    answer.unwrap_err().code().to_owned()
}

fn ids(deliveries: &[ProviderDelivery]) -> Vec<&str> {
    deliveries.iter().map(|delivery| delivery.id.as_str()).collect()
}

#[tokio::test]
async fn each_of_several_recipients_has_a_delivery_with_an_id_of_its_own() {
    let shop = crowd().await;
    let id = sent_to(&shop, &["bob", "carol"], &[]).await;
    let all = deliveries(&shop, None).all("").await.unwrap();
    assert_eq!(ids(&all), [format!("{id}.1"), format!("{id}.2")]);
    assert_eq!((all[0].to.as_str(), &all[0].cc), ("bob", &vec!["carol".to_owned()]));
    assert_eq!((all[1].to.as_str(), &all[1].cc), ("carol", &vec!["bob".to_owned()]));
    assert!(all[1].created_at > all[0].created_at, "callers sort by it");
    assert_eq!(ids(&deliveries(&shop, None).inbox("carol").await.unwrap()), [format!("{id}.2")]);
}

#[tokio::test]
async fn what_is_done_with_one_delivery_leaves_the_others_alone() {
    let shop = crowd().await;
    let id = sent_to(&shop, &["bob", "carol"], &[]).await;
    let native = deliveries(&shop, Some("carol"));
    let carols = format!("{id}.2");
    native.read(&carols).await.unwrap();
    native.archive(&carols).await.unwrap();
    assert_eq!(ids(&native.inbox("bob").await.unwrap()), [format!("{id}.1")]);
    assert_eq!(native.all("carol").await.unwrap(), []);
}

#[tokio::test]
async fn a_bare_number_means_the_readers_own_delivery_and_else_has_to_be_plain() {
    let shop = crowd().await;
    let id = sent_to(&shop, &["bob", "carol"], &[]).await;
    assert_eq!(deliveries(&shop, Some("carol")).read(&id).await.unwrap().to, "carol");
    assert!(!deliveries(&shop, None).get(&format!("{id}.1")).await.unwrap().read);
    assert_eq!(code(deliveries(&shop, None).archive(&id).await), "SEVERAL_COPIES");
    assert_eq!(deliveries(&shop, Some("dave")).get(&id).await.unwrap().to, "bob", "who only looks sees the first");
    let gone = deliveries(&shop, None).get(&format!("{id}.3")).await;
    assert!(matches!(gone, Err(ProviderError::NotFound { .. })), "{gone:?}");
}

#[tokio::test]
async fn one_acts_on_ones_own_deliveries_alone() {
    let shop = crowd().await;
    let id = sent_to(&shop, &["bob"], &[]).await;
    for id in [id.clone(), format!("{id}.1")] {
        assert_eq!(code(deliveries(&shop, Some("carol")).archive(&id).await), "NOT_A_RECIPIENT");
        assert_eq!(code(deliveries(&shop, Some("carol")).read(&id).await), "NOT_A_RECIPIENT");
    }
    deliveries(&shop, Some("bob")).archive(&id).await.unwrap();
}

#[tokio::test]
async fn a_blind_copy_is_not_told_of_by_any_other_delivery() {
    let shop = crowd().await;
    let id = sent_to(&shop, &["bob"], &["dave"]).await;
    let bobs = deliveries(&shop, Some("bob")).inbox("bob").await.unwrap().remove(0);
    assert_eq!((bobs.id.as_str(), bobs.cc.len()), (id.as_str(), 0), "as if it were the only one");
    let daves = deliveries(&shop, Some("dave")).inbox("dave").await.unwrap().remove(0);
    assert_eq!((daves.id, daves.cc), (format!("{id}.2"), vec!["bob".to_owned()]));
    assert_eq!(ids(&deliveries(&shop, Some("bob")).thread(&id).await.unwrap()), [id.as_str()]);
    let blind = format!("{id}.2");
    for stranger in [None, Some("bob"), Some("carol")] {
        for answer in
            [deliveries(&shop, stranger).get(&blind).await.map(drop), deliveries(&shop, stranger).archive(&blind).await]
        {
            assert!(matches!(answer, Err(ProviderError::NotFound { .. })), "{stranger:?}: {answer:?}");
        }
    }
    assert_eq!(deliveries(&shop, Some("agent-0")).get(&blind).await.unwrap().to, "dave", "the sender knows");
}

#[tokio::test]
async fn a_thread_has_each_message_once_as_the_readers_own_delivery() {
    let shop = crowd().await;
    let id = sent_to(&shop, &["bob", "carol"], &[]).await;
    let native = deliveries(&shop, Some("carol"));
    let answer = native.reply(&id, Words { from: "carol", ..HELLO }).await.unwrap();
    assert_eq!(answer.reply_to, Some(format!("{id}.2")), "carol answered her delivery");
    for named in [id.as_str(), &format!("{id}.1"), &answer.id] {
        assert_eq!(ids(&native.thread(named).await.unwrap()), [format!("{id}.2"), answer.id.clone()], "{named}");
    }
}

#[tokio::test]
async fn blind_recipients_do_not_learn_of_each_other() {
    let shop = crowd().await;
    let id = sent_to(&shop, &["bob"], &["carol", "dave"]).await;
    for name in ["carol", "dave"] {
        let native = deliveries(&shop, Some(name));
        let own = native.inbox(name).await.unwrap().remove(0);
        assert_eq!((own.id.as_str(), own.to.as_str()), (format!("{id}.2").as_str(), name));
        assert_eq!(native.get(&own.id).await.unwrap().to, name);
        let answer = native.reply(&own.id, Words { from: name, ..HELLO }).await.unwrap();
        assert_eq!(answer.reply_to.as_deref(), Some(id.as_str()), "no place tells how many there are");
        native.archive(&own.id).await.unwrap();
    }
    let everybodys = Native::new(shop.office.clone(), PROJECT, Names::Any, "exec");
    assert_eq!(everybodys.get(&format!("{id}.3")).await.unwrap().to, "dave", "who owns all mailboxes knows");
}

#[tokio::test]
async fn whoever_was_renamed_acts_on_its_deliveries_under_both_names() {
    let shop = crowd().await;
    let id = sent_to(&shop, &["bob", "carol"], &["dave"]).await;
    for (before, name) in [("bob", "Robert"), ("dave", "David")] {
        shop.office.rename(PROJECT, Claim::of(before), name).await.unwrap();
    }
    for reader in ["bob", "Robert"] {
        let own = deliveries(&shop, Some(reader));
        assert_eq!(own.read(&id).await.unwrap().to, "Robert");
        own.mark_unread(&format!("{id}.1")).await.unwrap();
        assert_eq!(code(own.read(&format!("{id}.2")).await), "NOT_A_RECIPIENT");
    }
    for reader in ["dave", "David"] {
        assert_eq!(deliveries(&shop, Some(reader)).get(&format!("{id}.3")).await.unwrap().to, "David");
    }
}

#[tokio::test]
async fn of_a_message_to_another_project_a_namesake_sees_no_blind_copy() {
    let shop = crowd().await;
    for name in ["bob", "carol"] {
        let named = Registration { project_key: "/projects/bank", make_project: true, ..named(Some(name), None) };
        shop.office.register(named).await.unwrap();
    }
    let id = sent_to(&shop, &["carol@projects-bank"], &["bob@projects-bank"]).await;
    let blind = format!("{id}.2");
    for stranger in ["bob", "carol", "dave"] {
        assert_eq!(code(deliveries(&shop, Some(stranger)).get(&blind).await), "MESSAGE_NOT_FOUND", "{stranger}");
    }
    assert_eq!(code(deliveries(&shop, Some("bob")).read(&blind).await), "MESSAGE_NOT_FOUND");
    assert_eq!(deliveries(&shop, Some("agent-0")).get(&blind).await.unwrap().to, "bob", "the sender knows");
}

#[tokio::test]
async fn where_names_are_strict_nobody_sees_a_blind_copy_without_its_token() {
    let shop = shop(Rules { identity: Identity::Strict, ..Rules::default() }).await;
    let alice = shop.office.register(named(Some("alice"), None)).await.unwrap().token;
    for name in ["bob", "dave"] {
        shop.office.register(named(Some(name), None)).await.unwrap();
    }
    let blind = Draft { to: vec!["bob".to_owned()], bcc: vec!["dave".to_owned()], ..draft("alice", Some(&alice)) };
    let id = shop.office.send(blind).await.unwrap().message.id.to_string();
    for (names, reader) in
        [(Names::Known, Some("dave")), (Names::Known, Some("alice")), (Names::Any, None), (Names::Any, Some("dave"))]
    {
        let native = Native::new(shop.office.clone(), PROJECT, names, "test").read_by(reader, None);
        let seen = native.get(&format!("{id}.2")).await;
        assert!(matches!(seen, Err(ProviderError::NotFound { .. })), "{names:?} {reader:?}: {seen:?}");
        assert_eq!(native.thread(&id).await.unwrap()[0].to, "bob", "{names:?} {reader:?}");
    }
    let native = Native::new(shop.office.clone(), PROJECT, Names::Known, "test").read_by(Some("alice"), Some(&alice));
    assert_eq!(native.get(&format!("{id}.2")).await.unwrap().to, "dave");
}

#[tokio::test]
async fn where_names_are_strict_the_open_door_takes_no_name_away() {
    let shop = shop(Rules { identity: Identity::Strict, ..Rules::default() }).await;
    let exec = |token: Option<&str>| Native::new(shop.office.clone(), PROJECT, Names::Any, "exec").read_by(None, token);
    assert_eq!(code(exec(None).send("zed", Words { from: "newbie", ..HELLO }).await), "AGENT_NOT_FOUND");
    shop.office.register(named(Some("newbie"), None)).await.expect("a refused send took no name");
    let alice = shop.office.register(named(Some("alice"), None)).await.unwrap().token;
    exec(Some(&alice)).send("late", Words { from: "alice", ..HELLO }).await.unwrap();
    let late = shop.office.register(named(Some("late"), None)).await.expect("who was written to can still come").token;
    assert_eq!(exec(Some(&late)).inbox("late").await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_delivery_whose_parent_did_not_come_along_is_read_all_the_same() {
    let shop = crowd().await;
    let orphan = NewMessage { reply_to: Some(MessageId(9999)), ..shop.team.message(0, &[1], "Hi") };
    send(&shop.store, &orphan).await;
    let inbox = deliveries(&shop, Some("agent-1")).inbox("agent-1").await.unwrap();
    assert_eq!(inbox[0].reply_to.as_deref(), Some("9999"));
}

#[tokio::test]
async fn an_unknown_name_is_refused_with_the_nearest_where_names_are_registered() {
    let shop = crowd().await;
    let refused = deliveries(&shop, None).send("karol", HELLO).await.unwrap_err();
    assert!(
        matches!(&refused, ProviderError::Office(Error::UnknownAgent { near, .. }) if near == &["carol"]),
        "{refused}"
    );
    assert_eq!(code(deliveries(&shop, None).inbox("karol").await), "AGENT_NOT_FOUND");
}

#[tokio::test]
async fn where_names_are_strict_a_mailbox_takes_its_token() {
    let shop = shop(Rules { identity: Identity::Strict, ..Rules::default() }).await;
    let bob = shop.office.register(named(Some("bob"), None)).await.unwrap();
    let native =
        |token| Native::new(shop.office.clone(), PROJECT, Names::Known, "terminal").read_by(Some("bob"), token);
    assert_eq!(code(native(None).inbox("bob").await), "IDENTITY_REQUIRED");
    assert_eq!(code(native(Some("wrong")).count("bob").await), "IDENTITY_REQUIRED");
    assert_eq!(code(native(Some(&bob.token)).all("").await), "IDENTITY_REQUIRED", "everybody's mail is nobody's");
    assert_eq!(native(Some(&bob.token)).inbox("bob").await.unwrap(), []);
}

#[tokio::test]
async fn how_much_a_message_matters_and_who_waits_is_told() {
    let shop = crowd().await;
    let urgent = Draft { importance: Importance::Urgent, ack_required: Some(true), ..draft("agent-0", None) };
    shop.office.send(urgent).await.unwrap();
    let native = deliveries(&shop, Some("agent-1"));
    let delivery = native.inbox("agent-1").await.unwrap().remove(0);
    assert_eq!((delivery.priority, delivery.awaits_ack), (Some(1), true));
    let id = MessageId(delivery.id.parse().unwrap());
    shop.office.acknowledge(PROJECT, Claim::of("agent-1"), id, "").await.unwrap();
    assert!(!native.get(&delivery.id).await.unwrap().awaits_ack);
}

#[tokio::test]
async fn a_reply_marks_read_what_it_answers_but_at_the_exec_door() {
    for (door, is_read) in [("terminal", true), ("exec", false)] {
        let shop = crowd().await;
        let native = Native::new(shop.office.clone(), PROJECT, Names::Any, door).read_by(Some("agent-1"), None);
        let delivery = native.send("agent-1", Words { ..HELLO }).await.unwrap();
        native.reply(&delivery.id, Words { from: "agent-1", ..HELLO }).await.unwrap();
        let found = native.get(&delivery.id).await.unwrap();
        assert_eq!((found.read, native.inbox("agent-1").await.unwrap().is_empty()), (is_read, is_read), "{door}");
    }
}
