//! Every scene is well-formed with every topic.

use formats::{Typed, secrets};
use jiff::Timestamp;

use super::*;
use crate::commands::demo::words::Words;

fn words_of(topic: &BTreeMap<String, String>) -> Words {
    let drawn = [
        ("worker", "GreenDog"),
        ("other", "BlueLake"),
        ("work", "ws-41"),
        ("tests", "201"),
        ("context", "50"),
        ("seconds", "46"),
        ("commit", "0123abc"),
        ("commit2", "4567def"),
    ];
    let words = drawn.into_iter().fold(Words::default(), |words, (name, text)| words.with(name, text));
    topic.iter().fold(words, |words, (name, text)| words.with(name, text)).sent_at(Timestamp::now(), "seed")
}

fn letters(scenes: &[Scene]) -> impl Iterator<Item = &Letter> {
    scenes.iter().flat_map(|scene| &scene.step).filter_map(|step| match step {
        Step::Send(letter) => Some(&**letter),
        _ => None,
    })
}

fn check(letter: &Letter, words: &Words) -> bool {
    let (subject, body) = (words.fill(letter.subject.as_deref().unwrap_or_default()), words.fill(letter.body.trim()));
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
    assert!(script.topics.len() >= 24 && script.scenes.len() >= 8);
    for topic in &script.topics {
        let words = words_of(topic);
        letters(&script.asides).for_each(|letter| assert!(!check(letter, &words), "nobody is at work there"));
        let typed = letters(&script.scenes).filter(|letter| check(letter, &words)).count();
        assert!(typed >= 40, "{typed}");
    }
    for letter in letters(&script.openings).chain(letters(&script.once)) {
        check(letter, &Words::default().sent_at(Timestamp::now(), "seed"));
    }
}

#[test]
fn no_two_topics_are_about_the_same_files() {
    let script = Script::read().unwrap();
    let mut paths: Vec<&String> = script.topics.iter().flat_map(|topic| [&topic["path"], &topic["test"]]).collect();
    let count = paths.len();
    paths.sort();
    paths.dedup();
    assert_eq!(paths.len(), count);
}
