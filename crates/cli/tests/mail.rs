//! `postrider mail`: one mailbox, whether it is looked at from a terminal or over MCP, with a server or without one.
//!
//! What each verb prints is in `transcripts`.

use std::io::Write;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::harness::mcp::{PROJECT, as_agent, with};
use crate::harness::{Place, Ran, Server};

/// A verb of mail, done by `name`.
fn mail(place: &Place, name: &str, words: &[&str]) -> Command {
    place.command(&[&["mail"], words, &["--as", name, "--project", PROJECT]].concat())
}

fn ran(place: &Place, name: &str, words: &[&str]) -> Ran {
    mail(place, name, words).output().expect("the binary runs").into()
}

/// What a verb says to programs; it has to succeed.
fn told(place: &Place, name: &str, words: &[&str]) -> Value {
    let ran = ran(place, name, &[words, &["--json"]].concat());
    assert_eq!(ran.code, Some(0), "{words:?} failed: {}{}", ran.stderr, ran.stdout);
    serde_json::from_str(&ran.stdout).expect("--json prints JSON")
}

fn join(place: &Place, names: &[&str]) {
    for name in names {
        place.done(&["join", name, "--project", PROJECT]);
    }
}

/// The ids of a list, and whether each was read.
fn ids(list: &Value) -> Vec<(&str, bool)> {
    let deliveries = list.as_array().expect("a list").iter();
    deliveries.map(|delivery| (delivery["id"].as_str().expect("an id"), delivery["read"] == true)).collect()
}

/// A server, and a message that GreenDog sent over MCP to BlueLake and RedFox.
fn sent_to_two() -> Server {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake", "RedFox"]);
    let message = json!({
        "project_key": PROJECT, "sender_name": "GreenDog", "to": ["BlueLake", "RedFox"], "subject": "The plan",
        "body_md": "First this.", "ack_required": true,
    });
    assert_eq!(server.call("send_message", message)["id"], 1);
    server
}

/// What an agent sees over MCP of message 1: whether it is in its inbox, and when it was read and acknowledged.
fn over_mcp(server: &Server, name: &str) -> Option<(bool, bool)> {
    let inbox = server.call("fetch_inbox", as_agent(name, json!({})));
    let message = inbox.as_array().expect("a list").first()?.clone();
    Some((message.get("read_ts").is_some(), message.get("ack_ts").is_some()))
}

#[test]
fn each_recipient_has_its_own_id_and_what_it_does_shows_over_mcp() {
    let server = sent_to_two();
    let place = &server.place;
    assert_eq!(ids(&told(place, "BlueLake", &["inbox"])), [("1.1", false)]);
    assert_eq!(ids(&told(place, "RedFox", &["inbox"])), [("1.2", false)]);
    told(place, "BlueLake", &["read", "1.1"]);
    assert_eq!(
        (over_mcp(&server, "BlueLake"), over_mcp(&server, "RedFox")),
        (Some((true, false)), Some((false, false)))
    );
    told(place, "BlueLake", &["ack", "1.1", "-m", "Fine."]);
    told(place, "BlueLake", &["mark-unread", "1"]);
    assert_eq!(over_mcp(&server, "BlueLake"), Some((false, true)));
    let sent = server.read(&format!("resource://outbox/GreenDog?project={}", PROJECT.replace('/', "%2F")));
    assert_eq!(sent["messages"][0]["recipients"][0]["ack_body"], "Fine.");
    told(place, "BlueLake", &["archive", "1.1"]);
    assert_eq!((over_mcp(&server, "BlueLake"), over_mcp(&server, "RedFox")), (None, Some((false, false))));
    assert_eq!(ids(&told(place, "RedFox", &["all"])), [("1.2", false)]);
}

#[test]
fn what_is_done_over_mcp_shows_at_the_terminal() {
    let server = sent_to_two();
    let place = &server.place;
    server.call("mark_message_read", as_agent("BlueLake", json!({ "message_id": 1 })));
    assert_eq!(ids(&told(place, "BlueLake", &["inbox"])), []);
    assert_eq!(told(place, "BlueLake", &["all"])[0]["awaits_ack"], true);
    server.call("acknowledge_message", as_agent("RedFox", json!({ "message_id": 1 })));
    let delivery = &told(place, "RedFox", &["all"])[0];
    assert_eq!((&delivery["read"], &delivery["awaits_ack"]), (&json!(true), &json!(false)));
    let answer = json!({
        "project_key": PROJECT, "sender_name": "RedFox", "message_id": 1, "body_md": "Then that.",
    });
    server.call("reply_message", answer);
    let answer = told(place, "GreenDog", &["inbox"]);
    assert_eq!((&answer[0]["from"], &answer[0]["thread_id"]), (&json!("RedFox"), &json!("1")));
    assert_eq!(told(place, "GreenDog", &["thread", "2"]).as_array().map(Vec::len), Some(2), "each message once");
}

