//! Reading and writing files of configuration: all of them or none, and never half of one.
//!
//! A new text is written beside the old one and takes its place in one step. A link is followed, permissions stay. What
//! is read-only, or was changed by somebody else in the meantime, stops the whole.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::NamedTempFile;

use super::refused;
use crate::commands::given;

/// What becomes of a file. No text means no file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// The file.
    pub path: PathBuf,
    /// What was read.
    pub before: Option<String>,
    /// What is to be there.
    pub after: Option<String>,
    /// What it is when it is made.
    pub kind: FileKind,
}

/// Who may do what with a file that is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// What the user's other files allow.
    Usual,
    /// It is for its owner alone.
    Private,
    /// It can be run.
    Program,
}

/// The text of a file, if there is one.
pub(crate) fn read(path: &Path) -> anyhow::Result<Option<String>> {
    let unusable = |what: &str| {
        let hint = "Nothing was changed. Put a file there, or nothing, then run the command again.";
        Err(refused("CONFIG_UNUSABLE", &format!("'{}' is {what}", path.display()), hint))
    };
    match fs::metadata(path) {
        Ok(about) if about.is_file() => Ok(Some(given::text_of(Some(path))?)),
        // A pipe would be waited for without end.
        Ok(_) => unusable("no regular file"),
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.is_symlink() => unusable("a link to nothing"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read '{}'", path.display())),
    }
}

/// The folders on the way to a file that are not there, the outermost first.
pub(crate) fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let mut missing: Vec<PathBuf> =
        path.ancestors().skip(1).take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
    missing.reverse();
    missing
}

/// Removes folders that have nothing in them, the innermost first.
pub(crate) fn remove_empty(folders: &[PathBuf]) {
    for folder in folders.iter().rev() {
        // One with something in it stays, and so do those around it.
        let _ = fs::remove_dir(folder);
    }
}

/// Makes every change, or none of them.
pub(crate) fn write_all(changes: &[Change]) -> anyhow::Result<()> {
    let mut made = Vec::new();
    let staged: anyhow::Result<Vec<Staged<'_>>> = changes.iter().map(|change| stage(change, &mut made)).collect();
    let written = staged.and_then(commit_all);
    if written.is_err() {
        remove_empty(&made);
    }
    written
}

/// A change that has only to be put in place.
struct Staged<'c> {
    change: &'c Change,
    target: PathBuf,
    content: Option<NamedTempFile>,
}

fn stage<'c>(change: &'c Change, made: &mut Vec<PathBuf>) -> anyhow::Result<Staged<'c>> {
    let target = if change.path.is_symlink() { change.path.canonicalize()? } else { change.path.clone() };
    let cannot = || format!("cannot write '{}'; nothing was changed", target.display());
    let present = match fs::metadata(&target) {
        Ok(metadata) => Some(metadata.permissions()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(cannot),
    };
    if let Some(permissions) = &present {
        // Whoever may do anything could write it all the same, and whoever may not could still replace it.
        let is_open = !permissions.readonly() && File::options().write(true).open(&target).is_ok();
        if !is_open {
            return Err(refused(
                "CONFIG_READ_ONLY",
                &format!("'{}' is read-only", target.display()),
                "Nothing was changed. Make it writable, then run the command again.",
            ));
        }
    }
    let Some(text) = &change.after else { return Ok(Staged { change, target, content: None }) };
    let folder = target.parent().unwrap_or(Path::new("/"));
    for missing in missing_folders(&target) {
        let mode = if change.kind == FileKind::Private { 0o700 } else { 0o777 };
        fs::DirBuilder::new().mode(mode).create(&missing).with_context(cannot)?;
        made.push(missing);
    }
    let mut beside = tempfile::Builder::new();
    let mode = match change.kind {
        FileKind::Usual => 0o666,
        FileKind::Private => 0o600,
        FileKind::Program => 0o777,
    };
    beside.prefix(".postrider-").permissions(Permissions::from_mode(mode));
    let written = beside.tempfile_in(folder).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        present.map_or(Ok(()), |permissions| file.as_file().set_permissions(permissions))?;
        file.as_file().sync_all()?;
        Ok(file)
    });
    let content = Some(written.with_context(cannot)?);
    Ok(Staged { change, target, content })
}

