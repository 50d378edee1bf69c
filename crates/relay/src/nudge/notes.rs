//! Small files, one for each name, that several processes change one after the other.
//!
//! They hold what may be lost: a damaged or missing note is an empty one. A name may be anything, so the file is
//! called by its hash.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

/// How long a lock is waited for, unless somebody has less time. A note is locked for as long as it takes to write a
/// line; one that stays locked belongs to a process that was stopped, and nobody should hang for that.
const PATIENCE: Duration = Duration::from_secs(2);
const BETWEEN_TRIES: Duration = Duration::from_millis(5);
/// More than a note needs; what is longer was not written by us.
const LONGEST: u64 = 16 * 1024;

/// The notes of one kind.
#[derive(Clone, Debug)]
pub struct Notes {
    folder: PathBuf,
    kind: &'static str,
    patience: Duration,
}

impl Notes {
    /// Notes in a folder, which is made with the first one. Notes of several kinds may share it.
    pub fn new(folder: PathBuf, kind: &'static str) -> Self {
        Self { folder, kind, patience: PATIENCE }
    }

    /// The same notes, for somebody who waits only so long for a lock.
    pub fn within(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// What is noted about a name; nothing if there is no note.
    pub fn read(&self, name: &str) -> io::Result<String> {
        match OpenOptions::new().read(true).write(true).open(self.path(name)) {
            Ok(mut file) => {
                self.lock(&file)?;
                read(&mut file)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            Err(error) => Err(error),
        }
    }

    /// Hands what is noted to `decide`, and notes what that returns, if anything. Nobody else comes in between.
    pub fn change<T>(&self, name: &str, decide: impl FnOnce(&str) -> (Option<String>, T)) -> io::Result<T> {
        std::fs::create_dir_all(&self.folder)?;
        let path = self.path(name);
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        self.lock(&file)?;
        let (new, decided) = decide(&read(&mut file)?);
        if let Some(new) = new {
            file.seek(SeekFrom::Start(0))?;
            file.write_all(new.as_bytes())?;
            file.set_len(new.len() as u64)?;
        }
        Ok(decided)
    }

    /// The lock ends with the file.
    fn lock(&self, file: &File) -> io::Result<()> {
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(()),
                Err(TryLockError::WouldBlock) if start.elapsed() < self.patience => thread::sleep(BETWEEN_TRIES),
                Err(TryLockError::WouldBlock) => {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "another process keeps the note locked"));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{}.{}", key(name), self.kind))
    }
}

/// A name as something short without special characters.
pub fn key(name: &str) -> String {
    blake3::hash(name.as_bytes()).to_hex()[..32].to_owned()
}

fn read(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8(bytes).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes() -> (tempfile::TempDir, Notes) {
        let folder = tempfile::tempdir().unwrap();
        let notes = Notes::new(folder.path().join("made/by/itself"), "test");
        (folder, notes)
    }

    #[test]
    fn a_note_says_what_was_noted_last_about_that_name() {
        let (_folder, notes) = notes();
        assert_eq!(notes.read("alice").unwrap(), "");
        notes.change("alice", |_| (Some("a long note".to_owned()), ())).unwrap();
        notes.change("alice", |noted| (Some(noted[..6].to_owned()), ())).unwrap();
        notes.change("alice", |_| (None, ())).unwrap();
        assert_eq!((notes.read("alice").unwrap().as_str(), notes.read("bob").unwrap().as_str()), ("a long", ""));
    }

    #[test]
    fn any_name_has_a_note_inside_the_folder() {
        let (_folder, notes) = notes();
        for name in ["", "../../x", "a/b", "nul\0", "-", &"漢".repeat(500)] {
            notes.change(name, |noted| (Some(name.len().to_string()), assert_eq!(noted, ""))).unwrap();
            assert_eq!(notes.read(name).unwrap(), name.len().to_string());
        }
        assert_eq!(std::fs::read_dir(&notes.folder).unwrap().count(), 6);
    }

    #[test]
    fn a_damaged_note_is_an_empty_one() {
        let (_folder, notes) = notes();
        notes.change("alice", |_| (Some(String::new()), ())).unwrap();
        std::fs::write(notes.path("alice"), [0xff; 100]).unwrap();
        assert_eq!(notes.read("alice").unwrap(), "");
    }

    #[test]
    fn a_note_that_stays_locked_is_an_error_and_not_a_wait_without_end() {
        let (_folder, notes) = notes();
        notes.change("alice", |_| (Some(String::new()), ())).unwrap();
        let held = File::open(notes.path("alice")).unwrap();
        held.lock().unwrap();
        let hasty = notes.clone().within(Duration::ZERO);
        assert_eq!(hasty.read("alice").unwrap_err().kind(), io::ErrorKind::TimedOut);
        drop(held);
        assert!(hasty.read("alice").is_ok());
    }

    #[test]
    fn changes_at_the_same_time_are_all_kept() {
        let (_folder, notes) = notes();
        let count = || {
            for _ in 0..20 {
                let more = |noted: &str| (Some((noted.parse().unwrap_or(0) + 1).to_string()), ());
                notes.change("alice", more).unwrap();
            }
        };
        thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(count))));
        assert_eq!(notes.read("alice").unwrap(), "160");
    }
}
