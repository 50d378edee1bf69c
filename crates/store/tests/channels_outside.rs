//! What the post office makes of what is said in a channel outside. How folders and NATS bring it is told by the tests of
//! the relay.

#![allow(clippy::unwrap_used)] // Also what a test calls may panic.

mod shop;
mod talk;
mod team;

use formats::channel::{ChannelMessage, read_value};
use mail::Error;
use mail::channels::{ChannelStore, FOLDER, NATS, PostQuery};
use mail::messages::Vouched;
use mail::office::{Claim, PostDraft, TakenIn};
use shop::{PROJECT, named, shop};
use talk::{arrive, kept, post, said, strict, take_in, talking};

#[tokio::test]
async fn what_comes_from_outside_is_taken_in_once_by_whatever_door() {
    let shop = talking().await;
    let foreign = said("qc-1", "codex", "Please review");
    let TakenIn::New(id) = arrive(&shop, "msg-20260111-163315-qc-1-4c78", &foreign).await else { panic!("it is new") };
    for door in [FOLDER, NATS] {
        let again = take_in(&shop, "msg-20260111-163315-qc-1-4c78", &foreign, door).await;
        assert_eq!(again, TakenIn::Known(id), "{door}");
    }
    let post = shop.store.post(id).await.unwrap().unwrap();
    assert_eq!((post.message.from.as_str(), post.message.to.join(" ")), ("qc-1", "#dev codex".to_owned()));
    assert_eq!((post.cited_as.as_deref(), post.sent_at), (Some("mine"), foreign.timestamp));
    assert_eq!(post.document.as_deref(), Some(foreign.to_json().as_str()));
    let handed_on = post.said(&shop.store.office_id().await.unwrap(), &post.external_id);
    assert_eq!(handed_on, ChannelMessage { id: post.external_id.clone(), ..foreign }, "it is handed on as it was");
}

#[tokio::test]
async fn a_foreign_answer_is_found_by_what_its_author_called_it() {
    let shop = talking().await;
    let question = shop.office.post(post("claude", &["qc-1"], "Well?")).await.unwrap().message;
    let mut answer = said("qc-1", "claude", "Yes.");
    answer.set_metadata_text("in_reply_to", Some(&kept(&shop, &question).await.external_id));
    let TakenIn::New(id) = arrive(&shop, "msg-1", &answer).await else { panic!("it is new") };
    let mut more = said("qc-1", "claude", "And no.");
    more.set_metadata_text("in_reply_to", Some("mine"));
    let TakenIn::New(more) = arrive(&shop, "msg-2", &more).await else { panic!("it is new") };
    let more = shop.store.post(more).await.unwrap().unwrap().message;
    assert_eq!((more.reply_to, more.thread), (Some(id), question.thread));
    let mut lost = said("qc-1", "claude", "Hm.");
    lost.set_metadata_text("in_reply_to", Some("msg-of-long-ago"));
    assert!(matches!(arrive(&shop, "msg-3", &lost).await, TakenIn::New(_)), "what is not known is not waited for");
}

#[tokio::test]
async fn a_document_of_ones_own_is_recognised_and_not_taken_in() {
    let shop = talking().await;
    let message = shop.office.post(post("claude", &["codex", "gemini"], "Hello")).await.unwrap().message;
    let office = shop.store.office_id().await.unwrap();
    let written = kept(&shop, &message).await.said(&office, "msg-20260111-163315-claude-beef");
    assert_eq!((written.to.as_str(), written.text.as_str()), ("all", "@codex @gemini Hello"));
    let read = read_value(&written.to_json()).unwrap();
    assert_eq!(take_in(&shop, &written.id, &read, NATS).await, TakenIn::Own(message.id));
    assert_ne!(kept(&shop, &message).await.external_id, written.id, "only a folder gives names");
    assert_eq!(take_in(&shop, &written.id, &read, FOLDER).await, TakenIn::Own(message.id));
    assert_eq!(kept(&shop, &message).await.external_id, written.id);
    let posts = shop.office.posts(PROJECT, "dev", PostQuery { limit: 9, ..PostQuery::default() }).await.unwrap().2;
    assert_eq!(posts.len(), 1);
}

