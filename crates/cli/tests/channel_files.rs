//! A folder that a project shares with agents that know nothing of Postrider: what is said at any door becomes a file,
//! and a file becomes mail of whom it calls, each once. Real servers, and foreign agents that are Python programs.

use serde_json::{Value, json};

use crate::foreign::{Shared, posts, python, sorted, until};
use crate::harness::mcp::{PROJECT, as_agent};
use crate::harness::{self, Server, has_python};

/// What an agent's inbox says, the oldest first.
fn inbox(server: &Server, agent: &str) -> Vec<String> {
    let ask = json!({ "limit": 100, "include_bodies": true });
    let inbox = server.call("fetch_inbox", as_agent(agent, ask));
    let texts = inbox.as_array().expect("an inbox is a list").iter().rev();
    texts.map(|message| message["body_md"].as_str().expect("it has a body").to_owned()).collect()
}

fn post(from: &str, to: &[&str], text: &str) -> Value {
    json!({ "project_key": PROJECT, "sender_name": from, "to": to, "subject": text, "body_md": text })
}

#[test]
fn what_is_posted_over_mcp_is_one_file_by_the_convention() {
    let shared = Shared::new();
    let server = shared.place().serve();
    server.register(&["codex", "gemini"]);
    let first = server.call("send_message", post("codex", &["#dev", "gemini"], "Please look at this"));
    let (name, said) = until("the file is there", || shared.messages().pop());
    let parts: Vec<&str> = name.strip_suffix(".json").expect("JSON").split('-').collect();
    assert!(matches!(parts[..], ["msg", date, time, "codex", hex4]
        if date.len() == 8 && time.len() == 6 && hex4.len() == 4 && hex4.bytes().all(|byte| byte.is_ascii_hexdigit())));
    assert_eq!(format!("{}.json", said["id"].as_str().unwrap()), name);
    assert_eq!(said["content"], json!({ "text": "Please look at this", "code": null, "artifacts": [] }));
    let said = |field: &str| said[field].as_str().unwrap().to_owned();
    let told = ["session_id", "from", "to", "type"].map(said);
    assert_eq!(told, ["dev", "codex", "gemini", "chat"]);

    let answer = json!({
        "project_key": PROJECT, "message_id": first["id"], "sender_name": "gemini", "body_md": "It is good",
    });
    server.call("reply_message", answer);
    let (_, answer) =
        until("the answer is there", || shared.messages().into_iter().find(|(_, said)| said["from"] == "gemini"));
    assert_eq!(format!("{}.json", answer["metadata"]["in_reply_to"].as_str().unwrap()), name);
    server.stop();
    assert_eq!(shared.messages().len(), 2);
}

#[test]
fn a_file_is_mail_of_whom_it_is_addressed_to_or_calls_and_of_nobody_else() {
    if !has_python("files of foreign agents") {
        return;
    }
    let shared = Shared::new();
    let server = shared.place().serve();
    server.register(&["codex", "codex-2", "gemini", "claude"]);
    shared.say("msg-20260111-163315-claude-0001", "codex", "@gemini Please review, @claude too");
    shared.say("msg-20260111-163316-claude-0002", "all", "Team update");
    shared.say("msg-20260111-163317-qc-1-0003", "all", "@codex-2 only you");
    until("the last one is mail", || (inbox(&server, "codex-2") == ["@codex-2 only you"]).then_some(()));
    let first = "@gemini Please review, @claude too";
    assert_eq!((inbox(&server, "codex"), inbox(&server, "gemini")), (vec![first.into()], vec![first.into()]));
    assert!(inbox(&server, "claude").is_empty(), "nobody is called by itself");
    assert_eq!(posts(&server.place), [first, "Team update", "@codex-2 only you"]);
    assert_eq!(shared.messages().len(), 3, "what came from the folder is not written into it");
}

