//! The play goes on without end, never gives a scene up, and answers whoever is no part of it. Every scene is well-formed
//! with every topic.

use formats::{Typed, secrets};
use jiff::Timestamp;
use mail::messages::{Importance, InboxQuery};
use mail::office::{Claim, Draft, Registration, WorkRequest};

use super::*;
use crate::commands::demo::sample::Sample;
use crate::commands::demo::step::filled;
use crate::config::{Config, SettingsFile};
use crate::wiring::LocalOffice;

async fn begun() -> (tempfile::TempDir, LocalOffice, Play) {
    let home = tempfile::tempdir().unwrap();
    let config = Config { home: home.path().to_owned(), source: None, file: SettingsFile::default() };
    let local = LocalOffice::open(&config).await.unwrap();
    let sample = Sample::read().unwrap();
    sample.fill(&local).await.unwrap();
    sample.stand_in_line(&local.office).await.unwrap();
    let play = Play::begin(local.office.clone(), sample.members(), true).await.unwrap();
    (home, local, play)
}

#[tokio::test]
async fn scene_after_scene_is_played_to_its_end() {
    let (_home, local, mut play) = begun().await;
    let mut most_waiting = 0;
    for _ in 0..700 {
        play.step().await;
        most_waiting = most_waiting.max(play.reactions.len());
        // Whoever stands in line gets its turn.
        tokio::task::yield_now().await;
    }
    assert_eq!(play.given_up, 0);
    let is_opening = |track: &Track| play.script.opening.iter().any(|scene| scene.name == track.scene.name);
    assert!(!play.tracks.iter().any(is_opening), "what the sample left open went on");
    assert!(play.next_work > FIRST_WORK + 10, "{}", play.next_work);
    assert!(most_waiting < 40, "what is sent is read soon: {most_waiting}");
    let request = WorkRequest { project_key: MAIN, state: Some("overdue"), agent: None, before: None, limit: 100 };
    let overdue = local.office.work(request).await.unwrap().items;
    assert_eq!(overdue.len(), 1, "the question that a person may answer stays open");
}

/// A message of somebody who is no part of the demo.
fn message_to(name: &str, body: &'static str) -> Draft<'static> {
    Draft {
        project_key: MAIN,
        from: Claim::of("Visitor"),
        to: vec![name.to_owned()],
        cc: Vec::new(),
        bcc: Vec::new(),
        subject: "Hello",
        body,
        thread: None,
        importance: Importance::Normal,
        ack_required: Some(true),
        idempotency_key: None,
        open_key: None,
        strict: false,
        door: "mcp",
    }
}

async fn visit(local: &LocalOffice) {
    let person = Registration { project_key: MAIN, name: Some("Visitor"), ..Registration::default() };
    local.office.register(person).await.unwrap();
}

#[tokio::test]
async fn a_person_is_answered_and_a_program_not_for_ever() {
    let (_home, local, mut play) = begun().await;
    visit(&local).await;
    for _ in 0..5 {
        let draft = Draft { thread: Some("hello"), ..message_to("GreenDog", "Are you there?") };
        local.office.send(draft).await.unwrap();
        play.step().await;
    }
    let query = InboxQuery { unread_only: true, thread: Some("hello".to_owned()), ..InboxQuery::newest(100) };
    let answers = local.office.inbox(MAIN, Claim::of("Visitor"), &query).await.unwrap();
    assert_eq!(answers.len(), 3);
    assert!(answers[0].message.body.contains("I am a script"), "{}", answers[0].message.body);
}

fn words_of(topic: &Phrases) -> Phrases {
    let chosen = [("worker", "GreenDog"), ("other", "BlueLake"), ("work", "ws-41"), ("commit", "0123abc")];
    let mut words = words_at(Timestamp::now(), "seed");
    words.extend(chosen.map(|(name, text)| (name.to_owned(), text.to_owned())));
    words.extend(topic.clone());
    words
}

fn messages(scenes: &[Scene]) -> impl Iterator<Item = &Table> {
    scenes.iter().flat_map(|scene| &scene.step).filter(|step| step.contains_key("body_md"))
}

fn check(message: &Table, words: &Phrases) -> bool {
    let text = |name: &str| filled(message.get(name).and_then(toml::Value::as_str).unwrap_or_default().trim(), words);
    let (subject, body) = (text("subject"), text("body_md"));
    assert!(!body.contains("{{") && !subject.contains("{{"), "{subject}: {body}");
    assert!(secrets::find(&body).is_empty(), "{subject}: {body}");
    let typed = Typed::read(&subject, &body);
    if typed.value.kind().is_none() {
        assert!(!body.starts_with('{') && !body.starts_with("```json"), "{subject}: {body}");
        return false;
    }
    assert_eq!(typed.problems, [], "{subject}: {body}");
    true
}

#[test]
fn every_typed_message_of_every_scene_reads_without_a_problem_with_every_topic() {
    let script = Script::read().unwrap();
    assert!(script.topic.len() >= 24 && script.scene.len() >= 8);
    for topic in &script.topic {
        let words = words_of(topic);
        let typed = messages(&script.scene).filter(|message| check(message, &words)).count();
        assert!(typed >= 40, "{typed}");
    }
    for message in messages(&script.opening) {
        check(message, &words_at(Timestamp::now(), "seed"));
    }
}

#[test]
fn no_two_topics_are_about_the_same_files() {
    let script = Script::read().unwrap();
    let mut paths: Vec<&String> = script.topic.iter().flat_map(|topic| [&topic["path"], &topic["test"]]).collect();
    let count = paths.len();
    paths.sort();
    paths.dedup();
    assert_eq!(paths.len(), count);
}
