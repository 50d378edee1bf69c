//! One project for a repository: worktrees, folders, clones and links, whichever door names them.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::harness::Server;
use crate::harness::repository::{Repository, ran};

/// A repository with a commit, a worktree beside it, and a server.
fn repository(settings: &str) -> Option<(Repository, Server, String)> {
    let repository = Repository::new()?;
    fs::write(repository.place.home().join("postrider.toml"), settings).unwrap();
    repository.stage("web/src/a.rs", "x");
    repository.git(&["commit", "--quiet", "-m", "First"]);
    let side = repository.top.with_file_name("side");
    repository.git(&["worktree", "add", "--quiet", side.to_str().unwrap()]);
    let server = repository.place.serve();
    let side = side.to_str().unwrap().to_owned();
    Some((repository, server, side))
}

fn register(server: &Server, project: &str, name: &str) -> Value {
    server.call("register_agent", json!({ "project_key": project, "name": name }))
}

fn key_of(server: &Server, path: &str) -> Value {
    server.call("ensure_project", json!({ "human_key": path }))["human_key"].clone()
}

#[test]
fn a_worktree_a_folder_and_a_link_are_the_repository_for_every_tool() {
    let Some((repository, server, side)) = repository("") else { return };
    let (key, link) = (repository.key().to_owned(), repository.place.file("link"));
    let web = format!("{key}/web");
    symlink(&web, &link).unwrap();
    let started =
        server.call("macro_start_session", json!({ "project_key": format!("{side}/web"), "agent_name": "Ann" }));
    let project = &started["project"];
    assert_eq!((&project["human_key"], &project["resolved_from"]), (&json!(key), &json!(format!("{side}/web"))));
    assert!(project["note"].as_str().unwrap().contains(&key), "{project}");
    for path in [&key, &side, &web, link.to_str().unwrap(), &format!("{key}/gone/deeper")] {
        assert_eq!(key_of(&server, path), json!(key), "{path}");
    }
    assert_eq!(server.call("ensure_project", json!({ "human_key": key }))["note"], Value::Null, "it is itself");
    assert!(register(&server, &web, "Bob")["note"].as_str().unwrap().contains(&key));
    let mail = json!({ "project_key": side, "sender_name": "Ann", "to": ["Bob"], "subject": "s", "body_md": "b" });
    server.call("send_message", mail);
    for (path, tool) in [(&web, "fetch_inbox"), (&side, "wait_for_mail")] {
        let inbox = server.call(tool, json!({ "project_key": path, "agent_name": "Bob" }));
        assert_eq!(inbox.as_array().unwrap().len(), 1, "{tool}");
    }
    let sums = repository.place.json(&["projects"]);
    let sums = sums["projects"].as_array().unwrap();
    assert_eq!((sums.len(), &sums[0]["agents"], &sums[0]["messages"]), (1, &json!(2), &json!(1)));
}

#[test]
fn a_project_that_is_there_stays_and_what_is_no_repository_too() {
    let Some((repository, server, side)) = repository("") else { return };
    drop(server);
    let web = format!("{}/web", repository.key());
    // As if it had been made before there was a repository.
    fs::rename(repository.top.join(".git"), repository.top.join(".away")).unwrap();
    let server = repository.place.serve();
    assert_eq!(key_of(&server, &web), json!(web));
    fs::rename(repository.top.join(".away"), repository.top.join(".git")).unwrap();
    server.stop();
    let server = repository.place.serve();
    assert_eq!(key_of(&server, &web), json!(web));
    assert_eq!(key_of(&server, &format!("{web}/src")), json!(repository.key()));
    for path in ["/nowhere/at/all", "C:\\app", "C:/app"] {
        assert_eq!(key_of(&server, path), json!(path));
    }
    fs::remove_dir_all(&side).unwrap();
    assert_eq!(key_of(&server, &side), json!(side), "a worktree that is gone says nothing");
}

