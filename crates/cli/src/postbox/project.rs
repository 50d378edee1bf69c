//! Which project a command is about.
//!
//! Nothing is looked up: neither on the disk, nor whether there is such a project. No folder above is tried.

use std::path::{Component, Path};

use anyhow::Context;
use clap::Args;

use super::Refused;

/// The project that a command is about.
#[derive(Args, Debug)]
pub struct InProject {
    /// The project: its folder or its slug [default: the current folder]
    #[arg(long, global = true, env = "POSTRIDER_PROJECT", value_name = "PATH|SLUG")]
    project: Option<String>,
}

impl InProject {
    /// Whether somebody said which project is meant.
    pub fn is_given(&self) -> bool {
        self.given().is_some()
    }

    /// The key of the project: an absolute path, or a slug.
    pub fn key(&self) -> anyhow::Result<String> {
        let here = std::env::current_dir().context("there is no current folder; say which project with --project")?;
        key_of(self.given(), &here)
    }

    /// The refusal of a project that is not there, in words for somebody at a terminal, where no project can be made.
    pub fn advised(&self, refused: Refused) -> Refused {
        let meant = match refused.suggestions().as_slice() {
            [] => String::new(),
            near => format!(" Did you mean '{}'?", near.join("', '")),
        };
        let place = if self.is_given() { "It" } else { "The current folder" };
        refused.hinted(&format!(
            "{place} has no mail yet: a project begins when its first agent registers. Name another with --project PATH \
             or SLUG.{meant}"
        ))
    }

    /// An empty variable of the environment is not set.
    fn given(&self) -> Option<&str> {
        self.project.as_deref().filter(|project| !project.is_empty())
    }
}

/// The key that `given` means to somebody who stands at `here`.
fn key_of(given: Option<&str>, here: &Path) -> anyhow::Result<String> {
    let relative = match given {
        None => ".",
        // What is no path from here is for the office to read: it knows the paths of other systems, and the slugs.
        Some(given) if !is_relative(given) => return Ok(given.to_owned()),
        Some(given) => given,
    };
    let mut whole = here.to_path_buf();
    for part in Path::new(relative).components() {
        match part {
            Component::ParentDir => {
                whole.pop();
            }
            Component::CurDir => {}
            part => whole.push(part),
        }
    }
    let whole = whole.into_os_string().into_string();
    whole.ok().context("the path of the project is not Unicode; name the project by its slug with --project")
}

/// Whether it is a path from the current folder. A bare word is a slug.
fn is_relative(given: &str) -> bool {
    let first = given.split('/').next().unwrap_or_default();
    matches!(first, "." | "..") || (given.contains('/') && !first.is_empty() && !first.ends_with(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(given: Option<&str>) -> String {
        key_of(given, Path::new("/data/app/src")).unwrap()
    }

    #[test]
    fn nobody_says_which_and_the_current_folder_is_meant() {
        assert_eq!(key(None), "/data/app/src");
        let empty = InProject { project: Some(String::new()) };
        assert!(!empty.is_given());
    }

    #[test]
    fn a_path_from_here_becomes_a_whole_one() {
        for (given, whole) in [
            (".", "/data/app/src"),
            ("..", "/data/app"),
            ("../", "/data/app"),
            ("./x", "/data/app/src/x"),
            ("../../web/./api", "/data/web/api"),
            ("x/y", "/data/app/src/x/y"),
            ("../../../../../x", "/x"),
        ] {
            assert_eq!(key(Some(given)), whole, "{given}");
        }
    }

    #[test]
    fn a_whole_path_and_a_slug_stay_as_they_are() {
        for given in ["/data/app", "data-app", "C:/work", "C:\\work", "/"] {
            assert_eq!(key(Some(given)), given);
        }
    }
}
