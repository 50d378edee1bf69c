//! `postrider retire`: nobody writes to an agent any more, until it registers again.
//!
//! It is done in the agent's own name, so that where names have to be proved it takes that agent's token. A person retires any agent
//! on the page.

use std::process::ExitCode;

use api::RetireAgent;
use clap::Args;
use serde_json::json;

use crate::config::Config;
use crate::identity::Acting;
use crate::output::{self, text};
use crate::post_office;

const EXAMPLES: &str = "\
Its mail stays, its reservations are released, and mail to it is refused from now on. It comes back by itself when it
registers again, for example when its next session begins. Where names have to be proved, pass its token, or
retire it on the page.

Examples:
  postrider retire GreenDog";

/// Retire an agent: nobody writes to it until it registers again
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Retire {
    /// The agent
    agent: String,
    #[command(flatten)]
    acting: Acting,
}

impl Retire {
    /// Retires it.
    pub fn run(self, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        let project = self.acting.project.key()?;
        let request = RetireAgent {
            project_key: project.clone(),
            agent_name: self.agent.clone(),
            registration_token: self.acting.token(),
        };
        post_office::visit(config, &project, async |post_office| {
            let is_new = post_office.ask(request.clone()).await?.done;
            let json = json!({ "agent": self.agent, "changed": is_new });
            Ok(output::answer(as_json, &json, || {
                let agent = text::lines(&self.agent);
                if is_new { format!("'{agent}' is retired.") } else { format!("'{agent}' was retired before.") }
            }))
        })
    }
}
