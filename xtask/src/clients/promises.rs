//! What is promised of every client, one function each: real programs, a stand-in for their model, and what is seen.
//!
//! A trial has a home and a repository of its own, so that what a client remembers is not mistaken for what it is told.
//! Whether a model would heed it is not asked here.

mod connected;
pub mod idle;
mod names;
mod removed;
mod sandboxed;
mod stop;
mod told;
mod writes;

use anyhow::Result;

use super::bench::Bench;
use super::table::Row;

/// Something that Postrider promises of a client.
#[derive(Debug)]
pub struct Promise {
    /// What it is called on the command line and in the results.
    pub name: &'static str,
    /// What it is called on the page.
    pub title: &'static str,
    /// Tries it; says what was seen, or why it is not kept.
    pub prove: fn(&Bench, &'static Row) -> Result<String>,
}

/// All of them, in the order of the page.
pub const ALL: [Promise; 11] = [
    Promise { name: "connected", title: "server connected", prove: connected::prove },
    Promise { name: "start", title: "SessionStart told", prove: told::at_the_start },
    Promise { name: "turn", title: "mail told in the turn, once", prove: told::in_the_turn },
    Promise { name: "stop", title: "Stop held", prove: stop::prove },
    Promise { name: "write", title: "reserved write refused", prove: writes::prove },
    Promise { name: "idle", title: "idle session woken", prove: idle::prove },
    Promise { name: "sandbox", title: "sandboxed shell reaches the post office", prove: sandboxed::reaches },
    Promise { name: "refusal", title: "without the setting, the refusal names it", prove: sandboxed::refuses },
    Promise { name: "outbox", title: "the outbox carries a send", prove: sandboxed::leaves_in_the_outbox },
    Promise { name: "name", title: "name kept over clear, compact and resume", prove: names::prove },
    Promise { name: "uninstall", title: "uninstall, byte for byte", prove: removed::prove },
];

/// The promise of that name.
pub fn named(name: &str) -> Option<&'static Promise> {
    ALL.iter().find(|promise| promise.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_promise_is_found_by_its_name() {
        for promise in &ALL {
            assert_eq!(named(promise.name).unwrap().title, promise.title);
        }
        assert!(named("nothing").is_none());
    }
}
