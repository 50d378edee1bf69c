//! `postrider guard install` and `uninstall`: what becomes of the hooks of a repository.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::Server;
use crate::harness::repository::{Repository, ran};

fn hooks(repository: &Repository) -> PathBuf {
    repository.top.join(".git/hooks")
}

fn write(path: &Path, content: &str, mode: u32) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// All that is in a folder: names, permissions and contents.
fn contents(folder: &Path) -> Vec<(String, u32, Vec<u8>)> {
    let mut all: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let mode = fs::symlink_metadata(&path).unwrap().permissions().mode();
            (name, mode, fs::read(&path).unwrap_or_default())
        })
        .collect();
    all.sort();
    all
}

/// A server where GreenDog holds everything.
fn all_held(repository: &Repository) -> Server {
    let server = repository.place.serve();
    repository.register(&server, &["GreenDog"]);
    repository.reserve(&server, "GreenDog", &["**"], true);
    server
}

#[test]
fn the_hook_that_was_there_runs_as_before_and_goes_by_its_own_name() {
    let Some(repository) = Repository::new() else { return };
    let _server = all_held(&repository);
    let script = "#!/bin/sh -e\n. \"$(dirname \"$0\")/words\"\n[ \"$(basename \"$0\")\" = pre-commit ] || exit 9\n\
                  echo \"$WORD, $# arguments\" >&2\nexit \"${OLD_HOOK:-0}\"\n";
    write(&hooks(&repository).join("pre-commit"), script, 0o755);
    write(&hooks(&repository).join("words"), "WORD=ours\n", 0o644);
    let told = repository.guard(&["install"]);
    assert!(told.contains("runs after it"), "{told}");
    repository.stage("a", "x");
    let refused = repository.commit(Some("BlueLake"));
    assert!(refused.code == Some(1) && refused.stderr.starts_with("Not committed"), "{}", refused.stderr);
    let off = [("POSTRIDER_GUARD", "off"), ("OLD_HOOK", "1")];
    let failed = repository.commit_in(&repository.top, None, &off);
    assert_eq!((failed.code, failed.stderr.as_str()), (Some(1), "ours, 0 arguments\n"), "the other is not passed by");
    let passed = repository.commit(Some("GreenDog"));
    assert_eq!((passed.code, passed.stderr.as_str()), (Some(0), "ours, 0 arguments\n"));
}

/// What husky 9 does with every hook.
const HUSKY: &str = "#!/usr/bin/env sh\nn=$(basename \"$0\")\ns=$(dirname \"$(dirname \"$0\")\")/$n\n\n\
                     [ ! -f \"$s\" ] && exit 0\nsh -e \"$s\" \"$@\"\nexit $?\n";

#[test]
fn the_hooks_of_husky_are_left_alone_and_the_line_that_is_advised_guards() {
    let Some(repository) = Repository::new() else { return };
    let _server = all_held(&repository);
    let (folder, own) = (repository.top.join(".husky/_"), repository.top.join(".husky/pre-commit"));
    write(&folder.join("pre-commit"), "#!/usr/bin/env sh\n. \"$(dirname \"$0\")/h\"", 0o755);
    write(&folder.join("h"), HUSKY, 0o644);
    write(&own, "echo ours >&2\n", 0o644);
    repository.git(&["config", "core.hooksPath", ".husky/_"]);
    let before = contents(&folder);
    let ran = repository.try_guard(&["install"]);
    assert!(ran.code == Some(1) && ran.stderr.contains(own.to_str().unwrap()), "{}", ran.stderr);
    assert_eq!(contents(&folder), before);
    let line = ran.stderr.lines().last().expect("the line is advised");
    write(&own, &format!("{line}\necho ours >&2\n"), 0o644);
    repository.stage("a", "x");
    let refused = repository.commit(Some("BlueLake"));
    assert!(refused.code == Some(1) && refused.stderr.contains("Not committed"), "{}", refused.stderr);
    let passed = repository.commit(Some("GreenDog"));
    assert_eq!((passed.code, passed.stderr.as_str()), (Some(0), "ours\n"));
}

#[test]
fn installing_twice_changes_nothing_and_uninstalling_puts_back_every_byte() {
    let Some(repository) = Repository::new() else { return };
    let folder = hooks(&repository);
    fs::create_dir_all(&folder).unwrap();
    let hook = folder.join("pre-commit");
    let scripts = [None, Some("#!/bin/sh\n"), Some("#! /bin/zsh -e\n\r\n\n# \u{7f} no end")];
    for script in scripts {
        let _ = fs::remove_file(&hook);
        if let Some(script) = script {
            write(&hook, script, 0o711);
        }
        let before = contents(&folder);
        repository.guard(&["install"]);
        let installed = contents(&folder);
        assert_ne!(installed, before);
        let again = repository.guard(&["install"]);
        assert!(again.contains("was there before"), "{again}");
        assert_eq!(contents(&folder), installed, "{script:?}");
        assert_eq!(repository.guard(&["uninstall"]), "The guard is gone.\n");
        assert_eq!(contents(&folder), before, "{script:?}");
        assert_eq!(repository.guard(&["uninstall"]), "There is no guard here.\n");
        assert_eq!(contents(&folder), before, "{script:?}");
    }
}

