//! The queue of a thread of Codex, by its own command.
//!
//! All terminals of Codex share one process, which keeps a thread for a minute after its terminal has gone, and runs what is queued
//! then with nobody watching. So nothing is queued where no terminal runs the program any more.
//!
//! The record of a session may have been written by a command in a sandbox, so it names no program: only `PATH` does, which is the user's.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use mail::wake_ups::WakeOutcome;
use process::{Ended, KeptStderr, Limits, Trouble};
use tokio::process::Command;

use super::Programs;

/// What it is called.
const PROGRAM: &str = "codex";
/// What it is told where it keeps its threads by.
const HOME: &str = "CODEX_HOME";
const LIMITS: Limits = Limits { time: Duration::from_secs(15), output: 1 << 16, complaint: KeptStderr::End(4 << 10) };
/// What it complains of where it has no such thread.
const UNKNOWN: &str = "no rollout found";

/// The program that is found, unless it or what it links to lies where commands in a sandbox may write.
pub fn program(programs: &Programs) -> Option<PathBuf> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let writable: Vec<PathBuf> = programs.writable.iter().map(|folder| real(folder)).collect();
    let is_kept = |path: &Path| !writable.iter().any(|folder| path.starts_with(folder));
    let is_program =
        |path: &Path| path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0);
    programs.folders.iter().filter(|folder| folder.is_absolute()).find_map(|folder| {
        let program = folder.join(PROGRAM);
        (is_program(&program) && is_kept(&real(folder)) && is_kept(&real(&program))).then_some(program)
    })
}

/// Queues a message.
pub async fn queue(program: &Path, home: Option<&Path>, thread: &str, text: &str) -> WakeOutcome {
    let mut command = queueing(program, home, thread, text);
    match process::run(&mut command, None, LIMITS).await {
        Ok(Ended { status, .. }) if status.success() => WakeOutcome::Delivered,
        Ok(Ended { complaint, .. }) if complaint.contains(UNKNOWN) => WakeOutcome::Gone,
        Ok(Ended { status, .. }) => {
            tracing::debug!(%status, "codex does not queue a message");
            WakeOutcome::Refused
        }
        Err(Trouble::NotStarted(error) | Trouble::Lost(error)) => {
            tracing::debug!(%error, "codex cannot be run");
            WakeOutcome::Refused
        }
        Err(Trouble::TooLate | Trouble::TooMuch { .. }) => WakeOutcome::Refused,
    }
}

fn queueing(program: &Path, home: Option<&Path>, thread: &str, text: &str) -> Command {
    let mut command = Command::new(program);
    command.args(["queue", "--thread", thread, "--message", text]).stdout(Stdio::piped()).stderr(Stdio::piped());
    match home {
        Some(home) => command.env(HOME, home),
        // What our own environment says is of another session.
        None => command.env_remove(HOME),
    };
    command
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// A program that writes down its arguments, one a line, and its home.
    fn stand_in(folder: &Path, ends: &str) -> PathBuf {
        let path = folder.join("codex");
        let out = folder.join("out");
        let script = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" \"$CODEX_HOME\" > {}\n{ends}\n", out.display());
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        path
    }

    #[test]
    fn the_home_of_codex_is_the_one_of_the_session_and_not_ours() {
        let home = |home: Option<&Path>| {
            let command = queueing(Path::new("codex"), home, "t", "x");
            let homes: Vec<_> =
                command.as_std().get_envs().map(|(name, home)| (name.to_owned(), home.map(Into::into))).collect();
            homes
        };
        assert_eq!(home(None), [(HOME.into(), None::<PathBuf>)]);
        assert_eq!(home(Some(Path::new("/h"))), [(HOME.into(), Some("/h".into()))]);
    }

    #[tokio::test]
    async fn codex_is_called_as_was_recorded_and_its_end_is_understood() {
        let folder = tempfile::tempdir().unwrap();
        let recorded: Value = serde_json::from_str(include_str!("../../tests/waking/codex.json")).unwrap();
        let words: Vec<&str> = recorded["command"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let [thread, text] = [words[3], words[5]];
        let done = queue(&stand_in(folder.path(), ""), Some(Path::new("/h")), thread, text).await;
        assert_eq!(done, WakeOutcome::Delivered);
        let said = std::fs::read_to_string(folder.path().join("out")).unwrap();
        assert_eq!(said.lines().collect::<Vec<_>>(), [&words[1..], &["/h"]].concat());
        let unknown = recorded["unknown_thread"]["stderr"].as_str().unwrap();
        let gone = stand_in(folder.path(), &format!("echo '{unknown}' >&2; exit 1"));
        assert_eq!(queue(&gone, None, thread, text).await, WakeOutcome::Gone);
        assert_eq!(queue(&stand_in(folder.path(), "exit 1"), None, thread, text).await, WakeOutcome::Refused);
        assert_eq!(queue(Path::new("/no/codex"), None, thread, text).await, WakeOutcome::Refused);
    }

    #[test]
    fn only_a_program_on_the_path_that_no_sandbox_could_have_written_is_run() {
        let place = tempfile::tempdir().unwrap();
        let [own, workspace, linked] = ["own", "workspace", "linked"].map(|name| place.path().join(name));
        for folder in [&own, &workspace, &linked] {
            std::fs::create_dir(folder).unwrap();
        }
        let theirs = stand_in(&workspace, "");
        std::os::unix::fs::symlink(&theirs, linked.join("codex")).unwrap();
        let ours = stand_in(&own, "");
        let found = |folders: &[&Path]| {
            let folders = folders.iter().map(|folder| folder.to_path_buf()).collect();
            program(&Programs { folders, writable: vec![workspace.clone()] })
        };
        assert_eq!(found(&[&workspace, &linked, &own]), Some(ours.clone()));
        assert_eq!(found(&[&workspace, &linked]), None, "neither it nor a link to it");
        assert_eq!(found(&[Path::new("bin"), Path::new("")]), None, "the current folder may be a workspace");
        std::fs::set_permissions(&ours, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(found(&[&own]), None);
        let all = Programs { folders: vec![linked.clone()], writable: Vec::new() };
        assert_eq!(program(&all), Some(linked.join("codex")));
    }
}