#[test]
fn an_id_of_one_mailbox_does_nothing_in_another() {
    let server = sent_to_two();
    let place = &server.place;
    for verb in ["read", "ack", "archive", "delete", "mark-read", "mark-unread"] {
        for (name, id) in [("BlueLake", "1.2"), ("GreenDog", "1.2"), ("GreenDog", "1")] {
            let ran = ran(place, name, &[verb, id]);
            assert_eq!(ran.code, Some(1), "{verb} {id}: {}", ran.stdout);
            assert!(ran.stderr.contains("--as NAME") && ran.stdout.is_empty(), "{verb} {id}: {}", ran.stderr);
        }
    }
    assert_eq!(
        (over_mcp(&server, "BlueLake"), over_mcp(&server, "RedFox")),
        (Some((false, false)), Some((false, false)))
    );
}

/// A message that waits for its answer.
fn waiting(place: &Place, words: &[&str]) -> Child {
    let mut command =
        mail(place, "GreenDog", &[&["send", "BlueLake", "-s", "Which port?", "-m", "Say it."], words].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts")
}

/// The id of the first delivery in an inbox, as soon as there is one.
fn first_of(place: &Place, name: &str) -> String {
    loop {
        if let Some(delivery) = told(place, name, &["inbox"]).get(0) {
            return delivery["id"].as_str().expect("an id").to_owned();
        }
    }
}

fn an_answer_ends_the_wait(place: &Place) {
    join(place, &["GreenDog", "BlueLake"]);
    let asked = waiting(place, &["--wait=3600"]);
    let id = first_of(place, "BlueLake");
    told(place, "BlueLake", &["reply", &id, "-m", "8765"]);
    let ran = Ran::from(asked.wait_with_output().expect("the binary ends"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("From:     BlueLake") && ran.stdout.ends_with("\n\n8765\n"), "{}", ran.stdout);
    assert!(
        ran.stderr.contains("Message 1 is sent to BlueLake"),
        "the answer has the output for itself: {}",
        ran.stderr
    );
    assert_eq!(self::ran(place, "GreenDog", &["check"]).code, Some(3), "an answer that was shown is read");
    told(place, "BlueLake", &["archive", &id]);
    let asked = waiting(place, &["--wait=3600", "--json"]);
    let id = first_of(place, "BlueLake");
    // No answer by its form, but by one who was asked, in the thread of the question.
    told(place, "BlueLake", &["send", "GreenDog", "-s", "Port", "-m", "8766", "--thread", &id]);
    let ran = Ran::from(asked.wait_with_output().expect("the binary ends"));
    let answer: Value = serde_json::from_str(&ran.stdout).expect("--json prints JSON");
    assert_eq!((&answer["answer"]["body"], &answer["answer"]["read"]), (&json!("8766"), &json!(true)), "{answer}");
    assert_eq!((answer["id"].as_str(), ran.code), (Some(id.as_str()), Some(0)));
}

#[test]
fn an_answer_from_another_process_ends_the_wait_at_a_server() {
    let server = Server::start();
    an_answer_ends_the_wait(&server.place);
}

#[test]
fn an_answer_from_another_process_ends_the_wait_without_a_server() {
    an_answer_ends_the_wait(&Place::new());
}

#[test]
fn an_answer_ends_the_wait_where_mail_is_kept_elsewhere() {
    let place = Place::with_settings("[mail]\nprovider = \"beads\"");
    std::fs::create_dir_all(place.file("city/.gc")).expect("the place can be written to");
    let done = |words: &[&str]| place.json(&[&["mail"], words, &["--project", "./city"]].concat());
    let send = ["mail", "send", "mayor", "deputy", "-s", "Which?", "-m", "Say it.", "--as", "clerk"];
    let mut command = place.command(&[&send[..], &["--wait=3600", "--json", "--project", "./city"]].concat());
    let asked = command.stdout(Stdio::piped()).spawn().expect("the binary starts");
    while done(&["count", "--as", "deputy"])["unread"] == 0 {}
    done(&["reply", "gc-2", "-m", "That one.", "--as", "deputy"]);
    let ran = Ran::from(asked.wait_with_output().expect("the binary ends"));
    let answer: Value = serde_json::from_str(&ran.stdout).expect("--json prints JSON");
    let expected = json!(["That one.", "deputy", true]);
    assert_eq!(json!([answer["answer"]["body"], answer["answer"]["from"], answer["answer"]["read"]]), expected);
}

#[test]
fn many_ids_are_dealt_with_at_once_and_one_that_is_wrong_harms_no_other() {
    let place = Place::new();
    join(&place, &["GreenDog", "BlueLake"]);
    let server = place.serve();
    let numbers: Vec<String> = (0..50).map(|_| server.mail("GreenDog", "BlueLake", "Again").to_string()).collect();
    let mut words = vec!["archive", "999"];
    words.extend(numbers.iter().map(String::as_str));
    let ran = ran(&place, "BlueLake", &[&words[..], &["--json"]].concat());
    let tally: Value = serde_json::from_str(&ran.stdout).expect("--json prints JSON");
    assert_eq!((ran.code, &tally["done"], &tally["already"]), (Some(1), &json!(numbers), &json!([])));
    assert_eq!(tally["failed"][0]["id"], "999");
    assert_eq!(tally["failed"][0]["error"]["code"], "MESSAGE_NOT_FOUND");
    assert_eq!(told(&place, "BlueLake", &["count"]), json!({ "total": 0, "unread": 0 }));
}

#[test]
fn a_long_text_comes_whole_through_standard_input_and_none_steers_the_terminal() {
    let place = Place::new();
    join(&place, &["GreenDog", "BlueLake"]);
    let text = format!("- first line\n\x1b[2J{}\n\n  last ü line", "word ".repeat(200_000));
    let mut command = mail(&place, "GreenDog", &["send", "BlueLake", "-s", "Long \x1b]0;title\x07"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the binary starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(format!("{text}\n").as_bytes()).expect("the binary reads");
    drop(input);
    assert!(child.wait_with_output().expect("the binary ends").status.success());
    assert_eq!(told(&place, "BlueLake", &["peek", "1"])["body"], text);
    for words in [&["inbox"][..], &["peek", "1"], &["thread", "1"], &["search", "first"]] {
        let shown = ran(&place, "BlueLake", words).stdout;
        assert!(!shown.is_empty() && !shown.contains('\x1b') && !shown.contains('\x07'), "{words:?}");
    }
}

#[test]
fn where_names_are_strict_joining_gives_the_token_that_every_verb_wants() {
    let place = Place::with_settings("identity = \"strict\"");
    let said = place.done(&["join", "GreenDog", "--project", PROJECT]);
    let token = said.lines().last().expect("the token comes last").to_owned();
    assert!(said.contains("POSTRIDER_REGISTRATION_TOKEN") && token.len() >= 32, "{said}");
    let other = place.json(&["join", "BlueLake", "--project", PROJECT])["registration_token"].clone();
    let refused = place.run(&["join", "GreenDog", "--project", PROJECT]);
    assert!(refused.code == Some(1) && refused.stderr.contains("The name is taken"), "{}", refused.stderr);
    let refused = ran(&place, "GreenDog", &["inbox"]);
    assert!(refused.code == Some(1) && refused.stderr.contains("--token"), "{}", refused.stderr);
    assert!(!refused.stderr.contains(&token), "{}", refused.stderr);
    let server = place.serve();
    let asked = waiting(&place, &["--wait=3600", "--json", "--token", &token]);
    let as_blue = |more| with(as_agent("BlueLake", json!({ "registration_token": other })), more);
    server.call("wait_for_mail", as_blue(json!({})));
    let answer = json!({
        "project_key": PROJECT, "sender_name": "BlueLake", "message_id": 1, "body_md": "8765", "registration_token": other,
    });
    server.call("reply_message", answer);
    let ran = Ran::from(asked.wait_with_output().expect("the binary ends"));
    let answer: Value = serde_json::from_str(&ran.stdout).expect("--json prints JSON");
    assert_eq!(answer["answer"]["body"], "8765", "{answer}");
}

#[test]
fn what_was_put_away_comes_back_as_it_was_and_for_its_owner_alone() {
    let server = sent_to_two();
    let place = &server.place;
    told(place, "BlueLake", &["archive", "1"]);
    assert_eq!(ids(&told(place, "BlueLake", &["all"])), []);
    let refused = ran(place, "GreenDog", &["unarchive", "1.1"]);
    assert!(refused.code == Some(1) && refused.stderr.contains("NOT_A_RECIPIENT"), "{}", refused.stderr);
    let back = ran(place, "BlueLake", &["unarchive", "1"]);
    assert_eq!((back.code, back.stdout.as_str()), (Some(0), "Message 1 is in the mailbox.\n"), "{}", back.stderr);
    assert_eq!(ids(&told(place, "BlueLake", &["inbox"])), [("1.1", false)]);
    let some = ran(place, "BlueLake", &["unarchive", "1", "99", "--json"]);
    let told: Value = serde_json::from_str(&some.stdout).unwrap();
    assert_eq!((some.code, &told["done"], &told["failed"][0]["id"]), (Some(1), &json!(["1"]), &json!("99")));
}

#[test]
fn of_a_thread_the_newest_are_shown_when_somebody_wants_only_so_many() {
    let server = sent_to_two();
    let place = &server.place;
    for (name, text) in [("BlueLake", "Then that."), ("RedFox", "And tests.")] {
        told(place, name, &["reply", "1", "-m", text]);
    }
    let thread = told(place, "GreenDog", &["thread", "1", "--limit", "2"]);
    let bodies: Vec<&str> = thread.as_array().unwrap().iter().map(|one| one["body"].as_str().unwrap()).collect();
    assert_eq!(bodies, ["Then that.", "And tests."]);
    let shown = ran(place, "GreenDog", &["thread", "1", "--limit", "1"]);
    assert!(
        shown.stderr.starts_with("2 earlier messages left out") && !shown.stdout.contains("Then that."),
        "{}",
        shown.stderr
    );
    assert_eq!(told(place, "GreenDog", &["thread", "1", "--limit", "99"]).as_array().unwrap().len(), 3);
    assert_eq!(ran(place, "GreenDog", &["thread", "1", "--limit", "0"]).code, Some(1));
}
