//! What the server tells NATS: every event once and in order, on its subject; also after NATS was away, or too slow.

mod harness;
mod nats_server;

use std::fs;
use std::process::Command;

use async_nats::ConnectOptions;
use async_nats::jetstream::stream;
use harness::mcp::{PROJECT, as_agent, message, with};
use harness::{Place, Server};
use nats_server::{Held, Nats, not_run};
use serde_json::{Value, json};

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
    let hidden = json!({ "to": ["BlueLake"], "cc": ["rig/x.1"], "bcc": ["GreenDog"] });
    let sent = server.call("send_message", with(message("GreenDog", "", "Hello"), hidden));
    post(&server, "GreenDog", "@BlueLake look");
    server.call("mark_message_read", as_agent("BlueLake", json!({ "message_id": sent["id"] })));
    server.call("file_reservation_paths", as_agent("BlueLake", json!({ "paths": ["src/**"] })));
    let held = nats.client().until("the lease", |held| held.iter().any(|one| one.event == "lease.granted"));

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
            ("message.sent", "mail.GreenDog"),
            ("message.sent", "channel.dev"),
            ("message.read", "mail.BlueLake"),
            ("lease.granted", "lease.BlueLake"),
        ]
    );
    let all = numbers(&held, slug);
    assert!(all.is_sorted() && all[0] == 1, "{all:?}");
    let letters: Vec<&Held> =
        held.iter().filter(|one| one.subject.contains(".mail.") && one.event == "message.sent").collect();
    let letter = letters[0].json();
    assert_eq!(letter["message"]["body_md"], "Hello, in more words.");
    assert_eq!((&letter["project"], &letter["seq"]), (&json!(PROJECT), &json!(letters[0].seq)));
    assert!(letters.iter().all(|one| one.json() == letter), "nobody learns of a blind copy");
    let (first, second) = (letters[0].id.split(':').collect::<Vec<_>>(), letters[1].id.split(':').collect::<Vec<_>>());
    assert_eq!((first[0], first[1]), (slug, letters[0].seq.to_string().as_str()));
    assert_eq!((second[1], second[2]), (format!("{}.2", letters[0].seq).as_str(), first[2]));
    let document = held.iter().find(|one| one.subject.ends_with("channel.dev")).unwrap();
    let said = formats::channel::read_value(&document.payload).expect("a document of a channel");
    assert_eq!((said.session_id.as_str(), said.from.as_str()), ("dev", "GreenDog"));
    server.stop();
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
        let letters = held.iter().filter(|one| one.project == project && one.event == "message.sent");
        letters.map(|one| one.json()["message"]["subject"].as_str().unwrap().to_owned()).collect()
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
    let address = |id: &Value| format!("resource://message/{id}?project=%2Fdata%2Fprojects%2Fapp");
    let letter = held.iter().find(|one| one.payload.contains("Large")).unwrap().json();
    assert_eq!((&letter["message"]["body_md"], &letter["reference"]), (&Value::Null, &json!(address(&sent["id"]))));
    let document = held.iter().find(|one| one.subject.ends_with("channel.dev")).unwrap();
    let said = formats::channel::read_value(&document.payload).expect("a document of a channel");
    assert!(said.text.starts_with("many words") && said.text.len() > 60_000, "{}", said.text.len());
    assert_eq!(said.metadata_text("reference"), Some(address(&posted["id"]).as_str()));
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

