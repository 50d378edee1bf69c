//! Messages in channels that are too large for NATS: announced, never lost, and whole where their file comes too.

mod foreign;
mod harness;
mod nats_server;

use std::fs;

use foreign::{Shared, posts, until};
use harness::mcp::{as_agent, message, with};
use harness::{Place, Server};
use nats_server::Nats;
use serde_json::json;

const DEV: &str = "postrider.data-projects-app.channel.dev";
const LARGE: usize = 2 << 20;

/// A post office with a folder of its own, or one that it shares.
fn serve(nats: &Nats, shared: Option<&Shared>) -> Server {
    let settings = shared.map(Shared::settings).unwrap_or_default();
    let server = Place::with_settings(&format!("{}{settings}", nats.toml())).serve();
    server.register(&["claude", "codex"]);
    server
}

fn say(server: &Server, text: &str) {
    let subject = text.lines().next().expect("a text has a line");
    server.call("send_message", with(message("claude", "", subject), json!({ "to": ["#dev"], "body_md": text })));
}

/// Says something that is larger than NATS takes.
fn say_much(server: &Server, text: &str) {
    say(server, &format!("{text}\n{}@codex", "words ".repeat(LARGE / 6)));
}

/// How the messages in the channel begin.
fn beginnings(server: &Server) -> Vec<String> {
    posts(&server.place).iter().map(|text| text.lines().next().unwrap_or_default().to_owned()).collect()
}

/// How many of them are whole, of those that are large.
fn whole(server: &Server) -> usize {
    posts(&server.place).iter().filter(|text| text.len() > LARGE).count()
}

/// Waits until a message is there, and returns how all of them begin.
fn awaited(server: &Server, last: &str) -> Vec<String> {
    until(last, || beginnings(server).iter().any(|one| one == last).then_some(()));
    beginnings(server)
}

#[test]
fn a_large_message_is_announced_to_offices_with_other_folders_and_joined_by_its_file() {
    let Some(nats) = Nats::start("large messages and separate folders") else { return };
    let (near, far) = (Shared::new(), Shared::new());
    let here = serve(&nats, Some(&near));
    let (without, with) = (serve(&nats, None), serve(&nats, Some(&far)));
    say_much(&here, "one");
    let client = nats.client();
    let held = client.until("what is announced", |held| held.iter().any(|one| one.subject == DEV));
    let announced = held.iter().find(|one| one.subject == DEV).expect("it was awaited").json();
    let office = announced["metadata"]["reference_office"].as_str().expect("the announcement names it").to_owned();
    let name = announced["metadata"]["reference_id"].as_str().expect("the announcement names it").to_owned();
    say_much(&here, "two");
    say(&here, "three");
    for server in [&without, &with] {
        assert_eq!(awaited(server, "three"), ["one", "two", "three"], "{}", server.place.log());
        let first = posts(&server.place).remove(0);
        let last_line = first.lines().last().expect("a text has lines");
        assert!(last_line.contains(&name) && last_line.contains(&office), "{last_line}");
        assert_eq!(whole(server), 0);
        let mail = server.call("fetch_inbox", as_agent("codex", json!({ "limit": 9 })));
        assert_eq!(mail.as_array().map(Vec::len), Some(2), "who is called at the end is called all the same");
    }
    assert_eq!((beginnings(&here).len(), whole(&here)), (3, 2), "it has them whole, and once");
    // The file of the first is brought over by hand.
    let file = format!("{name}.json");
    fs::copy(near.dev().join(&file), far.dev().join(&file)).expect("the folder can be written to");
    until("the whole", || (whole(&with) == 1).then_some(()));
    assert_eq!(beginnings(&with), ["one", "two", "three", "one"]);
}

#[test]
fn with_a_shared_folder_a_large_message_is_there_once_and_whole() {
    let Some(nats) = Nats::start("large messages and a shared folder") else { return };
    let shared = Shared::new();
    let (here, there) = (serve(&nats, Some(&shared)), serve(&nats, Some(&shared)));
    for number in 0..3 {
        say_much(&here, &format!("here {number}"));
        say_much(&there, &format!("there {number}"));
    }
    say(&here, "the last of here");
    say(&there, "the last of there");
    let client = nats.client();
    client.until("all of it", |held| held.iter().filter(|one| one.subject == DEV).count() >= 8);
    for server in [&here, &there] {
        awaited(server, "the last of here");
        awaited(server, "the last of there");
    }
    // Both have dealt with all that was announced once they have this, which comes by NATS behind it.
    let foreign = json!({
        "id": "msg-20260111-163315-gemini-4c78", "timestamp": "2026-01-11T16:33:15.123Z", "session_id": "dev",
        "from": "gemini", "to": "all", "type": "chat", "content": { "text": "at last" }, "metadata": {},
    });
    client.publish(DEV, &foreign.to_string());
    for server in [&here, &there] {
        awaited(server, "at last");
        let all = beginnings(server);
        assert_eq!((all.len(), whole(server)), (9, 6), "{all:?} {}", server.place.log());
    }
    until("the last file", || (shared.messages().len() >= 9).then_some(()));
    assert_eq!(shared.messages().len(), 9, "an announcement of what is there is no file");
}

#[test]
fn a_foreign_message_that_has_a_reference_is_taken_in_also_where_there_is_a_folder() {
    let Some(nats) = Nats::start("foreign references") else { return };
    let shared = Shared::new();
    let server = serve(&nats, Some(&shared));
    let client = nats.client();
    client.until("the agents", |held| !held.is_empty());
    let foreign = json!({
        "id": "msg-20260111-163315-gemini-4c78", "timestamp": "2026-01-11T16:33:15.123Z", "session_id": "dev",
        "from": "gemini", "to": "all", "type": "chat", "content": { "text": "See there" },
        "metadata": { "reference": "https://example.org/paper" },
    });
    client.publish(DEV, &foreign.to_string());
    assert_eq!(awaited(&server, "See there"), ["See there"]);
}
