//! How a client is to call this program: by its plain name where that finds it, else by its path.
//!
//! Files of a project are shared with people who keep the program elsewhere, so there it is always the plain name.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::clients::Scope;

/// The plain name.
const NAME: &str = "postrider";

/// How the program is called.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// Its name or its path.
    pub word: String,
    /// Why it is called so, in a sentence.
    pub why: String,
}

impl Program {
    /// How this very program is called, from the search path in the environment.
    pub(crate) fn of_this_process(scope: Scope) -> anyhow::Result<Self> {
        let this = std::env::current_exe().context("this program does not know its own path")?;
        Self::choose(scope, &this, &std::env::var_os("PATH").unwrap_or_default())
    }

    /// How `this` is called where programs are searched for in `path`.
    fn choose(scope: Scope, this: &Path, path: &OsStr) -> anyhow::Result<Self> {
        let found = std::env::split_paths(path).map(|folder| folder.join(NAME)).find(|file| is_executable(file));
        let is_this = |found: &PathBuf| found.canonicalize().ok() == this.canonicalize().ok();
        let why = match (found, scope) {
            (Some(found), _) if is_this(&found) => ", which PATH finds.".to_owned(),
            (Some(found), Scope::Project) => format!("; PATH finds another one, '{}'.", found.display()),
            (None, Scope::Project) => ", which PATH does not find: put its folder there.".to_owned(),
            (found, Scope::User) => {
                let word = this.to_str().context("the path of this program is not Unicode; move it")?.to_owned();
                let finds = if found.is_some() { "finds another one" } else { "does not find it" };
                let why = format!("Postrider is called by its path, '{word}', because PATH {finds}.");
                return Ok(Self { word, why });
            }
        };
        Ok(Self { word: NAME.to_owned(), why: format!("Postrider is called by its name, '{NAME}'{why}") })
    }

    /// The word as a shell reads it.
    pub(crate) fn for_a_shell(&self) -> String {
        shlex::try_quote(&self.word).map_or_else(|_| NAME.to_owned(), |word| word.into_owned())
    }
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A folder with a program in it.
    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join(NAME);
        fs::write(&program, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        (folder, program)
    }

    fn chosen(scope: Scope, this: &Path, path: &[&Path]) -> Program {
        Program::choose(scope, this, &std::env::join_paths(path).unwrap()).unwrap()
    }

    #[test]
    fn the_name_is_enough_where_it_finds_this_very_program() {
        let (folder, program) = folder();
        let links = tempfile::tempdir().unwrap();
        symlink(&program, links.path().join(NAME)).unwrap();
        for path in [folder.path(), links.path()] {
            for scope in [Scope::User, Scope::Project] {
                let chosen = chosen(scope, &program, &[Path::new("/no/such"), path]);
                assert!(chosen.word == NAME && chosen.why.ends_with("which PATH finds."), "{chosen:?}");
            }
        }
    }

    #[test]
    fn a_user_gets_the_path_where_the_name_finds_nothing_or_another_program() {
        let ((_this, program), (other, foreign)) = (folder(), folder());
        for path in [Path::new("/no/such"), other.path()] {
            let chosen = chosen(Scope::User, &program, &[path]);
            assert_eq!(chosen.word, program.to_str().unwrap());
        }
        fs::set_permissions(foreign, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(chosen(Scope::User, &program, &[other.path()]).why.contains("does not find"), "what cannot be run");
    }

    #[test]
    fn a_project_gets_the_name_whatever_it_finds_and_a_doubt() {
        let ((_this, program), (other, _)) = (folder(), folder());
        for path in [Path::new("/no/such"), other.path()] {
            let chosen = chosen(Scope::Project, &program, &[path]);
            assert!(chosen.word == NAME && !chosen.why.ends_with("which PATH finds."), "{chosen:?}");
        }
    }

    #[test]
    fn a_path_that_a_shell_would_misread_is_quoted() {
        let program = |word: &str| Program { word: word.to_owned(), why: String::new() };
        assert_eq!(program("/usr/bin/postrider").for_a_shell(), "/usr/bin/postrider");
        assert_eq!(program("/my tools/postrider").for_a_shell(), "'/my tools/postrider'");
        let odd = "/it's $HOME/postrider";
        assert_eq!(shlex::split(&program(odd).for_a_shell()).unwrap(), [odd]);
    }
}
