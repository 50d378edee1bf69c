//! What the post office makes of what is said in a channel outside. How folders and NATS bring it is told by the tests of
//! the relay.

use formats::channel::{ChannelMessage, Place, read_value};
use mail::Error;
use mail::announcements::Announcement;
use mail::channels::{ChannelName, ChannelStore, FOLDER, NATS, NewPost, Post, PostQuery};
use mail::messages::{Importance, MessageStore, NewMessage, Vouched};
use mail::office::{Claim, Draft, PostDraft, Rules, TakenIn};
use mail::reservations::ReservationStore;

use crate::shop::{PROJECT, Shop, named, shop};
use crate::talk::{arrive, kept, post, said, strict, take_in, talking, to, try_take_in};
use crate::team::at;

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
    assert_eq!((written.to.as_str(), written.text.as_str()), ("all", "Hello\n\n@codex @gemini"));
    let read = read_value(&written.to_json()).unwrap();
    let name = kept(&shop, &message).await.external_id;
    for door in [NATS, FOLDER] {
        assert_eq!(take_in(&shop, &written.id, &read, door).await, TakenIn::Own(message.id));
        assert_eq!(kept(&shop, &message).await.external_id, name, "a copy does not rename it");
    }
    let copied = shop.store.post_called(shop.team.project, "dev", &written.id).await.unwrap();
    assert_eq!(copied.map(|post| post.message.id), Some(message.id), "but leads to it");
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
    // That office lost its newest mail, and gives the number again.
    let replaced = there.office.post(post("gemini", &["codex"], "Other")).await.unwrap().message;
    let mut post = kept(&there, &replaced).await;
    post.seq = kept(&there, &message).await.seq;
    let said = post.said(&office, "msg-20260111-163320-gemini-beef");
    assert!(matches!(take_in(&here, &said.id, &said, NATS).await, TakenIn::New(_)), "nothing is lost by that");
}

#[tokio::test]
async fn an_answer_to_the_announcement_of_what_is_here_answers_the_whole() {
    let (here, there) = (talking().await, talking().await);
    let own = here.office.post(post("claude", &[], "Of our own")).await.unwrap().message;
    let other = there.office.post(post("gemini", &[], "Of another office")).await.unwrap().message;
    let other = kept(&there, &other).await.said(&there.store.office_id().await.unwrap(), "msg-1");
    let TakenIn::New(arrived) = arrive(&here, "msg-1", &other).await else { panic!("it is new") };
    for id in [own.id, arrived] {
        let whole = here.store.post(id).await.unwrap().unwrap();
        let office = here.store.office_id().await.unwrap();
        let key = whole.mark(&office).unwrap().key();
        let what = Announcement { office, id: whole.external_id.clone(), key, resource: "there".into() };
        let mut stub = ChannelMessage { id: format!("announcing-{id}"), ..said("claude", "all", "The beginning") };
        what.put_on(&mut stub);
        assert_eq!(take_in(&here, &stub.id, &stub, NATS).await, TakenIn::Announced);
        let mut answer = said("qc-1", "claude", "Yes.");
        answer.set_metadata_text("in_reply_to", Some(&stub.id));
        let TakenIn::New(answer) = arrive(&here, &format!("msg-of-{id}"), &answer).await else { panic!("it is new") };
        let answer = here.store.post(answer).await.unwrap().unwrap().message;
        assert_eq!((answer.reply_to, answer.thread), (Some(id), whole.message.thread));
    }
}

#[tokio::test]
async fn a_conversation_that_is_only_a_number_is_another_offices_own() {
    let (here, there) = (talking().await, talking().await);
    let direct = here.office.send(to(&["codex"], "claude")).await.unwrap().message;
    let first = there.office.post(post("gemini", &[], "One")).await.unwrap().message;
    assert_eq!(first.thread, direct.thread, "both count from one");
    let numbered = PostDraft { thread: Some(&first.thread), ..post("gemini", &[], "Two") };
    let numbered = there.office.post(numbered).await.unwrap().message;
    let named = PostDraft { thread: Some("bd-1"), ..post("gemini", &[], "Three") };
    let named = there.office.post(named).await.unwrap().message;
    let office = there.store.office_id().await.unwrap();
    for (message, thread) in [(first, None), (numbered, None), (named, Some("bd-1"))] {
        let mut written = kept(&there, &message).await.said(&office, "msg-20260111-163315-gemini-beef");
        assert_eq!(written.metadata_text("thread_id"), thread);
        // As an office of another make may say it.
        written.set_metadata_text("thread_id", Some(thread.unwrap_or(&direct.thread)));
        let TakenIn::New(id) = take_in(&here, &written.text, &written, NATS).await else { panic!("it is new") };
        let taken = here.store.post(id).await.unwrap().unwrap().message;
        assert_eq!(taken.thread, thread.map_or_else(|| id.to_string(), str::to_owned));
    }
}

