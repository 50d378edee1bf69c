//! A folder that others write into as well, held open.
//!
//! Every name is one step below a folder that is open, and no link is followed, so that nothing outside is ever read or
//! written, whatever anybody puts there. Nothing that is there is ever replaced, but by [`Folder::replace`]. What the
//! names and the bytes mean is not told here. All of this may wait for a disk or a network: keep it off the runtime.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{Access, AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// How the names of files begin that are not whole yet. Foreign agents use names with a dot too, and clean up their own.
const TEMPORARY: &str = ".tmp-postrider-";
/// After how long nobody writes a temporary file any more.
const ABANDONED: Duration = Duration::from_secs(3600);
/// Who may use what is made, before the process's own mask.
const FILES: Mode = Mode::from_raw_mode(0o666);
const FOLDERS: Mode = Mode::from_raw_mode(0o777);

/// A folder.
#[derive(Debug)]
pub(super) struct Folder(OwnedFd);

/// What changes when a file or a folder does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// What is there under a name.
#[derive(Debug)]
pub(super) enum FolderEntry {
    /// A file.
    Whole(Vec<u8>, Stamp),
    /// A file of so many bytes, which are too many.
    TooLarge(u64, Stamp),
    /// Something that is no file, such as a link, or a file that may not be read.
    Unreadable(io::Error, Option<Stamp>),
    /// Nothing, any more.
    Gone,
}

