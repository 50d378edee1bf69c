//! What the server tells NATS: every event once and in order, on its subject; also after NATS was away, or too slow.

use async_nats::jetstream::stream;
use serde_json::{Value, json};
use testing::nats::{Held, Nats};

use crate::harness::mcp::{PROJECT, as_agent, message, with};
use crate::harness::{self, Place, Server};
use crate::watchers::{Watcher, join, say};

/// The number of the event that a publication tells of, if it is of this project.
fn numbers(held: &[Held], project: &str) -> Vec<i64> {
    held.iter().filter(|one| one.project == project).map(|one| one.seq).collect()
}

/// Posts in a channel.
fn post(server: &Server, from: &str, text: &str) -> Value {
    let arguments = json!({ "to": ["#dev"], "body_md": text });
    server.call("send_message", with(message(from, "", text), arguments))
}

#[test]
fn every_event_is_told_once_and_in_order_on_its_subject() {
    let Some(nats) = Nats::start("what NATS is told") else { return };
    let server = Place::with_settings(&nats.toml()).serve();
    server.register(&["GreenDog", "BlueLake", "rig/x.1"]);
    let copies = json!({ "to": ["BlueLake"], "cc": ["rig/x.1"] });
    let sent = server.call("send_message", with(message("GreenDog", "", "Hello"), copies));
    post(&server, "GreenDog", "@BlueLake look");
    server.call("mark_message_read", as_agent("BlueLake", json!({ "message_id": sent["id"] })));
    server.call("file_reservation_paths", as_agent("BlueLake", json!({ "paths": ["src/**"] })));
    let held = nats.client().until("the reservation", |held| held.iter().any(|one| one.event == "lease.granted"));

    let slug = "data-projects-app";
    let told: Vec<(&str, &str)> = held
        .iter()
        .filter(|one| one.event != "presence.changed")
        .map(|one| (one.event.as_str(), one.subject.strip_prefix("postrider.data-projects-app.").unwrap()))
        .collect();
    assert_eq!(
        told,
        [
            ("agent.registered", "presence.GreenDog"),
            ("agent.registered", "presence.BlueLake"),
            ("agent.registered", "presence.rig%2Fx%2E1"),
            ("message.sent", "mail.BlueLake"),
            ("message.sent", "mail.rig%2Fx%2E1"),
            ("message.sent", "channel.dev"),
            ("message.read", "mail.BlueLake"),
            ("lease.granted", "lease.BlueLake"),
        ]
    );
    let all = numbers(&held, slug);
    assert!(all.is_sorted() && all[0] == 1, "{all:?}");
    let published: Vec<&Held> =
        held.iter().filter(|one| one.subject.contains(".mail.") && one.event == "message.sent").collect();
    let first_payload = published[0].json();
    assert_eq!(first_payload["message"]["body_md"], "Hello, in more words.");
    assert_eq!((&first_payload["project"], &first_payload["seq"]), (&json!(PROJECT), &json!(published[0].seq)));
    let (first, second) =
        (published[0].id.split(':').collect::<Vec<_>>(), published[1].id.split(':').collect::<Vec<_>>());
    assert_eq!((first[0], first[1], first[2]), (slug, &*published[0].office, published[0].seq.to_string().as_str()));
    assert_eq!(second, [first[0], first[1], &format!("{}.2", first[2]), first[3]]);
    let document = held.iter().find(|one| one.subject.ends_with("channel.dev")).unwrap();
    let said = formats::channel::read_value(&document.payload).expect("a document of a channel");
    assert_eq!((said.session_id.as_str(), said.from.as_str()), ("dev", "GreenDog"));
    server.stop();
}

#[test]
fn nobody_on_nats_learns_of_a_blind_copy() {
    let Some(nats) = Nats::start("blind copies") else { return };
    let server = Place::with_settings(&nats.toml()).serve();
    server.register(&["GreenDog", "BlueLake", "RedFox"]);
    let hidden = json!({ "to": ["BlueLake"], "bcc": ["RedFox"], "ack_required": true });
    let sent = server.call("send_message", with(message("GreenDog", "", "Hello"), hidden));
    for reader in ["RedFox", "BlueLake"] {
        for done in ["mark_message_read", "acknowledge_message"] {
            server.call(done, as_agent(reader, json!({ "message_id": sent["id"] })));
        }
    }
    let held = nats.client().until("the last of it", |held| {
        held.iter().any(|one| one.event == "message.acknowledged" && one.subject.ends_with(".mail.BlueLake"))
    });
    let told: Vec<&Held> = held.iter().filter(|one| one.event.starts_with("message.")).collect();
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told.iter().all(|one| !one.subject.contains("RedFox") && !one.payload.contains("RedFox")), "{told:?}");
}

