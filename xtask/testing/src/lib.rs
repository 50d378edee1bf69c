//! What the tests of several crates share: the lists of promises, servers of others, and a loud word when one is missing.
//!
//! Nothing here knows a post office. Crates depend on this for their tests alone.

#[cfg(feature = "nats")]
pub mod nats;
pub mod postgres;
mod promises;
mod runner;

use std::io::Write;
use std::process::Command;
use std::time::Duration;

pub use runner::assert_every_file_is_listed;

/// When something that must happen has still not happened, the test has failed.
pub const DEADLINE: Duration = Duration::from_secs(90);

/// Says loudly that something was not run, and why; fails on a build machine, which must run everything.
pub fn not_run(what: &str, why: &str) {
    let is_ci = std::env::var("CI").is_ok_and(|ci| ci == "true" || ci == "1");
    assert!(!is_ci, "{why}, and a build machine must run {what}: use cargo xtask test");
    // Written past the test's own capture, so that it is seen.
    let word = format!("\n!!! NOT RUN: {what}, for {why}. Run cargo xtask test. !!!\n");
    std::io::stderr().write_all(word.as_bytes()).expect("standard error can be written to");
}

/// Whether there is a Python; if not, says what was not run.
pub fn has_python(what: &str) -> bool {
    let is_there = Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success());
    if !is_there {
        not_run(what, "there is no python3");
    }
    is_there
}

/// Sends a process a signal, such as `-STOP`.
pub fn send_signal(signal: &str, id: u32) {
    let sent = Command::new("kill").args([signal, &id.to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "process {id} can be sent {signal}");
}
