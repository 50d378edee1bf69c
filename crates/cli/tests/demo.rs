//! The demo: what a newcomer finds in it, that it moves by itself, that it leaves nothing behind, and that it never
//! touches anybody's own mail.
//!
//! What the sample says in detail is tested beside it. Here is what is seen from outside, with the real binary.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value, json};

use crate::harness::{self, DEADLINE, Place, Server};

const MAIN: &str = "/demo/weather-station";
const LONGEST: i64 = 50;

/// Starts a demo with its temporary folder in the place of the test.
fn demo(place: &Place, arguments: &[&str]) -> (Server, Value) {
    let mut command = place.command(&[&["demo", "--port", "0", "--json"], arguments].concat());
    command.env("TMPDIR", temporary(place));
    place.start(command)
}

fn temporary(place: &Place) -> PathBuf {
    let folder = place.file("tmp");
    fs::create_dir_all(&folder).expect("the place can be written to");
    folder
}

fn names_in(folder: PathBuf) -> Vec<String> {
    let names = fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("an entry").file_name());
    names.map(|name| name.to_string_lossy().into_owned()).collect()
}

/// What an agent of the main project asks for.
fn asked_by(agent: &str, more: Value) -> Value {
    harness::mcp::with(json!({ "project_key": MAIN, "agent_name": agent }), more)
}

/// How many there are of each text that stands under `name`.
fn counted<'v>(list: &'v Value, name: &str) -> BTreeMap<&'v str, usize> {
    let mut counts = BTreeMap::new();
    for one in list.as_array().expect("a list") {
        *counts.entry(one[name].as_str().unwrap_or_default()).or_default() += 1;
    }
    counts
}

/// Everything that is kept in a home, but for times and what follows from them or from chance.
fn content(place: &Place, home: &str) -> Vec<Value> {
    let lines = place.done(&["--home", home, "export"]);
    let mut messages: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("a line is a message")).collect();
    messages.iter_mut().for_each(without_times);
    messages
}

fn without_times(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(without_times),
        Value::Object(members) => {
            members.remove("post");
            for (name, member) in members {
                match member {
                    Value::String(text) if name.ends_with("_ts") => *text = "[time]".to_owned(),
                    Value::String(text) if name == "body_md" || name == "subject" => *text = without_clock(text),
                    member => without_times(member),
                }
            }
        }
        _ => {}
    }
}

/// A text without the RFC 3339 times in it: `2026-01-31T10:00:00Z`, also with microseconds.
fn without_clock(text: &str) -> String {
    let length = |rest: &str| {
        let of_form = |form: &[u8]| {
            let is_it = |(byte, form): (&u8, &u8)| if *form == b'd' { byte.is_ascii_digit() } else { byte == form };
            rest.len() >= form.len() && rest.as_bytes().iter().zip(form).all(is_it)
        };
        let forms: [&[u8]; 2] = [b"dddd-dd-ddTdd:dd:ddZ", b"dddd-dd-ddTdd:dd:dd.ddddddZ"];
        forms.into_iter().find(|form| of_form(form)).map(<[u8]>::len)
    };
    let (mut told, mut rest) = (String::new(), text);
    while let Some(letter) = rest.chars().next() {
        let time = length(rest);
        told.push_str(if time.is_some() { "[time]" } else { &rest[..letter.len_utf8()] });
        rest = &rest[time.unwrap_or(letter.len_utf8())..];
    }
    told
}

