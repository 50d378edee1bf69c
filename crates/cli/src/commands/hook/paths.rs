//! Where a file that a tool names is in the project.
//!
//! Leases are on paths from the root of the project. A file may have two such names, one as it is written and one where
//! symbolic links lead, and either may be reserved. What is outside the project is nobody's business here.

use std::path::{Component, Path, PathBuf};

/// The longest path that a system takes.
const LONGEST: usize = 4096;

/// The names that `path`, as a tool at `cwd` says it, has from `root`; none if it is not below it.
pub fn within(root: &Path, cwd: &Path, path: &str) -> Vec<String> {
    if path.len() > LONGEST {
        return Vec::new();
    }
    let written = in_order(&cwd.join(path));
    let mut names: Vec<String> = below(root, &written).into_iter().collect();
    if let (Ok(root), Some(real)) = (root.canonicalize(), real(&written)) {
        names.extend(below(&root, &real));
    }
    names.dedup();
    names
}

/// The path without `.` and `..`.
fn in_order(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                whole.pop();
            }
            part => whole.push(part),
        }
    }
    whole
}

/// Where symbolic links lead. A file that is not there yet is where its folder is.
fn real(path: &Path) -> Option<PathBuf> {
    let (there, real) = path.ancestors().find_map(|there| Some((there, there.canonicalize().ok()?)))?;
    let rest = path.strip_prefix(there).ok()?;
    // Joining nothing would add a slash, and no file ends in one.
    Some(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
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
}
