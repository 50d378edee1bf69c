//! Which commit a working tree stands at, and on which branch: read from the files of the repository, for git itself would be waited for.

use std::path::Path;

use crate::post_office::{Tree, regular_text};

/// How much of a file is read. The list of all references may be long.
const LONGEST: u64 = 4 << 20;
/// How many digits of a commit's number are told.
const DIGITS: usize = 12;

/// The branch and the commit of the working tree around a folder, as in `main at 1a2b3c4d5e6f`; none outside of one.
pub fn head_of(folder: &Path) -> Option<String> {
    let git = Tree::around(folder)?.git;
    let head = text_of(&git.join("HEAD"))?;
    let head = head.lines().next()?.trim();
    let Some(reference) = head.strip_prefix("ref:").map(str::trim) else {
        return Some(format!("no branch, at {}", short(head)?));
    };
    let branch = reference.strip_prefix("refs/heads/").unwrap_or(reference);
    // A branch without a commit is one that was just begun.
    Some(match commit_of(&git, reference) {
        Some(commit) => format!("{branch} at {commit}"),
        None => format!("{branch}, without a commit"),
    })
}

fn commit_of(git: &Path, reference: &str) -> Option<String> {
    let is_plain = reference.starts_with("refs/") && !reference.split('/').any(|part| part == "..");
    let reference = Some(reference).filter(|_| is_plain)?;
    // All working trees of a repository have their branches in one folder.
    let shared = text_of(&git.join("commondir")).map(|line| git.join(line.trim()));
    let folders = [Some(git), shared.as_deref()].into_iter().flatten();
    let loose = |folder: &Path| short(text_of(&folder.join(reference))?.trim());
    let packed = |folder: &Path| {
        let text = text_of(&folder.join("packed-refs"))?;
        let line = text.lines().find_map(|line| line.strip_suffix(reference)?.strip_suffix(' '))?;
        short(line)
    };
    folders.clone().find_map(loose).or_else(|| folders.clone().find_map(packed))
}

/// The beginning of the number of a commit, if it is one.
fn short(number: &str) -> Option<String> {
    let is_number = number.len() >= DIGITS && number.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number.then(|| number[..DIGITS].to_owned())
}

fn text_of(path: &Path) -> Option<String> {
    regular_text(path, LONGEST)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    const NUMBER: &str = "0123456789abcdef0123456789abcdef01234567";

    fn repository() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().join("app");
        fs::create_dir_all(top.join(".git/refs/heads/feat")).unwrap();
        fs::create_dir_all(top.join("src")).unwrap();
        fs::write(top.join(".git/HEAD"), "ref: refs/heads/feat/x\n").unwrap();
        (folder, top)
    }

    #[test]
    fn a_branch_is_told_with_its_commit_wherever_git_keeps_it() {
        let (_folder, top) = repository();
        assert_eq!(head_of(&top).as_deref(), Some("feat/x, without a commit"));
        let packed =
            format!("# pack-refs with: peeled\n{NUMBER} refs/heads/feat/xy\nabcdefabcdef00 refs/heads/feat/x\n");
        fs::write(top.join(".git/packed-refs"), packed).unwrap();
        assert_eq!(head_of(&top).as_deref(), Some("feat/x at abcdefabcdef"));
        fs::write(top.join(".git/refs/heads/feat/x"), format!("{NUMBER}\n")).unwrap();
        assert_eq!(head_of(&top.join("src")).as_deref(), Some("feat/x at 0123456789ab"));
        fs::write(top.join(".git/HEAD"), format!("{NUMBER}\n")).unwrap();
        assert_eq!(head_of(&top).as_deref(), Some("no branch, at 0123456789ab"));
    }

    #[test]
    fn a_worktree_has_its_own_branch() {
        let (folder, top) = repository();
        fs::write(top.join(".git/refs/heads/feat/x"), format!("{NUMBER}\n")).unwrap();
        let own = top.join(".git/worktrees/side");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(own.join("HEAD"), "ref: refs/heads/feat/x\n").unwrap();
        let side = folder.path().join("side");
        fs::create_dir_all(&side).unwrap();
        fs::write(side.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        assert_eq!(head_of(&side).as_deref(), Some("feat/x at 0123456789ab"));
    }

    #[test]
    fn what_is_no_repository_or_a_broken_one_has_no_head() {
        let (_folder, top) = repository();
        for head in ["", "nonsense", "012é4567890123"] {
            fs::write(top.join(".git/HEAD"), head).unwrap();
            assert_eq!(head_of(&top), None, "{head:?}");
        }
        fs::write(top.join(".git/HEAD"), "ref: refs/../../x\n").unwrap();
        assert_eq!(head_of(&top).as_deref(), Some("refs/../../x, without a commit"));
        assert_eq!(head_of(Path::new("/nowhere")), None);
    }

    #[test]
    fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
        let (_folder, top) = repository();
        let head = top.join(".git/HEAD");
        fs::remove_file(&head).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&head).status().unwrap().success());
        assert_eq!(head_of(&top), None);
    }
}
