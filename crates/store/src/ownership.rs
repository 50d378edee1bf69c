//! One server owns a database file.
//!
//! Two servers on one file would each believe that their wake-ups reach everybody. The lock is the operating system's,
//! on a file beside the database: it ends with its process, however that ends. Terminal commands take no lock; they
//! ask for the owner and talk to it, or open the database themselves when there is none.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use mail::{StoreError, Stored};
use serde::{Deserialize, Serialize};

use crate::error::failure;
use crate::sqlite::make_file;

/// Who asks for the owner holds the lock for a moment; a lock that is still taken after these tries is an owner's.
const TRIES: u32 = 4;
const BETWEEN_TRIES: Duration = Duration::from_millis(3);
/// More than an address needs; what is longer was not written by us.
const LONGEST_CONTENT: u64 = 4096;

/// The right to serve a database, until it is dropped.
#[derive(Debug)]
pub struct Ownership {
    file: File,
}

/// Who serves a database.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct Owner {
    /// Where it is reached; empty when it has not said so yet.
    pub address: String,
    /// Its process; 0 when it has not said so yet.
    pub pid: u32,
}

/// Why a database cannot be owned.
#[derive(Debug)]
pub enum NotOwned {
    /// Somebody else serves it.
    Owned(Owner),
    /// The lock cannot be taken for another reason.
    Failed(StoreError),
}

impl Ownership {
    /// Takes the right to serve `database` at `address`, if nobody has it.
    pub fn take(database: &Path, address: &str) -> Result<Self, NotOwned> {
        let failed = |cause: io::Error| NotOwned::Failed(failure("own the database", cause));
        let mut file = open_lock_file(database).map_err(failed)?;
        let mut tries = 1;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if tries < TRIES => thread::sleep(BETWEEN_TRIES),
                Err(TryLockError::WouldBlock) => return Err(NotOwned::Owned(read_owner(&mut file))),
                Err(TryLockError::Error(cause)) => return Err(failed(cause)),
            }
            tries += 1;
        }
        let ownership = Self { file };
        ownership.announce(address).map_err(NotOwned::Failed)?;
        Ok(ownership)
    }

    /// Tells where the owner is reached now: a port may be known only after it was bound.
    pub fn announce(&self, address: &str) -> Stored<()> {
        let owner = Owner { address: address.to_owned(), pid: std::process::id() };
        let line = format!("{}\n", serde_json::json!(owner));
        // Written over the old line and cut afterwards, so that a reader never finds an empty file.
        let mut file = &self.file;
        file.seek(SeekFrom::Start(0))
            .and_then(|_| file.write_all(line.as_bytes()))
            .and_then(|()| file.set_len(line.len() as u64))
            .map_err(|cause| failure("tell who owns the database", cause))
    }
}

impl Drop for Ownership {
    fn drop(&mut self) {
        // The lock ends with the file; what stands in a file without a lock is not believed anyway.
        let _ = self.file.set_len(0);
    }
}

/// Who serves `database`, if somebody does.
pub fn current_owner(database: &Path) -> Option<Owner> {
    let mut file = File::open(lock_path(database)).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(read_owner(&mut file)),
        Ok(()) | Err(TryLockError::Error(_)) => None,
    }
}

fn lock_path(database: &Path) -> PathBuf {
    let mut name = OsString::from(database);
    name.push(".owner");
    PathBuf::from(name)
}

fn open_lock_file(database: &Path) -> io::Result<File> {
    let path = lock_path(database);
    make_file(&path)?;
    OpenOptions::new().read(true).write(true).open(path)
}

fn read_owner(file: &mut File) -> Owner {
    let mut content = Vec::new();
    let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.take(LONGEST_CONTENT).read_to_end(&mut content));
    let line = content.split(|byte| *byte == b'\n').next().unwrap_or_default();
    read.ok().and_then(|_| serde_json::from_slice(line).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mail.db");
        (folder, path)
    }

    fn owner(address: &str) -> Owner {
        Owner { address: address.to_owned(), pid: std::process::id() }
    }

    #[test]
    fn a_second_owner_is_refused_with_the_address_of_the_first() {
        let (_folder, path) = database();
        let first = Ownership::take(&path, "127.0.0.1:8765").unwrap();
        match Ownership::take(&path, "127.0.0.1:9999") {
            Err(NotOwned::Owned(found)) => assert_eq!(found, owner("127.0.0.1:8765")),
            other => panic!("{other:?}"),
        }
        first.announce("[::1]:1").unwrap();
        assert_eq!(current_owner(&path), Some(owner("[::1]:1")));
    }

    #[test]
    fn a_database_is_free_after_its_owner_is_gone() {
        let (_folder, path) = database();
        assert_eq!(current_owner(&path), None);
        drop(Ownership::take(&path, "127.0.0.1:8765").unwrap());
        assert_eq!(current_owner(&path), None);
        Ownership::take(&path, "127.0.0.1:9999").unwrap();
    }

    #[test]
    fn what_a_killed_owner_left_behind_is_not_believed() {
        let (_folder, path) = database();
        std::fs::write(lock_path(&path), "{\"pid\":1,\"address\":\"127.0.0.1:8765\"}\n and more").unwrap();
        assert_eq!(current_owner(&path), None);
        let _owned = Ownership::take(&path, "b").unwrap();
        assert_eq!(current_owner(&path), Some(owner("b")));
    }

    #[test]
    fn an_owner_that_says_nothing_sensible_is_still_an_owner() {
        let (_folder, path) = database();
        let owned = Ownership::take(&path, "a").unwrap();
        (&owned.file).seek(SeekFrom::Start(0)).unwrap();
        (&owned.file).write_all(&[0xff; 8]).unwrap();
        assert_eq!(current_owner(&path), Some(Owner { address: String::new(), pid: 0 }));
    }

    #[test]
    fn asking_for_the_owner_does_not_keep_one_from_coming() {
        let (_folder, path) = database();
        drop(Ownership::take(&path, "a").unwrap());
        let asking = File::open(lock_path(&path)).unwrap();
        asking.lock_shared().unwrap();
        let taking = thread::spawn({
            let path = path.clone();
            move || Ownership::take(&path, "b").is_ok()
        });
        asking.unlock().unwrap();
        assert!(taking.join().unwrap());
    }
}
