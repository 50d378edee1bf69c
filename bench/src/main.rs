//! `cargo run --profile dist -p bench`: how fast Postrider is, next to the ceilings of the machine it runs on.
//!
//! Figures of a shared or virtual machine drift from minute to minute, so each is printed with the ratio to a ceiling
//! that was taken next to it in the same run. Errors are never measured: one wrong answer ends the run with exit
//! code 1. A target that is missed is told in the table and is no error.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a bench prints its figures, and its progress to stderr")]

mod caller;
mod channels;
mod checks;
mod cluster;
mod disk;
mod echo;
mod footprint;
mod group_commit;
mod inboxes;
mod load;
mod mailboxes;
mod page;
mod process;
mod readers;
mod report;
mod reservations;
mod samples;
mod scale;
mod searches;
mod sends;
mod servers;
mod setting;
mod starts;
mod text;
mod wake_sessions;
mod wake_ups;
mod wire;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

use mailboxes::FilledHome;
use report::Report;
use setting::Setting;

// The allocator of the server, so that the echo that it is compared with has no other.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures a build of Postrider against ceilings of this machine.
#[derive(Parser)]
struct Cli {
    /// How long each load is measured
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// A smoke run of everything: short loads and little mail, figures that mean nothing
    #[arg(long)]
    quick: bool,
    /// Only this; may be given several times
    #[arg(long, value_name = "NAME")]
    only: Vec<Part>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Measure this build of Postrider instead, such as an earlier one
    #[arg(long)]
    binary: Option<PathBuf>,
    #[command(subcommand)]
    role: Option<Role>,
}

#[derive(Subcommand)]
enum Role {
    /// Be the bare HTTP server that inboxes are compared with (the bench starts this itself)
    Echo {
        /// The port to listen on; 0 for any that is free
        #[arg(long, default_value_t = 0)]
        port: u16,
    },
    Scale(scale::Scale),
}

/// What can be measured by itself.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Sends,
    Inboxes,
    Searches,
    Reservations,
    WakeUps,
    WakeSessions,
    Starts,
    Footprint,
    Readers,
    Checks,
    Channels,
    Servers,
    Page,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match &cli.role {
        Some(Role::Echo { port }) => echo::serve(*port),
        Some(Role::Scale(scale)) => scale::run(scale, cli.seconds, cli.quick),
        None => measure(&cli),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn measure(cli: &Cli) -> anyhow::Result<()> {
    let wanted = |part| cli.only.is_empty() || cli.only.contains(&part);
    let mut report = Report::default();
    if wanted(Part::Readers) {
        readers::measure(if cli.quick { 1 } else { 3 }, &mut report)?;
    }
    // The readers need no server, and so no build of one.
    if cli.only.is_empty() || cli.only.iter().any(|part| *part != Part::Readers) {
        measure_server(&Setting::prepare(cli.seconds, cli.quick, cli.binary.as_deref())?, wanted, &mut report)?;
    }
    println!("{}", if cli.json { report.json() } else { report.table() });
    Ok(())
}

fn measure_server(setting: &Setting, wanted: impl Fn(Part) -> bool, report: &mut Report) -> anyhow::Result<()> {
    if wanted(Part::Sends) {
        sends::measure(setting, report)?;
    }
    if [Part::Inboxes, Part::Searches, Part::Starts, Part::Page].into_iter().any(&wanted) {
        let filled = FilledHome::make(setting)?;
        if wanted(Part::Inboxes) {
            inboxes::measure(setting, &filled, report)?;
        }
        if wanted(Part::Searches) {
            searches::measure(setting, &filled, report)?;
        }
        if wanted(Part::Starts) {
            starts::measure(setting, &filled, report)?;
        }
        // Last, because it adds mail.
        if wanted(Part::Page) {
            page::measure(setting, &filled, report)?;
        }
    }
    if wanted(Part::Reservations) {
        reservations::measure(setting, report)?;
    }
    if wanted(Part::WakeUps) {
        wake_ups::measure(setting, report)?;
    }
    if wanted(Part::WakeSessions) {
        wake_sessions::measure(setting, report)?;
    }
    if wanted(Part::Checks) {
        checks::measure(setting, report)?;
    }
    if wanted(Part::Channels) {
        channels::measure(setting, report)?;
    }
    if wanted(Part::Servers) {
        servers::measure(setting, report)?;
    }
    if wanted(Part::Footprint) {
        footprint::measure(setting, report)?;
    }
    Ok(())
}
