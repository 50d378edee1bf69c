//! `compose`: what is printed is read back as it was meant, and what is sent arrives.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::harness::mcp::{PROJECT, as_agent};
use crate::harness::{Place, Ran, Server};

fn fed(place: &Place, arguments: &[&str], input: &str) -> Ran {
    let mut command = place.command(arguments);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("the binary reads");
    child.wait_with_output().expect("the binary ends").into()
}

/// A message as `postrider parse` reads it.
fn parsed(message: &Value) -> Value {
    let ran = fed(&Place::new(), &["parse", "--jsonl"], &message.to_string());
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr))
}

const DONE: [&str; 15] = [
    "compose",
    "done",
    "--bead",
    "bd-42",
    "--commit",
    "abc123",
    "--files",
    "src/a.rs,src/b.rs",
    "--tests",
    "pass",
    "--lint",
    "pass",
    "--build",
    "fail",
    "--summary",
];

/// Each kind with what it needs, and what `parse` makes of it.
fn kinds() -> Vec<(&'static str, Vec<&'static str>, Value)> {
    vec![
        (
            "BEAD_ACCEPTED",
            vec!["--bead", "bd-1", "--title", "feat: a", "--started-at", "2026-01-31T10:00:00Z"],
            json!({ "bead_id": "bd-1", "title": "feat: a", "started_at": "2026-01-31T10:00:00Z" }),
        ),
        (
            "PROGRESS",
            vec!["--bead", "bd-1", "--step", "4", "--status", "going", "--context-usage", "45%", "--files", "a,b"],
            json!({ "bead_id": "bd-1", "step": "4", "status": "going", "context_usage": 45, "files_touched": ["a", "b"] }),
        ),
        (
            "HELP_REQUEST",
            vec!["--bead", "bd-1", "--issue-type", "blocked", "--problem", "- p", "--tried", "t", "--question", "q?"],
            json!({ "bead_id": "bd-1", "issue_type": "BLOCKED", "problem": "- p", "what_tried": "t", "question": "q?" }),
        ),
        ("HELP_RESPONSE", vec!["--bead", "bd-1", "--guidance", "Look in lib."], json!({ "bead_id": "bd-1" })),
        (
            "FAILED",
            vec!["--bead", "bd-1", "--type", "TESTS_FAIL", "--reason", "r", "--attempts", "3", "--recommendation", "x"],
            json!({
                "bead_id": "bd-1", "status": "FAILED", "failure_type": "TESTS_FAIL", "reason": "r",
                "internal_attempts": 3, "recommendation": "x",
            }),
        ),
        (
            "CHECKPOINT",
            vec!["--bead", "bd-1", "--reason", "MANUAL", "--commit", "c", "--description", "d", "--next-steps", "n"],
            json!({
                "bead_id": "bd-1", "checkpoint_reason": "MANUAL", "partial_commit_sha": "c", "progress": "d",
                "next_steps": "n",
            }),
        ),
        (
            "SPAWN_REQUEST",
            vec!["--issue", "bd-1", "--resume", "--checkpoint", "c", "--orchestrator", "crank"],
            json!({
                "bead_id": "bd-1", "issue_id": "bd-1", "resume": true, "partial_commit_sha": "c",
                "orchestrator": "crank",
            }),
        ),
        (
            "SPAWN_ACK",
            vec!["--issue", "bd-1", "--status", "spawned", "--session", "s"],
            json!({ "bead_id": "bd-1", "issue_id": "bd-1", "status": "spawned", "session": "s" }),
        ),
    ]
}

#[test]
fn each_kind_is_printed_so_that_it_is_read_back_without_problems() {
    let place = Place::new();
    for (kind, flags, fields) in kinds() {
        let kebab = kind.to_lowercase().replace('_', "-");
        for name in [kind, kebab.as_str()] {
            let composed = place.json(&[&["compose", name], &flags[..]].concat());
            let read = parsed(&composed);
            assert_eq!((&read["type"], &read["problems"]), (&json!(kind), &json!([])), "{composed}");
            assert_eq!(read["parsed"], fields);
            assert_eq!(
                (&composed["thread_id"], &composed["subject"]),
                (&json!("bd-1"), &json!(format!("[bd-1] {kind}")))
            );
            let ack = ["HELP_REQUEST", "OFFERING_READY", "SPAWN_REQUEST"].contains(&kind);
            assert_eq!(composed["ack_required"], ack, "{kind}");
        }
    }
}

