//! Installing the guard and taking it away: in git's hook, or in the configuration of the program that writes the hooks.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use serde_json::{Value, json};

use super::framework::{Framework, without_guard};
use super::here;
use super::hook::{self, Installed};
use super::record::GuardRecord;
use super::repository::Hooks;
use super::yaml::Unreadable;
use crate::commands::install::files::{self, Change, FileKind};
use crate::commands::install::report;
use crate::output::{self, Screen, text};
use crate::post_office::Refused;

/// The configuration of a program that writes the hooks of a repository.
struct Managed {
    framework: Framework,
    file: PathBuf,
    /// Whether it has written the hook here.
    is_in_place: bool,
}

/// Puts the guard before every commit.
pub fn install(home: &Path, force: bool, yes: bool, as_json: bool) -> anyhow::Result<ExitCode> {
    let repository = here()?;
    let hooks = repository.hooks()?;
    let hook = hooks.folder.join(hook::NAME);
    if let Some(managed) = managed(&repository.top, &hook)? {
        managed.framework.require_own(&repository.top, &managed.file)?;
        let code = managed.install(&hook, yes, as_json)?;
        if code == ExitCode::SUCCESS {
            // Two guards would say the same twice.
            hook::uninstall(&hooks.folder)?;
            keep(home, &repository.top, &managed.file, &hook);
        }
        return Ok(code);
    }
    in_hook(&hooks, force)?;
    let installed = hook::install(&hooks.folder)?;
    keep(home, &repository.top, &hook, &hook);
    let answer = answer(&hook, &hook, None, installed != Installed::Before);
    output::done(as_json, &answer, || {
        let hook = text::unbroken(&hook.display().to_string());
        match installed {
            Installed::Before => format!("The guard was there before: {hook}"),
            Installed::Alone => format!("The guard looks at every commit now: {hook}"),
            Installed::BesideAnother => {
                format!("The guard looks at every commit now: {hook}\nThe hook that was there runs after it.")
            }
        }
    })
}

fn in_hook(hooks: &Hooks, force: bool) -> anyhow::Result<()> {
    if hooks.is_shared && !force {
        bail!(
            "core.hooksPath is '{}', which is outside of this repository, so a hook there is for other repositories too; \
             pass --force to install the guard for all of them",
            hooks.folder.display()
        );
    }
    Ok(())
}

/// Takes the guard away, wherever it is.
pub fn uninstall(home: &Path, as_json: bool) -> anyhow::Result<ExitCode> {
    let repository = here()?;
    let folder = repository.hooks()?.folder;
    let hook = folder.join(hook::NAME);
    let mut changed = hook::uninstall(&folder)?.then(|| (hook.clone(), None));
    for framework in Framework::ALL {
        let Some(file) = framework.file_in(&repository.top) else { continue };
        let before = files::read(&file)?;
        let Some(after) = before.as_deref().and_then(without_guard) else { continue };
        framework.require_own(&repository.top, &file)?;
        files::write_all(&[Change { path: file.clone(), before, after: Some(after), kind: FileKind::Usual }])?;
        changed = Some((file, Some(framework)));
    }
    GuardRecord { top: repository.top, file: hook.clone(), hook: hook.clone() }.forget(home);
    let is_changed = changed.is_some();
    let said = if is_changed { "The guard is gone." } else { "There is no guard here." };
    let (file, framework) = changed.unwrap_or_else(|| (hook.clone(), None));
    let answer = answer(&hook, &file, framework, is_changed);
    output::done(as_json, &answer, || said.to_owned())
}

/// What programs are told: git's hook, the file that calls the guard, and whose configuration that is, if it is not the hook.
fn answer(hook: &Path, file: &Path, framework: Option<Framework>, is_changed: bool) -> Value {
    json!({ "hook": hook, "file": file, "framework": framework.map(Framework::name), "changed": is_changed })
}

/// Notes it, for whoever asks later whether it is still there. That it cannot be noted is no failure.
fn keep(home: &Path, top: &Path, file: &Path, hook: &Path) {
    let record = GuardRecord { top: top.to_owned(), file: file.to_owned(), hook: hook.to_owned() };
    if let Err(error) = record.keep(home) {
        tracing::debug!(%error, "the guard is not noted");
    }
}

/// The program that looks after the hook, if there is one: the one that wrote it, or would.
fn managed(top: &Path, hook: &Path) -> anyhow::Result<Option<Managed>> {
    let script = hook::read(hook)?;
    let of =
        |framework: Framework, is_in_place| framework.file_in(top).map(|file| Managed { framework, file, is_in_place });
    let Some(script) = script else { return Ok(Framework::ALL.into_iter().find_map(|framework| of(framework, false))) };
    let Some(framework) = Framework::that_wrote(&script) else { return Ok(None) };
    match of(framework, true) {
        Some(managed) => Ok(Some(managed)),
        None => bail!(
            "'{}' belongs to {framework}, whose configuration is in no file that is known here; add this to it \
             yourself:\n{}",
            hook.display(),
            framework.by_hand()
        ),
    }
}

impl Managed {
    fn install(&self, hook: &Path, yes: bool, as_json: bool) -> anyhow::Result<ExitCode> {
        let Self { framework, file, .. } = self;
        let before = files::read(file)?.unwrap_or_default();
        let path = text::unbroken(&file.display().to_string());
        let is_there = hook::calls_guard(before.as_bytes());
        if !is_there {
            let after = framework.with_guard(&before).map_err(|Unreadable(why)| {
                anyhow::anyhow!(
                    "'{path}' is left alone, because {why}; add this to it yourself:\n{}",
                    framework.by_hand()
                )
            })?;
            let change = Change { path: file.clone(), before: Some(before), after: Some(after), kind: FileKind::Usual };
            if !yes && !confirmed(&change, as_json)? {
                let message = format!("The configuration of {framework} was not changed");
                let hint = "Pass --yes to write that.";
                return Err(Refused::new("NOT_CONFIRMED", &message, hint).into());
            }
            files::write_all(&[change])?;
        }
        let answer = answer(hook, file, Some(*framework), !is_there);
        output::done(as_json, &answer, || {
            let mut said = match is_there {
                true => format!("The guard was there before: {path}"),
                false => format!("The guard looks at every commit now: {path}"),
            };
            if !self.is_in_place {
                said.push_str(&format!(
                    "\nNothing runs {framework} before a commit yet. Run '{framework} install' in this repository."
                ));
            }
            said
        })
    }
}

/// Shows what would change, and asks a person at a terminal.
fn confirmed(change: &Change, as_json: bool) -> anyhow::Result<bool> {
    if as_json {
        return Ok(false);
    }
    let diff = report::shown(&report::unified(change), &Screen::of_stdout());
    output::print(&diff).context("the change cannot be shown")?;
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Ok(false);
    }
    output::ask("Write this? [y/N] ")?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}
