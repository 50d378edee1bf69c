//! What the post office makes of channels: who is called, where answers go, and what comes from outside. How folders and
//! NATS bring it is told by the tests of the relay.

#![allow(clippy::unwrap_used)] // Also what a test calls may panic.

mod shop;
mod team;

use formats::channel::{ChannelMessage, read_value};
use mail::Error;
use mail::channels::{ChannelStore, FOLDER, NATS, Post, PostQuery};
use mail::messages::{Message, MessageStore, Role, Vouched};
use mail::office::{Arrival, Claim, Draft, Identity, PostDraft, ReplyDraft, Rules, TakenIn};
use shop::{PROJECT, Shop, draft, named, shop};

#[tokio::test]
async fn a_post_is_mail_for_whom_it_names_and_a_copy_for_whom_it_mentions() {
    let shop = talking().await;
    let message = shop.office.post(post("claude", &["codex"], "Look, @gemini and @nobody.")).await.unwrap().message;
    assert_eq!(message.to, ["#dev", "codex"]);
    assert_eq!(message.cc, ["gemini"]);
    assert_eq!(copies(&shop, &message).await, [("codex".to_owned(), Role::To), ("gemini".to_owned(), Role::Cc)]);
    assert_eq!(kept(&shop, &message).await.message, message);
}

#[tokio::test]
async fn a_broadcast_alone_calls_nobody() {
    let shop = talking().await;
    for to in [&["all"][..], &["ALL"], &[]] {
        let message = shop.office.post(post("claude", to, "Phase 1 is done. Write to x@codex.example")).await.unwrap();
        assert_eq!(message.message.to, ["#dev"]);
        assert_eq!(copies(&shop, &message.message).await, []);
    }
    assert_eq!(*shop.heard.mail.lock().unwrap(), []);
}

#[tokio::test]
async fn a_mention_is_a_whole_name() {
    let shop = talking().await;
    let called = async |text| {
        let message = shop.office.post(post("claude", &[], text)).await.unwrap().message;
        message.cc.join(" ")
    };
    assert_eq!(called("@codex-2 look").await, "codex-2");
    assert_eq!(called("@codex, look").await, "codex");
    assert_eq!(called("@codexa look").await, "");
    assert_eq!(called("@Codex look").await, "", "the case counts");
    assert_eq!(called("(@codex) (@codex-2)").await, "codex codex-2");
    assert_eq!(called("Codex, look").await, "codex", "but not at the beginning");
    assert_eq!((called("CODEX-2: look").await.as_str(), called("Look, codex").await.as_str()), ("codex-2", ""));
}

#[tokio::test]
async fn an_answer_does_not_call_again_whom_the_question_called() {
    let shop = talking().await;
    let question = shop.office.post(post("claude", &[], "@codex @gemini review")).await.unwrap();
    let answer = shop.office.reply(reply("gemini", &question.message)).await.unwrap().message;
    assert_eq!((answer.to.join(" "), answer.cc.len()), ("#dev claude".to_owned(), 0));
}

#[tokio::test]
async fn nobody_calls_itself() {
    let shop = talking().await;
    let message = shop.office.post(post("codex", &["codex"], "codex: I am @codex")).await.unwrap().message;
    assert_eq!((message.to.join(" "), message.cc.len()), ("#dev".to_owned(), 0));
    assert_eq!(copies(&shop, &message).await, []);
}

#[tokio::test]
async fn code_that_goes_with_a_text_calls_nobody() {
    let shop = talking().await;
    let artifacts = vec!["@gemini.txt".to_owned()];
    let with_code = PostDraft { code: Some("@codex\ndef f(): pass"), artifacts, ..post("claude", &[], "See below.") };
    let message = shop.office.post(with_code).await.unwrap().message;
    assert_eq!(copies(&shop, &message).await, []);
    assert_eq!(message.body, "See below.\n\n```\n@codex\ndef f(): pass\n```\n\n- @gemini.txt");
    let mut foreign = said("qc-1", "all", "See below.");
    foreign.code = Some("@codex".into());
    let TakenIn::New(id) = arrive(&shop, "msg-1", &foreign).await else { panic!("it is new") };
    assert_eq!(shop.store.deliveries(id).await.unwrap(), []);
}

#[tokio::test]
async fn whoever_speaks_or_is_spoken_to_in_a_channel_gets_a_mailbox() {
    let shop = talking().await;
    let message = shop.office.post(post("newcomer", &["docs-1"], "Hello")).await.unwrap().message;
    assert_eq!(copies(&shop, &message).await, [("docs-1".to_owned(), Role::To)]);
    arrive(&shop, "msg-1", &said("qc-1", "bags-1", "Hello")).await;
    for name in ["newcomer", "docs-1", "qc-1", "bags-1"] {
        shop.office.whois(PROJECT, name).await.unwrap();
    }
    let unknown = shop.office.send(to(&["#dev", "stranger"], "claude")).await;
    assert!(matches!(unknown, Err(Error::UnknownAgent { .. })), "a letter's misspelt name is told: {unknown:?}");
}

