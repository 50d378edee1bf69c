//! What people and programs see: tables and sentences for the one, JSON for the other.
//!
//! The only place that prints. Answers go to standard output, everything else to standard error. Text that others wrote
//! is shown through `text` and `grid`, which keep it from steering the terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

pub mod grid;
mod screen;
pub mod text;

use std::fs::{self, File, Metadata};
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use serde_json::{Value, json};

use crate::post_office::Refused;
pub use screen::Screen;

/// Moves to the upper left corner of an empty screen.
pub const CLEAR: &str = "\x1b[2J\x1b[H";

/// Whether an answer could not be printed.
static UNPRINTED: AtomicBool = AtomicBool::new(false);

/// Prints an answer: `text` for people, `json` for programs. What was asked for is done, which is the exit code.
pub fn answer(as_json: bool, json: &Value, text: impl FnOnce() -> String) -> ExitCode {
    answered(as_json, json, text);
    ExitCode::SUCCESS
}

/// The same where there may be `nothing` to show, which is no answer for people: they are told on standard error.
pub fn answer_or(as_json: bool, nothing: Option<&str>, json: &Value, text: impl FnOnce() -> String) -> ExitCode {
    match nothing.filter(|_| !as_json) {
        Some(nothing) => note(nothing),
        None => _ = answer(as_json, json, text),
    }
    ExitCode::SUCCESS
}

/// Prints the answer of a command that did what it was told, and so has ended.
pub fn done(as_json: bool, json: &Value, text: impl FnOnce() -> String) -> anyhow::Result<ExitCode> {
    answer(as_json, json, text);
    Ok(ExitCode::SUCCESS)
}

/// The same; returns whether all of it was taken, for what may only be done once somebody can read the answer.
pub fn answered(as_json: bool, json: &Value, text: impl FnOnce() -> String) -> bool {
    let printed = if as_json { print(&text::json_line(json)) } else { print(&text()) };
    let is_printed = printed.is_ok();
    unless_closed(printed);
    is_printed
}

/// How the program ends that wanted to end with `code`: badly when an answer could not be printed.
pub fn ended(code: ExitCode) -> ExitCode {
    if UNPRINTED.load(Ordering::Relaxed) { ExitCode::FAILURE } else { code }
}

/// Notes that an answer was not printed, unless whoever reads has closed the pipe: it has read what it wanted.
fn unless_closed(printed: io::Result<()>) {
    if let Err(error) = printed
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        UNPRINTED.store(true, Ordering::Relaxed);
        note(&format!("postrider: cannot print: {error}"));
    }
}

/// Prints text and a line break at once. An error says that nobody can read it.
pub fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    // In one piece: of a line that a pipe has no room for, nothing is read.
    stdout.write_all(format!("{text}\n").as_bytes())?;
    stdout.flush()
}

/// Prints a line, and says whether all of it was taken by somebody who may read it.
pub fn is_taken(line: &str) -> bool {
    !goes_nowhere() && print(line).is_ok()
}

/// Whether standard output is the null device, which also stands where it was closed when we were started.
fn goes_nowhere() -> bool {
    let about = || -> io::Result<[Metadata; 2]> {
        let ours = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        Ok([ours.metadata()?, fs::metadata("/dev/null")?])
    };
    about().is_ok_and(|[ours, null]| ours.file_type().is_char_device() && ours.rdev() == null.rdev())
}

/// Asks a person at a terminal something; the answer comes behind it.
pub fn ask(question: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    write!(stdout, "{question}")?;
    stdout.flush()
}

/// Tells a person what is going on. Programs do not want to know.
pub fn note(text: &str) {
    // There is nobody left to tell that this failed.
    let _ = writeln!(io::stderr(), "{text}");
}

/// How far something is that takes long, for a person who looks at a terminal. A step is told once.
pub struct Milestones<S> {
    is_shown: bool,
    last: S,
}

impl<S: PartialEq> Milestones<S> {
    /// Begins; `first` is a step that is not told.
    pub fn new(as_json: bool, first: S) -> Self {
        Self { is_shown: io::stderr().is_terminal() && !as_json, last: first }
    }

    /// Tells that `step` is reached.
    pub fn tell(&mut self, step: S, text: impl FnOnce() -> String) {
        if self.is_shown && self.last != step {
            self.last = step;
            note(&text());
        }
    }
}

/// A table without lines, aligned, that shows every value whole: what is too long for a line goes on in the next one.
pub fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    table_of_width(Screen::of_stdout().table_width(), head, rows)
}

fn table_of_width(width: usize, head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    table.set_header(head.iter().map(|cell| cell.to_uppercase()));
    for row in rows {
        table.add_row(row);
    }
    table.trim_fmt()
}

/// Reports what went wrong; exit code 1. A refusal of the office keeps its code and whatever else it says.
pub fn failed(error: &anyhow::Error, as_json: bool) -> ExitCode {
    if as_json {
        let refused = error.downcast_ref::<Refused>().map(Refused::to_json);
        answer(true, &refused.unwrap_or_else(|| json!({ "error": { "message": format!("{error:#}") } })), String::new);
    } else {
        note(&text::lines(&format!("postrider: {error:#}")));
    }
    ExitCode::FAILURE
}

/// Reports a command line that cannot be read, or prints the help that was asked for.
///
/// A wrong command line exits with 1: 2 has a meaning of its own to those who drive us as a mail program.
pub fn usage(error: &clap::Error) -> ExitCode {
    unless_closed(error.print());
    if error.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_shows_values_whole_fits_its_width_and_loses_nothing() {
        let long = "word ".repeat(60);
        let path = "/a/path/without/a/blank".repeat(12);
        let rows = [vec!["field".to_owned(), long.clone()], vec![path.clone(), "short".to_owned()]];
        let table = table_of_width(100, &["field", "value"], rows);
        assert!(table.lines().all(|line| text::width(line) <= 100), "{table}");
        let whole: String = table.split_whitespace().collect();
        assert!(whole.contains("short") && whole.matches("word").count() == 60, "{table}");
        let column: String = table.lines().map(|line| line.split("  ").next().unwrap_or_default().trim()).collect();
        assert!(column.contains(&path), "{table}");
    }
}