#[test]
fn a_message_is_printed_with_its_subject_above_its_body() {
    let place = Place::new();
    let words = [&DONE[..], &["Works."]].concat();
    let printed = place.done(&words);
    let composed = place.json(&words);
    let (subject, body) = printed.split_once("\n\n").unwrap();
    assert_eq!(
        (subject, body),
        (composed["subject"].as_str().unwrap(), format!("{}\n", composed["body"].as_str().unwrap()).as_str())
    );
    assert_eq!(subject, "[bd-42] DONE");
    assert_eq!(parsed(&composed)["parsed"]["build_pass"], Value::Null);
}

#[test]
fn a_long_text_comes_from_standard_input_or_a_file() {
    let place = Place::new();
    std::fs::write(place.file("tried.md"), "1. this\n2. that\n").unwrap();
    let help = ["compose", "help-request", "--bead", "bd-1", "--issue-type", "STUCK", "--question", "@@codex, why?"];
    let ran =
        fed(&place, &[&help[..], &["--problem", "-", "--tried", "@tried.md", "--json"]].concat(), "It is\n## stuck\n");
    let read = &parsed(&serde_json::from_str(&ran.stdout).unwrap())["parsed"];
    assert_eq!(read["problem"], "It is\n\\## stuck");
    assert_eq!((&read["what_tried"], &read["question"]), (&json!("1. this\n2. that"), &json!("@codex, why?")));
    let twice = fed(&place, &[&help[..], &["--problem", "-", "--tried", "-"]].concat(), "x");
    assert!(twice.code == Some(1) && twice.stderr.contains("--problem and --tried"), "{}", twice.stderr);
    let gone = place.run(&[&help[..], &["--problem", "@gone.md"]].concat());
    assert!(gone.code == Some(1) && gone.stderr.contains("gone.md"), "{}", gone.stderr);
}

#[test]
fn what_is_missing_or_wrong_is_refused_all_at_once() {
    let place = Place::new();
    let words = ["compose", "done", "--bead", "bd-1", "--tests", "maybe"];
    let told = place.run(&words);
    assert_eq!((told.code, told.stdout.as_str()), (Some(1), ""));
    for flag in ["--tests is 'maybe'", "--commit is missing", "--lint", "--build", "--summary"] {
        assert!(told.stderr.contains(flag), "no '{flag}' in {}", told.stderr);
    }
    assert!(!told.stderr.contains("--bead"), "{}", told.stderr);
    assert!(told.stderr.contains("this DONE message is neither complete nor right:"), "{}", told.stderr);
    let json = place.run(&[&words[..], &["--json"]].concat());
    let error = serde_json::from_str::<Value>(&json.stdout).unwrap()["error"].clone();
    assert_eq!((json.code, &error["code"]), (Some(1), &json!("MALFORMED_MESSAGE")));
    assert_eq!(error["problems"].as_array().unwrap().len(), 5, "{error}");
    assert_eq!(error["hint"], "Pass --commit, --lint, --build, --summary. Correct --tests.");
    for words in [&["compose"][..], &["compose", "chat"], &["compose", "done", "--step", "x"]] {
        assert_eq!(place.run(words).code, Some(1), "{words:?}");
    }
}

#[test]
fn a_message_is_sent_with_the_thread_and_the_acknowledgement_of_its_kind() {
    let server = Server::start();
    server.register(&["Worker", "Chief", "Clerk"]);
    let help =
        ["compose", "help-request", "--bead", "bd-7", "--issue-type", "STUCK", "--problem", "p", "--question", "q"];
    let way =
        ["--send", "--project", PROJECT, "--from", "Worker", "--to", "Chief", "--cc", "Clerk", "--importance", "high"];
    let sent = server.place.json(&[&help[..], &way].concat());
    assert_eq!((&sent["thread_id"], &sent["ack_required"]), (&json!("bd-7"), &json!(true)), "{sent}");
    assert_eq!((&sent["kind"], &sent["count"]), (&json!("HELP_REQUEST"), &json!(2)), "{sent}");
    let told = server.place.done(&[&help[..], &way].concat());
    assert!(told.contains("Chief") && told.contains("'bd-7'") && told.contains("acknowledgement"), "{told}");
    let inbox = server.call("fetch_inbox", as_agent("Chief", json!({ "include_bodies": true })));
    let mail = inbox.as_array().unwrap();
    assert_eq!((mail.len(), &mail[0]["subject"]), (2, &json!("[bd-7] HELP_REQUEST")));
    assert_eq!((&mail[0]["importance"], &mail[0]["from"]), (&json!("high"), &json!("Worker")));
}

