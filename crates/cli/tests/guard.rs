//! `postrider guard check`, as git runs it: which commits are refused, in which words, and which are not held up.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::harness::repository::{Repository, is_there, ran};
use crate::harness::{Ran, Server};

fn refused(ran: &Ran) -> &str {
    assert_eq!(ran.code, Some(1), "this must be refused: {}{}", ran.stderr, ran.stdout);
    assert!(ran.stderr.contains("Not committed"), "{}", ran.stderr);
    &ran.stderr
}

/// A commit that went on without a word.
fn passed(ran: &Ran) {
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", ran.stdout);
}

/// A commit that went on with one line that says why nobody looked.
fn passed_with_a_word(ran: &Ran, why: &str) {
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(0), 1), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("postrider: nobody looked") && ran.stderr.contains(why), "{}", ran.stderr);
}

/// Puts one end in the place of all, which differ from run to run.
fn timeless(text: &str) -> String {
    let line = |line: &str| match (line.find(" (in "), line.ends_with(" min)")) {
        (Some(end), true) => format!("{}2026-01-11 16:30:00Z (in 10 min)", &line[..end - 20]),
        _ => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_commit_of_what_another_holds_is_refused_with_holder_pattern_and_end() {
    let Some((repository, server)) = Repository::guarded() else { return };
    let granted = repository.reserve(&server, "GreenDog", &["src/**"], true);
    repository.stage("src/lib.rs", "x");
    repository.stage("README.md", "x");
    let ran = repository.commit(Some("BlueLake"));
    let told = refused(&ran);
    let end = granted["granted"][0]["expires_ts"].as_str().unwrap();
    assert!(told.contains(&end[..19].replace('T', " ")), "{end}: {told}");
    insta::assert_snapshot!("refusal", timeless(told));
    insta::assert_snapshot!("refusal_of_nobody_known", timeless(refused(&repository.commit(None))));
    assert_eq!(repository.commits(), 0);
}

#[test]
fn programs_are_told_the_same() {
    let Some((repository, server)) = Repository::guarded() else { return };
    let granted = repository.reserve(&server, "GreenDog", &["src/**"], true);
    repository.stage("src/lib.rs", "x");
    let ran = repository.try_guard(&["check", "--as", "BlueLake", "--json"]);
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    let end = &granted["granted"][0]["expires_ts"];
    let conflict = json!({
        "path": "src/lib.rs", "holder": "GreenDog", "path_pattern": "src/**", "expires_ts": end, "reason": "",
    });
    assert_eq!((ran.code, told), (Some(1), json!({ "agent": "BlueLake", "conflicts": [conflict] })));
    let code = |flags: &[&str]| repository.try_guard(&[&["check", "--as", "BlueLake"], flags].concat()).code;
    assert_eq!(
        (code(&["--hook"]), code(&["--hook", "--nonsense"])),
        (Some(10), Some(1)),
        "for a hook it is told apart"
    );
    let mine = repository.guard(&["check", "--as", "GreenDog", "--json"]);
    assert_eq!(mine, "{\"agent\":\"GreenDog\",\"conflicts\":[]}\n");
}

#[test]
fn what_is_mine_shared_released_or_ended_may_be_committed() {
    let Some((repository, server)) = Repository::guarded() else { return };
    repository.reserve(&server, "BlueLake", &["mine/**"], true);
    repository.reserve(&server, "GreenDog", &["shared/**"], false);
    repository.reserve(&server, "GreenDog", &["released/**"], true);
    let release = json!({ "project_key": repository.key(), "agent_name": "GreenDog", "paths": ["released/**"] });
    server.call("release_file_reservations", release);
    for folder in ["mine", "shared", "released"] {
        repository.stage(&format!("{folder}/a"), "x");
    }
    passed(&repository.commit(Some("BlueLake")));
    let brief = json!({
        "project_key": repository.key(), "agent_name": "GreenDog", "paths": ["brief/**"], "exclusive": true, "ttl_seconds": 1,
    });
    server.call("file_reservation_paths", brief);
    repository.stage("brief/a", "x");
    // Whoever stands in line for it is granted it when it has ended.
    let wait = json!({
        "project_key": repository.key(), "agent_name": "BlueLake", "paths": ["brief/**"], "wait_seconds": 30,
    });
    server.call("file_reservation_paths", wait);
    passed(&repository.commit(Some("BlueLake")));
    assert_eq!(repository.commits(), 2);
}

#[test]
fn who_commits_is_said_by_the_environment_or_else_by_the_settings() {
    let Some((repository, server)) = Repository::guarded() else { return };
    repository.reserve(&server, "GreenDog", &["**"], true);
    repository.stage("a", "x");
    refused(&repository.commit(None));
    fs::write(repository.place.home().join("postrider.toml"), "agent = \"GreenDog\"\n").unwrap();
    refused(&repository.commit(Some("BlueLake")));
    passed(&repository.commit(None));
}

#[test]
fn the_first_commit_a_deletion_and_a_renaming_count_by_each_of_their_names() {
    let Some((repository, server)) = Repository::guarded() else { return };
    for name in ["held/old", "free/old", "held/gone"] {
        repository.stage(name, &format!("{name} has a text of its own\n").repeat(20));
    }
    repository.reserve(&server, "GreenDog", &["held/**"], true);
    refused(&repository.commit(Some("BlueLake")));
    passed(&repository.commit(Some("GreenDog")));
    for (what, path) in [
        (["mv", "held/old", "free/new"], "held/old"),
        (["mv", "free/old", "held/new"], "held/new"),
        (["rm", "--quiet", "held/gone"], "held/gone"),
    ] {
        repository.git(&what);
        let ran = repository.commit(Some("BlueLake"));
        assert!(refused(&ran).contains(path), "{what:?}: {}", ran.stderr);
        repository.git(&["reset", "--quiet", "--hard"]);
    }
}

#[test]
fn odd_names_are_matched_as_they_are() {
    let Some((repository, server)) = Repository::guarded() else { return };
    let names =
        ["held/a b", "held/\"quoted\" 'x'", "held/Ünïcödé 漢字", "held/line\nfeed", "held/-dash", "held/back\\slash"];
    for name in names {
        repository.stage(name, "x");
    }
    repository.stage("free/line\nfeed", "x");
    repository.reserve(&server, "GreenDog", &["held/*"], true);
    let ran = repository.try_guard(&["check", "--json"]);
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    let mut paths: Vec<&str> =
        told["conflicts"].as_array().unwrap().iter().map(|conflict| conflict["path"].as_str().unwrap()).collect();
    paths.sort_unstable();
    let mut wanted = names;
    wanted.sort_unstable();
    assert_eq!(paths, wanted);
    refused(&repository.commit(Some("BlueLake")));
}

#[test]
fn working_trees_share_the_project_of_the_main_one() {
    let Some((repository, server)) = Repository::guarded() else { return };
    repository.stage("README.md", "x");
    passed(&repository.commit(Some("BlueLake")));
    let linked = repository.top.with_file_name("linked");
    repository.git(&["worktree", "add", "--quiet", linked.to_str().unwrap()]);
    repository.reserve(&server, "GreenDog", &["src/**"], true);
    repository.stage_in(&linked, "src/a", "x");
    refused(&repository.commit_in(&linked, Some("BlueLake"), &[]));
    passed(&repository.commit_in(&linked, Some("GreenDog"), &[]));
    // Also where somebody stands in a folder of it.
    repository.stage_in(&linked, "src/b", "x");
    let check = repository.command("postrider", &linked.join("src"), &["guard", "check"]);
    assert_eq!(ran(check).code, Some(1));
}

#[test]
fn a_project_that_is_named_is_asked_instead() {
    let Some((repository, server)) = Repository::guarded() else { return };
    repository.reserve(&server, "GreenDog", &["src/**"], true);
    repository.stage("src/a", "x");
    passed(&repository.commit_in(&repository.top, Some("BlueLake"), &[("POSTRIDER_PROJECT", "/data/unknown")]));
    let slug = server.call("ensure_project", json!({ "human_key": repository.key() }))["slug"].clone();
    repository.stage("src/b", "x");
    let named = [("POSTRIDER_PROJECT", slug.as_str().unwrap())];
    refused(&repository.commit_in(&repository.top, Some("BlueLake"), &named));
}

/// A branch of GreenDog's work that changes what it holds, checked out behind it what conflicts with it.
fn diverged(repository: &Repository, server: &Server) {
    repository.stage("held/both", "one\n");
    repository.stage("held/theirs", "one\n");
    passed(&repository.commit(Some("GreenDog")));
    repository.git(&["switch", "--quiet", "--create", "theirs"]);
    repository.stage("held/both", "theirs\n");
    repository.stage("held/theirs", "two\n");
    passed(&repository.commit(Some("GreenDog")));
    repository.git(&["switch", "--quiet", "main"]);
    repository.stage("held/both", "ours\n");
    passed(&repository.commit(Some("BlueLake")));
    repository.reserve(server, "GreenDog", &["held/**"], true);
}

#[test]
fn a_merge_takes_over_what_the_holder_did_and_is_asked_about_what_it_changes_itself() {
    let Some((repository, server)) = Repository::guarded() else { return };
    diverged(&repository, &server);
    let merge = repository.command("git", &repository.top, &["merge", "--quiet", "theirs"]);
    assert_eq!(ran(merge).code, Some(1), "there is a conflict");
    repository.stage("held/both", "of my own\n");
    let ran = repository.commit(Some("BlueLake"));
    let told = refused(&ran);
    assert!(told.contains("held/both") && !told.contains("held/theirs"), "{told}");
    repository.stage("held/both", "theirs\n");
    passed(&repository.commit(Some("BlueLake")));
    assert_eq!(repository.git(&["log", "-1", "--format=%P"]).split_whitespace().count(), 2);
}

#[test]
fn a_merge_without_conflicts_is_not_held_up() {
    let Some((repository, server)) = Repository::guarded() else { return };
    diverged(&repository, &server);
    repository.git(&["merge", "--quiet", "-X", "theirs", "theirs"]);
    assert_eq!(repository.git(&["log", "-1", "--format=%P"]).split_whitespace().count(), 2);
}

#[test]
fn a_commit_of_named_files_is_asked_about_those_alone() {
    let Some((repository, server)) = Repository::guarded() else { return };
    repository.stage("free", "x");
    repository.stage("held", "x");
    repository.reserve(&server, "GreenDog", &["held"], true);
    let commit = repository.command("git", &repository.top, &["commit", "--quiet", "-m", "One", "free"]);
    passed(&ran(commit));
    refused(&repository.commit(Some("BlueLake")));
}

#[test]
fn both_overrides_let_a_commit_pass() {
    let Some((repository, server)) = Repository::guarded() else { return };
    repository.reserve(&server, "GreenDog", &["**"], true);
    repository.stage("a", "x");
    refused(&repository.commit_in(&repository.top, Some("BlueLake"), &[("POSTRIDER_GUARD", "on")]));
    passed(&repository.commit_in(&repository.top, Some("BlueLake"), &[("POSTRIDER_GUARD", "off")]));
    repository.stage("b", "x");
    repository.git(&["commit", "--quiet", "--no-verify", "-m", "B"]);
}

#[test]
fn without_a_server_the_database_is_asked_and_without_either_nobody_is() {
    let Some((repository, server)) = Repository::guarded() else { return };
    repository.reserve(&server, "GreenDog", &["**"], true);
    server.stop();
    repository.stage("a", "x");
    refused(&repository.commit(Some("BlueLake")));
    let home = repository.place.file("empty");
    passed(&repository.commit_in(&repository.top, None, &[("POSTRIDER_HOME", home.to_str().unwrap())]));
    assert!(!home.exists(), "looking makes nothing");
}

#[test]
fn a_post_office_that_cannot_be_asked_stops_nobody() {
    let Some((repository, server)) = Repository::guarded() else { return };
    repository.reserve(&server, "GreenDog", &["**"], true);
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let broken = repository.place.file("broken.toml");
    fs::write(&broken, "prot = 1\n").unwrap();
    let url = |address: &dyn std::fmt::Display| format!("http://{address}");
    for (name, value, why) in [
        ("POSTRIDER_URL", url(&gone), "UNREACHABLE"),
        ("POSTRIDER_URL", url(&mute.local_addr().unwrap()), "2 seconds"),
        ("POSTRIDER_CONFIG", broken.to_str().unwrap().to_owned(), "prot"),
    ] {
        repository.stage("a", why);
        passed_with_a_word(&repository.commit_in(&repository.top, None, &[(name, &value)]), why);
    }
    repository.stage("a", "y");
    refused(&repository.commit(Some("BlueLake")));
}

#[test]
fn a_database_that_stays_locked_stops_nobody() {
    let Some((repository, server)) = Repository::guarded() else { return };
    if !is_there("python3") {
        return;
    }
    repository.reserve(&server, "GreenDog", &["**"], true);
    server.stop();
    let lock = "import sqlite3, sys\n\
                database = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
                database.execute('PRAGMA locking_mode = EXCLUSIVE')\n\
                database.execute('BEGIN EXCLUSIVE')\n\
                print('locked', flush=True)\n\
                sys.stdin.read()\n";
    let database = repository.place.database();
    let mut command = repository.command("python3", Path::new("/"), &["-c", lock, database.to_str().unwrap()]);
    let mut holder = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(holder.stdout.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "locked\n");
    repository.stage("a", "x");
    let ran = repository.commit(Some("BlueLake"));
    drop(holder.stdin.take());
    holder.wait().unwrap();
    passed_with_a_word(&ran, "2 seconds");
    repository.stage("a", "y");
    refused(&repository.commit(Some("BlueLake")));
}
