//! Idle sessions are woken: a stand-in for a client, which runs our hooks and our server inside itself and listens at a socket, gets a
//! line when mail comes, once, and what became of that is told.

mod stand_in;

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stand_in::{Claude, Running};

use crate::harness::mcp::{PROJECT, as_agent, with};
use crate::harness::{DEADLINE, Place, Server, within_deadline};
use crate::hooks::send;

/// Long enough for what must not happen to have happened.
const A_WHILE: Duration = Duration::from_secs(4);

fn office(place: &Place) -> Server {
    let server = place.serve();
    server.register(&["BlueLake", "GreenDog"]);
    server
}

fn urgent(server: &Server, to: &str, subject: &str) -> i64 {
    send(server, "BlueLake", to, subject, json!({ "importance": "urgent" }))
}

/// What became of the wake-ups of the only recipient of a message, once there is a word of it.
fn receipts(server: &Server, id: i64) -> Vec<String> {
    let begun = Instant::now();
    loop {
        let sent = server.call("read_message", json!({ "project_key": PROJECT, "message_id": id }));
        let told = sent["recipients"][0]["wake_ups"].as_array().cloned().unwrap_or_default();
        if !told.is_empty() || begun.elapsed() > A_WHILE {
            return told.iter().map(|one| one["outcome"].as_str().expect("a word").to_owned()).collect();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A session of GreenDog that waits for its user.
fn idle(place: &Place) -> Claude {
    let mut claude = Claude::start(place, "GreenDog", "one");
    claude.event("SessionStart");
    claude
}

#[test]
fn an_idle_session_is_woken_by_the_server_with_a_line_that_says_no_word_of_the_mail() {
    let place = Place::new();
    let server = office(&place);
    let claude = idle(&place);
    let id = urgent(&server, "GreenDog", "The house burns");
    let lines = claude.heard(DEADLINE).expect("a line comes");
    assert_eq!(lines[0], json!({ "type": "auth", "token": "EXAMPLE" }));
    let content = lines[1]["message"]["content"].as_str().expect("text");
    let told = format!(
        "Postrider: 1 unread message for GreenDog, from BlueLake (newest #{id}). Read: tool fetch_inbox of the MCP server postrider, \
         or in a shell: postrider mail inbox"
    );
    assert!(content.starts_with("<cross-session-message from=\"uds:") && content.contains(&told), "{content}");
    assert!(content.contains("from-name=\"postrider\" from-mode=\"prompting\">\n"), "{content}");
    assert!(!content.contains("burns"));
    assert_eq!((&lines[1]["type"], &lines[1]["priority"], lines.len()), (&json!("user"), &json!("next"), 2));
    assert_eq!(receipts(&server, id), ["delivered"]);
    urgent(&server, "GreenDog", "More");
    assert!(claude.heard(A_WHILE).is_none(), "nothing came of the first yet");
    let sent = place.json(&["mail", "sent", "--as", "BlueLake", "--project", PROJECT]);
    let first = &sent[0]["recipients"][0];
    assert_eq!(first["wake_ups"][0]["outcome"], "delivered", "{sent}");
    assert!(place.done(&["mail", "sent", "--as", "BlueLake", "--project", PROJECT]).contains("wake-up delivered"));
}

#[test]
fn mail_that_does_not_press_wakes_nobody_unless_all_mail_does() {
    for (settings, is_woken) in [("", false), ("[wake]\nfor = 'all'\n", true), ("[wake]\nfor = 'none'\n", false)] {
        let place = Place::with_settings(settings);
        let server = office(&place);
        let claude = idle(&place);
        server.mail("BlueLake", "GreenDog", "Lunch");
        let patience = if is_woken { DEADLINE } else { A_WHILE };
        assert_eq!(claude.heard(patience).is_some(), is_woken, "{settings}");
    }
}

#[test]
fn an_answer_to_a_question_wakes_whoever_asked() {
    let place = Place::new();
    let server = office(&place);
    let claude = idle(&place);
    let asked = send(&server, "GreenDog", "BlueLake", "Which port?", json!({}));
    let answer = json!({ "message_id": asked, "body_md": "8765." });
    let answered = server.call("reply_message", with(as_sender("BlueLake"), answer));
    assert!(claude.heard(DEADLINE).is_some());
    let thanks = json!({ "message_id": answered["id"], "body_md": "Thanks." });
    server.call("reply_message", with(as_sender("GreenDog"), thanks));
}

fn as_sender(name: &str) -> Value {
    json!({ "project_key": PROJECT, "sender_name": name })
}

#[test]
fn a_session_that_is_at_work_is_told_by_its_hooks_and_not_woken() {
    let place = Place::new();
    let server = office(&place);
    let mut claude = idle(&place);
    claude.event("UserPromptSubmit");
    claude.event("PreToolUse-Bash");
    let id = urgent(&server, "GreenDog", "Now");
    assert!(claude.heard(A_WHILE).is_none(), "it is in a tool call");
    let told = claude.event("PostToolUse").expect("mail is told").to_string();
    assert!(told.contains("Now"), "{told}");
    claude.event("Stop");
    assert!(claude.heard(A_WHILE).is_none(), "it was told");
    assert!(receipts(&server, id).is_empty());
}

#[test]
fn what_kept_a_session_from_stopping_does_not_wake_it_as_well() {
    let place = Place::new();
    let server = office(&place);
    let mut claude = idle(&place);
    claude.event("UserPromptSubmit");
    let id = urgent(&server, "GreenDog", "Before you go");
    let asked = claude.event("Stop").expect("it is asked to go on");
    assert_eq!(asked["decision"], "block");
    assert!(claude.event("Stop").is_none());
    assert!(claude.heard(A_WHILE).is_none());
    assert_eq!(receipts(&server, id), ["delivered"], "by the hook");
}

#[test]
fn a_process_inside_the_session_wakes_it_with_and_without_a_server() {
    for is_served in [true, false] {
        let place = Place::new();
        let served = office(&place);
        let mut claude = idle(&place);
        let server = if is_served {
            Some(served)
        } else {
            drop(served);
            None
        };
        claude.run("postrider stdio <stdio.in >stdio.out & exec 9>stdio.in");
        place.once(|| place.records().contains("\"inside\":{"), "stdio is inside");
        place.done(&[
            "mail",
            "send",
            "GreenDog",
            "-s",
            "Hi",
            "-m",
            "x",
            "--importance",
            "urgent",
            "--as",
            "BlueLake",
            "--project",
            PROJECT,
        ]);
        assert!(claude.heard(DEADLINE).is_some(), "{is_served}");
        assert!(claude.heard(A_WHILE).is_none(), "once");
        claude.run("exec 9>&-; wait");
        drop(server);
    }
}

#[test]
fn what_the_client_answers_is_the_receipt() {
    for (answer, outcome) in [("held", "held"), ("denied", "refused")] {
        let place = Place::new();
        let server = office(&place);
        let mut claude = idle(&place);
        claude.answers(answer);
        let id = urgent(&server, "GreenDog", "x");
        assert!(claude.heard(DEADLINE).is_some());
        assert_eq!(receipts(&server, id), [outcome]);
    }
}

#[test]
fn a_session_whose_process_was_killed_is_not_written_to_though_its_socket_is_there() {
    let place = Place::new();
    let server = office(&place);
    let mut claude = idle(&place);
    claude.kill();
    let id = urgent(&server, "GreenDog", "x");
    assert!(claude.heard(A_WHILE).is_none());
    assert!(receipts(&server, id).is_empty(), "nobody was woken");
}

#[test]
fn a_session_that_its_user_stopped_is_woken_once_it_goes_on() {
    let place = Place::new();
    let server = office(&place);
    let claude = idle(&place);
    claude.signal("STOP");
    urgent(&server, "GreenDog", "x");
    assert!(claude.heard(A_WHILE).is_none());
    claude.signal("CONT");
    assert!(claude.heard(DEADLINE).is_some());
}

#[test]
fn of_many_who_could_wake_a_session_one_does() {
    let place = Place::new();
    let server = office(&place);
    let mut claude = idle(&place);
    claude.run("postrider stdio <stdio.in >stdio.out & exec 9>stdio.in");
    let mut monitors: Vec<Running> =
        (0..3).map(|_| Running::start(&place, &["monitor", "claude", "--session", "one"])).collect();
    place.once(|| place.records().contains("\"inside\":{"), "somebody is inside");
    for round in 0..3 {
        let id = urgent(&server, "GreenDog", &format!("Round {round}"));
        let begun = Instant::now();
        let mut told = 0;
        while told == 0 && begun.elapsed() < DEADLINE {
            told += usize::from(claude.heard(Duration::from_millis(50)).is_some());
            told += monitors.iter().filter(|monitor| monitor.line(Duration::from_millis(50)).is_some()).count();
        }
        told += usize::from(claude.heard(A_WHILE).is_some());
        told += monitors.iter().filter(|monitor| monitor.line(Duration::from_millis(100)).is_some()).count();
        assert_eq!(told, 1, "{round}");
        assert_eq!(receipts(&server, id), ["delivered"]);
        // It reads, and whoever woke it dies.
        server.call("wait_for_mail", as_agent("GreenDog", json!({ "timeout_seconds": 0 })));
        if let Some(monitor) = monitors.pop() {
            monitor.kill();
        }
    }
    claude.run("exec 9>&-; wait");
}

#[test]
fn a_monitor_prints_a_line_and_ends_with_whoever_reads_it() {
    let place = Place::new();
    let server = office(&place);
    let mut claude = idle(&place);
    // Nobody else can wake it.
    claude.deafen();
    let mut command = place.command(&["monitor", "claude", "--session", "one"]);
    let mut monitor = command.stdout(Stdio::piped()).spawn().expect("the binary runs");
    let mut lines = BufReader::new(monitor.stdout.take().expect("a pipe"));
    let id = urgent(&server, "GreenDog", "x");
    let line = within_deadline("a line comes", move || {
        let mut line = String::new();
        // The other end of the pipe closes with this.
        lines.read_line(&mut line).map(|_| line)
    });
    let line = line.expect("it can be read");
    assert!(line.starts_with("Postrider: 1 unread message for GreenDog"), "{line}");
    assert_eq!(receipts(&server, id), ["delivered"]);
    within_deadline("the monitor ends", move || monitor.wait()).expect("it ends");
}

#[test]
fn a_thousand_messages_in_bursts_wake_an_idle_session_few_times_and_nobody_is_told_twice() {
    let place = Place::new();
    let server = office(&place);
    server.register(&["Busy", "Gone"]);
    let mut idle = idle(&place);
    let mut busy = Claude::start(&place, "Busy", "two");
    busy.event("SessionStart");
    busy.event("UserPromptSubmit");
    let mut gone = Claude::start(&place, "Gone", "three");
    gone.event("SessionStart");
    gone.event("SessionEnd");
    let (mut woken, mut told) = (0, Vec::new());
    let mut busy_told = Vec::new();
    for burst in 0..10 {
        for _ in 0..100 {
            let more = json!({ "importance": "urgent", "to": ["GreenDog", "Busy", "Gone"] });
            send(&server, "BlueLake", "GreenDog", "s", more);
        }
        busy.event("PreToolUse-Bash");
        busy_told.extend(numbers(busy.event("PostToolUse")));
        // Whoever was woken has a turn: it is told of some, and reads the rest.
        if idle.heard(Duration::from_millis(if burst == 0 { 30_000 } else { 200 })).is_some() {
            woken += 1;
            told.extend(numbers(idle.event("UserPromptSubmit")));
            told.extend(taken(&server, "GreenDog"));
            idle.event("Stop");
        }
    }
    told.extend(taken(&server, "GreenDog"));
    let sorted = |mut ids: Vec<i64>| {
        ids.sort_unstable();
        ids
    };
    let told = sorted(told);
    assert_eq!((told.len(), told.windows(2).all(|two| two[0] < two[1])), (1_000, true));
    assert!((1..=10).contains(&woken), "{woken}");
    busy_told.extend(taken(&server, "Busy"));
    assert_eq!(sorted(busy_told).windows(2).filter(|two| two[0] == two[1]).count(), 0);
    assert!(busy.heard(A_WHILE).is_none() && gone.heard(Duration::ZERO).is_none());
    let outcomes = server.call("read_outbox", as_agent("BlueLake", json!({ "limit": 1000, "include_bodies": false })));
    let count = |name: &str| {
        let messages = outcomes["messages"].as_array().expect("messages").iter();
        let of =
            messages.filter_map(|message| message["recipients"].as_array()?.iter().find(|one| one["name"] == name));
        of.filter(|one| one.get("wake_ups").is_some()).count()
    };
    assert!(count("GreenDog") >= 1 && count("Busy") == 0 && count("Gone") == 0, "{}", count("GreenDog"));
}

/// The numbers of the messages that a hook told of.
fn numbers(answer: Option<Value>) -> Vec<i64> {
    let text =
        answer.map(|answer| answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned());
    let text = text.unwrap_or_default();
    text.lines().filter_map(|line| line.strip_prefix('#')?.split(' ').next()?.parse().ok()).collect()
}

/// The numbers of what an agent takes that it was not shown.
fn taken(server: &Server, name: &str) -> Vec<i64> {
    let mut all = Vec::new();
    loop {
        let answer = server.call("wait_for_mail", as_agent(name, json!({ "timeout_seconds": 0, "limit": 100 })));
        let some: Vec<i64> = answer
            .get("result")
            .unwrap_or(&answer)
            .as_array()
            .expect("mail")
            .iter()
            .filter_map(|one| one["id"].as_i64())
            .collect();
        if some.is_empty() {
            return all;
        }
        all.extend(some);
    }
}

/// Sends a signal.
fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &pid.to_string()]).status();
    assert!(sent.expect("kill runs").success());
}
