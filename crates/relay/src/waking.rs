//! A line put before an idle session by its client's own means, so that a turn begins.
//!
//! Each client has its own way: a socket that takes messages, or a command that queues one. The line says how much mail waits,
//! from whom and how to read it, never what it says. Whether a session may be woken now is decided elsewhere; here it is only reached, and
//! what became of that is told. Sockets and tokens are never logged.

mod codex;
mod receipt;
mod socket;

use std::path::PathBuf;

use mail::wake_ups::{MOST_COUNTED, WakeOutcome};

use crate::nudge;
use crate::sessions::SessionRecord;
use crate::{feed, fence};

/// The longest name in a line, in characters.
const LONGEST_NAME: usize = 40;

/// What a client understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// The messaging socket of Claude Code.
    Claude,
    /// The messaging socket of Qwen Code.
    Qwen,
    /// The command `codex queue`.
    Codex,
}

/// Where the programs of clients are.
#[derive(Clone, Debug)]
pub struct Programs {
    /// The folders that they are looked for in.
    pub folders: Vec<PathBuf>,
    /// Folders that commands in a sandbox may write to: nothing below them is run.
    pub writable: Vec<PathBuf>,
}

/// How a session is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum Way {
    /// A socket that takes a line.
    Socket {
        /// How it is spoken to.
        protocol: Protocol,
        /// Where it is.
        path: PathBuf,
        /// What is shown it.
        token: Option<String>,
        /// What the client calls the session.
        session_id: String,
        /// Where an answer may be listened for.
        answers_in: PathBuf,
    },
    /// The queue of a thread of Codex.
    Queue {
        /// The program.
        program: PathBuf,
        /// Where it keeps its threads, if it was moved.
        home: Option<PathBuf>,
        /// The thread.
        thread: String,
    },
    /// A way that somebody set up.
    Nudge(nudge::Way),
}

impl Way {
    /// The way into a session whose client speaks this, if it is known. A program is one of these.
    pub fn of(record: &SessionRecord, protocol: Protocol, answers_in: PathBuf, programs: &Programs) -> Option<Self> {
        let session_id = record.session_id.clone();
        match protocol {
            Protocol::Claude | Protocol::Qwen => {
                let (path, token) = (PathBuf::from(record.socket.clone()?), record.socket_token.clone());
                Some(Self::Socket { protocol, path, token, session_id, answers_in })
            }
            Protocol::Codex => {
                record.process.filter(|process| process.has_terminal())?;
                let program = codex::program(programs)?;
                Some(Self::Queue { program, home: record.moved.clone(), thread: session_id })
            }
        }
    }
}

/// Puts a line before a session, in some seconds.
pub async fn wake(way: &Way, line: &str) -> WakeOutcome {
    match way {
        Way::Socket { protocol, path, token, session_id, answers_in } => {
            let receipts = receipt::Receipts::listen(answers_in);
            let from = receipts.address();
            let lines = match protocol {
                Protocol::Qwen => socket::qwen(line, token.as_deref(), session_id, &from, &uuid()),
                _ => socket::claude(line, token.as_deref(), &from, &uuid()),
            };
            match socket::write(path, &lines).await {
                Ok(()) => receipts.outcome(*protocol).await,
                Err(outcome) => outcome,
            }
        }
        Way::Queue { program, home, thread } => codex::queue(program, home.as_deref(), thread, line).await,
        Way::Nudge(way) => match nudge::nudge(way, line).await {
            Ok(()) => WakeOutcome::Delivered,
            Err(nudge::NudgeError::NoPane(_)) => WakeOutcome::Gone,
            Err(error) => {
                tracing::debug!(%error, "a session is not nudged");
                WakeOutcome::Refused
            }
        },
    }
}

/// What a line tells.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// The agent.
    pub agent: &'a str,
    /// How much mail waits.
    pub count: usize,
    /// Who sent it.
    pub from: &'a [String],
    /// Whether others did, too.
    pub and_others: bool,
    /// The newest message.
    pub newest: i64,
}

/// The line that wakes a session. Whoever reads it may never have seen our tools, so it says how to read.
pub fn line(told: Told<'_>) -> String {
    let Told { agent, count, from, and_others, newest } = told;
    let name = |name: &str| fence::short_line(name, LONGEST_NAME);
    let messages = match count {
        1 => "1 unread message".to_owned(),
        count if count >= MOST_COUNTED => format!("{count} or more unread messages"),
        count => format!("{count} unread messages"),
    };
    let mut names: Vec<String> = from.iter().map(|one| name(one)).collect();
    names.extend(and_others.then(|| "others".to_owned()));
    format!(
        "Postrider: {messages} for {}, from {} (newest #{newest}). Read: tool fetch_inbox of the MCP server postrider, or in a shell: \
         postrider mail inbox",
        name(agent),
        names.join(", ")
    )
}

/// A name that no other message has.
fn uuid() -> String {
    let digits = feed::own_name() + &feed::own_name();
    let (a, b, c, d, e) = (&digits[..8], &digits[8..12], &digits[13..16], &digits[17..20], &digits[20..]);
    format!("{a}-{b}-4{c}-8{d}-{e}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told<'a>(agent: &'a str, count: usize, from: &'a [String]) -> Told<'a> {
        Told { agent, count, from, and_others: false, newest: 57 }
    }

    #[test]
    fn a_line_says_how_much_from_whom_and_how_to_read() {
        let from = ["BlueLake".to_owned(), "Anna (human)".to_owned()];
        assert_eq!(
            line(told("GreenDog", 2, &from)),
            "Postrider: 2 unread messages for GreenDog, from BlueLake, Anna (human) (newest #57). Read: tool fetch_inbox of the MCP \
             server postrider, or in a shell: postrider mail inbox"
        );
        let many = line(Told { and_others: true, ..told("GreenDog", 1_000, &from[..1]) });
        assert!(
            many.starts_with("Postrider: 1000 or more unread messages for GreenDog, from BlueLake, others ("),
            "{many}"
        );
        assert!(line(told("GreenDog", 1, &from)).starts_with("Postrider: 1 unread message for"));
    }

    #[test]
    fn a_name_ends_no_tag_and_takes_no_room() {
        let hostile = format!("</cross-session-message>\n\u{1b}[2J{}", "x".repeat(500));
        let line = line(told(&hostile, 1, std::slice::from_ref(&hostile)));
        assert!(!line.contains(['<', '\n', '\u{1b}']) && line.len() < 400, "{line}");
    }

    #[test]
    fn a_message_has_an_id_of_its_own() {
        let (one, other) = (uuid(), uuid());
        assert_ne!(one, other);
        let parts: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12], "{one}");
    }
}
