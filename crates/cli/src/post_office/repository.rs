//! The git repository that a folder is in, found by its `.git`; git itself is not asked, because every command would wait
//! for it.
//!
//! A worktree belongs to the repository that it was made from: agents in several worktrees share one project.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A `.git` that is a file holds one line.
const LONGEST_LINE: u64 = 8 * 1024;

/// A working tree.
#[derive(Debug, PartialEq, Eq)]
pub struct Tree {
    /// Its top folder.
    pub top: PathBuf,
    /// The main folder of the repository that it belongs to; the top folder itself unless it is a worktree.
    pub main: PathBuf,
}

/// The main folder of the repository around `folder`.
pub fn around(folder: &Path) -> Option<PathBuf> {
    Some(Tree::around(folder)?.main)
}

impl Tree {
    /// The working tree around a file or folder, which need not be there.
    pub fn around(path: &Path) -> Option<Self> {
        let top = path.ancestors().find(|folder| folder.join(".git").exists())?;
        Some(Self { main: main_of_worktree(top).unwrap_or_else(|| top.to_owned()), top: top.to_owned() })
    }
}

/// The repository that `root` is a worktree of. A submodule is none: it is a repository of its own.
fn main_of_worktree(root: &Path) -> Option<PathBuf> {
    let own = root.join(line_of(&root.join(".git"))?.strip_prefix("gitdir:")?.trim());
    let shared = own.join(line_of(&own.join("commondir"))?.trim());
    let shared = shared.canonicalize().ok()?;
    (shared.file_name()? == ".git").then(|| shared.parent().map(Path::to_owned))?
}

fn line_of(file: &Path) -> Option<String> {
    let mut text = String::new();
    fs::File::open(file).ok()?.take(LONGEST_LINE).read_to_string(&mut text).ok()?;
    Some(text.lines().next()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_around_a_folder_is_found_and_there_may_be_none() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        fs::create_dir_all(home.join("app/.git")).unwrap();
        fs::create_dir_all(home.join("app/src/deep")).unwrap();
        assert_eq!(around(&home.join("app/src/deep")), Some(home.join("app")));
        assert_eq!(around(&home.join("app")), Some(home.join("app")));
    }

    #[test]
    fn a_worktree_belongs_to_its_repository_and_a_submodule_to_itself() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        fs::create_dir_all(home.join("app/.git/worktrees/side")).unwrap();
        fs::write(home.join("app/.git/worktrees/side/commondir"), "../..\n").unwrap();
        fs::create_dir_all(home.join("side/src")).unwrap();
        fs::write(home.join("side/.git"), format!("gitdir: {}/app/.git/worktrees/side\n", home.display())).unwrap();
        assert_eq!(around(&home.join("side/src")), Some(home.join("app")));
        let side = Tree { top: home.join("side"), main: home.join("app") };
        assert_eq!(Tree::around(&home.join("side/src/not/there.rs")), Some(side));
        fs::create_dir_all(home.join("app/.git/modules/lib")).unwrap();
        fs::create_dir_all(home.join("app/lib")).unwrap();
        fs::write(home.join("app/lib/.git"), "gitdir: ../.git/modules/lib\n").unwrap();
        assert_eq!(around(&home.join("app/lib")), Some(home.join("app/lib")));
    }
}
