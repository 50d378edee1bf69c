//! Sessions of clients: which name each has over its life, and who one is at its shell.

use serde_json::{Value, json};

use crate::harness::mcp::{PROJECT, as_agent};
use crate::harness::repository::Repository;
use crate::harness::{Place, Server};
use crate::hooks::{Agent, ended};

const CLIENTS: [&str; 3] = ["claude", "codex", "gemini"];
/// Far longer than an answer takes.
const PATIENT: [&str; 2] = ["--within", "60000"];

/// What an agent is told when a session begins, with more members than the example has.
fn told(agent: &Agent, event: &str, more: Value) -> String {
    let answer = agent.answer_to(event, more).expect("an agent is told who it is");
    answer["hookSpecificOutput"]["additionalContext"].as_str().expect("text").to_owned()
}

fn name_in(told: &str) -> String {
    told.strip_prefix("You are ").and_then(|rest| rest.split(' ').next()).expect("a name").to_owned()
}

/// The name that a session with this id begins with.
fn begin(agent: &Agent, id: &str) -> String {
    name_in(&told(agent, "SessionStart", json!({ "session_id": id })))
}

fn end(agent: &Agent, id: &str) {
    assert_eq!(agent.answer_to("SessionEnd", json!({ "session_id": id, "reason": "other" })), None);
}

#[test]
fn a_session_that_is_cleared_keeps_its_name_and_its_reservations() {
    for client in CLIENTS {
        let server = Server::start();
        let agent = Agent::new(&server.place, client, None);
        let name = begin(&agent, "before");
        let paths = json!({ "paths": ["src/**"], "exclusive": true });
        server.call("file_reservation_paths", as_agent(&name, paths));
        if client != "codex" {
            assert_eq!(agent.answer_to("SessionEnd-clear", json!({ "session_id": "before" })), None);
        }
        let cleared = told(&agent, "SessionStart-clear", json!({ "session_id": "after" }));
        assert_eq!(name_in(&cleared), name, "{client}");
        assert!(cleared.contains("Your reservations: 1") && !cleared.contains("Other sessions"), "{client}: {cleared}");
    }
}

#[test]
fn the_next_session_of_a_client_in_a_working_tree_has_the_name_of_the_last_one() {
    for client in CLIENTS {
        let place = Place::new();
        let agent = Agent::new(&place, client, None);
        let name = begin(&agent, "first");
        assert_eq!(begin(&agent, "first"), name, "a session that goes on");
        let beside = begin(&agent, "second");
        assert_ne!(beside, name, "{client}: the first is still open");
        end(&agent, "first");
        assert_eq!(begin(&agent, "third"), name, "{client}");
        end(&agent, "second");
        end(&agent, "third");
        assert_eq!((begin(&agent, "fourth"), begin(&agent, "fifth")), (name, beside), "{client}: the oldest first");
    }
}

#[test]
fn another_client_another_tree_and_a_session_of_its_own_have_other_names() {
    let place = Place::new();
    let agent = Agent::new(&place, "claude", None);
    let name = begin(&agent, "first");
    end(&agent, "first");
    assert_ne!(begin(&Agent::new(&place, "gemini", None), "first"), name);
    let elsewhere = json!({ "session_id": "second", "cwd": "/data/projects/elsewhere" });
    assert_ne!(name_in(&told(&agent, "SessionStart", elsewhere)), name);
    let input = json!({ "session_id": "third", "cwd": PROJECT, "source": "startup" }).to_string();
    let own = ended(agent.begin("SessionStart", input.as_bytes(), &["--within", "60000", "--names", "per-session"]));
    assert!(!own.expect("an answer").to_string().contains(&format!("You are {name} ")));
}

#[test]
fn a_name_that_is_fixed_is_that_of_the_client_or_what_was_said() {
    let place = Place::new();
    let agent = Agent::new(&place, "codex", None);
    let input = agent.example("SessionStart").to_string();
    let fixed = |more: &[&str]| {
        let flags = [&PATIENT[..], &["--names", "fixed"], more].concat();
        ended(agent.begin("SessionStart", input.as_bytes(), &flags)).expect("an answer").to_string()
    };
    assert!(fixed(&[]).contains("You are codex "));
    assert!(fixed(&["--as", "Reviewer"]).contains("You are Reviewer "));
}