#[test]
fn a_message_is_sent_where_no_server_runs_and_by_what_the_environment_says() {
    let server = Server::start();
    server.register(&["Worker", "Chief"]);
    let place = server.place.clone();
    server.stop();
    let mut command = place.command(&["compose", "--send", "--to", "Chief", "Worker", "spawn-ack", "--json"]);
    command
        .args(["--issue", "bd-8", "--status", "failed"])
        .env("POSTRIDER_AGENT", "Worker")
        .env("POSTRIDER_PROJECT", PROJECT);
    let ran: Ran = command.output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap()["to"], json!(["Chief", "Worker"]));
}

#[test]
fn a_message_that_cannot_be_sent_is_refused_with_the_way_out() {
    let server = Server::start();
    server.register(&["Worker", "Chief"]);
    let ack = ["compose", "spawn-ack", "--issue", "bd-8", "--status", "spawned"];
    let refused = |more: &[&str]| {
        let ran = server.place.run(&[&ack[..], more].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{more:?}");
        ran.stderr
    };
    let in_vain = [
        ["--to", "Chief"],
        ["--cc", "Chief"],
        ["--thread", "t"],
        ["--reply-to", "1"],
        ["--importance", "low"],
        ["--idempotency-key", "k"],
    ];
    for given in in_vain {
        let told = refused(&given);
        assert!(told.contains("--send") && told.contains(given[0]), "{told}");
    }
    assert!(refused(&["--send", "--from", "Worker"]).contains("--to"));
    assert!(refused(&["--send", "--to", "Chief"]).contains("POSTRIDER_AGENT"));
    let elsewhere = refused(&["--send", "--from", "Worker", "--to", "Chief"]);
    assert!(elsewhere.contains("no mail yet") && elsewhere.contains("--project"), "{elsewhere}");
    assert!(!elsewhere.contains("ensure_project"), "{elsewhere}");
    let both = refused(&["--send", "--from", "Worker", "--to", "Chief", "--thread", "t", "--reply-to", "1"]);
    assert!(both.contains("--thread") && both.contains("--reply-to"), "{both}");
    let unknown = refused(&["--send", "--from", "Worker", "--to", "Cheif", "--project", PROJECT]);
    assert!(unknown.contains("Cheif") && unknown.contains("Chief"), "{unknown}");
    assert!(refused(&["--send", "--importance", "huge"]).contains("urgent"));
    let inbox = server.call("fetch_inbox", as_agent("Chief", json!({})));
    assert_eq!(inbox, json!([]));
}

/// A command that is sent in the tests' project.
fn sent<'a>(words: &[&'a str], way: &[&'a str]) -> Vec<&'a str> {
    [&["compose"], words, &["--send", "--project", PROJECT], way].concat()
}

const PROGRESS: [&str; 7] = ["progress", "--bead", "bd-7", "--step", "1", "--status", "going"];

#[test]
fn where_names_are_proved_a_message_is_sent_with_the_token_of_its_sender() {
    let server = Place::with_settings("identity = \"strict\"").serve();
    server.call("ensure_project", json!({ "human_key": PROJECT }));
    let token = |name: &str| {
        let agent = server.call("register_agent", json!({ "project_key": PROJECT, "name": name }));
        agent["registration_token"].as_str().expect("registering returns a token").to_owned()
    };
    let (worker, chief) = (token("Worker"), token("Chief"));
    let way = ["--from", "Worker", "--to", "Chief"];
    for wrong in [&[][..], &["--token", ""], &["--token", &chief]] {
        let ran = server.place.run(&sent(&PROGRESS, &[&way, wrong].concat()));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("--token") && ran.stderr.contains("POSTRIDER_REGISTRATION_TOKEN"),
            "{}",
            ran.stderr
        );
        assert!(!ran.stderr.contains(&chief), "no token is told: {}", ran.stderr);
    }
    assert_eq!(server.place.json(&sent(&PROGRESS, &[&way[..], &["--token", &worker]].concat()))["count"], 1);
    let by_environment = |arguments: &[&str]| -> Ran {
        server.place.command(arguments).env("POSTRIDER_REGISTRATION_TOKEN", &worker).output().unwrap().into()
    };
    let ran = by_environment(&sent(&PROGRESS, &way));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for shown in [by_environment(&["compose", "--help"]), by_environment(&sent(&["chat"], &way))] {
        assert!(!shown.stdout.contains(&worker) && !shown.stderr.contains(&worker), "{}{}", shown.stdout, shown.stderr);
    }
}

