//! What the post office makes of typed messages: their kind and work, strictness, secrets, and the board of work.

use std::time::Duration;

use mail::Error;
use mail::ids::MessageId;
use mail::messages::Message;
use mail::office::{Claim, Draft, ReplyDraft, Rules, Secrets, Sent, WorkRequest};
use mail::work::{State, WorkItem, WorkQuery, WorkStore};

use crate::shop::{PROJECT, Shop, draft, named, shop};

const ASKS: &str = "Bead: a-1\nIssue Type: STUCK\n\n## Problem\nNo module.\n\n## Question\nWhere is it?";

#[tokio::test]
async fn a_typed_message_sets_kind_work_thread_and_ack() {
    let shop = shop(Rules::default()).await;
    let message = sent(&shop, "HELP_REQUEST", ASKS).await.message;
    assert_eq!((kind(&message), message.work_id.as_deref()), (Some("HELP_REQUEST"), Some("a-1")));
    assert_eq!((message.thread.as_str(), message.ack_required), ("a-1", true));
    let json = r#"{"type":"status_update","task_id":"bd-1"}"#;
    let message = sent(&shop, "how it goes", json).await.message;
    assert_eq!((kind(&message), message.work_id.as_deref()), (Some("status_update"), Some("bd-1")));
    assert_eq!((message.thread.as_str(), message.ack_required), ("bd-1", false));
}

#[tokio::test]
async fn what_is_wrong_with_a_typed_message_is_told_and_it_is_kept() {
    let shop = shop(Rules::default()).await;
    let sent_done = sent(&shop, "[a-1] DONE", "Status: DONE").await;
    let paths: Vec<&str> = sent_done.notes.problems.iter().map(|problem| problem.path.as_str()).collect();
    assert!(paths.contains(&"commit_sha") && paths.contains(&"summary"), "{paths:?}");
    assert_eq!(kind(&sent_done.message), Some("DONE"));
    let near = sent(&shop, "OFFERING-READY", "Bead: a-1").await;
    assert_eq!((kind(&near.message), near.notes.problems.len()), (None, 1));
    assert_eq!(near.message.work_id.as_deref(), Some("a-1"), "it is kept with its work all the same");
    assert_eq!(sent(&shop, "Lunch?", "At one.").await.notes.problems, [], "prose has no faults");
}

