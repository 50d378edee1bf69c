//! Who a command acts for, and in which project: from a flag, the environment, the session of a client that it runs in, or the
//! settings, in that order. In the environment our own variable comes before those of Gas City.
//!
//! A variable that a session merely inherited says less than the session: all terminals of Codex share the environment of the
//! first. That a command runs in a session proves no name; where names have to be proved it takes a token all the same.
//! Whether there is such an agent is for the office to say. A session tells who acts in its own project alone.

use std::path::Path;

use anyhow::{Context, bail};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use mail::projects::slug_of;
use relay::sessions::SessionRecord;

use crate::config::{Config, EVERYWHERE, set};
use crate::mailbox::Caller;
use crate::own_session;
use crate::post_office::{InProject, repository_of};

/// Where a person or a client says who the agent is.
pub const VARIABLE: &str = "POSTRIDER_AGENT";

/// Where Gas City tells the programs of a session who calls, the first first.
const OF_SESSION: [&str; 3] = ["GC_SESSION_ID", "GC_ALIAS", "GC_AGENT"];

/// Who calls in a session of Gas City.
pub fn of_session() -> Option<String> {
    OF_SESSION.into_iter().find_map(set)
}

/// How a program that keeps mail is told who calls. Where that is another than the session's own agent, nothing of the
/// session is left for the program to read first.
pub fn for_program(who: Option<&Caller>) -> Vec<(String, String)> {
    let Some(Caller { name, .. }) = who else { return Vec::new() };
    let is_another = of_session().as_ref() != Some(name);
    let others =
        OF_SESSION.into_iter().filter(|variable| *variable != "GC_AGENT" && is_another && set(variable).is_some());
    let emptied = others.map(|variable| (variable.to_owned(), String::new()));
    emptied.chain([("GC_AGENT".to_owned(), name.clone())]).collect()
}

/// Who acts, and where.
#[derive(Args, Debug)]
pub struct Acting {
    /// The project.
    #[command(flatten)]
    pub project: InProject,
    #[command(flatten)]
    name: NameFlag,
    /// The registration token of that name, where names have to be proved
    #[arg(long, global = true, value_name = "TOKEN", env = "POSTRIDER_REGISTRATION_TOKEN", hide_env_values = true,
          help_heading = EVERYWHERE, display_order = 102)]
    token: Option<String>,
}

/// The name that a flag or our variable says.
#[derive(Args, Debug)]
struct NameOption {
    /// Who acts [default: the agent of the session, then `agent` in postrider.toml]
    #[arg(long = "as", global = true, env = "POSTRIDER_AGENT", value_name = "NAME", help_heading = EVERYWHERE,
          display_order = 101)]
    name: Option<String>,
}

/// The same, and which of the two says it: a flag is meant, also where it says what the variable does.
#[derive(Debug)]
struct NameFlag {
    option: NameOption,
    is_variable: bool,
}

impl Args for NameFlag {
    fn augment_args(command: Command) -> Command {
        NameOption::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        NameOption::augment_args_for_update(command)
    }
}

impl FromArgMatches for NameFlag {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let is_variable = matches.value_source("name") == Some(ValueSource::EnvVariable);
        Ok(Self { option: NameOption::from_arg_matches(matches)?, is_variable })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// What is said where nothing tells who acts.
const NOBODY: &str = "No agent name given. Use --as NAME or set POSTRIDER_AGENT.";

/// Makes sure that whoever acts in a session is its agent, and not one below that.
fn require_told(session: &SessionRecord) -> anyhow::Result<()> {
    if own_session::hides_callers(session) {
        bail!("No agent name given, and sub-agents have the same shell as '{}'. Use --as NAME.", session.agent);
    }
    Ok(())
}

/// Whether two keys are of one project, as far as that can be seen without the office: a repository with its folders, worktrees and
/// links, or its slug.
fn is_same_project(one: &str, other: &str) -> bool {
    let is_path = |key: &str| Path::new(key).is_absolute();
    let is_slug_of = |slug: &str, path: &str| !is_path(slug) && is_path(path) && slug_of(path) == slug;
    let (one, other) = (repository_of(one), repository_of(other));
    one == other || is_slug_of(&one, &other) || is_slug_of(&other, &one)
}

/// Who acts, as somebody said, and how.
#[derive(Debug)]
pub struct Said {
    /// Who.
    pub who: Caller,
    /// Whether our variable says it, and no flag.
    pub is_variable: bool,
}

impl Acting {
    /// Who acts, if a flag or the environment says so.
    pub fn said(&self) -> Option<Said> {
        // An empty variable of the environment is not set.
        let name = self.name.option.name.clone().filter(|name| !name.is_empty());
        let is_variable = name.is_some() && self.name.is_variable;
        let name = name.or_else(of_session)?;
        Some(Said { who: self.caller(name), is_variable })
    }

