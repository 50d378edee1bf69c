//! A text put before an agent's running session, so that it looks for its mail.
//!
//! Fire and forget: a nudge is not stored and not repeated, and nobody learns whether it was heeded. If it is lost,
//! the mail is still there. What the text says, and that no words of a mail are in it, is the caller's business; that
//! it can steer neither a terminal nor a shell is ours.

mod busy;
mod notes;
mod program;
mod spacing;
mod tmux;
mod wording;

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::process::Command;

pub use busy::Busy;
pub use spacing::{Pace, Turn};
pub use wording::safe_text;

/// How long a nudge may take in all.
const LIMIT: Duration = Duration::from_secs(5);
/// How a command that is run is told the text, beside its standard input.
const TEXT_VARIABLE: &str = "POSTRIDER_NUDGE";

/// How a session is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// The text is pasted into a pane of tmux, and Enter is pressed.
    Tmux {
        /// The pane: `%3`, `session`, `session:window` or `session:window.pane`, letter by letter.
        pane: String,
        /// The server's socket; `None` is the one that `tmux` finds by itself.
        socket: Option<PathBuf>,
    },
    /// A program is run without a shell; it gets the text as a line and in `POSTRIDER_NUDGE`.
    Command {
        /// The program.
        program: String,
        /// Its arguments.
        arguments: Vec<String>,
    },
    /// A file is written whole, with the text as its one line, for somebody who watches it.
    File {
        /// The file; its folder has to exist.
        path: PathBuf,
    },
}

/// Why a nudge did not reach its session.
#[derive(Debug, thiserror::Error)]
pub enum NudgeError {
    /// Nothing is left of the text once it is safe.
    #[error("The text of the nudge is empty")]
    Empty,
    /// No pane has that name.
    #[error("tmux has no pane '{pane}'")]
    NoPane {
        /// What was given.
        pane: String,
    },
    /// The pane is there, and what is sent to it would go astray.
    #[error("The tmux pane '{pane}' {why}")]
    PaneNotReady {
        /// What was given.
        pane: String,
        /// What keeps it.
        why: &'static str,
    },
    /// The program could not be started, or talked to.
    #[error("'{program}' cannot be run: {cause}")]
    CannotRun {
        /// The program.
        program: String,
        /// What the system said.
        cause: io::Error,
    },
    /// The program said that it failed.
    #[error("'{program}' failed: {said}")]
    Failed {
        /// The program.
        program: String,
        /// What it said, or how it ended.
        said: String,
    },
    /// The file could not be written.
    #[error("'{path}' cannot be written: {cause}")]
    CannotWrite {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// It took too long and was ended.
    #[error("The nudge by '{way}' was not done in {} seconds", LIMIT.as_secs())]
    TookTooLong {
        /// The program or file.
        way: String,
    },
}

impl NudgeError {
    /// A code that programs may match on.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Empty => "NUDGE_EMPTY",
            Self::NoPane { .. } => "NUDGE_NO_PANE",
            Self::PaneNotReady { .. } => "NUDGE_PANE_NOT_READY",
            Self::CannotRun { .. } | Self::Failed { .. } => "NUDGE_PROGRAM_FAILED",
            Self::CannotWrite { .. } => "NUDGE_FILE_NOT_WRITTEN",
            Self::TookTooLong { .. } => "NUDGE_TIMED_OUT",
        }
    }

    /// The next thing to try.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Empty => "Give a text with at least one visible character.",
            Self::NoPane { .. } => {
                "Name the pane as '%3' or 'session:window.pane'; `tmux list-panes -a` shows those there are."
            }
            Self::PaneNotReady { .. } => "Bring the pane back to its program's prompt, or wait; the mail is not lost.",
            Self::CannotRun { .. } => "Check that the program is installed and may be run.",
            Self::Failed { .. } => "Run the program by hand to see what is wrong.",
            Self::CannotWrite { .. } => "Check that the folder exists and may be written to.",
            Self::TookTooLong { .. } => "Check what the program waits for; it has to end by itself.",
        }
    }
}

/// Puts a text before a session, made safe first, in at most five seconds.
pub async fn nudge(way: &Way, text: &str) -> Result<(), NudgeError> {
    let text = safe_text(text);
    if text.is_empty() {
        return Err(NudgeError::Empty);
    }
    let done = async {
        match way {
            Way::Tmux { pane, socket } => tmux::paste(pane, socket.as_deref(), &text).await,
            Way::Command { program, arguments } => run_command(program, arguments, &text).await,
            Way::File { path } => write_file(path, &text).await,
        }
    };
    let too_long = |_| NudgeError::TookTooLong { way: name_of(way) };
    tokio::time::timeout(LIMIT, done).await.map_err(too_long)?
}

fn name_of(way: &Way) -> String {
    match way {
        Way::Tmux { .. } => tmux::PROGRAM.to_owned(),
        Way::Command { program, .. } => program.clone(),
        Way::File { path } => path.display().to_string(),
    }
}

async fn run_command(program: &str, arguments: &[String], text: &str) -> Result<(), NudgeError> {
    let mut command = Command::new(program);
    command.args(arguments).env(TEXT_VARIABLE, text).stdout(Stdio::null()).stderr(Stdio::null());
    program::run(&mut command, &line(text)).await?;
    Ok(())
}

async fn write_file(path: &Path, text: &str) -> Result<(), NudgeError> {
    let (target, content) = (path.to_owned(), line(text));
    // On a thread of its own, so that a folder that does not answer cannot outlast the limit.
    let written = tokio::task::spawn_blocking(move || replace(&target, &content)).await;
    let written = written.unwrap_or_else(|ended| Err(io::Error::other(ended)));
    written.map_err(|cause| NudgeError::CannotWrite { path: path.to_owned(), cause })
}

/// Whoever looks finds the old file or the new one, never a part.
fn replace(path: &Path, content: &str) -> io::Result<()> {
    let beside = path.with_file_name(format!(".{}", unique_name()));
    let replaced = std::fs::write(&beside, content).and_then(|()| std::fs::rename(&beside, path));
    if replaced.is_err() {
        // It may not have come to exist, and what went wrong first is what is told.
        let _ = std::fs::remove_file(&beside);
    }
    replaced
}

fn line(text: &str) -> String {
    format!("{text}\n")
}

/// A name that no other nudge of this machine has at the same time.
fn unique_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("postrider-nudge-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}
