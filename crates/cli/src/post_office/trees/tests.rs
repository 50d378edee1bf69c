//! Repositories as git lays them out, and as nobody should.

use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

/// An empty folder, and its path without links.
fn home() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    (folder, path)
}

fn write(file: PathBuf, text: &str) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// What `git init`, or `git init --bare`, makes.
fn repository(git: &Path, settings: &str) {
    for folder in ["objects", "refs"] {
        fs::create_dir_all(git.join(folder)).unwrap();
    }
    write(git.join("HEAD"), "ref: refs/heads/main\n");
    write(git.join("config"), settings);
}

/// What `git worktree add` makes.
fn worktree(git: &Path, top: &Path, name: &str) {
    let own = git.join("worktrees").join(name);
    write(own.join("commondir"), "../..\n");
    write(own.join("gitdir"), &format!("{}/.git\n", top.display()));
    write(top.join(".git"), &format!("gitdir: {}\n", own.display()));
}

fn main_around(path: &Path) -> Option<PathBuf> {
    Some(Tree::around(path)?.main)
}

fn seen(path: &Path) -> Option<(String, String)> {
    let seen = seen_at(path, KeyedBy::Remote)?;
    Some((seen.main, seen.below))
}

#[test]
fn the_repository_around_a_folder_is_found_and_there_may_be_none() {
    let (_folder, home) = home();
    fs::create_dir_all(home.join("app/.git")).unwrap();
    fs::create_dir_all(home.join("app/src/deep")).unwrap();
    for path in ["app", "app/src/deep", "app/not/there.rs", "app/.git/hooks"] {
        assert_eq!(main_around(&home.join(path)), Some(home.join("app")), "{path}");
    }
    assert_eq!(main_around(&home), None);
}

#[test]
fn a_worktree_belongs_to_its_repository_wherever_it_is() {
    let (_folder, home) = home();
    let app = home.join("app");
    repository(&app.join(".git"), "[core]\n\tbare = false\n");
    for place in ["side", "app/.worktrees/inside"] {
        worktree(&app.join(".git"), &home.join(place), "one");
        let tree = Tree::around(&home.join(place).join("src/not/there.rs")).unwrap();
        assert_eq!((tree.top, tree.main), (home.join(place), app.clone()));
    }
    assert_eq!(seen(&home.join("side/src/a")), Some((app.to_str().unwrap().to_owned(), "src/a".to_owned())));
}

#[test]
fn a_submodule_belongs_to_itself_and_its_worktree_to_it() {
    let (_folder, home) = home();
    let (app, lib) = (home.join("app"), home.join("app/lib"));
    repository(&app.join(".git"), "");
    let own = app.join(".git/modules/lib");
    repository(&own, "[core]\n\tworktree = ../../../lib\n");
    write(lib.join(".git"), "gitdir: ../.git/modules/lib\n");
    assert_eq!(main_around(&lib.join("src")), Some(lib.clone()));
    worktree(&own, &home.join("side"), "one");
    assert_eq!(main_around(&home.join("side")), Some(lib));
}

#[test]
fn the_worktrees_of_a_bare_repository_are_one() {
    let (_folder, home) = home();
    let bare = home.join("app.git");
    repository(&bare, "[core]\n\tbare = true\n");
    for name in ["one", "two"] {
        worktree(&bare, &home.join(name), name);
        assert_eq!(main_around(&home.join(name).join("src")), Some(bare.clone()), "{name}");
    }
    assert_eq!(main_around(&bare.join("hooks")), Some(bare), "and so is it itself");
    let (hidden, folder) = (home.join("team/.bare"), home.join("team"));
    repository(&hidden, "[core]\n\tbare = true\n");
    write(folder.join(".git"), "gitdir: ./.bare\n");
    worktree(&hidden, &folder.join("main"), "main");
    for path in [folder.join("main/src"), folder.join("docs"), hidden.join("refs")] {
        assert_eq!(main_around(&path), Some(folder.clone()), "{}", path.display());
    }
}

#[test]
fn a_link_into_a_repository_is_in_it_and_a_folder_that_is_gone_too() {
    let (_folder, home) = home();
    let app = home.join("app");
    fs::create_dir_all(app.join(".git")).unwrap();
    fs::create_dir_all(app.join("web")).unwrap();
    symlink(app.join("web"), home.join("link")).unwrap();
    symlink(&app, home.join("other")).unwrap();
    symlink("round", home.join("round")).unwrap();
    let main = app.to_str().unwrap().to_owned();
    assert_eq!(seen(&home.join("link/src")), Some((main.clone(), "web/src".to_owned())));
    assert_eq!(seen(&home.join("other")), Some((main.clone(), String::new())));
    fs::remove_dir(app.join("web")).unwrap();
    assert_eq!(seen(&app.join("web/src")), Some((main, "web/src".to_owned())));
    assert_eq!(seen(&home.join("round/x")), None);
    assert_eq!(seen(Path::new("/nowhere/at/all")), None);
}

#[test]
fn a_git_file_that_leads_astray_makes_no_other_repository() {
    let (_folder, home) = home();
    let evil = home.join("evil");
    fs::create_dir_all(home.join("secret")).unwrap();
    write(home.join("secret/commondir"), "/etc\n");
    let secret = format!("gitdir: {}\n", home.join("secret").display());
    for text in [&secret, "gitdir: /etc/passwd\n", "gitdir:", "", "\u{0}\u{0}", &"x".repeat(100_000)] {
        write(evil.join(".git"), text);
        let tree = Tree::around(&evil.join("src")).unwrap();
        assert_eq!((tree.remote(), tree.main), (None, evil.clone()), "{text:.20}");
    }
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
    let (_folder, home) = home();
    let app = home.join("app");
    fs::create_dir_all(app.join(".git")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(app.join(".git/config")).status().unwrap();
    assert!(made.success());
    assert_eq!(Tree::around(&app).unwrap().remote(), None);
    fs::create_dir_all(home.join("evil")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(home.join("evil/.git")).status().unwrap().success());
    assert_eq!(main_around(&home.join("evil")), Some(home.join("evil")));
}

#[test]
fn the_remote_is_origin_or_the_only_one() {
    let (_folder, home) = home();
    let remote = |settings: &str| {
        repository(&home.join("app/.git"), settings);
        Tree::around(&home.join("app/src")).unwrap().remote()
    };
    let (one, other) = (
        "[remote \"fork\"]\n\turl = git@h.example:me/app.git\n",
        "[remote \"origin\"]\n\turl = https://h.example/team/app\n",
    );
    assert_eq!(remote(&format!("{one}{other}")).as_deref(), Some("https://h.example/team/app"));
    assert_eq!(remote(one).as_deref(), Some("https://h.example/me/app"));
    assert_eq!(remote(&format!("{one}{}", one.replace("fork", "twin"))), None, "nobody says which of two");
    assert_eq!(remote("[remote \"origin\"]\n\turl = ../app.git\n"), None);
    assert_eq!(remote(""), None);
    worktree(&home.join("app/.git"), &home.join("side"), "one");
    repository(&home.join("app/.git"), other);
    assert_eq!(Tree::around(&home.join("side")).unwrap().remote().as_deref(), Some("https://h.example/team/app"));
}

#[tokio::test]
async fn a_path_of_another_system_is_not_looked_for() {
    for path in ["C:\\app", "C:/app", "app", ""] {
        assert_eq!(OnDisk(KeyedBy::Path).around(path).await, None, "{path}");
    }
}
