//! What people and programs see: tables and sentences for the one, JSON for the other.
//!
//! The only place that prints. Answers go to standard output, everything else to standard error. Text that others wrote
//! is shown through `text` and `grid`, which keep it from steering the terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

pub mod grid;
mod screen;
pub mod text;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use comfy_table::Table;
use comfy_table::presets::NOTHING;
use serde_json::{Value, json};

use mail::provider::ProviderError;

use crate::post_office::Refused;
pub use screen::Screen;

/// Moves to the upper left corner of an empty screen.
const CLEAR: &str = "\x1b[2J\x1b[H";

/// Whether an answer could not be printed.
static UNPRINTED: AtomicBool = AtomicBool::new(false);

/// Prints an answer: `text` for people, `json` for programs.
pub fn answer(as_json: bool, json: &Value, text: impl FnOnce() -> String) {
    answered(as_json, json, text);
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
    writeln!(stdout, "{text}")?;
    stdout.flush()
}

/// Prints text in place of all that the terminal shows.
pub fn redraw(text: &str) -> io::Result<()> {
    print(&format!("{CLEAR}{text}"))
}

/// Tells a person what is going on. Programs do not want to know.
pub fn note(text: &str) {
    // There is nobody left to tell that this failed.
    let _ = writeln!(io::stderr(), "{text}");
}

/// A table without lines, aligned.
pub fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header(head.iter().map(|cell| cell.to_uppercase()));
    for row in rows {
        table.add_row(row);
    }
    table.trim_fmt()
}

/// Reports what went wrong; exit code 1. A refusal of the office keeps its code and whatever else it says.
pub fn failed(error: &anyhow::Error, as_json: bool) -> ExitCode {
    if as_json {
        let told = error.downcast_ref::<Refused>().map(Refused::to_json);
        let told =
            told.or_else(|| error.downcast_ref::<ProviderError>().map(|error| Refused::of_provider(error).to_json()));
        let told = told.unwrap_or_else(|| json!({ "error": { "message": format!("{error:#}") } }));
        answer(true, &told, String::new);
    } else {
        let told = error.downcast_ref::<ProviderError>().map(|error| Refused::of_provider(error).to_string());
        note(&text::lines(&format!("postrider: {}", told.unwrap_or_else(|| format!("{error:#}")))));
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
