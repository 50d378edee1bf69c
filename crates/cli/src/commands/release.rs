//! `postrider release`: gives reservations back at a shell.

use std::process::ExitCode;

use anyhow::Context;
use api::{Actor, ReleaseFileReservations};
use clap::Args;
use serde_json::json;

use super::globs;
use super::in_name::InName;
use crate::config::Config;
use crate::identity::Acting;
use crate::output::{self, text};

const EXAMPLES: &str = "\
Paths are those that were reserved, from the current folder. What is not yours stays as it is.

Examples:
  postrider release src/lexer.rs 'tests/lexer*'
  postrider release --all";

/// Give back what you reserved.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, override_usage = "postrider release [OPTIONS] <PATHS>...\n       \
                                                   postrider release [OPTIONS] --all")]
pub struct Release {
    /// Files, folders or globs, as they were reserved
    #[arg(value_name = "PATHS", required_unless_present = "all")]
    paths: Vec<String>,
    /// All of your reservations in the project
    #[arg(long, conflicts_with = "paths")]
    all: bool,
    #[command(flatten)]
    acting: Acting,
}

impl Release {
    /// Gives back, and prints what was.
    pub fn run(self, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        let who = self.acting.who(&config)?;
        let here = std::env::current_dir().context("there is no current folder; go to one")?;
        let project_key = self.acting.project.key()?;
        let paths = if self.all { None } else { Some(globs::to_release(&project_key, &here, &self.paths)?) };
        let actor = Actor { project_key, agent_name: who.name, registration_token: who.token };
        let request = ReleaseFileReservations { paths, ..ReleaseFileReservations::default() };
        self.acting.project.visit(config, async |post_office, _| {
            let released = post_office.ask(request.by(actor)).await?;
            let nothing = "Nothing was released: you hold no such reservation. 'postrider reservations' lists them.";
            let nothing = (released.released == 0).then_some(nothing);
            Ok(output::answer_or(as_json, nothing, &json!(released), || {
                let lines: Vec<String> =
                    released.paths.iter().map(|path| format!("Released {}", text::unbroken(path))).collect();
                lines.join("\n")
            }))
        })
    }
}
