//! `postrider man`: the manual pages, made from what the commands say of themselves.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, CommandFactory};
use serde_json::json;

use super::Cli;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  postrider man | man -l -
  postrider man --dir ~/.local/share/man/man1";

/// Print the manual page, or write a page for each command into a folder.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Man {
    /// Write a page for each command into this folder, which is made if it is not there
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Man {
    /// Prints the main page, or writes all of them.
    pub fn run(&self, as_json: bool) -> anyhow::Result<ExitCode> {
        let Some(dir) = &self.dir else {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page).context("cannot make the page")?;
            let page = String::from_utf8_lossy(&page).into_owned();
            output::answer(as_json, &json!({ "page": page }), || page.trim_end().to_owned());
            return Ok(ExitCode::SUCCESS);
        };
        let cannot = || format!("cannot write the pages to '{}'", dir.display());
        std::fs::create_dir_all(dir).with_context(cannot)?;
        clap_mangen::generate_to(Cli::command(), dir).with_context(cannot)?;
        let shown = dir.display().to_string();
        output::answer(as_json, &json!({ "dir": shown }), || format!("The pages are written to '{shown}'."));
        Ok(ExitCode::SUCCESS)
    }
}
