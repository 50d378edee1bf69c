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
/// More files than these are not looked at: nobody reads so many answers.
const MOST_FILES: usize = 1_000;
/// How long an id is at most.
const LONGEST_ID: usize = 64;
/// How long it is told what became of a file.
const TOLD_FOR: Duration = Duration::from_secs(24 * 60 * 60);

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
        let unfinished = format!("{UNFINISHED}{id}");
        self.write(&unfinished, content)?;
        let linked = linkat(&self.folder, &unfinished, &self.folder, format!("{id}{WAITS}"), AtFlags::empty());
        let _ = unlinkat(&self.folder, &unfinished, AtFlags::empty());
        linked?;
        rustix::fs::fsync(&self.folder)?;
        Ok(())
    }

    /// The ids of the files that wait, in order. What was told long ago goes.
    pub fn waiting(&self, now: SystemTime) -> io::Result<Vec<String>> {
        let mut ids = Vec::new();
        for entry in Dir::read_from(&self.folder)?.take(MOST_FILES) {
            let entry = entry?;
            let Some(name) = name_of(entry.file_name()) else { continue };
            let is_waiting = !name.starts_with(UNFINISHED) && !name.ends_with(REFUSED);
            match name.strip_suffix(WAITS).filter(|id| is_waiting && is_id(id)) {
                Some(id) => ids.push(id.to_owned()),
                None => self.forget_if_old(name, now),
            }
        }
        ids.sort_unstable();
        Ok(ids)
    }

    /// What a file says; none if it is gone, or none of ours: too large, a link, or no file at all.
    pub fn read(&self, id: &str, largest: usize) -> io::Result<Option<Vec<u8>>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(&self.folder, format!("{id}{WAITS}"), flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let about = fstat(&file)?;
        let is_ours = FileType::from_raw_mode(about.st_mode) == FileType::RegularFile
            && about.st_uid == rustix::process::geteuid().as_raw()
            && u64::try_from(about.st_size).is_ok_and(|size| size <= largest as u64);
        if !is_ours {
            return Ok(None);
        }
        let mut content = Vec::new();
        // It may grow while it is read.
        File::from(file).take(largest as u64).read_to_end(&mut content)?;
        Ok(Some(content))
    }

    /// Tells what became of a file, and takes it away. If we die in between it is done once more.
    pub fn settle(&self, id: &str, outcome: Outcome, told: &[u8]) -> io::Result<()> {
        let end = if outcome == Outcome::Done { DONE } else { REFUSED };
        let unfinished = format!("{UNFINISHED}{id}{end}");
        self.write(&unfinished, told)?;
        renameat(&self.folder, &unfinished, &self.folder, format!("{id}{end}"))?;
        match unlinkat(&self.folder, format!("{id}{WAITS}"), AtFlags::empty()) {
            // Another one was quicker, or it is no file.
            Ok(()) | Err(Errno::NOENT | Errno::ISDIR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes a file under a name that nobody looks for. One that somebody left when it died goes first.
    fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let _ = unlinkat(&self.folder, name, AtFlags::empty());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(&self.folder, name, flags, Mode::from_raw_mode(0o600))?);
        file.write_all(content)?;
        file.sync_all()
    }

    /// Removes a file that was told of, or given up, long ago.
    fn forget_if_old(&self, name: &str, now: SystemTime) {
        let Ok(about) = statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(about.st_mtime).unwrap_or(0));
        let is_old = now.duration_since(changed).is_ok_and(|age| age > TOLD_FOR);
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
        Ok(()) | Err(Errno::EXIST) => Ok(open_folder(around, name)?),
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
        assert_eq!(outbox.read("a-1", 3).unwrap().as_deref(), Some(&b"one"[..]));
        outbox.settle("a-1", Outcome::Done, b"{}").unwrap();
        outbox.settle("b-2", Outcome::Refused, b"{}").unwrap();
        outbox.settle("b-2", Outcome::Refused, b"{}").unwrap();
        assert!(outbox.waiting(now).unwrap().is_empty());
        assert_eq!(names(outbox.path()), ["a-1.done", "b-2.refused.json"]);
        assert_eq!(fs::metadata(outbox.path().join("a-1.done")).unwrap().permissions().mode() & 0o777, 0o600);
        let ignored = fs::read_to_string(workspace.path().join(".postrider/.gitignore")).unwrap();
        assert_eq!(ignored, "*\n");
        assert!(outbox.waiting(now + TOLD_FOR + Duration::from_secs(60)).unwrap().is_empty());
        assert!(names(outbox.path()).is_empty(), "what was told long ago goes");
    }

    #[test]
    fn an_unfinished_file_is_nobodys_and_does_not_stand_in_the_way() {
        let (_workspace, outbox) = outbox();
        fs::write(outbox.path().join(".a-1"), "half").unwrap();
        assert!(outbox.waiting(SystemTime::now()).unwrap().is_empty());
        outbox.put("a-1", b"whole").unwrap();
        assert_eq!(outbox.read("a-1", 100).unwrap().as_deref(), Some(&b"whole"[..]));
        assert_eq!(names(outbox.path()), ["a-1.json"]);
    }

    #[test]
    fn links_folders_and_what_is_too_large_are_not_read() {
        let (_workspace, outbox) = outbox();
        let secret = outbox.path().join("secret");
        fs::write(&secret, "s").unwrap();
        symlink(&secret, outbox.path().join("a-1.json")).unwrap();
        fs::create_dir(outbox.path().join("a-2.json")).unwrap();
        fs::write(outbox.path().join("a-3.json"), "four").unwrap();
        fs::write(outbox.path().join("no id!.json"), "x").unwrap();
        assert_eq!(outbox.waiting(SystemTime::now()).unwrap(), ["a-1", "a-2", "a-3"]);
        for id in ["a-1", "a-2", "a-3"] {
            assert_eq!(outbox.read(id, 3).unwrap(), None, "{id}");
            outbox.settle(id, Outcome::Refused, b"{}").unwrap();
        }
        assert_eq!(fs::read_to_string(secret).unwrap(), "s");
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
