//! Sessions of clients: which name each has over its life, and who one is at its shell.

use serde_json::{Value, json};

use crate::harness::mcp::{PROJECT, as_agent};
use crate::harness::repository::Repository;
use crate::harness::{Place, Server};
use crate::hooks::{Agent, ended, output_of};

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
fn a_start_that_fails_costs_no_name_and_the_next_prompt_makes_up_for_it() {
    let place = Place::new();
    let agent = Agent::new(&place, "claude", None);
    let name = begin(&agent, "first");
    end(&agent, "first");
    // It comes back by registering, for which nobody can write now.
    place.done(&["retire", &name, "--project", PROJECT]);
    let locked = rusqlite::Connection::open(place.database()).expect("the database is there");
    locked.execute_batch("BEGIN IMMEDIATE").expect("nobody else writes");
    let input = json!({ "session_id": "second", "cwd": PROJECT, "source": "startup" }).to_string();
    let failed = output_of(agent.begin("SessionStart", input.as_bytes(), &[]));
    assert_eq!(failed.stdout, "", "{}", failed.stderr);
    locked.execute_batch("ROLLBACK").expect("a transaction ends");
    let prompt = |id: &str| agent.answer_to("UserPromptSubmit", json!({ "session_id": id }));
    assert_eq!(name_in(&told(&agent, "UserPromptSubmit", json!({ "session_id": "second" }))), name);
    assert_eq!(prompt("second"), None, "it is told once");
    assert_eq!(name_in(&told(&agent, "UserPromptSubmit", json!({ "session_id": "cleared" }))), name);
}

#[test]
fn a_start_tells_the_office_that_was_told_of_them_of_all_sessions_that_died() {
    let elsewhere = Server::start();
    let url = format!("http://{}/mcp", elsewhere.address);
    let place = Place::with_settings(&format!("url = '{url}'\n"));
    let names: Vec<String> = CLIENTS.map(|client| begin(&Agent::new(&place, client, None), "one")).into();
    for file in std::fs::read_dir(place.home().join("sessions")).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let Ok(mut record) = serde_json::from_str::<Value>(&text) else { continue };
        if record["agent"].is_string() {
            assert_eq!(record["office"], url.as_str());
            record["process"] = json!({ "pid": 1, "started": u64::MAX });
            std::fs::write(path, record.to_string()).unwrap();
        }
    }
    let again = begin(&Agent::new(&place, "codex", None), "two");
    let open = names.iter().filter(|name| {
        let about = elsewhere.call("whois", as_agent(name, json!({})));
        !about["sessions"].as_array().is_none_or(Vec::is_empty)
    });
    assert_eq!(open.collect::<Vec<_>>(), [&again]);
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
fn a_name_of_one_project_is_nobodys_in_another() {
    let server = Server::start();
    let agent = Agent::new(&server.place, "claude", None);
    let name = begin(&agent, "one");
    let elsewhere = "/data/projects/lib";
    server.place.done(&["join", "Other", "--project", elsewhere]);
    let inbox = ["mail", "inbox", "--project", elsewhere];
    let refused = server.place.run(&inbox);
    let advice = format!("You are '{name}' in the project '{PROJECT}'. Pass --as NAME, or --project {PROJECT}.");
    assert!(refused.code == Some(1) && refused.stderr.contains(&advice), "{}", refused.stderr);
    server.place.done(&[&inbox[..], &["--as", "Other"]].concat());
    server.place.done(&["mail", "inbox", "--project", PROJECT]);
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
    for file in std::fs::read_dir(server.place.home().join("sessions")).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        if text.contains(r#""agent":"First""#) {
            std::fs::write(path, text.replace(r#""has_ended":false"#, r#""has_ended":true"#)).unwrap();
        }
    }
    assert_eq!(begin(&first, "second"), second, "also when the first one is closed");
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
