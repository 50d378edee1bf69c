//! `postrider token`: what proves a name, where names have to be proved.

use std::process::ExitCode;

use api::{Actor, RevokeTokens};
use clap::{Args, Subcommand};
use serde_json::json;

use super::in_name::InName;
use crate::config::Config;
use crate::identity::Acting;
use crate::output;

const EXAMPLES: &str = "\
A name is never left without a token: whoever came first would have it. When the last one is revoked, a new one is printed.
Sessions that go by a revoked token have to be given another.

Examples:
  postrider token revoke --all --as GreenDog --token \"$TOKEN\"     a new token is printed, all others are worth nothing
  postrider token revoke 5d41402abc4b2a76 --as GreenDog";

/// Look after the registration tokens of an agent.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct AgentTokens {
    #[command(flatten)]
    acting: Acting,
    #[command(subcommand)]
    command: More,
}

#[derive(Subcommand, Debug)]
enum More {
    /// Make tokens worth nothing
    #[command(override_usage = "postrider token revoke [OPTIONS] <TOKEN>...\n       \
                                postrider token revoke [OPTIONS] --all", after_help = EXAMPLES)]
    Revoke {
        /// The tokens
        #[arg(value_name = "TOKEN", required_unless_present = "all")]
        tokens: Vec<String>,
        /// All of the agent's tokens
        #[arg(long, conflicts_with = "tokens")]
        all: bool,
    },
}

impl AgentTokens {
    /// Does it; exit code 1 when the office refuses.
    pub fn run(self, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        let who = self.acting.who(&config)?;
        let More::Revoke { tokens, all } = self.command;
        let actor = Actor {
            project_key: self.acting.project.key()?,
            agent_name: who.name.clone(),
            registration_token: who.token,
        };
        let request = RevokeTokens { tokens: (!all).then_some(tokens), ..RevokeTokens::default() };
        self.acting.project.visit(config, async |post_office, _| {
            let revoked = post_office.ask(request.by(actor)).await?;
            let mut json = json!(revoked);
            json["agent"] = json!(who.name);
            Ok(output::answer(as_json, &json, || {
                let plural = if revoked.revoked == 1 { "" } else { "s" };
                let name = output::text::unbroken(&who.name);
                let mut said = match revoked.revoked {
                    0 => format!("No such token of '{name}' is known. Nothing was revoked."),
                    number => format!("Revoked {number} token{plural} of '{name}'."),
                };
                if let Some(token) = &revoked.registration_token {
                    said.push_str(&format!(
                        "\nThis is the only token of that name now. Keep it, and set POSTRIDER_REGISTRATION_TOKEN to it:\n{token}"
                    ));
                }
                said
            }))
        })
    }
}
