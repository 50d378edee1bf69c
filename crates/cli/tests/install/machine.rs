//! A repository and a user of a test's own, in which install writes, and what each client has there.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::harness::{Place, Ran};

/// Every client, the scopes that it reads, and the file of each that others may have written before us.
pub const FILES: [(&str, &[&str], &str); 9] = [
    ("claude", &["project", "user"], ".claude/settings.json"),
    ("codex", &["project", "user"], ".codex/hooks.json"),
    ("gemini", &["project", "user"], ".gemini/settings.json"),
    ("qwen", &["project", "user"], ".qwen/settings.json"),
    ("opencode", &["project"], "opencode.json"),
    ("copilot", &["user"], ".copilot/mcp-config.json"),
    ("kilo", &["project"], "kilo.json"),
    ("cline", &["user"], ".cline/data/settings/cline_mcp_settings.json"),
    ("kimi", &["user"], ".kimi-code/mcp.json"),
];

/// Variables that move the folder of a client.
const MOVES: [&str; 8] = [
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GEMINI_CLI_HOME",
    "QWEN_HOME",
    "XDG_CONFIG_HOME",
    "COPILOT_HOME",
    "CLINE_DIR",
    "KIMI_CODE_HOME",
];

/// A settings file as people have it.
pub const SETTINGS: &str = r#"{
    // Do not touch!
    "permissions": { "allow": ["Bash(ls:*)"] },
    "hooks": {
        "Stop": [
            { "hooks": [{ "type": "command", "command": "say done" }] } // loud
        ]
    },
    "theme": "dark"
}
"#;

/// A repository and a user of a test's own.
pub struct Machine {
    pub place: Place,
}

impl Machine {
    pub fn new() -> Self {
        let machine = Self { place: Place::new() };
        for folder in ["repo/.git", "repo/src", "user", "bin"] {
            fs::create_dir_all(machine.place.file(folder)).unwrap();
        }
        symlink(env!("CARGO_BIN_EXE_postrider"), machine.place.file("bin/postrider")).unwrap();
        machine
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.place.file(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Runs a command deep in the repository, where `PATH` has these folders.
    pub fn run_with(&self, path: &str, arguments: &[&str]) -> Ran {
        self.command(path, "repo/src", arguments).output().expect("the binary runs").into()
    }

    /// Runs a command in another folder, which must succeed.
    pub fn done_in(&self, folder: &str, arguments: &[&str]) -> String {
        let ran: Ran = self.command("bin", folder, arguments).output().expect("the binary runs").into();
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}{}", ran.stdout, ran.stderr);
        ran.stdout
    }

    /// A command of the user in a folder, where `PATH` has these folders.
    pub fn command(&self, path: &str, folder: &str, arguments: &[&str]) -> Command {
        let mut command = self.place.command(arguments);
        for moves in MOVES {
            command.env_remove(moves);
        }
        command.env("HOME", self.path("user")).env("PATH", self.path(path)).current_dir(self.path(folder));
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with("bin", arguments)
    }

    pub fn done(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}{}", ran.stdout, ran.stderr);
        ran.stdout.replace(self.path("").to_str().unwrap(), "[place]/")
    }

    pub fn refused(&self, arguments: &[&str]) -> Value {
        let ran = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(ran.code, Some(1), "{}", ran.stdout);
        serde_json::from_str::<Value>(&ran.stdout).unwrap()["error"].clone()
    }

    /// Every file and folder, with its content.
    pub fn everything(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut found = BTreeMap::new();
        collect(&self.path(""), &mut found);
        found
    }

    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&fs::read_to_string(self.path(name)).unwrap()).unwrap()
    }
}

fn collect(folder: &Path, found: &mut BTreeMap<PathBuf, Option<Vec<u8>>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.insert(path.clone(), None);
            collect(&path, found);
        } else if !path.ends_with("bin/postrider") {
            found.insert(path.clone(), Some(fs::read(&path).unwrap()));
        }
    }
}
