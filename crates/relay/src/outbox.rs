//! A folder in a workspace through which whoever can write nowhere else hands over files, and is told what became of them.
//!
//! A file is written under another name and then linked, so that it is there whole or not at all. It stays until what it asks for
//! is done, so that a crash loses nothing; whoever takes it in must do the same one twice without harm. No link is followed on the way
//! to it, for the workspace belongs to programs that nobody trusts. What the files say is not known here.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, fstat, linkat, mkdirat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::feed;

/// Where it is in a workspace.
const FOLDER: [&str; 2] = [".postrider", "outbox"];
/// What keeps git from the folder, and what it says.
const IGNORE: (&str, &str) = (".gitignore", "*\n");
/// How the name of a file ends that waits, that is done, and that was refused.
const WAITS: &str = ".json";
const DONE: &str = ".done";
const REFUSED: &str = ".refused.json";
/// What the name of an unfinished file begins with.
const UNFINISHED: &str = ".";
/// How many files that wait are listed at once.
const MOST_FILES: usize = 1_000;
/// Of a folder with more files than these the rest is not looked at.
const MOST_LOOKED_AT: usize = 100_000;
/// How many files that were done are kept: nobody reads more answers.
const MOST_TOLD: usize = 1_000;
/// How long an id is at most.
const LONGEST_ID: usize = 64;
/// How long it is told that a file was done, and how long one that was refused is kept: it holds what was to be done.
const TOLD_FOR: Duration = Duration::from_secs(24 * 60 * 60);
const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The outbox of a workspace, open.
pub struct Outbox {
    folder: OwnedFd,
    path: PathBuf,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was done.
    Done,
    /// It was refused, for good.
    Refused,
}

/// What is found where a file waits.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// What the file says.
    File(Vec<u8>),
    /// Nothing: another one has taken it in.
    Gone,
    /// Something that was not handed over here: a link, no file, one of another user, or a file that is too large.
    Foreign,
}

impl Outbox {
    /// Where the outbox of a workspace is.
    pub fn path_in(workspace: &Path) -> PathBuf {
        workspace.join(FOLDER[0]).join(FOLDER[1])
    }

    /// When something in the outbox of a workspace last changed, if there is one. This is cheap.
    pub fn changed_at(workspace: &Path) -> Option<SystemTime> {
        let folder = Self::path_in(workspace).symlink_metadata().ok().filter(std::fs::Metadata::is_dir)?;
        folder.modified().ok()
    }

