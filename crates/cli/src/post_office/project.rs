//! Which project a command is about.
//!
//! Unless somebody says, it is the city of a session of Gas City, the git repository around the current folder, or that
//! folder. Whether there is such a project is for the office to say.

use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;

use super::{PostOffice, Refused, Tree};
use crate::config::{Config, EVERYWHERE, names_remotes, set};

/// The project that a command is about.
#[derive(Args, Debug)]
pub struct InProject {
    /// The project: its folder or its slug [default: the git repository around the current folder]
    #[arg(long, global = true, env = "POSTRIDER_PROJECT", value_name = "PATH|SLUG", help_heading = EVERYWHERE,
          display_order = 100)]
    project: Option<String>,
}

impl InProject {
    /// The project that a caller names, if it names one.
    pub fn of(project: Option<String>) -> Self {
        Self { project }
    }

    /// Whether somebody said which project is meant.
    pub fn is_given(&self) -> bool {
        self.given().is_some()
    }

    /// The key of the project: an absolute path, or a slug.
    pub fn key(&self) -> anyhow::Result<String> {
        let here = std::env::current_dir().context("there is no current folder; say which project with --project")?;
        self.key_at(&here)
    }

    /// The key of the project, for somebody who stands at `here`.
    pub fn key_at(&self, here: &Path) -> anyhow::Result<String> {
        match (self.given(), set("GC_CITY")) {
            (Some(given), _) => key_of(given, here),
            // In a session of Gas City the city is the project, wherever one stands.
            (None, Some(city)) => key_of(&city, here),
            (None, None) => {
                let tree = Tree::around(here);
                // A server elsewhere does not see the folders here.
                if let Some(remote) = tree.as_ref().filter(|_| names_remotes()).and_then(Tree::remote) {
                    return Ok(remote);
                }
                text_of(tree.map_or_else(|| here.to_owned(), |tree| tree.main))
            }
        }
    }

    /// Opens the post office for something about the project, whose key the operation gets; see [`super::visit`]. That
    /// there is no such project is told in words for somebody at a terminal.
    pub fn visit(
        &self,
        config: Config,
        operation: impl AsyncFnOnce(&PostOffice, &str) -> anyhow::Result<ExitCode>,
    ) -> anyhow::Result<ExitCode> {
        let key = self.key()?;
        let ended = super::visit(config, &key, async |post_office: &PostOffice| operation(post_office, &key).await);
        ended.map_err(|error| match error.downcast::<Refused>() {
            Ok(refused) if refused.code == "PROJECT_NOT_FOUND" => self.advised(refused).into(),
            Ok(refused) => refused.into(),
            Err(error) => error,
        })
    }

    /// The refusal of a project that is not there, in words for somebody at a terminal, where no project can be made.
    pub fn advised(&self, refused: Refused) -> Refused {
        let meant = match refused.suggestions().as_slice() {
            [] => String::new(),
            near => format!(" Did you mean '{}'?", near.join("', '")),
        };
        let place = if self.is_given() { "It" } else { "This folder" };
        refused.hinted(&format!(
            "{place} has no mail yet: a project begins when its first agent registers. Name another with --project PATH \
             or SLUG.{meant}"
        ))
    }

    /// What stands behind 'postrider join NAME' to begin this project; none if it is a slug, which begins nothing.
    pub fn begins_with(&self) -> Option<&str> {
        match self.given() {
            None => Some(""),
            Some(given) => (given.contains('/') || is_relative(given)).then_some(given),
        }
    }

    /// An empty variable of the environment is not set.
    fn given(&self) -> Option<&str> {
        self.project.as_deref().filter(|project| !project.is_empty())
    }
}

/// The key that `given` means to somebody who stands at `here`.
fn key_of(given: &str, here: &Path) -> anyhow::Result<String> {
    // What is no path from here is for the office to read: it knows the paths of other systems, and the slugs.
    if !is_relative(given) {
        return Ok(given.to_owned());
    }
    let mut whole = here.to_path_buf();
    for part in Path::new(given).components() {
        match part {
            Component::ParentDir => _ = whole.pop(),
            Component::CurDir => {}
            part => whole.push(part),
        }
    }
    text_of(whole)
}

fn text_of(path: PathBuf) -> anyhow::Result<String> {
    let text = path.into_os_string().into_string();
    text.ok().context("the path of the project is not Unicode; name the project by its slug with --project")
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
        InProject { project: given.map(str::to_owned) }.key_at(Path::new("/data/app/src")).unwrap()
    }

    #[test]
    fn nobody_says_which_and_the_repository_or_the_folder_is_meant() {
        assert_eq!(key(None), "/data/app/src", "no repository is around it");
        assert_eq!(key(Some("")), "/data/app/src", "an empty variable is not set");
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        std::fs::create_dir_all(home.join(".git")).unwrap();
        std::fs::create_dir_all(home.join("src")).unwrap();
        let nobody = InProject { project: None };
        assert_eq!(Path::new(&nobody.key_at(&home.join("src")).unwrap()), home);
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
    fn a_folder_begins_a_project_and_a_slug_does_not() {
        let begins = |given: &str| InProject::of(Some(given.to_owned())).begins_with().map(str::to_owned);
        assert_eq!(begins("nope"), None);
        assert_eq!(begins("./nope"), Some("./nope".to_owned()));
        assert_eq!(begins(""), Some(String::new()));
    }

    #[test]
    fn a_whole_path_and_a_slug_stay_as_they_are() {
        for given in ["/data/app", "data-app", "C:/work", "C:\\work", "/"] {
            assert_eq!(key(Some(given)), given);
        }
    }
}
