//! What all measurements of one run share: the binary, a place on its disk, and how long and how often to measure.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use tempfile::TempDir;

use crate::load::Pace;

/// The setting of one run.
pub struct Setting {
    /// The build that is measured: of the profile that the bench itself was built with, or one that was given.
    pub binary: PathBuf,
    /// How many messages stand for a large database.
    pub messages: usize,
    /// How long each load is measured.
    pub pace: Pace,
    /// How often a ceiling and its subject are measured in turn.
    pub rounds: usize,
    /// How often a thing that has no duration of its own is tried.
    pub tries: usize,
    scratch: TempDir,
}

impl Setting {
    /// Builds the binary in the profile of the bench, unless another is `given`, and makes a folder on the disk where the
    /// bench was built.
    pub fn prepare(seconds: u64, quick: bool, given: Option<&Path>) -> anyhow::Result<Self> {
        ensure!(seconds > 0, "a load has to be measured for one second at least");
        let own = std::env::current_exe().context("cannot find the bench's own binary")?;
        let folder = own.parent().context("the bench does not lie in a target folder")?;
        let target = folder.parent().context("the bench does not lie in a target folder")?;
        if given.is_none() {
            // The folder has the name of the profile.
            build(folder.file_name().context("the bench does not lie in a target folder")?)?;
        }
        let binary = given.map_or_else(|| folder.join("postrider"), Path::to_owned);
        ensure!(binary.is_file(), "there is no '{}'", binary.display());
        let scratch = tempfile::Builder::new().prefix("bench-").tempdir_in(target).context("cannot make a folder")?;
        Ok(if quick {
            let pace = Pace { warm_up: Duration::from_millis(100), measured: Duration::from_millis(400) };
            Self { binary, messages: 2_000, pace, rounds: 1, tries: 3, scratch }
        } else {
            let pace = Pace { warm_up: Duration::from_secs(1), measured: Duration::from_secs(seconds) };
            Self { binary, messages: 100_000, pace, rounds: 3, tries: 15, scratch }
        })
    }

    /// How many of something there are: fewer in a smoke run.
    pub fn scaled(&self, full: usize, quick: usize) -> usize {
        if self.rounds == 1 { quick } else { full }
    }

    /// A folder that nobody used yet; it goes away with the run.
    pub fn fresh_folder(&self) -> anyhow::Result<PathBuf> {
        Ok(tempfile::tempdir_in(&self.scratch)?.keep())
    }
}

/// Tells the person who waits what is measured now.
pub fn progress(doing: impl std::fmt::Display) {
    eprintln!("bench: {doing}");
}

fn build(profile: &OsStr) -> anyhow::Result<()> {
    progress(format_args!("building the {} binary", profile.display()));
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--package", "cli", "--profile"]).arg(profile);
    if let Some(package) = std::env::var_os("CARGO_MANIFEST_DIR") {
        command.current_dir(Path::new(&package));
    }
    // What cargo tells a program that it runs would make the builds of some crates out of date.
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")) {
            command.env_remove(name);
        }
    }
    let status = command.status().context("cannot run cargo")?;
    ensure!(status.success(), "the build failed");
    Ok(())
}
