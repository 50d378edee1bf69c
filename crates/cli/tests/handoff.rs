//! `postrider handoff`: a message that says where one's work stands.

use serde_json::json;

use crate::harness::Server;
use crate::harness::mcp::{PROJECT, as_agent};
use crate::hooks::send;

fn office() -> Server {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake"]);
    server
}

fn handoff(server: &Server, more: &[&str]) -> String {
    server.place.done(&[&["handoff", "BlueLake", "--as", "GreenDog", "--project", PROJECT], more].concat())
}

#[test]
fn a_handoff_is_a_message_that_says_where_the_work_stands() {
    let server = office();
    send(&server, "BlueLake", "GreenDog", "Please confirm", json!({ "ack_required": true }));
    send(&server, "GreenDog", "BlueLake", "Who takes it?", json!({ "ack_required": true }));
    server.call("file_reservation_paths", as_agent("GreenDog", json!({ "paths": ["src/**"], "exclusive": true })));
    std::fs::create_dir_all(server.place.file(".git")).unwrap();
    std::fs::write(server.place.file(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let said = handoff(&server, &["-m", "The lexer is done."]);
    assert!(said.starts_with("Message 3 is sent to BlueLake, in thread '3'."), "{said}");
    let inbox = server.call("fetch_inbox", as_agent("BlueLake", json!({ "limit": 1 })));
    assert_eq!((&inbox[0]["subject"], &inbox[0]["from"]), (&json!("Handoff from GreenDog"), &json!("GreenDog")));
    let body = inbox[0]["body_md"].as_str().unwrap();
    assert!(
        body.starts_with("The lexer is done.\n\nWhere my work stands:\n\n- Branch: main, without a commit\n"),
        "{body}"
    );
    for part in [
        "- Unread: 1\n  - #1 BlueLake: Please confirm [ack required]\n",
        "- To acknowledge: 1\n  - #1 BlueLake: Please confirm [ack required]\n",
        "- Waiting for an acknowledgement of: 1\n  - #2 to BlueLake: Who takes it?\n",
        "- Reservations: 1\n  - src/** until 20",
    ] {
        assert!(body.contains(part), "{part}: {body}");
    }
    let held = server.read("resource://reservations/data-projects-app");
    assert_eq!(held["reservations"][0]["agent"], "GreenDog", "nothing changes hands");
}

#[test]
fn a_handoff_under_a_former_name_tells_of_what_the_agent_holds() {
    let server = office();
    server.call("file_reservation_paths", as_agent("GreenDog", json!({ "paths": ["src/**"], "exclusive": true })));
    server.call("rename_agent", as_agent("GreenDog", json!({ "new_name": "Reviewer" })));
    handoff(&server, &[]);
    let inbox = server.call("fetch_inbox", as_agent("BlueLake", json!({ "limit": 1 })));
    assert!(inbox[0]["body_md"].as_str().unwrap().contains("- Reservations: 1\n  - src/** until 20"), "{inbox}");
}

#[test]
fn a_handoff_of_nothing_says_so_and_a_program_reads_what_was_sent() {
    let server = office();
    let said: serde_json::Value = serde_json::from_str(&handoff(&server, &["--json"])).unwrap();
    assert_eq!((&said["id"], &said["to"]), (&json!("1"), &json!(["BlueLake"])));
    let inbox = server.call("fetch_inbox", as_agent("BlueLake", json!({})));
    let body = inbox[0]["body_md"].as_str().unwrap();
    assert_eq!(body, "Nothing is open: no unread mail, no reservation, nobody waits.");
}

#[test]
fn a_handoff_to_or_from_nobody_is_refused() {
    let server = office();
    for (to, from) in [("BlueLak", "GreenDog"), ("BlueLake", "GrenDog")] {
        let ran = server.place.run(&["handoff", to, "--as", from, "--project", PROJECT]);
        assert_eq!(ran.code, Some(1));
        assert!(ran.stderr.contains("Did you mean"), "{to} {from}: {}", ran.stderr);
    }
    let empty = server.place.run(&["handoff", "BlueLake", "--as", "GreenDog", "--project", PROJECT, "-m", " "]);
    assert!(empty.code == Some(1) && empty.stderr.contains("empty"), "{}", empty.stderr);
    assert_eq!(server.call("fetch_inbox", as_agent("BlueLake", json!({}))), json!([]));
}
