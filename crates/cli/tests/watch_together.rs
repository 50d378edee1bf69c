//! Watchers beside each other: two that answer each other stop, two for one agent do not get in each other's way, and
//! those who ask much are answered.

use serde_json::{Value, json};

use crate::harness::mcp::{PROJECT, with};
use crate::harness::{Place, Server};
use crate::watchers::{CHANNEL, Watcher, failed, join, once, presence, said, said_by, say, until, watch};

const MAILBOX_WATCH: [&str; 5] = ["--mailbox", "--poll", "100ms", "--max-hops", "4"];
const TOO_LONG: &str = "4 watchers have answered each other already, and more may not";

fn bodies(place: &Place, agent: &str) -> Vec<String> {
    let inbox = place.json(&["mail", "inbox", "--as", agent, "--project", PROJECT, "--all"]);
    let messages = inbox.as_array().unwrap_or_else(|| panic!("a list: {inbox}"));
    messages.iter().map(|message| message["body"].as_str().expect("a body").to_owned()).collect()
}

#[test]
fn two_watchers_that_answer_each_other_stop() {
    let server = Server::start();
    let place = &server.place;
    let options = ["--channel", CHANNEL, "--poll", "100ms", "--max-hops", "4"];
    let mut codex = Watcher::start_with(place, "codex", &options, "echo Pong.");
    let _claude = Watcher::start_with(place, "claude", &options, "echo Ping.");
    say(place, "claude", "codex", "Let us talk.");
    let end = codex.until("failed");
    assert_eq!(end["reason"], TOO_LONG);
    assert_eq!(said_by(place, "codex"), ["Pong.", "Pong."]);
    assert_eq!(said_by(place, "claude"), ["Let us talk.", "Ping.", "Ping."]);
    assert_eq!(failed(place, "codex").len(), 1, "it is kept, for somebody who wants it answered");
}

#[test]
fn two_watchers_of_mailboxes_that_answer_each_others_messages_stop() {
    let server = Server::start();
    let place = &server.place;
    join(place, &["claude", "codex"]);
    let mut codex = Watcher::start_with(place, "codex", &MAILBOX_WATCH, "echo Pong.");
    let mut claude = Watcher::start_with(place, "claude", &MAILBOX_WATCH, "echo Ping.");
    place.done(&["mail", "send", "codex", "--as", "claude", "--project", PROJECT, "-s", "Us", "-m", "Let us talk."]);
    for _ in 0..2 {
        codex.until("answered");
        claude.until("answered");
    }
    assert_eq!(codex.until("failed")["reason"], TOO_LONG);
    claude.stop();
    assert_eq!((bodies(place, "claude").len(), bodies(place, "codex").len()), (2, 3));
}

#[test]
fn what_a_watcher_of_a_mailbox_says_in_a_channel_is_marked_and_counted_and_stops_too() {
    let server = Server::start();
    let place = &server.place;
    join(place, &["claude", "codex"]);
    let mut codex = Watcher::start_with(place, "codex", &MAILBOX_WATCH, "echo Pong.");
    let _claude = Watcher::start_with(place, "claude", &MAILBOX_WATCH, "echo Ping.");
    say(place, "claude", "codex", "Let us talk.");
    assert_eq!(codex.until("failed")["reason"], TOO_LONG);
    let posts = place.json(&["channel", "read", CHANNEL, "--project", PROJECT]);
    let marks: Vec<(&Value, &Value)> =
        posts["messages"].as_array().expect("a list").iter().map(|post| (&post["mode"], &post["hops"])).collect();
    let (chat, watcher) = (json!("chat"), json!("watcher"));
    let hops = [0, 1, 2, 3, 4].map(|hops| json!(hops));
    let modes = [&chat, &watcher, &watcher, &watcher, &watcher];
    assert_eq!(marks, modes.into_iter().zip(&hops).collect::<Vec<_>>());
}

#[test]
fn an_agent_stays_awake_while_another_watcher_is_there_for_it() {
    let server = Server::start();
    let place = &server.place;
    let state = || presence(place, "codex")["presence"]["state"].clone();
    let channel = Watcher::start(place, "codex", "cat");
    let mailbox = Watcher::start_with(place, "codex", &["--mailbox", "--poll", "100ms"], "cat");
    until("it is awake", || state() == "AWAKE");
    channel.stop();
    assert_eq!(state(), "AWAKE", "its mailbox is watched");
    assert_eq!(once(place, "codex", &[], "cat").code, Some(0));
    assert_eq!(state(), "AWAKE", "also after a look at the channel");
    mailbox.stop();
    assert_eq!(state(), "OFFLINE");
}