#[test]
fn what_somebody_else_wrote_is_never_lost() {
    let Some(repository) = Repository::new() else { return };
    let folder = hooks(&repository);
    let hook = folder.join("pre-commit");
    let left_alone = |command: &str, why: &str| {
        let before = contents(&folder);
        let ran = repository.try_guard(&[command]);
        assert!(ran.code == Some(1) && ran.stderr.contains(why), "{command}: {:?} {}", ran.code, ran.stderr);
        assert_eq!(contents(&folder), before, "{command}");
    };
    write(&hook, "#!/usr/bin/env python3\nprint()\n", 0o755);
    left_alone("install", "exits with 10");
    write(&hook, "#!/bin/sh\nexit 1\n", 0o644);
    left_alone("install", "not executable");
    fs::remove_file(&hook).unwrap();
    symlink("../../tools/nowhere", &hook).unwrap();
    left_alone("install", "is a link");
    fs::remove_file(&hook).unwrap();
    repository.guard(&["install"]);
    let ours = fs::read_to_string(&hook).unwrap();
    write(&hook, &ours.replace("|| exit 1", "|| exit 2"), 0o755);
    left_alone("uninstall", "take it out by hand");
    write(&hook, &format!("{ours}echo more\n"), 0o755);
    repository.guard(&["uninstall"]);
    let left = fs::read_to_string(&hook).unwrap();
    assert!(left.ends_with("\necho more\n") && !left.contains("guard check"), "what was added stays: {left}");
}

#[test]
fn hooks_are_put_where_git_looks_for_them() {
    let Some(repository) = Repository::new() else { return };
    let _server = all_held(&repository);
    repository.stage("dir/a", "x");
    repository.git(&["commit", "--quiet", "-m", "First"]);
    let linked = repository.top.with_file_name("linked");
    repository.git(&["worktree", "add", "--quiet", linked.to_str().unwrap()]);
    let install = |folder: &Path| {
        let ran = ran(repository.command("postrider", folder, &["guard", "install", "--json"]));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        serde_json::from_str::<Value>(&ran.stdout).unwrap()
    };
    let shared = hooks(&repository).join("pre-commit");
    assert_eq!(install(&linked), json!({ "hook": shared, "file": shared, "framework": null, "changed": true }));
    repository.stage("b", "x");
    assert_eq!(repository.commit(None).code, Some(1), "all working trees have the same hooks");
    repository.git(&["config", "core.hooksPath", ".githooks"]);
    assert_eq!(repository.commit(None).code, Some(0), "the folder is another one now");
    let own = repository.top.join(".githooks/pre-commit");
    assert_eq!(install(&repository.top.join("dir"))["hook"], json!(own), "also where one stands in a folder");
    repository.stage("c", "x");
    assert_eq!(repository.commit(None).code, Some(1));
}

#[test]
fn a_folder_that_other_repositories_use_takes_force() {
    let Some(repository) = Repository::new() else { return };
    let _server = all_held(&repository);
    let shared = repository.place.file("shared-hooks");
    repository.git(&["config", "core.hooksPath", shared.to_str().unwrap()]);
    let ran = repository.try_guard(&["install"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("--force"), "{}", ran.stderr);
    assert!(!shared.exists());
    repository.guard(&["install", "--force"]);
    repository.stage("a", "x");
    assert_eq!(repository.commit(None).code, Some(1));
    repository.guard(&["uninstall"]);
    assert_eq!((repository.commit(None).code, fs::read_dir(&shared).unwrap().count()), (Some(0), 0));
}

#[test]
fn where_the_program_is_missing_a_commit_goes_on_with_one_line() {
    let Some(repository) = Repository::new() else { return };
    let _server = all_held(&repository);
    repository.guard(&["install"]);
    let bin = repository.place.file("bin");
    fs::create_dir(&bin).unwrap();
    let usual = std::env::var_os("PATH").unwrap();
    for program in ["git", "sh"] {
        let real = std::env::split_paths(&usual).map(|folder| folder.join(program)).find(|path| path.exists());
        symlink(real.unwrap(), bin.join(program)).unwrap();
    }
    repository.stage("a", "x");
    let ran = repository.commit_in(&repository.top, None, &[("PATH", bin.to_str().unwrap())]);
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(0), 1), "{}", ran.stderr);
    assert!(ran.stderr.contains("postrider: ") && ran.stderr.contains("not found"), "{}", ran.stderr);
}

#[test]
fn outside_of_a_repository_there_is_nothing_to_guard() {
    let Some(repository) = Repository::new() else { return };
    for command in ["install", "uninstall"] {
        let ran = repository.place.run(&["guard", command]);
        assert!(ran.code == Some(1) && ran.stderr.contains("no working tree of git"), "{}", ran.stderr);
    }
    let ran = repository.place.run(&["guard", "check"]);
    assert!(ran.code == Some(0) && ran.stderr.contains("no working tree of git"), "{}", ran.stderr);
}

#[test]
fn the_help_of_each_part() {
    let Some(repository) = Repository::new() else { return };
    for part in ["install", "uninstall", "check"] {
        let mut command = repository.command("postrider", &repository.top, &["guard", part, "--help"]);
        command.env_remove("POSTRIDER_HOME");
        insta::assert_snapshot!(format!("help_{part}"), ran(command).stdout);
    }
}