#[test]
fn two_sessions_under_one_name_are_told_of_each_other() {
    let place = Place::new();
    let agent = Agent::new(&place, "claude", Some("GreenDog"));
    assert!(!told(&agent, "SessionStart", json!({ "session_id": "first" })).contains("Other sessions"));
    let second = told(&agent, "SessionStart", json!({ "session_id": "second" }));
    assert!(second.contains("Other sessions under your name, each told a part of your mail: 1"), "{second}");
    end(&agent, "first");
    assert!(!told(&agent, "SessionStart", json!({ "session_id": "second" })).contains("Other sessions"));
}

#[test]
fn a_sub_agent_is_told_whose_it_is_and_a_name_of_its_own() {
    for client in ["claude", "codex"] {
        let place = Place::new();
        let agent = Agent::new(&place, client, None);
        let id = agent.example("SubagentStart")["session_id"].as_str().unwrap().to_owned();
        let name = begin(&agent, &id);
        let told = agent.told("SubagentStart").expect("it is told");
        assert!(told.contains(&format!("sub-agent of {name},")) && told.contains(&format!("'{name}/")), "{told}");
        let nobody = agent.answer_to("SubagentStart", json!({ "agent_type": "", "session_id": id }));
        assert_eq!(nobody, None, "{client}: a compaction begins one without a kind");
    }
}

#[test]
fn a_shell_of_a_session_knows_who_it_is() {
    for client in CLIENTS {
        let server = Server::start();
        server.register(&["BlueLake"]);
        let agent = Agent::new(&server.place, client, None);
        let name = begin(&agent, "one");
        let sent = ["mail", "send", "BlueLake", "-s", "Hi", "-m", "Hello", "--project", PROJECT];
        server.place.done(&sent);
        let inbox = server.call("fetch_inbox", as_agent("BlueLake", json!({})));
        assert_eq!(inbox[0]["from"], name.as_str(), "{client}");
        let said = server.place.run(&[&sent[..], &["--as", "BlueLake"]].concat());
        assert_eq!(said.code, Some(0), "what is said comes first: {}", said.stderr);
    }
}

#[test]
fn a_variable_that_another_terminal_was_started_with_is_not_believed() {
    let server = Server::start();
    server.register(&["BlueLake"]);
    // All terminals of Codex share one process, and so the environment of the first.
    let first = Agent::new(&server.place, "codex", Some("First"));
    assert_eq!(begin(&first, "first"), "First");
    let second = begin(&first, "second");
    assert_ne!(second, "First");
    let mut command =
        server.place.command(&["mail", "send", "BlueLake", "-s", "Hi", "-m", "Hello", "--project", PROJECT]);
    command.env("CODEX_THREAD_ID", "second");
    assert!(command.output().unwrap().status.success());
    let inbox = server.call("fetch_inbox", as_agent("BlueLake", json!({})));
    assert_eq!(inbox[0]["from"], second.as_str());
}

#[test]
fn the_guard_lets_the_holder_of_a_reservation_commit_at_its_own_shell() {
    let Some(repository) = Repository::new() else { return };
    let server = repository.place.serve();
    let agent = Agent::new(&repository.place, "gemini", None);
    let here = json!({ "session_id": "one", "cwd": repository.top });
    let name = name_in(&told(&agent, "SessionStart", here));
    repository.reserve(&server, &name, &["**"], true);
    repository.guard(&["install"]);
    repository.stage("a", "x");
    let made = repository.commit(None);
    assert_eq!((made.code, made.stderr.as_str()), (Some(0), ""), "{}", made.stdout);
    repository.stage("b", "y");
    let refused = repository.commit(Some("BlueLake"));
    assert!(refused.code == Some(1) && refused.stderr.starts_with("Not committed"), "{}", refused.stderr);
}
