//! The hook itself: a few lines of shell in git's folder of hooks, and how they get there and away again.
//!
//! What somebody else wrote is never lost: an existing hook is kept under another name and comes back byte for byte, and
//! a hook that was changed since is left as it is. Nothing here asks git.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, bail};

/// The hook that git runs before a commit.
pub const NAME: &str = "pre-commit";
/// The name of the hook that was there before.
pub const BEFORE: &str = "pre-commit.before-postrider";

/// What tells our hook from others, whatever else was changed in it.
const MARK: &str = "# The guard of Postrider";

/// The hook.
const SCRIPT: &str = r#"#!/bin/sh
# The guard of Postrider: refuses a commit of files that another agent has reserved.
# 'postrider guard uninstall' takes it away. A hook that was here before is kept beside it and runs first.
before=$(dirname -- "$0")/pre-commit.before-postrider
if [ -x "$before" ]; then
    "$before" "$@" || exit
fi
if ! command -v postrider >/dev/null; then
    echo "postrider: nobody looked whether these files are reserved: 'postrider' is not on the PATH" >&2
    exit 0
fi
# Only 1 says that files are reserved. The guard is advice: whatever else goes wrong stops nobody.
postrider guard check || [ $? -ne 1 ]
"#;

/// What installing came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installed {
    /// The guard was there already.
    Before,
    /// There was no hook.
    Alone,
    /// There was a hook; it is kept, and runs first.
    BesideAnother,
}

/// What uninstalling came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uninstalled {
    /// There was no guard.
    Nothing,
    /// There is no hook now, as before.
    Removed,
    /// The hook that was there before is back.
    Restored,
}

/// What is in the place of the hook.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    Ours,
    /// Ours, but for what somebody changed.
    OursChanged,
    Another,
}

/// Puts the guard into a folder of hooks, which is made if it is not there. A refusal has changed nothing.
pub fn install(hooks: &Path) -> anyhow::Result<Installed> {
    let (hook, before) = (hooks.join(NAME), hooks.join(BEFORE));
    let installed = match find(&hook)? {
        Found::Ours => {
            make_executable(&hook).with_context(|| format!("cannot make '{}' executable", hook.display()))?;
            return Ok(Installed::Before);
        }
        Found::OursChanged => bail!(
            "'{}' is the guard, but somebody changed it; move what was added to '{}', delete the hook, and install again",
            hook.display(),
            before.display()
        ),
        Found::Nothing if !is_there(&before)? => Installed::Alone,
        // Somebody took away our hook alone; the other one is still to be run first.
        Found::Nothing => Installed::BesideAnother,
        Found::Another => Installed::BesideAnother,
    };
    fs::create_dir_all(hooks).with_context(|| format!("cannot make '{}'", hooks.display()))?;
    let fresh = hooks.join(format!("{NAME}.postrider-{}", std::process::id()));
    let put = put(&fresh, &hook, &before);
    // It has moved to its place, or is of no use.
    let _ = fs::remove_file(&fresh);
    put.map(|()| installed)
}

/// Takes the guard out of a folder of hooks, and puts back the hook that was there. A refusal has changed nothing.
pub fn uninstall(hooks: &Path) -> anyhow::Result<Uninstalled> {
    let (hook, before) = (hooks.join(NAME), hooks.join(BEFORE));
    let is_kept = is_there(&before)?;
    match find(&hook)? {
        Found::Ours => {}
        Found::Nothing | Found::Another if !is_kept => return Ok(Uninstalled::Nothing),
        // Our hook alone was taken away.
        Found::Nothing => {}
        Found::OursChanged | Found::Another => bail!(
            "somebody changed '{}' since the guard was installed, so it is left as it is; take out what calls 'postrider \
             guard check' by hand{}",
            hook.display(),
            if is_kept { format!(". The hook from before is '{}'", before.display()) } else { String::new() }
        ),
    }
    if is_kept {
        fs::rename(&before, &hook).with_context(|| format!("cannot put back '{}'", before.display()))?;
        return Ok(Uninstalled::Restored);
    }
    fs::remove_file(&hook).with_context(|| format!("cannot delete '{}'", hook.display()))?;
    Ok(Uninstalled::Removed)
}

/// Writes the hook and moves it to its place in one step, so that there is a whole hook at every moment.
fn put(fresh: &Path, hook: &Path, before: &Path) -> anyhow::Result<()> {
    fs::write(fresh, SCRIPT)
        .and_then(|()| make_executable(fresh))
        .with_context(|| format!("cannot write '{}'", fresh.display()))?;
    if is_there(hook)? {
        // A link is never made over something, unlike a rename.
        match fs::hard_link(hook, before) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => bail!(
                "the hook that is there cannot be kept, because '{}' is taken; move that away and install again",
                before.display()
            ),
            Err(error) => return Err(error).with_context(|| format!("cannot keep '{}'", hook.display())),
        }
    }
    fs::rename(fresh, hook).with_context(|| format!("cannot write '{}'", hook.display()))
}

fn find(hook: &Path) -> anyhow::Result<Found> {
    if !is_there(hook)? {
        return Ok(Found::Nothing);
    }
    match fs::read(hook) {
        Ok(content) if content == SCRIPT.as_bytes() => Ok(Found::Ours),
        Ok(content) if has_mark(&content) => Ok(Found::OursChanged),
        Ok(_) => Ok(Found::Another),
        // A link to nowhere, which git passes over.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Found::Another),
        Err(error) => Err(error).with_context(|| format!("cannot read '{}'", hook.display())),
    }
}

fn has_mark(content: &[u8]) -> bool {
    content.split(|byte| *byte == b'\n').any(|line| line.starts_with(MARK.as_bytes()))
}

/// Whether something has this name, be it a link to nowhere.
fn is_there(path: &Path) -> anyhow::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| format!("cannot look at '{}'", path.display())),
    }
}

#[cfg(unix)]
fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_path: &Path) -> io::Result<()> {
    Ok(())
}
