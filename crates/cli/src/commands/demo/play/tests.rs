//! The play goes on without end, never gives a scene up, and answers whoever is no part of it.

use mail::messages::Importance;
use mail::office::{Claim, Draft, InboxAsk, Registration, ReplyDraft};

use super::*;
use crate::commands::demo::sample::Sample;
use crate::config::{Config, File};
use crate::wiring::Post;

async fn begun(seed: u64) -> (tempfile::TempDir, Post, Play) {
    let home = tempfile::tempdir().unwrap();
    let config = Config { home: home.path().to_owned(), source: None, file: File::default() };
    let post = Post::open(&config).await.unwrap();
    let sample = Sample::read().unwrap();
    sample.fill(&post).await.unwrap();
    for place in sample.line() {
        tokio::spawn(place.stand(post.office.clone()));
    }
    let play = Play::with_dice(post.office.clone(), sample.members(), true, seed).await.unwrap();
    (home, post, play)
}

#[tokio::test]
async fn scene_after_scene_is_played_to_its_end() {
    let (_home, post, mut play) = begun(7).await;
    let mut most_waiting = 0;
    for _ in 0..700 {
        play.step().await;
        most_waiting = most_waiting.max(play.reactions.len());
        // Whoever stands in line gets its turn.
        tokio::task::yield_now().await;
    }
    assert_eq!(play.given_up, 0);
    assert!(play.openings.iter().all(|scene| scene.cue.is_some()), "what the sample left open goes on");
    assert!(play.next_work > FIRST_WORK + 10, "{}", play.next_work);
    assert!(most_waiting < 40, "what is sent is read soon: {most_waiting}");
    let ask = WorkAsk { project_key: MAIN, state: Some("overdue"), agent: None, before: None, limit: 100 };
    let overdue = post.office.work(ask).await.unwrap().items;
    assert_eq!(overdue.len(), 1, "the question that a person may answer stays open");
}

/// A message of somebody who is no part of the demo.
fn letter_to(name: &str, body: &'static str) -> Draft<'static> {
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
        strict: false,
        door: "mcp",
    }
}

async fn visit(post: &Post) {
    let person = Registration { project_key: MAIN, name: Some("Visitor"), ..Registration::default() };
    post.office.register(person).await.unwrap();
}

#[tokio::test]
async fn whoever_answers_the_open_question_sees_the_work_go_on() {
    let (_home, post, mut play) = begun(3).await;
    visit(&post).await;
    let ask = WorkAsk { project_key: MAIN, state: Some("help_wanted"), agent: Some("RedFox"), before: None, limit: 1 };
    let item = post.office.work(ask).await.unwrap().items.remove(0);
    let mail::work::State::HelpWanted(question) = item.state else { panic!("{item:?}") };
    let draft = letter_to("RedFox", "Quiet until it was watched for a week.");
    let reply = ReplyDraft { reply_to: question.message, subject: None, draft };
    post.office.reply(reply).await.unwrap();
    for _ in 0..300 {
        play.step().await;
        tokio::task::yield_now().await;
    }
    assert!(play.openings.is_empty());
    assert_eq!(post.office.work_story(MAIN, &item.id, None, 100).await.unwrap().item.state.name(), "done");
    assert_eq!(play.given_up, 0);
}

#[tokio::test]
async fn a_person_is_answered_and_a_program_not_for_ever() {
    let (_home, post, mut play) = begun(11).await;
    visit(&post).await;
    for _ in 0..5 {
        let draft = Draft { thread: Some("hello"), ..letter_to("GreenDog", "Are you there?") };
        post.office.send(draft).await.unwrap();
        play.step().await;
    }
    let ask = InboxAsk {
        project_key: MAIN,
        agent: Claim::of("Visitor"),
        unread_only: true,
        ack_required_only: false,
        thread: Some("hello"),
        about: mail::messages::About::default(),
        before: None,
        limit: 100,
        with_bodies: true,
    };
    let answers = post.office.inbox(ask).await.unwrap();
    assert_eq!(answers.len(), 3);
    assert!(answers[0].message.body.contains("I am a script"), "{}", answers[0].message.body);
}
