//! A watcher that meets trouble posts nothing that it should not, and loses nothing.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::harness::mcp::PROJECT;
use crate::harness::{Place, Server, send_signal};
use crate::watchers::{CHANNEL, Watcher, failed, once, presence, said_by, say, until, watch};

fn retry(place: &Place, ids: &[&str]) -> String {
    place.done(&[&["watch", "retry", "--agent", "codex", "--project", PROJECT], ids].concat())
}

#[test]
fn a_run_that_fails_posts_nothing_and_is_tried_again_when_somebody_wants_it() {
    let server = Server::start();
    let place = &server.place;
    let script = "if [ -e good ]; then echo Better.; else echo bad; echo why >&2; exit 3; fi";
    let mut watcher = Watcher::start(place, "codex", script);
    let (first, second) = (say(place, "claude", "codex", "One."), say(place, "claude", "codex", "Two."));
    let told = watcher.until("failed");
    assert_eq!((&told["reason"], &told["stderr"]), (&json!("it ended with exit status: 3"), &json!("why\n")));
    watcher.until("failed");
    assert_eq!(said_by(place, "codex"), Vec::<String>::new());
    let reason = "it ended with exit status: 3".to_owned();
    assert_eq!(failed(place, "codex"), [(first, reason.clone()), (second, reason)]);
    fs::write(place.file("good"), "").expect("a file");
    assert_eq!(retry(place, &[&second.to_string()]), format!("Tried again by the watcher: {second}\n"));
    assert_eq!(watcher.until("answered")["message_id"], second);
    assert_eq!(failed(place, "codex").len(), 1);
    retry(place, &[]);
    assert_eq!(watcher.until("answered")["message_id"], first);
    assert_eq!(said_by(place, "codex"), ["Better.", "Better."]);
    assert_eq!(retry(place, &[]), "Nothing is tried again.\n");
    let ran = place.run(&["watch", "retry", "--agent", "codex", "--project", PROJECT, &second.to_string()]);
    assert_eq!(ran.code, Some(1), "it has not failed");
    assert!(ran.stderr.contains(&second.to_string()), "{}", ran.stderr);
}

#[test]
fn a_command_that_takes_too_long_or_prints_too_much_is_ended_and_posts_nothing() {
    let place = Place::new();
    say(&place, "claude", "codex", "One.");
    let ran = once(&place, "codex", &["--timeout", "200ms"], "echo early; sleep 1000 & wait");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    say(&place, "claude", "codex", "Two.");
    once(&place, "codex", &["--max-output", "1K"], "exec cat /dev/zero");
    say(&place, "claude", "codex", "Three.");
    once(&place, "codex", &["--answer", "text"], "echo '{}'");
    let reasons: Vec<String> = failed(&place, "codex").into_iter().map(|(_, reason)| reason).collect();
    let expected =
        ["it did not end within 200 ms", "it printed more than 1024 bytes", "the output has no text at 'text'"];
    assert_eq!(reasons, expected);
    assert_eq!(said_by(&place, "codex"), Vec::<String>::new());
}

#[test]
fn what_came_while_the_watcher_was_down_is_answered_once_and_in_order() {
    let server = Server::start();
    let place = &server.place;
    let script = "cat >/dev/null; echo \"answer $POSTRIDER_MESSAGE_ID\"";
    let mut watcher = Watcher::start(place, "codex", script);
    let first = say(place, "claude", "codex", "One.");
    watcher.until("answered");
    watcher.stop();
    let ids = [first, say(place, "claude", "codex", "Two."), say(place, "claude", "all", "@codex Three.")];
    let mut watcher = Watcher::start(place, "codex", script);
    watcher.until("answered");
    watcher.until("answered");
    watcher.stop();
    assert_eq!(said_by(place, "codex"), ids.map(|id| format!("answer {id}")));
}

fn a_watcher_that_is_killed_in_the_middle_leaves_one_answer(place: &Place) {
    // The first run never ends by itself; whatever is started next is another.
    let script = "if mkdir first 2>/dev/null; then sleep 60; fi; echo An answer.";
    let watcher = Watcher::start(place, "codex", script);
    say(place, "claude", "codex", "Hello.");
    until("the command runs", || place.file("first").exists());
    watcher.kill();
    assert_eq!(said_by(place, "codex"), Vec::<String>::new());
    let mut watcher = Watcher::start(place, "codex", script);
    watcher.until("answered");
    watcher.stop();
    once(place, "codex", &[], script);
    assert_eq!(said_by(place, "codex"), ["An answer."]);
}

