//! What the post office makes of channels: who is called, and where answers go.

use formats::Kind;
use formats::channel::{ChannelMessage, Type};
use mail::Error;
use mail::channels::{ChannelStore, PostQuery};
use mail::messages::{About, InboxQuery, MessageStore, Role};
use mail::office::{Claim, Draft, PostDraft, ReplyDraft, TakenIn};
use mail::work::{WorkQuery, WorkStore};

use crate::shop::{PROJECT, draft, named, shop};
use crate::talk::{arrive, deliveries, kept, post, reply, said, strict, talking, to};

#[tokio::test]
async fn a_post_is_mail_for_whom_it_names_and_a_copy_for_whom_it_mentions() {
    let shop = talking().await;
    let message = shop.office.post(post("claude", &["codex"], "Look, @gemini and @nobody.")).await.unwrap().message;
    assert_eq!(message.to, ["#dev", "codex"]);
    assert_eq!(message.cc, ["gemini"]);
    assert_eq!(deliveries(&shop, &message).await, [("codex".to_owned(), Role::To), ("gemini".to_owned(), Role::Cc)]);
    assert_eq!(kept(&shop, &message).await.message, message);
}

#[tokio::test]
async fn the_type_of_a_post_is_the_kind_of_its_mail_unless_its_text_says_more() {
    let shop = talking().await;
    for (number, kind) in Type::NAMES.into_iter().enumerate() {
        let own = shop.office.post(PostDraft { kind, ..post("claude", &["codex"], "Look.") }).await.unwrap().message;
        let told = ChannelMessage { kind: kind.into(), ..said("gemini", "codex", "Look.") };
        let name = format!("msg-20260111-163315-gemini-000{number}");
        let TakenIn::New(foreign) = arrive(&shop, &name, &told).await else { panic!("it is new") };
        let about = About { kind: Kind::parse(kind), work_id: None };
        let inbox = InboxQuery { about, ..InboxQuery::newest(100) };
        let found = shop.office.inbox(PROJECT, Claim::of("codex"), &inbox).await.unwrap();
        let found: Vec<_> = found.iter().map(|entry| entry.message.id).collect();
        assert_eq!(found, [foreign, own.id], "{kind}");
    }
    let odd = shop.office.post(PostDraft { kind: "directive", ..post("claude", &["codex"], "Look.") }).await.unwrap();
    assert_eq!(odd.message.kind, None, "a type that nobody knows");
    let typed = PostDraft { kind: "task_result", ..post("claude", &["codex"], "[a-1] DONE") };
    assert_eq!(shop.office.post(typed).await.unwrap().message.kind.map(Kind::as_str), Some("DONE"));
    let chat = shop.office.post(post("claude", &["codex"], "[a-2] please look")).await.unwrap().message;
    let work = WorkQuery { project: chat.project, id: None, before: None, limit: 10 };
    let items: Vec<_> = shop.store.work(&work).await.unwrap().into_iter().map(|record| record.id).collect();
    assert_eq!((chat.work_id.as_deref(), items), (Some("a-2"), vec!["a-1".to_owned()]), "chat tells of no work");
}