#[test]
fn a_password_lets_in_and_is_told_to_nobody() {
    let users = "authorization { user: ann, password: \"s3cr@t\" }";
    let Some(nats) = Nats::start_with("passwords", users) else { return };
    let toml =
        |password: &str| format!("log = \"trace\"\n[nats]\nurl = \"nats://ann:{password}@127.0.0.1:{}\"\n", nats.port);
    let wrong = Place::with_settings(&toml("wr0ng"));
    let server = wrong.serve();
    server.register(&["GreenDog"]);
    let doctor = wrong.run(&["doctor"]);
    assert_eq!(doctor.code, Some(1), "{}", doctor.stdout);
    assert!(
        doctor.stdout.contains("cannot be reached") && doctor.stdout.contains("authorization"),
        "{}",
        doctor.stdout
    );
    server.stop();
    let right = Place::with_settings(&toml("s3cr%40t"));
    let server = right.serve();
    server.register(&["GreenDog"]);
    let options = ConnectOptions::new().user_and_password("ann".to_owned(), "s3cr@t".to_owned());
    nats.client_with(options).until("the agent", |held| !held.is_empty());
    assert!(right.done(&["doctor"]).contains("All is well"));
    server.stop();
    for said in [wrong.log(), doctor.stdout, doctor.stderr, right.log()] {
        assert!(!said.contains("wr0ng") && !said.contains("s3cr"), "{said}");
    }
}

#[test]
fn a_key_lets_in() {
    let key = nkeys::KeyPair::new_user();
    let users = format!("authorization {{ users: [ {{ nkey: {} }} ] }}", key.public_key());
    let Some(nats) = Nats::start_with("keys", &users) else { return };
    let seed = key.seed().expect("a new key has a seed");
    fs::write(nats.file("seed"), format!("{seed}\n")).unwrap();
    let place = Place::with_settings(&format!("{}credentials = \"{}\"\n", nats.toml(), nats.file("seed").display()));
    let server = place.serve();
    server.register(&["GreenDog"]);
    nats.client_with(ConnectOptions::new().nkey(seed)).until("the agent", |held| !held.is_empty());
}

#[test]
fn a_certificate_of_ones_own_authority_is_trusted_and_no_other() {
    let Some(mut nats) = Nats::prepare("TLS", "") else { return };
    if Command::new("openssl").arg("version").output().is_err() {
        return not_run("TLS", "openssl");
    }
    let openssl = |arguments: &str| {
        let made = Command::new("openssl").args(arguments.split(' ')).current_dir(nats.file("")).output();
        assert!(made.as_ref().is_ok_and(|made| made.status.success()), "openssl {arguments}: {made:?}");
    };
    let new = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(&format!("req -x509 {new} -keyout ca.key -out ca.pem -days 2 -subj /CN=Authority"));
    openssl(&format!("req {new} -keyout key.pem -out request.pem -subj /CN=nats"));
    fs::write(nats.file("names"), "subjectAltName=IP:127.0.0.1\n").unwrap();
    openssl("x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -out cert.pem -days 2 -extfile names");
    let file = |name: &str| nats.file(name).display().to_string();
    let settings = format!("tls {{ cert_file: \"{}\", key_file: \"{}\" }}", file("cert.pem"), file("key.pem"));
    let toml = format!("[nats]\nurl = \"tls://127.0.0.1:{}\"\n", nats.port);
    let trusting = Place::with_settings(&format!("{toml}ca = \"{}\"\n", file("ca.pem")));
    nats.set(&settings);
    nats.run();
    let server = trusting.serve();
    server.register(&["GreenDog"]);
    let options = ConnectOptions::new().add_root_certificates(nats.file("ca.pem"));
    nats.client_with(options).until("the agent", |held| !held.is_empty());
    let wary = Place::with_settings(&toml);
    wary.serve().register(&["GreenDog"]);
    let doctor = wary.run(&["doctor"]);
    assert!(doctor.code == Some(1) && doctor.stdout.contains("cannot be reached"), "{}", doctor.stdout);
}

#[test]
fn a_wrong_setting_ends_the_server_before_it_serves() {
    for (toml, wanted) in [
        ("[nats]\nurl = \"http://ann:s3cret@host\"\n", "NATS_ADDRESS"),
        ("[nats]\nurl = \"nats://host\"\nprefix = \"a b\"\n", "NATS_PREFIX"),
    ] {
        let ran = Place::with_settings(toml).run(&["serve", "--port", "0"]);
        assert_eq!(ran.code, Some(1));
        assert!(ran.stderr.contains(wanted) && !ran.stderr.contains("s3cret"), "{}", ran.stderr);
    }
}
