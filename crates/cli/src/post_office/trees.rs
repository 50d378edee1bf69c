//! Working trees of git, found by what stands in their folders.
//!
//! Git itself is not asked, because every command would wait for it. A worktree belongs to the repository that it was made
//! from, and so does a folder of either: agents in several of them share one project. A submodule is a repository of its
//! own. Whatever a `.git` says, no more is done than to read the few files that git would read, and those only as text.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use formats::git_config::GitConfig;
use mail::projects::{KeyedBy, WorkTree, WorkTrees, remote_key};

/// The name of a repository in its working tree.
const GIT: &str = ".git";
/// A `.git` that is a file holds one line, and no settings are longer.
const LONGEST_LINE: u64 = 8 * 1024;
const LONGEST_SETTINGS: u64 = 256 * 1024;
/// How many links are followed, as systems do.
const MOST_LINKS: usize = 40;

/// A working tree.
#[derive(Debug, PartialEq, Eq)]
pub struct Tree {
    /// Its top folder; of a repository without working tree its own folder.
    pub top: PathBuf,
    /// The main folder of the repository that it belongs to; the top folder itself unless it is a worktree.
    pub main: PathBuf,
    /// Where git keeps what belongs to this working tree alone.
    pub git: PathBuf,
    /// Where the repository keeps what all its working trees have in common.
    common: PathBuf,
}

impl Tree {
    /// The working tree around a file or folder, which need not be there.
    pub fn around(path: &Path) -> Option<Self> {
        let is_inside_git = path.components().any(|part| part.as_os_str() == GIT);
        for folder in path.ancestors() {
            if folder.join(GIT).exists() {
                return Some(Self::at(folder));
            }
            if !is_inside_git && is_bare(folder) {
                let (main, common) = (main_of(folder)?, folder.to_owned());
                return Some(Self { top: folder.to_owned(), main, git: common.clone(), common });
            }
        }
        None
    }

    fn at(top: &Path) -> Self {
        let itself = |git: PathBuf| Self { top: top.to_owned(), main: top.to_owned(), common: git.clone(), git };
        let Some(own) = git_folder(top) else { return itself(top.join(GIT)) };
        let shared = line_of(&own.join("commondir")).and_then(|line| own.join(line.trim()).canonicalize().ok());
        match shared.and_then(|shared| Some((main_of(&shared)?, shared))) {
            Some((main, common)) => Self { top: top.to_owned(), main, git: own, common },
            None => itself(own),
        }
    }

    /// The key of the remote that the repository came from: of `origin`, or of the only one that there is.
    pub fn remote(&self) -> Option<String> {
        let settings = settings_of(&self.common)?;
        let mut remotes = settings.named("remote");
        let origin = remotes.iter().position(|name| name == "origin");
        let name = match origin {
            Some(at) => remotes.swap_remove(at),
            None if remotes.len() == 1 => remotes.remove(0),
            None => return None,
        };
        remote_key(&settings.get("remote", &name, "url")?)
    }
}

/// Where the `.git` of a working tree says that its repository is, if it is a file.
fn git_folder(top: &Path) -> Option<PathBuf> {
    let line = line_of(&top.join(GIT))?;
    Some(top.join(line.strip_prefix("gitdir:")?.trim()))
}

/// The main folder of the repository that keeps its things in `shared`.
fn main_of(shared: &Path) -> Option<PathBuf> {
    let parent = shared.parent()?;
    if shared.file_name()? == GIT {
        return Some(parent.to_owned());
    }
    let settings = settings_of(shared)?;
    if let Some(tree) = settings.get("core", "", "worktree") {
        return shared.join(tree).canonicalize().ok();
    }
    // A repository without working tree that stands in one folder with its worktrees: that folder leads to it.
    let leads_here = git_folder(parent).and_then(|led| led.canonicalize().ok()).is_some_and(|led| led == shared);
    let is_bare = settings.get("core", "", "bare").is_some_and(|bare| bare.eq_ignore_ascii_case("true"));
    match (leads_here, is_bare) {
        (true, _) => Some(parent.to_owned()),
        (false, true) => Some(shared.to_owned()),
        (false, false) => None,
    }
}

/// Whether a folder is a repository without a working tree.
fn is_bare(folder: &Path) -> bool {
    folder.join("HEAD").is_file()
        && folder.join("objects").is_dir()
        && folder.join("refs").is_dir()
        && main_of(folder).is_some()
}

fn settings_of(git: &Path) -> Option<GitConfig> {
    Some(GitConfig::read(&regular_text(&git.join("config"), LONGEST_SETTINGS)?))
}

fn line_of(file: &Path) -> Option<String> {
    Some(regular_text(file, LONGEST_LINE)?.lines().next()?.to_owned())
}

/// The text of a regular file: a pipe would be waited for without end.
pub fn regular_text(file: &Path, longest: u64) -> Option<String> {
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(file).ok()?.take(longest).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The key that hooks and commands have for what somebody calls a project: a path in a repository on this machine means that.
pub fn repository_of(key: &str) -> String {
    let path = Path::new(key);
    if !path.is_absolute() {
        return key.to_owned();
    }
    let path = real(path);
    let top = Tree::around(&path).map_or(path, |tree| tree.main);
    top.into_os_string().into_string().unwrap_or_else(|_| key.to_owned())
}

/// Where symbolic links lead, whether or not anything is there: a write through a link to nothing makes its target.
pub fn real(path: &Path) -> PathBuf {
    let parts =
        |path: &Path| path.components().rev().map(|part| part.as_os_str().to_owned()).collect::<Vec<OsString>>();
    let (mut whole, mut left, mut links) = (PathBuf::new(), parts(path), 0);
    while let Some(part) = left.pop() {
        if part == ".." {
            whole.pop();
            continue;
        }
        whole.push(part);
        if let Some(target) = whole.read_link().ok().filter(|_| links < MOST_LINKS) {
            links += 1;
            whole.pop();
            left.extend(parts(&target));
        }
    }
    whole
}

/// What can be seen on the disks of this machine.
pub struct OnDisk(pub KeyedBy);

#[async_trait]
impl WorkTrees for OnDisk {
    async fn around(&self, path: &str) -> Option<WorkTree> {
        let (keyed_by, path) = (self.0, PathBuf::from(path));
        // A path of another system is none of this machine, and a disk may take its time.
        if !path.is_absolute() {
            return None;
        }
        tokio::task::spawn_blocking(move || seen_at(&path, keyed_by)).await.ok().flatten()
    }
}

fn seen_at(path: &Path, keyed_by: KeyedBy) -> Option<WorkTree> {
    let path = real(path);
    let tree = Tree::around(&path)?;
    let text = |path: &Path| path.to_str().map(str::to_owned);
    let remote = if keyed_by == KeyedBy::Remote { tree.remote() } else { None };
    Some(WorkTree {
        top: text(&tree.top)?,
        main: text(&tree.main)?,
        below: text(path.strip_prefix(&tree.top).ok()?)?,
        remote,
    })
}

#[cfg(test)]
mod tests;