fn commit_all(staged: Vec<Staged<'_>>) -> anyhow::Result<()> {
    let mut done: Vec<&Change> = Vec::new();
    for staged in staged {
        let change = staged.change;
        if let Err(error) = commit(staged) {
            // What was there before is put back, as far as that is possible.
            for Change { path, before, after, kind } in done.into_iter().cloned() {
                let back = Change { path, before: after, after: before, kind };
                let _ = stage(&back, &mut Vec::new()).and_then(commit);
            }
            return Err(error);
        }
        done.push(change);
    }
    Ok(())
}

fn commit(staged: Staged<'_>) -> anyhow::Result<()> {
    let Staged { change, target, content } = staged;
    if read(&change.path)? != change.before {
        return Err(refused(
            "CONFIG_CHANGED",
            &format!("'{}' was changed by another program in this moment", target.display()),
            "Nothing was changed by this one. Run the command again.",
        ));
    }
    let put = match content {
        Some(content) => content.persist(&target).map(drop).map_err(|error| error.error),
        None => fs::remove_file(&target),
    };
    let folder = target.parent().unwrap_or(Path::new("/"));
    put.and_then(|()| File::open(folder)?.sync_all())
        .with_context(|| format!("cannot write '{}'; nothing was changed", target.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn change(path: &Path, before: Option<&str>, after: Option<&str>) -> Change {
        let text = |text: Option<&str>| text.map(str::to_owned);
        Change { path: path.to_owned(), before: text(before), after: text(after), kind: FileKind::Usual }
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn one_file_that_cannot_be_written_keeps_all_of_them_as_they_were() {
        let place = tempfile::tempdir().unwrap();
        let [first, fixed, new] = ["first", "fixed", "deep/er/new"].map(|name| place.path().join(name));
        fs::write(&first, "1").unwrap();
        fs::write(&fixed, "2").unwrap();
        fs::set_permissions(&fixed, Permissions::from_mode(0o444)).unwrap();
        let others = [change(&first, Some("1"), Some("x")), change(&new, None, Some("x"))];
        for last in [change(&fixed, Some("2"), Some("x")), change(&fixed, Some("2"), None)] {
            let error = write_all(&[&others[..], &[last]].concat()).unwrap_err().to_string();
            assert!(error.contains("fixed") && error.contains("CONFIG_READ_ONLY"), "{error}");
            assert_eq!(names(place.path()), ["first", "fixed"], "no trace of what was begun");
            assert_eq!(fs::read_to_string(&first).unwrap(), "1");
        }
        let lost = change(&fixed, Some("what somebody else replaced"), Some("x"));
        fs::set_permissions(&fixed, Permissions::from_mode(0o644)).unwrap();
        let error = write_all(&[&others[..], &[lost]].concat()).unwrap_err().to_string();
        assert!(error.contains("CONFIG_CHANGED"), "{error}");
        assert_eq!((names(place.path()).len(), fs::read_to_string(&first).unwrap().as_str()), (2, "1"), "taken back");
    }

    #[test]
    fn a_link_stays_and_its_target_is_written_with_its_permissions() {
        let place = tempfile::tempdir().unwrap();
        let (target, link) = (place.path().join("target"), place.path().join("link"));
        fs::write(&target, "old").unwrap();
        fs::set_permissions(&target, Permissions::from_mode(0o640)).unwrap();
        symlink("target", &link).unwrap();
        write_all(&[change(&link, Some("old"), Some("new"))]).unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);
        fs::remove_file(&target).unwrap();
        let error = format!("{:#}", read(&link).unwrap_err());
        assert!(error.contains("link' is a link to nothing"), "{error}");
    }

    #[test]
    fn folders_are_made_and_go_again_only_when_they_are_empty() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("a/b/file");
        let missing = missing_folders(&file);
        assert_eq!(missing, [place.path().join("a"), place.path().join("a/b")]);
        write_all(&[change(&file, None, Some("x"))]).unwrap();
        fs::write(place.path().join("a/kept"), "").unwrap();
        write_all(&[change(&file, Some("x"), None)]).unwrap();
        remove_empty(&missing);
        assert_eq!(names(&place.path().join("a")), ["kept"]);
    }

    #[test]
    fn a_private_file_is_for_its_owner_alone_and_so_is_its_folder() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("own/file");
        write_all(&[Change { kind: FileKind::Private, ..change(&file, None, Some("x")) }]).unwrap();
        for path in [&file, &place.path().join("own")] {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o077, 0, "{}", path.display());
        }
    }
}
