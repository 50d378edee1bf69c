//! Where the sample mail is kept: a folder that goes at the end, or one that was named.
//!
//! A folder that the demo did not make is never written to. What is in one that it made stays: to begin again is to name
//! another, or none.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use mail::Office;
use tempfile::TempDir;

use super::members::ProjectMembers;

/// The file that tells that the demo made a home.
const MARK: &str = "demo";
const MARK_TEXT: &str = "This folder holds sample mail: `postrider demo` made it.\n";
/// More projects than a home of the demo has.
const MOST_PROJECTS: usize = 100;

/// The home of the sample mail.
pub(super) struct Home {
    pub(super) path: PathBuf,
    /// Goes with all that is in it.
    folder: Option<TempDir>,
    /// Whether there is no mail in it yet.
    pub(super) is_new: bool,
}

impl Home {
    /// The named folder, which has to be empty, new, or made by the demo; a temporary one without a name.
    pub(super) fn choose(named: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = named else {
            let folder = tempfile::Builder::new().prefix("postrider-demo-").tempdir();
            let folder = folder.context("cannot make a temporary folder; name one with --home")?;
            return Ok(Self { path: folder.path().to_owned(), folder: Some(folder), is_new: true });
        };
        let is_new = match fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) if error.kind() == ErrorKind::NotFound => true,
            Err(error) => return Err(error).with_context(|| format!("cannot read '{}'", path.display())),
        };
        if !is_new && !path.join(MARK).is_file() {
            return Err(not_ours(path));
        }
        fs::create_dir_all(path).with_context(|| format!("cannot make '{}'", path.display()))?;
        Ok(Self { path: path.to_owned(), folder: None, is_new })
    }

    /// Whether it stays when the demo ends.
    pub(super) fn is_kept(&self) -> bool {
        self.folder.is_none()
    }

    /// Notes that the sample is there, and that it is the demo's.
    pub(super) fn mark(&self) -> anyhow::Result<()> {
        let path = self.path.join(MARK);
        fs::write(&path, MARK_TEXT).with_context(|| format!("cannot write '{}'", path.display()))
    }

    /// Fails when there is mail of other projects than the demo's.
    pub(super) async fn check_projects(&self, office: &Office, ours: &ProjectMembers) -> anyhow::Result<()> {
        let projects = office.projects(None, MOST_PROJECTS).await?;
        if projects.iter().any(|project| !ours.contains_key(&project.human_key)) {
            return Err(not_ours(&self.path));
        }
        Ok(())
    }

    /// Removes it, unless it is to stay.
    pub(super) fn leave(self) -> anyhow::Result<()> {
        let removed = self.folder.map_or(Ok(()), TempDir::close);
        removed.map_err(|error| anyhow!("cannot remove '{}': {error}; remove it by hand", self.path.display()))
    }
}

fn not_ours(path: &Path) -> anyhow::Error {
    anyhow!(
        "'{}' holds what the demo did not make, and is left alone; name a folder that is empty or new, or leave out --home \
         for a temporary one",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_taken_if_it_is_empty_or_new_or_the_demos() {
        let place = tempfile::tempdir().unwrap();
        let (new, others) = (place.path().join("a/b"), place.path().join("others"));
        let home = Home::choose(Some(&new)).unwrap();
        assert!(home.is_new && home.is_kept());
        assert!(Home::choose(Some(&new)).unwrap().is_new, "an empty one is as good as new");
        home.mark().unwrap();
        assert!(!Home::choose(Some(&new)).unwrap().is_new);
        home.leave().unwrap();
        assert!(new.is_dir(), "what was named stays");
        fs::create_dir(&others).unwrap();
        fs::write(others.join("postrider.toml"), "").unwrap();
        let refused = Home::choose(Some(&others)).err().unwrap().to_string();
        assert!(refused.contains("others' holds what the demo did not make"), "{refused}");
    }

    #[test]
    fn a_folder_that_nobody_named_goes_with_all_that_is_in_it() {
        let home = Home::choose(None).unwrap();
        let path = home.path.clone();
        home.mark().unwrap();
        assert!(path.is_dir() && home.is_new && !home.is_kept());
        home.leave().unwrap();
        assert!(!path.exists());
    }
}