#[tokio::test]
async fn a_copy_its_importance_and_the_wish_for_an_ack_reach_other_offices() {
    let (here, there) = (talking().await, talking().await);
    let draft = Draft {
        cc: vec!["gemini".into()],
        importance: Importance::Urgent,
        ack_required: Some(true),
        ..to(&["#dev", "codex"], "claude")
    };
    let message = there.office.send(draft).await.unwrap().message;
    let written = kept(&there, &message).await.said(&there.store.office_id().await.unwrap(), "msg-1");
    let TakenIn::New(id) = take_in(&here, "msg-1", &written, NATS).await else { panic!("it is new") };
    let taken = here.store.post(id).await.unwrap().unwrap().message;
    assert_eq!((taken.to.join(" "), taken.cc.join(" ")), ("#dev codex".to_owned(), "gemini".to_owned()));
    assert_eq!((taken.importance, taken.ack_required), (Importance::Urgent, true));
    let mut odd = said("qc-1", "all", "Hello");
    odd.set_metadata_text("importance", Some("enormous"));
    let TakenIn::New(id) = arrive(&here, "msg-2", &odd).await else { panic!("it is new") };
    assert_eq!(here.store.post(id).await.unwrap().unwrap().message.importance, Importance::Normal);
}

#[tokio::test]
async fn who_is_called_by_the_first_word_is_not_called_again() {
    let there = talking().await;
    let office = there.store.office_id().await.unwrap();
    let text = async |to: &[&str], text| {
        let message = there.office.post(post("claude", to, text)).await.unwrap().message;
        kept(&there, &message).await.said(&office, "msg-1").text
    };
    assert_eq!(text(&[], "Codex: go").await, "Codex: go");
    assert_eq!(text(&["gemini"], "Codex: go").await, "Codex: go");
    assert_eq!(text(&["gemini", "codex-2"], "Codex: go").await, "Codex: go\n\n@gemini @codex-2");
}

#[tokio::test]
async fn a_question_that_comes_behind_its_answers_joins_them() {
    let shop = talking().await;
    let answer = |text| {
        let mut answer = said("qc-1", "claude", text);
        answer.set_metadata_text("in_reply_to", Some("msg-1"));
        answer
    };
    let mut threads = Vec::new();
    for (name, said) in [("msg-2", answer("Yes.")), ("msg-3", answer("No.")), ("msg-1", said("claude", "all", "Well?"))]
    {
        let TakenIn::New(id) = arrive(&shop, name, &said).await else { panic!("it is new") };
        let post = shop.store.post(id).await.unwrap().unwrap();
        assert_eq!(post.in_reply_to.as_deref(), Some("msg-1").filter(|_| name != "msg-1"), "as its author told it");
        threads.push(post.message.thread);
    }
    assert!(threads.iter().all(|thread| *thread == threads[0]), "{threads:?}");
}

#[tokio::test]
async fn a_document_has_an_end() {
    let shop = shop(Rules { longest_body: 100, ..Rules::default() }).await;
    let mut foreign = said("qc-1", "all", "Hello");
    foreign.set_metadata_text("notes", Some(&"x".repeat(1 << 21)));
    let refused = try_take_in(&shop, "msg-1", &foreign, FOLDER).await;
    assert!(matches!(refused, Err(Error::TooLarge { what: "document", .. })), "{refused:?}");
}

#[tokio::test]
async fn what_is_refused_makes_nobody_known() {
    let shop = shop(Rules { longest_body: 100, ..Rules::default() }).await;
    let long = said("author", "addressee", &"x".repeat(101));
    let nameless = said("author", "#dev", "Hello");
    for foreign in [long, nameless] {
        let refused = try_take_in(&shop, "msg-1", &foreign, FOLDER).await;
        assert!(matches!(refused, Err(Error::TooLarge { .. } | Error::Invalid { .. })), "{refused:?}");
        for name in ["author", "addressee"] {
            assert_eq!(shop.office.whois(PROJECT, name).await.unwrap_err().code(), "AGENT_NOT_FOUND", "{name}");
        }
    }
}

const FAULTY: &str = r#"{"type":"status_update","task_id":"bd-1","sender_id":"qc-1"}"#;

