//! `postrider rename`: gives an agent another name. It keeps its mail, its token and its reservations, and the old name still reaches it.
//!
//! The sessions that this machine remembers follow; a session elsewhere learns its name when it begins the next time, and until then
//! acts under the old one, which is as good.

use std::collections::BTreeSet;
use std::process::ExitCode;

use api::{ListAgents, RenameAgent};
use clap::Args;
use relay::sessions::Sessions;
use serde_json::json;

use super::hook::Kept;
use super::hook::memory::Memory;
use crate::config::Config;
use crate::identity::Acting;
use crate::local_sessions;
use crate::output::{self, text};
use crate::post_office::{self, PostOffice};

const EXAMPLES: &str = "\
Mail that was sent keeps the names that it was sent under. Where names have to be proved, pass the token of the agent
with --token.

Examples:
  postrider rename GreenDog reviewer";

/// Give an agent another name; the old one still reaches it
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Rename {
    /// The name that it has
    old: String,
    /// The name to have
    new: String,
    #[command(flatten)]
    acting: Acting,
}

impl Rename {
    /// Renames it, here and in the sessions that this machine remembers.
    pub fn run(self, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        let project = self.acting.project.key()?;
        let sessions = local_sessions::of(&config);
        let request = RenameAgent {
            project_key: project.clone(),
            agent_name: self.old.clone(),
            new_name: self.new.clone(),
            registration_token: self.acting.token(),
        };
        post_office::visit(config, &project, async |post_office| {
            let name = post_office.ask(request.clone()).await?.name;
            if let Err(error) = self.rename_here(post_office, &sessions, &project, &name).await {
                output::note(&format!("Note: the sessions on this machine keep the old name for now: {error}"));
            }
            let json = json!({ "name": name, "former_name": self.old });
            Ok(output::answer(as_json, &json, || {
                text::lines(&format!("'{}' is called '{name}' now. The old name still reaches it.", self.old))
            }))
        })
    }

    /// Renames the sessions that this machine remembers, and what is noted of the agent beside them. They know the project by its
    /// folder, whatever it was called here.
    async fn rename_here(
        &self,
        post_office: &PostOffice,
        sessions: &Sessions,
        project: &str,
        name: &str,
    ) -> anyhow::Result<()> {
        let about = ListAgents { project_key: project.to_owned(), limit: Some(1), ..ListAgents::default() };
        let own = post_office.ask(about).await?.project.human_key;
        for key in BTreeSet::from([project, own.as_str()]) {
            let me = |agent: &str| Kept { agent: agent.to_owned(), token: None, project: key.to_owned() };
            sessions.rename(key, &self.old, name)?;
            Memory::of(sessions, &me(&self.old)).rename(&me(name))?;
        }
        Ok(())
    }
}
