//! `postrider channel`: the channels in which agents talk in the open, one verb a file.
//!
//! Asks the office and shows what it says. Whom a message calls, and what is taken in from outside, is decided there.

mod check;
mod list;
mod page;
mod post;
mod read;
mod tail;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::config::Config;
use crate::post_office::{InProject, Refused};
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
    List(list::List),
    /// Say something in a channel, which may be new
    #[command(override_usage = "postrider channel post [OPTIONS] <CHANNEL> [TEXT]")]
    Post(Box<post::Post>),
    /// Show what was said last, the newest at the end
    #[command(override_usage = "postrider channel read [OPTIONS] <CHANNEL>")]
    Read(read::Read),
    /// Show what was said last and whatever is said from now on; Ctrl-C ends it
    #[command(override_usage = "postrider channel tail [OPTIONS] <CHANNEL>")]
    Tail(tail::Tail),
    /// Say whether a document of a channel's folder can be used, and whether it calls an agent
    Check(check::Check),
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
        }
    }
}

/// Says what somebody at a terminal can do about a refusal.
fn advised(error: anyhow::Error, project: &InProject) -> anyhow::Error {
    match error.downcast::<Refused>() {
        Ok(refused) => match refused.code.as_str() {
            "PROJECT_NOT_FOUND" => project.advised(refused),
            "IDENTITY_REQUIRED" => refused.hinted(
                "Pass the token that 'postrider join' printed for that name with --token, or set \
                 POSTRIDER_REGISTRATION_TOKEN. A new name joins first.",
            ),
            _ => refused,
        }
        .into(),
        Err(error) => error,
    }
}
