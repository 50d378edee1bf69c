//! What a client leaves running behind it: daemons and servers that took themselves out of its process group.
//!
//! They are known by the home folder in their environment, which no process of the developer has. Linux only: elsewhere
//! nothing is found.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::process::answers;

const LIMIT: Duration = Duration::from_secs(5);
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Ends every process whose home is that folder; says whether none is left.
pub fn end(home: &Path) -> bool {
    let deadline = Instant::now() + LIMIT;
    loop {
        let found = processes(home);
        if found.is_empty() || Instant::now() >= deadline {
            return found.is_empty();
        }
        for process in found {
            answers("kill", &["-KILL", &process]);
        }
        thread::sleep(BETWEEN_LOOKS);
    }
}

/// The ids of the processes whose home is that folder.
fn processes(home: &Path) -> Vec<String> {
    let wanted = format!("HOME={}", home.display());
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let has_home = |id: &String| {
        let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes())
    };
    ids.filter(|id| id.bytes().all(|byte| byte.is_ascii_digit())).filter(has_home).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn only_processes_of_that_home_are_ended() {
        let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let sleep = |home: &Path| Command::new("sleep").arg("600").env("HOME", home).spawn().unwrap();
        let (mut ours, mut theirs) = (sleep(home.path()), sleep(other.path()));
        // One that was ended and not waited for has no environment any more.
        assert!(end(home.path()));
        assert!(!ours.wait().unwrap().success());
        assert!(theirs.try_wait().unwrap().is_none());
        theirs.kill().unwrap();
        theirs.wait().unwrap();
    }
}
