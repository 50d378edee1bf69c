//! The `postrider` binary: reads the command line, puts the parts together, and prints.
//!
//! This is the only room that knows argv, the environment, the home folder and the terminal. It decides nothing about
//! mail.

// Nobody outside reads this crate: a comment stands where a name does not say it.
#![allow(missing_docs)]

mod client;
mod clients;
mod commands;
mod config;
mod family;
mod identity;
mod local_sessions;
mod local_socket;
mod logging;
mod mailbox;
mod named_calls;
mod nats;
mod on_demand;
mod outbox;
mod output;
mod own_session;
mod post_office;
mod relays;
mod sandbox;
mod waker;
mod wiring;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    output::ended(run())
}

fn run() -> ExitCode {
    if let Some(words) = commands::exec_mail::called() {
        return commands::exec_mail::run(&words, &config::Global::of_environment());
    }
    let cli = match commands::Cli::read() {
        Ok(cli) => cli,
        Err(error) => return commands::wrong_line(&error),
    };
    let json = cli.answers_json();
    match commands::run(cli) {
        Ok(code) => code,
        Err(error) => output::failed(&error, json),
    }
}
