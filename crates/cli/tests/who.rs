//! `postrider who`: who is there, as people and programs see it, and what makes an agent come and go.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::harness::mcp::{PROJECT, as_agent};
use crate::harness::{self, DEADLINE, Place, Server};
use crate::hooks::Agent;

fn who<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["who", "--project", PROJECT], more].concat()
}

/// What is shown of an agent, when everything that was begun before is written.
fn shown(server: &Server, name: &str) -> String {
    server.call("deliver_message", delivery_request("Clerk", "Clerk"));
    shown_at(&server.place, name)
}

fn shown_at(place: &Place, name: &str) -> String {
    let told = place.json(&who(&[name]));
    told["agents"][0]["presence"]["shown"].as_str().expect("a presence").to_owned()
}

/// A message in the words of another tool, which makes mailboxes of names that nobody registered.
fn delivery_request(from: &str, to: &str) -> Value {
    json!({
        "project_key": PROJECT, "any_name": true, "sender_name": from, "recipient": to, "subject": "s",
        "body_md": "b",
    })
}

fn green(more: Value) -> Value {
    as_agent("GreenDog", more)
}

fn beat(substate: &str) -> Value {
    green(json!({ "substate": substate, "watcher_pid": 7, "channel": "dev" }))
}

/// An office where nobody has done anything: a program made the mailboxes.
fn quiet_office() -> Server {
    let server = Server::start();
    server.call("ensure_project", json!({ "human_key": PROJECT }));
    for name in ["GreenDog", "BlueLake"] {
        server.call("deliver_message", delivery_request("Clerk", name));
    }
    server
}

/// Moves the last sign of life of everybody back in time.
fn silent_for(place: &Place, seconds: i64) {
    let database = Connection::open(place.database()).expect("the database is there");
    let micros = seconds * 1_000_000;
    database.execute("UPDATE presence SET since = since - ?1, seen_at = seen_at - ?1", [micros]).expect("a table");
}

#[test]
fn whatever_an_agent_calls_says_that_it_is_awake() {
    let calls = [
        ("register_agent", json!({ "project_key": PROJECT, "name": "GreenDog" })),
        ("fetch_inbox", as_agent("GreenDog", json!({}))),
        ("wait_for_mail", as_agent("GreenDog", json!({ "timeout_seconds": 0 }))),
        ("file_reservation_paths", as_agent("GreenDog", json!({ "paths": ["src/**"] }))),
        ("send_message", harness::mcp::message("GreenDog", "BlueLake", "Hello")),
        ("macro_start_session", as_agent("GreenDog", json!({}))),
    ];
    let server = quiet_office();
    for (tool, arguments) in calls {
        server.call("leave", green(json!({})));
        assert_eq!(shown(&server, "GreenDog"), "OFFLINE");
        server.call(tool, arguments);
        assert_eq!(shown(&server, "GreenDog"), "AWAKE", "{tool}");
        assert_eq!(shown(&server, "BlueLake"), "OFFLINE (no presence file)", "who is written to did nothing");
    }
}

#[test]
fn a_watcher_says_what_its_agent_is_at_until_it_leaves() {
    let server = quiet_office();
    assert_eq!(server.call("set_presence", beat("IDLE")), json!({ "changed": true }));
    assert_eq!(server.call("set_presence", beat("IDLE")), json!({ "changed": false }));
    assert_eq!(server.call("set_presence", beat("WORKING")), json!({ "changed": true }));
    server.call("fetch_inbox", as_agent("GreenDog", json!({})));
    let told = server.place.json(&who(&["GreenDog"]))["agents"][0]["presence"].clone();
    let fields = ["shown", "state", "substate", "source", "channel"].map(|field| told[field].as_str().unwrap());
    assert_eq!(fields, ["AWAKE/WORKING", "AWAKE", "WORKING", "watcher", "dev"], "{told}");
    assert_eq!(told["watcher_pid"], 7);
    server.call("end_session", green(json!({})));
    assert_eq!(shown(&server, "GreenDog"), "AWAKE/WORKING", "the watcher is still there");
    server.call("leave", green(json!({})));
    assert_eq!(shown(&server, "GreenDog"), "OFFLINE");
    let refused = server.refused("set_presence", green(json!({ "state": "asleep" })));
    assert_eq!(refused.code, "INVALID_ARGUMENT");
    assert!(refused.message.contains("'asleep'"), "{}", refused.message);
}

