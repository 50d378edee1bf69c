//! What comes in from NATS: what foreign agents publish, and what another post office says.

use std::time::Instant;

use serde_json::{Value, json};
use testing::nats::Nats;

use crate::harness::mcp::{PROJECT, as_agent, message, with};
use crate::harness::{DEADLINE, Place, Server};

const DEV: &str = "postrider.data-projects-app.channel.dev";

/// A document as a foreign agent writes it.
fn document(hex4: &str, text: &str) -> Value {
    json!({
        "id": format!("msg-20260111-163315-claude-{hex4}"), "timestamp": "2026-01-11T16:33:15.123Z",
        "session_id": "dev", "from": "claude", "to": "codex", "type": "chat",
        "content": { "text": text, "code": null, "artifacts": [] }, "metadata": { "mode": "chat" },
    })
}

/// Waits for mail, and returns the subjects of what came.
fn awaited(server: &Server, agent: &str) -> Vec<String> {
    let came = server.call("wait_for_mail", as_agent(agent, json!({ "timeout_seconds": 45 })));
    subjects(&came)
}

/// The subjects in an agent's inbox, oldest first.
fn inbox(server: &Server, agent: &str) -> Vec<String> {
    let mut all = subjects(&server.call("fetch_inbox", as_agent(agent, json!({ "limit": 500 }))));
    all.reverse();
    all
}

fn subjects(page: &Value) -> Vec<String> {
    let messages = page.as_array().or(page["messages"].as_array()).expect("a list of messages");
    messages.iter().map(|one| one["subject"].as_str().expect("mail has a subject").to_owned()).collect()
}

/// Calls somebody in a channel, who may be registered elsewhere.
fn call(server: &Server, from: &str, whom: &str, text: &str) {
    let text = format!("@{whom} {text}");
    server.call("send_message", with(message(from, "", &text), json!({ "to": ["#dev"], "body_md": text })));
}

fn until(what: &str, server: &Server, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < DEADLINE, "never: {what}; {}", server.place.log());
    }
}

#[test]
fn what_a_foreign_agent_publishes_is_mail_once_and_nothing_it_publishes_stops_the_rest() {
    let Some(nats) = Nats::start("messages of foreign agents") else { return };
    let server = Place::with_settings(&nats.toml()).serve();
    server.register(&["codex"]);
    let client = nats.client();
    client.until("the agent", |held| !held.is_empty());
    let first = document("0001", "first").to_string();
    let bad_name = with(document("0002", "bad name"), json!({ "from": "\u{7}" })).to_string();
    let bad_id = with(document("0003", "bad id"), json!({ "id": "no-such-form" })).to_string();
    for payload in [&first, "", "{", "[1]", "\u{0}", &bad_id, &bad_name, &first, &first[..50]] {
        client.publish(DEV, payload);
    }
    client.publish("postrider.data-projects-app.channel.%2E%2E", &document("0004", "bad channel").to_string());
    client.publish("postrider.data-projects-app.channel.other", &document("0005", "elsewhere").to_string());
    client.publish(DEV, &document("0006", "last").to_string());
    until("the last one", &server, || inbox(&server, "codex").last().is_some_and(|subject| subject == "last"));
    assert_eq!(inbox(&server, "codex"), ["first", "elsewhere", "last"], "{}", server.place.log());
    let held = client.held();
    assert_eq!(held.iter().filter(|one| one.payload.contains("\"last\"")).count(), 1, "it is not published again");
}

#[test]
fn a_call_on_one_machine_wakes_the_agent_on_the_other_and_the_answer_comes_back_once() {
    let Some(nats) = Nats::start("two post offices") else { return };
    let (here, there) = (Place::with_settings(&nats.toml()).serve(), Place::with_settings(&nats.toml()).serve());
    here.register(&["claude"]);
    there.register(&["codex"]);
    nats.client().until("both", |held| held.iter().filter(|one| one.event == "agent.registered").count() >= 2);
    let waiting = there.begin("wait_for_mail", &as_agent("codex", json!({ "timeout_seconds": 45 })));
    there.until_under_way(1);
    call(&here, "claude", "codex", "Are you there?");
    assert_eq!(subjects(&waiting.answer().expect("mail comes")), ["@codex Are you there?"]);
    call(&there, "codex", "claude", "I am.");
    assert_eq!(awaited(&here, "claude"), ["@claude I am."]);
    for number in 0..20 {
        call(&here, "claude", "codex", &format!("number {number}"));
        call(&there, "codex", "claude", &format!("answer {number}"));
    }
    let all = |whom: &str, first: &str, what: &str| -> Vec<String> {
        let others = (0..20).map(|number| format!("{whom} {what} {number}"));
        [format!("{whom} {first}")].into_iter().chain(others).collect()
    };
    until("all of it", &there, || inbox(&there, "codex").len() >= 21 && inbox(&here, "claude").len() >= 21);
    assert_eq!(inbox(&there, "codex"), all("@codex", "Are you there?", "number"));
    assert_eq!(inbox(&here, "claude"), all("@claude", "I am.", "answer"));
    let client = nats.client();
    let posts = client.held().iter().filter(|one| one.subject == DEV).count();
    assert_eq!(posts, 42, "what came from NATS is not published again");
}