#[test]
fn what_happens_after_a_restore_is_told_although_its_numbers_were_given_before() {
    let Some(nats) = Nats::start("a restore") else { return };
    let client = nats.client();
    let has = |what: &'static str| move |held: &[Held]| held.iter().any(|one| one.payload.contains(what));
    let server = Place::with_settings(&nats.toml()).serve();
    server.register(&["GreenDog", "BlueLake"]);
    let place = server.place.clone();
    let backup = place.file("backup.db").display().to_string();
    place.done(&["backup", &backup]);
    server.mail("GreenDog", "BlueLake", "a letter that is lost");
    post(&server, "GreenDog", "a post that is lost");
    let before = client.until("what is lost", has("a post that is lost"));
    server.stop();
    place.done(&["restore", &backup]);
    let server = place.serve();
    server.mail("GreenDog", "BlueLake", "a letter that is new");
    post(&server, "GreenDog", "a post that is new");
    let after =
        client.until("what is new", |held| has("a letter that is new")(held) && has("a post that is new")(held));
    let numbers_of = |held: &[Held], what: &str| {
        held.iter().filter(|one| one.payload.contains(what)).map(|one| one.seq).collect::<Vec<_>>()
    };
    // A sign of life takes a number too, before or after, so the numbers need not be the same ones.
    let (lost, new) = (numbers_of(&before, "that is lost"), numbers_of(&after, "that is new"));
    assert!(new.len() == 2 && new.iter().min() <= lost.iter().max(), "{new:?} behind {lost:?}");
}

#[test]
fn two_watchers_without_a_server_tell_each_event_once() {
    let Some(nats) = Nats::start("two processes on one database") else { return };
    let place = Place::with_settings(&nats.toml());
    join(&place, &["claude", "codex", "gemini"]);
    let mut watchers = ["codex", "gemini"].map(|agent| Watcher::start(&place, agent, "cat > /dev/null; echo Yes"));
    for number in 0..10 {
        say(&place, "claude", "all", &format!("@codex @gemini number {number}"));
        watchers.iter_mut().for_each(|watcher| drop(watcher.until("answered")));
    }
    let client = nats.client();
    let posts = |held: &[Held]| held.iter().filter(|one| one.subject.ends_with(".channel.dev")).count();
    client.until("questions and answers", |held| posts(held) >= 30);
    watchers.into_iter().for_each(|watcher| drop(watcher.stop()));
    // Whatever is told twice is told before this.
    let server = place.serve();
    post(&server, "claude", "at last");
    let held = client.until("the last", |held| held.iter().any(|one| one.payload.contains("at last")));
    let all = numbers(&held, "data-projects-app");
    assert_eq!(all, (1..=i64::try_from(all.len()).unwrap()).collect::<Vec<_>>(), "each once, in order");
}

#[test]
fn an_event_that_is_always_refused_is_left_out_with_an_error_and_holds_up_nothing() {
    let Some(nats) = Nats::start("events that are refused") else { return };
    let client = nats.client();
    let subjects = vec!["postrider.>".to_owned()];
    let small =
        stream::Config { name: "POSTRIDER".to_owned(), subjects, max_message_size: 480, ..stream::Config::default() };
    client.make_stream(small);
    let server = Place::with_settings(&nats.toml()).serve();
    server.register(&["GreenDog", "BlueLake"]);
    server.mail("GreenDog", "BlueLake", "number 0");
    server.call("file_reservation_paths", as_agent("BlueLake", json!({ "paths": ["src/**"] })));
    let held = client.until("what comes behind it", |held| held.iter().any(|one| one.event == "lease.granted"));
    assert!(held.iter().all(|one| one.event != "message.sent"), "{held:?}");
    let log = server.place.log();
    assert_eq!(log.lines().filter(|line| line.contains("it is left out")).count(), 1, "{log}");
}

#[test]
fn each_project_is_told_of_in_its_own_order_also_one_that_is_new() {
    let Some(nats) = Nats::start("projects on NATS") else { return };
    let server = Place::with_settings(&nats.toml()).serve();
    server.register(&["GreenDog", "BlueLake"]);
    let client = nats.client();
    client.until("the first project", |held| held.len() >= 2);
    server.call("ensure_project", json!({ "human_key": "/other" }));
    server.call("register_agent", json!({ "project_key": "/other", "name": "RedFox" }));
    for number in 0..20 {
        server.mail("GreenDog", "BlueLake", &format!("number {number}"));
        let more = json!({ "project_key": "/other" });
        server.call("send_message", with(message("RedFox", "RedFox", &format!("number {number}")), more));
    }
    let sent = |held: &[Held], project: &str| -> Vec<String> {
        let sent = held.iter().filter(|one| one.project == project && one.event == "message.sent");
        sent.map(|one| one.json()["message"]["subject"].as_str().unwrap().to_owned()).collect()
    };
    let held = client.until("all mail", |held| held.iter().filter(|one| one.event == "message.sent").count() >= 40);
    let wanted: Vec<String> = (0..20).map(|number| format!("number {number}")).collect();
    assert_eq!(sent(&held, "data-projects-app"), wanted);
    assert_eq!(sent(&held, "other"), wanted);
}