#[test]
fn the_sample_shows_all_that_there_is_to_see() {
    let place = Place::new();
    let (server, said) = demo(&place, &["--still"]);
    assert_eq!(said["page"], format!("http://{}/", server.address));
    assert_eq!(server.get("/").status, 200);
    let projects = server.read("resource://projects");
    assert_eq!(projects["projects"].as_array().map(Vec::len), Some(2), "{projects}");

    let work = server.read("resource://work/demo-weather-station?limit=100");
    let states = counted(&work["items"], "state");
    let all = [
        "accepted",
        "assigned",
        "checkpointed",
        "done",
        "failed",
        "help_wanted",
        "in_progress",
        "spawn_requested",
        "spawned",
    ];
    assert_eq!(states.keys().copied().collect::<Vec<_>>(), all, "{states:?}");
    let overdue = work["items"].as_array().unwrap().iter().filter(|item| item["help"]["overdue"] == true);
    assert_eq!(overdue.map(|item| &item["work_id"]).collect::<Vec<_>>(), ["ws-33"]);

    let agents = server.read("resource://agents/demo-weather-station");
    let presences: Vec<Value> =
        agents["agents"].as_array().unwrap().iter().map(|one| one["presence"].clone()).collect();
    // The office itself answers whoever asks for files, and is never awake.
    let office = "OFFLINE (no presence file)";
    let shown = json!({ "AWAKE/IDLE": 2, "AWAKE/WORKING": 3, "OFFLINE": 1, office: 1, "STALE/WORKING": 1 });
    assert_eq!(json!(counted(&json!(presences), "shown")), shown);

    let channels = server.read("resource://channels/demo-weather-station");
    assert_eq!(counted(&channels["channels"], "name").into_keys().collect::<Vec<_>>(), ["build", "general"]);
    let inbox = server.call("fetch_inbox", asked_by("Orchestrator", json!({ "limit": 100 })));
    assert!(counted(&inbox, "kind").len() >= 13, "{:?}", counted(&inbox, "kind"));
    assert_eq!(counted(&inbox, "importance").into_keys().collect::<Vec<_>>(), ["high", "low", "normal", "urgent"]);
}

#[test]
fn files_are_held_by_several_and_one_stands_in_line() {
    let place = Place::new();
    let (server, _) = demo(&place, &["--still"]);
    let held = server.read("resource://reservations/demo-weather-station");
    assert_eq!(counted(&held["reservations"], "agent").len(), 6, "{held}");
    // The one in line asks all the time, and so is there by and by.
    let wish = asked_by("Reviewer", json!({ "paths": ["src/store/schema.rs"], "exclusive": true }));
    let begun = Instant::now();
    let conflicts = loop {
        assert!(begun.elapsed() < DEADLINE, "nobody stands in line");
        let refused = server.refused("file_reservation_paths", wish.clone());
        assert_eq!(refused.code, "FILE_RESERVATION_CONFLICT");
        let conflicts = refused.structured["conflicts"].clone();
        if conflicts.as_array().map(Vec::len) == Some(2) {
            break conflicts;
        }
        std::thread::yield_now();
    };
    let told = |place: usize| (conflicts[place]["holder"].as_str().unwrap(), conflicts[place]["waiting"] == true);
    assert_eq!([told(0), told(1)], [("GreenDog", false), ("BlueLake", true)]);
}

#[test]
fn who_stands_still_is_the_same_every_time() {
    let places = [Place::new(), Place::new()];
    let contents = places.each_ref().map(|place| {
        let home = place.file("sample");
        let home = home.to_str().expect("a plain path");
        let (server, said) = demo(place, &["--still", "--home", home]);
        assert_eq!(said["home"], home);
        let content = content(place, home);
        server.stop();
        content
    });
    assert!((130..=160).contains(&contents[0].len()), "{}", contents[0].len());
    assert_eq!(contents[0], contents[1]);
    let home = places[0].file("sample");
    let (server, _) = demo(&places[0], &["--still", "--home", home.to_str().expect("a plain path")]);
    server.stop();
    assert_eq!(content(&places[0], home.to_str().expect("a plain path")), contents[0], "it is filled once");
}