#[test]
fn a_watcher_that_is_killed_in_the_middle_leaves_one_answer_at_a_server() {
    a_watcher_that_is_killed_in_the_middle_leaves_one_answer(&Server::start().place);
}

#[test]
fn a_watcher_that_is_killed_in_the_middle_leaves_one_answer_without_a_server() {
    a_watcher_that_is_killed_in_the_middle_leaves_one_answer(&Place::new());
}

#[test]
fn a_watcher_that_is_asked_to_stop_ends_its_command_and_the_next_answers() {
    let place = Place::new();
    let script = "if mkdir first 2>/dev/null; then sleep 1000 & echo $! >pid; wait; fi; echo An answer.";
    let watcher = Watcher::start(&place, "codex", script);
    say(&place, "claude", "codex", "Hello.");
    until("the command runs", || fs::read_to_string(place.file("pid")).is_ok_and(|pid| pid.ends_with('\n')));
    watcher.stop();
    let child = fs::read_to_string(place.file("pid")).expect("it ran");
    let is_there =
        || Command::new("kill").args(["-0", child.trim()]).stderr(Stdio::null()).status().expect("kill runs");
    until("what the command started has ended", || !is_there().success());
    assert_eq!(presence(&place, "codex")["presence"]["state"], "OFFLINE");
    assert_eq!(once(&place, "codex", &[], script).code, Some(0));
    assert_eq!(said_by(&place, "codex"), ["An answer."]);
}

#[test]
fn a_watcher_that_is_killed_between_posting_and_noting_it_has_answered_once() {
    let place = Place::new();
    say(&place, "claude", "codex", "Hello.");
    once(&place, "codex", &[], "echo First.");
    let database = rusqlite::Connection::open(place.database()).expect("the database is there");
    let changed = database.execute("UPDATE watch_run SET state = 'running'", []).expect("a run can be changed");
    assert_eq!(changed, 1);
    drop(database);
    let ran = once(&place, "codex", &[], "echo Second.");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(said_by(&place, "codex"), ["First."]);
    assert_eq!(failed(&place, "codex"), []);
}

#[test]
fn a_second_watcher_is_refused_and_told_who_watches() {
    let server = Server::start();
    let place = &server.place;
    let watcher = Watcher::start(place, "codex", "cat");
    let ran = once(place, "codex", &[], "cat");
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains(&format!("process {} on ", watcher.id())), "{}", ran.stderr);
    assert!(ran.stderr.contains("#dev") && ran.stderr.contains("'codex'"), "{}", ran.stderr);
    let elsewhere = watch(place, "codex", &["--mailbox", "--once"], "cat").status().expect("it runs");
    assert!(elsewhere.success(), "the mailbox is another place");
    watcher.stop();
    assert_eq!(once(place, "codex", &[], "cat").code, Some(0));
}

#[test]
fn a_message_that_ends_its_watcher_twice_is_told_as_failed_by_the_next() {
    let place = Place::new();
    let asked = say(&place, "claude", "codex", "Hello.");
    for run in ["first", "second"] {
        let watcher = Watcher::start(&place, "codex", &format!("touch {run}; sleep 60"));
        until("the command runs", || place.file(run).exists());
        watcher.kill();
    }
    let mut watcher = Watcher::start(&place, "codex", "echo Yes.");
    let told = watcher.until("failed");
    assert_eq!((&told["message_id"], &told["channel"]), (&json!(asked), &json!("dev")), "{told}");
    watcher.stop();
    assert_eq!(failed(&place, "codex"), [(asked, "interrupted 2 times".to_owned())]);
}

#[test]
fn to_look_at_what_failed_or_to_have_it_tried_again_is_no_sign_of_life() {
    let place = Place::new();
    say(&place, "claude", "codex", "Hello.");
    once(&place, "codex", &[], "exit 3");
    assert_eq!(failed(&place, "codex").len(), 1);
    retry(&place, &[]);
    assert_eq!(presence(&place, "codex")["presence"]["state"], "OFFLINE");
}

