//! `postrider guard`: a git hook that refuses a commit of files which another agent has reserved.
//!
//! The guard is advice and no lock. Whatever goes wrong while it looks, the commit goes on, with one line that says why
//! nobody looked. Nothing here changes mail or reservations.

mod asking;
mod hook;
mod refusal;
mod repository;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use api::ConflictAnswer;
use clap::{Args, Subcommand};
use mail::clock::{Clock, SystemClock};
use serde_json::json;

use crate::config::Config;
use crate::identity::Acting;
use crate::output::{self, Screen, text};
use crate::post_office::InProject;
use hook::Installed;
use repository::Repository;

const EXAMPLES: &str = "\
The guard is advice: when the post office cannot be asked, the commit goes on. To commit all the same:
  POSTRIDER_GUARD=off git commit …    passes by the guard, and runs every other hook
  git commit --no-verify …            passes by all hooks

Examples:
  postrider guard install                  in a repository: every commit is looked at from now on
  postrider guard check --as GreenDog      what a commit of what is staged now would be told
  postrider guard uninstall                puts back what was there before";

/// Refuse commits of files that another agent has reserved.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Guard {
    #[command(subcommand)]
    command: More,
}

#[derive(Subcommand, Debug)]
enum More {
    /// Put the guard before every commit; a hook that is there runs after it
    Install {
        /// Also into a folder of hooks that other repositories use too
        #[arg(long)]
        force: bool,
    },
    /// Take the guard away; the hook that was there is as before
    Uninstall,
    /// Look whether another agent has reserved what is staged; exit code 1 if so
    Check(Check),
}

#[derive(Args, Debug)]
struct Check {
    /// Exit with 10 instead, for hooks: whatever else goes wrong has another code, and stops no commit
    #[arg(long)]
    hook: bool,
    #[command(flatten)]
    acting: Acting,
}

impl Guard {
    /// Does it; exit code 1 when a commit should not be made.
    pub fn run(self, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        match self.command {
            More::Install { force } => install(force, as_json),
            More::Uninstall => uninstall(as_json),
            More::Check(check) => Ok(check.run(config, as_json)),
        }
    }

    /// Says what is wrong with the settings. A commit goes on all the same.
    pub fn run_without_settings(&self, error: anyhow::Error, as_json: bool) -> anyhow::Result<ExitCode> {
        if matches!(self.command, More::Check(_)) { Ok(failed(&error, as_json)) } else { Err(error) }
    }
}

fn here() -> anyhow::Result<Repository> {
    Repository::around(&std::env::current_dir().context("there is no current folder")?)
}

fn install(force: bool, as_json: bool) -> anyhow::Result<ExitCode> {
    let hooks = here()?.hooks()?;
    if hooks.is_shared && !force {
        bail!(
            "core.hooksPath is '{}', which is outside of this repository, so a hook there is for other repositories too; \
             pass --force to install the guard for all of them",
            hooks.folder.display()
        );
    }
    let installed = hook::install(&hooks.folder)?;
    let hook = hooks.folder.join(hook::NAME);
    let answer = json!({ "hook": hook, "changed": installed != Installed::Before });
    output::answer(as_json, &answer, || {
        let hook = text::unbroken(&hook.display().to_string());
        match installed {
            Installed::Before => format!("The guard was there before: {hook}"),
            Installed::Alone => format!("The guard looks at every commit now: {hook}"),
            Installed::BesideAnother => {
                format!("The guard looks at every commit now: {hook}\nThe hook that was there runs after it.")
            }
        }
    });
    Ok(ExitCode::SUCCESS)
}

fn uninstall(as_json: bool) -> anyhow::Result<ExitCode> {
    let folder = here()?.hooks()?.folder;
    let is_changed = hook::uninstall(&folder)?;
    let answer = json!({ "hook": folder.join(hook::NAME), "changed": is_changed });
    let said = if is_changed { "The guard is gone." } else { "There is no guard here." };
    output::answer(as_json, &answer, || said.to_owned());
    Ok(ExitCode::SUCCESS)
}

impl Check {
    fn run(self, config: Config, as_json: bool) -> ExitCode {
        if std::env::var_os("POSTRIDER_GUARD").is_some_and(|value| value == "off") {
            return not_checked("POSTRIDER_GUARD is off", as_json);
        }
        let agent = self.acting.opt_who(&config).map(|who| who.name);
        match self.look(config, agent.as_deref()) {
            // A commit that may be made is not talked about.
            Ok(found) if found.is_empty() && !as_json => ExitCode::SUCCESS,
            Ok(found) => {
                told(&found, agent.as_deref(), as_json);
                self.code_for(&found)
            }
            Err(error) => failed(&error, as_json),
        }
    }

    fn code_for(&self, found: &[ConflictAnswer]) -> ExitCode {
        match (found, self.hook) {
            ([], _) => ExitCode::SUCCESS,
            (_, true) => ExitCode::from(hook::RESERVED),
            (_, false) => ExitCode::FAILURE,
        }
    }

    /// What is staged and held by others.
    fn look(&self, config: Config, agent: Option<&str>) -> anyhow::Result<Vec<ConflictAnswer>> {
        let repository = here()?;
        let root = InProject::of(None).key_at(&repository.top)?;
        let project = self.acting.project.key()?;
        let staged = repository.staged()?;
        let paths: Vec<String> = staged.iter().filter_map(|path| in_project(path, &root, &project)).collect();
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        asking::find_conflicts(config, project, paths, agent.map(str::to_owned))
    }
}

/// How a path of the repository is called in the project, which may be a folder of the repository or hold it. None if it
/// is not in the project.
pub fn in_project(path: &str, root: &str, project: &str) -> Option<String> {
    let whole = Path::new(root).join(path);
    match whole.strip_prefix(project) {
        Ok(below) => below.to_str().map(str::to_owned),
        Err(_) if Path::new(project).starts_with(root) => None,
        // The project has a slug or another folder, so that somebody named it: its files are those of the repository.
        Err(_) => Some(path.to_owned()),
    }
}

fn told(found: &[ConflictAnswer], agent: Option<&str>, as_json: bool) {
    output::answer(as_json, &refusal::json(found, agent), || {
        refusal::text(found, agent, SystemClock.now(), &Screen::of_stdout())
    });
}

/// Something went wrong, and the commit goes on.
fn failed(error: &anyhow::Error, as_json: bool) -> ExitCode {
    let why = text::unbroken(&format!("{error:#}"));
    if !as_json {
        output::note(&format!("postrider: nobody looked whether these files are reserved: {why}"));
    }
    not_checked(&why, as_json)
}

/// Nobody looked, and the commit goes on.
fn not_checked(why: &str, as_json: bool) -> ExitCode {
    if as_json {
        output::answer(true, &json!({ "conflicts": [], "not_checked": why }), String::new);
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_called_as_the_project_calls_it() {
        let called = |project: &str, path: &str| in_project(path, "/data/app", project);
        assert_eq!(called("/data/app", "src/a b\n.rs").as_deref(), Some("src/a b\n.rs"));
        assert_eq!(called("/data", "src/a.rs").as_deref(), Some("app/src/a.rs"), "the project holds the repository");
        assert_eq!(called("/data/app/web", "web/a.js").as_deref(), Some("a.js"), "the project is a folder of it");
        assert_eq!(called("/data/app/web", "webs/a.js"), None);
        for elsewhere in ["app", "/data/other", "/data/ap"] {
            assert_eq!(called(elsewhere, "src/a.rs").as_deref(), Some("src/a.rs"), "{elsewhere}");
        }
    }
}
