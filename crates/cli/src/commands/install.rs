//! `postrider install` and `postrider uninstall`: the hooks and the MCP server in the configuration of a client.
//!
//! Everything is worked out in memory first, so that a file which cannot be read or written stops the whole before
//! anything is changed. What others wrote in those files is kept. Nothing is started, trusted or asked of the client.

mod configuration;
mod diff;
mod entries;
mod files;
mod json;
mod own_program;
mod plan;
mod receipt;
mod report;
mod toml;

use std::process::ExitCode;

use anyhow::Context;
use clap::Args;

use crate::clients::{self, Client, Folders, Scope};
use crate::config::Config;
use crate::output::{self, Screen};
use crate::post_office::Refused;
use own_program::Program;
use plan::Planned;
use report::Report;

/// Give a client mail: write the hooks and the MCP server into its configuration.
#[derive(Args, Debug)]
pub(crate) struct Install {
    #[command(flatten)]
    aim: Aim,
}

/// Take back what install wrote.
#[derive(Args, Debug)]
pub(crate) struct Uninstall {
    #[command(flatten)]
    aim: Aim,
}

#[derive(Args, Debug)]
struct Aim {
    /// The coding agent
    #[arg(value_parser = clients::parser(|client| client.title))]
    client: &'static Client,
    /// Whose configuration to change; the project is the git repository around the current folder, else the folder
    #[arg(long, value_enum, default_value_t = Scope::Project)]
    scope: Scope,
    /// Show what would be changed, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// What is wrong with a file, and where.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    line: usize,
    column: usize,
    what: String,
}

impl Install {
    /// Writes the entries and says what to do next.
    pub(crate) fn run(self, config: &Config, as_json: bool) -> anyhow::Result<ExitCode> {
        let Aim { client, scope, .. } = self.aim;
        let folders = self.aim.folders()?;
        let program = Program::of_this_process(scope)?;
        let home = std::path::absolute(&config.home)?;
        let files = configuration::files(client, scope, &folders);
        let plan = files.iter().map(|file| plan::install(file, client, &program, &home));
        let plan = plan.collect::<anyhow::Result<Vec<Planned>>>()?;
        let mut notes = vec![program.why.clone()];
        notes.extend(doubled(client, scope, &folders));
        let next = client.next_steps(scope);
        let dry_run = self.aim.dry_run;
        let program = Some(program.word);
        carry_out(&Report { client, scope, dry_run, plan, done: "installed", program, notes, next }, as_json)
    }
}

impl Uninstall {
    /// Takes the entries out.
    pub(crate) fn run(self, config: &Config, as_json: bool) -> anyhow::Result<ExitCode> {
        let Aim { client, scope, .. } = self.aim;
        let home = std::path::absolute(&config.home)?;
        let files = configuration::files(client, scope, &self.aim.folders()?);
        let plan = files.iter().map(|file| plan::uninstall(file, &home));
        let plan = plan.collect::<anyhow::Result<Vec<Planned>>>()?;
        let next = vec![format!("Sessions of {} that run keep their hooks until they end.", client.title)];
        let (dry_run, notes) = (self.aim.dry_run, Vec::new());
        carry_out(&Report { client, scope, dry_run, plan, done: "uninstalled", program: None, notes, next }, as_json)
    }
}

impl Aim {
    fn folders(&self) -> anyhow::Result<Folders> {
        let here = std::env::current_dir().context("there is no current folder; go to one")?;
        let home = std::env::home_dir().context("there is no home folder; set HOME")?;
        let moved = std::env::var_os(self.client.moved_by).filter(|moved| !moved.is_empty());
        let moved = moved.map(std::path::absolute).transpose()?;
        Ok(Folders { project: clients::project_of(&here), home, moved })
    }
}

/// Does what is planned, unless it was only to be shown, and says so.
fn carry_out(report: &Report, as_json: bool) -> anyhow::Result<ExitCode> {
    if !report.dry_run {
        files::write_all(&plan::writes(&report.plan))?;
        report.plan.iter().for_each(|planned| files::remove_empty(&planned.folders));
    }
    output::answer(as_json, &report.json(), || report.text(&Screen::of_stdout()));
    Ok(ExitCode::SUCCESS)
}

impl Fault {
    /// What is wrong at a place in a text.
    fn at(text: &str, place: usize, what: String) -> Self {
        let before = text.get(..place).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        Self { line: before.matches('\n').count() + 1, column: line.chars().count() + 1, what }
    }
}

/// A warning if the hooks are in the configuration of the other scope too.
fn doubled(client: &Client, scope: Scope, folders: &Folders) -> Option<String> {
    let other = if scope == Scope::User { Scope::Project } else { Scope::User };
    let has_hooks = |path: &std::path::Path| {
        let text = files::read(path).ok().flatten();
        text.is_some_and(|text| entries::hooked_events(&text).is_ok_and(|events| !events.is_empty()))
    };
    let file = configuration::files(client, other, folders).into_iter().find(|file| has_hooks(&file.path))?;
    Some(format!(
        "The hooks are in '{}' too, and may run twice; `postrider uninstall {} --scope {}` takes those out.",
        file.path.display(),
        client.name,
        other.word(),
    ))
}

fn refused(code: &str, message: &str, hint: &str) -> anyhow::Error {
    Refused::new(code, message, hint).into()
}
