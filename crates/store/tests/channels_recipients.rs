//! Whom a message in a channel reaches at another post office, and that it says the same there, whomever it calls.

use formats::Kind;
use formats::channel::{ChannelMessage, read_value};
use mail::agents::{AgentName, AgentStore};
use mail::announcements;
use mail::channels::{ChannelStore, NATS, Post};
use mail::messages::{InboxQuery, Message, MessageStore, Role};
use mail::office::{Draft, TakenIn};

use crate::shop::{PROJECT, Shop};
use crate::talk::{arrive, deliveries, kept, post, said, take_in, talking, to};

const UPDATE: &str = r#"{"version":"1.0.0","timestamp":"2026-01-11T16:33:15Z","sender_id":"claude",
"message_id":"msg-423e4567-e89b-12d3-a456-426614174003","type":"status_update","task_id":"bd-47",
"update_type":"progress","status_summary":"Half of it","blockers":[]}"#;

/// The document of a message, and what another office makes of it.
async fn hand_on(there: &Shop, message: &Message, here: &Shop) -> (ChannelMessage, Post) {
    let office = there.store.office_id().await.unwrap();
    let written = kept(there, message).await.said(&office, "msg-20260111-163315-claude-beef");
    assert_eq!(written, kept(there, message).await.said(&office, &written.id), "it is always the same document");
    let read = read_value(&written.to_json()).unwrap();
    let TakenIn::New(id) = take_in(here, &written.id, &read, NATS).await else { panic!("it is new") };
    (written, here.store.post(id).await.unwrap().unwrap())
}

fn names_and_roles(names: &[(&str, Role)]) -> Vec<(String, Role)> {
    names.iter().map(|(name, role)| ((*name).to_owned(), *role)).collect()
}

#[tokio::test]
async fn whoever_was_renamed_is_called_by_its_former_name_too() {
    let shop = talking().await;
    shop.office.post(post("codex", &[], "I am here.")).await.unwrap();
    let (codex, name) = (shop.office.whois(PROJECT, "codex").await.unwrap(), AgentName::parse("Cody").unwrap());
    shop.store.rename(codex.project, codex.id, &name, shop.office.now()).await.unwrap().expect("it is free");
    let id = shop.office.post(post("claude", &[], "What does @codex say?")).await.unwrap().message.id;
    let inbox = shop.store.inbox(codex.id, &InboxQuery::newest(9)).await.unwrap();
    assert_eq!(inbox.iter().map(|entry| entry.message.id).collect::<Vec<_>>(), [id]);
}

#[tokio::test]
async fn a_json_message_to_several_is_of_the_same_kind_and_work_at_another_office() {
    let (there, here) = (talking().await, talking().await);
    let fenced = format!("```json\n{UPDATE}\n```");
    for text in [UPDATE, &fenced] {
        let message = there.office.post(post("claude", &["codex", "gemini"], text)).await.unwrap().message;
        let (written, taken) = hand_on(&there, &message, &here).await;
        assert_eq!(written.text, format!("{text}\n\n@codex @gemini"), "foreign agents are called");
        assert_eq!(message.kind.map(Kind::as_str), Some("status_update"));
        assert_eq!((taken.message.kind, &taken.message.work_id), (message.kind, &message.work_id));
        assert_eq!(taken.content().text, text);
        assert_eq!((taken.message.subject, taken.message.body), (message.subject, message.body));
    }
}

#[tokio::test]
async fn a_markdown_message_with_a_copy_is_of_the_same_kind_and_work_at_another_office() {
    let (there, here) = (talking().await, talking().await);
    let draft = Draft {
        cc: vec!["gemini".into()],
        subject: "[bd-47] HELP_REQUEST",
        body: "## Problem\nIt hangs.\n\n## Question\nWhy?",
        ..to(&["#dev", "codex"], "claude")
    };
    let message = there.office.send(draft).await.unwrap().message;
    let (written, taken) = hand_on(&there, &message, &here).await;
    assert_eq!((written.to.as_str(), written.text.ends_with("Why?\n\n@gemini")), ("codex", true), "{written:?}");
    assert_eq!((message.kind.map(Kind::as_str), message.work_id.as_deref()), (Some("HELP_REQUEST"), Some("bd-47")));
    assert_eq!((taken.message.kind, &taken.message.work_id), (message.kind, &message.work_id));
    assert!(taken.message.body.ends_with("Why?"), "{}", taken.message.body);
    let expected = names_and_roles(&[("codex", Role::To), ("gemini", Role::Cc)]);
    assert_eq!(deliveries(&here, &taken.message).await, expected);
}

