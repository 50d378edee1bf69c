//! `postrider channel`: the channels in which agents talk in the open.
//!
//! Asks the office and shows what it says. Whom a message calls, and what is taken in from outside, is decided there.

mod check;
mod page;
mod post;
mod scripts;
mod transcript;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::config::Config;
pub use post::SendMessage;

const EXAMPLES: &str = "\
Whoever is addressed with --to, mentioned as @NAME, or called by name at the beginning gets the message as mail, too.
A message to nobody in particular is nobody's mail: it is read here.

Examples:
  postrider channel post dev 'The lexer is done. @BlueLake, please review.' --as GreenDog
  postrider channel read dev
  postrider channel tail dev
  postrider channel list";

/// Talk in channels, where everybody reads along.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Channel {
    #[command(subcommand)]
    verb: Verb,
}

// The usage is written out: as clap writes it, what the environment sets looks required too.
#[derive(Subcommand, Debug)]
enum Verb {
    /// List the channels of the project
    List(transcript::List),
    /// Say something in a channel, which may be new
    #[command(override_usage = "postrider channel post [OPTIONS] <CHANNEL> [TEXT]")]
    Post(Box<post::Post>),
    /// Show what was said last, the newest at the end
    #[command(override_usage = "postrider channel read [OPTIONS] <CHANNEL>")]
    Read(transcript::Read),
    /// Show what was said last and whatever is said from now on; Ctrl-C ends it
    #[command(override_usage = "postrider channel tail [OPTIONS] <CHANNEL>")]
    Tail(transcript::Tail),
    /// Say whether a document of a channel's folder can be used, and whether it calls an agent
    Check(check::Check),
    /// Write scripts/who and scripts/send-message.py into a shared folder: stand-ins that call Postrider
    Scripts(scripts::Scripts),
}

impl Channel {
    /// Runs the verb.
    pub fn run(self, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        match self.verb {
            Verb::List(command) => command.run(config, as_json),
            Verb::Post(command) => command.run(config, as_json),
            Verb::Read(command) => command.run(config, as_json),
            Verb::Tail(command) => command.run(config, as_json),
            Verb::Check(command) => command.run(as_json),
            Verb::Scripts(command) => command.run(config, as_json),
        }
    }
}