#[test]
fn a_post_office_that_was_away_takes_in_what_was_said_once_and_in_order() {
    let Some(nats) = Nats::start("a post office that was away") else { return };
    let (here, there) = (Place::with_settings(&nats.toml()).serve(), Place::with_settings(&nats.toml()).serve());
    here.register(&["claude"]);
    there.register(&["codex"]);
    call(&here, "claude", "codex", "number 0");
    assert_eq!(awaited(&there, "codex"), ["@codex number 0"]);
    let place = there.place.clone();
    there.kill();
    for number in 1..10 {
        call(&here, "claude", "codex", &format!("number {number}"));
    }
    let there = place.serve();
    until("all of it", &there, || inbox(&there, "codex").len() >= 10);
    let wanted: Vec<String> = (0..10).map(|number| format!("@codex number {number}")).collect();
    assert_eq!(inbox(&there, "codex"), wanted);
}

#[test]
fn what_bears_the_name_of_our_office_and_is_not_ours_is_taken_in() {
    let Some(nats) = Nats::start("a forged header") else { return };
    let server = Place::with_settings(&nats.toml()).serve();
    server.register(&["codex"]);
    let client = nats.client();
    let office = client.until("the agent", |held| !held.is_empty())[0].office.clone();
    client.publish_as(&office, DEV, &document("0001", "forged").to_string());
    assert_eq!(awaited(&server, "codex"), ["forged"]);
}

#[test]
fn offices_that_share_a_folder_and_nats_have_everything_once() {
    let Some(nats) = Nats::start("a folder and NATS together") else { return };
    let folder = tempfile::tempdir().expect("the system has a folder for temporary files");
    let shared = format!("{}[channels]\n\"{PROJECT}\" = \"{}\"\n", nats.toml(), folder.path().display());
    let (one, two) = (Place::with_settings(&shared).serve(), Place::with_settings(&shared).serve());
    let far = Place::with_settings(&nats.toml()).serve();
    for server in [&one, &two, &far] {
        server.register(&["claude", "codex"]);
    }
    let dev = folder.path().join("channels/dev");
    std::fs::create_dir_all(&dev).expect("the folder can be written to");
    for number in 0..5 {
        call(&one, "claude", "codex", &format!("one {number}"));
        call(&two, "claude", "codex", &format!("two {number}"));
        call(&far, "claude", "codex", &format!("far {number}"));
        let hex4 = format!("000{number}");
        let dropped = document(&hex4, &format!("@codex file {number}")).to_string();
        std::fs::write(dev.join(format!("msg-20260111-163315-claude-{hex4}.json")), dropped).expect("room");
    }
    let mut wanted: Vec<String> = ["one", "two", "far", "file"]
        .into_iter()
        .flat_map(|from| (0..5).map(move |number| format!("@codex {from} {number}")))
        .collect();
    wanted.sort();
    let client = nats.client();
    let posts = || client.held().iter().filter(|held| held.subject == DEV).count();
    // Without those that are just being written.
    let is_file = |entry: &std::fs::DirEntry| !entry.file_name().to_string_lossy().starts_with('.');
    let entries = || std::fs::read_dir(&dev).expect("the folder is there").map(|entry| entry.expect("it is read"));
    let files = || entries().filter(is_file).count();
    for server in [&one, &two, &far] {
        until("all of it", server, || inbox(server, "codex").len() >= 20 && posts() >= 20 && files() >= 20);
    }
    // Whatever comes twice would come before this.
    call(&far, "claude", "codex", "at last");
    wanted.push("@codex at last".to_owned());
    wanted.sort();
    for server in [&one, &two, &far] {
        until("the last", server, || inbox(server, "codex").iter().any(|subject| subject == "@codex at last"));
        let mut all = inbox(server, "codex");
        all.sort();
        assert_eq!(all, wanted, "{}", server.place.log());
    }
    until("the last file", &one, || files() >= 21);
    assert_eq!((posts(), files()), (21, 21));
}