#[tokio::test]
async fn a_message_to_a_channel_is_a_post() {
    let shop = talking().await;
    let message = shop.office.send(to(&["codex", "#dev", "all"], "claude")).await.unwrap().message;
    assert_eq!(message.to, ["#dev", "codex"]);
    let post = kept(&shop, &message).await;
    assert_eq!((post.channel.as_str(), post.kind.as_str(), post.mode.as_str()), ("dev", "chat", "chat"));
    for (wrong, value) in [(to(&["#dev", "#ops"], "claude"), "#ops"), (to(&["#.x"], "claude"), "#.x")] {
        let refused = shop.office.send(wrong).await.unwrap_err();
        assert!(matches!(&refused, Error::Invalid { value: told, .. } if told == value), "{refused:?}");
    }
    let hidden = Draft { bcc: vec!["#ops".into()], ..to(&["codex"], "claude") };
    assert!(matches!(shop.office.send(hidden).await, Err(Error::Invalid { what: "to", .. })));
}

#[tokio::test]
async fn an_answer_to_a_post_is_said_where_it_was_said() {
    let shop = talking().await;
    let question = shop.office.post(post("claude", &["codex"], "Well?")).await.unwrap().message;
    let answer = shop.office.reply(reply("codex", &question)).await.unwrap().message;
    assert_eq!((answer.to.join(" "), answer.thread), ("#dev claude".to_owned(), question.thread.clone()));
    let again = shop.office.reply(reply("claude", &question)).await.unwrap().message;
    assert_eq!(again.to, ["#dev", "codex"], "who answers itself writes to the same");
    let apart =
        ReplyDraft { draft: Draft { to: vec!["claude".into()], ..draft("codex", None) }, ..reply("codex", &question) };
    let letter = shop.office.reply(apart).await.unwrap().message;
    assert_eq!((letter.to.join(" "), shop.store.post(letter.id).await.unwrap()), ("claude".to_owned(), None));
}

#[tokio::test]
async fn a_post_answers_another_by_its_number_or_its_name() {
    let shop = talking().await;
    let first = shop.office.post(post("claude", &[], "Well?")).await.unwrap().message;
    let (number, name) = (first.id.to_string(), kept(&shop, &first).await.external_id);
    for id in [&number, &name] {
        let answer = PostDraft { in_reply_to: Some(id), ..post("codex", &[], "Yes.") };
        let answer = shop.office.post(answer).await.unwrap().message;
        assert_eq!((answer.reply_to, &answer.thread), (Some(first.id), &first.thread));
        assert_eq!(answer.to, ["#dev", "claude"], "it is for whoever is answered, unless somebody else is named");
        assert_eq!(kept(&shop, &answer).await.in_reply_to.as_deref(), Some(name.as_str()));
    }
    let to_all = PostDraft { in_reply_to: Some(&name), ..post("codex", &["all"], "Yes.") };
    assert_eq!(shop.office.post(to_all).await.unwrap().message.to, ["#dev"]);
    for (channel, id) in [("dev", "999"), ("dev", "msg-none"), ("ops", number.as_str()), ("ops", name.as_str())] {
        let answer = PostDraft { in_reply_to: Some(id), channel, ..post("codex", &[], "Yes.") };
        let refused = shop.office.post(answer).await;
        assert!(matches!(refused, Err(Error::Invalid { what: "in_reply_to", .. })), "{channel} {id}: {refused:?}");
    }
}

#[tokio::test]
async fn watchers_that_answer_each_other_are_counted() {
    let shop = talking().await;
    let mut id = shop.office.post(post("claude", &[], "Well?")).await.unwrap().message.id.to_string();
    for hops in [1, 2, 3] {
        let answer = PostDraft { in_reply_to: Some(&id), mode: "watcher", ..post("codex", &[], "Yes.") };
        let answer = shop.office.post(answer).await.unwrap().message;
        assert_eq!(kept(&shop, &answer).await.hops, hops);
        id = answer.id.to_string();
    }
    let human = PostDraft { in_reply_to: Some(&id), ..post("claude", &[], "Stop.") };
    let human = shop.office.post(human).await.unwrap().message;
    assert_eq!(kept(&shop, &human).await.hops, 0, "who speaks for itself starts anew");
}

#[tokio::test]
async fn a_post_with_a_key_is_said_once() {
    let shop = talking().await;
    let keyed = |text| PostDraft { idempotency_key: Some("k"), ..post("claude", &[], text) };
    let first = shop.office.post(keyed("Hello")).await.unwrap();
    let second = shop.office.post(keyed("Hello")).await.unwrap();
    assert_eq!((second.message.id, first.is_new, second.is_new), (first.message.id, true, false));
    assert!(matches!(shop.office.post(keyed("Other")).await, Err(Error::KeyTaken { .. })));
    assert!(matches!(
        shop.office.post(PostDraft { channel: "ops", ..keyed("Hello") }).await,
        Err(Error::KeyTaken { .. })
    ));
}