#[tokio::test]
async fn everybody_that_a_message_is_addressed_to_gets_a_mailbox_at_another_office() {
    let (there, here) = (talking().await, talking().await);
    let message = there.office.post(post("claude", &["onlya", "onlyz"], "Hello @gemini")).await.unwrap().message;
    let (_, taken) = hand_on(&there, &message, &here).await;
    let expected = names_and_roles(&[("onlya", Role::To), ("onlyz", Role::To), ("gemini", Role::Cc)]);
    assert_eq!(deliveries(&here, &taken.message).await, expected);
    assert_eq!(taken.message.to, message.to);
}

#[tokio::test]
async fn names_that_the_author_wrote_at_the_end_stay_in_the_text() {
    let (there, here) = (talking().await, talking().await);
    for text in ["Look.\n\n@codex @gemini", "Look.\n\n@codex", "@codex @gemini look", "\n\n@gemini"] {
        let message = there.office.post(post("claude", &["codex", "gemini"], text)).await.unwrap().message;
        let (_, taken) = hand_on(&there, &message, &here).await;
        assert_eq!((taken.content().text.as_str(), taken.message.body.as_str()), (text, text));
    }
}

#[tokio::test]
async fn an_answer_that_copied_its_metadata_goes_to_whom_it_is_addressed_alone() {
    let (there, here) = (talking().await, talking().await);
    let message = there.office.post(post("claude", &["codex", "gemini"], "Hello")).await.unwrap().message;
    let (written, _) = hand_on(&there, &message, &here).await;
    let answer = ChannelMessage { from: "qc-1".into(), to: "claude".into(), text: "Yes.".into(), ..written };
    let TakenIn::New(id) = arrive(&here, "msg-2", &answer).await else { panic!("it is new") };
    assert_eq!(here.store.post(id).await.unwrap().unwrap().message.to, ["#dev", "claude"]);
}

#[tokio::test]
async fn names_that_cannot_be_ones_and_too_many_names_are_not_taken() {
    let (there, here) = (talking().await, talking().await);
    let message = there.office.post(post("claude", &["codex", "gemini"], "Hello")).await.unwrap().message;
    let office = there.store.office_id().await.unwrap();
    let mut written = kept(&there, &message).await.said(&office, "msg-1");
    let many: Vec<String> = (0..51).map(|n| format!("agent-{n}x")).collect();
    written.set_metadata("to", ["", "all", "#dev", "a\nb", "claude", "codex"]);
    let TakenIn::New(id) = take_in(&here, "msg-1", &written, NATS).await else { panic!("it is new") };
    assert_eq!(here.store.post(id).await.unwrap().unwrap().message.to, ["#dev", "codex"]);
    let other = talking().await;
    written.set_metadata("to", many.iter().map(String::as_str).collect::<Vec<_>>());
    let TakenIn::New(id) = take_in(&other, "msg-1", &written, NATS).await else { panic!("it is new") };
    let taken = other.store.post(id).await.unwrap().unwrap().message;
    assert_eq!((taken.to.len(), taken.cc.join(" ")), (1, "codex gemini".to_owned()), "the text calls whom it calls");
}

#[tokio::test]
async fn an_announcement_reaches_whom_the_post_is_addressed_to() {
    let (there, here) = (talking().await, talking().await);
    let message = there.office.post(post("claude", &["onlya", "onlyz"], "Hello")).await.unwrap().message;
    let office = there.store.office_id().await.unwrap();
    let post = kept(&there, &message).await;
    let mut stub = post.said(&office, &post.external_id);
    let key = post.mark(&office).unwrap().key();
    let whole = announcements::Announcement { office, id: post.external_id, key, resource: "resource://x".into() };
    stub.text = "The beginning".into();
    whole.put_on(&mut stub);
    let TakenIn::New(id) = take_in(&here, &whole.name(), &stub, NATS).await else { panic!("it is new") };
    assert_eq!(here.store.post(id).await.unwrap().unwrap().message.to, ["#dev", "onlya", "onlyz"]);
}

#[tokio::test]
async fn a_foreign_agent_may_write_the_names_as_people_do() {
    let shop = talking().await;
    for (n, (to, expected)) in [
        ("@codex", "#dev codex"),
        (" codex ", "#dev codex"),
        ("codex,gemini", "#dev codex gemini"),
        ("@codex, @newcomer", "#dev codex newcomer"),
        ("@all", "#dev"),
        (" , @", "#dev"),
    ]
    .into_iter()
    .enumerate()
    {
        let TakenIn::New(id) = arrive(&shop, &format!("msg-{n}"), &said("qc-1", to, "Hello")).await else {
            panic!("{to}")
        };
        assert_eq!(shop.store.post(id).await.unwrap().unwrap().message.to.join(" "), expected, "{to}");
    }
    shop.office.ensure_mailbox(PROJECT, "codex, the second").await.unwrap();
    let TakenIn::New(id) = arrive(&shop, "msg-x", &said("qc-1", "codex, the second", "Hello")).await else { panic!() };
    let taken = shop.store.post(id).await.unwrap().unwrap().message;
    assert_eq!(taken.to, ["#dev", "codex, the second"], "somebody may be called so");
}