#[tokio::test]
async fn a_secret_is_told_or_refused_and_never_repeated() {
    let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0".repeat(2).get(..36).unwrap());
    let body = format!("The token:\n{secret}");
    let warned = sent(&shop(Rules::default()).await, "Keys", &body).await.notes.secrets;
    assert_eq!(warned.len(), 1);
    assert_eq!((warned[0].place, warned[0].line, warned[0].rule.as_str()), ("body_md", 2, "github_token"));
    let careful = shop(Rules { secrets: Secrets::Refuse, ..Rules::default() }).await;
    for (subject, body) in [("Keys", body.as_str()), (secret.as_str(), "Hello")] {
        let refused = careful.office.send(Draft { subject, body, ..draft("agent-0", None) }).await.unwrap_err();
        assert!(matches!(refused, Error::HoldsSecret { .. }), "{refused:?}");
        assert!(!format!("{refused:?} {refused}").contains(&secret[4..20]), "{refused:?}");
    }
    let shop = shop(Rules::default()).await;
    for field in ["version", "timestamp", "sender_id", "message_id", "type", "task_id", "update_type"] {
        let json = format!(r#"{{"type":"status_update","{field}":"{secret}"}}"#);
        let strict = Draft { subject: "x", body: &json, strict: true, ..draft("agent-0", None) };
        let refused = shop.office.send(strict).await.unwrap_err();
        assert!(!format!("{refused:?} {refused}").contains(&secret[4..20]), "{field}: {refused:?}");
    }
}

#[tokio::test]
async fn an_answer_to_a_question_is_help_and_an_answer_to_anything_else_is_a_comment() {
    let shop = shop(Rules::default()).await;
    let question = sent(&shop, "HELP_REQUEST", ASKS).await.message.id;
    let more = reply(&shop, question, "agent-0", "More: it is gone.").await;
    assert_eq!((kind(&more), more.work_id.as_deref()), (None, Some("a-1")), "nobody helps itself");
    assert_eq!(item(&shop, "a-1").await.state.name(), "help_wanted");
    let help = reply(&shop, question, "agent-1", "Look in lib.").await;
    assert_eq!(
        (kind(&help), help.work_id.as_deref(), help.thread.as_str()),
        (Some("HELP_RESPONSE"), Some("a-1"), "a-1")
    );
    assert_eq!(item(&shop, "a-1").await.state.name(), "in_progress");
    let done = sent(&shop, "DONE", "Bead: a-1").await.message.id;
    assert_eq!(kind(&reply(&shop, done, "agent-1", "Well done.").await), None);
    let by_subject = Draft { subject: "Re: DONE", body: "Well done.", ..draft("agent-1", None) };
    assert_eq!(kind(&shop.office.send(by_subject).await.unwrap().message), None);
    let by_subject = Draft { subject: "Re: HELP_REQUEST", body: "In lib.", ..draft("agent-1", None) };
    assert_eq!(kind(&shop.office.send(by_subject).await.unwrap().message), Some("HELP_RESPONSE"));
}

#[tokio::test]
async fn whoever_was_asked_helps_by_an_answer_in_plain_words_and_nobody_else_does() {
    let shop = shop(Rules::default()).await;
    shop.office.register(named(Some("agent-2"), None)).await.unwrap();
    let blocked = r#"{"type":"status_update","task_id":"a-1","update_type":"blocker","blockers":["staging"]}"#;
    for (subject, body) in [("HELP_REQUEST", ASKS), ("[a-1] stuck", blocked)] {
        let question = sent(&shop, subject, body).await.message.id;
        assert_eq!(kind(&reply(&shop, question, "agent-2", "Not me.").await), None, "it was not asked");
        assert_eq!(item(&shop, "a-1").await.state.name(), "help_wanted");
        let answer = Draft { to: vec![], subject: "", body: "Look in lib.", ..draft("agent-1", None) };
        let answer = ReplyDraft { reply_to: question, subject: Some("Here is how"), draft: answer };
        let answer = shop.office.reply(answer).await.unwrap().message;
        assert_eq!(kind(&answer), Some("HELP_RESPONSE"), "whatever its subject");
        assert_eq!(item(&shop, "a-1").await.state.name(), "in_progress");
    }
}

#[tokio::test]
async fn whoever_holds_a_role_that_was_asked_helps_and_nobody_else_does() {
    let shop = shop(Rules::default()).await;
    shop.office.register(named(Some("agent-2"), None)).await.unwrap();
    shop.office.take_role(PROJECT, Claim::of("agent-1"), "reviewer", Some(60)).await.unwrap();
    let asked = Draft { to: vec!["role:reviewer".to_owned()], ..draft("agent-0", None) };
    let asked = Draft { subject: "HELP_REQUEST", body: ASKS, ..asked };
    let question = shop.office.send(asked).await.unwrap().message.id;
    assert_eq!(kind(&reply(&shop, question, "agent-2", "Not me.").await), None, "it holds no role");
    assert_eq!(item(&shop, "a-1").await.state.name(), "help_wanted");
    shop.office.mark_read(PROJECT, Claim::of("agent-1"), question).await.unwrap();
    shop.clock.advance_seconds(60);
    shop.office.take_role(PROJECT, Claim::of("agent-2"), "reviewer", Some(60)).await.unwrap();
    assert_eq!(kind(&reply(&shop, question, "agent-2", "Look in lib.").await), Some("HELP_RESPONSE"));
}

#[tokio::test]
async fn whoever_was_asked_helps_and_nobody_helps_itself_under_another_name_either() {
    let shop = shop(Rules::default()).await;
    let question = sent(&shop, "HELP_REQUEST", ASKS).await.message.id;
    for (before, name) in [("agent-0", "asker"), ("agent-1", "helper")] {
        shop.office.rename(PROJECT, Claim::of(before), name).await.unwrap();
    }
    assert_eq!(kind(&reply(&shop, question, "asker", "More: it is gone.").await), None);
    assert_eq!(kind(&reply(&shop, question, "helper", "Look in lib.").await), Some("HELP_RESPONSE"));
}

#[tokio::test]
async fn a_person_settles_a_question_whoever_was_asked() {
    let shop = shop(Rules::default()).await;
    let question = sent(&shop, "HELP_REQUEST", ASKS).await;
    assert_eq!(item(&shop, "a-1").await.state.name(), "help_wanted");
    shop.office.welcome_person(PROJECT, "Anna").await.unwrap();
    let answer = Draft { to: vec![], body: "UTC.", ..draft("Anna", None) };
    let answer = ReplyDraft { reply_to: question.message.id, subject: None, draft: answer };
    let answer = shop.office.for_person().reply(answer).await.unwrap().message;
    assert_eq!((kind(&answer), answer.vouched.as_str()), (Some("HELP_RESPONSE"), "human"));
    assert_ne!(item(&shop, "a-1").await.state.name(), "help_wanted");
}

#[tokio::test]
async fn an_answer_is_no_report_of_progress_whatever_its_subject() {
    let shop = shop(Rules::default()).await;
    let blocked = r#"{"type":"status_update","task_id":"a-1","update_type":"blocker","blockers":["staging"]}"#;
    let question = sent(&shop, "[a-1] PROGRESS stuck", blocked).await.message.id;
    for _ in 0..2 {
        let answer = reply(&shop, question, "agent-1", "Ask Ann.").await;
        assert_eq!(kind(&answer), Some("HELP_RESPONSE"));
    }
    let query = WorkQuery { project: shop.team.project, id: Some("a-1".into()), before: None, limit: 1 };
    let record = shop.store.work(&query).await.unwrap().remove(0);
    assert_eq!(record.words.len(), 3, "no answer takes the place of another");
    assert!(!record.words.iter().any(mail::work::is_passing));
}

#[tokio::test]
async fn a_subject_that_merely_speaks_of_a_kind_moves_nothing() {
    let shop = shop(Rules::default()).await;
    sent(&shop, "[a-1] PROGRESS", "Step: 1").await;
    for subject in
        ["[a-1] please mark DONE when the tests pass", "a-1: not DONE yet", "[a-1] Done?", "Re: [a-1] FAILED"]
    {
        assert_eq!(kind(&sent(&shop, subject, "Thanks").await.message), None, "{subject}");
    }
    assert_eq!(item(&shop, "a-1").await.state.name(), "in_progress");
    let meant = sent(&shop, "[a-1] work is DONE", "## Changes\n- Commit: abc").await.message;
    assert_eq!((kind(&meant), item(&shop, "a-1").await.state.name()), (Some("DONE"), "done"));
}

#[tokio::test]
async fn prose_in_a_thread_makes_no_work_of_its_name() {
    let shop = shop(Rules::default()).await;
    let in_thread = |subject, body, thread| Draft { subject, body, thread: Some(thread), ..draft("agent-0", None) };
    for (subject, body, thread) in [
        ("PROGRESS on the docs", "We talk on Monday.", "weekly-sync"),
        ("HELP_RESPONSE", "Look in lib.", "weekly-sync"),
        ("OFFERING_ACCEPTED", "Thank you for your service.", "weekly-sync"),
        ("PROGRESS", "Step: 1\nStatus: busy", "17"),
    ] {
        let message = shop.office.send(in_thread(subject, body, thread)).await.unwrap().message;
        assert_eq!(message.work_id, None, "{subject}");
    }
    assert_eq!(work(&shop).await, []);
}

#[tokio::test]
async fn broken_json_is_told_as_broken_json() {
    let shop = shop(Rules::default()).await;
    let broken = r#"{"type":"status_update","task_id":"a-1",}"#;
    let problems = sent(&shop, "news", broken).await.notes.problems;
    assert!(problems[0].to_string().contains("trailing comma"), "{problems:?}");
    let strict = Draft { subject: "news", body: broken, strict: true, ..draft("agent-0", None) };
    let Err(Error::Malformed { rejection: Some(rejection), .. }) = shop.office.send(strict).await else {
        panic!("it was to be refused")
    };
    assert_eq!(rejection.error, "invalid_format");
    let theirs = sent(&shop, "package.json", r#"{"type":"module","name":"x"}"#).await;
    assert_eq!(theirs.notes.problems, [], "JSON of others is mail all the same");
}

#[tokio::test]
async fn a_typed_message_without_an_id_is_about_what_its_thread_is_about() {
    let shop = shop(Rules::default()).await;
    let in_thread = |subject, body, thread| Draft { subject, body, thread: Some(thread), ..draft("agent-1", None) };
    shop.office.send(in_thread("HELP_REQUEST", ASKS, "standup")).await.unwrap();
    let help = Draft { to: vec!["agent-0".into()], ..in_thread("HELP_RESPONSE", "In lib.", "standup") };
    assert_eq!(shop.office.send(help).await.unwrap().message.work_id.as_deref(), Some("a-1"));
    let by_thread = shop.office.send(in_thread("PROGRESS", "Step: 1\nStatus: busy", "a-2")).await.unwrap();
    assert_eq!(by_thread.message.work_id.as_deref(), Some("a-2"), "a thread is named after its work");
    assert_eq!(by_thread.notes.problems, []);
    let prose = shop.office.send(in_thread("Hello", "Hi", "a-2")).await.unwrap();
    assert_eq!(prose.message.work_id, None, "prose is about nothing unless it says so");
}

#[tokio::test]
async fn an_offering_is_sent_back_and_accepted_in_its_thread() {
    let shop = shop(Rules::default()).await;
    let say = async |from, to: &str, subject, body| {
        let draft = Draft { subject, body, thread: Some("a-1"), to: vec![to.into()], ..draft(from, None) };
        shop.office.send(draft).await.unwrap()
    };
    let stands = async || match item(&shop, "a-1").await.state {
        State::Done(outcome) if outcome.offered => "offered",
        other => other.name(),
    };
    say("agent-1", "agent-0", "OFFERING_READY", "Bead: a-1\nStatus: DONE").await;
    assert_eq!(stands().await, "offered");
    let back = say("agent-0", "agent-1", "RETRY_REQUIRED", "Two tests fail.").await;
    assert_eq!((back.message.work_id.as_deref(), back.notes.problems.as_slice()), (Some("a-1"), &[][..]));
    assert!(back.message.ack_required, "whoever sends work back wants to know that it was seen");
    assert_eq!((stands().await, item(&shop, "a-1").await.agent.as_str()), ("assigned", "agent-1"));
    say("agent-1", "agent-0", "OFFERING_READY", "Bead: a-1\nStatus: DONE").await;
    let accepted = say("agent-0", "agent-1", "OFFERING_ACCEPTED", "Issue a-1 closed.\nCommit: abc").await.message;
    assert_eq!((accepted.work_id.as_deref(), accepted.ack_required), (Some("a-1"), false));
    assert_eq!(stands().await, "done");
}

#[tokio::test]
async fn a_question_that_nobody_answered_in_time_is_overdue() {
    let rules = Rules { help_overdue: Duration::from_secs(60), ..Rules::default() };
    let shop = shop(rules).await;
    sent(&shop, "HELP_REQUEST", ASKS).await;
    let overdue = async || match item(&shop, "a-1").await.state {
        State::HelpWanted(question) => question.overdue,
        other => panic!("{other:?}"),
    };
    shop.clock.advance_seconds(59);
    assert!(!overdue().await);
    shop.clock.advance_seconds(1);
    assert!(overdue().await);
    assert_eq!(ids(&asked(&shop, Some("overdue"), None, 10).await), ["a-1"]);
}

#[tokio::test]
async fn the_board_is_asked_by_state_and_agent_in_pages() {
    let shop = shop(Rules::default()).await;
    for id in 1..=5 {
        let subject = if id % 2 == 0 { format!("[a-{id}] DONE") } else { format!("[a-{id}] PROGRESS") };
        sent(&shop, &subject, "Hello").await;
    }
    assert_eq!(ids(&asked(&shop, Some("done"), None, 10).await), ["a-4", "a-2"]);
    assert_eq!(ids(&asked(&shop, Some("in_progress"), Some("agent-0"), 10).await), ["a-5", "a-3", "a-1"]);
    assert_eq!(asked(&shop, None, Some("agent-1"), 10).await, []);
    let mut found = Vec::new();
    let mut before = None;
    loop {
        let request = WorkRequest { project_key: PROJECT, state: Some("in_progress"), agent: None, before, limit: 1 };
        let page = shop.office.work(request).await.unwrap();
        found.extend(ids(&page.items).into_iter().map(str::to_owned));
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(found, ["a-5", "a-3", "a-1"]);
    let request = WorkRequest { project_key: PROJECT, state: Some("finished"), agent: None, before: None, limit: 1 };
    assert!(matches!(shop.office.work(request).await, Err(Error::Invalid { what: "state", .. })));
}

#[tokio::test]
async fn an_item_that_is_not_there_is_refused_with_the_nearest() {
    let shop = shop(Rules::default()).await;
    sent(&shop, "[parser-17] PROGRESS", "Hello").await;
    let told = shop.office.work_story(PROJECT, "parser-17", None, 10).await.unwrap();
    assert_eq!((told.item.id.as_str(), told.messages.len(), told.next), ("parser-17", 1, None));
    let refused = shop.office.work_story(PROJECT, "parser-71", None, 10).await.unwrap_err();
    assert_eq!((refused.code(), refused.near()), ("WORK_NOT_FOUND", ["parser-17".to_owned()].as_slice()));
}

async fn sent(shop: &Shop, subject: &str, body: &str) -> Sent {
    shop.office.send(Draft { subject, body, ..draft("agent-0", None) }).await.unwrap()
}

async fn reply(shop: &Shop, to: MessageId, from: &str, body: &str) -> Message {
    let draft = Draft { to: vec![], body, ..draft(from, None) };
    shop.office.reply(ReplyDraft { reply_to: to, subject: None, draft }).await.unwrap().message
}

async fn work(shop: &Shop) -> Vec<WorkItem> {
    asked(shop, None, None, 100).await
}

async fn item(shop: &Shop, id: &str) -> WorkItem {
    work(shop).await.into_iter().find(|item| item.id == id).unwrap()
}

async fn asked(shop: &Shop, state: Option<&str>, agent: Option<&str>, limit: usize) -> Vec<WorkItem> {
    let request = WorkRequest { project_key: PROJECT, state, agent, before: None, limit };
    shop.office.work(request).await.unwrap().items
}

fn ids(items: &[WorkItem]) -> Vec<&str> {
    items.iter().map(|item| item.id.as_str()).collect()
}

fn kind(message: &Message) -> Option<&'static str> {
    message.kind.map(|kind| kind.as_str())
}
