//! The hook itself: a line of shell in git's hook before a commit, and how it gets there and away again.
//!
//! A hook that is there stays where it is and what it is, because hooks go by their own name and folder (`$0`): the line
//! is put in before its first, and taken out again byte for byte. What no line of shell can be put into is left alone,
//! and how to call the guard from it is said. Nothing here asks git.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, bail};
use tempfile::NamedTempFile;

/// The hook that git runs before a commit.
pub const NAME: &str = "pre-commit";
/// The exit code that says that files are reserved. Whatever else goes wrong has another, and stops no commit.
pub const RESERVED: u8 = 10;

/// What runs the guard in a hook. It does the same where a shell ends at the first failure.
const LINE: &str = "postrider guard check --hook || [ $? -ne 10 ] || exit 1 # The guard of Postrider\n";
/// What whoever calls the guard says, however else.
const CALL: &str = "postrider guard check";
/// What stands before the line where there was no hook.
const HEAD: &str = "#!/bin/sh\n# Made by 'postrider guard install'; 'postrider guard uninstall' takes it away.\n";
/// The shells that read the line.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "ash", "ksh", "zsh"];

/// What installing came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installed {
    /// The guard was there already.
    Before,
    /// There was no hook.
    Alone,
    /// There was a hook; it runs after the guard.
    BesideAnother,
}

/// Puts the guard into a folder of hooks, which is made if it is not there. A refusal has changed nothing.
pub fn install(hooks: &Path) -> anyhow::Result<Installed> {
    if hooks.ends_with(".husky/_") {
        let own = hooks.with_file_name(NAME);
        bail!("husky overwrites the hooks in '{}'; {}", hooks.display(), by_hand(&own.display().to_string()));
    }
    let hook = hooks.join(NAME);
    let Some(script) = read(&hook)? else {
        fs::create_dir_all(hooks).with_context(|| format!("cannot make '{}'", hooks.display()))?;
        write(&hook, format!("{HEAD}{LINE}").as_bytes(), None)?;
        return Ok(Installed::Alone);
    };
    if calls_guard(&script) {
        return Ok(Installed::Before);
    }
    let about = fs::symlink_metadata(&hook).with_context(|| format!("cannot look at '{}'", hook.display()))?;
    let name = hook.display().to_string();
    if about.is_symlink() {
        bail!("'{name}' is a link, and what it leads to may not be for this repository alone; {}", by_hand(&name));
    }
    let Some(first) = first_line_of_shell(&script) else {
        bail!(
            "'{name}' is no shell script, so the guard cannot be put into it; let it run '{CALL} --hook', and stop the \
               commit when that exits with {RESERVED}"
        );
    };
    if about.permissions().mode() & 0o111 == 0 {
        bail!("'{name}' is not executable, so git passes over it; make it so, or delete it, and install again");
    }
    let guarded = [first, LINE.as_bytes(), &script[first.len()..]].concat();
    write(&hook, &guarded, Some(about.permissions()))?;
    Ok(Installed::BesideAnother)
}

/// Takes the guard out of a folder of hooks; `false` if it was not there. A refusal has changed nothing.
pub fn uninstall(hooks: &Path) -> anyhow::Result<bool> {
    let hook = hooks.join(NAME);
    let script = read(&hook)?.unwrap_or_default();
    if !calls_guard(&script) {
        return Ok(false);
    }
    let lines = script.split_inclusive(|byte| *byte == b'\n');
    let left: Vec<u8> = lines.filter(|line| *line != LINE.as_bytes()).flatten().copied().collect();
    if calls_guard(&left) {
        bail!("somebody changed the line that calls '{CALL}' in '{}'; take it out by hand", hook.display());
    }
    if left == HEAD.as_bytes() {
        fs::remove_file(&hook).with_context(|| format!("cannot delete '{}'", hook.display()))?;
        return Ok(true);
    }
    let permissions =
        fs::metadata(&hook).with_context(|| format!("cannot look at '{}'", hook.display()))?.permissions();
    write(&hook, &left, Some(permissions))?;
    Ok(true)
}

fn by_hand(script: &str) -> String {
    format!("add this line to '{script}' yourself:\n{}", LINE.trim_end())
}

/// What a hook says; none if there is no hook. A link to nowhere is an empty one, for git passes over it too.
pub fn read(hook: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    match fs::read(hook) {
        Ok(script) => Ok(Some(script)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(hook.is_symlink().then(Vec::new)),
        Err(error) => Err(error).with_context(|| format!("cannot read '{}'", hook.display())),
    }
}

pub fn calls_guard(script: &[u8]) -> bool {
    let mut lines = script.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_start);
    lines.any(|line| !line.starts_with(b"#") && line.windows(CALL.len()).any(|words| words == CALL.as_bytes()))
}

/// The line of a shell script that names its shell, with its end.
fn first_line_of_shell(script: &[u8]) -> Option<&[u8]> {
    let first = script.split_inclusive(|byte| *byte == b'\n').next()?;
    let named = std::str::from_utf8(first).ok()?.strip_prefix("#!")?.strip_suffix('\n')?;
    // As in `/usr/bin/env -S A=1 bash -e`.
    let mut words = named.split(' ').filter(|word| !word.is_empty());
    let program = words.find(|word| !word.ends_with("/env") && !word.starts_with('-') && !word.contains('='))?;
    SHELLS.contains(&program.rsplit('/').next()?).then_some(first)
}

/// Writes a hook in one step, so that there is a whole hook at every moment.
fn write(hook: &Path, script: &[u8], permissions: Option<Permissions>) -> anyhow::Result<()> {
    let folder = hook.parent().unwrap_or(Path::new("/"));
    let written = NamedTempFile::new_in(folder).and_then(|mut fresh| {
        fresh.write_all(script)?;
        fresh.as_file().set_permissions(permissions.unwrap_or_else(|| Permissions::from_mode(0o755)))?;
        fresh.persist(hook).map_err(|error| error.error)
    });
    written.map(drop).with_context(|| format!("cannot write '{}'", hook.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_script_is_known_by_its_first_line() {
        for first in ["#!/bin/sh", "#! /bin/bash -e", "#!/usr/bin/env zsh", "#!/usr/bin/env -S A=1 bash -e"] {
            let script = format!("{first}\necho\n");
            assert_eq!(first_line_of_shell(script.as_bytes()), Some(format!("{first}\n").as_bytes()), "{first}");
        }
        for script in
            ["", "echo\n", "#!/bin/sh", "#!/bin/sh\r\n", "#!/usr/bin/env python3\n", "#!/usr/bin/fish\n", "#!\n"]
        {
            assert_eq!(first_line_of_shell(script.as_bytes()), None, "{script:?}");
        }
        assert_eq!(first_line_of_shell(b"\x7fELF\n"), None);
    }

    #[test]
    fn the_guard_is_known_however_it_is_called_and_not_where_it_is_only_spoken_of() {
        for script in [LINE, "  postrider guard check --as Ann || exit 1\n", "exec /x/postrider guard check"] {
            assert!(calls_guard(script.as_bytes()), "{script}");
        }
        assert!(!calls_guard(b"# postrider guard check\npostrider guard\n\xff"));
    }

    #[test]
    fn the_line_says_the_code_that_the_guard_exits_with() {
        assert!(LINE.contains(&format!("-ne {RESERVED} ")));
    }
}
