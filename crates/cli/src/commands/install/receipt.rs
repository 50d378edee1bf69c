//! What was done to a file, kept so that uninstall can give it back byte for byte.
//!
//! A receipt holds the one stretch of the former text that was changed, and a hash of the text that we wrote. It counts
//! only while the file still is that text; once somebody edited it, our entries are taken out one by one instead.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::files::{self, Change, FileKind};
use super::sandbox_access;

/// The folder of the receipts in the home folder.
const FOLDER: &str = "installed";

/// How a file was changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Receipt {
    /// The file, for people who look.
    path: String,
    /// Whether there was no such file.
    pub is_new: bool,
    /// The folders that were made for it, the outermost first.
    pub folders: Vec<PathBuf>,
    /// The entries that call us and were there before: events, and the name of the server. They are not ours to take.
    #[serde(default)]
    pub own: Vec<String>,
    /// Where the changed stretch begins, how long it is now, and what it was.
    start: usize,
    length: usize,
    former: String,
    /// The hash of the whole text that was written.
    hash: String,
}

impl Receipt {
    /// A receipt for a file that said `before` and now says `after`.
    pub(crate) fn new(path: &Path, before: &str, after: &str) -> Self {
        let pairs = before.char_indices().zip(after.chars());
        let start = pairs.take_while(|((_, old), new)| old == new).map(|((at, old), _)| at + old.len_utf8()).last();
        let start = start.unwrap_or(0);
        let (old, new) = (&before[start..], &after[start..]);
        let tail = old.chars().rev().zip(new.chars().rev()).take_while(|(old, new)| old == new);
        let tail: usize = tail.map(|(letter, _)| letter.len_utf8()).sum();
        Self {
            path: path.display().to_string(),
            start,
            length: new.len() - tail,
            former: old[..old.len() - tail].to_owned(),
            hash: hash(after),
            ..Self::default()
        }
    }

    /// The text before, if `text` is what was written.
    pub(crate) fn former(&self, text: &str) -> Option<String> {
        if hash(text) != self.hash {
            return None;
        }
        let end = self.start.checked_add(self.length)?;
        Some(format!("{}{}{}", text.get(..self.start)?, self.former, text.get(end..)?))
    }

    /// The receipt as text.
    pub(crate) fn written(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

/// The receipts in a home folder.
pub(crate) struct Receipts<'a> {
    home: &'a Path,
    /// Whether commands in a sandbox can have written them. Then no text is put back that says anything: it could hold a hook.
    pub can_be_forged: bool,
}

impl<'a> Receipts<'a> {
    /// Those in this home.
    pub(crate) fn of(home: &'a Path) -> Self {
        Self { home, can_be_forged: sandbox_access::writer_of_settings(home).is_some() }
    }

    /// The receipt that is known by `key`, if there is one that can be read.
    pub(crate) fn find<T: DeserializeOwned>(&self, key: &str) -> anyhow::Result<(Option<T>, Change)> {
        let name = format!("{}.json", &hash(key)[..32]);
        let kept_in = self.home.join(FOLDER).join(name);
        let before = files::read(&kept_in)?;
        let receipt = before.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let change = Change { path: kept_in, after: before.clone(), before, kind: FileKind::Private };
        Ok((receipt, change))
    }
}

fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receipt_gives_back_what_was_there_and_holds_no_more_than_it_has_to() {
        for (before, after) in [
            ("", "new"),
            ("old", ""),
            ("{}", "{a}"),
            ("aa", "aaa"),
            ("aaa", "aa"),
            ("é", "è"),
            ("漢字", "漢x字"),
            ("same", "same"),
            ("secret 1, 2", "secret 1, x, 2"),
        ] {
            let receipt = Receipt::new(Path::new("f"), before, after);
            assert_eq!(receipt.former(after).as_deref(), Some(before), "{before} {after}");
            assert!(!receipt.written().unwrap().contains("secret"));
            assert_eq!(receipt.former(&format!("{after} ")), None, "an edited file is not what was written");
            let read: Receipt = serde_json::from_str(&receipt.written().unwrap()).unwrap();
            assert_eq!(read, receipt);
        }
    }

    #[test]
    fn a_receipt_that_was_tampered_with_gives_back_nothing() {
        let mut receipt = Receipt::new(Path::new("f"), "é", "éa");
        for (start, length) in [(1, 1), (9, 0), (2, usize::MAX)] {
            (receipt.start, receipt.length) = (start, length);
            assert_eq!(receipt.former("éa"), None);
        }
    }
}