#[tokio::test]
async fn a_broadcast_alone_calls_nobody() {
    let shop = talking().await;
    for to in [&["all"][..], &["ALL"], &[]] {
        let message = shop.office.post(post("claude", to, "Phase 1 is done. Write to x@codex.example")).await.unwrap();
        assert_eq!(message.message.to, ["#dev"]);
        assert_eq!(deliveries(&shop, &message.message).await, []);
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
    assert_eq!(deliveries(&shop, &message).await, []);
}

#[tokio::test]
async fn code_that_goes_with_a_text_calls_nobody() {
    let shop = talking().await;
    let artifacts = vec!["@gemini.txt".to_owned()];
    let with_code = PostDraft { code: Some("@codex\ndef f(): pass"), artifacts, ..post("claude", &[], "See below.") };
    let message = shop.office.post(with_code).await.unwrap().message;
    assert_eq!(deliveries(&shop, &message).await, []);
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
    assert_eq!(deliveries(&shop, &message).await, [("docs-1".to_owned(), Role::To)]);
    arrive(&shop, "msg-1", &said("qc-1", "bags-1", "Hello")).await;
    for name in ["newcomer", "docs-1", "qc-1", "bags-1"] {
        shop.office.whois(PROJECT, name).await.unwrap();
    }
    let unknown = shop.office.send(to(&["#dev", "stranger"], "claude")).await;
    assert!(matches!(unknown, Err(Error::UnknownAgent { .. })), "a misspelt name is told: {unknown:?}");
}

#[tokio::test]
async fn a_message_to_a_channel_is_a_post() {
    let shop = talking().await;
    let message = shop.office.send(to(&["codex", "#dev", "All"], "claude")).await.unwrap().message;
    assert_eq!(message.to, ["#dev", "codex"]);
    let post = kept(&shop, &message).await;
    assert_eq!((post.channel.as_str(), post.kind.as_str(), post.mode.as_str()), ("dev", "chat", "chat"));
    for (wrong, value) in [(to(&["#dev", "#ops"], "claude"), "#ops"), (to(&["#.x"], "claude"), "#.x")] {
        let refused = shop.office.send(wrong).await.unwrap_err();
        assert!(matches!(&refused, Error::Invalid { value: told, .. } if told == value), "{refused:?}");
    }
    let (cc, bcc) = (vec!["all".into(), "gemini".into()], vec!["ALL".into()]);
    let copied = shop.office.send(Draft { cc, bcc, ..to(&["#dev"], "claude") }).await.unwrap().message;
    assert_eq!(
        deliveries(&shop, &copied).await,
        [("gemini".to_owned(), Role::Cc)],
        "who reads along is called by nobody"
    );
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
    let direct = shop.office.reply(apart).await.unwrap().message;
    assert_eq!((direct.to.join(" "), shop.store.post(direct.id).await.unwrap()), ("claude".to_owned(), None));
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
    assert_eq!(kept(&shop, &human).await.hops, 0, "who speaks for itself starts again");
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
async fn for_what_is_refused_nothing_is_made() {
    let shop = shop(strict()).await;
    let elsewhere = |draft| PostDraft { project_key: "/projects/new", to: vec!["docs-1".into()], ..draft };
    let token = shop.office.register(named(Some("codex"), None)).await.unwrap().token;
    let proved = || PostDraft {
        from: Claim { token: Some(&token), ..Claim::of("codex") },
        to: vec!["docs-1".into()],
        ..post("codex", &[], "Hello")
    };
    let long = "x".repeat(5 * 1024 * 1024);
    for wrong in [
        elsewhere(post("stranger", &[], "Hello")),
        elsewhere(post("codex", &[], "Hello")),
        post("stranger", &["docs-1"], "Hello"),
        PostDraft { kind: "a b", ..proved() },
        PostDraft { text: &long, ..proved() },
        PostDraft { thread: Some("a\tb"), ..proved() },
        PostDraft { in_reply_to: Some("none"), ..proved() },
    ] {
        let refused = shop.office.post(wrong).await.unwrap_err();
        let is_known =
            |error: &Error| matches!(error, Error::Invalid { .. } | Error::TooLarge { .. } | Error::Unproved { .. });
        assert!(is_known(&refused), "{refused:?}");
    }
    assert_eq!(shop.office.projects(None, 9).await.unwrap().len(), 1);
    for name in ["docs-1", "stranger"] {
        assert!(matches!(shop.office.whois(PROJECT, name).await, Err(Error::UnknownAgent { .. })), "{name}");
    }
    let sent = shop.office.post(proved()).await.unwrap();
    assert_eq!(sent.new_mailboxes, ["docs-1"], "who is new is told");
    assert!(shop.office.post(proved()).await.unwrap().new_mailboxes.is_empty());
}
