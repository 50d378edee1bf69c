//! `postrider guard`: a git hook that refuses a commit of files which another agent has reserved.
//!
//! The guard is advice and no lock. Whatever goes wrong while it looks, the commit goes on, with one line that says why
//! nobody looked. Nothing here changes mail or reservations.

mod framework;
mod hook;
mod installing;
pub mod record;
mod repository;
mod yaml;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use anyhow::{Context, bail};
use api::{ConflictAnswer, Time};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use mail::clock::{Clock, SystemClock};
use serde_json::json;

use super::{conflicts, within};
use crate::config::Config;
use crate::family::is_of_family;
use crate::identity::Acting;
use crate::output::grid::{Cell, Layout};
use crate::output::{self, Screen, text};
use crate::post_office::{self, InProject};
use repository::Repository;

const TABLE: Layout<4> = Layout {
    columns: [("PATH", 200), ("HOLDER", 30), ("RESERVED AS", 40), ("UNTIL", 40)],
    // Who gives way where there is no room: the pattern, the holder, and the path last.
    giving: &[(2, 11), (1, 12), (0, 20), (3, 20)],
};
/// How many paths are shown. Programs get all of them.
const MOST_ROWS: usize = 20;
/// How long a commit waits for the answer.
const PATIENCE: Duration = Duration::from_secs(2);

const EXAMPLES: &str = "\
The guard is advice: when the post office cannot be asked, the commit goes on. To commit all the same:
  POSTRIDER_GUARD=off git commit …    passes by the guard, and runs every other hook
  git commit --no-verify …            passes by all hooks

Examples:
  postrider guard install                  in a repository: every commit is looked at from now on
  postrider guard install --yes            the same with lefthook or pre-commit, whose configuration is changed
  postrider guard check --as GreenDog      what a commit of what is staged now would be told
  postrider guard uninstall                puts back what was there before";

const INSTALLED_ELSEWHERE: &str = "\
Where lefthook or pre-commit wrote the hook, the guard goes into their configuration instead, once you have seen the diff
and said yes: they would overwrite the hook.";

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
    #[command(after_help = INSTALLED_ELSEWHERE)]
    Install {
        /// Also into a folder of hooks that other repositories use too
        #[arg(long)]
        force: bool,
        /// Change the configuration of lefthook or pre-commit without a question
        #[arg(long)]
        yes: bool,
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
            More::Install { force, yes } => installing::install(&config.home, force, yes, as_json),
            More::Uninstall => installing::uninstall(&config.home, as_json),
            More::Check(check) => Ok(check.run(config, as_json)),
        }
    }

    /// Says what is wrong with the settings. A commit goes on all the same.
    pub fn run_without_settings(&self, error: anyhow::Error, as_json: bool) -> anyhow::Result<ExitCode> {
        if matches!(self.command, More::Check(_)) { Ok(failed(&error, as_json)) } else { Err(error) }
    }
}

/// What a refused commit is told where no agent name was given.
const NOBODY: &str = "No agent name given, so your own reservations count as another's. Set POSTRIDER_AGENT, or agent in postrider.toml.";

fn here() -> anyhow::Result<Repository> {
    Repository::around(&std::env::current_dir().context("there is no current folder")?)
}

impl Check {
    fn run(self, config: Config, as_json: bool) -> ExitCode {
        if std::env::var_os("POSTRIDER_GUARD").is_some_and(|value| value == "off") {
            return not_checked("POSTRIDER_GUARD is off", as_json);
        }
        let (agent, nobody) = match self.acting.who_if_any(&config) {
            Ok(who) => (who.map(|who| who.name), NOBODY.to_owned()),
            Err(error) => {
                (None, format!("Your own reservations count as another's: {}", text::unbroken(&format!("{error:#}"))))
            }
        };
        let found = match self.look(config, agent.as_deref()) {
            Ok(found) => found,
            Err(error) => return failed(&error, as_json),
        };
        // A commit that may be made is not talked about.
        if !found.is_empty() || as_json {
            output::answer(as_json, &json!({ "agent": agent, "conflicts": found }), || {
                refusal(&found, agent.as_deref().ok_or(&nobody), SystemClock.now(), &Screen::of_stdout().uncut())
            });
        }
        match (found.is_empty(), self.hook) {
            (true, _) => ExitCode::SUCCESS,
            (false, true) => ExitCode::from(hook::RESERVED),
            (false, false) => ExitCode::FAILURE,
        }
    }

