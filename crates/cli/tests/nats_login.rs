//! Who is let in by NATS, and what is said of those who are not: never a password, a token or a key.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use async_nats::ConnectOptions;
use base64::Engine;
use nkeys::KeyPair;
use serde_json::{Value, json};
use testing::nats::Nats;

use crate::harness::mcp::{as_agent, message, with};
use crate::harness::{DEADLINE, Place};

/// How many lines of the log say it.
fn lines_with(place: &Place, word: &str) -> usize {
    place.log().lines().filter(|line| line.contains(word)).count()
}

/// Waits until something is logged.
fn until_logged(place: &Place, word: &str) {
    let start = Instant::now();
    while lines_with(place, word) == 0 {
        assert!(start.elapsed() < DEADLINE, "'{word}' is never logged: {}", place.log());
        // Between two looks, not instead of one.
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn that_nats_does_not_let_us_in_is_logged_also_if_it_was_away_before() {
    let users = "authorization { user: ann, password: \"s3cr@t\" }";
    let Some(mut nats) = Nats::prepare("NATS that is away, and then refuses", users) else { return };
    let place = Place::with_settings(&format!("[nats]\nurl = \"nats://ann:wr0ng@127.0.0.1:{}\"\n", nats.port));
    let server = place.serve();
    until_logged(&place, "Connection refused");
    nats.run();
    until_logged(&place, "authorization violation");
    let log = place.log();
    for trouble in ["Connection refused", "authorization violation"] {
        assert_eq!(lines_with(&place, trouble), 1, "once each: {log}");
    }
    assert!(!log.contains("wr0ng"), "{log}");
    server.stop();
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
    let key = KeyPair::new_user();
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
        return testing::not_run("TLS", "there is no openssl");
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

/// A token as NATS makes them out: what it says, signed with a key.
fn jwt(issuer: &KeyPair, subject: &KeyPair, kind: &str, more: Value) -> String {
    let encode = |bytes: &[u8]| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes);
    let claims = json!({
        "jti": subject.public_key(), "iat": 1_700_000_000, "iss": issuer.public_key(), "sub": subject.public_key(),
        "name": kind, "nats": with(json!({ "type": kind, "version": 2 }), more),
    });
    let head = encode(br#"{"typ":"JWT","alg":"ed25519-nkey"}"#);
    let signed = format!("{head}.{}", encode(claims.to_string().as_bytes()));
    format!("{signed}.{}", encode(&issuer.sign(signed.as_bytes()).expect("a new key signs")))
}

/// What stands in a file of credentials.
fn credentials(account: &KeyPair) -> (String, String) {
    let user = KeyPair::new_user();
    let seed = user.seed().expect("a new key has a seed");
    let text = format!(
        "-----BEGIN NATS USER JWT-----\n{}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n",
        jwt(account, &user, "user", json!({ "subs": -1, "data": -1, "payload": -1 }))
    );
    (text, seed)
}

#[test]
fn a_file_of_credentials_lets_in_and_a_wrong_one_is_refused_without_being_told() {
    let operator = KeyPair::new_operator();
    let [system, account, stranger] = [(); 3].map(|()| KeyPair::new_account());
    let limits = json!({ "subs": -1, "data": -1, "payload": -1, "conn": -1, "leaf": -1, "imports": -1, "exports": -1 });
    let streams = with(limits.clone(), json!({ "mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1 }));
    let settings = format!(
        "operator: {}\nsystem_account: {}\nresolver: MEMORY\nresolver_preload: {{ {}: {}, {}: {} }}\n",
        jwt(&operator, &operator, "operator", json!({})),
        system.public_key(),
        system.public_key(),
        jwt(&operator, &system, "account", json!({ "limits": limits })),
        account.public_key(),
        jwt(&operator, &account, "account", json!({ "limits": streams }))
    );
    let Some(nats) = Nats::start_with("files of credentials", &settings) else { return };
    let place = |name: &str, text: &str| {
        fs::write(nats.file(name), text).expect("the folder can be written to");
        let toml = format!("log = \"trace\"\n{}credentials = \"{}\"\n", nats.toml(), nats.file(name).display());
        Place::with_settings(&toml)
    };
    let (right, right_seed) = credentials(&account);
    let (wrong, wrong_seed) = credentials(&stranger);
    let (let_in, refused) = (place("right.creds", &right), place("wrong.creds", &wrong));
    let server = let_in.serve();
    server.register(&["GreenDog"]);
    let options = ConnectOptions::with_credentials(&right).expect("they are credentials");
    nats.client_with(options).until("the agent", |held| !held.is_empty());
    let stranger = refused.serve();
    stranger.register(&["GreenDog"]);
    until_logged(&refused, "authorization violation");
    for (place, seed) in [(&let_in, &right_seed), (&refused, &wrong_seed)] {
        let log = place.log();
        assert!(!log.contains(seed.as_str()) && !log.contains("eyJ"), "{log}");
    }
}

#[test]
fn an_account_needs_no_other_subjects_than_those_that_are_documented() {
    let permissions = "{ publish: [\"postrider.>\", \"postrider-live.>\", \"$JS.API.>\", \"$JS.ACK.>\"], \
         subscribe: [\"postrider.>\", \"postrider-live.>\", \"_INBOX.>\"] }";
    let users = format!("authorization {{ users: [ {{ user: ann, password: pw, permissions: {permissions} }} ] }}");
    let Some(nats) = Nats::start_with("permissions", &users) else { return };
    let toml = format!("[nats]\nurl = \"nats://ann:pw@127.0.0.1:{}\"\n", nats.port);
    let servers = [(); 2].map(|()| Place::with_settings(&toml).serve());
    servers.iter().zip(["claude", "codex"]).for_each(|(server, agent)| server.register(&[agent]));
    let call = json!({ "to": ["#dev"], "body_md": "@codex look" });
    servers[0].call("send_message", with(message("claude", "", "@codex look"), call));
    let came = servers[1].call("wait_for_mail", as_agent("codex", json!({ "timeout_seconds": 45 })));
    assert!(came.to_string().contains("@codex look"), "{came}");
    for server in &servers {
        assert!(!server.place.log().contains("NATS objects"), "{}", server.place.log());
    }
}
