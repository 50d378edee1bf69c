//! `postrider work`: the board and the story of an item, as people and programs see them.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::mcp::PROJECT;
use crate::harness::{self, DEADLINE, Place, Server};

/// How late a watched board looks by itself.
const LOOK_AGAIN: Duration = Duration::from_secs(15);
/// Whoever asks for help has waited too long at once.
const IMPATIENT: &str = "help_overdue_minutes = 0";

fn say(server: &Server, from: &str, to: &str, subject: &str, body: &str) {
    let mail = json!({
        "project_key": PROJECT, "sender_name": from, "to": [to], "subject": subject, "body_md": body,
    });
    server.call("send_message", mail);
}

fn progress(server: &Server, id: &str, step: &str) {
    let body = format!("Bead: {id}\nStep: {step}\nStatus: going well\nContext usage: 45%\n");
    say(server, "GreenDog", "BlueLake", &format!("[{id}] PROGRESS"), &body);
}

/// A server, and work in many states.
fn busy_office(settings: &str) -> Server {
    let server = Place::with_settings(settings).serve();
    server.register(&["GreenDog", "RedFox", "BlueLake"]);
    let accepted = "Accepted bead: bd-1\nTitle: Login form\nStarting implementation at: 2026-01-11T16:00:00Z\n";
    say(&server, "GreenDog", "BlueLake", "[bd-1] BEAD_ACCEPTED", accepted);
    progress(&server, "bd-1", "Step 4 - implementing auth");
    let stuck = "Bead: bd-2\nIssue Type: STUCK\n\n## Problem\nThe tests hang.\n\n## What I Tried\nWaiting.\n\n\
                 ## Files Touched\n- src/a.rs\n\n## Question\nWhich port does the fake use,\nand who opens it?\n";
    say(&server, "RedFox", "BlueLake", "[bd-2] HELP_REQUEST", stuck);
    let ready = "Bead: bd-3\nStatus: DONE\n\n## Changes\n- Commit: 0123456789abcdef0123456789abcdef01234567\n\
                 - Files: src/b.rs\n\n## Self-Validation\n- Tests: PASS\n- Lint: FAIL\n- Build: PASS\n\n\
                 ## Summary\nThe form and its tests.\n";
    say(&server, "GreenDog", "BlueLake", "[bd-3] OFFERING_READY", ready);
    let failed = "Bead: bd-4\nStatus: FAILED\n\n## Failure\nType: TESTS_FAIL\nReason: two of nine fail\n\
                  Internal Attempts: 3\n\n## Recommendation\nAsk the author of the parser.\n";
    say(&server, "RedFox", "BlueLake", "[bd-4] FAILED", failed);
    let left = "Bead: bd-5\nReason: CONTEXT_HIGH\n\n## Progress\n- Commit: abc1234\n- Description: half of it\n\
                - Context usage: 85%\n\n## Next Steps for Successor\nWrite the tests.\n";
    say(&server, "RedFox", "BlueLake", "[bd-5] CHECKPOINT", left);
    server
}

fn work<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["work", "--project", PROJECT], more].concat()
}

fn ids(board: &Value) -> Vec<&str> {
    board["items"].as_array().expect("a list").iter().map(|item| item["work_id"].as_str().expect("an id")).collect()
}

