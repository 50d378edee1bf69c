//! Who is awake on one machine is known on the others, through NATS alone.

use std::fs;

use jiff::Timestamp;
use serde_json::{Value, json};
use testing::nats::{Client, Held, Nats};

use crate::harness::mcp::{PROJECT, as_agent, message, with};
use crate::harness::{Place, Server};
use crate::watchers::{Watcher, until};

const PRESENCE: &str = "postrider.data-projects-app.presence";
const LIVE: &str = "postrider-live.data-projects-app";

fn serve(nats: &Nats, agents: &[&str]) -> Server {
    let server = Place::with_settings(&nats.toml()).serve();
    server.register(agents);
    server
}

/// What an office knows of an agent's presence; null if it does not know the agent.
fn presence(server: &Server, agent: &str) -> Value {
    let agents = server.read("resource://agents/data-projects-app");
    let agents = agents["agents"].as_array().unwrap_or_else(|| panic!("a list of agents: {agents}")).clone();
    agents.iter().find(|known| known["name"] == agent).map_or(json!(null), |known| known["presence"].clone())
}

fn state(server: &Server, agent: &str) -> Value {
    presence(server, agent)["state"].clone()
}

/// Waits until every office is heard by this one: what is said before is heard by nobody.
fn until_heard(client: &Client, server: &Server, agent: &str) {
    client.until("the stream is there", |held| !held.is_empty());
    let heartbeat = json!({ "agent_id": agent, "timestamp": "2026-01-11T16:33:15.123Z", "state": "OFFLINE" });
    until("somebody else is heard", || {
        client.publish(&format!("{PRESENCE}.{agent}"), &heartbeat.to_string());
        state(server, agent) == "OFFLINE"
    });
}

#[test]
fn who_is_awake_on_one_machine_is_seen_on_the_other() {
    let Some(nats) = Nats::start("presence") else { return };
    let (here, there) = (serve(&nats, &["claude"]), serve(&nats, &["codex"]));
    let client = nats.client();
    until_heard(&client, &here, "gemini");
    until("the agent of the other office", || {
        let text = json!({ "to": ["#dev"], "body_md": "I am awake" });
        there.call("send_message", with(message("codex", "", "awake"), text));
        state(&here, "codex") == "AWAKE"
    });
}

#[test]
fn an_office_that_starts_later_learns_who_is_awake_elsewhere() {
    let Some(nats) = Nats::start("presence at the start") else { return };
    let _here = serve(&nats, &["claude"]);
    let client = nats.client();
    client.until("the agent", |held| held.iter().any(|one| one.event == "presence.changed"));
    let there = serve(&nats, &["codex"]);
    until("who is awake elsewhere", || state(&there, "claude") == "AWAKE");
}

#[test]
fn an_idle_watcher_stays_awake_elsewhere_and_the_stream_does_not_grow_by_that() {
    let Some(nats) = Nats::start("the presence of idle watchers") else { return };
    let (here, there) = (serve(&nats, &["claude"]), serve(&nats, &["gemini"]));
    let client = nats.client();
    let _watcher = Watcher::start(&here.place, "codex", "cat");
    until("the watcher is seen", || state(&there, "codex") == "AWAKE");
    let seen = || presence(&there, "codex")["seen_ts"].as_str().expect("a time").to_owned();
    // What its beginning had to tell is in the stream: that it watches, and that both offices know its name.
    let of_codex = |one: &&Held| one.subject.ends_with("presence.codex");
    let is_begun = |held: &[Held]| {
        held.iter().filter(of_codex).any(|one| one.payload.contains("watcher_pid"))
            && held.iter().filter(of_codex).filter(|one| one.event == "agent.registered").count() == 2
    };
    let (first, held) = (seen(), client.until("what its beginning tells", is_begun).len());
    until("its next sign of life", || {
        client.say(&format!("{LIVE}.who"), "");
        seen() > first
    });
    let more = client.held().split_off(held);
    assert!(more.iter().all(|one| !one.subject.ends_with("presence.codex")), "{more:?}");
}

