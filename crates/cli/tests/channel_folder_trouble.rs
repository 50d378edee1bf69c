//! A shared folder that is away, unmounted, full of odd files, or another project's: what goes on, and what people learn.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use store::ownership::Ownership;
use tokio::net::TcpSocket;

use crate::foreign::{Shared, until};
use crate::harness::mcp::PROJECT;
use crate::harness::{Place, within_deadline};

fn say(place: &Place, text: &str) {
    place.done(&["channel", "post", "dev", text, "--as", "codex", "--project", PROJECT]);
}

/// What doctor finds.
fn problems(place: &Place) -> Vec<String> {
    let ran = place.run(&["doctor", "--quick", "--json"]);
    let told: Value = serde_json::from_str(&ran.stdout).expect("doctor prints JSON");
    let problems = told["problems"].as_array().expect("problems are a list");
    problems.iter().map(|problem| problem["problem"].as_str().expect("a text").to_owned()).collect()
}

/// The place of a project with a folder that can be mounted.
fn place_with_mount() -> (Place, PathBuf) {
    let place = Place::new();
    let folder = place.file("mount");
    fs::create_dir(&folder).unwrap();
    let settings = format!("[channels]\n'{PROJECT}' = '{}'\n", folder.display());
    fs::write(place.home().join("postrider.toml"), settings).unwrap();
    place.done(&["join", "codex", "--project", PROJECT]);
    (place, folder)
}

fn count(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

#[test]
fn an_unmounted_folder_is_left_alone_told_of_and_gets_its_posts_when_it_is_back() {
    let (place, folder) = place_with_mount();
    say(&place, "before");
    assert!(problems(&place).is_empty(), "{:?}", problems(&place));
    let elsewhere = place.file("elsewhere");
    fs::rename(&folder, &elsewhere).unwrap();
    fs::create_dir(&folder).unwrap();
    let told = place.run(&["channel", "post", "dev", "while it is away", "--as", "codex", "--project", PROJECT]);
    assert_eq!(told.code, Some(0), "a post is kept all the same");
    assert_eq!(told.stderr.matches("no 'channels' in it any more").count(), 1, "{}", told.stderr);
    let server = place.serve();
    until("the server tells of it", || place.log().contains("no 'channels' in it any more").then_some(()));
    let found = problems(&place);
    assert!(found.len() == 1 && found[0].contains("/mount' has no 'channels'"), "{found:?}");
    assert_eq!(count(&folder), 0);
    fs::remove_dir(&folder).unwrap();
    fs::rename(&elsewhere, &folder).unwrap();
    until("it is written", || (count(&folder.join("channels/dev")) == 2).then_some(()));
    server.stop();
}

#[test]
fn odd_files_are_told_of_in_the_log_and_by_doctor() {
    let (place, folder) = place_with_mount();
    let dev = folder.join("channels/dev");
    fs::create_dir_all(&dev).unwrap();
    fs::create_dir_all(folder.join("channels/not a channel")).unwrap();
    fs::create_dir_all(folder.join("signals/presence")).unwrap();
    fs::write(dev.join("msg-20260111-163315-claude-4C78.json"), "{}").unwrap();
    fs::write(dev.join("msg-20260111-163315-claude-4c79.json"), "[]").unwrap();
    let odd = json!({
        "id": "msg-20260111-163315-claude-4c80", "timestamp": "2026-01-11T16:33:15Z", "session_id": "elsewhere",
        "from": "claude", "to": "all", "type": "chat", "content": { "text": "hi" },
    });
    fs::write(dev.join("msg-20260111-163315-claude-4c80.json"), odd.to_string()).unwrap();
    fs::write(folder.join("signals/presence/claude.json"), "garbage").unwrap();
    let _server = place.serve();
    for told in ["4C78.json", "4c79.json", "4c80.json", "not a channel", "claude.json"] {
        let is_told = || place.log().lines().any(|line| line.contains("WARN") && line.contains(told)).then_some(());
        until(&format!("the log tells of {told}"), is_told);
    }
    let found = problems(&place).join("\n");
    assert!(found.contains("2 files in ") && found.contains("4C78.json") && found.contains("not a channel"), "{found}");
}

#[test]
fn without_a_server_a_command_leaves_the_folders_of_other_projects_alone() {
    let (place, folder) = place_with_mount();
    let others = place.file("others");
    fs::create_dir(&others).unwrap();
    let settings = fs::read_to_string(place.home().join("postrider.toml")).unwrap();
    let more = format!("{settings}'/data/others' = '{}'\n", others.display());
    fs::write(place.home().join("postrider.toml"), more).unwrap();
    say(&place, "hello");
    place.done(&["mail", "inbox", "--as", "codex", "--project", PROJECT]);
    place.done(&["channel", "list", "--project", PROJECT]);
    assert_eq!((count(&folder.join("channels/dev")), count(&others)), (1, 0));
    place.done(&["channel", "list", "--project", "/data/others"]);
    assert_eq!(count(&others), 1);
}

#[test]
fn who_hears_of_agents_elsewhere_without_a_server() {
    let (place, folder) = place_with_mount();
    let presence = folder.join("signals/presence");
    fs::create_dir_all(&presence).unwrap();
    let beat = json!({ "agent_id": "gemini", "timestamp": "2026-01-11T16:33:15Z", "state": "OFFLINE" });
    fs::write(presence.join("gemini.json"), beat.to_string()).unwrap();
    let told = place.done(&["who", "--project", PROJECT]);
    assert!(told.contains("gemini") && told.contains("OFFLINE"), "{told}");
}

#[test]
fn how_far_behind_a_folder_is_stands_among_the_metrics() {
    let shared = Shared::new();
    let server = shared.place().serve();
    server.register(&["codex"]);
    let line = |count: &str| format!("postrider_events_behind{{sink=\"files\",project=\"{}\"}} {count}", slug());
    until("it is up to date", || server.get("/metrics").body.lines().any(|known| known == line("0")).then_some(()));
}

/// The slug of the project that tests use.
fn slug() -> String {
    PROJECT.trim_start_matches('/').replace(['/', '_'], "-")
}

#[test]
fn a_server_waits_for_the_end_of_one_that_is_stopping() {
    let place = Place::new();
    // An address that nobody listens at, and nobody else can take.
    let silent = TcpSocket::new_v4().unwrap();
    silent.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let gone = silent.local_addr().unwrap();
    let stopping = Ownership::take(&place.database(), &format!("http://{gone}")).unwrap();
    let here = place.clone();
    let next = std::thread::spawn(move || here.serve());
    until("it waits", || place.log().contains("stopping").then_some(()));
    drop(stopping);
    let server = within_deadline("it serves", move || next.join().expect("it started"));
    server.stop();
}