impl Folder {
    /// Opens a folder by its path, which has to be there: an empty mount point must not be written into.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(rustix::fs::open(path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?))
    }

    /// The folder of that name within this one, if there is one.
    pub(super) fn inner(&self, name: &str) -> io::Result<Option<Self>> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        match rustix::fs::openat(&self.0, plain(name)?, flags, Mode::empty()) {
            Ok(inner) => Ok(Some(Self(inner))),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::STALE) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The folder of that name within this one, made if it is missing.
    pub(super) fn make(&self, name: &str) -> io::Result<Self> {
        if let Some(inner) = self.inner(name)? {
            return Ok(inner);
        }
        match rustix::fs::mkdirat(&self.0, plain(name)?, FOLDERS) {
            Ok(()) => rustix::fs::fsync(&self.0)?,
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let no_folder = || io::Error::new(io::ErrorKind::NotADirectory, format!("'{name}' is not a folder"));
        self.inner(name)?.ok_or_else(no_folder)
    }

    /// Whether files can be read and made in it.
    pub(super) fn check_access(&self) -> io::Result<()> {
        let wanted = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
        Ok(rustix::fs::accessat(&self.0, ".", wanted, AtFlags::empty())?)
    }

    /// What changes when a name comes or goes.
    pub(super) fn stamp(&self) -> io::Result<Stamp> {
        Ok(Stamp::of(&rustix::fs::fstat(&self.0)?))
    }

    /// The names in it. One that is not Unicode is nobody's.
    pub(super) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            if let Ok(name) = CStr::to_str(entry?.file_name())
                && !matches!(name, "." | "..")
            {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    /// What changes when the file of that name does; `None` if there is none.
    pub(super) fn stamp_of(&self, name: &str) -> io::Result<Option<Stamp>> {
        match rustix::fs::statat(&self.0, plain(name)?, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Stamp::of(&stat))),
            Err(Errno::NOENT | Errno::STALE) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads a file of at most so many bytes.
    pub(super) fn read(&self, name: &str, longest: usize) -> io::Result<FolderEntry> {
        // Opening what is no file could wait for ever.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.0, plain(name)?, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT | Errno::STALE) => return Ok(FolderEntry::Gone),
            Err(error @ (Errno::LOOP | Errno::ACCESS | Errno::PERM | Errno::NXIO)) => {
                return Ok(FolderEntry::Unreadable(error.into(), self.stamp_of(name)?));
            }
            Err(error) => return Err(error.into()),
        };
        let stat = rustix::fs::fstat(&file)?;
        let stamp = Stamp::of(&stat);
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Ok(FolderEntry::Unreadable(io::Error::other("it is not a file"), Some(stamp)));
        }
        let mut bytes = Vec::new();
        let most = u64::try_from(longest).unwrap_or(u64::MAX).saturating_add(1);
        match File::from(file).take(most).read_to_end(&mut bytes) {
            Ok(size) if size > longest => Ok(FolderEntry::TooLarge(stamp.size, stamp)),
            Ok(_) => Ok(FolderEntry::Whole(bytes, stamp)),
            Err(error) if error.raw_os_error() == Some(Errno::STALE.raw_os_error()) => Ok(FolderEntry::Gone),
            Err(error) => Err(error),
        }
    }

    /// Makes a file that is whole from its first moment, and safe on the disk after this; whether the name was free.
    pub(super) fn create(&self, name: &str, bytes: &[u8]) -> io::Result<bool> {
        // Most often it is our own work of before, and not worth a temporary file on a disk far away.
        if self.stamp_of(name)?.is_some() {
            return Ok(false);
        }
        self.with_temporary(bytes, |temporary| {
            let made = rustix::fs::linkat(&self.0, temporary, &self.0, plain(name)?, AtFlags::empty());
            rustix::fs::unlinkat(&self.0, temporary, AtFlags::empty())?;
            match made {
                Ok(()) => rustix::fs::fsync(&self.0)?,
                Err(Errno::EXIST) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
            Ok(true)
        })
    }

    /// Puts a file in the place of the one of that name. Whoever looks finds the old one or the new one.
    pub(super) fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.with_temporary(bytes, |temporary| Ok(rustix::fs::renameat(&self.0, temporary, &self.0, plain(name)?)?))
    }

    /// Opens a file for lines to be added at its end.
    pub(super) fn append(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = File::from(rustix::fs::openat(&self.0, plain(name)?, flags | OFlags::CLOEXEC, FILES)?);
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a file")) }
    }

    /// Removes those of the names that are our temporary files, and that nobody writes any more.
    pub(super) fn sweep(&self, names: &[String], now: SystemTime) {
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        for name in names.iter().filter(|name| name.starts_with(TEMPORARY)) {
            let age = |stamp: Stamp| now.saturating_sub(u64::try_from(stamp.modified.0).unwrap_or(u64::MAX));
            // What cannot be looked at or removed stays; somebody else may be tidying up too.
            if matches!(self.stamp_of(name), Ok(Some(stamp)) if age(stamp) > ABANDONED.as_secs()) {
                let _ = rustix::fs::unlinkat(&self.0, name.as_str(), AtFlags::empty());
            }
        }
    }

    /// Does something with a temporary file that is safe on the disk, which is gone afterwards, whatever became of it.
    fn with_temporary<T>(&self, bytes: &[u8], place: impl FnOnce(&str) -> io::Result<T>) -> io::Result<T> {
        let (name, file) = self.temporary()?;
        let mut file = File::from(file);
        let placed = file.write_all(bytes).and_then(|()| file.sync_all()).and_then(|()| place(&name));
        if placed.is_err() {
            // What went wrong first is what is told.
            let _ = rustix::fs::unlinkat(&self.0, name.as_str(), AtFlags::empty());
        }
        placed
    }

    /// A new file with a name that no other has: not of this process, nor of one with its number on another machine.
    fn temporary(&self) -> io::Result<(String, OwnedFd)> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        loop {
            let name = format!("{TEMPORARY}{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match rustix::fs::openat(&self.0, name.as_str(), flags, FILES) {
                Ok(file) => return Ok((name, file)),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Stamp {
    // The types of these fields differ from system to system.
    #[allow(clippy::unnecessary_cast)]
    fn of(stat: &Stat) -> Self {
        Self {
            inode: stat.st_ino as u64,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        }
    }
}

/// A name that is one step and leads nowhere else.
fn plain(name: &str) -> io::Result<&str> {
    if name.is_empty() || matches!(name, "." | "..") || name.contains(['/', '\0']) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("'{name}' cannot be the name of a file")));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn folder() -> (tempfile::TempDir, Folder) {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(place.path()).unwrap();
        (place, folder)
    }

    fn text(folder: &Folder, name: &str) -> Option<String> {
        match folder.read(name, 100).unwrap() {
            FolderEntry::Whole(bytes, _) => Some(String::from_utf8(bytes).unwrap()),
            _ => None,
        }
    }

    #[test]
    fn a_file_that_is_there_is_never_replaced_and_nothing_is_left_beside_it() {
        let (_place, folder) = folder();
        assert!(folder.create("a.json", b"first").unwrap());
        assert!(!folder.create("a.json", b"second").unwrap());
        assert_eq!(text(&folder, "a.json").as_deref(), Some("first"));
        assert_eq!(folder.names().unwrap(), ["a.json"]);
        folder.replace("a.json", b"third").unwrap();
        assert_eq!(text(&folder, "a.json").as_deref(), Some("third"));
        assert_eq!(folder.names().unwrap(), ["a.json"]);
    }

    #[test]
    fn of_many_who_want_one_name_one_gets_it() {
        let (_place, folder) = folder();
        let made: usize = std::thread::scope(|scope| {
            let tasks: Vec<_> = (0..8)
                .map(|n| {
                    scope.spawn({
                        let folder = &folder;
                        move || folder.create("a", &[n; 9]).unwrap()
                    })
                })
                .collect();
            tasks.into_iter().map(|task| usize::from(task.join().unwrap())).sum()
        });
        assert_eq!(made, 1);
        assert_eq!(folder.names().unwrap(), ["a"]);
    }

    #[test]
    fn nothing_outside_is_read_or_written() {
        let (place, folder) = folder();
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "secret").unwrap();
        symlink(outside.path(), place.path().join("folder")).unwrap();
        symlink(outside.path().join("secret"), place.path().join("file")).unwrap();
        symlink(outside.path().join("new"), place.path().join("new")).unwrap();
        assert!(folder.inner("folder").unwrap().is_none());
        assert!(folder.make("folder").is_err());
        assert!(matches!(folder.read("file", 100).unwrap(), FolderEntry::Unreadable(..)));
        assert!(folder.append("file").is_err() && folder.append("new").is_err());
        assert!(!folder.create("new", b"x").unwrap(), "a link is a taken name");
        folder.replace("file", b"x").unwrap();
        assert_eq!(std::fs::read(outside.path().join("secret")).unwrap(), b"secret");
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
        for name in ["", ".", "..", "../secret", "/etc/passwd", "a/b", "a\0b"] {
            assert!(
                folder.read(name, 9).is_err() && folder.inner(name).is_err() && folder.make(name).is_err(),
                "{name:?}"
            );
            assert!(folder.create(name, b"").is_err() && folder.replace(name, b"").is_err(), "{name:?}");
        }
        assert_eq!(folder.names().unwrap().len(), 3, "{:?}", folder.names());
    }

    #[test]
    fn what_is_no_file_of_the_right_size_is_told_apart_and_nobody_waits_for_it() {
        let (place, folder) = folder();
        let made = std::process::Command::new("mkfifo").arg(place.path().join("pipe")).status().unwrap();
        assert!(made.success());
        std::fs::create_dir(place.path().join("folder")).unwrap();
        std::fs::write(place.path().join("large"), "12345").unwrap();
        assert!(matches!(folder.read("pipe", 9).unwrap(), FolderEntry::Unreadable(..)));
        assert!(matches!(folder.read("folder", 9).unwrap(), FolderEntry::Unreadable(..)));
        assert!(matches!(folder.read("large", 4).unwrap(), FolderEntry::TooLarge(5, _)));
        assert!(matches!(folder.read("large", 5).unwrap(), FolderEntry::Whole(..)));
        assert!(matches!(folder.read("nothing", 9).unwrap(), FolderEntry::Gone));
    }

    #[test]
    fn only_our_own_temporary_files_are_removed_and_only_old_ones() {
        let (place, folder) = folder();
        for name in [".tmp-postrider-1-1", ".tmp-other", "msg.json"] {
            std::fs::write(place.path().join(name), "").unwrap();
        }
        let names = folder.names().unwrap();
        let in_an_hour = SystemTime::now() + ABANDONED;
        folder.sweep(&names, in_an_hour - Duration::from_secs(60));
        assert_eq!(folder.names().unwrap().len(), 3);
        folder.sweep(&names, in_an_hour + Duration::from_secs(60));
        let mut left = folder.names().unwrap();
        left.sort();
        assert_eq!(left, [".tmp-other", "msg.json"]);
    }
}