#[test]
fn awake_but_silent_for_over_five_minutes_is_stale() {
    let server = quiet_office();
    server.call("set_presence", beat("WORKING"));
    silent_for(&server.place, 200);
    assert_eq!(shown(&server, "GreenDog"), "AWAKE/WORKING");
    silent_for(&server.place, 101);
    assert_eq!(shown(&server, "GreenDog"), "STALE/WORKING");
    server.call("fetch_inbox", as_agent("GreenDog", json!({})));
    assert_eq!(shown(&server, "GreenDog"), "AWAKE");
}

#[test]
fn without_a_server_a_command_says_that_its_agent_is_awake_and_the_database_tells_the_same() {
    let place = Place::new();
    place.done(&["join", "Anna", "--project", PROJECT]);
    place.done(&["join", "Bert", "--project", PROJECT]);
    let send = ["mail", "send", "Bert", "-s", "Hello", "-m", "b", "--as", "Anna", "--project", PROJECT];
    place.done(&send);
    assert_eq!(shown_at(&place, "Anna"), "AWAKE");
    silent_for(&place, 1000);
    assert_eq!([shown_at(&place, "Anna"), shown_at(&place, "Bert")], ["STALE", "STALE"]);
    place.done(&send);
    assert_eq!([shown_at(&place, "Anna"), shown_at(&place, "Bert")], ["AWAKE", "STALE"]);
    let told = place.json(&who(&[]));
    let server = place.serve();
    assert_eq!(place.json(&who(&[])), told);
    assert_eq!(server.read("resource://agents/data-projects-app")["agents"], told["agents"]);
}

#[test]
fn a_session_comes_with_its_first_hook_and_goes_with_its_last() {
    for client in ["claude", "gemini"] {
        let server = quiet_office();
        let agent = Agent::new(&server.place, client, Some("GreenDog"));
        let happens = |event: &str, session: &str| agent.answer_to(event, json!({ "session_id": session }));
        assert!(happens("SessionStart", "one").is_some());
        assert_eq!(shown(&server, "GreenDog"), "AWAKE", "{client}");
        happens("SessionStart", "two");
        assert_eq!(happens("SessionEnd", "one"), None);
        assert_eq!(shown(&server, "GreenDog"), "AWAKE", "{client}: another session goes on");
        assert_eq!(happens("SessionEnd", "two"), None);
        assert_eq!(shown(&server, "GreenDog"), "OFFLINE", "{client}");
        happens("SessionStart", "two");
        assert_eq!(shown(&server, "GreenDog"), "AWAKE", "{client}");
    }
}

#[test]
fn the_session_of_an_agent_that_nobody_knows_ends_without_a_word() {
    let server = quiet_office();
    let agent = Agent::new(&server.place, "claude", Some("Nobody"));
    assert_eq!(agent.answer("SessionEnd"), None);
    assert_eq!(server.refused("whois", as_agent("Nobody", json!({}))).code, "AGENT_NOT_FOUND");
}

#[test]
fn the_table_and_the_shape_for_programs() {
    let server = quiet_office();
    server.call("set_presence", beat("WORKING"));
    server.call("file_reservation_paths", as_agent("GreenDog", json!({ "paths": ["src/**", "docs/**"] })));
    insta::assert_snapshot!("table", server.place.done(&who(&[])));
    let mut told = server.place.json(&who(&[]));
    for agent in told["agents"].as_array_mut().expect("a list") {
        for time in ["registered_ts", "last_active_ts", "last_mail_ts"] {
            agent[time] = json!("[time]");
        }
        for time in ["since", "seen_ts"].iter().filter(|_| agent["presence"]["source"].is_string()).collect::<Vec<_>>()
        {
            agent["presence"][time] = json!("[time]");
        }
    }
    insta::assert_json_snapshot!("json", told);
}

