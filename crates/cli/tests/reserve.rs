//! `postrider reserve`, `release` and `reservations`: files of a repository, as somebody at a shell holds and waits for them.

use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::harness::repository::{Repository, is_there, ran};
use crate::harness::{Place, Ran, Server, send_signal};

/// A place with Ann and Bob in the project of its folder, which is no repository.
fn place() -> Place {
    let place = Place::new();
    for name in ["Ann", "Bob"] {
        place.done(&["join", name]);
    }
    place
}

fn told(place: &Place, name: &str, arguments: &[&str]) -> (Option<i32>, Value) {
    let ran = place.run(&[arguments, &["--as", name, "--json"]].concat());
    (ran.code, serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr)))
}

fn patterns(place: &Place) -> Vec<String> {
    let listed = place.json(&["reservations"]);
    let held = listed["reservations"].as_array().unwrap().iter();
    held.map(|one| format!("{} {}", one["agent"].as_str().unwrap(), one["path_pattern"].as_str().unwrap())).collect()
}

#[test]
fn what_one_reserves_another_is_refused_with_holder_end_and_next_step() {
    let place = place();
    let (code, granted) =
        told(&place, "Ann", &["reserve", "src/**", "a.txt", "--exclusive", "--for", "1h", "--reason", "bd-1"]);
    assert_eq!((code, granted["granted"].as_array().unwrap().len()), (Some(0), 2));
    let refused = place.run(&["reserve", "src/lib.rs", "free", "--exclusive", "--as", "Bob"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
    for word in ["src/lib.rs", "Ann", "src/**", "(in 60 min)", "--wait", "postrider mail send Ann"] {
        assert!(refused.stderr.contains(word), "{word}: {}", refused.stderr);
    }
    let (code, refused) = told(&place, "Bob", &["reserve", "a.txt"]);
    assert_eq!((code, &refused["error"]["code"]), (Some(1), &json!("FILE_RESERVATION_CONFLICT")));
    assert_eq!(refused["conflicts"][0]["holder"], "Ann");
    assert_eq!(patterns(&place), ["Ann src/**", "Ann a.txt"], "all of the paths, or none");
}

#[test]
fn what_is_released_is_free_and_only_ones_own_is() {
    let place = place();
    for (name, path) in [("Ann", "a"), ("Ann", "b"), ("Ann", "src/"), ("Bob", "c")] {
        place.done(&["reserve", path, "--as", name]);
    }
    assert_eq!(told(&place, "Ann", &["release", "b", "c"]), (Some(0), json!({ "released": 1, "paths": ["b"] })));
    assert_eq!(patterns(&place), ["Ann a", "Ann src/**", "Bob c"]);
    assert_eq!(told(&place, "Ann", &["release", "--all"]).1["released"], 2);
    let nothing = place.run(&["release", "--all", "--as", "Ann"]);
    assert!(nothing.code == Some(0) && nothing.stderr.contains("Nothing was released"), "{}", nothing.stderr);
    for wrong in
        [&["release", "--as", "Ann"][..], &["release", "a", "--all", "--as", "Ann"], &["reserve", "--as", "Ann"]]
    {
        assert_eq!(place.run(wrong).code, Some(1), "{wrong:?}");
    }
}

#[test]
fn who_nobody_knows_is_told_what_to_do_first() {
    let place = Place::new();
    let lost = place.run(&["reserve", "a"]);
    assert!(lost.code == Some(1) && lost.stderr.contains("--as NAME"), "{}", lost.stderr);
    let new = place.run(&["reserve", "a", "--as", "Ann"]);
    assert!(new.code == Some(1) && new.stderr.contains("PROJECT_NOT_FOUND"), "{}", new.stderr);
    place.done(&["join", "Bob"]);
    let new = place.run(&["reserve", "a", "--as", "Ann", "--wait=1"]);
    assert!(new.code == Some(1) && new.stderr.contains("postrider join"), "{}", new.stderr);
}

/// Begins to wait as Bob, and returns when others can see him in line.
fn waiting(place: &Place, arguments: &[&str]) -> Child {
    let mut command = place.command(&[&["reserve", "a", "--exclusive", "--json", "--as", "Bob"], arguments].concat());
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    while in_line(place).is_empty() {}
    child
}

fn in_line(place: &Place) -> Vec<Value> {
    place.json(&["reservations"])["waiting"].as_array().unwrap().clone()
}

fn ended(child: Child) -> Ran {
    child.wait_with_output().unwrap().into()
}

#[test]
fn who_waits_is_seen_in_line_and_is_granted_what_is_released() {
    for with_server in [true, false] {
        let place = place();
        let _server: Option<Server> = with_server.then(|| place.serve());
        place.done(&["reserve", "a", "--exclusive", "--as", "Ann"]);
        let child = waiting(&place, &["--wait"]);
        let line = in_line(&place);
        assert_eq!((&line[0]["agent"], &line[0]["paths"]), (&json!("Bob"), &json!(["a"])));
        assert_eq!(line[0]["waits_for"], json!([place.json(&["reservations"])["reservations"][0]["id"]]));
        assert!(place.done(&["reservations"]).contains("Bob"));
        place.done(&["release", "a", "--as", "Ann"]);
        let ran = ended(child);
        let granted: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!((ran.code, &granted["granted"][0]["agent"]), (Some(0), &json!("Bob")), "{with_server}");
        assert!(in_line(&place).is_empty());
    }
}

#[test]
fn who_presses_ctrl_c_or_has_waited_long_enough_leaves_the_line() {
    for with_server in [true, false] {
        let place = place();
        let _server = with_server.then(|| place.serve());
        place.done(&["reserve", "a", "--exclusive", "--as", "Ann"]);
        let child = waiting(&place, &["--wait"]);
        send_signal("-INT", child.id());
        assert_eq!(ended(child).code, Some(130), "{with_server}");
        assert!(in_line(&place).is_empty(), "the place is not merely lost by time");
        let (code, refused) = told(&place, "Bob", &["reserve", "a", "--exclusive", "--wait=1"]);
        assert_eq!((code, &refused["error"]["code"]), (Some(1), &json!("FILE_RESERVATION_CONFLICT")));
        assert_eq!(refused["conflicts"][0]["holder"], "Ann");
        assert!(in_line(&place).is_empty());
    }
}

/// Runs our own command in a folder of a repository.
fn run_in(repository: &Repository, folder: &Path, arguments: &[&str]) -> Ran {
    ran(repository.command(env!("CARGO_BIN_EXE_postrider"), folder, arguments))
}

#[test]
fn a_path_is_the_same_file_for_the_shell_the_guard_and_every_working_tree() {
    if !is_there("git") {
        return;
    }
    let Some((repository, server)) = Repository::guarded() else { return };
    repository.stage("web/[id]/page.tsx", "x");
    repository.git(&["commit", "--quiet", "-m", "First"]);
    let side = repository.top.with_file_name("side");
    repository.git(&["worktree", "add", "--quiet", side.to_str().unwrap()]);
    let reserved = run_in(
        &repository,
        &side.join("web"),
        &["reserve", "[id]/page.tsx", "new.ts", "--exclusive", "--as", "GreenDog"],
    );
    assert_eq!(reserved.code, Some(0), "{}", reserved.stderr);
    let listed = run_in(&repository, &repository.top, &["reservations", "--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    let held: Vec<&Value> = listed["reservations"].as_array().unwrap().iter().map(|one| &one["path_pattern"]).collect();
    assert_eq!(held, [&json!("web/\\[id]/page.tsx"), &json!("web/new.ts")]);
    repository.stage("web/[id]/page.tsx", "y");
    assert_eq!(repository.commit(Some("BlueLake")).code, Some(1), "the guard knows it by that name");
    let released = run_in(&repository, &repository.top.join("web"), &["release", "[id]/page.tsx", "--as", "GreenDog"]);
    assert_eq!(released.stdout, "Released web/\\[id]/page.tsx\n");
    assert_eq!(repository.commit(Some("BlueLake")).code, Some(0));
    drop(server);
}
