//! What git knows of the repository that a command is run in.
//!
//! Git is asked and nothing of its files is read here, so worktrees, settings and the index of a commit under way are as
//! git has them. Nothing is changed.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::post_office::real;

/// A working tree and the repository behind it.
pub struct Repository {
    /// The top folder of the working tree.
    pub top: PathBuf,
}

/// Where git looks for hooks.
pub struct Hooks {
    /// The folder; it may not be there yet.
    pub folder: PathBuf,
    /// Whether it is outside of the repository, so that others may use it too.
    pub is_shared: bool,
}

impl Repository {
    /// The repository whose working tree `folder` is in.
    pub fn around(folder: &Path) -> anyhow::Result<Self> {
        let top = git(folder, &["rev-parse", "--show-toplevel"])
            .with_context(|| format!("'{}' is in no working tree of git", folder.display()))?;
        Ok(Self { top: line(top)?.into() })
    }

    /// Where git looks for hooks.
    pub fn hooks(&self) -> anyhow::Result<Hooks> {
        let folder = self.place(&["--git-path", "hooks"])?;
        // Working trees of one repository share its folder, which may be outside of this one.
        let common = self.place(&["--git-common-dir"])?;
        let is_shared = ![&self.top, &common].iter().any(|own| real(&folder).starts_with(real(own)));
        Ok(Hooks { folder, is_shared })
    }

    /// The paths that a commit would change now, from the top of the working tree. A file that was renamed has both of
    /// its names. In a merge, what is as one of the merged branches has it is nobody's change.
    pub fn staged(&self) -> anyhow::Result<BTreeSet<String>> {
        let mut staged = self.differing_from(None)?;
        for branch in self.merged()? {
            let differing = self.differing_from(Some(&branch))?;
            staged.retain(|path| differing.contains(path));
        }
        Ok(staged)
    }

    /// A place that git knows.
    fn place(&self, asked: &[&str]) -> anyhow::Result<PathBuf> {
        Ok(self.top.join(line(git(&self.top, &[&["rev-parse"], asked].concat())?)?))
    }

    /// The paths that differ between a commit and the index. Without a commit it is the one that is checked out, if any.
    fn differing_from(&self, commit: Option<&str>) -> anyhow::Result<BTreeSet<String>> {
        let usual = ["diff", "--cached", "--name-only", "-z", "--no-renames", "--ignore-submodules=none"];
        let arguments: Vec<&str> = usual.into_iter().chain(commit).chain(["--"]).collect();
        let paths = git(&self.top, &arguments)?;
        let paths = paths.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok(paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect())
    }

    /// The commits that are being merged into the one that is checked out.
    fn merged(&self) -> anyhow::Result<Vec<String>> {
        let file = self.place(&["--git-path", "MERGE_HEAD"])?;
        match fs::read_to_string(&file) {
            Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error).with_context(|| format!("cannot read '{}'", file.display())),
        }
    }
}

/// What git prints.
fn git(folder: &Path, arguments: &[&str]) -> anyhow::Result<Vec<u8>> {
    let ran = Command::new("git").arg("-C").arg(folder).args(arguments).output().context("git cannot be run")?;
    if !ran.status.success() {
        let said = String::from_utf8_lossy(&ran.stderr);
        bail!("git {} failed: {}", arguments[0], said.trim());
    }
    Ok(ran.stdout)
}

/// A path that git printed as a line.
fn line(printed: Vec<u8>) -> anyhow::Result<String> {
    let text = String::from_utf8(printed).ok().context("the path of the repository is not Unicode")?;
    Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
}
