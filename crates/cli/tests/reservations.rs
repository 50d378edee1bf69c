//! Reserving files: who gets what, who is told why not, and who stands in line.
//!
//! Which patterns meet is tested where patterns are read; here only that the whole product keeps to it.

use serde_json::{Value, json};

use crate::harness::Server;
use crate::harness::mcp::{Pending, as_agent};

const LONGEST: i64 = 50;

fn office() -> Server {
    let server = Server::start();
    server.register(&["Ann", "Bob", "Cid", "Looker"]);
    server
}

fn exclusive(paths: &[&str]) -> Value {
    json!({ "paths": paths, "exclusive": true })
}

fn reserve(server: &Server, name: &str, more: Value) -> Value {
    server.call("file_reservation_paths", as_agent(name, more))
}

fn patterns(reservations: &Value) -> Vec<&str> {
    reservations
        .as_array()
        .expect("a list of reservations")
        .iter()
        .map(|reservation| reservation["path_pattern"].as_str().expect("a reservation has a pattern"))
        .collect()
}

/// Starts to stand in line, and returns when others can see it there.
fn stand_in_line(server: &Server, name: &str, path: &str) -> Pending {
    let wanted = json!({ "paths": [path], "exclusive": true, "wait_seconds": LONGEST });
    let pending = server.begin("file_reservation_paths", &as_agent(name, wanted));
    loop {
        let refused = server.refused("file_reservation_paths", as_agent("Looker", exclusive(&[path])));
        let conflicts = refused.structured["conflicts"].as_array().expect("a conflict lists the conflicts");
        if conflicts.iter().any(|conflict| conflict["holder"] == name && conflict["waiting"] == true) {
            return pending;
        }
    }
}

#[test]
fn a_conflict_grants_nothing_and_names_the_holders() {
    let server = office();
    reserve(&server, "Ann", exclusive(&["src/**"]));
    let refused = server.refused("file_reservation_paths", as_agent("Bob", exclusive(&["docs/a.md", "src/lib.rs"])));
    assert_eq!(refused.code, "FILE_RESERVATION_CONFLICT");
    assert!(refused.message.starts_with("FILE_RESERVATION_CONFLICT: 'src/lib.rs' is reserved by 'Ann'"), "{refused:?}");
    assert_eq!(refused.structured["granted"], json!([]));
    let conflict = &refused.structured["conflicts"][0];
    assert_eq!(
        (&conflict["path"], &conflict["held_path"], &conflict["holder"], &conflict["waiting"]),
        (&json!("src/lib.rs"), &json!("src/**"), &json!("Ann"), &json!(false))
    );
    let docs = reserve(&server, "Cid", exclusive(&["docs/**"]));
    assert_eq!(patterns(&docs["granted"]), ["docs/**"], "Bob got none of it");
}

#[test]
fn shared_reservations_live_side_by_side_and_keep_exclusive_ones_out() {
    let server = office();
    let shared = json!({ "paths": ["src/**"] });
    for name in ["Ann", "Bob"] {
        assert_eq!(reserve(&server, name, shared.clone())["granted"][0]["exclusive"], false);
    }
    let refused = server.refused("file_reservation_paths", as_agent("Cid", exclusive(&["src/a.rs"])));
    assert_eq!(refused.structured["conflicts"].as_array().unwrap().len(), 2);
}

#[test]
fn only_patterns_that_share_a_path_conflict() {
    let server = office();
    reserve(&server, "Ann", exclusive(&["src/*.rs"]));
    for free in ["src/deep/a.rs", "src/*.md", "lib/**"] {
        reserve(&server, "Bob", exclusive(&[free]));
    }
    for taken in ["src/a*", "**/*.rs", "src/{a,b}.rs", "/data/projects/app/src/x.rs", "**"] {
        let refused = server.refused("file_reservation_paths", as_agent("Cid", exclusive(&[taken])));
        assert_eq!(refused.code, "FILE_RESERVATION_CONFLICT", "{taken}");
    }
}

#[test]
fn reserving_again_renews_and_keeps_the_number() {
    let server = office();
    let first = reserve(&server, "Ann", json!({ "paths": ["src/**"], "exclusive": true, "ttl_seconds": 60 }));
    let again = reserve(&server, "Ann", json!({ "paths": "src/**", "exclusive": true, "reason": "bd-1" }));
    let (first, again) = (&first["granted"][0], &again["granted"][0]);
    assert_eq!((&first["id"], &first["created_ts"]), (&again["id"], &again["created_ts"]));
    assert_eq!(again["reason"], "bd-1");
    assert!(first["expires_ts"].as_str() < again["expires_ts"].as_str(), "600 seconds are more than 60");
}

#[test]
fn renewing_moves_the_end_and_needs_something_to_renew() {
    let server = office();
    let granted = reserve(&server, "Ann", exclusive(&["src/**", "docs/**"]));
    let renewed = server.call("renew_file_reservations", as_agent("Ann", json!({ "new_ttl_seconds": 3600 })));
    assert_eq!((&renewed["renewed"], renewed["file_reservations"].as_array().unwrap().len()), (&json!(2), 2));
    assert!(granted["granted"][0]["expires_ts"].as_str() < renewed["file_reservations"][0]["expires_ts"].as_str());
    let one = json!({ "paths": ["docs/**"] });
    assert_eq!(server.call("renew_file_reservations", as_agent("Ann", one))["renewed"], 1);
    let refused = server.refused("renew_file_reservations", as_agent("Ann", json!({ "paths": ["src/**", "lib/**"] })));
    assert_eq!(refused.code, "RESERVATION_NOT_FOUND");
    assert!(refused.message.contains("'lib/**'"), "{refused:?}");
    assert_eq!(server.refused("renew_file_reservations", as_agent("Bob", json!({}))).code, "RESERVATION_NOT_FOUND");
}

