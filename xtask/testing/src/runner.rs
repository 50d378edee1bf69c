//! The tests of a crate are one binary: `tests/runner.rs`, whose modules are the files beside it.

use std::fs;
use std::path::Path;

/// Fails when a file of a crate's tests is no module of `tests/runner.rs`: it would be compiled nowhere and test nothing.
pub fn assert_every_file_is_listed(package: &str) {
    let tests = Path::new(package).join("tests");
    let forgotten = forgotten(&tests, &tests.join("runner.rs"));
    assert!(forgotten.is_empty(), "no `mod` names these files of {}: {}", tests.display(), forgotten.join(", "));
}

/// The Rust files in `folder` that `parent`, the file whose modules they are, does not declare; and so on below them.
fn forgotten(folder: &Path, parent: &Path) -> Vec<String> {
    let text = fs::read_to_string(parent).unwrap_or_default();
    let declares = |name: &str| text.lines().any(|line| line.trim_start_matches("pub ") == format!("mod {name};"));
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder of tests can be read") {
        let path = entry.expect("the folder of tests can be read").path();
        let name = path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        if path.is_dir() {
            let (inside, beside) = (path.join("mod.rs"), path.with_extension("rs"));
            if inside.is_file() && !declares(&name) {
                found.push(inside.display().to_string());
            }
            found.extend(forgotten(&path, if inside.is_file() { &inside } else { &beside }));
        } else if path.extension().is_some_and(|extension| extension == "rs") && path != parent && !declares(&name) {
            found.push(path.display().to_string());
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_no_module_names_is_found_at_any_depth() {
        let package = tempfile::tempdir().unwrap();
        let tests = package.path().join("tests");
        let write = |path: &str, text: &str| {
            let path = tests.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("runner.rs", "mod a;\npub mod b;\n// mod c;\nmod d;\n");
        write("a.rs", "");
        write("b/mod.rs", "mod inner;\n");
        write("b/inner.rs", "");
        write("d.rs", "mod part;\n");
        write("d/part.rs", "");
        write("data/vectors.json", "");
        let found = || forgotten(&tests, &tests.join("runner.rs"));
        assert!(found().is_empty(), "{:?}", found());
        for path in ["c.rs", "b/left.rs", "d/left.rs", "e/mod.rs", "data/left.rs"] {
            write(path, "");
            assert_eq!(found(), [tests.join(path).display().to_string()]);
            fs::remove_file(tests.join(path)).unwrap();
        }
    }
}
