//! Where a file that a tool names is in the project.
//!
//! Reservations are on paths from the root of the project. A file may have several such names: as it is written, where symbolic
//! links lead, and in a worktree the name that it has in the repository. Any of them may be reserved. What is outside the
//! project is nobody's business here.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use crate::commands::guard::in_project;
use crate::post_office::{Tree, real};

/// The longest path that a system takes.
const LONGEST: usize = 4096;

/// The names that `path`, as a tool at `cwd` says it, has from `root`; none if it is not below it.
pub fn within(root: &Path, cwd: &Path, path: &str) -> Vec<String> {
    if path.len() > LONGEST {
        return Vec::new();
    }
    let (written, real_root) = (written(&cwd.join(path)), real(root));
    let real_file = real(&written);
    let found = [below(root, &written), below(&real_root, &real_file), in_tree(&real_root, &real(cwd), &real_file)];
    let mut seen = HashSet::new();
    found.into_iter().flatten().filter(|name| seen.insert(name.clone())).collect()
}

/// The path without `.` and `..`. What stands before a `..` may be a link, and then the way up is from where it leads.
fn written(path: &Path) -> PathBuf {
    let parts: Vec<Component<'_>> = path.components().collect();
    let ups = parts.iter().rposition(|part| *part == Component::ParentDir).map_or(0, |last| last + 1);
    let (before, after) = parts.split_at(ups);
    let mut whole = if before.is_empty() { PathBuf::new() } else { real(&before.iter().collect::<PathBuf>()) };
    whole.extend(after);
    whole
}

/// What a commit in the working tree around a file would call it.
fn in_tree(root: &Path, cwd: &Path, file: &Path) -> Option<String> {
    let tree = Tree::around(file)?;
    let name = below(&tree.top, file)?;
    // Files of another repository than the one where the agent is count only where they are in the project.
    let is_here = Tree::around(cwd).is_some_and(|here| here.main == tree.main);
    if is_here { in_project(&name, tree.main.to_str()?, root.to_str()?) } else { below(root, &tree.main.join(name)) }
}

fn below(root: &Path, path: &Path) -> Option<String> {
    let relative = path.strip_prefix(root).ok()?;
    let parts: Option<Vec<&str>> = relative.components().map(|part| part.as_os_str().to_str()).collect();
    parts.filter(|parts| !parts.is_empty()).map(|parts| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(cwd: &str, path: &str) -> Vec<String> {
        within(Path::new("/nowhere/app"), Path::new(cwd), path)
    }

    #[test]
    fn a_file_of_the_project_is_named_from_its_root() {
        for (cwd, path, name) in [
            ("/nowhere/app", "/nowhere/app/src/lib.rs", "src/lib.rs"),
            ("/nowhere/app/src", "lib.rs", "src/lib.rs"),
            ("/nowhere/app/src", "./../docs//a.md", "docs/a.md"),
            ("/elsewhere", "/nowhere/app/./x", "x"),
            ("", "/nowhere/app/x", "x"),
        ] {
            assert_eq!(names(cwd, path), [name], "{cwd} {path}");
        }
    }

    #[test]
    fn what_is_outside_is_nobodys_business() {
        for path in ["/nowhere/app", "/nowhere/application/x", "/etc/hosts", "../../x", "src/../../x", ""] {
            assert!(names("/nowhere/app", path).is_empty(), "{path}");
        }
        assert!(names("/nowhere/app", &"a/".repeat(10_000_000)).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_known_by_both_its_names() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("app");
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::write(root.join("src/real.rs"), "").unwrap();
        symlink(root.join("src/real.rs"), root.join("link.rs")).unwrap();
        symlink(&root, folder.path().join("other")).unwrap();
        assert_eq!(within(&root, &root, "link.rs"), ["link.rs", "src/real.rs"]);
        assert_eq!(within(&root, &folder.path().join("other"), "src/new.rs"), ["src/new.rs"]);
        assert_eq!(within(&folder.path().join("other"), &root, "src/real.rs"), ["src/real.rs"]);
        symlink("/", root.join("out")).unwrap();
        assert_eq!(within(&root, &root, "out/x"), ["out/x"]);
    }

    #[cfg(unix)]
    #[test]
    fn the_way_up_is_from_where_a_link_leads_and_a_link_to_nothing_names_what_it_would_make() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("src/deep")).unwrap();
        symlink("src/deep", root.join("dl")).unwrap();
        assert_eq!(within(&root, &root, "dl/../a.rs"), ["src/a.rs"]);
        assert_eq!(within(&root, &root.join("dl"), "../a.rs"), ["src/a.rs"]);
        symlink("src/new.rs", root.join("link.rs")).unwrap();
        assert_eq!(within(&root, &root, "link.rs"), ["link.rs", "src/new.rs"]);
        symlink("round", root.join("round")).unwrap();
        assert_eq!(within(&root, &root, "round/x"), ["round/x"]);
    }

    #[test]
    fn a_file_of_a_worktree_has_the_name_that_it_has_in_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(home.join("app/.git/worktrees/side")).unwrap();
        std::fs::write(home.join("app/.git/worktrees/side/commondir"), "../..\n").unwrap();
        for tree in ["side/src", "other/.git"] {
            std::fs::create_dir_all(home.join(tree)).unwrap();
        }
        std::fs::write(home.join("side/.git"), format!("gitdir: {}/app/.git/worktrees/side\n", home.display()))
            .unwrap();
        let (app, side) = (home.join("app"), home.join("side"));
        assert_eq!(within(&app, &side.join("src"), "new.rs"), ["src/new.rs"]);
        let file = side.join("src/new.rs");
        assert_eq!(within(&app, &app, file.to_str().unwrap()), ["src/new.rs"], "also from elsewhere");
        assert_eq!(within(&app.join("src"), &side, "src/new.rs"), ["new.rs"], "the project is a folder of it");
        assert!(within(&app.join("web"), &side, "src/new.rs").is_empty());
        assert!(within(&app, &app, home.join("other/x").to_str().unwrap()).is_empty());
        let named = home.join("named");
        assert_eq!(
            within(&named, &side, "src/new.rs"),
            ["src/new.rs"],
            "somebody named the project of this repository"
        );
        assert!(within(&named, &side, home.join("other/x").to_str().unwrap()).is_empty());
    }
}