#[test]
fn nats_that_is_away_or_hangs_holds_up_nobody_and_is_told_later() {
    let Some(mut nats) = Nats::prepare("NATS that is away", "") else { return };
    let server = Place::with_settings(&nats.toml()).serve();
    server.register(&["GreenDog", "BlueLake"]);
    for number in 0..30 {
        server.mail("GreenDog", "BlueLake", &format!("away {number}"));
    }
    nats.run();
    let sent = |held: &[Held]| held.iter().filter(|one| one.event == "message.sent").count();
    nats.client().until("what was sent while it was away", |held| sent(held) == 30);
    nats.signal("-STOP");
    for number in 0..30 {
        server.mail("GreenDog", "BlueLake", &format!("hangs {number}"));
    }
    nats.signal("-CONT");
    let held = nats.client().until("what was sent while it hung", |held| sent(held) >= 60);
    let all = numbers(&held, "data-projects-app");
    assert_eq!(all, (1..=i64::try_from(all.len()).unwrap()).collect::<Vec<_>>(), "each once, in order");
    server.stop();
}

#[test]
fn a_server_that_was_told_all_says_nothing_again_after_a_restart() {
    let Some(nats) = Nats::start("a restart") else { return };
    let server = Place::with_settings(&nats.toml()).serve();
    server.register(&["GreenDog", "BlueLake"]);
    server.mail("GreenDog", "BlueLake", "before");
    let client = nats.client();
    client.until("the mail", |held| held.iter().any(|one| one.event == "message.sent"));
    let place = server.place.clone();
    server.stop();
    let report = place.json(&["doctor", "--quick"]);
    let consumer = &report["consumers"][0];
    assert_eq!((&consumer["sink"], &consumer["seq"]), (&json!("nats"), &consumer["newest"]), "{report}");
    let server = place.serve();
    server.mail("GreenDog", "BlueLake", "after");
    let held = client.until("the next mail", |held| held.iter().filter(|one| one.event == "message.sent").count() >= 2);
    let all = numbers(&held, "data-projects-app");
    assert_eq!(all, (1..=i64::try_from(all.len()).unwrap()).collect::<Vec<_>>());
}

#[test]
fn what_is_too_large_is_announced_and_says_where_the_rest_is() {
    let Some(nats) = Nats::start_with("large messages", "max_payload: 65536") else { return };
    let server = Place::with_settings(&nats.toml()).serve();
    server.register(&["GreenDog", "BlueLake"]);
    let large = json!({ "body_md": "long \"quoted\" words\n".repeat(20_000) });
    let sent = server.call("send_message", with(message("GreenDog", "BlueLake", "Large"), large));
    let posted = post(&server, "GreenDog", &"many words ".repeat(20_000));
    server.mail("GreenDog", "BlueLake", "Small");
    let held = nats.client().until("the last mail", |held| held.iter().any(|one| one.payload.contains("Small")));
    let resource = |id: &Value| format!("resource://message/{id}?project=%2Fdata%2Fprojects%2Fapp");
    let stub = held.iter().find(|one| one.payload.contains("Large")).unwrap().json();
    assert_eq!((&stub["message"]["body_md"], &stub["reference"]), (&Value::Null, &json!(resource(&sent["id"]))));
    assert_eq!(stub["reference_office"], json!(held[0].office));
    let document = held.iter().find(|one| one.subject.ends_with("channel.dev")).unwrap();
    let said = formats::channel::read_value(&document.payload).expect("a document of a channel");
    assert!(said.text.starts_with("many words") && said.text.len() > 60_000, "{}", said.text.len());
    assert_eq!(said.metadata_text("reference"), Some(resource(&posted["id"]).as_str()));
    assert_eq!(said.metadata_text("reference_office"), Some(document.office.as_str()));
    let name = said.metadata_text("reference_id").unwrap();
    assert_ne!(said.id, name, "the announcement is another message");
    let last_line = said.text.lines().last().unwrap();
    assert!(last_line.contains(name) && last_line.contains(&document.office), "{last_line}");
    let whole = server.read(said.metadata_text("reference").unwrap());
    assert_eq!(whole["body_md"].as_str().unwrap().len(), "many words ".len() * 20_000);
}

#[test]
fn a_stream_that_is_there_is_used_as_it_is() {
    let Some(nats) = Nats::start("an operator's stream") else { return };
    let client = nats.client();
    let subjects = vec!["team-a.mail.>".to_owned()];
    client.make_stream(stream::Config {
        name: "TEAM_A_MAIL".to_owned(),
        subjects,
        max_messages: 3,
        ..stream::Config::default()
    });
    let server = Place::with_settings(&format!("{}prefix = \"team-a.mail\"\n", nats.toml())).serve();
    server.register(&["GreenDog", "BlueLake"]);
    for number in 0..5 {
        server.mail("GreenDog", "BlueLake", &format!("number {number}"));
    }
    let start = std::time::Instant::now();
    while client.newest_in("TEAM_A_MAIL").is_none_or(|newest| !newest.payload.contains("number 4")) {
        assert!(start.elapsed() < harness::DEADLINE, "{}", server.place.log());
    }
    assert!(client.newest_in("TEAM_A_MAIL").unwrap().subject.starts_with("team-a.mail.data-projects-app.mail."));
    assert_eq!(client.count_in("TEAM_A_MAIL"), 3, "the operator's limit holds");
    assert_eq!(client.count_in("POSTRIDER"), 0);
}
