//! What an agent is told of where it stood before its conversation was compacted.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::harness::Server;
use crate::harness::mcp::with;
use crate::hooks::{Agent, send_in};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// An agent with mail, reservations and questions, in a repository.
struct AtWork {
    server: Server,
    top: PathBuf,
    agent: Agent,
}

impl AtWork {
    fn new(client: &'static str) -> Self {
        let server = Server::start();
        let top = server.place.file("app");
        fs::create_dir_all(top.join(".git/refs/heads")).unwrap();
        let top = top.canonicalize().unwrap();
        let agent = Agent::new(&server.place, client, Some("GreenDog"));
        let work = Self { server, top, agent };
        work.stand_on("main");
        work.told("SessionStart", json!({})).expect("a session begins with a digest");
        work.call("register_agent", json!({ "name": "BlueLake" }));
        work.send("BlueLake", "GreenDog", "Please confirm", json!({ "ack_required": true }));
        work.send("GreenDog", "BlueLake", "Who takes it?", json!({ "ack_required": true }));
        let stuck = "Bead: bd-2\nIssue Type: STUCK\n\n## Problem\nIt hangs.\n\n## What I Tried\nWaiting.\n\n\
                     ## Files Touched\n- src/a.rs\n\n## Question\nWhich port?\n";
        work.send("GreenDog", "BlueLake", "[bd-2] HELP_REQUEST", json!({ "body_md": stuck }));
        work.call("file_reservation_paths", json!({ "agent_name": "GreenDog", "paths": ["src/parser/**"] }));
        work
    }

    fn stand_on(&self, branch: &str) {
        fs::write(self.top.join(".git/HEAD"), format!("ref: refs/heads/{branch}\n")).unwrap();
        fs::write(self.top.join(".git/refs/heads").join(branch), format!("{COMMIT}\n")).unwrap();
    }

    fn call(&self, tool: &str, arguments: Value) -> Value {
        self.server.call(tool, with(json!({ "project_key": self.top }), arguments))
    }

    fn send(&self, from: &str, to: &str, subject: &str, more: Value) {
        send_in(&self.server, self.top.to_str().unwrap(), from, to, subject, more);
    }

    fn answer(&self, event: &str, more: Value) -> Option<Value> {
        self.agent.answer_to(event, with(json!({ "cwd": self.top }), more))
    }

    fn told(&self, event: &str, more: Value) -> Option<String> {
        let answer = self.answer(event, more)?;
        Some(answer["hookSpecificOutput"]["additionalContext"].as_str().expect("something is told").to_owned())
    }

    /// Lets the checkpoint look as if it had been kept long ago.
    fn let_time_pass(&self) {
        let kept = fs::read_dir(self.server.place.home().join("sessions")).unwrap().flatten().map(|file| file.path());
        let kept: Vec<PathBuf> = kept.filter(|path| path.extension().is_some_and(|end| end == "checkpoint")).collect();
        assert_eq!(kept.len(), 1);
        let file = fs::File::options().write(true).open(&kept[0]).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(3_600)).unwrap();
    }
}

fn assert_says_where_it_stood(told: &str) {
    for part in [
        "Branch: main at 0123456789ab",
        "Unread: 1",
        "BlueLake: Please confirm [ack required]",
        "You have to acknowledge: 1",
        "You wait for an acknowledgement of: 2",
        "to BlueLake: Who takes it?",
        "Your reservations: 1",
        "- src/parser/** until 20",
        "pen requests for help: 1",
        "- bd-2 GreenDog: Which port?",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(told.matches("Which port?").count(), 1, "{told}");
    assert!(told.len() <= 1_200, "{} bytes: {told}", told.len());
}

#[test]
fn an_agent_whose_conversation_was_compacted_is_told_once_where_it_stood() {
    for client in ["claude", "codex"] {
        let work = AtWork::new(client);
        assert_eq!(work.answer("PreCompact", json!({})), None);
        let resumed = work.told("SessionStart", json!({ "source": "resume" })).unwrap();
        let other = work.told("SessionStart-compact", json!({ "session_id": "another" })).unwrap();
        assert!(!resumed.contains("Branch") && !other.contains("Branch"), "{client}: {resumed} {other}");
        assert_eq!(work.answer("SessionEnd", json!({ "session_id": "another" })), None);
        assert_says_where_it_stood(&work.told("SessionStart-compact", json!({})).unwrap());
        let again = work.told("SessionStart-compact", json!({})).unwrap();
        assert!(!again.contains("Branch") && again.contains("Unread: 1"), "{client}: {again}");
        work.answer("PreCompact", json!({}));
        assert_says_where_it_stood(&work.told("SessionStart-compact", json!({})).unwrap());
    }
}

#[test]
fn a_checkpoint_that_could_not_be_printed_is_told_by_the_next_start() {
    let work = AtWork::new("claude");
    work.answer("PreCompact", json!({}));
    let input = with(work.agent.example("SessionStart-compact"), json!({ "cwd": work.top }));
    fs::write(work.server.place.file("input.json"), input.to_string()).unwrap();
    let line = "postrider hook claude SessionStart --within 60000 <input.json >&-";
    let mut command = work.server.place.shell(line);
    assert!(command.env("POSTRIDER_AGENT", "GreenDog").status().expect("a shell runs").success());
    assert_says_where_it_stood(&work.told("SessionStart-compact", json!({})).unwrap());
}

#[test]
fn a_client_that_says_nothing_after_it_compacts_tells_at_the_next_prompt() {
    let work = AtWork::new("gemini");
    assert_eq!(work.answer("PreCompress", json!({})), None);
    let told = work.told("BeforeAgent", json!({})).unwrap();
    let (stood, mail) = told.split_once("\nYou have a new message.").expect("mail is told beside it");
    assert!(stood.starts_with("Where you stood before your conversation was last compacted:"), "{stood}");
    assert_says_where_it_stood(stood);
    assert!(mail.contains("Please confirm") && mail.contains("fetch_inbox"), "{mail}");
    assert_eq!(work.answer("BeforeAgent", json!({})), None, "once");
    work.answer("PreCompress", json!({}));
    assert!(work.told("BeforeAgent", json!({})).unwrap().contains("Branch"), "it was compacted again");
}

#[test]
fn an_event_before_every_call_of_the_model_tells_only_what_changed() {
    let work = AtWork::new("gemini");
    let stood = || work.told("BeforeAgent", json!({})).filter(|told| told.contains("Where you stood"));
    let automatic = || assert_eq!(work.answer("PreCompress-auto", json!({})), None);
    automatic();
    assert_says_where_it_stood(stood().expect("nothing was known before").split("\nYou have a new").next().unwrap());
    work.stand_on("side");
    automatic();
    assert_eq!(stood(), None, "it is looked at once a minute");
    work.let_time_pass();
    automatic();
    assert!(stood().expect("the branch changed").contains("Branch: side at"));
    work.let_time_pass();
    automatic();
    assert_eq!(stood(), None, "nothing changed");
}

#[test]
fn a_checkpoint_and_much_mail_together_stay_small() {
    let work = AtWork::new("gemini");
    let long = "the subject of a message that somebody had much to say in, and \"quoted\" a good deal ".repeat(3);
    for _ in 0..20 {
        work.send("BlueLake", "GreenDog", &long, json!({ "body_md": long.repeat(50), "ack_required": true }));
    }
    work.answer("PreCompress", json!({}));
    // That an answer is no longer than 4,000 bytes is checked of every one.
    let told = work.told("BeforeAgent", json!({})).unwrap();
    assert!(told.contains("Unread: 21") && told.contains("2 new messages") && told.contains("19 more wait"), "{told}");
}
