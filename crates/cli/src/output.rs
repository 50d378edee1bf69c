//! What people and programs see: tables and sentences for the one, JSON for the other.
//!
//! The only place that prints. Answers go to standard output, everything else to standard error.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use comfy_table::Table;
use comfy_table::presets::NOTHING;
use serde_json::{Value, json};

/// Prints an answer: `text` for people, `json` for programs.
pub fn answer(as_json: bool, json: &Value, text: impl FnOnce() -> String) {
    if as_json { println!("{json}") } else { println!("{}", text()) }
}

/// Tells a person what is going on. Programs do not want to know.
pub fn note(text: &str) {
    eprintln!("{text}");
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

/// Reports what went wrong; exit code 1.
pub fn failed(error: &anyhow::Error, as_json: bool) -> ExitCode {
    if as_json {
        println!("{}", json!({ "error": { "message": format!("{error:#}") } }));
    } else {
        eprintln!("postrider: {error:#}");
    }
    ExitCode::FAILURE
}

/// Reports a command line that cannot be read, or prints the help that was asked for.
///
/// A wrong command line exits with 1: 2 has a meaning of its own to those who drive us as a mail program.
pub fn usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    if error.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
