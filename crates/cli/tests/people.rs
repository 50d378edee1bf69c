//! What a person wrote is shown as a human's at every door, and an agent that was retired is told of as such.

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::harness::mcp::{PROJECT, as_agent, message, with};
use crate::harness::{Place, Server};
use crate::hooks::Agent;

/// Makes a person of Anna, and a human's of all that she wrote, as the page does.
fn is_human(place: &Place) {
    let database = Connection::open(place.database()).expect("the database is there");
    database.execute("UPDATE message SET vouched = 'human' WHERE from_name = 'Anna'", []).expect("a table");
    database.execute("UPDATE agent SET program = 'person' WHERE name = 'Anna'", []).expect("a table");
}

/// An office in which Anna and GreenDog wrote to BlueLake, about a piece of work and in a channel.
fn office() -> Server {
    let server = Server::start();
    server.register(&["Anna", "GreenDog", "BlueLake"]);
    for from in ["Anna", "GreenDog"] {
        let more = json!({ "thread_id": "T-1", "body_md": "The parser, please." });
        server.call("send_message", with(message(from, "BlueLake", "Parser"), more));
        let more = json!({ "body_md": "Bead: bd-1\nProgress: 10%" });
        server.call("send_message", with(message(from, "BlueLake", "[bd-1] PROGRESS: parser"), more));
        server.call("send_message", with(message(from, "#dev", "Good morning"), json!({})));
    }
    is_human(&server.place);
    server
}

fn at_terminal(server: &Server, words: &[&str]) -> String {
    server.place.done(&[words, &["--project", PROJECT]].concat())
}

fn as_blue_lake(server: &Server, words: &[&str]) -> String {
    at_terminal(server, &[words, &["--as", "BlueLake"]].concat())
}

/// Who vouched for what each wrote, in a list of messages.
fn vouched(messages: &Value) -> Vec<(&str, Option<&str>)> {
    let messages = messages.as_array().expect("a list");
    let mut told: Vec<_> =
        messages.iter().map(|one| (one["from"].as_str().expect("a name"), one["vouched"].as_str())).collect();
    told.sort();
    told.dedup();
    told
}

const TOLD: [(&str, Option<&str>); 2] = [("Anna", Some("human")), ("GreenDog", None)];

#[test]
fn the_terminal_marks_what_a_person_wrote() {
    let server = office();
    let commands: [&[&str]; 8] = [
        &["mail", "inbox"],
        &["mail", "all"],
        &["mail", "peek", "1"],
        &["mail", "thread", "T-1"],
        &["mail", "search", "parser"],
        &["mail", "read", "1"],
        &["channel", "read", "dev"],
        &["work", "show", "bd-1"],
    ];
    for words in commands {
        let told = if words[0] == "work" { at_terminal(&server, words) } else { as_blue_lake(&server, words) };
        assert!(told.contains("Anna (human)"), "{words:?}: {told}");
        assert!(!told.contains("GreenDog (human)"), "{words:?}: {told}");
    }
    let who = at_terminal(&server, &["who"]);
    assert!(who.contains("Anna (human)") && !who.contains("GreenDog (human)"), "{who}");
}

#[test]
fn programs_are_told_who_vouched() {
    let server = office();
    let json = |words: &[&str]| server.place.json(&[words, &["--project", PROJECT, "--as", "BlueLake"]].concat());
    for words in [&["mail", "all"][..], &["mail", "thread", "T-1"], &["mail", "search", "parser"]] {
        assert_eq!(vouched(&json(words)), TOLD, "{words:?}");
    }
    assert_eq!(vouched(&json(&["channel", "read", "dev"])["messages"]), TOLD);
    let story = server.place.json(&["work", "show", "bd-1", "--project", PROJECT]);
    assert_eq!(vouched(&story["story"]), TOLD);
    let mut exec = server.place.command(&["exec-mail", "all", "BlueLake"]);
    let printed = exec.env("GC_CITY", PROJECT).output().expect("the binary runs");
    assert_eq!(vouched(&serde_json::from_slice(&printed.stdout).expect("a list")), TOLD);
}

