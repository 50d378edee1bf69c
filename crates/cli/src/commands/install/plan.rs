//! What install and uninstall are going to do, file by file. Nothing is written here.

use std::path::{Path, PathBuf};

use super::Fault;
use super::configuration::Configuration;
use super::files::{self, Change};
use super::own_program::Program;
use super::receipt::Receipt;
use super::refused;
use crate::clients::Client;

/// What becomes of one file of configuration.
pub(crate) struct Planned {
    /// The file itself.
    pub change: Change,
    pub receipt: Change,
    /// Folders to remove afterwards, if they are empty.
    pub folders: Vec<PathBuf>,
    /// Whether a server of our name that is not ours stays in it.
    pub has_foreign_server: bool,
}

impl Planned {
    /// Whether the file will be another one.
    pub(crate) fn changes(&self) -> bool {
        self.change.before != self.change.after
    }
}

/// Everything that has to be written for these files.
pub(crate) fn writes(plan: &[Planned]) -> Vec<Change> {
    let all = plan.iter().flat_map(|planned| [&planned.receipt, &planned.change]);
    all.filter(|change| change.before != change.after).cloned().collect()
}

/// Puts the entries of `client` into a file.
pub(crate) fn install(
    file: &Configuration,
    client: &Client,
    program: &Program,
    home: &Path,
) -> anyhow::Result<Planned> {
    let wrong = |fault| unusable(&file.path, &fault);
    let before = files::read(&file.path)?;
    let text = before.as_deref().unwrap_or_default();
    let (kept, mut receipt) = Receipt::find(home, &file.path)?;
    // Without a receipt nothing that is there was written by us.
    let mut own = file.entries(text).map_err(wrong)?;
    own.retain(|entry| kept.as_ref().is_none_or(|kept| kept.own.contains(entry)));
    let after = file.install(text, client, program, &own).map_err(wrong)?;
    let has_foreign_server = file.has_foreign_server(&after).map_err(wrong)?;
    let is_noted = kept.is_some() || own.is_empty();
    if before.as_deref() != Some(after.as_str()) || !is_noted {
        let former = match kept.as_ref().map(|kept| kept.former(text)) {
            Some(Some(former)) => former,
            Some(None) => file.uninstall(text, &own).map_err(wrong)?,
            None => text.to_owned(),
        };
        let kept = kept.unwrap_or_default();
        let mut new = Receipt::new(&file.path, &former, &after);
        new.own = own;
        new.is_new = before.is_none() || kept.is_new;
        let missing = files::missing_folders(&file.path);
        new.folders = if missing.is_empty() { kept.folders } else { missing };
        receipt.after = Some(new.written()?);
    }
    let change = Change { path: file.path.clone(), before, after: Some(after), is_private: false };
    Ok(Planned { change, receipt, folders: Vec::new(), has_foreign_server })
}

/// Takes everything of ours out of a file.
pub(crate) fn uninstall(file: &Configuration, home: &Path) -> anyhow::Result<Planned> {
    let wrong = |fault| unusable(&file.path, &fault);
    let before = files::read(&file.path)?;
    let (kept, mut receipt) = Receipt::find(home, &file.path)?;
    receipt.after = None;
    let kept = kept.unwrap_or_default();
    let (mut after, mut has_foreign_server) = (None, false);
    if let Some(text) = &before {
        let left = match kept.former(text) {
            Some(former) => former,
            None => file.uninstall(text, &kept.own).map_err(wrong)?,
        };
        // Otherwise a second time would take what was there before.
        if !kept.own.is_empty() {
            let mut stays = Receipt::new(&file.path, &left, &left);
            stays.own.clone_from(&kept.own);
            receipt.after = Some(stays.written()?);
        }
        has_foreign_server = file.has_foreign_server(&left).map_err(wrong)?;
        after = Some(left).filter(|left| !(kept.is_new && file.is_void(left)));
    }
    let change = Change { path: file.path.clone(), before, after, is_private: false };
    let mut folders: Vec<PathBuf> = receipt.path.parent().map(Path::to_owned).into_iter().collect();
    folders.extend(kept.folders);
    Ok(Planned { change, receipt, folders, has_foreign_server })
}

fn unusable(path: &Path, fault: &Fault) -> anyhow::Error {
    let Fault { line, column, what } = fault;
    refused(
        "CONFIG_UNUSABLE",
        &format!("'{}', line {line}, column {column}: {what}", path.display()),
        "Nothing was changed. Correct the file, then run the command again.",
    )
}