#[test]
fn paths_are_relative_to_the_folder_that_was_named() {
    let Some((repository, server, side)) = repository("") else { return };
    let web = format!("{side}/web");
    key_of(&server, &web);
    for name in ["Ann", "Bob"] {
        register(&server, &web, name);
    }
    let paths = json!(["src/*.rs", format!("{side}/docs/*"), format!("{}/lib", repository.key())]);
    let reserved = server.call(
        "file_reservation_paths",
        json!({ "project_key": web, "agent_name": "Ann", "paths": paths, "exclusive": true }),
    );
    let granted: Vec<&str> =
        reserved["granted"].as_array().unwrap().iter().map(|one| one["path_pattern"].as_str().unwrap()).collect();
    assert_eq!(granted, ["web/src/*.rs", "docs/*", "lib"]);
    let refused = server.refused(
        "file_reservation_paths",
        json!({ "project_key": repository.key(), "agent_name": "Bob", "paths": ["web/src/a.rs"] }),
    );
    assert_eq!(refused.code, "FILE_RESERVATION_CONFLICT");
    let found = json!({ "project_key": web, "agent_name": "Bob", "paths": ["src/a.rs", "docs/x"] });
    let conflicts = server.call("find_conflicts", found);
    assert_eq!((conflicts.as_array().unwrap().len(), &conflicts[0]["path"]), (1, &json!("src/a.rs")));
    let renew = json!({ "project_key": web, "agent_name": "Ann", "paths": ["src/*.rs", "docs/*"] });
    assert_eq!(server.call("renew_file_reservations", renew)["renewed"], 2, "as one said it, or as it was answered");
    let release = json!({ "project_key": web, "agent_name": "Ann", "paths": ["web/src/*.rs", "docs/*", "../lib"] });
    assert_eq!(server.call("release_file_reservations", release)["released"], 3);
}

#[test]
fn a_clone_is_the_project_that_it_was_named_for_until_that_is_taken_back() {
    let Some((repository, server, _)) = repository("") else { return };
    let place = &repository.place;
    let clone = repository.top.with_file_name("clone");
    repository.git(&["clone", "--quiet", repository.key(), clone.to_str().unwrap()]);
    let clone = clone.to_str().unwrap();
    register(&server, key_of(&server, repository.key()).as_str().unwrap(), "Ann");
    let alias = |more: &[&str]| place.run(&[&["project", "alias", clone, "--of", repository.key()], more].concat());
    let aliased = alias(&["--json"]);
    assert_eq!(aliased.code, Some(0), "{}", aliased.stderr);
    assert_eq!(key_of(&server, &format!("{clone}/web")), json!(repository.key()));
    assert!(ran(repository.command(env!("CARGO_BIN_EXE_postrider"), clone.as_ref(), &["who"])).stdout.contains("Ann"));
    let listed = place.json(&["project", "aliases"]);
    let one = &listed["aliases"][0];
    assert_eq!((&one["path"], &one["human_key"]), (&json!(clone), &json!(repository.key())));
    place.done(&["project", "unalias", clone]);
    let again = place.run(&["project", "unalias", clone, "--json"]);
    assert!(again.code == Some(1) && again.stdout.contains("ALIAS_NOT_FOUND"), "{}", again.stdout);
    assert_eq!(key_of(&server, clone), json!(clone), "it is a project of its own now");
    register(&server, clone, "Bob");
    server.call(
        "send_message",
        json!({ "project_key": clone, "sender_name": "Bob", "to": ["Bob"], "subject": "s", "body_md": "b" }),
    );
    let refused = alias(&[]);
    assert!(
        refused.code == Some(1) && refused.stderr.contains("1 message") && refused.stderr.contains("--force"),
        "{}",
        refused.stderr
    );
    let forced: Value = serde_json::from_str(&alias(&["--force", "--json"]).stdout).unwrap();
    let before = forced["before"].as_str().unwrap();
    let inbox = server.call("fetch_inbox", json!({ "project_key": before, "agent_name": "Bob" }));
    assert_eq!(inbox.as_array().unwrap().len(), 1, "its mail is found by the slug");
    assert_eq!(key_of(&server, clone), json!(repository.key()));
}

#[test]
fn by_their_remote_two_clones_are_one_and_the_form_of_its_url_is_no_matter() {
    let Some((repository, server, side)) = repository("[projects]\nby = \"remote\"\n") else { return };
    let clone = repository.top.with_file_name("clone");
    repository.git(&["clone", "--quiet", repository.key(), clone.to_str().unwrap()]);
    repository.git(&["remote", "add", "origin", "git@Git.Example:team/app.git"]);
    repository.git_in(&clone, &["remote", "set-url", "origin", "https://me:s3cret@git.example/team/app"]);
    let url = json!("https://git.example/team/app");
    for path in [repository.key(), &side, &format!("{}/web", clone.display()), "ssh://git@git.example:22/team/app.git/"]
    {
        let project = server.call("ensure_project", json!({ "human_key": path }));
        assert_eq!(project["human_key"], url, "{path}");
        assert!(!project.to_string().contains("s3cret"));
    }
    let slug = "git-example-team-app";
    assert_eq!(register(&server, slug, "Ann")["project"], slug);
    let web = format!("{}/web", clone.display());
    let paths = json!({ "project_key": web, "agent_name": "Ann", "paths": ["src/**"], "exclusive": true });
    assert_eq!(server.call("file_reservation_paths", paths)["granted"][0]["path_pattern"], "web/src/**");
    let who = ran(repository.command(env!("CARGO_BIN_EXE_postrider"), &clone, &["who"]));
    assert!(who.stdout.contains("web/src/**"), "{}{}", who.stdout, who.stderr);
}
