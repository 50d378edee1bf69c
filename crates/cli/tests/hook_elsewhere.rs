//! `postrider hook` when another program keeps the mail: deliveries are told, and nothing else is known.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::Place;
use crate::hooks::{Agent, ended, output_of};

/// A place whose mail is kept by a script; what it does is said for each test.
fn kept_by(script: &str) -> Place {
    let place = Place::new();
    let program = place.file("mail.sh");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let settings = format!("[mail]\nprovider = \"exec:{}\"\n", program.display());
    fs::write(place.home().join("postrider.toml"), settings).unwrap();
    place
}

/// A place with this mail.
fn with_mail(subjects: &[&str]) -> Place {
    let place = kept_by(r#"case "$1" in check|inbox) cat "$(dirname "$0")/mail.json";; esac"#);
    deliver(&place, subjects);
    place
}

fn deliver(place: &Place, subjects: &[&str]) {
    let delivery = |(number, subject): (usize, &&str)| {
        json!({
            "id": format!("gc-{number}"), "from": "mayor", "to": "GreenDog", "subject": subject, "body": "Words.",
            "created_at": format!("2026-01-11T16:33:{number:02}Z"), "read": false,
        })
    };
    let deliveries: Vec<Value> = subjects.iter().enumerate().map(delivery).collect();
    fs::write(place.file("mail.json"), json!(deliveries).to_string()).unwrap();
}

fn green(place: &Place) -> Agent {
    Agent::new(place, "claude", Some("GreenDog"))
}

#[test]
fn deliveries_are_told_once_and_counted_when_a_session_begins() {
    let place = with_mail(&["First", "Second"]);
    let agent = green(&place);
    let told = agent.told("SessionStart").unwrap();
    assert!(told.contains("Unread: 2\n- #gc-1 mayor: Second\n- #gc-0 mayor: First\n"), "{told}");
    assert!(told.contains("postrider mail read ID") && !told.contains("fetch_inbox"), "{told}");
    let told = agent.told("PostToolUse").unwrap();
    assert!(told.contains("#gc-0 mayor: First\n> Words.\n#gc-1 mayor: Second\n> Words.\n"), "{told}");
    assert_eq!(agent.answer("UserPromptSubmit"), None);
    deliver(&place, &["First", "Second", "Third"]);
    let told = agent.told("UserPromptSubmit").unwrap();
    assert!(told.contains("Third") && !told.contains("Second"), "{told}");
    assert!(!place.database().exists(), "the post office was not asked");
}

#[test]
fn a_delivery_is_told_to_an_agent_and_not_to_each_of_its_sessions() {
    let place = with_mail(&["First"]);
    let agent = green(&place);
    assert!(agent.told("PostToolUse").unwrap().contains("First"));
    assert_eq!(agent.answer_to("PostToolUse", json!({ "session_id": "another" })), None);
    let other_client = Agent::new(&place, "gemini", Some("GreenDog"));
    assert_eq!(other_client.answer("AfterTool"), None);
    let other_agent = Agent::new(&place, "claude", Some("RedFox"));
    assert!(other_agent.answer("PostToolUse").is_some(), "the script gives its mail to everybody");
}

#[test]
fn of_many_deliveries_a_hook_tells_a_few_and_the_next_tell_the_rest() {
    let subjects: Vec<String> = (0..12).map(|number| format!("Part {number}.")).collect();
    let place = with_mail(&subjects.iter().map(String::as_str).collect::<Vec<_>>());
    let agent = green(&place);
    let told: Vec<String> = std::iter::from_fn(|| agent.told("PostToolUse")).collect();
    assert_eq!(told.len(), 3);
    assert!(told[0].contains("5 new messages") && told[0].contains("\n7 more wait, and are told at your next"));
    for subject in subjects {
        assert_eq!(told.concat().matches(&format!("mayor: {subject}\n")).count(), 1, "{subject}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_delivery_that_cannot_be_printed_is_told_by_the_next_hook() {
    let place = with_mail(&["First"]);
    let agent = green(&place);
    fs::write(place.file("input.json"), agent.example("PostToolUse").to_string()).unwrap();
    let mut command = place.shell("postrider hook claude PostToolUse --within 60000 <input.json >/dev/full");
    assert!(command.env("POSTRIDER_AGENT", "GreenDog").status().expect("a shell runs").success());
    assert!(agent.told("PostToolUse").unwrap().contains("First"));
    assert_eq!(agent.answer("PostToolUse"), None);
}

#[test]
fn hooks_at_once_tell_each_delivery_once() {
    let place = with_mail(&["First", "Second", "Third"]);
    let agent = green(&place);
    let input = agent.example("PostToolUse").to_string();
    let running: Vec<_> =
        (0..6).map(|_| agent.begin("PostToolUse", input.as_bytes(), &["--within", "60000"])).collect();
    let told: String = running.into_iter().filter_map(ended).map(|answer| answer.to_string()).collect();
    for subject in ["First", "Second", "Third"] {
        assert_eq!(told.matches(subject).count(), 1, "{told}");
    }
}

#[test]
fn reservations_stops_and_names_are_not_its_business() {
    let place = with_mail(&["First"]);
    let agent = green(&place);
    for event in ["PreToolUse", "Stop", "SessionEnd"] {
        assert_eq!(agent.answer(event), None, "{event}");
    }
    let nameless = Agent::new(&place, "claude", None);
    assert_eq!((nameless.answer("SessionStart"), nameless.answer("PostToolUse")), (None, None));
}

#[test]
fn a_program_that_fails_or_is_slow_silences_a_hook() {
    for script in ["echo broken >&2; exit 1", "exit 2", "echo nonsense", "sleep 5"] {
        let agent = green(&kept_by(script));
        let input = agent.example("PostToolUse").to_string();
        let ran = output_of(agent.begin("PostToolUse", input.as_bytes(), &[]));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{script}");
        assert_eq!(ran.stderr.lines().count(), 1, "{script}: {:?}", ran.stderr);
    }
}

#[test]
fn a_program_that_does_not_end_is_ended_with_its_hook() {
    let place = kept_by(r#"echo $$ >"$(dirname "$0")/leader"; sleep 1000 & echo $! >"$(dirname "$0")/child"; wait"#);
    let agent = green(&place);
    let input = agent.example("PostToolUse").to_string();
    let ran = output_of(agent.begin("PostToolUse", input.as_bytes(), &[]));
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(0), 1), "{}", ran.stderr);
    for process in ["leader", "child"] {
        let id = fs::read_to_string(place.file(process)).expect("the program was run");
        let state = Command::new("ps").args(["-o", "stat=", "-p", id.trim()]).output().expect("ps runs").stdout;
        let state = String::from_utf8_lossy(&state).trim().to_owned();
        // It may be that nobody has taken note of its end yet.
        assert!(state.is_empty() || state.starts_with('Z'), "{process} {id} is {state}");
    }
}
