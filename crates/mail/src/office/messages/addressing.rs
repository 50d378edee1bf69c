//! Addressing: who the names in a draft are.

use super::send::Draft;
use crate::agents::{Agent, EVERYONE};
use crate::channels;
use crate::error::Error;
use crate::ids::AgentId;
use crate::messages::{Role, Vouched};
use crate::office::people::check_not_retired;
use crate::office::{Known, Office};
use crate::projects::Project;
use crate::responses::{OFFICE_AGENT, is_office_name};

/// How many agents `all` may reach.
const MOST_EVERYONE: usize = 100_000;

impl Office {
    /// Finds everybody that the draft names. Who is named twice gets one delivery, under the most open role.
    pub(super) async fn address(
        &self,
        draft: &Draft<'_>,
    ) -> Result<(Project, Known, Vec<(AgentId, String, Role)>, Vouched), Error> {
        let project = self.project(draft.project_key).await?;
        let roles = [(Role::To, &draft.to), (Role::Cc, &draft.cc), (Role::Bcc, &draft.bcc)];
        let sender = self.agents_called(&project, &[draft.from.name]).await?.remove(0);
        if !channels::is_outside(draft.door) && is_office_name(&sender.name) {
            return Err(Error::NameTaken(sender.name));
        }
        // Nobody proves a name to a folder; what comes from there is claimed, wherever names have to be proved.
        let vouched =
            if channels::is_outside(draft.door) { Vouched::Claimed } else { self.prove(&sender, draft.from).await? };
        let named = roles.iter().flat_map(|(_, named)| named.iter()).map(String::as_str);
        let names: Vec<&str> = named.filter(|name| *name != EVERYONE).collect();
        let found = self.agents_called(&project, &names).await.map_err(Error::of_another)?;
        // What comes from outside has been said already, and is kept for whoever it was said to.
        if !channels::is_outside(draft.door) {
            check_not_retired(&found)?;
        }
        let mut found = found.into_iter();
        let mut recipients: Vec<(AgentId, String, Role)> = Vec::new();
        let mut taken = std::collections::HashSet::new();
        for (role, named) in roles {
            for name in named {
                let agents = if name == EVERYONE {
                    let everyone = self.store.agents(project.id, None, MOST_EVERYONE).await?;
                    let is_other =
                        |agent: &Agent| agent.id != sender.id && agent.retired_at.is_none() && !is_office(agent);
                    everyone.into_iter().filter(is_other).map(Known::from).collect()
                } else {
                    found.next().into_iter().collect::<Vec<_>>()
                };
                let new = agents.into_iter().filter(|agent| taken.insert(agent.id));
                recipients.extend(new.map(|agent| (agent.id, agent.name, role)));
            }
        }
        Ok((project, sender, recipients, vouched))
    }
}

/// Nobody reads the mail of the office's own agent.
fn is_office(agent: &Agent) -> bool {
    agent.name == OFFICE_AGENT
}