#[tokio::test]
async fn faults_of_a_json_message_from_outside_are_reported_where_it_was_said() {
    let shop = shop(strict()).await;
    let faulty = said("qc-1", "all", FAULTY);
    let TakenIn::New(id) = arrive(&shop, "msg-1", &faulty).await else { panic!("it is kept all the same") };
    let told = posts(&shop).await;
    let [faulty_post, report] = &told[..] else { panic!("{told:?}") };
    assert_eq!(faulty_post.message.id, id);
    assert_eq!((report.message.from.as_str(), report.message.to.join(" ")), ("postrider", "#dev qc-1".to_owned()));
    assert_eq!((report.message.reply_to, report.mode.as_str()), (Some(id), "watcher"));
    assert_eq!((report.kind.as_str(), report.hops), ("error_report", 1));
    let read = formats::json::read(&report.message.body);
    assert!(read.problems.is_empty(), "the report has no faults itself: {:?}", read.problems);
    assert_eq!(read.value.unwrap().kind(), Some(formats::json::Type::ErrorReport));
    assert_eq!(arrive(&shop, "msg-1", &faulty).await, TakenIn::Known(id));
    arrive(&shop, "msg-2", &said("qc-1", "all", r#"{"type":"error_report","sender_id":"qc-1"}"#)).await;
    arrive(&shop, "msg-3", &said("qc-1", "all", r#"{"colour":"red"}"#)).await;
    assert_eq!(posts(&shop).await.len(), 4, "a report is not reported on, nor is other JSON");
}

#[tokio::test]
async fn an_answer_from_outside_marks_mail_read_only_where_names_are_believed() {
    for (rules, is_read) in [(strict(), false), (Rules::default(), true)] {
        let shop = shop(rules).await;
        let TakenIn::New(id) = arrive(&shop, "msg-1", &said("agent-0", "agent-1", "Well?")).await else { panic!() };
        let mut answer = said("agent-1", "agent-0", "Yes.");
        answer.set_metadata_text("in_reply_to", Some("msg-1"));
        arrive(&shop, "msg-2", &answer).await;
        let state = shop.store.deliveries(id).await.unwrap().remove(0).state;
        assert_eq!(state.read_at.is_some(), is_read);
    }
}

#[tokio::test]
async fn a_message_of_an_unknown_type_from_outside_is_reported_and_its_receivers_see_why() {
    let shop = shop(strict()).await;
    arrive(&shop, "msg-1", &said("qc-1", "agent-1", r#"{"type":"gossip","sender_id":"qc-1"}"#)).await;
    let told = posts(&shop).await;
    let [unknown, report] = &told[..] else { panic!("{told:?}") };
    assert!(unknown.message.problems.iter().any(|problem| problem.path == "type"), "{unknown:?}");
    assert!(report.message.body.contains("gossip") && report.message.problems.is_empty(), "{report:?}");
    let files = r#"{"mode":"exclusive","file_patterns":["src/**"]}"#;
    let request = format!(r#"{{"type":"file_reservation","sender_id":"qc-1","reservation_request":{files}}}"#);
    arrive(&shop, "msg-3", &said("qc-1", "agent-1", &request)).await;
    let held = shop.store.reservations(shop.team.project, None, 9, at(0)).await.unwrap();
    assert_eq!(held, [], "nobody proves a name there");
}

#[tokio::test]
async fn a_report_on_a_message_about_no_work_is_no_work() {
    let shop = talking().await;
    let mut foreign = said("qc-1", "all", r#"{"type":"status_update","sender_id":"qc-1"}"#);
    foreign.set_metadata_text("thread_id", Some("planning"));
    arrive(&shop, "msg-1", &foreign).await;
    arrive(&shop, "msg-2", &said("qc-1", "all", FAULTY)).await;
    let about: Vec<_> = posts(&shop).await.into_iter().map(|post| (post.kind, post.message.work_id)).collect();
    let (chat, report) = ("chat".to_owned(), "error_report".to_owned());
    let work = Some("bd-1".to_owned());
    assert_eq!(about, [(chat.clone(), None), (report.clone(), None), (chat, work.clone()), (report, work)]);
}

#[tokio::test]
async fn a_report_is_the_same_document_in_every_office() {
    let (here, there) = (talking().await, talking().await);
    let mut reports = Vec::new();
    for shop in [&here, &there] {
        arrive(shop, "msg-1", &said("qc-1", "all", FAULTY)).await;
        let report = posts(shop).await.pop().unwrap();
        let said = report.said(&shop.store.office_id().await.unwrap(), &report.external_id);
        assert_eq!(report.external_id, said.id);
        let file = format!("{}.json", said.id);
        let place = Place { file: Some(&file), channel: Some("dev") };
        assert_eq!(formats::channel::read(said.to_json().as_bytes(), place).problems, [], "nothing about it is odd");
        reports.push(said);
    }
    assert_eq!(reports[0], reports[1]);
    let id = posts(&here).await[1].message.id;
    assert_eq!(arrive(&here, &reports[1].id, &reports[1]).await, TakenIn::Known(id));
}

#[tokio::test]
async fn a_report_that_a_crash_prevented_is_made_when_the_message_comes_again() {
    let shop = talking().await;
    let faulty = said("qc-1", "all", FAULTY);
    let new = NewPost { keys: vec!["msg-1".into()], ..NewPost::chat(ChannelName::parse("dev").unwrap()) };
    let kept = NewMessage { post: Some(new), door: FOLDER, ..shop.team.message(0, &[], FAULTY) };
    shop.store.append(&kept).await.unwrap();
    assert!(matches!(take_in(&shop, "msg-1", &faulty, NATS).await, TakenIn::Known(_)));
    assert_eq!(posts(&shop).await.len(), 2);
}

#[tokio::test]
async fn what_has_faults_is_dealt_with_only_when_they_are_reported() {
    let shop = talking().await;
    let faulty = said("qc-1", "all", FAULTY);
    let database = rusqlite::Connection::open(shop.path()).unwrap();
    let fail = "CREATE TRIGGER fail BEFORE INSERT ON post WHEN new.kind = 'error_report'
                BEGIN SELECT raise(ABORT, 'the disk is full'); END";
    database.execute_batch(fail).unwrap();
    let project = shop.office.ensure_project(PROJECT).await.unwrap().id;
    let is_dealt_with = async || !shop.store.known_keys(project, "dev", &["msg-1"]).await.unwrap().is_empty();
    for _ in 0..2 {
        assert!(try_take_in(&shop, "msg-1", &faulty, FOLDER).await.is_err_and(|error| error.retryable()));
        assert!(posts(&shop).await.len() == 1 && !is_dealt_with().await, "the next start looks at it again");
    }
    database.execute_batch("DROP TRIGGER fail").unwrap();
    // By then it may come by another door.
    assert!(matches!(take_in(&shop, "msg-1", &faulty, NATS).await, TakenIn::Known(_)));
    assert!(posts(&shop).await.len() == 2 && is_dealt_with().await);
    assert!(matches!(arrive(&shop, "msg-1", &faulty).await, TakenIn::Known(_)));
    assert_eq!(posts(&shop).await.len(), 2);
}

#[tokio::test]
async fn nobody_is_told_of_the_faults_of_an_old_message_or_of_one_that_an_office_said() {
    let (here, there) = (talking().await, talking().await);
    let old = said("qc-1", "all", FAULTY);
    here.clock.advance_seconds(old.timestamp.as_second() - here.office.now().as_second() + 25 * 60 * 60);
    arrive(&here, "msg-1", &old).await;
    let message = there.office.post(post("gemini", &[], FAULTY)).await.unwrap().message;
    let marked = kept(&there, &message).await.said(&there.store.office_id().await.unwrap(), "msg-2");
    arrive(&here, "msg-2", &marked).await;
    assert_eq!(posts(&here).await.len(), 2);
}

#[tokio::test]
async fn nobody_proves_a_name_to_a_folder_and_everybody_to_a_door() {
    let shop = shop(strict()).await;
    let token = shop.office.register(named(Some("codex"), None)).await.unwrap().token;
    let TakenIn::New(id) = arrive(&shop, "msg-1", &said("codex", "all", "Hello")).await else { panic!("it is new") };
    assert_eq!(shop.store.post(id).await.unwrap().unwrap().message.vouched, Vouched::Claimed);
    let refused = shop.office.post(post("codex", &[], "Hello")).await;
    assert!(matches!(refused, Err(Error::Unproved { .. })), "{refused:?}");
    let proved = PostDraft { from: Claim { token: Some(&token), ..Claim::of("codex") }, ..post("codex", &[], "Hello") };
    assert_eq!(shop.office.post(proved).await.unwrap().message.vouched, Vouched::Verified);
}

async fn posts(shop: &Shop) -> Vec<Post> {
    shop.office.posts(PROJECT, "dev", PostQuery { limit: 9, ..PostQuery::default() }).await.unwrap().2
}
