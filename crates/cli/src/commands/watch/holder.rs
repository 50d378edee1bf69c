//! What a watcher is called while it runs, and whether one on this machine is gone.
//!
//! A number of a process is given again, so the time at which the process began goes with it.

use std::fs;

/// What this process is called: `host:process:beginning`.
pub fn name() -> String {
    let process = std::process::id();
    format!("{}:{process}:{}", host(), began(process).unwrap_or_default())
}

/// Whether a watcher of that name ran on this machine, and surely does not any more.
pub fn is_gone(holder: &str) -> bool {
    let mut parts = holder.rsplitn(3, ':');
    let (Some(beginning), Some(process), Some(host)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let Ok(process) = process.parse() else { return false };
    // Where processes cannot be looked at, nobody is said to be gone.
    host == self::host() && began(std::process::id()).is_some() && began(process).as_deref() != Some(beginning)
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// When a process began, in the system's own count; none if there is no such process, or it only waits to be buried.
fn began(process: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program may hold anything, and ends with the last parenthesis.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let is_dead = matches!(*fields.first()?, "Z" | "X");
    (!is_dead).then(|| fields.get(19).map(|beginning| (*beginning).to_owned()))?
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_watcher_is_gone_when_its_process_is_or_another_has_its_number() {
        assert!(!is_gone(&name()));
        let (rest, _) = name().rsplit_once(':').map(|(rest, at)| (rest.to_owned(), at.to_owned())).unwrap();
        assert!(is_gone(&format!("{rest}:1")), "another process has its number");
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let there = format!("{}:{}:{}", host(), child.id(), began(child.id()).unwrap());
        assert!(!is_gone(&there));
        child.kill().unwrap();
        while !is_gone(&there) {}
        child.wait().unwrap();
        assert!(is_gone(&there));
    }

    #[test]
    fn of_watchers_elsewhere_nobody_knows() {
        for holder in ["", "x", "elsewhere:1:2", "::", &format!("{}:x:1", host())] {
            assert!(!is_gone(holder), "{holder}");
        }
    }
}
