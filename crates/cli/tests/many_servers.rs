//! Servers over one PostgreSQL agree: on whom a token proves, on how often an address may ask, and on the time.

use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testing::postgres::{Private, fresh_url};

use crate::harness::mcp::{PROJECT, as_agent, request};
use crate::harness::repository::is_there;
use crate::harness::{Place, Server};

#[test]
fn a_token_is_good_and_bad_at_all_servers_at_once() {
    let Some(database) = Private::start() else { return };
    let url = database.url();
    let strict = || Place::new().serve_with(&["--identity", "strict"], &[("POSTRIDER_DATABASE", &url)]);
    let (here, there) = (strict(), strict());
    here.call("ensure_project", json!({ "human_key": PROJECT }));
    let register = |server: &Server, name: &str| {
        let registered = server.call("register_agent", json!({ "project_key": PROJECT, "name": name }));
        registered["registration_token"].as_str().expect("a token is told").to_owned()
    };
    let inbox = |token: &str| as_agent("GreenDog", json!({ "registration_token": token }));
    let token = register(&here, "GreenDog");
    there.call("fetch_inbox", inbox(&token));
    assert_eq!(there.refused("fetch_inbox", inbox("guessed")).code, "IDENTITY_REQUIRED");
    assert_eq!(there.refused("fetch_inbox", as_agent("GreenDog", json!({}))).code, "IDENTITY_REQUIRED");
    // Where names are claimed everybody is given a token, and of those of one agent the newest 16 hold.
    let claimed = Place::new().serve_with(&[], &[("POSTRIDER_DATABASE", &url)]);
    let newer: Vec<String> = (0..16).map(|_| register(&claimed, "GreenDog")).collect();
    for server in [&here, &there] {
        assert_eq!(server.refused("fetch_inbox", inbox(&token)).code, "IDENTITY_REQUIRED", "it was replaced");
        server.call("fetch_inbox", inbox(&newer[0]));
    }
    database.psql("DELETE FROM agent_token");
    for server in [&here, &there] {
        assert_eq!(server.refused("fetch_inbox", inbox(&newer[15])).code, "IDENTITY_REQUIRED", "it was taken back");
    }
}

#[test]
fn a_rate_limit_holds_for_all_servers_together() {
    const LIMIT: usize = 40;
    const SERVERS: usize = 3;
    let Some(url) = fresh_url() else { return };
    let settings = format!("rate_limit = {LIMIT}");
    let servers: Vec<Server> = (0..SERVERS)
        .map(|_| Place::with_settings(&settings).serve_with(&[], &[("POSTRIDER_DATABASE", &url)]))
        .collect();
    let (let_in, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let begun = Instant::now();
    thread::scope(|scope| {
        for server in &servers {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let status = server.post(request("ping", &json!({}))).status;
                    assert!([200, 429].contains(&status), "{status}");
                    let_in.fetch_add(usize::from(status == 200), Ordering::Relaxed);
                }
            });
        }
        // How long the flood is, not what it waits for.
        thread::sleep(Duration::from_secs(5));
        is_over.store(true, Ordering::Relaxed);
    });
    let (let_in, seconds) = (let_in.load(Ordering::Relaxed) as f64, begun.elapsed().as_secs_f64());
    // A second's worth may come at once, and each server may have a lot in hand.
    let most = LIMIT as f64 * (seconds + 1.0) + (SERVERS * LIMIT / 10) as f64;
    assert!(let_in <= most, "{let_in} in {seconds} s; the most is {most}");
    assert!(let_in >= 0.8 * LIMIT as f64 * seconds, "{let_in} in {seconds} s is too few");
}

