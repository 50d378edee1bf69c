//! What a watcher decides: which messages are for its agent, when to stop, what to put before a model, and what of its
//! output is the answer.
//!
//! Nothing here asks a post office, reads a clock or prints; whoever watches hands in what was said and when it is now.
//! What others wrote is data: it stands between marks that it cannot close, and no part of it is read as a template.

mod answer;
mod breaker;
mod context;
mod invocation;
mod prompt;

use formats::mention;
use jiff::Timestamp;

pub use answer::AnswerPath;
pub use breaker::{Breaker, Judgement};
pub use context::context;
pub use invocation::{Invocation, RunError};
pub use prompt::{DEFAULT_TEMPLATE, Prompt, Template, UnknownPlaceholder};

/// What somebody said, as far as a watcher has to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The message's number.
    pub id: i64,
    /// Who said it.
    pub from: String,
    /// Whether that is a person.
    pub is_human: bool,
    /// Whom it is addressed to; none for everybody.
    pub to: Vec<String>,
    /// What type it is of, such as `chat`.
    pub kind: String,
    /// The text, with what belongs to it.
    pub text: String,
    /// The conversation.
    pub thread: String,
    /// Whether it answers something.
    pub is_answer: bool,
    /// Whether a watcher had it made.
    pub is_by_watcher: bool,
    /// How many watchers answered each other on the way to it.
    pub hops: u32,
    /// When it was accepted.
    pub at: Timestamp,
}

/// Whether a watcher answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is for the agent.
    Answer,
    /// It is for others, or for everybody.
    NotForUs,
    /// The agent said it itself.
    Own,
}

/// Whether the watcher of `agent` answers what was said.
pub fn decide(said: &Heard, agent: &str) -> Decision {
    let is_addressed = || said.to.iter().any(|name| name == agent);
    if said.from == agent {
        Decision::Own
    } else if is_addressed() || mention::is_for(agent, formats::channel::EVERYONE, &said.text) {
        Decision::Answer
    } else {
        Decision::NotForUs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plain message to codex.
    pub(super) fn said(id: i64, from: &str, text: &str) -> Heard {
        Heard {
            id,
            from: from.to_owned(),
            is_human: false,
            to: vec!["codex".to_owned()],
            kind: "chat".to_owned(),
            text: text.to_owned(),
            thread: "t".to_owned(),
            is_answer: false,
            is_by_watcher: false,
            hops: 0,
            at: "2026-01-11T16:33:15Z".parse().unwrap(),
        }
    }

    #[test]
    fn who_is_addressed_mentioned_or_named_first_answers_and_nobody_else() {
        let broadcast = |text| Heard { to: Vec::new(), ..said(1, "claude", text) };
        assert_eq!(decide(&said(1, "claude", "hello"), "codex"), Decision::Answer);
        assert_eq!(decide(&said(1, "claude", "hello"), "claude-2"), Decision::NotForUs);
        assert_eq!(decide(&broadcast("hello, all"), "codex"), Decision::NotForUs);
        assert_eq!(decide(&broadcast("what does @codex say?"), "codex"), Decision::Answer);
        assert_eq!(decide(&broadcast("Codex: look"), "codex"), Decision::Answer);
        assert_eq!(decide(&broadcast("what does @codex-2 say?"), "codex"), Decision::NotForUs);
    }

    #[test]
    fn nobody_answers_itself() {
        assert_eq!(decide(&said(1, "codex", "@codex, remember"), "codex"), Decision::Own);
    }
}
