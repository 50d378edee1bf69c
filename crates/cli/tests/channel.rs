//! `postrider channel` and the resources of channels: one conversation, whoever takes part at whatever door, with a server
//! and without one. What each verb prints is in `transcripts`.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::harness::mcp::{PROJECT, as_agent, request};
use crate::harness::{Place, Ran, Server, within_deadline};

const ENCODED: &str = "%2Fdata%2Fprojects%2Fapp";

fn channel(place: &Place, name: &str, words: &[&str]) -> Command {
    place.command(&[&["channel"], words, &["--as", name, "--project", PROJECT]].concat())
}

/// What a verb says to programs; it has to succeed.
fn told(place: &Place, name: &str, words: &[&str]) -> Value {
    let ran = Ran::from(channel(place, name, &[words, &["--json"]].concat()).output().expect("the binary runs"));
    assert_eq!(ran.code, Some(0), "{words:?} failed: {}{}", ran.stderr, ran.stdout);
    serde_json::from_str(&ran.stdout).expect("--json prints JSON")
}

fn said(server: &Server, more: &str) -> Value {
    server.read(&format!("resource://channel/dev?project={ENCODED}{more}"))
}

fn texts(answer: &Value) -> Vec<&str> {
    answer["messages"].as_array().expect("a list").iter().map(|one| one["text"].as_str().expect("a text")).collect()
}

fn message(from: &str, to: &[&str], body: &str) -> Value {
    json!({ "project_key": PROJECT, "sender_name": from, "to": to, "subject": "s", "body_md": body })
}

#[test]
fn what_is_said_at_one_door_is_read_at_every_other() {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake"]);
    let sent = server.call("send_message", message("GreenDog", &["#dev", "BlueLake"], "Over MCP"));
    assert_eq!((&sent["to"], &sent["count"]), (&json!(["#dev", "BlueLake"]), &json!(1)), "a channel gets no delivery");
    told(&server.place, "BlueLake", &["post", "dev", "At the terminal, @GreenDog", "--reply-to", "1"]);
    let mut read = said(&server, "");
    assert_eq!(texts(&read), ["s\n\nOver MCP", "At the terminal, @GreenDog"]);
    let answer = &read["messages"][1];
    assert_eq!((&answer["in_reply_to"], &answer["thread_id"]), (&read["messages"][0]["external_id"], &json!("1")));
    assert_eq!((&answer["to"], &answer["door"]), (&json!(["GreenDog"]), &json!("terminal")));
    read.as_object_mut().expect("an object").remove("next");
    assert_eq!(told(&server.place, "BlueLake", &["read", "dev"]), read, "the terminal shows the same");
    let inbox = server.call("fetch_inbox", as_agent("GreenDog", json!({})));
    assert_eq!((&inbox[0]["id"], &inbox[0]["to"]), (&json!(2), &json!(["#dev", "GreenDog"])));
    let reply = json!({ "project_key": PROJECT, "sender_name": "GreenDog", "message_id": 2, "body_md": "Fine." });
    assert_eq!(server.call("reply_message", reply)["to"], json!(["#dev", "BlueLake"]));
    assert_eq!(said(&server, "")["messages"].as_array().map(Vec::len), Some(3));
}

#[test]
fn several_names_are_addressed_with_commas_and_the_new_ones_are_told() {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake"]);
    let answer = told(&server.place, "GreenDog", &["post", "dev", "Look", "--to", "BlueLake,BleuLake"]);
    assert_eq!(answer["to"], json!(["#dev", "BlueLake", "BleuLake"]));
    assert_eq!(answer["new_mailboxes"], json!(["BleuLake"]));
    let words = ["send-message", "--agent", "GreenDog", "--channel", "dev", "--to", "a,b", "--text", "x"];
    let ran =
        Ran::from(server.place.command(&[&words[..], &["--project", PROJECT]].concat()).output().expect("it runs"));
    let receipt = "It is mail for a, b. Nobody knew 'a', 'b' before: they have mailboxes now.";
    assert!(ran.stdout.contains(receipt), "{}", ran.stdout);
}

#[test]
fn names_are_understood_as_people_write_them_and_none_is_empty() {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake", "RedFox"]);
    let posted = told(&server.place, "GreenDog", &["post", "dev", "Look", "--to", "@BlueLake, RedFox"]);
    assert_eq!((&posted["to"], &posted["new_mailboxes"]), (&json!(["#dev", "BlueLake", "RedFox"]), &json!([])));
    let script = ["send-message", "--agent", "GreenDog", "--channel", "dev", "--text", "x"];
    let mail_send = ["mail", "send", "-s", "s", "-m", "x", "--as", "GreenDog"];
    let cases: [(&[&str], &[&str]); 3] = [
        (&script, &["--to", "@BlueLake, RedFox"]),
        (&mail_send, &["@BlueLake, RedFox"]),
        (&mail_send, &["--to=@BlueLake,RedFox"]),
    ];
    for (words, to) in cases {
        let words = [words, to, &["--project", PROJECT]].concat();
        let ran = Ran::from(server.place.command(&words).output().expect("it runs"));
        assert!(
            ran.stdout.contains("BlueLake, RedFox") && !ran.stdout.contains("Nobody knew"),
            "{words:?} {}{}",
            ran.stdout,
            ran.stderr
        );
    }
    for (words, to) in
        [(&script[..], "--to="), (&script, "--to=BlueLake,"), (&mail_send, "--to= "), (&mail_send, "--cc=@")]
    {
        let words = [words, &[to, "--project", PROJECT]].concat();
        let ran = Ran::from(server.place.command(&words).output().expect("it runs"));
        assert_eq!((ran.code, ran.stderr.contains("a name is missing")), (Some(1), true), "{words:?} {}", ran.stderr);
    }
}

