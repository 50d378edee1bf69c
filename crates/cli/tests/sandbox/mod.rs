//! Stand-ins for the sandboxes of clients, made with bubblewrap: each closes what was seen to be closed in that of the client.
//!
//! In all of them the network is another one and nothing but the workspace can be written. What else they refuse is a filter of system
//! calls, as the clients set one.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::harness::{Place, Ran, not_run};

/// What a sandbox closes besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// Every connection, as Codex does it.
    Connections,
    /// Sockets of the file system, as Claude Code does it.
    LocalSockets,
    /// No more: Gemini CLI and Qwen Code.
    Nothing,
}

/// A machine with a user, a repository and a home for mail, and the sandbox that a client runs its shells in.
pub struct Sandbox {
    pub place: Place,
    closed: Closed,
    /// What the client puts into the environment of its shells.
    variables: Vec<(&'static str, &'static str)>,
    /// Folders that may be written to.
    pub writable: Vec<PathBuf>,
    /// What stays closed in them.
    pub kept: Vec<PathBuf>,
}

/// The numbers of `connect` and `socket`, where the tests know them.
#[cfg(target_arch = "x86_64")]
const CALLS: [u32; 2] = [42, 41];
#[cfg(not(target_arch = "x86_64"))]
const CALLS: [u32; 2] = [203, 198];

impl Sandbox {
    /// A sandbox in a place; none, loudly, where there can be none.
    pub fn new(place: &Place, closed: Closed, what: &str) -> Option<Self> {
        for folder in ["repo/.git", "user"] {
            fs::create_dir_all(place.file(folder)).unwrap();
        }
        let variables = match closed {
            Closed::Connections => vec![("CODEX_SANDBOX_NETWORK_DISABLED", "1")],
            Closed::LocalSockets => vec![("CLAUDE_CODE_SESSION_ID", "one")],
            Closed::Nothing => vec![("GEMINI_CLI", "1")],
        };
        let sandbox = Self { place: place.clone(), closed, variables, writable: Vec::new(), kept: Vec::new() };
        let tried = sandbox.wrapped(PathBuf::from("true")).output();
        if tried.is_ok_and(|tried| tried.status.success()) {
            return Some(sandbox);
        }
        not_run(what, "bubblewrap is not there or may make no sandbox");
        None
    }

    /// A command of the user in the repository, outside.
    pub fn outside(&self, arguments: &[&str]) -> Ran {
        let mut command = self.place.command(arguments);
        self.as_user(&mut command);
        command.output().expect("the binary runs").into()
    }

    /// The same inside.
    pub fn inside(&self, arguments: &[&str]) -> Ran {
        let mut command = self.wrapped(PathBuf::from(env!("CARGO_BIN_EXE_postrider")));
        command.args(arguments).envs(self.variables.iter().copied());
        command.output().expect("bubblewrap runs").into()
    }

    /// Runs a command inside that must succeed.
    pub fn done_inside(&self, arguments: &[&str]) -> String {
        let ran = self.inside(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?} in {:?}: {}{}", self.closed, ran.stderr, ran.stdout);
        ran.stdout
    }

    /// How a command inside is refused.
    pub fn refused_inside(&self, arguments: &[&str]) -> Value {
        let ran = self.inside(&[arguments, &["--json"]].concat());
        assert_eq!(ran.code, Some(1), "{arguments:?} in {:?}: {}{}", self.closed, ran.stderr, ran.stdout);
        serde_json::from_str::<Value>(&ran.stdout).expect("--json prints JSON")["error"].clone()
    }

    /// Sends, reads and reserves inside.
    pub fn use_mail_inside(&self, subject: &str) {
        self.done_inside(&["mail", "send", "BlueLake", "-s", subject, "-m", "x", "--as", "GreenDog"]);
        let inbox = self.done_inside(&["mail", "inbox", "--as", "BlueLake"]);
        assert!(inbox.contains(subject), "{inbox}");
        let path = format!("{subject}.rs");
        self.done_inside(&["reserve", &path, "--exclusive", "--as", "GreenDog"]);
    }

    fn wrapped(&self, program: PathBuf) -> Command {
        let repo = self.place.file("repo");
        let mut words: Vec<PathBuf> = ["--ro-bind", "/", "/", "--dev", "/dev", "--bind"].map(PathBuf::from).into();
        words.extend([repo.clone(), repo]);
        for folder in &self.writable {
            words.extend([PathBuf::from("--bind"), folder.clone(), folder.clone()]);
        }
        for path in &self.kept {
            // As Claude Code does it: what is not there cannot be made.
            let there = if path.exists() { path.clone() } else { PathBuf::from("/dev/null") };
            words.extend([PathBuf::from("--ro-bind"), there, path.clone()]);
        }
        words.extend(["--unshare-net", "--unshare-pid", "--die-with-parent"].map(PathBuf::from));
        let filter = self.filter();
        // The shell opens the filter, for a program inherits no other file from here.
        let line = if filter.is_empty() { r#"exec bwrap "$@""# } else { r#"exec bwrap --seccomp 9 "$@" 9<"$FILTER""# };
        let mut command = self.place.shell(line);
        command.arg("sh").args(words).arg(program);
        if !filter.is_empty() {
            let path = self.place.file("filter");
            fs::write(&path, filter).expect("the place can be written to");
            command.env("FILTER", path);
        }
        self.as_user(&mut command);
        command
    }

    fn as_user(&self, command: &mut Command) {
        for moves in ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "CODEX_THREAD_ID", "GEMINI_CLI"] {
            command.env_remove(moves);
        }
        command.env("HOME", self.place.file("user")).current_dir(self.place.file("repo"));
    }

    /// The filter of system calls, as the kernel reads it; empty for none.
    fn filter(&self) -> Vec<u8> {
        const LOAD: u16 = 0x20;
        const IS: u16 = 0x15;
        const RETURN: u16 = 0x06;
        const ALLOWED: u32 = 0x7fff_0000;
        const NOT_PERMITTED: u32 = 0x0005_0001;
        const LOCAL: u32 = 1;
        let [connect, socket] = CALLS;
        let steps: Vec<(u16, u8, u8, u32)> = match self.closed {
            Closed::Nothing => Vec::new(),
            Closed::Connections => {
                vec![(LOAD, 0, 0, 0), (IS, 0, 1, connect), (RETURN, 0, 0, NOT_PERMITTED), (RETURN, 0, 0, ALLOWED)]
            }
            Closed::LocalSockets => vec![
                (LOAD, 0, 0, 0),
                (IS, 0, 3, socket),
                // The family is the first argument.
                (LOAD, 0, 0, 16),
                (IS, 0, 1, LOCAL),
                (RETURN, 0, 0, NOT_PERMITTED),
                (RETURN, 0, 0, ALLOWED),
            ],
        };
        steps
            .into_iter()
            .flat_map(|(code, so, else_, value)| {
                [&code.to_ne_bytes()[..], &[so, else_], &value.to_ne_bytes()[..]].concat()
            })
            .collect()
    }
}