#[tokio::test]
async fn a_mark_that_was_copied_from_another_message_does_not_count() {
    let shop = talking().await;
    let message = shop.office.post(post("claude", &[], "Hello")).await.unwrap().message;
    let post = kept(&shop, &message).await;
    let written = post.said(&shop.store.office_id().await.unwrap(), &post.external_id);
    for changed in [
        ChannelMessage { from: "qc-1".into(), ..written.clone() },
        ChannelMessage { text: "Hello!".into(), ..written.clone() },
        ChannelMessage { to: "codex".into(), ..written.clone() },
    ] {
        let name = format!("msg-{}-{}-{}", changed.from, changed.text, changed.to);
        let TakenIn::New(id) = arrive(&shop, &name, &changed).await else { panic!("{name} is new") };
        assert_ne!(id, message.id);
    }
}

#[tokio::test]
async fn another_offices_post_is_one_however_it_is_called() {
    let (here, there) = (talking().await, talking().await);
    let message = there.office.post(post("gemini", &["codex"], "Hello")).await.unwrap().message;
    let office = there.store.office_id().await.unwrap();
    let written = kept(&there, &message).await.said(&office, "msg-20260111-163315-gemini-beef");
    let TakenIn::New(id) = take_in(&here, &written.id, &written, NATS).await else { panic!("it is new") };
    assert_eq!(take_in(&here, "msg-20260111-163315-gemini-cafe", &written, FOLDER).await, TakenIn::Known(id));
    let names = ["msg-20260111-163315-gemini-cafe"];
    assert_eq!(here.store.known_keys(here.team.project, "dev", &names).await.unwrap(), names, "and noted");
    // That office lost its newest mail, and gives the number anew.
    let replaced = there.office.post(post("gemini", &["codex"], "Other")).await.unwrap().message;
    let mut post = kept(&there, &replaced).await;
    post.seq = kept(&there, &message).await.seq;
    let said = post.said(&office, "msg-20260111-163320-gemini-beef");
    assert!(matches!(take_in(&here, &said.id, &said, NATS).await, TakenIn::New(_)), "nothing is lost by that");
}

#[tokio::test]
async fn faults_of_a_json_message_from_outside_are_reported_where_it_was_said() {
    let shop = shop(strict()).await;
    let faulty = said("qc-1", "all", r#"{"type":"status_update","task_id":"bd-1","sender_id":"qc-1"}"#);
    let TakenIn::New(id) = arrive(&shop, "msg-1", &faulty).await else { panic!("it is kept all the same") };
    let posts = || async { shop.office.posts(PROJECT, "dev", PostQuery { limit: 9, ..PostQuery::default() }).await };
    let told = posts().await.unwrap().2;
    let [faulty_post, report] = &told[..] else { panic!("{told:?}") };
    assert_eq!(faulty_post.message.id, id);
    assert_eq!((report.message.from.as_str(), report.message.to.join(" ")), ("postrider", "#dev qc-1".to_owned()));
    assert_eq!((report.message.reply_to, report.mode.as_str()), (Some(id), "watcher"));
    let read = formats::json::read(&report.message.body);
    assert!(read.problems.is_empty(), "the report has no faults itself: {:?}", read.problems);
    assert_eq!(read.value.unwrap().kind(), Some(formats::json::Type::ErrorReport));
    assert_eq!(arrive(&shop, "msg-1", &faulty).await, TakenIn::Known(id));
    arrive(&shop, "msg-2", &said("qc-1", "all", r#"{"type":"error_report","sender_id":"qc-1"}"#)).await;
    arrive(&shop, "msg-3", &said("qc-1", "all", r#"{"colour":"red"}"#)).await;
    assert_eq!(posts().await.unwrap().2.len(), 4, "a report is not reported on, nor is other JSON");
}

#[tokio::test]
async fn nobody_proves_a_name_to_a_folder_and_everybody_to_a_door() {
    let shop = shop(strict()).await;
    let token = shop.office.register(named(Some("codex"), None)).await.unwrap().token;
    let TakenIn::New(id) = arrive(&shop, "msg-1", &said("codex", "all", "Hello")).await else { panic!("it is new") };
    assert_eq!(shop.store.post(id).await.unwrap().unwrap().message.vouched, Vouched::Claimed);
    let refused = shop.office.post(post("codex", &[], "Hello")).await;
    assert!(matches!(refused, Err(Error::Unproved { .. })), "{refused:?}");
    let proved = PostDraft { from: Claim { name: "codex", token: Some(&token) }, ..post("codex", &[], "Hello") };
    assert_eq!(shop.office.post(proved).await.unwrap().message.vouched, Vouched::Verified);
}
