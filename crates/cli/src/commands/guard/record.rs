//! Which guards were installed, so that somebody can be told when one is gone. Kept in the home; nothing else depends on it.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::framework::Framework;
use super::hook;

/// The folder of the records in the home folder, and how their names begin and end.
const FOLDER: &str = "installed";
const PREFIX: &str = "guard-";
const SUFFIX: &str = ".json";

/// A guard that was installed.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardRecord {
    /// The top folder of the working tree.
    pub top: PathBuf,
    /// The file that calls the guard.
    pub file: PathBuf,
    /// The hook that git runs.
    pub hook: PathBuf,
}

impl GuardRecord {
    /// Notes that the guard was installed.
    pub fn keep(&self, home: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(home.join(FOLDER))?;
        Ok(fs::write(self.kept_in(home), serde_json::to_string_pretty(self)? + "\n")?)
    }

    /// Notes that it was uninstalled.
    pub fn forget(&self, home: &Path) {
        // One that is not there is forgotten.
        let _ = fs::remove_file(self.kept_in(home));
    }

    /// A repository has one guard, whichever of its working trees it was installed in.
    fn kept_in(&self, home: &Path) -> PathBuf {
        let hash = blake3::hash(self.hash_of().as_bytes()).to_hex();
        home.join(FOLDER).join(format!("{PREFIX}{}{SUFFIX}", &hash[..32]))
    }

    fn hash_of(&self) -> String {
        self.hook.to_string_lossy().into_owned()
    }

    /// What is wrong with it, and what to do; none if it guards still, or there is no such repository any more.
    pub fn complaint(&self) -> Option<(String, &'static str)> {
        if !self.top.is_dir() {
            return None;
        }
        let (top, file) = (self.top.display(), self.file.display());
        if !fs::read(&self.file).is_ok_and(|text| hook::calls_guard(&text)) {
            let what = format!("the guard that was installed in '{top}' is gone from '{file}'");
            return Some((
                what,
                "Run `postrider guard install` there again, or `postrider guard uninstall` if it is to be gone.",
            ));
        }
        if self.file == self.hook {
            return None;
        }
        let wrote = fs::read(&self.hook).ok().as_deref().and_then(Framework::that_wrote);
        match wrote {
            Some(_) => None,
            None => Some((
                format!("the guard in '{file}' is not called: no hook in '{top}' runs what stands there"),
                "Run `lefthook install` or `pre-commit install` there, whichever it is of.",
            )),
        }
    }
}

/// All that were noted.
pub fn all(home: &Path) -> Vec<GuardRecord> {
    let files = fs::read_dir(home.join(FOLDER)).into_iter().flatten().flatten();
    let is_ours = |name: &str| name.starts_with(PREFIX) && name.ends_with(SUFFIX);
    let ours = files.filter(|file| file.file_name().to_str().is_some_and(is_ours));
    let mut records: Vec<GuardRecord> =
        ours.filter_map(|file| serde_json::from_str(&fs::read_to_string(file.path()).ok()?).ok()).collect();
    records.sort_by(|one, other| one.file.cmp(&other.file));
    records
}
