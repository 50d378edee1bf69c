//! Messages in channels that are too large for NATS: announced, never lost, and whole where their file comes too.

use std::fs;

use formats::channel::read_value;
use mail::announcements::Announcement;
use serde_json::{Value, json};
use testing::nats::{Client, Held, Nats};

use crate::foreign::{Shared, posts, until};
use crate::harness::mcp::{as_agent, message, with};
use crate::harness::{Place, Server};

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

/// Waits until the stream holds so many messages of the channel, and returns those that announce something.
fn announced(client: &Client, count: usize) -> Vec<Value> {
    let in_channel = |one: &&Held| one.subject == DEV;
    let held = client.until("what is announced", |held| held.iter().filter(in_channel).count() >= count);
    let all = held.iter().filter(in_channel).map(Held::json);
    all.filter(|said| said["metadata"]["reference_id"].is_string()).collect()
}

/// Brings the file over that an announcement tells of.
fn bring(announced: &Value, from: &Shared, to: &Shared) {
    let file = format!("{}.json", announced["metadata"]["reference_id"].as_str().expect("it names the whole"));
    until("its file", || from.dev().join(&file).exists().then_some(()));
    fs::copy(from.dev().join(&file), to.dev().join(&file)).expect("the folder can be written to");
}

/// A foreign message that says nothing of others.
fn foreign(text: &str) -> Value {
    json!({
        "id": "msg-20260111-163315-gemini-4c78", "timestamp": "2026-01-11T16:33:15.123Z", "session_id": "dev",
        "from": "gemini", "to": "all", "type": "chat", "content": { "text": text }, "metadata": {},
    })
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
    let first = announced(&client, 1).remove(0);
    let office = first["metadata"]["reference_office"].as_str().expect("the announcement names it").to_owned();
    let name = first["metadata"]["reference_id"].as_str().expect("the announcement names it").to_owned();
    say_much(&here, "two");
    say(&here, "three");
    for server in [&without, &with] {
        assert_eq!(awaited(server, "three"), ["one", "two", "three"], "{}", server.place.log());
        let text = posts(&server.place).remove(0);
        let last_line = text.lines().last().expect("a text has lines");
        assert!(last_line.contains(&name) && last_line.contains(&office), "{last_line}");
        assert_eq!(whole(server), 0);
        let mail = server.call("fetch_inbox", as_agent("codex", json!({ "limit": 9 })));
        assert_eq!(mail.as_array().map(Vec::len), Some(2), "who is called at the end is called all the same");
    }
    assert_eq!((beginnings(&here).len(), whole(&here)), (3, 2), "it has them whole, and once");
    // The file of the first is brought over by hand.
    bring(&first, &near, &far);
    until("the whole", || (whole(&with) == 1).then_some(()));
    assert_eq!(beginnings(&with), ["one", "two", "three", "one"]);
    // A file that came late came all the same: the next is waited for.
    say_much(&here, "four");
    say(&here, "five");
    bring(&announced(&client, 5)[2], &near, &far);
    assert_eq!(awaited(&with, "five"), ["one", "two", "three", "one", "four", "five"], "{}", with.place.log());
    assert_eq!(whole(&with), 2);
}

#[test]
fn whoever_announces_in_many_names_is_waited_for_once_and_others_as_before() {
    let Some(nats) = Nats::start("forged announcements") else { return };
    let (near, far) = (Shared::new(), Shared::new());
    let (here, there) = (serve(&nats, Some(&near)), serve(&nats, Some(&far)));
    let client = nats.client();
    say(&here, "one");
    until("the folder of the channel", || (far.messages().len() == 1).then_some(()));
    say_much(&here, "two");
    say(&here, "three");
    bring(&announced(&client, 3)[0], &near, &far);
    assert_eq!(awaited(&there, "three"), ["one", "two", "three"]);
    for number in 0..9 {
        let office = format!("{number:016x}");
        let id = format!("msg-20260111-16331{number}-gemini-beef");
        let whole = Announcement { key: format!("{office}:1:{office}"), resource: id.clone(), office, id };
        let mut said = read_value(&foreign("forged").to_string()).expect("it is a message");
        said.id = whole.name();
        whole.put_on(&mut said);
        client.publish(DEV, &said.to_json());
    }
    until("what is forged", || (beginnings(&there).iter().filter(|text| *text == "forged").count() == 9).then_some(()));
    say_much(&here, "four");
    say(&here, "five");
    bring(announced(&client, 14).last().expect("it is announced"), &near, &far);
    let all = awaited(&there, "five");
    assert_eq!(all[12..], ["four", "five"], "{}", there.place.log());
    assert_eq!(whole(&there), 2);
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
    client.publish(DEV, &foreign("at last").to_string());
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
    let mut said = foreign("See there");
    said["metadata"]["reference"] = json!("https://example.org/paper");
    client.publish(DEV, &said.to_string());
    assert_eq!(awaited(&server, "See there"), ["See there"]);
}
