//! What is remembered of a session between its events, each of which is a process of its own.
//!
//! A small file for each session in the home's `sessions` folder: the name that the agent was given, the project it was
//! given in, and its token. Beside it, for mail that another provider keeps, which messages were told. All of it may be
//! lost: then a name is drawn anew, or a message told twice.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::clients::Client;

/// How many messages are remembered as told. Whoever asks about more at once is told some of them again.
pub const MOST_TOLD: usize = 1_000;
/// When a session that nobody has gone on with is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(30 * 24 * 3600);
/// How often it is noted that a session goes on.
const REFRESHED: Duration = Duration::from_secs(24 * 3600);
/// How many files are looked at to find those, so that a full folder costs no time.
const MOST_LOOKED_AT: usize = 1_000;

/// Who an agent is in its session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Its name.
    pub agent: String,
    /// What proves it.
    pub token: Option<String>,
    /// The project that it has this name in.
    pub project: String,
}

/// The place where a session is remembered.
pub struct Session {
    folder: PathBuf,
    name: String,
}

impl Session {
    /// The place for a session of a client. The id is only hashed: it may be any text.
    pub fn of(folder: &Path, client: &Client, id: &str) -> Self {
        let hash = blake3::hash(id.as_bytes()).to_hex();
        Self { folder: folder.to_owned(), name: format!("{}-{}", client.name, &hash[..32]) }
    }

    /// What is remembered. A session that goes on is not forgotten.
    pub fn kept(&self) -> Option<Kept> {
        let mut file = File::options().read(true).write(true).open(self.file("")).ok()?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).ok()?;
        let changed = file.metadata().and_then(|about| about.modified()).ok();
        let now = SystemTime::now();
        if changed.and_then(|changed| now.duration_since(changed).ok()).is_some_and(|age| age > REFRESHED) {
            let _ = file.set_modified(now);
        }
        serde_json::from_slice(&text).ok()
    }

    /// Held by whoever finds out who the agent of the session is: of two who do so at once, one draws a name.
    pub fn turn(&self) -> anyhow::Result<File> {
        let doing = || format!("cannot take a turn in '{}'", self.folder.display());
        fs::create_dir_all(&self.folder).with_context(doing)?;
        let file = private(&self.file(".turn")).with_context(doing)?;
        file.lock().with_context(doing)?;
        Ok(file)
    }

    /// Remembers who the agent is, and forgets sessions of long ago.
    pub fn keep(&self, kept: &Kept) -> anyhow::Result<()> {
        let text = serde_json::to_vec(kept).context("a session can be written")?;
        let fresh = self.file(&format!(".{}", std::process::id()));
        fs::create_dir_all(&self.folder)
            .and_then(|()| {
                let mut file = private(&fresh)?;
                file.set_len(0)?;
                file.write_all(&text)
            })
            .and_then(|()| fs::rename(&fresh, self.file("")))
            .with_context(|| format!("cannot keep the session in '{}'", self.folder.display()))?;
        self.forget_old_sessions();
        Ok(())
    }

    /// Of `ids`, those that were never asked about before. They count as told from now on, for other processes too.
    pub fn untold(&self, ids: &[String]) -> anyhow::Result<Vec<String>> {
        let doing = || format!("cannot note what was told in '{}'", self.folder.display());
        fs::create_dir_all(&self.folder).with_context(doing)?;
        let mut file = private(&self.file(".told")).with_context(doing)?;
        file.lock().with_context(doing)?;
        let mut text = String::new();
        file.read_to_string(&mut text).with_context(doing)?;
        let mut told: Vec<&str> = text.lines().collect();
        let known: HashSet<&str> = told.iter().copied().collect();
        let fresh: Vec<String> = ids.iter().filter(|id| !known.contains(id.as_str())).cloned().collect();
        if fresh.is_empty() {
            return Ok(fresh);
        }
        told.extend(fresh.iter().map(String::as_str));
        let newest = &told[told.len().saturating_sub(MOST_TOLD)..];
        file.set_len(0).and_then(|()| file.rewind()).with_context(doing)?;
        file.write_all(newest.join("\n").as_bytes()).with_context(doing)?;
        Ok(fresh)
    }

    fn file(&self, end: &str) -> PathBuf {
        self.folder.join(format!("{}{end}", self.name))
    }

    /// What cannot be removed is in nobody's way.
    fn forget_old_sessions(&self) {
        let Ok(files) = fs::read_dir(&self.folder) else { return };
        for file in files.take(MOST_LOOKED_AT).flatten() {
            let changed = file.metadata().and_then(|about| about.modified());
            let age = changed.ok().and_then(|changed| SystemTime::now().duration_since(changed).ok());
            if age.is_some_and(|age| age > FORGOTTEN) {
                let _ = fs::remove_file(file.path());
            }
        }
    }
}

