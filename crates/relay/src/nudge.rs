//! A text put before an agent's running session, so that it looks for its mail.
//!
//! Fire and forget: a nudge is not stored and not repeated, and nobody learns whether it was heeded. If it is lost,
//! the mail is still there. What the text says, and that no words of a mail are in it, is the caller's business; that
//! it can steer neither a terminal nor a shell is ours.

mod busy;
mod notes;
mod spacing;
mod tmux;

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use formats::steers;
use process::{Ended, KeptStderr, Limits, Trouble};
use tokio::process::Command;

pub use busy::Busy;
pub use spacing::{Pace, Turn};

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
    #[error("tmux has no pane '{0}'")]
    NoPane(String),
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
    #[error("The nudge by '{0}' was not done in {seconds} seconds", seconds = LIMIT.as_secs())]
    TookTooLong(String),
}

impl NudgeError {
    /// A code that programs may match on.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Empty => "NUDGE_EMPTY",
            Self::NoPane(_) => "NUDGE_NO_PANE",
            Self::PaneNotReady { .. } => "NUDGE_PANE_NOT_READY",
            Self::CannotRun { .. } | Self::Failed { .. } => "NUDGE_PROGRAM_FAILED",
            Self::CannotWrite { .. } => "NUDGE_FILE_NOT_WRITTEN",
            Self::TookTooLong(_) => "NUDGE_TIMED_OUT",
        }
    }

    /// The next thing to try.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Empty => "Give a text with at least one visible character.",
            Self::NoPane(_) => {
                "Name the pane as '%3' or 'session:window.pane'; `tmux list-panes -a` shows those there are."
            }
            Self::PaneNotReady { .. } => "Bring the pane back to its program's prompt, or wait; the mail is not lost.",
            Self::CannotRun { .. } => "Check that the program is installed and may be run.",
            Self::Failed { .. } => "Run the program by hand to see what is wrong.",
            Self::CannotWrite { .. } => "Check that the folder exists and may be written to.",
            Self::TookTooLong(_) => "Check what the program waits for; it has to end by itself.",
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
    let too_long = |_| NudgeError::TookTooLong(name_of(way));
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
    run_program(&mut command, &line(text)).await?;
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

/// The most that a program may say, and how much of the end of its complaints is kept.
const LIMITS: Limits = Limits { time: LIMIT, output: 1 << 20, complaint: KeptStderr::End(4 << 10) };

/// Runs a command with `input` as its standard input until it ends, and returns what it said where that is piped.
async fn run_program(command: &mut Command, input: &str) -> Result<String, NudgeError> {
    let program = command.as_std().get_program().to_string_lossy().into_owned();
    match process::run(command, Some(input.as_bytes()), LIMITS).await {
        Ok(Ended { status, output, .. }) if status.success() => Ok(String::from_utf8_lossy(&output).into_owned()),
        Ok(Ended { status, complaint, .. }) => {
            let complaint = safe_text(&complaint);
            let said = if complaint.is_empty() { status.to_string() } else { complaint };
            Err(NudgeError::Failed { program, said })
        }
        Err(Trouble::TooMuch { .. }) => Err(NudgeError::Failed { program, said: "it says too much".to_owned() }),
        Err(Trouble::TooLate) => Err(NudgeError::TookTooLong(program)),
        Err(Trouble::NotStarted(cause) | Trouble::Lost(cause)) => Err(NudgeError::CannotRun { program, cause }),
    }
}

/// The most characters of a nudge.
const LONGEST: usize = 1_000;
/// What stands at the end of a text that was cut.
const CUT: char = '…';

/// The text on one line of at most 1,000 characters, in which nothing steers a terminal.
///
/// Above all no escape character is left: it could end a bracketed paste, and what follows would be keys.
pub fn safe_text(text: &str) -> String {
    let words = text.split(|letter: char| letter.is_whitespace() || steers(letter)).filter(|word| !word.is_empty());
    let line = words.collect::<Vec<_>>().join(" ");
    if line.chars().nth(LONGEST).is_none() {
        return line;
    }
    let kept: String = line.chars().take(LONGEST - 1).collect();
    format!("{}{CUT}", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_is_left() {
        let hostile = "a\x1b[201~b\u{9b}31mc\rd\u{202e}e\x7f\u{2028}f\n\tg\0h";
        assert_eq!(safe_text(hostile), "a [201~b 31mc d e f g h");
        let every: String = (0..=0x2_ffff).filter_map(char::from_u32).filter(|letter| steers(*letter)).collect();
        assert!(every.chars().count() > 70);
        assert_eq!(safe_text(&every), "");
    }

    #[test]
    fn white_space_becomes_one_space_and_none_is_at_the_ends() {
        assert_eq!(safe_text(" \n you\u{a0}\t have \r\n mail \n"), "you have mail");
        assert_eq!(safe_text(" \n\t "), "");
    }

    #[test]
    fn what_a_shell_would_read_is_left_alone() {
        let text = "$(touch x); `y` 'z' \"w\" #{pane_id} ~ \\n ü漢🦀";
        assert_eq!(safe_text(text), text);
    }

    #[test]
    fn a_text_that_just_fits_is_whole_and_one_more_character_cuts_it() {
        let fits = "漢".repeat(LONGEST);
        assert_eq!(safe_text(&fits), fits);
        let cut = safe_text(&format!("{fits}x"));
        assert_eq!(cut, format!("{}…", "漢".repeat(LONGEST - 1)));
        let at_a_space = safe_text(&format!("{} bcd", "a".repeat(LONGEST - 2)));
        assert_eq!(at_a_space, format!("{}…", "a".repeat(LONGEST - 2)));
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_program_that_failed_is_quoted_or_else_its_status_is_told() {
        let told = async |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]).stdout(Stdio::piped()).stderr(Stdio::piped());
            run_program(&mut command, "").await.unwrap_err().to_string()
        };
        assert_eq!(told("echo \"no\u{1b}[31m way\" >&2; exit 3").await, "'sh' failed: no [31m way");
        assert_eq!(told("exit 3").await, "'sh' failed: exit status: 3");
        assert_eq!(told("exec cat /dev/zero").await, "'sh' failed: it says too much");
    }
}
