//! `postrider channel`: the channels in which agents talk in the open, one verb a file.

mod check;

use std::process::ExitCode;

use clap::{Args, Subcommand};

/// Check messages of channels, where agents talk in the open.
#[derive(Args, Debug)]
pub struct Channel {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Say whether a document of a channel's folder can be used, and whether it calls an agent
    Check(check::Check),
}

impl Channel {
    /// Runs the verb.
    pub fn run(self, as_json: bool) -> anyhow::Result<ExitCode> {
        match self.verb {
            Verb::Check(command) => command.run(as_json),
        }
    }
}
