//! What a command in a sandbox can write into the home folder makes the server run nothing of its own choice.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::mcp::PROJECT;
use crate::harness::{DEADLINE, Place, has_python};
use crate::hooks::send;

/// Runs a program at a terminal, and says the number of its process.
const AT_A_TERMINAL: &str = "import os, pty, sys
pid, _ = pty.fork()
if pid == 0: os.execv(sys.argv[1], [sys.argv[1]])
print(pid, flush=True)
sys.stdin.read()
os.kill(pid, 9)";

/// The record of an idle session, as a command in a sandbox could write it.
fn forge(place: &Place, pid: &str) {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let started: u64 = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().parse().unwrap();
    let record = json!({
        "agent": "GreenDog", "project": PROJECT, "client": "codex", "session_id": "one", "is_idle": true,
        "process": { "pid": pid.parse::<u32>().unwrap(), "started": started },
        "place": place.file("repo"), "moved": place.file("theirs"),
    });
    let sessions = place.home().join("sessions");
    fs::create_dir_all(&sessions).unwrap();
    let name = format!("codex-{}", &blake3::hash(b"one").to_hex()[..32]);
    fs::write(sessions.join(name), record.to_string()).unwrap();
}

/// What a codex of the user's, on the `PATH`, was told to wake a session with a forged record, and by which home.
fn told(is_open: bool) -> Option<String> {
    if !has_python("a program at a terminal") {
        return None;
    }
    let place = Place::new();
    let [bin, theirs, user] = ["bin", "theirs", "user"].map(|name| place.file(name));
    for folder in [&bin, &theirs, &user.join(".codex"), &place.file("repo")] {
        fs::create_dir_all(folder).unwrap();
    }
    if is_open {
        let home = place.home().canonicalize().unwrap();
        let open = format!("[sandbox_workspace_write]\nwritable_roots = [\"{}\"]\n", home.display());
        fs::write(user.join(".codex/config.toml"), open).unwrap();
    }
    let out = place.file("out");
    let script = format!("#!/bin/sh\necho \"$1 $CODEX_HOME.\" > {0}.new\nmv {0}.new {0}\n", out.display());
    fs::write(bin.join("codex"), script).unwrap();
    fs::set_permissions(bin.join("codex"), fs::Permissions::from_mode(0o700)).unwrap();
    fs::copy("/bin/cat", theirs.join("codex")).unwrap();
    let mut python = Command::new("python3");
    python.args(["-c", AT_A_TERMINAL]).arg(theirs.join("codex")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut python = python.spawn().expect("python runs");
    let pid = BufReader::new(python.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    // The child is there, and has still to become the program.
    while fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| !exe.starts_with(&theirs)) {
        std::thread::yield_now();
    }
    forge(&place, &pid);
    let path = std::env::join_paths([&bin, Path::new("/usr/bin"), Path::new("/bin")].map(Path::to_owned)).unwrap();
    let [user, path] = [user.into_os_string(), path].map(|one| one.into_string().unwrap());
    let server = place.serve_with(&[], &[("HOME", &user), ("PATH", &path)]);
    server.register(&["BlueLake", "GreenDog"]);
    send(&server, "BlueLake", "GreenDog", "x", json!({ "importance": "urgent" }));
    let begun = Instant::now();
    while !out.exists() && begun.elapsed() < DEADLINE {
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(python.stdin.take());
    python.wait().unwrap();
    Some(fs::read_to_string(out).expect("codex is called").replace(&place.folder(), ""))
}

#[test]
fn the_program_of_a_session_is_never_run_and_where_a_sandbox_is_open_its_home_is_not_believed() {
    let Some(with_open) = told(true) else { return };
    assert_eq!(with_open, "queue .\n");
    assert_eq!(told(false).as_deref(), Some("queue /theirs.\n"), "where only hooks write records");
}
