//! `postrider hook` when something is wrong: the agent goes on as if there were no hook.

#![cfg(unix)]

use std::ffi::OsStr;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Stdio};

use rusqlite::Connection;
use serde_json::json;

use crate::harness::mcp::as_agent;
use crate::harness::{Place, Ran, Server, within_deadline};
use crate::hooks::{Agent, output_of, send};

/// Nothing is printed but one line of complaint, and nobody is told of a failure.
fn assert_harmless(what: &str, ran: &Ran) {
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{what}: {}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "{what}: {:?}", ran.stderr);
    assert!(ran.stderr.starts_with("postrider hook"), "{what}: {}", ran.stderr);
}

fn office() -> Server {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake"]);
    server.mail("BlueLake", "GreenDog", "Hello");
    server
}

/// Runs the hook of an event with settings of its environment.
fn with_environment(place: &Place, event: &str, environment: &[(&str, &str)]) -> Child {
    let agent = Agent::new(place, "claude", Some("GreenDog"));
    let input = place.file("input.json");
    std::fs::write(&input, agent.example(event).to_string()).expect("the place can be written to");
    let mut command = place.command(&["hook", "claude", event]);
    command.env("POSTRIDER_AGENT", "GreenDog").envs(environment.iter().copied());
    command.stdin(std::fs::File::open(input).expect("the file is there"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs")
}

#[test]
fn what_no_client_says_is_passed_over() {
    let place = Place::new();
    let agent = Agent::new(&place, "claude", Some("GreenDog"));
    let nested = "[".repeat(100_000);
    for input in ["", "\n", "{", "null", "[]", "\"x\"", "\u{0}", nested.as_str()] {
        let ran = output_of(agent.begin("PostToolUse", input.as_bytes(), &[]));
        assert_harmless(&format!("{:.20}", input), &ran);
    }
    assert_harmless("no UTF-8", &output_of(agent.begin("PostToolUse", b"\xff\xfe{}", &[])));
    for event in ["PreTool", "BeforeTool", ""] {
        let ran = output_of(agent.begin(event, b"{}", &[]));
        assert_harmless(event, &ran);
        assert!(ran.stderr.contains("PreToolUse") && ran.stderr.contains(&format!("'{event}'")), "{}", ran.stderr);
    }
    assert!(!place.database().exists(), "nothing was opened for it");
}

#[test]
fn an_input_that_does_not_end_is_not_waited_for() {
    let place = Place::new();
    let mut command = place.command(&["hook", "claude", "PostToolUse"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    let input = child.stdin.take().expect("a pipe");
    assert_harmless("open input", &output_of(child));
    drop(input);
}

#[test]
fn settings_that_cannot_be_read_silence_a_hook() {
    for settings in ["port = \"no\"", "[hooks]\nreserved = \"perhaps\"", "[hooks]\nreserve = \"deny\"", "=\n=\n="] {
        let place = Place::with_settings(settings);
        assert_harmless(settings, &output_of(with_environment(&place, "SessionStart", &[])));
    }
}

#[test]
fn a_server_that_is_gone_or_silent_silences_a_hook() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let silent = format!("http://{}", listener.local_addr().expect("an address"));
    for (what, url) in [("nobody there", "http://127.0.0.1:1"), ("silent", &silent), ("no address", "x:/")] {
        for event in ["SessionStart", "PreToolUse", "PostToolUse", "Stop"] {
            let ran = output_of(with_environment(&place, event, &[("POSTRIDER_URL", url)]));
            assert_harmless(&format!("{what} {event}"), &ran);
        }
    }
}

#[test]
fn a_database_that_is_locked_silences_a_hook_and_its_mail_is_told_later() {
    let server = office();
    let place = server.place.clone();
    server.stop();
    let locked = Connection::open(place.database()).expect("the database is there");
    locked.execute_batch("BEGIN EXCLUSIVE").expect("nobody else writes");
    assert_harmless("locked", &output_of(with_environment(&place, "PostToolUse", &[])));
    locked.execute_batch("ROLLBACK").expect("a transaction ends");
    let told = Agent::new(&place, "claude", Some("GreenDog")).told("PostToolUse");
    assert!(told.is_some_and(|told| told.contains("Hello")));
}

#[test]
fn mail_that_a_server_could_take_only_after_its_hook_had_gone_is_told_by_the_next() {
    let server = office();
    let locked = Connection::open(server.place.database()).expect("the database is there");
    locked.execute_batch("BEGIN IMMEDIATE").expect("nobody else writes");
    assert_harmless("locked", &output_of(with_environment(&server.place, "PostToolUse", &[])));
    locked.execute_batch("ROLLBACK").expect("a transaction ends");
    // Writes are done in their order, so that the hook's has been dealt with when this one is.
    server.mail("BlueLake", "GreenDog", "Second");
    let agent = Agent::new(&server.place, "claude", Some("GreenDog"));
    let told = agent.told("PostToolUse").expect("both are told");
    assert!(told.contains("Hello") && told.contains("Second"), "{told}");
    server.mail("BlueLake", "GreenDog", "Third");
    server.signal("-STOP");
    let ran = output_of(with_environment(&server.place, "PostToolUse", &[]));
    server.signal("-CONT");
    assert_harmless("stopped", &ran);
    server.mail("BlueLake", "GreenDog", "Fourth");
    let told = agent.told("PostToolUse").expect("both are told");
    assert!(told.contains("Third") && told.contains("Fourth"), "{told}");
}

#[test]
fn an_empty_or_wrong_environment_or_command_line_silences_a_hook() {
    let server = office();
    let user = server.place.file("user");
    std::fs::create_dir(&user).expect("a folder can be made");
    std::os::unix::fs::symlink(server.place.home(), user.join(".postrider")).expect("a link can be made");
    for empty in ["POSTRIDER_HOME", "POSTRIDER_CONFIG", "POSTRIDER_PROJECT", "POSTRIDER_IDENTITY"] {
        let environment = [("HOME", user.to_str().expect("a plain path")), (empty, "")];
        server.mail("BlueLake", "GreenDog", "More");
        let ran = output_of(with_environment(&server.place, "PostToolUse", &environment));
        assert!(ran.stderr.is_empty() && ran.stdout.contains("More"), "{empty}: {} {}", ran.stdout, ran.stderr);
    }
    let wrong = [("POSTRIDER_IDENTITY", OsStr::new("perhaps")), ("POSTRIDER_AGENT", OsStr::from_bytes(b"\xff"))];
    for (name, value) in wrong {
        let mut command = server.place.command(&["hook", "claude", "Stop"]);
        assert_harmless(name, &command.env(name, value).output().expect("the binary runs").into());
    }
    for line in ["hook", "hook emacs Stop", "hook claude", "hook claude Stop --within x", "--json hook claude Stop -x"]
    {
        let words: Vec<&str> = line.split(' ').collect();
        let ran = server.place.run(&words);
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.lines().count()),
            (Some(0), "", 1),
            "{line}: {}",
            ran.stderr
        );
    }
    assert_eq!(server.place.run(&["guard", "check", "--nonsense"]).code, Some(1), "others still fail");
}

#[cfg(target_os = "linux")]
#[test]
fn a_client_that_does_not_read_is_not_waited_for() {
    let server = office();
    let agent = Agent::new(&server.place, "claude", Some("GreenDog"));
    std::fs::write(server.place.file("input.json"), agent.example("PostToolUse").to_string()).unwrap();
    // As much as a pipe holds is written to it before.
    let line = "head -c 65536 /dev/zero; exec postrider hook claude PostToolUse <input.json";
    let mut command = server.place.shell(line);
    command.env("POSTRIDER_AGENT", "GreenDog").stdout(Stdio::piped());
    let mut child = command.spawn().expect("a shell runs");
    let unread = child.stdout.take();
    let ended = within_deadline("the hook ends", move || child.wait()).expect("it can be waited for");
    assert_eq!(ended.code(), Some(0));
    drop(unread);
    assert!(agent.told("PostToolUse").is_some_and(|told| told.contains("Hello")), "nobody could read it");
}

#[cfg(target_os = "linux")]
#[test]
fn mail_that_cannot_be_printed_is_told_by_the_next_hook_or_returned_by_a_wait() {
    let server = office();
    let agent = Agent::new(&server.place, "claude", Some("GreenDog"));
    let urgent = json!({ "importance": "urgent" });
    for output in [">&-", ">/dev/full", ">/dev/null"] {
        for event in ["PostToolUse", "Stop"] {
            send(&server, "BlueLake", "GreenDog", "More", urgent.clone());
            std::fs::write(server.place.file("input.json"), agent.example(event).to_string()).unwrap();
            let line = format!("postrider hook claude {event} --within 60000 <input.json {output}");
            let mut command = server.place.shell(&line);
            let ran = Ran::from(command.env("POSTRIDER_AGENT", "GreenDog").output().expect("a shell runs"));
            assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", ""), "{output} {event}");
            let answer = agent.answer(event).expect("it was not told").to_string();
            assert!(answer.contains("More"), "{output} {event}: {answer}");
            assert_eq!(agent.answer(event), None, "{output} {event}: once");
        }
    }
    server.mail("BlueLake", "GreenDog", "Last");
    hang_up(&agent, "PostToolUse");
    let waited = server.call("wait_for_mail", as_agent("GreenDog", json!({ "timeout_seconds": 0 })));
    let subjects = [&waited[0]["subject"], &waited[1]["subject"]];
    assert_eq!(subjects, ["More", "Last"], "the first of them was a reason not to stop, and is new mail all the same");
    server.mail("BlueLake", "GreenDog", "Without a server");
    server.stop();
    hang_up(&agent, "PostToolUse");
    assert!(agent.told("PostToolUse").is_some_and(|told| told.contains("Without a server")));
}

/// Runs a hook whose reader has gone before it has its input.
fn hang_up(agent: &Agent, event: &str) {
    let mut command = agent.place.command(&["hook", agent.client, event, "--within", "60000"]);
    command.env("POSTRIDER_AGENT", "GreenDog").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    drop(child.stdout.take());
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(agent.example(event).to_string().as_bytes()).expect("the hook reads");
    drop(input);
    assert_eq!(child.wait().expect("it can be waited for").code(), Some(0));
}

#[test]
fn a_database_that_is_none_silences_a_hook() {
    let place = Place::new();
    std::fs::write(place.database(), "This is no database at all, whatever its name says.".repeat(100)).unwrap();
    assert_harmless("no database", &output_of(with_environment(&place, "SessionStart", &[])));
}

#[test]
fn a_folder_for_sessions_that_cannot_be_made_silences_a_hook() {
    let place = Place::new();
    std::fs::write(place.home().join("sessions"), "a file").unwrap();
    let agent = Agent::new(&place, "claude", None);
    let input = agent.example("SessionStart").to_string();
    let ran = output_of(agent.begin("SessionStart", input.as_bytes(), &["--within", "60000"]));
    assert_harmless("no folder", &ran);
}

#[test]
fn no_time_at_all_is_told_in_a_line_and_takes_no_mail() {
    let server = office();
    let agent = Agent::new(&server.place, "claude", Some("GreenDog"));
    let input = agent.example("PostToolUse").to_string();
    for within in ["0", "150"] {
        assert_harmless(within, &output_of(agent.begin("PostToolUse", input.as_bytes(), &["--within", within])));
    }
    assert!(agent.told("PostToolUse").is_some_and(|told| told.contains("Hello")), "it was not taken");
}
