//! A git repository of a test's own, whose commits the real binary may look at.
//!
//! Git sees no settings but the repository's own. Agents and reservations are a server's; here is only what git does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{Place, Ran, Server, not_run};

/// A repository in a place, beside the home of its mail.
pub struct Repository {
    /// Where its mail is.
    pub place: Place,
    /// The top of its working tree.
    pub top: PathBuf,
}

impl Repository {
    /// A repository without a commit. None, said loudly, where there is no git.
    pub fn new() -> Option<Self> {
        if !is_there("git") {
            return None;
        }
        let place = Place::new();
        let top = place.file("home").canonicalize().expect("the home is there").with_file_name("repository");
        fs::create_dir(&top).expect("a fresh folder has room");
        let repository = Self { place, top };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        Some(repository)
    }

    /// A repository with the guard, a server, and two agents of its project.
    pub fn guarded() -> Option<(Self, Server)> {
        let repository = Self::new()?;
        let server = repository.place.serve();
        repository.register(&server, &["GreenDog", "BlueLake"]);
        repository.guard(&["install"]);
        Some((repository, server))
    }

    /// The key of its project.
    pub fn key(&self) -> &str {
        self.top.to_str().expect("a plain path")
    }

    /// Makes the project and registers agents in it.
    pub fn register(&self, server: &Server, names: &[&str]) {
        server.call("ensure_project", json!({ "human_key": self.key() }));
        for name in names {
            server.call("register_agent", json!({ "project_key": self.key(), "name": name }));
        }
    }

    /// Reserves files for an agent and returns the answer.
    pub fn reserve(&self, server: &Server, agent: &str, paths: &[&str], exclusive: bool) -> Value {
        let ask = json!({ "project_key": self.key(), "agent_name": agent, "paths": paths, "exclusive": exclusive });
        server.call("file_reservation_paths", ask)
    }

    /// A program in a folder, with the settings of the test alone.
    pub fn command(&self, program: &str, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ["GIT_", "POSTRIDER_", "AGENT_MAIL_"].iter().any(|prefix| text.starts_with(prefix)) {
                command.env_remove(name);
            }
        }
        let binary = Path::new(env!("CARGO_BIN_EXE_postrider")).parent().expect("a binary is in a folder").to_owned();
        let usual = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths([binary].into_iter().chain(std::env::split_paths(&usual)));
        command.args(arguments).current_dir(folder).stdin(Stdio::null());
        command.env("PATH", path.expect("plain paths")).env("POSTRIDER_HOME", self.place.home());
        command.envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null"), ("LC_ALL", "C.UTF-8")]);
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Test").env(format!("GIT_{who}_EMAIL"), "test@example.org");
        }
        command
    }

    /// Runs git at the top of the working tree, which must succeed.
    pub fn git(&self, arguments: &[&str]) -> String {
        self.git_in(&self.top, arguments)
    }

    /// Runs git in another folder, which must succeed.
    pub fn git_in(&self, folder: &Path, arguments: &[&str]) -> String {
        let ran = ran(self.command("git", folder, arguments));
        assert_eq!(ran.code, Some(0), "git {arguments:?} failed: {}{}", ran.stderr, ran.stdout);
        ran.stdout
    }

    /// Runs `postrider guard` at the top of the working tree.
    pub fn try_guard(&self, arguments: &[&str]) -> Ran {
        let arguments = [&["guard"], arguments].concat();
        ran(self.command(env!("CARGO_BIN_EXE_postrider"), &self.top, &arguments))
    }

    /// Runs `postrider guard`, which must succeed.
    pub fn guard(&self, arguments: &[&str]) -> String {
        let ran = self.try_guard(arguments);
        assert_eq!(ran.code, Some(0), "guard {arguments:?} failed: {}{}", ran.stderr, ran.stdout);
        ran.stdout
    }

    /// Writes a file and stages it.
    pub fn stage(&self, path: &str, content: &str) {
        self.stage_in(&self.top, path, content);
    }

    /// Writes a file of another working tree and stages it.
    pub fn stage_in(&self, top: &Path, path: &str, content: &str) {
        let file = top.join(path);
        fs::create_dir_all(file.parent().expect("a file is in a folder")).expect("a folder can be made");
        fs::write(file, content).expect("a file can be written");
        self.git_in(top, &["add", "--", path]);
    }

    /// Commits what is staged, as an agent or as nobody in particular.
    pub fn commit(&self, agent: Option<&str>) -> Ran {
        self.commit_in(&self.top, agent, &[])
    }

    /// Commits what is staged in a working tree, with more in the environment.
    pub fn commit_in(&self, top: &Path, agent: Option<&str>, environment: &[(&str, &str)]) -> Ran {
        let mut command = self.command("git", top, &["commit", "--quiet", "-m", "A commit"]);
        command.envs(agent.map(|name| ("POSTRIDER_AGENT", name))).envs(environment.iter().copied());
        ran(command)
    }

    /// How many commits there are.
    pub fn commits(&self) -> usize {
        self.git(&["rev-list", "--all"]).lines().count()
    }
}

/// Runs a command to its end.
pub fn ran(mut command: Command) -> Ran {
    command.output().expect("the program runs").into()
}

/// Whether a program can be run. A build machine must have it; elsewhere its absence is said loudly.
pub fn is_there(program: &str) -> bool {
    let is_there = Command::new(program).arg("--version").output().is_ok();
    if !is_there {
        not_run(&format!("a test that needs {program}"), &format!("there is no {program}"));
    }
    is_there
}