#[test]
fn where_names_are_proved_a_watcher_for_nobody_is_refused_and_makes_no_name() {
    let place = Place::with_settings("identity = \"strict\"");
    for other in ["claude", "gemini"] {
        let ran = once(&place, "codex", &[], "echo Yes.");
        assert!(ran.code == Some(1) && ran.stderr.contains("'postrider join codex'"), "{}", ran.stderr);
        // The first makes the project.
        place.done(&["join", other, "--project", PROJECT]);
    }
    assert_eq!(presence(&place, "codex"), json!(null), "nobody took the name");
    let joined = place.json(&["join", "codex", "--project", PROJECT]);
    let token = joined["registration_token"].as_str().expect("a token");
    let ran = once(&place, "codex", &[], "echo Yes.");
    assert!(ran.code == Some(1) && ran.stderr.contains("--token"), "{}", ran.stderr);
    assert_eq!(once(&place, "codex", &["--token", token], "echo Yes.").code, Some(0));
}

#[test]
fn a_watcher_outlives_the_server_and_goes_on_with_the_next() {
    let place = Place::new();
    let server = place.serve();
    let mut watcher = Watcher::start(&place, "codex", "echo Yes.");
    say(&place, "claude", "codex", "One.");
    watcher.until("answered");
    server.kill();
    let server = place.serve();
    say(&place, "claude", "codex", "Two.");
    watcher.until("answered");
    watcher.stop();
    server.stop();
    assert_eq!(said_by(&place, "codex"), ["Yes.", "Yes."]);
}

#[test]
fn a_watcher_whose_goodbye_was_heard_but_not_answered_is_offline_and_one_that_was_replaced_leaves_the_agent_alone() {
    let place = Place::new();
    let state = || presence(&place, "codex")["presence"]["state"].clone();
    for (held_by, held_until, shown) in [("", 0, "OFFLINE"), ("another", i64::MAX / 2, "AWAKE")] {
        let watcher = Watcher::start(&place, "codex", "cat");
        until("it is awake", || state() == "AWAKE");
        let database = rusqlite::Connection::open(place.database()).expect("the database is there");
        let changed = database.execute("UPDATE watch SET holder = ?1, held_until = ?2", (held_by, held_until));
        assert_eq!(changed.expect("a place can be changed"), 1);
        watcher.stop();
        assert_eq!(state(), shown, "held by '{held_by}'");
    }
}

#[test]
fn a_look_at_one_project_leaves_the_folders_of_others_alone() {
    let place = Place::new();
    let (ours, others) = (place.file("ours"), place.file("others"));
    for folder in [&ours, &others] {
        fs::create_dir(folder).expect("a folder");
    }
    let settings = format!("[channels]\n'{PROJECT}' = '{}'\n'/data/others' = '{}'\n", ours.display(), others.display());
    fs::write(place.home().join("postrider.toml"), settings).expect("settings");
    say(&place, "claude", "codex", "Hello.");
    let ran = once(&place, "codex", &[], "echo Yes.");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let count = |folder| fs::read_dir(folder).expect("a folder").count();
    assert!(count(&ours) > 0);
    assert_eq!(count(&others), 0);
}

#[test]
fn a_watcher_whose_post_office_is_away_says_so_once_and_can_be_stopped() {
    let place = Place::with_settings("url = \"http://127.0.0.1:1\"");
    let mut command = watch(&place, "codex", &["--channel", CHANNEL, "--poll", "50ms"], "echo no");
    let mut watcher = command.stderr(Stdio::piped()).spawn().expect("the binary starts");
    let mut complaints = BufReader::new(watcher.stderr.take().expect("standard error is piped"));
    let mut first = String::new();
    complaints.read_line(&mut first).expect("it says something");
    assert!(first.contains("the server is gone"), "{first}");
    send_signal("-TERM", watcher.id());
    let mut rest = String::new();
    complaints.read_to_string(&mut rest).expect("it ends");
    assert_eq!((watcher.wait().expect("it ran").code(), rest.matches("is gone").count()), (Some(0), 0), "{rest}");
}