#[test]
fn a_person_who_asked_much_while_nobody_watched_gets_all_answers() {
    let place = Place::new();
    let asked: Vec<i64> =
        (0..30).map(|number| say(&place, "claude", "codex", &format!("Question {number}."))).collect();
    let ran = once(&place, "codex", &[], "echo \"To $POSTRIDER_MESSAGE_ID.\"");
    assert_eq!((ran.code, failed(&place, "codex")), (Some(0), Vec::new()), "{}", ran.stderr);
    assert_eq!(said_by(&place, "codex"), asked.iter().map(|id| format!("To {id}.")).collect::<Vec<_>>());
}

#[test]
fn a_watcher_gets_ten_answers_and_the_count_survives_a_restart() {
    let server = Server::start();
    let place = &server.place;
    let ask = json!({
        "project_key": PROJECT, "sender_name": "claude", "channel": CHANNEL, "to": ["codex"],
        "mode": "watcher",
    });
    let asks = |text: &str| server.call("post_to_channel", with(ask.clone(), json!({ "text": text })))["id"].clone();
    for number in 0..10 {
        asks(&format!("Again {number}."));
    }
    assert_eq!(once(place, "codex", &[], "echo Yes.").code, Some(0));
    let last = asks("And again.").as_i64().expect("a number");
    assert_eq!(once(place, "codex", &[], "echo Yes.").code, Some(1));
    assert_eq!(failed(place, "codex"), [(last, "'claude' had 10 answers in 10 minutes".to_owned())]);
    place.done(&["watch", "retry", "--agent", "codex", "--project", PROJECT]);
    assert_eq!(once(place, "codex", &[], "echo Yes.").code, Some(0), "a person wants it");
    assert_eq!(said_by(place, "codex").len(), 11);
}

#[test]
fn what_called_an_agent_before_its_channel_was_watched_is_answered_from_the_mailbox() {
    let place = Place::new();
    join(&place, &["codex"]);
    let mailbox = watch(&place, "codex", &["--mailbox", "--once"], "echo Early.").output().expect("it runs");
    assert!(mailbox.status.success());
    say(&place, "claude", "codex", "Before.");
    let both = |answer: &str| {
        let words = ["watch", "--agent", "codex", "--project", PROJECT, "--channel", CHANNEL, "--mailbox", "--once"];
        place.done(&[&words[..], &["--since", "now", "--", "echo", answer]].concat());
    };
    both("Yes.");
    assert_eq!(said_by(&place, "codex"), ["Yes."]);
    say(&place, "claude", "codex", "After.");
    both("And yes.");
    assert_eq!(said_by(&place, "codex"), ["Yes.", "And yes."], "once, in the channel");
}

#[test]
fn what_was_answered_at_another_office_is_not_answered_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = format!("[channels]\n'{PROJECT}' = '{}'\n", folder.path().display());
    let (here, there) = (Place::with_settings(&settings), Place::with_settings(&settings));
    say(&here, "claude", "codex", "Hello.");
    assert_eq!(once(&here, "codex", &[], "echo Here.").code, Some(0));
    let ran = once(&there, "codex", &[], "echo There.");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let expected = [("claude", "Hello."), ("codex", "Here.")].map(|(who, what)| (who.to_owned(), what.to_owned()));
    for place in [&here, &there] {
        assert_eq!(said(place), expected);
    }
}

#[test]
fn the_prompt_tells_what_the_agent_answered_to_questions_that_came_earlier() {
    let place = Place::new();
    say(&place, "claude", "codex", "First question.");
    say(&place, "claude", "codex", "Second question.");
    say(&place, "claude", "codex", "Third question.");
    let script = "cat >prompt-$POSTRIDER_MESSAGE_ID; echo \"Answer to $POSTRIDER_MESSAGE_ID.\"";
    assert_eq!(once(&place, "codex", &[], script).code, Some(0));
    let prompt = std::fs::read_to_string(place.file("prompt-2")).expect("it ran");
    assert!(prompt.contains("First question.") && prompt.contains("Answer to 1."), "{prompt}");
    assert!(!prompt.contains("Third question."), "{prompt}");
}
