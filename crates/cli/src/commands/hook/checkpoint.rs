//! Where an agent stood before its conversation was compacted, kept by rule and told once when it goes on.
//!
//! A small file beside the record of the session. It may be lost: what waits for an agent is told at every start anyway. Some
//! clients tell of a compaction before every call of the model, whether or not anything is compacted, and say nothing after it;
//! for them it is kept once a minute at the most, and told when something has changed.

use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::digest::DigestPart;
use super::head::head_of;
use super::session::Session;

/// How long a checkpoint is as good as a new one, where it is not known whether anything is compacted.
const FRESH: Duration = Duration::from_secs(60);
/// A longer file is not ours.
const LONGEST: u64 = 64 * 1024;

/// The checkpoint of a session, as it is kept.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct KeptCheckpoint {
    parts: Vec<DigestPart>,
    is_told: bool,
}

/// The place for the checkpoint of a session.
pub struct CheckpointFile<'a> {
    session: &'a Session,
}

impl<'a> CheckpointFile<'a> {
    /// That of a session.
    pub fn of(session: &'a Session) -> Self {
        Self { session }
    }

    /// What is still to be told; empty if there is nothing.
    pub fn untold(&self) -> Vec<DigestPart> {
        self.read().filter(|kept| !kept.is_told).unwrap_or_default().parts
    }

    /// Keeps where the agent stands. What says the same as before is told again only if the conversation `is_compacted` for certain.
    pub fn keep(&self, parts: Vec<DigestPart>, is_compacted: bool) -> anyhow::Result<()> {
        let before = self.read();
        let is_told = !is_compacted && before.is_some_and(|before| before.is_told && before.parts == parts);
        self.write(&KeptCheckpoint { parts, is_told })
    }

    /// Notes that it was told.
    pub fn note_told(&self) -> anyhow::Result<()> {
        self.read().map_or(Ok(()), |kept| self.write(&KeptCheckpoint { is_told: true, ..kept }))
    }

    /// Whether it was kept a moment ago.
    pub fn is_fresh(&self) -> bool {
        let changed = self.path().metadata().and_then(|about| about.modified()).ok();
        changed.and_then(|changed| changed.elapsed().ok()).is_some_and(|age| age < FRESH)
    }

    fn path(&self) -> PathBuf {
        self.session.all().folder().join(self.session.file_name(END))
    }

    fn read(&self) -> Option<KeptCheckpoint> {
        let mut text = Vec::new();
        std::fs::File::open(self.path()).ok()?.take(LONGEST).read_to_end(&mut text).ok()?;
        serde_json::from_slice(&text).ok()
    }

    fn write(&self, kept: &KeptCheckpoint) -> anyhow::Result<()> {
        let doing = || format!("cannot keep the checkpoint in '{}'", self.session.all().folder().display());
        let text = serde_json::to_vec(kept)?;
        let mut file = self.session.all().locked(&self.session.file_name(END)).with_context(doing)?;
        file.rewind().and_then(|()| file.write_all(&text)).with_context(doing)?;
        file.set_len(text.len() as u64).with_context(doing)
    }
}

const END: &str = ".checkpoint";

/// The part that says at which commit the working tree around a folder stands; none outside of one.
pub fn branch(folder: &Path) -> Option<DigestPart> {
    head_of(folder).map(|head| DigestPart::fact("Branch", &head))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::CLAUDE;

    fn parts(line: &str) -> Vec<DigestPart> {
        vec![DigestPart::of("Unread", vec![line.to_owned()]), DigestPart::fact("Branch", "main at 0123456789ab")]
    }

    #[test]
    fn a_checkpoint_is_told_once_and_again_when_it_changed_or_the_conversation_is_compacted_for_certain() {
        let folder = tempfile::tempdir().unwrap();
        let session = Session::of(&folder.path().join("sessions"), &CLAUDE, "a");
        let checkpoint = CheckpointFile::of(&session);
        assert!(checkpoint.untold().is_empty() && !checkpoint.is_fresh());
        checkpoint.note_told().unwrap();
        checkpoint.keep(parts("a long line that is gone later"), false).unwrap();
        assert_eq!(checkpoint.untold(), parts("a long line that is gone later"));
        assert!(checkpoint.is_fresh());
        checkpoint.keep(parts("b"), false).unwrap();
        assert_eq!(checkpoint.untold(), parts("b"));
        checkpoint.note_told().unwrap();
        checkpoint.keep(parts("b"), false).unwrap();
        assert!(checkpoint.untold().is_empty(), "nothing has changed");
        checkpoint.keep(parts("b"), true).unwrap();
        assert_eq!(checkpoint.untold(), parts("b"));
        let other = Session::of(&folder.path().join("sessions"), &CLAUDE, "b");
        assert!(CheckpointFile::of(&other).untold().is_empty(), "each session has its own");
    }

    #[test]
    fn a_checkpoint_that_was_damaged_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let session = Session::of(folder.path(), &CLAUDE, "a");
        let checkpoint = CheckpointFile::of(&session);
        checkpoint.keep(parts("a"), true).unwrap();
        std::fs::write(checkpoint.path(), "{\"parts\": 7").unwrap();
        assert!(checkpoint.untold().is_empty());
        checkpoint.keep(parts("b"), true).unwrap();
        assert_eq!(checkpoint.untold(), parts("b"));
    }
}