#[test]
fn a_reader_goes_on_where_it_stood_and_pages_meet() {
    let server = Server::start();
    for number in 1..=5 {
        told(&server.place, "GreenDog", &["post", "dev", &number.to_string()]);
    }
    let newest = said(&server, "&limit=2");
    assert_eq!((texts(&newest), &newest["newest"]), (vec!["4", "5"], &json!(5)));
    let back = server.read(newest["next"].as_str().expect("there is more before"));
    assert_eq!(texts(&back), ["2", "3"]);
    let first = server.read(back["next"].as_str().expect("there is more before"));
    assert_eq!((texts(&first), &first["next"]), (vec!["1"], &Value::Null));
    let mut page = said(&server, "&since=0&limit=2");
    let mut all = Vec::new();
    loop {
        all.extend(texts(&page).into_iter().map(str::to_owned));
        match page["next"].as_str() {
            Some(next) => page = server.read(next),
            None => break,
        }
    }
    assert_eq!(all, ["1", "2", "3", "4", "5"]);
    let third = &newest["messages"].clone()[0];
    for since in ["external_id", "created_ts"] {
        let since = third[since].as_str().expect("a text").replace(':', "%3A");
        assert_eq!(texts(&said(&server, &format!("&since={since}"))), ["5"], "{since}");
    }
    let empty = said(&server, "&since=5");
    assert_eq!((texts(&empty).len(), &empty["newest"], &empty["next"]), (0, &json!(5), &Value::Null));
    assert_eq!(texts(&said(&server, "&thread_id=3")), ["3"]);
    let refused =
        server.post(request("resources/read", &json!({ "uri": "resource://channel/a%2Fb?project=x" }))).json();
    assert!(refused["error"]["message"].as_str().is_some_and(|told| told.contains("'a/b'")), "{refused}");
}

#[test]
fn channels_are_listed_where_resources_are() {
    let server = Server::start();
    told(&server.place, "GreenDog", &["post", "dev", "Hello"]);
    told(&server.place, "GreenDog", &["post", "ops", "Hello"]);
    let channels = server.read("resource://channels/data-projects-app");
    let listed = channels["channels"].as_array().expect("a list");
    let names: Vec<_> = listed.iter().map(|one| (one["name"].as_str(), one["posts"].as_i64())).collect();
    assert_eq!(names, [(Some("dev"), Some(1)), (Some("ops"), Some(1))]);
    assert!(listed.iter().all(|one| one["last_ts"].is_string() && one["created_ts"].is_string()), "{channels}");
    let resources = server.rpc("resources/list", json!({}))["result"]["resources"].clone();
    let uris: Vec<_> = resources.as_array().expect("a list").iter().filter_map(|one| one["uri"].as_str()).collect();
    for uri in ["resource://channels/data-projects-app", &format!("resource://channel/dev?project={ENCODED}")] {
        assert!(uris.contains(&uri), "{uris:?}");
    }
}

/// Somebody who follows the channel; the lines come as they are printed.
struct Follower {
    process: Child,
    lines: Option<BufReader<ChildStdout>>,
}

impl Follower {
    fn start(place: &Place, words: &[&str]) -> Self {
        let mut command = channel(place, "BlueLake", &[&["tail", "dev", "--json"], words].concat());
        let mut process = command.stdout(Stdio::piped()).spawn().expect("the binary starts");
        let lines = process.stdout.take().map(BufReader::new);
        Self { process, lines }
    }