#[test]
fn a_message_that_is_sent_again_with_its_key_is_there_once() {
    let server = Server::start();
    server.register(&["Worker", "Chief"]);
    let way = ["--from", "Worker", "--to", "Chief", "--idempotency-key", "k-1"];
    let first = server.place.json(&sent(&PROGRESS, &way));
    assert_eq!(server.place.json(&sent(&PROGRESS, &way))["id"], first["id"]);
    let other = server.place.run(&sent(&["spawn-ack", "--issue", "bd-7", "--status", "failed"], &way));
    assert!(other.code == Some(1) && other.stderr.contains("IDEMPOTENCY_CONFLICT"), "{}", other.stderr);
    let inbox = server.call("fetch_inbox", as_agent("Chief", json!({})));
    assert_eq!(inbox.as_array().map(Vec::len), Some(1));
}

#[test]
fn names_stand_apart_or_have_commas_between_them() {
    let server = Server::start();
    server.register(&["Worker", "Chief", "Clerk", "Cook"]);
    for to in [&["--to", "Chief,Clerk"][..], &["--to", "Chief, Clerk,"], &["--to", "Chief", "Clerk"]] {
        let words = sent(&PROGRESS, &[&["--from", "Worker", "--cc", "Cook,Worker"], to].concat());
        let sent = server.place.json(&words);
        assert_eq!((&sent["to"], &sent["cc"]), (&json!(["Chief", "Clerk"]), &json!(["Cook", "Worker"])), "{to:?}");
    }
}

#[test]
fn an_answer_reaches_its_question() {
    let server = Server::start();
    server.register(&["Worker", "Chief"]);
    let help = ["help-request", "--bead", "bd-7", "--issue-type", "STUCK", "--problem", "p", "--question", "q"];
    let ask = || server.place.json(&sent(&help, &["--from", "Worker", "--to", "Chief"]));
    let state = || server.place.json(&["work", "--project", PROJECT])["items"][0]["state"].clone();
    let answer = ["help-response", "--guidance", "In lib."];
    let question = ask();
    assert_eq!(state(), "help_wanted");
    let reply = server.place.json(&sent(&answer, &["--from", "Chief", "--reply-to", &question["id"].to_string()]));
    assert_eq!((&reply["to"], &reply["reply_to"]), (&json!(["Worker"]), &question["id"]), "{reply}");
    assert_eq!((&reply["subject"], &reply["thread_id"]), (&json!("HELP_RESPONSE"), &json!("bd-7")), "{reply}");
    assert_ne!(state(), "help_wanted");
    ask();
    assert_eq!(state(), "help_wanted");
    let reply = server.place.json(&sent(&answer, &["--from", "Chief", "--to", "Worker", "--thread", "bd-7"]));
    assert_eq!((&reply["thread_id"], &reply["kind"]), (&json!("bd-7"), &json!("HELP_RESPONSE")), "{reply}");
    assert_ne!(state(), "help_wanted");
    let gone = server.place.run(&sent(&answer, &["--from", "Chief", "--reply-to", "99"]));
    assert!(gone.code == Some(1) && gone.stderr.contains("MESSAGE_NOT_FOUND"), "{}", gone.stderr);
    let word = server.place.run(&sent(&answer, &["--from", "Chief", "--reply-to", "x"]));
    assert!(word.code == Some(1) && word.stderr.contains("--reply-to"), "{}", word.stderr);
}
