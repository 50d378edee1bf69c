//! `channel scripts`: the stand-ins for the programs of a shared folder, run as agents there run them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use crate::foreign::Shared;
use crate::harness::mcp::PROJECT;
use crate::harness::{Place, Ran, has_python};

/// Runs a program of the folder with none of our settings in the environment.
fn run(place: &Place, shared: &Shared, name: &str, arguments: &[&str]) -> Ran {
    let mut command = Command::new(shared.script(name));
    for variable in ["POSTRIDER_HOME", "POSTRIDER_PROJECT", "POSTRIDER_AGENT", "POSTRIDER_URL"] {
        command.env_remove(variable);
    }
    command.args(arguments).current_dir(place.folder()).output().expect("it can be run").into()
}

fn write(place: &Place, shared: &Shared, more: &[&str]) -> Ran {
    place.run(&[&["channel", "scripts", &shared.path()], more].concat())
}

#[test]
fn the_stand_ins_take_the_arguments_of_the_programs_whose_place_they_take() {
    if !has_python("programs of a shared folder") {
        return;
    }
    let shared = Shared::new();
    let place = shared.place();
    let written = write(&place, &shared, &[]);
    assert_eq!((written.code, written.stderr.as_str()), (Some(0), ""), "{}", written.stdout);
    assert_eq!(fs::metadata(shared.script("who")).unwrap().permissions().mode() & 0o777, 0o755);

    let said = ["--agent", "supervisor", "--channel", "dev", "--to", "codex", "--text", "Please review this"];
    let sent = run(&place, &shared, "send-message.py", &said);
    assert_eq!(sent.code, Some(0), "{}", sent.stderr);
    assert_eq!(shared.texts(), ["Please review this"]);
    let everybody = ["--agent", "supervisor", "--channel", "dev", "--to", "all", "--text", "-v is 'fine'"];
    assert_eq!(run(&place, &shared, "send-message.py", &everybody).code, Some(0));
    assert!(shared.texts().iter().any(|text| text == "-v is 'fine'"), "{:?}", shared.texts());
    assert_eq!(run(&place, &shared, "send-message.py", &["--agent", "x"]).code, Some(1), "as the command says");

    let who = run(&place, &shared, "who", &[]);
    assert!(who.stdout.contains("supervisor") && who.stdout.contains("codex"), "{}{}", who.stdout, who.stderr);
    let one = run(&place, &shared, "who", &["codex", "--json"]);
    assert!(one.stdout.contains("\"codex\"") && !one.stdout.contains("\"supervisor\""), "{}", one.stdout);
}

#[test]
fn written_again_nothing_changes_and_what_is_not_ours_is_left_alone() {
    let shared = Shared::new();
    let place = shared.place();
    let own = "#!/bin/sh\necho mine\n";
    fs::create_dir_all(shared.script("")).unwrap();
    fs::write(shared.script("who"), own).unwrap();
    let refused = write(&place, &shared, &[]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
    for word in
        ["/who' is there, and was not written by Postrider", "--replace", "who.before-postrider", "FOREIGN_FILE"]
    {
        assert!(refused.stderr.contains(word), "{word}: {}", refused.stderr);
    }
    assert!(!shared.script("send-message.py").exists(), "all or nothing");
    let replaced = write(&place, &shared, &["--replace"]);
    assert!(replaced.stdout.contains("kept what was there"), "{}{}", replaced.stdout, replaced.stderr);
    assert_eq!(fs::read_to_string(shared.script("who.before-postrider")).unwrap(), own);

    let again = place.json(&["channel", "scripts", &shared.path()]);
    let outcomes: Vec<_> = again["scripts"].as_array().unwrap().iter().map(|script| &script["outcome"]).collect();
    assert_eq!((outcomes, &again["project"]), (vec![&json!("unchanged"); 2], &json!(PROJECT)));
}

#[test]
fn a_folder_of_no_project_is_refused_until_one_is_named() {
    let (shared, place) = (Shared::new(), Place::new());
    let refused = write(&place, &shared, &[]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("[channels]") && refused.stderr.contains("--project"), "{}", refused.stderr);
    let named = write(&place, &shared, &["--project", "/data/app"]);
    assert_eq!(named.code, Some(0), "{}", named.stderr);
    assert!(named.stderr.contains("These settings do not say"), "{}", named.stderr);
    let missing = place.run(&["channel", "scripts", "no/such"]);
    assert!(missing.stderr.contains("no/such' is no folder"), "{}", missing.stderr);
}

#[test]
fn where_the_program_was_moved_path_is_searched() {
    let shared = Shared::new();
    let place = shared.place();
    assert_eq!(write(&place, &shared, &[]).code, Some(0));
    place.done(&["join", "codex", "--project", PROJECT]);
    let here = env!("CARGO_BIN_EXE_postrider");
    for name in ["who", "send-message.py"] {
        let path = shared.script(name);
        let moved = fs::read_to_string(&path).unwrap().replace(here, "/no/such/postrider");
        assert!(moved.contains("/no/such/postrider"), "{moved}");
        fs::write(&path, moved).unwrap();
    }
    let folder = PathBuf::from(here).parent().unwrap().to_owned();
    let paths = ["/usr/bin".into(), "/bin".into(), folder];
    let found = Command::new(shared.script("who")).env("PATH", std::env::join_paths(paths).unwrap()).output().unwrap();
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    let lost = Command::new(shared.script("who")).env("PATH", "/usr/bin:/bin").output().unwrap();
    assert_eq!(lost.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&lost.stderr).contains("nor on PATH"), "{lost:?}");
}