#[test]
fn a_refusal_says_what_is_wrong_and_what_to_do() {
    let server = quiet_office();
    for (arguments, code, words) in [
        (who(&["GrenDog"]), "AGENT_NOT_FOUND", "'postrider who' lists"),
        (who(&["GrenDog"]), "AGENT_NOT_FOUND", "'GreenDog'"),
        (vec!["who", "--project", "/data/projects/ap"], "PROJECT_NOT_FOUND", "'/data/projects/app'"),
        (vec!["who"], "PROJECT_NOT_FOUND", "This folder has no mail yet"),
    ] {
        let ran = server.place.run(&arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(ran.stderr.contains(code) && ran.stderr.contains(words), "{arguments:?}: {}", ran.stderr);
    }
    server.call("ensure_project", json!({ "human_key": "/data/projects/empty" }));
    let nobody = server.place.done(&["who", "--project", "/data/projects/empty"]);
    assert!(nobody.starts_with("Nobody is here yet."), "{nobody}");
}

/// A table that is watched, for programs. It is killed with its test.
struct Watching {
    child: Child,
    lines: Receiver<String>,
}

impl Watching {
    fn start(place: &Place) -> Self {
        let mut command: Command = place.command(&who(&["--watch", "--json"]));
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the binary starts");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, lines) = channel();
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { child, lines }
    }

    /// What is shown of GreenDog, the next time that anything is printed.
    fn next(&self) -> String {
        let line = self.lines.recv_timeout(DEADLINE).expect("the table is printed in time");
        let told: Value = serde_json::from_str(&line).expect("a line of JSON");
        let agents = told["agents"].as_array().expect("a list");
        let green = agents.iter().find(|agent| agent["name"] == "GreenDog").expect("it is registered");
        green["presence"]["shown"].as_str().expect("a text").to_owned()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_watched_table_is_printed_again_when_somebody_comes_or_goes_and_not_for_a_sign_of_life() {
    let server = quiet_office();
    let watching = Watching::start(&server.place);
    assert_eq!(watching.next(), "OFFLINE (no presence file)");
    server.call("set_presence", beat("IDLE"));
    assert_eq!(watching.next(), "AWAKE/IDLE");
    server.call("set_presence", beat("IDLE"));
    server.call("set_presence", beat("WORKING"));
    assert_eq!(watching.next(), "AWAKE/WORKING", "that it was seen again is no news");
    server.call("leave", green(json!({})));
    assert_eq!(watching.next(), "OFFLINE");
}

#[test]
fn whoever_watches_the_agents_of_a_project_is_told_when_one_changes() {
    let server = quiet_office();
    let address = "resource://agents/data-projects-app";
    let mut stream = server.subscribe(&[address]);
    stream.event().expect("the stream is open");
    server.call("set_presence", beat("IDLE"));
    let told = stream.event().expect("it is told");
    assert!(told.to_string().contains(address), "{told:?}");
}

#[test]
fn whoever_is_not_known_is_told_the_command_that_joins() {
    let server = Server::start();
    server.register(&["GreenDog"]);
    for (name, near) in [("nosuch", "Join first: "), ("GrenDog", "Did you mean 'GreenDog'? Else join first: ")] {
        for words in [&["who", name][..], &["watch", "failed", "--agent", name]] {
            let ran = server.place.command(words).args(["--project", PROJECT]).output().expect("the binary runs");
            let told = String::from_utf8(ran.stderr).expect("it is text");
            assert!(told.contains(&format!("{near}postrider join NAME.")), "{words:?}: {told}");
        }
    }
}