/// Opens a file that nobody else may read: it may hold a token.
fn private(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::{CLAUDE, CODEX};

    fn session(folder: &tempfile::TempDir, id: &str) -> Session {
        Session::of(&folder.path().join("sessions"), &CLAUDE, id)
    }

    fn ids(range: std::ops::Range<usize>) -> Vec<String> {
        range.map(|id| id.to_string()).collect()
    }

    #[test]
    fn a_session_is_remembered_by_whatever_id_it_has_and_mixed_up_with_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let kept = Kept { agent: "GreenDog".to_owned(), token: Some("t".to_owned()), project: "/p".to_owned() };
        for id in ["a", "../../etc/passwd", "", "ü\n"] {
            let session = session(&folder, id);
            assert_eq!(session.kept(), None, "{id}");
            session.keep(&kept).unwrap();
            assert_eq!(session.kept().as_ref(), Some(&kept), "{id}");
        }
        assert_eq!(Session::of(&folder.path().join("sessions"), &CODEX, "a").kept(), None);
        assert_eq!(fs::read_dir(folder.path().join("sessions")).unwrap().count(), 4, "nothing else is left behind");
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_can_read_a_token() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let session = session(&folder, "a");
        session.keep(&Kept::default()).unwrap();
        assert_eq!(fs::metadata(session.file("")).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_session_of_long_ago_is_forgotten_and_one_of_yesterday_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let age = |session: &Session, days: u32| {
            session.keep(&Kept::default()).unwrap();
            let file = File::options().write(true).open(session.file("")).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(24 * 3600) * days).unwrap();
        };
        let (old, young) = (session(&folder, "old"), session(&folder, "young"));
        age(&young, 29);
        age(&old, 31);
        session(&folder, "new").keep(&Kept::default()).unwrap();
        assert!(old.kept().is_none() && young.kept().is_some());
    }

    #[test]
    fn a_session_that_goes_on_is_not_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let session = session(&folder, "old");
        session.keep(&Kept::default()).unwrap();
        let file = File::options().write(true).open(session.file("")).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(31 * 24 * 3600)).unwrap();
        session.kept().expect("somebody goes on with it");
        session.forget_old_sessions();
        assert!(session.kept().is_some());
    }

    #[test]
    fn a_message_is_told_once_by_however_many_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let start = std::sync::Barrier::new(8);
        let ask = || {
            // Each starts every round at the same moment, so that without a lock they would meet.
            let rounds = (0..100).map(|round| {
                start.wait();
                session(&folder, "a").untold(&ids(round..round + 1)).unwrap()
            });
            rounds.collect::<Vec<_>>().concat()
        };
        let mut told: Vec<String> = std::thread::scope(|scope| {
            let asking: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            asking.into_iter().flat_map(|one| one.join().unwrap()).collect()
        });
        told.sort_by_key(|id| id.parse::<usize>().unwrap());
        assert_eq!(told, ids(0..100));
        assert_eq!(session(&folder, "a").untold(&ids(99..101)).unwrap(), ["100"]);
    }

    #[test]
    fn only_so_many_messages_are_remembered_and_the_newest_are() {
        let folder = tempfile::tempdir().unwrap();
        let session = session(&folder, "a");
        session.untold(&ids(0..MOST_TOLD + 1)).unwrap();
        assert!(session.untold(&ids(1..MOST_TOLD + 1)).unwrap().is_empty());
        assert_eq!(session.untold(&ids(0..1)).unwrap(), ["0"]);
    }
}
