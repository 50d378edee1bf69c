//! `postrider guard install` and `uninstall`: what becomes of the hooks of a repository.

mod harness;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use harness::Server;
use harness::repository::{Repository, ran};
use serde_json::{Value, json};

const BEFORE: &str = "pre-commit.before-postrider";

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
fn the_hook_that_was_there_runs_first_and_its_failure_is_the_end() {
    let Some(repository) = Repository::new() else { return };
    let _server = all_held(&repository);
    let old = hooks(&repository).join("pre-commit");
    write(&old, "#!/bin/sh\necho \"first, $# arguments\" >&2\nexit \"${OLD_HOOK:-0}\"\n", 0o755);
    let told = repository.guard(&["install"]);
    assert!(told.contains(BEFORE), "{told}");
    repository.stage("a", "x");
    let both = repository.commit(Some("BlueLake"));
    assert_eq!(both.code, Some(1));
    assert!(both.stderr.starts_with("first, 0 arguments\nNot committed"), "{}", both.stderr);
    let failed = repository.commit_in(&repository.top, Some("GreenDog"), &[("OLD_HOOK", "7")]);
    assert_eq!((failed.code, failed.stderr.as_str()), (Some(1), "first, 0 arguments\n"));
    let off = [("POSTRIDER_GUARD", "off"), ("OLD_HOOK", "1")];
    assert_eq!(repository.commit_in(&repository.top, None, &off).code, Some(1), "the other hook is not passed by");
    let passed = repository.commit(Some("GreenDog"));
    assert_eq!((passed.code, passed.stderr.as_str()), (Some(0), "first, 0 arguments\n"));
}

#[test]
fn a_hook_that_cannot_be_run_is_not_run_as_before() {
    let Some(repository) = Repository::new() else { return };
    write(&hooks(&repository).join("pre-commit"), "#!/bin/sh\nexit 1\n", 0o644);
    repository.guard(&["install"]);
    repository.stage("a", "x");
    assert_eq!(repository.commit(None).code, Some(0));
}

#[test]
fn installing_twice_changes_nothing_and_uninstalling_puts_back_every_byte() {
    let Some(repository) = Repository::new() else { return };
    let folder = hooks(&repository);
    fs::create_dir_all(&folder).unwrap();
    let hook = folder.join("pre-commit");
    let olds: [&dyn Fn(); 4] =
        [&|| {}, &|| write(&hook, "#!/bin/sh\r\n\n\n# \x7f no end", 0o711), &|| write(&hook, "", 0o600), &|| {
            symlink("../../tools/nowhere", &hook).unwrap()
        }];
    for (at, old) in olds.iter().enumerate() {
        let _ = fs::remove_file(&hook);
        old();
        let before = contents(&folder);
        repository.guard(&["install"]);
        let installed = contents(&folder);
        assert_ne!(installed, before);
        let again = repository.guard(&["install"]);
        assert!(again.contains("was there before"), "{again}");
        assert_eq!(contents(&folder), installed, "{at}");
        repository.guard(&["uninstall"]);
        assert_eq!(contents(&folder), before, "{at}");
        assert_eq!(repository.guard(&["uninstall"]), "There is no guard here.\n");
        assert_eq!(contents(&folder), before, "{at}");
    }
}

#[test]
fn what_somebody_else_wrote_is_never_lost() {
    let Some(repository) = Repository::new() else { return };
    let folder = hooks(&repository);
    let (hook, kept) = (folder.join("pre-commit"), folder.join(BEFORE));
    let left_alone = |command: &str, why: &str| {
        let before = contents(&folder);
        let ran = repository.try_guard(&[command]);
        assert!(ran.code == Some(1) && ran.stderr.contains(why), "{command}: {:?} {}", ran.code, ran.stderr);
        assert_eq!(contents(&folder), before, "{command}");
    };
    write(&hook, "#!/bin/sh\n# one\n", 0o755);
    write(&kept, "#!/bin/sh\n# two\n", 0o755);
    left_alone("install", "is taken");
    fs::remove_file(&kept).unwrap();
    repository.guard(&["install"]);
    let ours = fs::read_to_string(&hook).unwrap();
    write(&hook, &format!("{ours}echo more\n"), 0o755);
    left_alone("uninstall", "somebody changed");
    left_alone("install", "somebody changed");
    write(&hook, "#!/bin/sh\n# another\n", 0o755);
    left_alone("uninstall", "somebody changed");
    fs::remove_file(&hook).unwrap();
    repository.guard(&["uninstall"]);
    assert_eq!(fs::read_to_string(&hook).unwrap(), "#!/bin/sh\n# one\n", "our hook alone was taken away");
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
    assert_eq!(install(&linked), json!({ "hook": shared, "changed": true, "kept": null }));
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
    for program in ["git", "dirname"] {
        let real = std::env::split_paths(&usual).map(|folder| folder.join(program)).find(|path| path.exists());
        symlink(real.unwrap(), bin.join(program)).unwrap();
    }
    repository.stage("a", "x");
    let ran = repository.commit_in(&repository.top, None, &[("PATH", bin.to_str().unwrap())]);
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(0), 1), "{}", ran.stderr);
    assert!(ran.stderr.contains("nobody looked") && ran.stderr.contains("PATH"), "{}", ran.stderr);
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
