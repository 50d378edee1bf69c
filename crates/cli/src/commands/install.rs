//! `postrider install` and `postrider uninstall`: the hooks and the MCP server in the configuration of a client.
//!
//! Everything is worked out in memory first, so that a file which cannot be read or written stops the whole before
//! anything is changed. What others wrote in those files is kept. Nothing is started, trusted or asked of the client.

mod configuration;
mod entries;
pub(crate) mod files;
mod json;
mod naming_options;
mod opening;
mod own_file;
mod own_program;
mod receipt;
pub(crate) mod report;
pub(crate) mod sandbox_access;
mod server;
mod toml;
mod toml_hooks;
mod writable;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;

use crate::clients::{self, Client, Folders, Scope};
use crate::config::Config;
use crate::output::{self, Screen};
use crate::post_office::Refused;
use configuration::{Configuration, Planned};
use entries::Hooks;
use naming_options::NamingOptions;
use opening::Opening;
use own_program::Program;
use receipt::Receipts;
use report::Report;
use sandbox_access::{SandboxAccess, SandboxOptions};

/// What both commands are told.
#[derive(Args, Debug)]
pub(crate) struct Target {
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

/// What install is told.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Install {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    naming: NamingOptions,
    #[command(flatten)]
    sandbox: SandboxOptions,
}

const EXAMPLES: &str = "\
Without --as and --names, hooks that are there keep what they say.

Examples:
  postrider install claude                      \"claude in this working tree\" is the same colleague tomorrow
  postrider install codex --names per-session   every session is a colleague of its own
  postrider install gemini --as Reviewer        every session is Reviewer";

/// What is wrong with a file, and where.
#[derive(Debug, PartialEq, Eq)]
struct ConfigFault {
    line: usize,
    column: usize,
    what: String,
}

impl Install {
    /// Writes the entries and says what to do next.
    pub(crate) fn install(self, config: &Config, as_json: bool) -> anyhow::Result<ExitCode> {
        let Self { target, naming, sandbox } = self;
        let options = naming.words()?;
        let folders = target.folders()?;
        let home = std::path::absolute(&config.home)?;
        let access = SandboxAccess::of(target.client, &folders, &home)?;
        access.require_possible()?;
        let program = Program::of_this_process(target.scope)?;
        let mut notes = vec![program.why.clone()];
        notes.extend(target.doubled(&folders));
        let hooks = Hooks { client: target.client, program: program.for_a_shell(), options };
        let (receipts, opening) = (Receipts::of(&home), access.wanted(&sandbox, config, target.scope, &folders));
        let mut plan = target.plan(&receipts, &folders, opening, |file| file.install(&hooks, &program, &receipts))?;
        notes.extend(access.note(&sandbox, config, &plan));
        if sandbox.start_on_demand {
            plan.push(sandbox_access::start_on_demand(config)?);
            notes.push(sandbox_access::STAYS.to_owned());
        }
        let next = target.client.next_steps(target.scope);
        let program = Some(program.word);
        carry_out(&Report { asked: target, plan, done: "installed", program, notes, next }, as_json)
    }
}

impl Target {
    /// Takes the entries out.
    pub(crate) fn uninstall(self, config: &Config, as_json: bool) -> anyhow::Result<ExitCode> {
        let folders = self.folders()?;
        let home = std::path::absolute(&config.home)?;
        let access = SandboxAccess::of(self.client, &folders, &home)?;
        let (receipts, opening) = (Receipts::of(&home), access.unwanted(self.scope, &folders));
        let plan = self.plan(&receipts, &folders, opening, |file| file.uninstall(&receipts))?;
        let notes = access.still_open(&plan).into_iter().collect();
        let next = vec![format!("Sessions of {} that run keep their hooks until they end.", self.client.title)];
        carry_out(&Report { asked: self, plan, done: "uninstalled", program: None, notes, next }, as_json)
    }

    fn folders(&self) -> anyhow::Result<Folders> {
        let here = std::env::current_dir().context("there is no current folder; go to one")?;
        let home = std::env::home_dir().context("there is no home folder; set HOME")?;
        let moved = std::env::var_os(self.client.moved_by).filter(|moved| !moved.is_empty());
        let moved = moved.map(std::path::absolute).transpose()?;
        Ok(Folders { project: clients::project_of(&here), home, moved })
    }

    fn plan(
        &self,
        receipts: &Receipts<'_>,
        folders: &Folders,
        opening: Option<Opening>,
        plan: impl Fn(&Configuration) -> anyhow::Result<Planned>,
    ) -> anyhow::Result<Vec<Planned>> {
        let mut files = configuration::files(self.client, self.scope, folders);
        if files.is_empty() {
            let other = self.other_scope().word();
            return Err(refused(
                "SCOPE_NOT_READ",
                &format!("{} reads no configuration of a {}", self.client.title, self.scope.word()),
                &format!("Add --scope {other}."),
            ));
        }
        if let Some(opening) = opening {
            files = configuration::with_opening(files, self.client, folders, opening, receipts)?;
        }
        files.iter().map(plan).collect()
    }

    fn other_scope(&self) -> Scope {
        if self.scope == Scope::User { Scope::Project } else { Scope::User }
    }

    /// A warning if the hooks are in the configuration of the other scope too.
    fn doubled(&self, folders: &Folders) -> Option<String> {
        let other = self.other_scope();
        let has_hooks = |file: &Configuration| {
            let text = files::read(&file.path).ok().flatten();
            text.is_some_and(|text| !file.our_hooks(&text).is_empty())
        };
        let file = configuration::files(self.client, other, folders).into_iter().find(has_hooks)?;
        Some(format!(
            "The hooks are in '{}' too, and may run twice; `postrider uninstall {} --scope {}` takes those out.",
            file.path.display(),
            self.client.name,
            other.word(),
        ))
    }
}

/// The files of a client's configuration that have hooks of ours, and the words behind each hook. One that cannot be read is
/// passed over.
pub(crate) fn our_hooks(client: &'static Client, scope: Scope, folders: &Folders) -> Vec<(PathBuf, Vec<String>)> {
    let hooks = |file: Configuration| {
        let commands = file.our_hooks(&std::fs::read_to_string(&file.path).ok()?);
        let words = commands.iter().map(|command| entries::options_of(command)).collect();
        (!commands.is_empty()).then_some((file.path, words))
    };
    configuration::files(client, scope, folders).into_iter().filter_map(hooks).collect()
}

/// Does what is planned, unless it was only to be shown, and says so.
fn carry_out(report: &Report, as_json: bool) -> anyhow::Result<ExitCode> {
    if !report.asked.dry_run {
        files::write_all(&configuration::writes(&report.plan))?;
        report.plan.iter().for_each(|planned| files::remove_empty(&planned.folders));
    }
    output::done(as_json, &report.json(), || report.text(&Screen::of_stdout()))
}

impl ConfigFault {
    /// What is wrong at a place in a text.
    fn at(text: &str, place: usize, what: String) -> Self {
        let before = text.get(..place).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        Self { line: before.matches('\n').count() + 1, column: line.chars().count() + 1, what }
    }
}

fn unusable(path: &Path, ConfigFault { line, column, what }: &ConfigFault) -> anyhow::Error {
    refused(
        "CONFIG_UNUSABLE",
        &format!("'{}', line {line}, column {column}: {what}", path.display()),
        "Nothing was changed. Correct the file, then run the command again.",
    )
}

fn refused(code: &str, message: &str, hint: &str) -> anyhow::Error {
    Refused::new(code, message, hint).into()
}