    fn next(&mut self) -> Value {
        let mut lines = self.lines.take().expect("the output is there");
        let (line, lines) = within_deadline("the next message is printed", move || {
            let mut line = String::new();
            lines.read_line(&mut line).expect("the output can be read");
            (line, lines)
        });
        self.lines = Some(lines);
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("one message a line, not {line:?}"))
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Everything that is said is shown once and in order, what was said before too.
fn a_follower_misses_nothing(place: &Place) {
    for number in 1..=3 {
        told(place, "GreenDog", &["post", "dev", &number.to_string()]);
    }
    let mut follower = Follower::start(place, &["-n", "2"]);
    assert_eq!([follower.next()["text"].clone(), follower.next()["text"].clone()], ["2", "3"]);
    for number in 4..=8 {
        told(place, "GreenDog", &["post", "dev", &number.to_string()]);
        told(place, "GreenDog", &["post", "ops", "Elsewhere"]);
    }
    for number in 4..=8 {
        assert_eq!(follower.next()["text"], number.to_string());
    }
}

#[test]
fn a_follower_misses_nothing_at_a_running_server() {
    let server = Server::start();
    a_follower_misses_nothing(&server.place);
}

#[test]
fn a_follower_misses_nothing_without_a_server() {
    a_follower_misses_nothing(&Place::new());
}

#[test]
fn a_follower_goes_on_when_the_server_comes_back() {
    let server = Server::start();
    let place = server.place.clone();
    told(&place, "GreenDog", &["post", "dev", "Before"]);
    let mut follower = Follower::start(&place, &[]);
    assert_eq!(follower.next()["text"], "Before");
    server.kill();
    told(&place, "GreenDog", &["post", "dev", "Meanwhile"]);
    let server = place.serve();
    told(&place, "GreenDog", &["post", "dev", "After"]);
    assert_eq!([follower.next()["text"].clone(), follower.next()["text"].clone()], ["Meanwhile", "After"]);
    drop(server);
}

/// Writes a message into the folder, as an agent does that knows nothing of us.
fn drop_file(place: &Place, name: &str, text: &str) {
    let document = json!({
        "id": name, "timestamp": "2026-01-11T16:33:15.123Z", "session_id": "dev", "from": "claude", "to": "all",
        "type": "chat", "content": { "text": text },
    });
    let folder = place.file("collab/channels/dev");
    std::fs::create_dir_all(&folder).expect("the place can be written to");
    std::fs::write(folder.join(".new"), document.to_string()).expect("the folder can be written to");
    std::fs::rename(folder.join(".new"), folder.join(format!("{name}.json"))).expect("a file can be renamed");
}

#[test]
fn what_lies_in_the_folder_is_read_and_followed_without_a_server() {
    let place = Place::new();
    let settings = format!("[channels]\n'{PROJECT}' = '{}'\n", place.file("collab").display());
    std::fs::write(place.home().join("postrider.toml"), settings).expect("the home can be written to");
    drop_file(&place, "msg-20260111-163315-claude-4c78", "From the folder");
    assert_eq!(place.json(&["channel", "list", "--project", PROJECT])["channels"][0]["posts"], 1);
    let read = told(&place, "GreenDog", &["read", "dev"]);
    assert_eq!(texts(&read), ["From the folder"]);
    assert_eq!(read["messages"][0]["external_id"], "msg-20260111-163315-claude-4c78");
    let mut follower = Follower::start(&place, &[]);
    assert_eq!(follower.next()["text"], "From the folder");
    drop_file(&place, "msg-20260111-163316-claude-4c79", "And another");
    assert_eq!(follower.next()["text"], "And another");
    let posted = told(&place, "GreenDog", &["post", "dev", "Into the folder"]);
    let name = posted["external_id"].as_str().expect("a name");
    let file = place.file("collab/channels/dev").join(format!("{name}.json"));
    let document: Value = serde_json::from_str(&std::fs::read_to_string(file).expect("the file is there")).unwrap();
    assert_eq!((&document["content"]["text"], &document["to"]), (&json!("Into the folder"), &json!("all")));
    assert_eq!(follower.next()["text"], "Into the folder");
}

#[test]
fn an_answer_through_another_tools_mail_is_said_in_the_channel_too() {
    let place = Place::new();
    told(&place, "GreenDog", &["post", "dev", "Well?", "--to", "BlueLake"]);
    let line = r#"echo '{"from":"BlueLake","subject":"Re: Well?","body":"Yes."}' | postrider exec-mail reply 1"#;
    let ran = Ran::from(place.shell(line).env("GC_CITY", PROJECT).output().expect("a shell runs"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let read = told(&place, "GreenDog", &["read", "dev"]);
    assert_eq!(texts(&read), ["Well?", "Re: Well?\n\nYes."]);
    assert_eq!(read["messages"][1]["to"], json!(["GreenDog"]));
}

#[test]
fn a_post_stays_a_post_when_mail_is_moved() {
    let (place, second) = (Place::new(), Place::new());
    told(&place, "GreenDog", &["post", "dev", "Look.", "--to", "BlueLake", "--type", "incident", "--artifact", "x.rs"]);
    told(&place, "BlueLake", &["post", "dev", "I do.", "--reply-to", "1"]);
    std::fs::write(second.file("mail.jsonl"), place.done(&["export"])).expect("the place can be written to");
    let file = second.file("mail.jsonl");
    second.done(&["import", file.to_str().expect("a plain path")]);
    assert_eq!(told(&second, "BlueLake", &["read", "dev"]), told(&place, "BlueLake", &["read", "dev"]));
}

#[test]
fn nothing_in_a_channel_steers_the_terminal() {
    let place = Place::new();
    let evil = "\u{1b}[2J\u{1b}]0;title\u{7}\u{9b}31m\u{202e}";
    told(&place, "GreenDog", &["post", "dev", evil, "--to", "Blue\u{202e}Lake", "--artifact", evil]);
    for words in [&["read", "dev"][..], &["read", "dev", "--json"]] {
        let ran = Ran::from(channel(&place, "GreenDog", words).output().expect("the binary runs"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let steers = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!ran.stdout.chars().any(steers), "{:?}", ran.stdout);
    }
}
