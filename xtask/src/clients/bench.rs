//! Where the lab keeps its programs: the clients from npm, and a home for each trial.
//!
//! It is the user's cache folder, since some sandboxes hide all that is below `/tmp`, where a work tree may be.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::table::Row;
use crate::npm;
use crate::process::{cargo, step};

/// How the names of a developer's own settings begin, for the clients and for Postrider.
const OWN: [&str; 19] = [
    "ANTHROPIC",
    "CLAUDE",
    "CODEX",
    "GEMINI",
    "GOOGLE",
    "OPENAI",
    "QWEN",
    "OPENCODE",
    "COPILOT",
    "GITHUB_",
    "GH_",
    "KILO",
    "CLINE",
    "KIMI",
    "XDG_",
    "TMUX",
    "POSTRIDER_",
    "AGENT_MAIL_",
    "GC_",
];

/// The programs of the lab.
pub struct Bench {
    root: PathBuf,
    cache: PathBuf,
}

impl Bench {
    /// Builds our program and installs the clients.
    pub fn provide(root: &Path, rows: &[&'static Row]) -> Result<Self> {
        step(Command::new(cargo()).args(["build", "--locked", "-p", "cli"]).current_dir(root))?;
        npm::provide_referees(root)?;
        let cache = cache()?;
        for row in rows {
            let mut npm = Command::new("npm");
            // One of them refuses the Node of older systems.
            npm.env("PATH", npm::path_with_node(root)?);
            npm::install(&cache.join(row.name), row.pins, npm)?;
        }
        Ok(Self { root: root.to_owned(), cache })
    }

    /// The program of a client.
    pub fn program(&self, row: &Row) -> PathBuf {
        self.cache.join(row.name).join("node_modules/.bin").join(row.program)
    }

    /// Puts our program into a home, where no sandbox hides it.
    pub fn bring_postrider(&self, home: &Path) -> Result<PathBuf> {
        let (built, bin) = (self.root.join("target/debug/postrider"), home.join("bin"));
        let program = bin.join("postrider");
        fs::create_dir(&bin)?;
        // A link takes no room, where one can be made.
        fs::hard_link(&built, &program).or_else(|_| fs::copy(&built, &program).map(drop))?;
        Ok(program)
    }

    /// A search path with our program, the client and the pinned Node first.
    pub fn path(&self, row: &Row, postrider: &Path) -> Result<OsString> {
        let (inherited, client) = (npm::path_with_node(&self.root)?, self.program(row));
        let own = [postrider, &client].into_iter().filter_map(Path::parent).map(Path::to_owned);
        std::env::join_paths(own.chain(std::env::split_paths(&inherited))).context("the search path")
    }

    /// A home for a trial.
    pub fn home(&self) -> Result<TempDir> {
        let homes = self.cache.join("homes");
        fs::create_dir_all(&homes)?;
        // Short, since the path of a socket is.
        tempfile::Builder::new().prefix("").rand_bytes(4).tempdir_in(homes).context("a home for the client")
    }
}

fn cache() -> Result<PathBuf> {
    let named = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let usual = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    Ok(named.or_else(usual).context("there is no home folder")?.join("postrider-lab"))
}

/// Keeps the developer's own settings from a command.
pub fn forget_own_settings(command: &mut Command) {
    for name in std::env::vars_os().map(|(name, _)| name) {
        let text = name.to_string_lossy().to_ascii_uppercase();
        if OWN.iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(name);
        }
    }
}