#[test]
fn tools_and_resources_tell_who_vouched() {
    let server = office();
    let asked = |tool: &str, more: Value| server.call(tool, with(json!({ "project_key": PROJECT }), more));
    assert_eq!(vouched(&server.call("fetch_inbox", as_agent("BlueLake", json!({})))), TOLD);
    assert_eq!(vouched(&asked("search_messages", json!({ "query": "parser" }))), TOLD);
    let summary = asked("summarize_thread", json!({ "thread_id": "T-1" }));
    let participants =
        json!([{ "name": "Anna", "vouched": "human", "messages": 1 }, { "name": "GreenDog", "messages": 1 }]);
    assert_eq!(summary["participants"], participants);
    let channel = server.read(&format!("resource://channel/dev?project={PROJECT}"));
    assert_eq!(vouched(&channel["messages"]), TOLD);
    let message = server.read(&format!("resource://message/1?project={PROJECT}"));
    assert_eq!(message["vouched"], "human");
}

#[test]
fn hooks_tell_an_agent_that_a_person_wrote() {
    let server = office();
    let agent = Agent::new(&server.place, "claude", Some("BlueLake"));
    let project = json!({ "cwd": PROJECT });
    let told = |event: &str| {
        let answer = agent.answer_to(event, project.clone()).expect("something is told");
        answer["hookSpecificOutput"]["additionalContext"].as_str().expect("a text").to_owned()
    };
    for event in ["SessionStart", "UserPromptSubmit"] {
        let told = told(event);
        assert!(told.contains(" Anna (human): ") && told.contains(" GreenDog: "), "{event}: {told}");
    }
}

#[test]
fn nobody_calls_itself_human() {
    let server = office();
    let refused = server.refused("register_agent", json!({ "project_key": PROJECT, "name": "Otto (human)" }));
    assert_eq!(refused.code, "INVALID_ARGUMENT");
    let person = json!({ "project_key": PROJECT, "name": "Otto", "program": "person" });
    assert_eq!(server.refused("register_agent", person).code, "INVALID_ARGUMENT");
}

#[test]
fn a_retired_agent_is_not_among_those_who_are_there_and_is_marked_in_the_list_of_all() {
    let server = office();
    let database = Connection::open(server.place.database()).expect("the database is there");
    database.execute("UPDATE agent SET retired_at = 1700000000000000 WHERE name = 'GreenDog'", []).expect("a table");
    let names = |told: &Value| -> Vec<String> {
        let agents = told["agents"].as_array().expect("a list").iter();
        agents.map(|agent| agent["name"].as_str().expect("a name").to_owned()).collect()
    };
    let who = server.place.json(&["who", "--project", PROJECT]);
    assert_eq!(names(&who), ["Anna", "BlueLake"]);
    let told = at_terminal(&server, &["who"]);
    assert!(!told.contains("GreenDog") && told.contains("2 agents:"), "{told}");
    let all = server.read("resource://agents/data-projects-app");
    assert_eq!(names(&all), ["Anna", "GreenDog", "BlueLake"]);
    let retired: Vec<_> =
        all["agents"].as_array().expect("a list").iter().map(|agent| agent.get("retired_ts")).collect();
    assert_eq!(retired, [None, Some(&json!("2023-11-14T22:13:20.000000Z")), None], "only where it is so");
    let one = server.place.json(&["who", "GreenDog", "--project", PROJECT]);
    assert_eq!(one["agents"][0]["retired_ts"], "2023-11-14T22:13:20.000000Z", "who asks for it is told");
    let whois = server.call("whois", json!({ "project_key": PROJECT, "agent_name": "GreenDog" }));
    assert_eq!(whois["retired_ts"], "2023-11-14T22:13:20.000000Z");
    let session = Agent::new(&server.place, "claude", Some("GreenDog"));
    session.answer_to("SessionStart", json!({ "cwd": PROJECT }));
    assert_eq!(names(&server.place.json(&["who", "--project", PROJECT])).len(), 3, "its next session brings it back");
}

#[test]
fn what_only_a_person_may_do_is_no_tool() {
    let server = Server::start();
    server.register(&["GreenDog"]);
    for verb in ["archive_for", "release_for", "retire_for", "welcome_person"] {
        let call = json!({ "name": verb, "arguments": { "project_key": PROJECT, "person": "Anna", "agent_name": "GreenDog" } });
        let answer = server.rpc("tools/call", call);
        let told = answer["error"]["message"].as_str().expect("a message");
        assert!(told.starts_with("Unknown tool"), "{verb}: {answer}");
    }
}