    /// What is staged and held by others.
    fn look(&self, config: Config, agent: Option<&str>) -> anyhow::Result<Vec<ConflictAnswer>> {
        let repository = here()?;
        let root = InProject::of(None).key_at(&repository.top)?;
        let project = self.acting.project.key()?;
        let staged = repository.staged()?;
        let paths: Vec<String> = staged.iter().filter_map(|path| in_project(path, &root, &project)).collect();
        // Where there is no mail there are no reservations, and looking makes nothing.
        if paths.is_empty() || (config.url().is_none() && !config.database().exists()) {
            return Ok(Vec::new());
        }
        let agent = agent.map(str::to_owned);
        // On a thread of its own, since opening a database that is locked holds up its thread.
        let asked = within(PATIENCE, move || {
            let mut found = Vec::new();
            post_office::visit(config, &project, async |post_office| {
                found = conflicts::find(post_office, &project, agent.as_deref(), &paths).await?;
                Ok(ExitCode::SUCCESS)
            })?;
            // A sub-agent and the agent above it work for one.
            found.retain(|held| agent.as_deref().is_none_or(|agent| !is_of_family(&held.holder, agent)));
            anyhow::Ok(found)
        });
        asked.unwrap_or_else(|error| match error {
            RecvTimeoutError::Timeout => bail!("the post office took more than {} seconds", PATIENCE.as_secs()),
            RecvTimeoutError::Disconnected => bail!("the post office could not be asked"),
        })
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

/// What is said to people of a commit that should not be made: whose files they are, until when, and what to do. If it is not known
/// who commits, why.
fn refusal(found: &[ConflictAnswer], agent: Result<&str, &String>, now: Timestamp, screen: &Screen) -> String {
    let mut lines =
        vec!["Not committed: another agent has reserved what this commit changes.".to_owned(), String::new()];
    lines.extend(TABLE.lines(found.iter().take(MOST_ROWS).map(|conflict| row(conflict, now)), screen));
    if found.len() > MOST_ROWS {
        lines.push(format!("… and {} more", found.len() - MOST_ROWS));
    }
    lines.push(String::new());
    let holders: BTreeSet<&str> = found.iter().map(|conflict| conflict.holder.as_str()).collect();
    let holder = match holders.first() {
        Some(only) if holders.len() == 1 => text::shell_word(only),
        _ => "HOLDER".to_owned(),
    };
    lines.push(format!("Wait, or ask:             postrider mail send {holder} -s … -m …"));
    lines.push("To commit all the same:   POSTRIDER_GUARD=off git commit …".to_owned());
    lines.extend(agent.err().cloned());
    lines.join("\n")
}

fn row(conflict: &ConflictAnswer, now: Timestamp) -> [Cell; 4] {
    let ConflictAnswer { path, holder, path_pattern, expires_ts: Time(ends_at), .. } = conflict;
    // A minute that has begun is still to be waited for, and a clock that differs from the office's says nothing odd.
    let seconds = ends_at.as_second().saturating_sub(now.as_second()).max(1);
    let until = format!("{} (in {} min)", ends_at.strftime("%Y-%m-%d %H:%M:%SZ"), (seconds + 59) / 60);
    [path.clone().into(), holder.clone().into(), path_pattern.clone().into(), until.into()]
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

    const PIPE: Screen = Screen { width: 100, height: None, is_coloured: false };

    fn conflict(path: &str, holder: &str) -> ConflictAnswer {
        ConflictAnswer {
            path: path.to_owned(),
            holder: holder.to_owned(),
            path_pattern: "src/**".to_owned(),
            expires_ts: Time("2026-01-11T16:40:00Z".parse().unwrap()),
            reason: String::new(),
        }
    }

    fn told(found: &[ConflictAnswer], now: &str) -> String {
        refusal(found, Ok("Bob"), now.parse().unwrap(), &PIPE)
    }

    #[test]
    fn how_long_to_wait_is_told_in_minutes_that_are_never_too_few() {
        let found = [conflict("src/a.rs", "Ann")];
        for (now, minutes) in [("16:30:00", 10), ("16:30:01", 10), ("16:31:00", 9), ("16:39:59", 1), ("16:41:00", 1)] {
            let text = told(&found, &format!("2026-01-11T{now}Z"));
            assert!(text.contains(&format!("2026-01-11 16:40:00Z (in {minutes} min)")), "{now}: {text}");
        }
    }

    #[test]
    fn one_holder_is_asked_by_name_and_any_name_can_be_pasted() {
        let asked = |holders: &[&str]| {
            let found: Vec<ConflictAnswer> = holders.iter().map(|holder| conflict("src/a.rs", holder)).collect();
            let text = told(&found, "2026-01-11T16:30:00Z");
            text.split("mail send ").nth(1).and_then(|rest| rest.split(" -s ").next()).unwrap().to_owned()
        };
        assert_eq!(asked(&["Ann", "Ann"]), "Ann");
        assert_eq!(asked(&["O'Hara $(x)"]), r#""O'Hara "'$(x)'"#);
        assert_eq!(asked(&["Ann", "Bea"]), "HOLDER");
    }

    #[test]
    fn a_thousand_files_are_counted_and_not_all_shown() {
        let found: Vec<ConflictAnswer> = (0..1000).map(|at| conflict(&format!("src/{at}.rs\x1b[2J"), "Ann")).collect();
        let text = told(&found, "2026-01-11T16:30:00Z");
        assert!(text.contains("… and 980 more") && text.lines().count() < 30 && !text.contains('\x1b'), "{text}");
    }
}