#[test]
fn each_office_has_each_file_once_also_after_a_restart_and_when_it_is_written_again() {
    if !has_python("files of foreign agents") {
        return;
    }
    let shared = Shared::new();
    let (here, there) = (shared.place(), shared.place());
    let (server, other) = (here.serve(), there.serve());
    server.register(&["codex"]);
    other.register(&["gemini"]);
    shared.say("msg-20260111-163315-claude-0001", "codex", "the first");
    server.call("send_message", post("codex", &["#dev"], "@gemini from here"));
    other.call("send_message", post("gemini", &["#dev"], "@codex from there"));
    until("both know all", || (posts(&here).len() == 3 && posts(&there).len() == 3).then_some(()));
    server.kill();
    shared.say("msg-20260111-163315-claude-0001", "codex", "the first");
    let server = here.serve();
    shared.say("msg-20990111-163316-claude-0002", "codex", "the last");
    until("both know the last", || {
        let is_last = |place| posts(place).last().is_some_and(|text| text == "the last");
        (is_last(&here) && is_last(&there)).then_some(())
    });
    let all = ["@codex from there", "@gemini from here", "the first", "the last"];
    assert_eq!(sorted(posts(&here)), all);
    assert_eq!(sorted(posts(&there)), all);
    assert_eq!(sorted(shared.texts()), all);
    assert_eq!(inbox(&server, "codex").len(), 3);
    assert_eq!(inbox(&other, "gemini"), ["@gemini from here"]);
}

#[test]
fn a_file_that_is_written_slowly_is_taken_in_whole() {
    if !has_python("files of foreign agents") {
        return;
    }
    let shared = Shared::new();
    let server = shared.place().serve();
    server.register(&["codex"]);
    // Slower than a look, and without a change in the folder's list of names.
    let slowly = r#"
import os, sys, time
folder, name, text = sys.argv[1:4]
os.makedirs(folder, exist_ok=True)
with open(f"{folder}/{name}.json", "w") as file:
    for start in range(0, len(text), 60):
        file.write(text[start:start + 60])
        file.flush()
        time.sleep(0.8)
"#;
    let text = format!("@codex {}", "slow ".repeat(40));
    let document = json!({
        "id": "msg-20260111-163315-claude-0001", "timestamp": "2026-01-11T16:33:15Z", "session_id": "dev",
        "from": "claude", "to": "all", "type": "chat", "content": { "text": text },
    });
    let folder = shared.dev();
    python(slowly, &[&folder.to_string_lossy(), "msg-20260111-163315-claude-0001", &document.to_string()]);
    until("it is mail", || (!inbox(&server, "codex").is_empty()).then_some(()));
    assert_eq!(inbox(&server, "codex"), [text]);
}

#[test]
fn without_a_server_a_command_writes_what_it_posts_and_reads_what_is_there() {
    if !has_python("files of foreign agents") {
        return;
    }
    let shared = Shared::new();
    let place = shared.place();
    place.done(&["join", "codex", "--project", PROJECT]);
    let to_dev = ["mail", "send", "--project", PROJECT, "--as", "codex", "--to", "#dev", "-s", "hello", "-m", "hello"];
    place.done(&to_dev);
    assert_eq!(shared.texts(), ["hello"]);
    shared.say("msg-20260111-163315-claude-0001", "codex", "@codex hello yourself");
    for _ in 0..2 {
        let inbox = place.done(&["mail", "inbox", "--project", PROJECT, "--as", "codex"]);
        assert_eq!(inbox.matches("hello yourself").count(), 1, "{inbox}");
    }
    assert_eq!(posts(&place), ["hello", "@codex hello yourself"]);
}

#[test]
fn a_folder_that_is_not_there_delays_no_post_and_gets_it_later() {
    let place = harness::Place::new();
    let folder = place.file("mount");
    let settings = format!("[channels]\n'{PROJECT}' = '{}'\n", folder.display());
    std::fs::write(place.home().join("postrider.toml"), settings).unwrap();
    let server = place.serve();
    server.register(&["codex"]);
    server.call("send_message", post("codex", &["#dev"], "hello"));
    until("it is in the log", || place.log().contains("mount").then_some(()));
    assert!(!folder.exists());
    std::fs::create_dir(&folder).unwrap();
    until("the post is written", || folder.join("channels/dev").read_dir().ok()?.next()?.ok());
}

#[test]
fn a_folder_without_an_absolute_path_is_refused_at_the_start() {
    let place = harness::Place::with_settings(&format!("[channels]\n'{PROJECT}' = 'collab'\n"));
    let ran = place.run(&["serve", "--port", "0"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("'collab'"), "{}", ran.stderr);
}