/// Puts one age and one time in the place of all, and keeps columns where they are.
fn timeless(text: &str) -> String {
    let line = |line: &str| {
        let mut told = String::new();
        let mut owed = 0;
        for word in line.split(' ') {
            let bare = word.trim_matches(['(', ',', ':']);
            let is_age = bare.strip_suffix(['s', 'm']).is_some_and(|count| count.parse::<u32>().is_ok());
            let is_time = bare.ends_with('Z') && bare.matches(':').count() == 2;
            let is_date = bare.starts_with("20") && bare.matches('-').count() == 2;
            match () {
                () if is_age => {
                    told.push_str(&word.replace(bare, "0s"));
                    owed = bare.len() - 2;
                }
                () if is_time => told.push_str("12:00:00Z"),
                () if is_date => told.push_str("2026-01-11"),
                // A longer age took blanks from the gap behind it.
                () if word.is_empty() => told.push_str(&" ".repeat(std::mem::take(&mut owed))),
                () => told.push_str(word),
            }
            told.push(' ');
        }
        told.trim_end().to_owned()
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_board_and_each_kind_of_item_as_people_see_them() {
    let server = busy_office(IMPATIENT);
    let shown = |more: &[&str]| timeless(&server.place.done(&work(more)));
    insta::assert_snapshot!("board", shown(&[]));
    insta::assert_snapshot!("board_of_one_state", shown(&["--state", "help-wanted"]));
    insta::assert_snapshot!("item_with_a_story", shown(&["show", "bd-1"]));
    insta::assert_snapshot!("item_that_wants_help", shown(&["show", "bd-2"]));
    insta::assert_snapshot!("item_that_is_done", shown(&["show", "bd-3"]));
    insta::assert_snapshot!("item_that_was_left", shown(&["show", "bd-5"]));
}

#[test]
fn programs_get_the_items_as_the_resource_gives_them() {
    let server = busy_office("");
    let mut page = server.read("resource://work/data-projects-app");
    page.as_object_mut().expect("an object").remove("next");
    let board = server.place.json(&work(&[]));
    assert_eq!(board, page);
    assert_eq!(ids(&board), ["bd-5", "bd-4", "bd-3", "bd-2", "bd-1"]);
    let mut told = server.read("resource://work/data-projects-app?id=bd-1");
    told.as_object_mut().expect("an object").remove("next");
    let item = server.place.json(&work(&["show", "bd-1"]));
    assert_eq!(item, told);
    assert_eq!(item["story"].as_array().map(Vec::len), Some(2), "{item}");
}

#[test]
fn a_state_an_agent_or_both_narrow_the_board() {
    let server = busy_office("");
    let narrowed = |more: &[&str]| server.place.json(&work(more));
    for name in ["help_wanted", "help-wanted", "Help-Wanted"] {
        assert_eq!(ids(&narrowed(&["--state", name])), ["bd-2"], "{name}");
    }
    assert!(ids(&narrowed(&["--state", "overdue"])).is_empty(), "nobody has waited long");
    assert_eq!(ids(&narrowed(&["--agent", "GreenDog"])), ["bd-3", "bd-1"]);
    assert_eq!(ids(&narrowed(&["--agent", "GreenDog", "--state", "done"])), ["bd-3"]);
    let nothing = server.place.done(&work(&["--agent", "Nobody", "--state", "done"]));
    assert!(nothing.starts_with("No work item that is done with 'Nobody' on it."), "{nothing}");
    let impatient = busy_office(IMPATIENT);
    assert_eq!(ids(&impatient.place.json(&work(&["--state", "overdue"]))), ["bd-2"]);
}

#[test]
fn a_refusal_says_what_is_wrong_and_what_to_do() {
    let server = busy_office("");
    for (arguments, code, words) in [
        (work(&["--state", "dnoe"]), "INVALID_ARGUMENT", "'dnoe'"),
        (work(&["show", "bd-11"]), "WORK_NOT_FOUND", "'postrider work' lists"),
        (vec!["work", "--project", "/data/projects/ap"], "PROJECT_NOT_FOUND", "'/data/projects/app'"),
        (vec!["work"], "PROJECT_NOT_FOUND", "This folder has no mail yet"),
        (vec!["work"], "PROJECT_NOT_FOUND", "--project"),
    ] {
        let ran = server.place.run(&arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(ran.stderr.contains(code) && ran.stderr.contains(words), "{arguments:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("ensure_project"), "a terminal has no tools: {}", ran.stderr);
        let ran = server.place.run(&[&arguments[..], &["--json"]].concat());
        let told: Value = serde_json::from_str(&ran.stdout).expect("a refusal is JSON too");
        assert_eq!((ran.code, &told["error"]["code"]), (Some(1), &json!(code)), "{told}");
        assert!(told["error"]["message"].is_string() && told["error"]["hint"].is_string(), "{told}");
    }
    let ran = server.place.run(&work(&["--watch", "show", "bd-1"]));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(ran.stderr.contains("--watch"), "{}", ran.stderr);
    let ran = server.place.run(&work(&["show"]));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(ran.stderr.contains("Usage: postrider work show [OPTIONS] <ID>\n"), "{}", ran.stderr);
}

#[test]
fn a_project_without_work_is_told_what_would_make_some() {
    let server = Server::start();
    server.register(&["GreenDog"]);
    let nothing = server.place.done(&work(&[]));
    assert!(nothing.starts_with("No work yet.") && nothing.contains("[bd-42] PROGRESS"), "{nothing}");
    assert!(!nothing.contains("Bead:"), "{nothing}");
    say(&server, "GreenDog", "GreenDog", "hello", "Bead: bd-1");
    assert_eq!(server.place.done(&work(&[])), nothing, "a message of no type makes no item");
    assert_eq!(server.place.json(&work(&[])), json!({ "project": "data-projects-app", "items": [] }));
}

#[test]
fn the_project_is_the_current_folder_unless_somebody_says_otherwise() {
    let server = busy_office("");
    let folder = server.place.file("app");
    std::fs::create_dir(&folder).unwrap();
    let folder = folder.canonicalize().unwrap();
    let here = folder.to_str().expect("a plain path");
    server.call("ensure_project", json!({ "human_key": here }));
    server.call("register_agent", json!({ "project_key": here, "name": "Anna" }));
    let mail = json!({
        "project_key": here, "sender_name": "Anna", "to": ["Anna"], "subject": "[here-1] DONE", "body_md": "Done.",
    });
    server.call("send_message", mail);
    let shown = |command: &mut Command| {
        let output = command.current_dir(&folder).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let mut command = server.place.command(&["work", "--json"]);
    assert_eq!(ids(&shown(&mut command)), ["here-1"]);
    assert_eq!(
        ids(&shown(server.place.command(&["work", "--project", "../app", "--json"]).stdin(Stdio::null()))),
        ["here-1"]
    );
    assert_eq!(shown(command.env("POSTRIDER_PROJECT", "data-projects-app"))["items"].as_array().map(Vec::len), Some(5));
}

#[test]
fn without_a_server_the_database_tells_the_same() {
    let server = busy_office("");
    let place = server.place.clone();
    let served = (place.json(&work(&[])), place.json(&work(&["show", "bd-1"])));
    server.stop();
    assert_eq!((place.json(&work(&[])), place.json(&work(&["show", "bd-1"]))), served);
}

#[test]
fn a_server_elsewhere_is_asked_if_one_is_set() {
    let server = busy_office("");
    let url = format!("http://{}", server.address);
    let (elsewhere, arguments) = (Place::new(), work(&["--json"]));
    let output = elsewhere.command(&arguments).env("POSTRIDER_URL", &url).output().unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), server.place.json(&work(&[])));
    assert!(!elsewhere.database().exists());
    server.stop();
    let output = elsewhere.command(&arguments).env("POSTRIDER_URL", &url).output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &told["error"]["code"]), (Some(1), &json!("UNREACHABLE")), "{told}");
}

#[test]
fn all_pages_are_one_board() {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake"]);
    // One more than the office gives at a time when it is asked as this command asks.
    for number in 0..=500 {
        say(&server, "GreenDog", "BlueLake", &format!("[bd-{number}] DONE"), "Done.");
    }
    let board = server.place.json(&work(&[]));
    let ids = ids(&board);
    assert_eq!((ids.len(), ids[0], ids[500]), (501, "bd-500", "bd-0"));
    assert!(server.place.done(&work(&[])).ends_with("501 items: 501 done\n"));
}

#[test]
fn no_text_of_mail_reaches_the_terminal_raw() {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake"]);
    let evil = "\x1b[2J\x1b]0;owned\x07\u{9b}31m\u{202e}";
    let body = format!("Bead: bd-1\nStep: go {evil}on\nStatus: {evil}\nContext usage: 45%\n");
    say(&server, "GreenDog", "BlueLake", &format!("[bd-1] PROGRESS {evil}"), &body);
    let help = format!("Bead: bd-{evil}2\nIssue Type: {evil}\n\n## Problem\nA{evil}\nB\n\n## Question\nC{evil}?\n");
    say(&server, "GreenDog", "BlueLake", "HELP_REQUEST", &help);
    let board = server.place.json(&work(&[]));
    let every_id = ids(&board).into_iter().map(|id| vec!["show", id]);
    let kinds = [vec![], vec!["--json"]];
    for more in every_id.chain([vec![]]).flat_map(|more| kinds.clone().map(|kind| [&more[..], &kind].concat())) {
        let printed = server.place.done(&work(&more));
        let steers = |letter: char| (letter.is_control() && letter != '\n') || letter == '\u{202e}';
        assert!(!printed.contains(steers), "{more:?}: {printed:?}");
        assert!(printed.contains("owned"), "{more:?}: the rest of the text is there: {printed}");
    }
}

/// A board that is watched. It is killed with its test.
struct Watching {
    child: Child,
    lines: Receiver<String>,
}

impl Watching {
    fn start(place: &Place, more: &[&str]) -> Self {
        let mut command = place.command(&work(&[&["--watch"], more].concat()));
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the binary starts");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, lines) = channel();
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { child, lines }
    }

    fn line(&self) -> String {
        self.lines.recv_timeout(DEADLINE).expect("the board says more in time")
    }

    /// Reads on until a line has these words, and returns what was read.
    fn until(&self, words: &str) -> Vec<String> {
        let mut read = Vec::new();
        loop {
            read.push(self.line());
            if read.last().is_some_and(|line| line.contains(words)) {
                return read;
            }
        }
    }

    /// Presses Ctrl-C, and checks that the command ends well.
    fn interrupt(mut self) -> Vec<String> {
        let sent = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
        let rest: Vec<String> = std::iter::from_fn(|| self.lines.recv_timeout(DEADLINE).ok()).collect();
        assert_eq!(self.child.wait().expect("the command ends").code(), Some(0));
        rest
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_watched_board_is_printed_again_as_soon_as_mail_changes_it() {
    let server = busy_office("");
    let watching = Watching::start(&server.place, &[]);
    let first = watching.until("5 items:");
    assert!(first[0].starts_with("WORK") && first.len() == 8, "{first:?}");
    let sent = Instant::now();
    progress(&server, "bd-6", "Step 1");
    let second = watching.until("6 items:");
    assert!(sent.elapsed() < LOOK_AGAIN, "mail wakes; nobody waited for the next look");
    assert_eq!((second[0].as_str(), second.len()), ("", 10), "one table more, after a blank line: {second:?}");
    assert!(second[2].starts_with("bd-6"), "{second:?}");
    assert_eq!(watching.interrupt(), Vec::<String>::new());
}

#[test]
fn a_watched_board_for_programs_is_a_line_each_time() {
    let server = busy_office("");
    let watching = Watching::start(&server.place, &["--json", "--state", "in-progress"]);
    let board = |line: String| serde_json::from_str::<Value>(&line).expect("a line of JSON");
    assert_eq!(ids(&board(watching.line())), ["bd-1"]);
    // What leaves the state that is asked for changes the board too.
    say(&server, "GreenDog", "BlueLake", "[bd-1] DONE", "Bead: bd-1\nStatus: DONE\n");
    assert!(ids(&board(watching.line())).is_empty());
    watching.interrupt();
}

#[test]
fn a_watched_board_goes_on_without_its_server_and_with_the_next_one() {
    let server = busy_office("");
    let place = server.place.clone();
    let watching = Watching::start(&place, &[]);
    watching.until("5 items:");
    server.stop();
    let server = place.serve();
    progress(&server, "bd-6", "Step 1");
    watching.until("6 items:");
    server.stop();
    watching.interrupt();
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_command_without_complaint() {
    let server = busy_office("");
    let mut child = server
        .place
        .command(&work(&["--watch"]))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    output.read_line(&mut String::new()).expect("a first line");
    drop(output);
    progress(&server, "bd-6", "Step 1");
    let output = harness::within_deadline("the command ends", move || child.wait_with_output().expect("it ends"));
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}
