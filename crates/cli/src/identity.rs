//! Who a command acts for, and in which project: from a flag, the environment or the settings, in that order.
//!
//! Whether there is such an agent is for the office to say.

use anyhow::Context;
use clap::Args;

use crate::config::{Config, EVERYWHERE};
use crate::mailbox::Caller;
use crate::post_office::InProject;

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

impl Acting {
    /// Who acts, if a flag or the environment says so.
    pub fn said(&self) -> Option<Caller> {
        // An empty variable of the environment is not set.
        let name = self.name.clone().filter(|name| !name.is_empty())?;
        Some(Caller { name, token: self.token() })
    }

    /// What proves the name.
    pub fn token(&self) -> Option<String> {
        self.token.clone().filter(|token| !token.is_empty())
    }

    /// Who acts, if anybody said so.
    pub fn opt_who(&self, config: &Config) -> Option<Caller> {
        let in_file = config.file.agent.clone().filter(|name| !name.is_empty());
        self.said().or_else(|| in_file.map(|name| Caller { name, token: self.token() }))
    }

    /// Who acts.
    pub fn who(&self, config: &Config) -> anyhow::Result<Caller> {
        self.opt_who(config)
            .context("nobody said who you are; pass --as NAME, set POSTRIDER_AGENT, or set agent in postrider.toml")
    }
}
