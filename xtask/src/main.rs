//! The developer's commands: `cargo xtask <command>`.
//!
//! They build, check and try out Postrider; nothing here is part of it. `cargo xtask test` is all that a new developer
//! needs to know.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a developer's command speaks on the terminal")]

mod arguments;
mod clients;
mod conformance;
mod crash;
mod fuzz;
mod npm;
mod process;
mod running;
mod screenshots;
mod test;
mod tidy;
mod tools;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use arguments::{Request, USAGE};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let root = root();
    let outcome = match Request::read(&words) {
        Ok(Request::Help) => {
            println!("{USAGE}");
            Ok(())
        }
        Ok(Request::Tidy) => tidy::run(&root),
        Ok(Request::Test { quick }) => test::run(&root, quick),
        Ok(Request::Crash(plan)) => crash::run(&root, &plan),
        Ok(Request::Fuzz { cases }) => fuzz::run(&root, cases),
        Ok(Request::Conformance { revision }) => conformance::run(&root, revision.as_deref()),
        Ok(Request::Clients(part)) => clients::run(&root, &part),
        Ok(Request::Libraries) => clients::sdk::run(&root),
        Ok(Request::Screenshots) => screenshots::run(&root),
        Err(problem) => {
            eprintln!("{problem}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("xtask: {problem:#}");
            ExitCode::FAILURE
        }
    }
}

/// The repository in which these commands were built.
fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_owned()
}
