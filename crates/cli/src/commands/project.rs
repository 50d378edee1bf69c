//! `postrider project`: other paths of a project, such as that of a second clone of its repository.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use api::answers::AliasAnswer;
use api::{ListProjectAliases, RemoveProjectAlias, SetProjectAlias};
use clap::{Args, Subcommand};
use serde_json::json;

use super::mail::ago::at;
use crate::config::Config;
use crate::output::grid::Layout;
use crate::output::{self, Screen, text};
use crate::post_office::{self, InProject, Refused, Tree, real};

const EXAMPLES: &str = "\
Worktrees and folders of a repository are its project anyway, and need no alias. With [projects] by = \"remote\" in
postrider.toml all clones of one remote are one project, as far as it is new.

Examples:
  postrider project alias ~/second-clone --of ~/app       agents in either write to each other from now on
  postrider project alias /home/ci/app --of app           a path of another machine
  postrider project aliases
  postrider project unalias ~/second-clone";

/// Name other paths of a project: another clone, or where it is on another machine.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct OtherPaths {
    #[command(subcommand)]
    command: More,
}

#[derive(Subcommand, Debug)]
enum More {
    /// Let a path mean another project than its own
    Alias {
        /// The path; within a git repository that of the repository
        path: String,
        /// The project that it is to mean: its folder or its slug
        #[arg(long, value_name = "PATH|SLUG")]
        of: String,
        /// Also if the path has a project of its own with mail, which is found by its slug from then on
        #[arg(long)]
        force: bool,
    },
    /// List the paths that mean another project
    Aliases,
    /// Take such a path back
    Unalias {
        /// The path
        path: String,
    },
}

const TABLE: Layout<3> = Layout {
    columns: [("PATH", 120), ("MEANS", 120), ("SINCE", 20)],
    // Who gives way where there is no room, and how far.
    giving: &[(1, 20), (0, 20), (2, 10), (1, 8), (0, 8)],
};

impl OtherPaths {
    /// Does it; exit code 1 when the office refuses.
    pub fn run(self, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        match self.command {
            More::Alias { path, of, force } => alias(config, &path, of, force, as_json),
            More::Aliases => list(config, as_json),
            More::Unalias { path } => unalias(config, &path, as_json),
        }
    }
}

fn alias(config: Config, path: &str, of: String, force: bool, as_json: bool) -> anyhow::Result<ExitCode> {
    let (path, project_key) = (whole(path)?, InProject::of(Some(of)).key()?);
    post_office::visit(config, &project_key.clone(), async |post_office| {
        let request = SetProjectAlias { path, project_key, anyway: Some(force) };
        let aliased = post_office.ask(request).await?;
        Ok(output::answer(as_json, &json!(aliased), || {
            let mut said = format!("'{}' means the project '{}' now.", aliased.path, aliased.project.human_key);
            if let Some(before) = &aliased.before {
                said.push_str(&format!("\nWhat it meant before is found with: --project {before}"));
            }
            text::lines(&said)
        }))
    })
}

fn unalias(config: Config, path: &str, as_json: bool) -> anyhow::Result<ExitCode> {
    let path = whole(path)?;
    post_office::visit(config, "", async |post_office| {
        let done = post_office.ask(RemoveProjectAlias { path: path.clone() }).await?.done;
        if !done {
            let message = format!("'{}' is no other path of a project", mail::error::shown(&path));
            return Err(Refused::new("ALIAS_NOT_FOUND", &message, "'postrider project aliases' lists them.").into());
        }
        let json = json!({ "path": path, "done": done });
        Ok(output::answer(as_json, &json, || text::lines(&format!("'{path}' means itself again."))))
    })
}

fn list(config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
    post_office::visit(config, "", async |post_office| {
        let aliases = post_office.ask(ListProjectAliases {}).await?;
        let nothing = aliases.is_empty().then_some("Every path means itself.");
        Ok(output::answer_or(as_json, nothing, &json!({ "aliases": aliases }), || {
            let row = |one: &AliasAnswer| {
                [one.path.clone().into(), one.human_key.clone().into(), at(one.created_ts.0).into()]
            };
            TABLE.text(aliases.iter().map(row), &Screen::of_stdout())
        }))
    })
}

/// The path that is meant: that of the repository around it, if it is on this machine.
fn whole(path: &str) -> anyhow::Result<String> {
    let here = std::env::current_dir().context("there is no current folder; name the path from the root")?;
    if !path.starts_with('/') && (path.contains(":\\") || path.contains(":/")) {
        // A path of another system.
        return Ok(path.to_owned());
    }
    let path = real(&here.join(Path::new(path)));
    let path = Tree::around(&path).map_or(path, |tree| tree.main);
    path.into_os_string().into_string().ok().context("the path is not Unicode")
}