#[test]
fn releasing_gives_back_some_or_all_and_nothing_is_fine() {
    let server = office();
    reserve(&server, "Ann", exclusive(&["a/**", "b/**", "c/**"]));
    let some = server.call("release_file_reservations", as_agent("Ann", json!({ "paths": ["b/**", "x/**"] })));
    assert_eq!((&some["released"], &some["paths"]), (&json!(1), &json!(["b/**"])));
    assert_eq!(server.call("release_file_reservations", as_agent("Bob", json!({})))["released"], 0);
    assert_eq!(server.call("release_file_reservations", as_agent("Ann", json!({})))["released"], 2);
    reserve(&server, "Bob", exclusive(&["**"]));
}

#[test]
fn whoever_stands_in_line_is_served_first_come_first_served() {
    let server = office();
    reserve(&server, "Ann", exclusive(&["src/**"]));
    let bob = stand_in_line(&server, "Bob", "src/lib.rs");
    let cid = stand_in_line(&server, "Cid", "src/lib.rs");
    server.call("release_file_reservations", as_agent("Ann", json!({})));
    assert_eq!(patterns(&bob.answer().unwrap()["granted"]), ["src/lib.rs"]);
    let refused = server.refused("file_reservation_paths", as_agent("Ann", exclusive(&["src/**"])));
    let holders: Vec<_> = refused.structured["conflicts"].as_array().unwrap().iter().map(|c| &c["holder"]).collect();
    assert_eq!(holders, ["Bob", "Cid"], "Ann may not pass those who waited");
    server.call("release_file_reservations", as_agent("Bob", json!({})));
    assert_eq!(patterns(&cid.answer().unwrap()["granted"]), ["src/lib.rs"]);
}

#[test]
fn a_reservation_that_ends_by_itself_lets_the_next_in_line_through() {
    let server = office();
    reserve(&server, "Ann", json!({ "paths": ["src/**"], "exclusive": true, "ttl_seconds": 1 }));
    let wanted = json!({ "paths": ["src/lib.rs"], "exclusive": true, "wait_seconds": LONGEST });
    let granted = reserve(&server, "Bob", wanted);
    assert_eq!(patterns(&granted["granted"]), ["src/lib.rs"]);
}

#[test]
fn a_line_that_does_not_move_in_time_is_refused_like_any_conflict() {
    let server = office();
    reserve(&server, "Ann", exclusive(&["src/**"]));
    let wanted = json!({ "paths": ["src/lib.rs"], "exclusive": true, "wait_seconds": 1 });
    let refused = server.refused("file_reservation_paths", as_agent("Bob", wanted));
    assert_eq!((refused.code.as_str(), &refused.structured["granted"]), ("FILE_RESERVATION_CONFLICT", &json!([])));
    server.call("release_file_reservations", as_agent("Ann", json!({})));
    reserve(&server, "Cid", exclusive(&["src/**"]));
}

#[test]
fn a_circle_of_agents_that_wait_for_each_other_is_refused_and_named() {
    let server = office();
    reserve(&server, "Ann", exclusive(&["a.rs"]));
    reserve(&server, "Bob", exclusive(&["b.rs"]));
    let ann = stand_in_line(&server, "Ann", "b.rs");
    let wanted = json!({ "paths": ["a.rs"], "exclusive": true, "wait_seconds": LONGEST });
    let refused = server.refused("file_reservation_paths", as_agent("Bob", wanted));
    assert_eq!(refused.code, "FILE_RESERVATION_CIRCLE");
    assert_eq!(refused.structured["circle"], json!(["Bob", "Ann", "Bob"]));
    assert!(refused.message.contains("Bob waits for Ann waits for Bob"), "{refused:?}");
    server.call("release_file_reservations", as_agent("Bob", json!({})));
    assert_eq!(patterns(&ann.answer().unwrap()["granted"]), ["b.rs"], "the one who waited first still waits");
}

#[test]
fn a_waiter_that_went_away_does_not_hold_up_the_line() {
    let server = office();
    reserve(&server, "Ann", exclusive(&["src/**"]));
    drop(stand_in_line(&server, "Bob", "src/lib.rs"));
    server.until_under_way(0);
    server.call("release_file_reservations", as_agent("Ann", json!({})));
    let wanted = json!({ "paths": ["src/lib.rs"], "exclusive": true, "wait_seconds": LONGEST });
    assert_eq!(patterns(&reserve(&server, "Cid", wanted)["granted"]), ["src/lib.rs"]);
}

#[test]
fn reservations_survive_a_kill() {
    let server = office();
    reserve(&server, "Ann", exclusive(&["src/**"]));
    let place = server.place.clone();
    server.kill();
    let server = place.serve();
    let refused = server.refused("file_reservation_paths", as_agent("Bob", exclusive(&["src/lib.rs"])));
    assert_eq!(refused.structured["conflicts"][0]["holder"], "Ann");
}