#[test]
fn it_moves_by_itself_and_leaves_nothing_behind() {
    let place = Place::new();
    let (server, said) = demo(&place, &[]);
    let newest = server.call("fetch_inbox", asked_by("Orchestrator", json!({ "limit": 1 })))[0]["id"].clone();
    let later = asked_by("Orchestrator", json!({ "timeout_seconds": LONGEST, "after_id": newest }));
    let arrived = server.call("wait_for_mail", later);
    assert!(arrived.as_array().is_some_and(|arrived| !arrived.is_empty()), "somebody writes to the orchestrator");
    assert_eq!(names_in(temporary(&place)).len(), 1, "the mail is in a temporary folder");
    assert!(PathBuf::from(said["home"].as_str().unwrap()).starts_with(temporary(&place)));
    server.stop();
    assert_eq!(names_in(temporary(&place)), [""; 0]);
    assert_eq!(names_in(place.home()), [""; 0], "the home of whoever ran it is as it was");
    assert_eq!(place.log(), "", "and nothing was wrong");
}

#[test]
fn whoever_presses_ctrl_c_or_closes_the_terminal_ends_it_as_well() {
    let place = Place::new();
    for signal in ["-INT", "-HUP"] {
        let (server, _) = demo(&place, &[]);
        server.signal(signal);
        assert_eq!(server.ended().code(), Some(0), "{}", place.log());
        assert_eq!(names_in(temporary(&place)), [""; 0]);
    }
}

#[test]
fn a_stranger_is_answered() {
    let place = Place::new();
    let (server, _) = demo(&place, &[]);
    server.call("register_agent", json!({ "project_key": MAIN, "name": "Visitor" }));
    let question = json!({ "project_key": MAIN, "sender_name": "Visitor", "to": ["RedFox"], "subject": "Hello", "body_md": "Who are you?" });
    let thread = server.call("send_message", question)["thread_id"].clone();
    let answers = server.call("wait_for_mail", asked_by("Visitor", json!({ "timeout_seconds": LONGEST })));
    assert_eq!((&answers[0]["from"], &answers[0]["thread_id"]), (&json!("RedFox"), &thread), "{answers}");
}

#[test]
fn mail_that_it_did_not_make_is_left_alone() {
    let place = Place::new();
    let server = place.serve();
    server.register(&["GreenDog", "BlueLake"]);
    server.mail("GreenDog", "BlueLake", "Mine");
    server.stop();
    let (home, before) = (place.home(), place.kept());
    let home = home.to_str().expect("a plain path");
    for arguments in [&["demo", "--home", home][..], &["--home", home, "demo", "--still"]] {
        let refused = place.run(arguments);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
        assert!(refused.stderr.contains("holds what the demo did not make"), "{}", refused.stderr);
    }
    assert_eq!(place.kept(), before);

    let own = place.file("sample");
    let own = own.to_str().expect("a plain path");
    let (server, _) = demo(&place, &["--still", "--home", own]);
    server.register(&["GreenDog"]);
    server.stop();
    let refused = place.run(&["demo", "--home", own]);
    assert_eq!(refused.code, Some(1), "somebody's project is in it now: {}", refused.stdout);
}

#[test]
fn the_settings_of_whoever_runs_it_do_not_count() {
    let place = Place::with_settings("port = \"not a port\"");
    let mut command = place.command(&["demo", "--still", "--port", "0", "--json"]);
    command.env("TMPDIR", temporary(&place)).env("POSTRIDER_DATABASE", "postgres://nobody@127.0.0.1:1/mail");
    command.env("AGENT_MAIL_BEARER_TOKEN", "a-token-of-mine").env("POSTRIDER_PORT", "1");
    let (server, _) = place.start(command);
    assert_eq!(server.call("health_check", json!({}))["status"], "ready");
    server.stop();
}

#[test]
fn a_port_that_is_taken_is_not_fought_over() {
    // Whoever else has it, it is taken from here on.
    let _taken = TcpListener::bind(("127.0.0.1", 8765));
    let place = Place::new();
    let mut command = place.command(&["demo", "--still", "--json"]);
    command.env("TMPDIR", temporary(&place));
    let (server, _) = place.start(command);
    assert!(!server.address.ends_with(":8765"), "{}", server.address);
}