#[test]
fn what_was_heard_on_nats_is_not_said_there_again() {
    let Some(nats) = Nats::start("the presence of others") else { return };
    let servers = [serve(&nats, &["claude"]), serve(&nats, &["codex"]), serve(&nats, &["gemini"])];
    let client = nats.client();
    for server in &servers {
        until_heard(&client, server, "nobody");
    }
    let heartbeat = json!({ "agent_id": "bags-1", "timestamp": "2026-01-11T16:33:15.123Z", "state": "AWAKE" });
    client.publish(&format!("{PRESENCE}.bags-1"), &heartbeat.to_string());
    for (server, agent) in servers.iter().zip(["claude", "codex", "gemini"]) {
        until("it is heard", || state(server, "bags-1") == "AWAKE");
        // Whatever is said of it is said before this.
        server.call("file_reservation_paths", as_agent(agent, json!({ "paths": ["src/**"] })));
    }
    let is_reservation = |one: &&Held| one.event == "lease.granted";
    let held = client.until("what comes behind it", |held| held.iter().filter(is_reservation).count() >= 3);
    let said = held.iter().filter(|one| one.subject == format!("{PRESENCE}.bags-1") && one.event != "agent.registered");
    assert_eq!(said.count(), 1, "it was said once, by itself");
}

#[test]
fn what_several_offices_read_in_a_folder_is_said_once_and_kept_up_for_those_without_it() {
    let Some(mut nats) = Nats::prepare("heartbeats in a shared folder", "") else { return };
    let folder = tempfile::tempdir().expect("the system has a folder for temporary files");
    let signals = folder.path().join("signals/presence");
    fs::create_dir_all(&signals).expect("the folder can be written to");
    let settings = format!("{}[channels]\n'{PROJECT}' = '{}'\n", nats.toml(), folder.path().display());
    let near = [(); 2].map(|()| Place::with_settings(&settings).serve());
    near.iter().zip(["claude", "docs-1"]).for_each(|(server, agent)| server.register(&[agent]));
    let far = serve(&nats, &["codex"]);
    let beat = || {
        let heartbeat = json!({ "agent_id": "gemini", "timestamp": Timestamp::now().to_string(), "state": "AWAKE" });
        fs::write(signals.join("gemini.json"), heartbeat.to_string()).expect("the folder can be written to");
    };
    beat();
    for (server, agent) in near.iter().zip(["claude", "docs-1"]) {
        until("it is read", || state(server, "gemini") == "AWAKE");
        // Whatever is said of it is said before this.
        server.call("file_reservation_paths", as_agent(agent, json!({ "paths": [agent] })));
    }
    // Only now, so that neither hears of it from the other before it has read it.
    nats.run();
    let client = nats.client();
    let is_reservation = |one: &&Held| one.event == "lease.granted";
    let held = client.until("what comes behind it", |held| held.iter().filter(is_reservation).count() >= 2);
    let is_said = |one: &&Held| one.subject.ends_with("presence.gemini") && one.event == "presence.changed";
    assert_eq!(held.iter().filter(is_said).count(), 1, "{held:?}");
    until("it is heard", || state(&far, "gemini") == "AWAKE");
    let seen = || presence(&far, "gemini")["seen_ts"].as_str().expect("a time").to_owned();
    let first = seen();
    beat();
    until("it is heard to be still there", || {
        client.say(&format!("{LIVE}.who"), "");
        seen() > first
    });
}

#[test]
fn a_heartbeat_counts_for_the_agent_alone_whose_subject_it_is_on() {
    let Some(nats) = Nats::start("heartbeats of others") else { return };
    let server = serve(&nats, &["claude"]);
    let client = nats.client();
    until_heard(&client, &server, "gemini");
    let forged = json!({ "agent_id": "claude", "timestamp": "2126-01-11T16:33:15.123Z", "state": "OFFLINE" });
    client.publish(&format!("{PRESENCE}.gemini"), &forged.to_string());
    client.say(&format!("{LIVE}.presence.gemini"), &forged.to_string());
    until_heard(&client, &server, "codex");
    assert_eq!(state(&server, "claude"), "AWAKE");
}
