//! What install and uninstall are going to do, file by file. Nothing is written here.

use std::path::{Path, PathBuf};

use super::Fault;
use super::clients::{Client, ConfigFile};
use super::files::{self, Change};
use super::program::Program;
use super::receipt::Receipt;
use super::refused;

/// What becomes of one file of configuration.
pub struct Planned {
    /// The file itself.
    pub change: Change,
    /// Its receipt.
    pub receipt: Change,
    /// Folders to remove afterwards, if they are empty.
    pub folders: Vec<PathBuf>,
    /// Whether a server of our name that is not ours stays in it.
    pub has_foreign_server: bool,
}

impl Planned {
    /// Whether the file will be another one.
    pub fn changes(&self) -> bool {
        self.change.before != self.change.after
    }
}

/// Everything that has to be written for these files.
pub fn writes(plan: &[Planned]) -> Vec<Change> {
    let all = plan.iter().flat_map(|planned| [&planned.receipt, &planned.change]);
    all.filter(|change| change.before != change.after).cloned().collect()
}

/// Puts the entries of `client` into a file.
pub fn install(file: &ConfigFile, client: Client, program: &Program, home: &Path) -> anyhow::Result<Planned> {
    let wrong = |fault| unusable(&file.path, &fault);
    let before = files::read(&file.path)?;
    let text = before.as_deref().unwrap_or_default();
    let after = file.install(text, client, program).map_err(wrong)?;
    let has_foreign_server = file.has_foreign_server(&after).map_err(wrong)?;
    let (kept, mut receipt) = Receipt::find(home, &file.path)?;
    if before.as_deref() != Some(after.as_str()) {
        let former = match kept.as_ref().and_then(|kept| kept.former(text)) {
            Some(former) => former,
            None => file.uninstall(text).map_err(wrong)?,
        };
        let kept = kept.unwrap_or_default();
        let mut new = Receipt::new(&file.path, &former, &after);
        new.is_new = before.is_none() || kept.is_new;
        let missing = files::missing_folders(&file.path);
        new.folders = if missing.is_empty() { kept.folders } else { missing };
        receipt.after = Some(new.written()?);
    }
    let change = Change { path: file.path.clone(), before, after: Some(after), is_private: false };
    Ok(Planned { change, receipt, folders: Vec::new(), has_foreign_server })
}

/// Takes everything of ours out of a file.
pub fn uninstall(file: &ConfigFile, home: &Path) -> anyhow::Result<Planned> {
    let wrong = |fault| unusable(&file.path, &fault);
    let before = files::read(&file.path)?;
    let (kept, receipt) = Receipt::find(home, &file.path)?;
    let kept = kept.unwrap_or_default();
    let (mut after, mut has_foreign_server) = (None, false);
    if let Some(text) = &before {
        let left = match kept.former(text) {
            Some(former) => former,
            None => file.uninstall(text).map_err(wrong)?,
        };
        has_foreign_server = file.has_foreign_server(&left).map_err(wrong)?;
        after = Some(left).filter(|left| !(kept.is_new && file.is_void(left)));
    }
    let change = Change { path: file.path.clone(), before, after, is_private: false };
    let mut folders: Vec<PathBuf> = receipt.path.parent().map(Path::to_owned).into_iter().collect();
    folders.extend(kept.folders);
    Ok(Planned { change, receipt: Change { after: None, ..receipt }, folders, has_foreign_server })
}

fn unusable(path: &Path, fault: &Fault) -> anyhow::Error {
    let Fault { line, column, what } = fault;
    refused(
        "CONFIG_UNUSABLE",
        &format!("'{}', line {line}, column {column}: {what}", path.display()),
        "Nothing was changed. Correct the file, then run the command again.",
    )
}