    /// Opens the outbox of a workspace, if there is one.
    pub fn find(workspace: &Path) -> io::Result<Option<Self>> {
        let opened = open_folder(CWD, workspace)
            .and_then(|folder| open_folder(&folder, FOLDER[0]))
            .and_then(|folder| open_folder(&folder, FOLDER[1]));
        match opened {
            Ok(folder) => Ok(Some(Self { folder, path: Self::path_in(workspace) })),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the outbox of a workspace, and makes it if there is none. Git does not see it.
    pub fn make(workspace: &Path) -> io::Result<Self> {
        let around = open_folder(CWD, workspace)?;
        let own = make_folder(&around, FOLDER[0])?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(&own, IGNORE.0, flags, Mode::from_raw_mode(0o644)) {
            Ok(file) => File::from(file).write_all(IGNORE.1.as_bytes())?,
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let folder = make_folder(&own, FOLDER[1])?;
        Ok(Self { folder, path: Self::path_in(workspace) })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Hands over a file. After `Ok` it survives a crash, and is taken in.
    pub fn put(&self, id: &str, content: &[u8]) -> io::Result<()> {
        let unfinished = self.write(content)?;
        let linked = linkat(&self.folder, &unfinished, &self.folder, format!("{id}{WAITS}"), AtFlags::empty());
        let _ = unlinkat(&self.folder, &unfinished, AtFlags::empty());
        linked?;
        rustix::fs::fsync(&self.folder)?;
        Ok(())
    }

    /// The ids of the files that wait, in order. What was told long ago goes.
    pub fn waiting(&self, now: SystemTime) -> io::Result<Vec<String>> {
        let (mut ids, mut told) = (Vec::new(), Vec::new());
        for entry in Dir::read_from(&self.folder)?.take(MOST_LOOKED_AT) {
            let entry = entry?;
            let Some(name) = name_of(entry.file_name()) else { continue };
            let is_waiting = !name.starts_with(UNFINISHED) && !name.ends_with(REFUSED);
            match name.strip_suffix(WAITS).filter(|id| is_waiting && is_id(id)) {
                Some(id) if ids.len() < MOST_FILES && self.is_file(name, entry.file_type()) => ids.push(id.to_owned()),
                Some(_) => {}
                None => {
                    told.extend(name.ends_with(DONE).then(|| name.to_owned()));
                    self.forget_if_old(name, now);
                }
            }
        }
        if let Some(too_many) = told.len().checked_sub(MOST_TOLD) {
            // Ids are in the order in which they were made.
            told.sort_unstable();
            told[..too_many].iter().for_each(|name| _ = unlinkat(&self.folder, name, AtFlags::empty()));
        }
        ids.sort_unstable();
        Ok(ids)
    }

    /// Whether a name is one of a file. Some file systems do not say so in the list.
    fn is_file(&self, name: &str, listed: FileType) -> bool {
        let about = || statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW);
        let kind = match listed {
            FileType::Unknown => about().map_or(listed, |about| FileType::from_raw_mode(about.st_mode)),
            listed => listed,
        };
        kind == FileType::RegularFile
    }

    /// What a file says, if it is there and ours.
    pub fn read(&self, id: &str, largest: usize) -> io::Result<Found> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(&self.folder, format!("{id}{WAITS}"), flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(Found::Gone),
            Err(Errno::LOOP | Errno::NXIO) => return Ok(Found::Foreign),
            Err(error) => return Err(error.into()),
        };
        let about = fstat(&file)?;
        let is_ours = FileType::from_raw_mode(about.st_mode) == FileType::RegularFile
            && about.st_uid == rustix::process::geteuid().as_raw()
            && u64::try_from(about.st_size).is_ok_and(|size| size <= largest as u64);
        if !is_ours {
            return Ok(Found::Foreign);
        }
        let mut content = Vec::new();
        // It may grow while it is read.
        File::from(file).take(largest as u64).read_to_end(&mut content)?;
        Ok(Found::File(content))
    }

    /// Tells what became of a file, and takes it away. If we die in between it is done once more.
    pub fn settle(&self, id: &str, outcome: Outcome, told: &[u8]) -> io::Result<()> {
        let end = if outcome == Outcome::Done { DONE } else { REFUSED };
        let unfinished = self.write(told)?;
        renameat(&self.folder, &unfinished, &self.folder, format!("{id}{end}"))?;
        if outcome == Outcome::Refused {
            // What it holds now is there before the file goes that held it.
            rustix::fs::fsync(&self.folder)?;
        }
        match unlinkat(&self.folder, format!("{id}{WAITS}"), AtFlags::empty()) {
            // Another one was quicker.
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes a file under a name that nobody looks for and nobody else has, whichever container they are in. One that somebody left when
    /// it died is forgotten with old files.
    fn write(&self, content: &[u8]) -> io::Result<String> {
        let name = format!("{UNFINISHED}{}", feed::own_name());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(&self.folder, &name, flags, Mode::from_raw_mode(0o600))?);
        let written = file.write_all(content).and_then(|()| file.sync_all());
        if written.is_err() {
            let _ = unlinkat(&self.folder, &name, AtFlags::empty());
        }
        written.map(|()| name)
    }

    /// Removes a file that was told of, or given up, long ago.
    fn forget_if_old(&self, name: &str, now: SystemTime) {
        let Ok(about) = statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(about.st_mtime).unwrap_or(0));
        let kept_for = if name.ends_with(REFUSED) { KEPT_FOR } else { TOLD_FOR };
        let is_old = now.duration_since(changed).is_ok_and(|age| age > kept_for);
        let is_ours = [DONE, REFUSED].iter().any(|end| name.ends_with(end)) || name.starts_with(UNFINISHED);
        if is_old && is_ours && FileType::from_raw_mode(about.st_mode) == FileType::RegularFile {
            let _ = unlinkat(&self.folder, name, AtFlags::empty());
        }
    }
}

/// Whether a name can be an id: what is not is no file of ours.
fn is_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= LONGEST_ID && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn name_of(name: &CStr) -> Option<&str> {
    name.to_str().ok().filter(|name| !matches!(*name, "." | ".."))
}

fn open_folder(around: impl AsFd, name: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(around, name, flags, Mode::empty())
}

fn make_folder(around: impl AsFd, name: &str) -> io::Result<OwnedFd> {
    match mkdirat(&around, name, Mode::from_raw_mode(0o700)) {
        Ok(()) => {
            // Else a crash could take the folder, and all that was handed over in it.
            let folder = open_folder(&around, name)?;
            rustix::fs::fsync(around)?;
            Ok(folder)
        }
        Err(Errno::EXIST) => Ok(open_folder(around, name)?),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn outbox() -> (tempfile::TempDir, Outbox) {
        let workspace = tempfile::tempdir().unwrap();
        let outbox = Outbox::make(workspace.path()).unwrap();
        (workspace, outbox)
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_handed_over_waits_in_order_until_it_is_told_what_became_of_it() {
        let (workspace, outbox) = outbox();
        outbox.put("b-2", b"two").unwrap();
        outbox.put("a-1", b"one").unwrap();
        assert!(outbox.put("a-1", b"other").is_err(), "nothing is replaced");
        let now = SystemTime::now();
        assert_eq!(outbox.waiting(now).unwrap(), ["a-1", "b-2"]);
        assert_eq!(outbox.read("a-1", 3).unwrap(), Found::File(b"one".to_vec()));
        outbox.settle("a-1", Outcome::Done, b"{}").unwrap();
        outbox.settle("b-2", Outcome::Refused, b"{}").unwrap();
        outbox.settle("b-2", Outcome::Refused, b"{}").unwrap();
        assert!(outbox.waiting(now).unwrap().is_empty());
        assert_eq!(names(outbox.path()), ["a-1.done", "b-2.refused.json"]);
        assert_eq!(fs::metadata(outbox.path().join("a-1.done")).unwrap().permissions().mode() & 0o777, 0o600);
        let ignored = fs::read_to_string(workspace.path().join(".postrider/.gitignore")).unwrap();
        assert_eq!(ignored, "*\n");
        assert_eq!(outbox.read("a-1", 3).unwrap(), Found::Gone);
        assert!(outbox.waiting(now + TOLD_FOR + Duration::from_secs(60)).unwrap().is_empty());
        assert_eq!(names(outbox.path()), ["b-2.refused.json"], "what was told long ago goes");
        outbox.waiting(now + KEPT_FOR + Duration::from_secs(60)).unwrap();
        assert!(names(outbox.path()).is_empty());
    }

    #[test]
    fn an_unfinished_file_is_nobodys_and_does_not_stand_in_the_way() {
        let (_workspace, outbox) = outbox();
        fs::write(outbox.path().join(".a-1"), "half").unwrap();
        assert!(outbox.waiting(SystemTime::now()).unwrap().is_empty());
        outbox.put("a-1", b"whole").unwrap();
        assert_eq!(outbox.read("a-1", 100).unwrap(), Found::File(b"whole".to_vec()));
        assert_eq!(names(outbox.path()), [".a-1", "a-1.json"]);
    }

    #[test]
    fn two_who_write_at_once_do_not_write_the_same_file() {
        let (_workspace, outbox) = outbox();
        assert_ne!(outbox.write(b"one").unwrap(), outbox.write(b"two").unwrap());
        assert_eq!(names(outbox.path()).len(), 2);
    }

    #[test]
    fn only_files_wait_and_what_is_no_file_of_ours_is_not_read() {
        let (_workspace, outbox) = outbox();
        let secret = outbox.path().join("secret");
        fs::write(&secret, "s").unwrap();
        symlink(&secret, outbox.path().join("a-1.json")).unwrap();
        fs::create_dir(outbox.path().join("a-2.json")).unwrap();
        fs::write(outbox.path().join("a-3.json"), "four").unwrap();
        fs::write(outbox.path().join("no id!.json"), "x").unwrap();
        assert_eq!(outbox.waiting(SystemTime::now()).unwrap(), ["a-3"]);
        for id in ["a-1", "a-2", "a-3"] {
            assert_eq!(outbox.read(id, 3).unwrap(), Found::Foreign, "{id}");
        }
        assert_eq!(fs::read_to_string(secret).unwrap(), "s");
    }

    #[test]
    fn however_much_is_kept_what_is_new_is_seen() {
        let (_workspace, outbox) = outbox();
        for number in 0..MOST_TOLD + 500 {
            fs::write(outbox.path().join(format!("a-{number:04}.done")), "").unwrap();
            fs::write(outbox.path().join(format!("a-{number:04}.refused.json")), "").unwrap();
        }
        outbox.put("b-1", b"new").unwrap();
        assert_eq!(outbox.waiting(SystemTime::now()).unwrap(), ["b-1"]);
        let names = names(outbox.path());
        let done: Vec<_> = names.iter().filter(|name| name.ends_with(DONE)).collect();
        assert_eq!((done.len(), done[0].as_str()), (MOST_TOLD, "a-0500.done"), "the oldest go");
        assert_eq!(names.len(), 1 + MOST_TOLD + MOST_TOLD + 500, "what was refused is kept");
    }

    #[test]
    fn a_link_on_the_way_to_it_is_not_followed() {
        let elsewhere = tempfile::tempdir().unwrap();
        Outbox::make(elsewhere.path()).unwrap();
        for (name, target) in [(".postrider", ".postrider"), (".postrider/outbox", ".postrider/outbox")] {
            let workspace = tempfile::tempdir().unwrap();
            fs::create_dir_all(workspace.path().join(name).parent().unwrap()).unwrap();
            symlink(elsewhere.path().join(target), workspace.path().join(name)).unwrap();
            assert!(Outbox::find(workspace.path()).unwrap().is_none(), "{name}");
            assert!(Outbox::make(workspace.path()).is_err(), "{name}");
        }
        assert!(Outbox::find(&elsewhere.path().join("none")).unwrap().is_none());
        assert!(Outbox::changed_at(elsewhere.path()).is_some());
    }
}