#[tokio::test]
async fn what_cannot_be_said_is_refused_by_name() {
    let shop = talking().await;
    let fine = || post("claude", &[], "Hello");
    let long = "x".repeat(65);
    for (what, wrong) in [
        ("channel", PostDraft { channel: "a/b", ..fine() }),
        ("channel", PostDraft { channel: "..", ..fine() }),
        ("channel", PostDraft { channel: &long, ..fine() }),
        ("type", PostDraft { kind: "a b", ..fine() }),
        ("mode", PostDraft { mode: "", ..fine() }),
        ("thread_id", PostDraft { thread: Some("a\tb"), ..fine() }),
        ("agent name", PostDraft { to: vec!["#ops".into()], ..fine() }),
    ] {
        let refused = shop.office.post(wrong).await.unwrap_err();
        assert!(matches!(refused, Error::Invalid { what: told, .. } if told == what), "{what}: {refused:?}");
    }
}

#[tokio::test]
async fn a_reader_goes_on_from_a_number_a_time_or_a_name() {
    let shop = talking().await;
    let mut sent = Vec::new();
    for text in ["one", "two", "three"] {
        sent.push(shop.office.post(post("claude", &[], text)).await.unwrap().message);
    }
    let name = kept(&shop, &sent[0]).await.external_id;
    for since in [sent[0].id.to_string(), sent[0].created_at.to_string(), name] {
        let query = shop.office.posts_since(PROJECT, "#dev", &since).await.unwrap();
        let (_, channel, posts) = shop.office.posts(PROJECT, "#dev", PostQuery { limit: 9, ..query }).await.unwrap();
        let ids: Vec<_> = posts.iter().map(|post| post.message.id).collect();
        assert_eq!((channel.as_str(), ids), ("dev", vec![sent[1].id, sent[2].id]), "{since}");
    }
    let unknown = shop.office.posts_since(PROJECT, "dev", "yesterday").await;
    assert!(matches!(unknown, Err(Error::Invalid { what: "since", .. })), "{unknown:?}");
}

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

/// A shop whose agents are called as in most channels.
async fn talking() -> Shop {
    let shop = shop(Rules::default()).await;
    for name in ["claude", "codex", "codex-2", "gemini"] {
        shop.office.register(named(Some(name), None)).await.unwrap();
    }
    shop
}

fn strict() -> Rules {
    Rules { identity: Identity::Strict, ..Rules::default() }
}

fn post<'a>(from: &'a str, to: &[&str], text: &'a str) -> PostDraft<'a> {
    PostDraft {
        project_key: PROJECT,
        from: Claim::of(from),
        channel: "dev",
        to: to.iter().map(|name| (*name).to_owned()).collect(),
        subject: None,
        text,
        code: None,
        artifacts: Vec::new(),
        kind: "chat",
        mode: "chat",
        in_reply_to: None,
        thread: None,
        idempotency_key: None,
        door: "test",
    }
}

fn to<'a>(names: &[&str], from: &'a str) -> Draft<'a> {
    Draft { to: names.iter().map(|name| (*name).to_owned()).collect(), ..draft(from, None) }
}

fn reply<'a>(from: &'a str, question: &Message) -> ReplyDraft<'a> {
    ReplyDraft { reply_to: question.id, subject: None, draft: to(&[], from) }
}

/// What a foreign agent says, who calls it `mine`.
fn said(from: &str, to: &str, text: &str) -> ChannelMessage {
    ChannelMessage {
        id: "mine".into(),
        timestamp: "2026-01-11T16:33:15.123Z".parse().unwrap(),
        session_id: "dev".into(),
        from: from.into(),
        to: to.into(),
        kind: "chat".into(),
        text: text.into(),
        ..ChannelMessage::default()
    }
}

async fn arrive(shop: &Shop, name: &str, said: &ChannelMessage) -> TakenIn {
    take_in(shop, name, said, FOLDER).await
}

async fn take_in(shop: &Shop, name: &str, said: &ChannelMessage, door: &'static str) -> TakenIn {
    let document = said.to_json();
    let arrival = Arrival { project_key: PROJECT, channel: "dev", name, said, document: &document, door };
    shop.office.take_in(arrival).await.unwrap()
}

async fn kept(shop: &Shop, message: &Message) -> Post {
    shop.store.post(message.id).await.unwrap().expect("it is a post")
}

async fn copies(shop: &Shop, message: &Message) -> Vec<(String, Role)> {
    let copies = shop.store.deliveries(message.id).await.unwrap();
    copies.into_iter().map(|copy| (copy.recipient, copy.role)).collect()
}
