//! Who a command acts for, and in which project: from a flag, the environment, the session of a client that it runs in, or the
//! settings, in that order. In the environment our own variable comes before those of Gas City.
//!
//! A variable that a session merely inherited says less than the session: all terminals of Codex share the environment of the
//! first. That a command runs in a session proves no name; where names have to be proved it takes a token all the same.
//! Whether there is such an agent is for the office to say.

use anyhow::Context;
use clap::Args;

use crate::config::{Config, EVERYWHERE, set};
use crate::mailbox::Caller;
use crate::own_session;
use crate::post_office::InProject;

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
    /// Who acts [default: `agent` in postrider.toml]
    #[arg(long = "as", global = true, env = "POSTRIDER_AGENT", value_name = "NAME", help_heading = EVERYWHERE,
          display_order = 101)]
    name: Option<String>,
    /// The registration token of that name, where names have to be proved
    #[arg(long, global = true, value_name = "TOKEN", env = "POSTRIDER_REGISTRATION_TOKEN", hide_env_values = true,
          help_heading = EVERYWHERE, display_order = 102)]
    token: Option<String>,
}

/// Who acts, as somebody said, and how.
#[derive(Debug)]
pub struct Said {
    /// Who.
    pub who: Caller,
    /// Whether our variable says it, and no flag that says another.
    pub is_variable: bool,
}

impl Acting {
    /// Who acts, if a flag or the environment says so.
    pub fn said(&self) -> Option<Said> {
        // An empty variable of the environment is not set.
        let name = self.name.clone().filter(|name| !name.is_empty());
        let is_variable = name.is_some() && name == set(VARIABLE);
        let name = name.or_else(of_session)?;
        Some(Said { who: self.caller(name), is_variable })
    }

    /// What proves the name.
    pub fn token(&self) -> Option<String> {
        self.token.clone().filter(|token| !token.is_empty())
    }

    /// Who acts, if anybody said so, or a session tells.
    pub fn opt_who(&self, config: &Config) -> Option<Caller> {
        let in_file = || config.file.agent.clone().filter(|name| !name.is_empty());
        let session = || own_session::find(&config.home);
        match self.said() {
            Some(said) if !said.is_variable => Some(said.who),
            Some(said) => match session() {
                Some(session) if own_session::has_inherited(&session, &said.who.name) => {
                    Some(self.caller(session.agent))
                }
                _ => Some(said.who),
            },
            None => session().map(|session| session.agent).or_else(in_file).map(|name| self.caller(name)),
        }
    }

    /// Who acts.
    pub fn who(&self, config: &Config) -> anyhow::Result<Caller> {
        self.opt_who(config)
            .context("nobody said who you are; pass --as NAME, set POSTRIDER_AGENT, or set agent in postrider.toml")
    }

    fn caller(&self, name: String) -> Caller {
        Caller { name, token: self.token() }
    }
}
