//! Packages from npm, pinned to exact versions, each set in a folder of its own under `target/`.
//!
//! A set is installed once and then left alone until a pinned version changes. Where packages come from is npm's own
//! setting.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process::{answers, step};

/// A package and the one version we use.
#[derive(Clone, Copy)]
pub struct Pin {
    /// The name on npm.
    pub name: &'static str,
    /// The exact version.
    pub version: &'static str,
}

/// Those who judge from outside: the official client library and the conformance suite of the protocol, what steers a
/// browser and what knows the rules of accessible pages, with the Node that they need.
pub const REFEREES: [Pin; 6] = [
    Pin { name: "@modelcontextprotocol/conformance", version: "0.2.0-alpha.12" },
    Pin { name: "@modelcontextprotocol/sdk", version: "1.32.2" },
    Pin { name: "axe-core", version: "4.14.0" },
    Pin { name: "node", version: "22.23.3" },
    Pin { name: "playwright-core", version: "1.65.1" },
    Pin { name: "zod", version: "4.6.7" },
];

/// The folder of the referees.
pub fn referees(root: &Path) -> PathBuf {
    root.join("target/npm")
}

/// The pinned Node.
pub fn node(root: &Path) -> PathBuf {
    referees(root).join("node_modules/node/bin/node")
}

/// The search path with the pinned Node first, for scripts that begin with `#!/usr/bin/env node`.
pub fn path_with_node(root: &Path) -> Result<OsString> {
    let node = node(root);
    let own = node.parent().map(Path::to_owned).into_iter();
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(own.chain(std::env::split_paths(&inherited))).context("the search path cannot be extended")
}

/// Makes the referees ready and checks that their Node runs.
pub fn provide_referees(root: &Path) -> Result<()> {
    install(&referees(root), &REFEREES, Command::new("npm"))?;
    let node = node(root);
    if answers(&node.to_string_lossy(), &["--version"]) {
        return Ok(());
    }
    bail!("{} does not run: delete {} and try again", node.display(), referees(root).display())
}

/// Installs the pinned packages into `folder` with `npm`, unless they are there already.
pub fn install(folder: &Path, pins: &[Pin], mut npm: Command) -> Result<()> {
    if pins.iter().all(|pin| installed_version(folder, pin.name).as_deref() == Some(pin.version)) {
        return Ok(());
    }
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    npm.args(["install", "--no-audit", "--no-fund", "--save-exact", "--loglevel=error", "--prefix"]).arg(folder);
    npm.args(pins.iter().map(|pin| format!("{}@{}", pin.name, pin.version)));
    step(&mut npm)
}

fn installed_version(folder: &Path, name: &str) -> Option<String> {
    let manifest = fs::read(folder.join("node_modules").join(name).join("package.json")).ok()?;
    let manifest: Value = serde_json::from_slice(&manifest).ok()?;
    manifest["version"].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(pin: Pin) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let package = folder.path().join("node_modules").join(pin.name);
        fs::create_dir_all(&package).unwrap();
        fs::write(package.join("package.json"), format!("{{\"version\":\"{}\"}}", pin.version)).unwrap();
        folder
    }

    #[test]
    fn packages_that_are_there_are_not_installed_again() {
        let folder = folder_with(REFEREES[0]);
        install(folder.path(), &REFEREES[..1], Command::new("no-such-program-of-this-name")).unwrap();
    }

    #[test]
    fn another_version_or_none_is_installed() {
        let folder = folder_with(Pin { version: "0.0.1", ..REFEREES[0] });
        for pins in [&REFEREES[..1], &REFEREES[..2]] {
            assert!(install(folder.path(), pins, Command::new("no-such-program-of-this-name")).is_err());
        }
    }

    #[test]
    fn every_pin_is_an_exact_version() {
        for pin in &REFEREES {
            assert!(pin.version.starts_with(|c: char| c.is_ascii_digit()), "{}", pin.name);
        }
    }

    #[test]
    fn the_pinned_node_is_found_first() {
        let path = path_with_node(Path::new("/made/up")).unwrap();
        assert_eq!(
            std::env::split_paths(&path).next().unwrap(),
            Path::new("/made/up/target/npm/node_modules/node/bin")
        );
    }
}
