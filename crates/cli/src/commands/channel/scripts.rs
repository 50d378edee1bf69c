//! `postrider channel scripts`: the two programs that agents of a shared folder call, as stand-ins that call us.
//!
//! What these programs are told and answer is the business of `postrider who` and `postrider send-message`: a stand-in
//! hands on its arguments. What others wrote stays, unless somebody says otherwise, and then it is kept beside.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use serde::Serialize;
use serde_json::json;
use tempfile::NamedTempFile;

use crate::config::Config;
use crate::output::{self, text};
use crate::post_office::{InProject, Refused};

const EXAMPLES: &str = "\
The folder is one that [channels] in postrider.toml names; its project is the one that is meant. A script that is not
ours is left alone: --replace takes its place, and keeps it as NAME.before-postrider.

Examples:
  postrider channel scripts /mnt/shared/collab
  /mnt/shared/collab/scripts/who
  /mnt/shared/collab/scripts/send-message.py --agent supervisor --channel dev --to codex --text 'Please review this'";

/// Where the programs of a shared folder lie.
const FOLDER: &str = "scripts";
/// What every stand-in says of itself.
const MARK: &str = "Written by 'postrider channel scripts'";
/// How the name of a program ends whose place was taken.
const KEPT: &str = ".before-postrider";
const EXECUTABLE: u32 = 0o755;

/// Write scripts/who and scripts/send-message.py into a shared folder: stand-ins that call Postrider.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Scripts {
    /// The folder that agents share
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Replace scripts that are not ours
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    project: InProject,
}

/// A stand-in, and what became of it.
#[derive(Serialize)]
struct Script {
    path: PathBuf,
    /// `written`, `unchanged` or `replaced`.
    outcome: &'static str,
    /// What was there before, where that was not ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_as: Option<PathBuf>,
    #[serde(skip)]
    content: String,
}

impl Scripts {
    /// Writes the stand-ins; none of them if one cannot be written.
    pub fn run(self, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        let folder = std::path::absolute(&self.folder).context("the folder has no name")?;
        if !folder.is_dir() {
            let hint = "Name the folder that agents share, the one with 'channels' in it.";
            return Err(Refused::new("NO_SUCH_FOLDER", &format!("'{}' is no folder", folder.display()), hint).into());
        }
        let program = std::env::current_exe().context("this program does not know its own path")?;
        let project = self.project_of(&config, &folder)?;
        let options = [vec!["--project".to_owned(), project.clone()], options_of(&config)?].concat();
        let program = program.to_str().context("the path of this program is not Unicode; move it")?;
        let scripts = [("who", who(program, &options)?), ("send-message.py", send_message(program, &options))];
        let mut planned = Vec::new();
        for (name, content) in scripts {
            planned.push(plan(folder.join(FOLDER).join(name), content, self.replace)?);
        }
        for script in &planned {
            script.write().with_context(|| format!("cannot write '{}'", script.path.display()))?;
        }
        let json = json!({ "folder": folder, "project": project, "program": program, "scripts": planned });
        let answer = output::answer(as_json, &json, || {
            let mut lines: Vec<String> = planned.iter().map(Script::told).collect();
            lines.push(format!("They call '{program}' for the project '{project}'."));
            text::lines(&lines.join("\n"))
        });
        if config.channels_folder(&project) != Some(&folder) {
            output::note(&format!(
                "These settings do not say that '{}' is the folder of '{project}': what is said there stays here unless \
                 a server's settings do, under [channels].",
                folder.display()
            ));
        }
        Ok(answer)
    }

    /// The project whose channels are in the folder, as the settings say; else the one that was named.
    fn project_of(&self, config: &Config, folder: &Path) -> anyhow::Result<String> {
        let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let of_folder = config.file.channels.iter().find(|(_, shared)| whole(shared) == whole(folder));
        match of_folder {
            Some((project, _)) => Ok(project.clone()),
            None if self.project.is_given() => self.project.key(),
            None => {
                let fact = format!("No project has its channels in '{}'", folder.display());
                let hint = "Name the folder under [channels] in postrider.toml, or the project with --project.";
                Err(Refused::new("PROJECT_NOT_FOUND", &fact, hint).into())
            }
        }
    }
}

/// What leads a stand-in to the same mail, where that is not where everybody's is.
fn options_of(config: &Config) -> anyhow::Result<Vec<String>> {
    let usual = std::env::home_dir().map(|home| home.join(".postrider"));
    let home = Some(&config.home).filter(|home| Some(*home) != usual.as_ref());
    let settings = config.source.as_ref().filter(|source| source.parent() != Some(&config.home));
    let mut options = Vec::new();
    for (flag, path) in [("--home", home), ("--config", settings)] {
        let Some(path) = path else { continue };
        let path = std::path::absolute(path).context("a path of the settings has no name")?;
        let path = path.into_os_string().into_string().ok().context("a path of the settings is not Unicode")?;
        options.extend([flag.to_owned(), path]);
    }
    Ok(options)
}