/// What makes a program believe that it is an hour later. Its clock that nobody sets is left alone.
fn an_hour_ahead() -> Option<[(&'static str, String); 3]> {
    if !is_there("faketime") {
        return None;
    }
    let mut faketime = Command::new("faketime");
    let told = faketime.args(["-f", "+1h", "printenv", "LD_PRELOAD"]).output().expect("faketime runs");
    let library = String::from_utf8(told.stdout).expect("a path is text").trim().to_owned();
    let real = "FAKETIME_DONT_FAKE_MONOTONIC";
    Some([("LD_PRELOAD", library), ("FAKETIME", "+1h".to_owned()), (real, "1".to_owned())])
}

fn reserve(server: &Server, agent: &str, path: &str) -> Result<String, Value> {
    let arguments = as_agent(agent, json!({ "paths": [path], "exclusive": true, "ttl_seconds": 600 }));
    let answer = server.rpc("tools/call", json!({ "name": "file_reservation_paths", "arguments": arguments }));
    let told = &answer["result"]["structuredContent"];
    let until = told["granted"][0]["expires_ts"].as_str().map(str::to_owned);
    until.ok_or_else(|| told["error"]["code"].clone())
}

fn seconds_of(time: &str) -> i64 {
    let time: jiff::Timestamp = time.parse().expect("RFC 3339");
    time.as_second()
}

#[test]
fn a_server_whose_clock_is_an_hour_wrong_sees_the_same_reservations() {
    let (Some(url), Some(ahead)) = (fresh_url(), an_hour_ahead()) else { return };
    let ahead: Vec<(&str, &str)> = ahead.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let at = |server: &Server| {
        server.register(&["GreenDog", "BlueLake"]);
        seconds_of(&reserve(server, "GreenDog", "alone/**").expect("nobody holds it"))
    };
    let apart = at(&Place::new().serve_with(&[], &ahead)) - at(&Server::start());
    assert!((3500..3700).contains(&apart), "without a shared database its clock is wrong by {apart} s");
    let wrong_clock: Vec<(&str, &str)> = ahead.into_iter().chain([("POSTRIDER_DATABASE", url.as_str())]).collect();
    let wrong = Place::new().serve_with(&[], &wrong_clock);
    let right = Place::new().serve_with(&[], &[("POSTRIDER_DATABASE", &url)]);
    right.register(&["GreenDog", "BlueLake"]);
    let ends = reserve(&right, "GreenDog", "src/**").expect("nobody holds it");
    assert_eq!(reserve(&wrong, "BlueLake", "src/lib.rs"), Err(json!("FILE_RESERVATION_CONFLICT")), "it is held");
    let ends_there = reserve(&wrong, "BlueLake", "docs/**").expect("nobody holds it");
    assert_eq!(reserve(&right, "GreenDog", "docs/a.md"), Err(json!("FILE_RESERVATION_CONFLICT")), "it is held");
    let apart = seconds_of(&ends_there) - seconds_of(&ends);
    assert!((0..60).contains(&apart), "both end in ten minutes, {apart} s apart");
    right.call("release_file_reservations", as_agent("GreenDog", json!({})));
    reserve(&wrong, "BlueLake", "src/lib.rs").expect("it is free");
}

#[test]
fn a_server_says_where_its_mail_is_and_takes_no_empty_setting_for_none() {
    let Some(url) = fresh_url() else { return };
    let place = Place::new();
    let server = place.serve_with(&[], &[("POSTRIDER_DATABASE", &url)]);
    assert!(server.mail.starts_with("postgres://…@"), "{}", server.mail);
    server.stop();
    let refused = place.command(&["serve", "--port", "0"]).env("POSTRIDER_DATABASE", "").output().expect("it runs");
    let told = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{told}");
    assert!(told.contains("POSTRIDER_DATABASE"), "{told}");
    assert!(!place.database().exists());
}

#[test]
fn a_server_that_could_only_read_does_not_start_and_says_why() {
    let Some(database) = Private::start() else { return };
    for sql in ["CREATE ROLE few LOGIN CONNECTION LIMIT 1", "CREATE DATABASE mail OWNER few"] {
        database.psql(sql);
    }
    let url = database.url().replace("postgres@", "few@").replace("/postgres", "/mail");
    let place = Place::new();
    let refused = place.command(&["serve", "--port", "0"]).env("POSTRIDER_DATABASE", &url).output().expect("it runs");
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(told.contains("(53300)") && told.contains("up to 14"), "{told}");
}
