//! The entry that opens a client's sandbox for the mail. There is one, in the user's settings, for all projects that want it: it goes in
//! with the first and out with the last. Nothing is written here.
//!
//! A project whose folder is gone wants nothing any more. What the receipt says may be wrong, for commands in a sandbox that is open can
//! write to it; so the user can always take the entry out, which is known by its value.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::ConfigFault;
use super::files::{self, Change};
use super::receipt::Receipts;
use super::unusable;
use super::writable::WritableHome;
use crate::clients::{Folders, Scope};

/// What is to become of the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// It goes in.
    Open,
    /// It goes out, unless another project wants it or it is not ours.
    Release,
    /// It goes out.
    Close,
}

/// The entry in the user's settings.
#[derive(Debug)]
pub(crate) struct Opening {
    /// The file of the settings.
    pub path: PathBuf,
    writable: WritableHome,
    wish: Wish,
    /// Who has that wish: the folder of a project, or the user.
    who: String,
}

/// What is called the user among those who want the entry. A project is called by its absolute path.
const USER: &str = "user";

/// What is noted of the entry, if it is ours.
#[derive(Default, Serialize, Deserialize)]
struct OpeningReceipt {
    /// The file, for people who look.
    path: PathBuf,
    /// Who wants it.
    wanted_by: Vec<String>,
    /// Whether there was no such file.
    is_new: bool,
    /// The folders that were made for it, the outermost first.
    folders: Vec<PathBuf>,
}

/// What comes of a wish.
pub(crate) struct Opened {
    /// The text of the settings.
    pub text: String,
    pub receipt: Change,
    /// Whether the file was made for the entry, which is out again.
    pub was_new: bool,
    /// The folders that were made then.
    pub folders: Vec<PathBuf>,
}

impl Opening {
    /// What somebody wishes of the entry.
    pub(crate) fn new(path: PathBuf, writable: WritableHome, wish: Wish, scope: Scope, folders: &Folders) -> Self {
        let who = match scope {
            Scope::User => USER.to_owned(),
            Scope::Project => folders.project.to_string_lossy().into_owned(),
        };
        Self { path, writable, wish, who }
    }

    /// Whether the settings are TOML.
    pub(crate) fn is_toml(&self) -> bool {
        self.writable.is_toml
    }

    /// Whether there is something to do about it in a file that is otherwise none of ours.
    pub(crate) fn matters(&self, receipts: &Receipts<'_>) -> anyhow::Result<bool> {
        Ok(self.wish == Wish::Open || receipts.find::<OpeningReceipt>(&self.key())?.0.is_some())
    }

    /// Does it to the text of the settings; none if there is no such file.
    pub(crate) fn apply(&self, before: Option<&str>, receipts: &Receipts<'_>) -> anyhow::Result<Opened> {
        let (kept, mut receipt) = receipts.find::<OpeningReceipt>(&self.key())?;
        let text = before.unwrap_or_default();
        let is_ours = kept.is_some();
        let mut kept = kept.unwrap_or_default();
        let is_there = |who: &str| who == USER || Path::new(who).exists();
        kept.wanted_by.retain(|who| is_there(who) && (*who != self.who || self.wish == Wish::Open));
        let mut opened =
            Opened { text: text.to_owned(), receipt: receipt.clone(), was_new: false, folders: Vec::new() };
        match self.wish {
            // Somebody else wrote it.
            Wish::Open if !is_ours && self.writable.is_in(body(text)).map_err(|fault| self.unusable(&fault))? => {}
            Wish::Open => {
                if !kept.wanted_by.contains(&self.who) {
                    kept.wanted_by.push(self.who.clone());
                }
                if before.is_none() {
                    kept.is_new = true;
                    kept.folders = files::missing_folders(&self.path);
                }
                kept.path.clone_from(&self.path);
                receipt.after = Some(written(&kept)?);
                opened.text = self.edited(text, |text| self.writable.install(text))?;
            }
            Wish::Release if !is_ours => {}
            Wish::Release if !kept.wanted_by.is_empty() => receipt.after = Some(written(&kept)?),
            Wish::Release | Wish::Close => {
                receipt.after = None;
                opened.text = self.edited(text, |text| self.writable.uninstall(text))?;
                (opened.was_new, opened.folders) = (kept.is_new, kept.folders);
            }
        }
        Ok(Opened { receipt, ..opened })
    }

    /// What its receipt is known by.
    fn key(&self) -> String {
        format!("the sandbox in {}", self.path.display())
    }

    fn edited(&self, text: &str, edit: impl Fn(&str) -> Result<String, ConfigFault>) -> anyhow::Result<String> {
        let (mark, _) = text.split_at(text.len() - body(text).len());
        Ok(format!("{mark}{}", edit(body(text)).map_err(|fault| self.unusable(&fault))?))
    }

    fn unusable(&self, fault: &ConfigFault) -> anyhow::Error {
        unusable(&self.path, fault)
    }
}

fn written(receipt: &OpeningReceipt) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(receipt)? + "\n")
}

/// The text without the byte order mark that some editors begin a file with.
fn body(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}
