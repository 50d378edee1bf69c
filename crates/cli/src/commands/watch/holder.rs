//! What a watcher is called while it runs, and whether one on this machine is gone.
//!
//! A number of a process is given again, so the time at which the process began goes with it. Both mean something only since
//! the machine was started, and among processes that see each other: two containers may go by one name. Of a watcher from
//! anywhere else, or from before the machine was started again, nothing is known.

use std::fs;

/// What this process is called: `host:start:namespace:process:beginning`.
pub fn name() -> String {
    let process = std::process::id();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("{host}:{}:{process}:{}", realm().unwrap_or_default(), began(process).unwrap_or_default())
}

/// A watcher as people are told of it.
pub fn shown(holder: &str) -> String {
    match read(holder) {
        Some((host, _, process, _)) => format!("process {process} on {host}"),
        None => format!("'{holder}'"),
    }
}

/// Whether a watcher of that name ran on this machine, and surely does not any more.
pub fn is_gone(holder: &str) -> bool {
    let Some((_, realm_of_holder, process, beginning)) = read(holder) else { return false };
    // Where processes cannot be looked at, nobody is said to be gone.
    realm().as_deref() == Some(realm_of_holder)
        && began(std::process::id()).is_some()
        && began(process).as_deref() != Some(beginning)
}

/// What a name says: the host, the realm, the process, and when it began.
fn read(holder: &str) -> Option<(&str, &str, u32, &str)> {
    let (rest, beginning) = holder.rsplit_once(':')?;
    let (rest, process) = rest.rsplit_once(':')?;
    let (namespace, _) = rest.rmatch_indices(':').nth(1)?;
    Some((&rest[..namespace], &rest[namespace + 1..], process.parse().ok()?, beginning))
}

/// Where a process goes by its number: this start of the machine, and those that see each other.
fn realm() -> Option<String> {
    let plain = |text: &str| -> String { text.chars().filter(char::is_ascii_alphanumeric).collect() };
    let start = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{}:{}", plain(&start), plain(&namespace.to_string_lossy())))
}

/// When a process began, in the system's own count; none if there is no such process, or it only waits to be buried.
fn began(process: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program may hold anything, and ends with the last parenthesis.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let is_dead = matches!(*fields.first()?, "Z" | "X");
    (!is_dead).then(|| fields.get(19).map(|beginning| (*beginning).to_owned()))?
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    fn named(realm: &str, process: u32, beginning: &str) -> String {
        format!("host:{realm}:{process}:{beginning}")
    }

    #[test]
    fn a_watcher_is_gone_when_its_process_is_or_another_has_its_number() {
        assert!(!is_gone(&name()));
        let realm = realm().unwrap();
        assert!(is_gone(&named(&realm, std::process::id(), "1")), "another process has its number");
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let there = named(&realm, child.id(), &began(child.id()).unwrap());
        assert!(!is_gone(&there));
        child.kill().unwrap();
        while !is_gone(&there) {}
        child.wait().unwrap();
        assert!(is_gone(&there));
    }

    #[test]
    fn of_watchers_elsewhere_nobody_knows_also_where_the_machine_goes_by_the_same_name() {
        let realm = realm().unwrap();
        let (start, namespace) = realm.split_once(':').unwrap();
        let elsewhere = [named(&format!("{start}:pid1"), 1, "1"), named(&format!("0:{namespace}"), 1, "1")];
        assert!(is_gone(&named(&realm, std::process::id(), "1")));
        for holder in elsewhere.iter().map(String::as_str).chain(["", "x", "host:1:2", "::::", "host:a:b:x:1"]) {
            assert!(!is_gone(holder), "{holder}");
        }
    }

    #[test]
    fn people_are_told_of_the_process_and_its_machine() {
        assert_eq!(shown("a:b:0266af:pid4026:17:99"), "process 17 on a:b");
        assert_eq!(shown("w1"), "'w1'");
        assert!(shown(&name()).starts_with(&format!("process {} on ", std::process::id())));
    }
}
