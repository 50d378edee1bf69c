//! Scripts for Node, with packages that `npm` installed.
//!
//! `POSTRIDER_TEST_NPM` names the folder of the packages; `cargo xtask test` makes it and sets the variable. Without it
//! whoever asks is told loudly that a test did not run; on a build machine the test fails.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::not_run;

/// The folder with these packages; none, said loudly, where `what` cannot be run without them.
pub fn packages(what: &str, needed: &[&str]) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("POSTRIDER_TEST_NPM").map(PathBuf::from) else {
        not_run(what, "POSTRIDER_TEST_NPM is not set");
        return None;
    };
    for name in needed {
        let package = folder.join("node_modules").join(name);
        assert!(package.is_dir(), "POSTRIDER_TEST_NPM has no {}", package.display());
    }
    Some(folder)
}

/// The pinned Node, or the one on the path, about to run a script that is told first where the packages are.
pub fn node(packages: &Path, script: &str) -> Command {
    let pinned = packages.join("node_modules/node/bin/node");
    let mut command = Command::new(if pinned.is_file() { pinned } else { PathBuf::from("node") });
    command.arg(script).arg(packages).stdin(Stdio::null());
    command
}