/// What is to become of one stand-in.
fn plan(path: PathBuf, content: String, may_replace: bool) -> anyhow::Result<Script> {
    let found = match fs::read(&path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
            return Ok(Script { path, outcome: "written", kept_as: None, content });
        }
        Err(error) => return Err(error).with_context(|| format!("cannot read '{}'", path.display())),
    };
    let is_ours = found.windows(MARK.len()).any(|words| words == MARK.as_bytes());
    if is_ours {
        let mode = path.metadata().map_or(0, |metadata| metadata.permissions().mode() & 0o777);
        let is_same = found == content.as_bytes() && mode == EXECUTABLE;
        let outcome = if is_same { "unchanged" } else { "written" };
        return Ok(Script { path, outcome, kept_as: None, content });
    }
    let kept = PathBuf::from(format!("{}{KEPT}", path.display()));
    let fact = format!("'{}' is there, and was not written by Postrider", path.display());
    let hint = match (may_replace, kept.is_symlink() || kept.exists()) {
        (true, false) => return Ok(Script { path, outcome: "replaced", kept_as: Some(kept), content }),
        (true, true) => format!("Move '{}' away, so that it can be kept under that name.", kept.display()),
        (false, _) => format!("Move it away, or pass --replace: it is then kept as '{}'.", kept.display()),
    };
    Err(Refused::new("FOREIGN_FILE", &fact, &hint).into())
}

impl Script {
    /// Writes it in one step, so that there is a whole program at every moment.
    fn write(&self) -> io::Result<()> {
        if self.outcome == "unchanged" {
            return Ok(());
        }
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder)?;
        let mut fresh = NamedTempFile::new_in(folder)?;
        fresh.write_all(self.content.as_bytes())?;
        fresh.as_file().set_permissions(Permissions::from_mode(EXECUTABLE))?;
        if let Some(kept) = &self.kept_as {
            // A link never takes the place of anything.
            fs::hard_link(&self.path, kept)?;
        }
        fresh.persist(&self.path).map(drop).map_err(|error| error.error)
    }

    fn told(&self) -> String {
        let path = self.path.display();
        match &self.kept_as {
            Some(kept) => format!("Replaced '{path}', and kept what was there as '{}'.", kept.display()),
            None if self.outcome == "unchanged" => format!("'{path}' is as it should be."),
            None => format!("Wrote '{path}'."),
        }
    }
}

/// A stand-in for the program that lists who is there.
fn who(program: &str, options: &[String]) -> anyhow::Result<String> {
    let quoted = |word: &str| shlex::try_quote(word).map(|word| word.into_owned());
    let (program, options) = (quoted(program)?, shlex::try_join(options.iter().map(String::as_str))?);
    Ok(format!(
        "#!/bin/sh\n\
         # {MARK}; see 'postrider who --help'.\n\
         program={program}\n\
         if [ ! -x \"$program\" ] && ! program=$(command -v postrider); then\n    \
             echo \"who: postrider is neither at \"{program}\" nor on PATH; install it, or write this script again\" >&2\n    \
             exit 1\n\
         fi\n\
         exec \"$program\" who {options} \"$@\"\n"
    ))
}

/// A stand-in for the program that says something in a channel. Others run it with Python, so it has to be that.
fn send_message(program: &str, options: &[String]) -> String {
    // A text of JSON is one of Python, too.
    let (program, options) = (json!(program), json!(options));
    format!(
        "#!/usr/bin/env python3\n\
         # {MARK}; see 'postrider send-message --help'.\n\
         import os\n\
         import shutil\n\
         import sys\n\
         \n\
         PROGRAM = {program}\n\
         OPTIONS = {options}\n\
         \n\
         program = PROGRAM if os.access(PROGRAM, os.X_OK) else shutil.which(\"postrider\")\n\
         if program is None:\n    \
             sys.exit(f\"send-message: postrider is neither at '{{PROGRAM}}' nor on PATH; install it, or write this script \
             again\")\n\
         os.execv(program, [program, \"send-message\", *OPTIONS, *sys.argv[1:]])\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_odd_letters_is_one_word_in_both_languages() {
        let odd = "/it's $HOME \"x\"/postrider";
        let options = vec!["--project".to_owned(), odd.to_owned()];
        let shell = who(odd, &options).unwrap();
        let line = shell.lines().last().unwrap();
        assert_eq!(shlex::split(line).unwrap(), ["exec", "$program", "who", "--project", odd, "$@"]);
        let python = send_message(odd, &options);
        assert!(python.contains(r#"PROGRAM = "/it's $HOME \"x\"/postrider""#), "{python}");
    }

    #[test]
    fn what_is_ours_is_written_again_and_what_is_not_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("who");
        let planned = |content: &str, may_replace| {
            plan(path.clone(), content.to_owned(), may_replace).map(|script| (script.outcome, script.kept_as.is_some()))
        };
        let content = who("/bin/postrider", &[]).unwrap();
        assert_eq!(planned(&content, false).unwrap(), ("written", false));
        plan(path.clone(), content.clone(), false).unwrap().write().unwrap();
        assert_eq!(planned(&content, false).unwrap(), ("unchanged", false));
        assert_eq!(planned(&who("/else/postrider", &[]).unwrap(), false).unwrap(), ("written", false));
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        assert_eq!(planned(&content, false).unwrap(), ("written", false), "nobody could run it");
        fs::write(&path, "#!/bin/sh\necho codex\n").unwrap();
        assert!(planned(&content, false).unwrap_err().to_string().contains("not written by Postrider"));
        assert_eq!(planned(&content, true).unwrap(), ("replaced", true));
        fs::write(folder.path().join("who.before-postrider"), "precious").unwrap();
        assert!(planned(&content, true).is_err(), "what was kept before is kept");
    }
}