    /// What proves the name.
    pub fn token(&self) -> Option<String> {
        self.token.clone().filter(|token| !token.is_empty())
    }

    /// Who acts, if that is said or a session of this project tells.
    pub fn opt_who(&self, config: &Config) -> Option<Caller> {
        self.who_if_any(config).ok().flatten()
    }

    /// The same; a session of another project is refused.
    pub fn who_if_any(&self, config: &Config) -> anyhow::Result<Option<Caller>> {
        self.known(config, |session| self.require_here(session))
    }

    /// Who acts.
    pub fn who(&self, config: &Config) -> anyhow::Result<Caller> {
        self.known(config, |session| require_told(session).and_then(|()| self.require_here(session)))?.context(NOBODY)
    }

    /// Who acts in the project of its session, wherever its shell has gone.
    pub fn who_of_session(&self, config: &Config) -> anyhow::Result<Caller> {
        self.known(config, require_told)?.context(NOBODY)
    }

    fn known(
        &self,
        config: &Config,
        require: impl Fn(&SessionRecord) -> anyhow::Result<()>,
    ) -> anyhow::Result<Option<Caller>> {
        let said = self.said();
        if said.as_ref().is_some_and(|said| !said.is_variable) {
            return Ok(said.map(|said| said.who));
        }
        let session = own_session::find(&config.home);
        let session = session
            .filter(|session| said.as_ref().is_none_or(|said| own_session::has_inherited(session, &said.who.name)));
        if let Some(session) = session {
            require(&session)?;
            return Ok(Some(self.caller(session.agent)));
        }
        let in_file = || config.file.agent.clone().filter(|name| !name.is_empty());
        Ok(said.map(|said| said.who).or_else(|| in_file().map(|name| self.caller(name))))
    }

    /// Makes sure that the project is the one in which the agent of a session has its name: elsewhere another may have it.
    fn require_here(&self, session: &SessionRecord) -> anyhow::Result<()> {
        let asked = self.project.key()?;
        let (agent, project) = (&session.agent, &session.project);
        if is_same_project(&asked, project) {
            return Ok(());
        }
        bail!("You are '{agent}' in the project '{project}'. Pass --as NAME, or --project {project}.");
    }

    fn caller(&self, name: String) -> Caller {
        Caller { name, token: self.token() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_meant_also_where_it_says_what_the_variable_does() {
        // Any variable that is there.
        let command = NameFlag::augment_args(Command::new("x")).mut_arg("name", |argument| argument.env("PATH"));
        let said = |words: &[&str]| NameFlag::from_arg_matches(&command.clone().get_matches_from(words)).unwrap();
        let variable = said(&["x"]);
        assert!(variable.is_variable && variable.option.name.is_some());
        assert!(!said(&["x", "--as", &variable.option.name.unwrap()]).is_variable);
    }

    #[test]
    fn a_project_is_known_by_its_folder_its_links_and_its_slug() {
        let home = tempfile::tempdir().unwrap();
        let (app, link) = (home.path().join("app"), home.path().join("link"));
        std::fs::create_dir(&app).unwrap();
        std::os::unix::fs::symlink(&app, &link).unwrap();
        let (app, link) = (app.to_str().unwrap(), link.to_str().unwrap());
        for other in [app, link, &slug_of(app), &format!("{app}/")] {
            assert!(is_same_project(app, other) && is_same_project(other, app), "{other}");
        }
        for other in [&format!("{app}/src"), "/data/lib", "lib", ""] {
            assert!(!is_same_project(app, other) && !is_same_project(other, app), "{other}");
        }
        std::fs::create_dir(Path::new(app).join(".git")).unwrap();
        for folder in [format!("{app}/src"), format!("{link}/src/gone")] {
            assert!(is_same_project(app, &folder) && is_same_project(&folder, &slug_of(app)), "{folder}");
        }
    }
}
