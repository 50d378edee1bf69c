//! The clients of the lab, one row each: all in which they differ.
//!
//! How a client is started, what its model speaks and calls, what is typed at its terminal. What is tried with it is for
//! `promises`. A new client is a file with its row.

mod claude;
mod cline;
mod codex;
mod copilot;
mod gemini;
mod kilo;
mod kimi;
mod opencode;
mod qwen;

use std::path::Path;

use serde_json::Value;

use super::speech::{Call, Speech};
use super::terminal::Dialog;
use super::workplace::Place;
use crate::npm::Pin;

/// Every client, in the order of the page.
pub const ALL: [&Row; 9] = [
    &claude::CLAUDE,
    &codex::CODEX,
    &gemini::GEMINI,
    &qwen::QWEN,
    &opencode::OPENCODE,
    &copilot::COPILOT,
    &kilo::KILO,
    &cline::CLINE,
    &kimi::KIMI,
];

/// A client.
pub struct Row {
    /// As `postrider install` calls it.
    pub name: &'static str,
    /// As people call it.
    pub title: &'static str,
    /// What npm installs.
    pub pins: &'static [Pin],
    /// The program that comes of it.
    pub program: &'static str,
    /// Whose configuration `install` changes: that of the trials first.
    pub scopes: &'static [&'static str],
    /// What its model speaks.
    pub speech: Speech,
    /// Files below its home that have to be there before it works, and their content.
    pub files: fn(&Place) -> Vec<(String, String)>,
    /// What it is started with in its environment.
    pub environment: fn(&Place) -> Vec<(&'static str, String)>,
    /// What stands behind its name for a session without a terminal that is told a prompt.
    pub once: fn(&Place, &str) -> Vec<String>,
    /// What stands behind its name at a terminal.
    pub open: fn(&Place) -> Vec<String>,
    /// What is added to go on with the last session.
    pub resume: &'static [&'static str],
    /// Whether a session without a terminal ends with its turn, whatever a hook says.
    pub ends_with_its_turn: bool,
    /// Whether its first start with our plugin only gets what plugins need, from npm.
    pub fetches_first: bool,
    /// What its model can call.
    pub tools: Tools,
    /// What is typed at its terminal.
    pub keys: Keys,
    /// How its sandbox is used, if it has one.
    pub sandbox: Option<Sandbox>,
    /// Promises that it has no way to keep, by name, and what is missing.
    pub not_offered: &'static [(&'static str, &'static str)],
}

/// The tools of a client, as its model calls them.
pub struct Tools {
    /// Changes nothing.
    pub look: fn(&Path) -> Call,
    /// Runs a command at the shell of the session.
    pub shell: fn(&str) -> Call,
    /// Every way to make a new file.
    pub writes: fn(&Path) -> Vec<Call>,
    /// One of ours.
    pub own: fn(&str, Value) -> Call,
}

/// What is on the screen, and what is typed.
pub struct Keys {
    /// On the screen when a prompt can be typed.
    pub ready: &'static str,
    /// What it may ask before that, and the keys that answer.
    pub dialogs: &'static [Dialog],
    /// Begins a new conversation.
    pub clear: Option<&'static str>,
    /// Puts the conversation together.
    pub compact: Option<&'static str>,
    /// Ends the client.
    pub quit: &'static [&'static str],
}

/// The sandbox of a client.
pub struct Sandbox {
    /// Files below its home that turn it on, some of them instead of those of the row.
    pub files: fn(&Place) -> Vec<(String, String)>,
    /// What stands behind its name for a session without a terminal, in the sandbox.
    pub once: fn(&Place, &str) -> Vec<String>,
    /// Whether the client starts in it with what `install` writes.
    pub bears_install: bool,
    /// Whether our program reaches a server from inside, and nothing else.
    pub needs_server: bool,
    /// By what it is opened, for the page.
    pub opening: &'static str,
    /// What a refusal names.
    pub setting: &'static str,
}

impl Row {
    /// Whether that promise can be tried: a sandbox that nobody set up here is not.
    pub fn is_tried(&self, promise: &str) -> bool {
        let is_inside = ["sandbox", "refusal", "outbox"].contains(&promise);
        !is_inside || self.sandbox.is_some() || self.not_offered(promise).is_some()
    }

    /// Why it has no way to keep that promise, if so.
    pub fn not_offered(&self, promise: &str) -> Option<&'static str> {
        self.not_offered.iter().find(|(name, _)| *name == promise).map(|(_, why)| *why)
    }
}

/// The client of that name.
pub fn named(name: &str) -> Option<&'static Row> {
    ALL.into_iter().find(|row| row.name == name)
}

/// Words as a command line has them.
fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::promises;
    use super::*;

    #[test]
    fn a_row_names_its_packages_exactly_and_promises_that_there_are() {
        for row in ALL {
            assert!(row.pins.iter().all(|pin| pin.version.starts_with(|c: char| c.is_ascii_digit())), "{}", row.name);
            assert!(row.not_offered.iter().all(|(name, _)| promises::named(name).is_some()), "{}", row.name);
            assert!(row.not_offered.iter().all(|(_, why)| !why.ends_with('.')), "{}", row.name);
            assert_eq!(named(row.name).unwrap().title, row.title);
        }
    }

    #[test]
    fn every_write_names_its_file() {
        for row in ALL {
            let writes = (row.tools.writes)(Path::new("/made/up/held.txt"));
            assert!(!writes.is_empty() && writes.iter().all(|call| call.input.to_string().contains("held.txt")));
        }
    }
}
