//! The repository as the checks read it: its files, and its Rust files scanned.
//!
//! A file counts when git tracks it or would offer to; without git, everything outside `target/` counts. Nothing is
//! written here.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::source::Source;

/// The repository's files, read once for all checks.
pub struct House {
    root: PathBuf,
    files: BTreeSet<String>,
    rust: Vec<RustFile>,
}

/// One `.rs` file.
pub struct RustFile {
    /// The path from the root, with slashes.
    pub path: String,
    /// What it says.
    pub source: Source,
    /// The text as it is.
    pub text: String,
    /// Whether the whole file is test code: in a `tests` folder, named `tests.rs`, or declared under `#[cfg(test)]`.
    pub is_test: bool,
}

impl House {
    /// Reads the repository at `root`.
    pub fn open(root: &Path) -> Result<Self> {
        let listed = if root.join(".git").exists() { git_files(root) } else { None };
        let files = match listed {
            Some(files) => files,
            None => walked_files(root).with_context(|| format!("reading {}", root.display()))?,
        };
        let mut rust = Vec::new();
        for path in files.iter().filter(|path| path.ends_with(".rs")) {
            let text = fs::read_to_string(root.join(path)).with_context(|| format!("reading {path}"))?;
            rust.push(RustFile { source: Source::scan(&text), text, is_test: has_test_name(path), path: path.clone() });
        }
        mark_test_modules(&mut rust);
        Ok(Self { root: root.to_owned(), files, rust })
    }

    /// Where the repository lies.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Every file, as paths from the root, in order.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(String::as_str)
    }

    /// Whether there is such a file.
    pub fn has(&self, path: &str) -> bool {
        self.files.contains(path)
    }

    /// A file's text; `None` when it is not there or is not text.
    pub fn text(&self, path: &str) -> Option<String> {
        self.has(path).then(|| fs::read_to_string(self.root.join(path)).ok()).flatten()
    }

    /// Every Rust file.
    pub fn rust(&self) -> &[RustFile] {
        &self.rust
    }

    /// The Rust file at that path.
    pub fn rust_file(&self, path: &str) -> Option<&RustFile> {
        self.rust.iter().find(|file| file.path == path)
    }
}

impl RustFile {
    /// The crate of `crates/` in whose `src` this file lies.
    pub fn room(&self) -> Option<&str> {
        let (room, rest) = self.path.strip_prefix("crates/")?.split_once('/')?;
        rest.starts_with("src/").then_some(room)
    }

    /// Whether that line is test code.
    pub fn is_test_line(&self, line: usize) -> bool {
        self.is_test || self.source.is_test_line(line)
    }
}

fn has_test_name(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "tests.rs")
}

/// Follows `#[cfg(test)] mod name;` to the files of that module.
fn mark_test_modules(rust: &mut [RustFile]) {
    let mut modules: Vec<String> = Vec::new();
    for file in rust.iter() {
        let folder = module_folder(&file.path);
        modules.extend(file.source.test_modules().map(|module| format!("{folder}{module}")));
    }
    for file in rust {
        file.is_test |= modules.iter().any(|module| {
            file.path.strip_prefix(module.as_str()).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        });
    }
}

/// The folder in which a file's modules lie, with its slash.
fn module_folder(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    match name {
        "lib.rs" | "main.rs" | "mod.rs" => format!("{folder}/"),
        _ => format!("{}/", path.trim_end_matches(".rs")),
    }
}

/// What git tracks or would offer to track; `None` when git cannot say.
fn git_files(root: &Path) -> Option<BTreeSet<String>> {
    let output =
        Command::new("git").args(["ls-files", "-coz", "--exclude-standard"]).current_dir(root).output().ok()?;
    if !output.status.success() {
        return None;
    }
    let names = String::from_utf8(output.stdout).ok()?;
    // A file that was deleted and not yet committed is still listed.
    Some(names.split_terminator('\0').filter(|name| root.join(name).is_file()).map(str::to_owned).collect())
}

fn walked_files(root: &Path) -> std::io::Result<BTreeSet<String>> {
    let mut files = BTreeSet::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{folder}{name}");
            let kind = entry.file_type()?;
            if kind.is_dir() && name != "target" && name != ".git" {
                folders.push(format!("{path}/"));
            } else if kind.is_file() {
                files.insert(path);
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::super::made_up::house;

    #[test]
    fn build_output_is_left_out() {
        let house = house(&[("a.txt", ""), ("target/b.txt", ""), ("deep/target/c.txt", ""), ("deep/d.txt", "")]);
        assert_eq!(house.files().collect::<Vec<_>>(), ["a.txt", "deep/d.txt"]);
    }

    #[test]
    fn a_module_declared_for_tests_is_test_code_with_all_below_it() {
        let house = house(&[
            ("crates/mail/src/lib.rs", "#[cfg(test)]\nmod fake;\nmod fakery;\nmod office;"),
            ("crates/mail/src/fake.rs", ""),
            ("crates/mail/src/fake/deep.rs", ""),
            ("crates/mail/src/fakery.rs", ""),
            ("crates/mail/src/office.rs", "#[cfg(test)] mod post;"),
            ("crates/mail/src/office/post.rs", ""),
            ("crates/mail/src/office/tests.rs", ""),
            ("crates/mail/tests/all.rs", ""),
        ]);
        let real: Vec<&str> = house.rust().iter().filter(|file| !file.is_test).map(|file| file.path.as_str()).collect();
        assert_eq!(real, ["crates/mail/src/fakery.rs", "crates/mail/src/lib.rs", "crates/mail/src/office.rs"]);
    }

    #[test]
    fn only_the_source_of_a_crate_lies_in_a_room() {
        let house = house(&[("crates/mail/src/a.rs", ""), ("crates/mail/tests/a.rs", ""), ("xtask/src/a.rs", "")]);
        let rooms: Vec<Option<&str>> = house.rust().iter().map(|file| file.room()).collect();
        assert_eq!(rooms, [Some("mail"), None, None]);
    }
}
