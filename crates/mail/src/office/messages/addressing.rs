//! Addressing: who the names in a draft are, and in which project its message is kept.
//!
//! A message belongs to one project: that of its recipients. Who writes to another project is called `name@slug` there, which is an
//! address that leads back.

use std::collections::HashSet;

use super::resolving::{Meant, Resolved};
use super::send::Draft;
use crate::agents::{Agent, EVERYONE};
use crate::channels;
use crate::error::Error;
use crate::ids::AgentId;
use crate::messages::{Role, Vouched};
use crate::office::{Known, Office};
use crate::projects::Project;
use crate::responses::{OFFICE_AGENT, is_office_name};
use crate::roles::{ROLE, RoleName};

/// How many agents `all` may reach.
const MOST_EVERYONE: usize = 100_000;

/// Everybody whom a draft names, found.
pub(super) struct Addressed {
    /// The project of the sender.
    pub(super) home: Project,
    /// The project of the recipients, where the message is kept.
    pub(super) project: Project,
    pub(super) sender: Known,
    pub(super) vouched: Vouched,
    /// Each once, under the most open role; who is named by its name and as the holder of a role, with both.
    pub(super) recipients: Vec<(AgentId, String, Role)>,
    /// What the addresses among the names stood for.
    pub(super) resolved: Vec<Resolved>,
    /// The roles among them, and whose mailbox each stood for: its holder's, or its own.
    pub(super) roles: Vec<(RoleName, AgentId)>,
}

impl Addressed {
    /// What the sender is called where the message is kept, if that is not its own project.
    pub(super) fn name_there(&self) -> Option<String> {
        (self.home.id != self.project.id).then(|| name_across(&self.sender.name, &self.home))
    }

    fn add(&mut self, meant: Meant, role: Role, taken: &mut HashSet<AgentId>) {
        let holder = meant.agents.first().map(|(agent, _)| agent.id);
        let role_meant = meant.role.zip(holder).filter(|one| !self.roles.contains(one));
        for (agent, shown) in meant.agents {
            let is_new = taken.insert(agent.id);
            // Whoever holds the role next gets what was said to it, and who is called by name keeps that.
            let is_role = role_meant.is_some() || self.roles.iter().any(|(_, holder)| *holder == agent.id);
            let is_shown = || self.recipients.iter().any(|(known, text, _)| *known == agent.id && *text == shown);
            if is_new || is_role && role != Role::Bcc && !is_shown() {
                self.recipients.push((agent.id, shown, role));
            }
        }
        self.resolved.extend(meant.resolved.filter(|resolved| !self.resolved.contains(resolved)));
        self.roles.extend(role_meant);
    }
}

/// What an agent is called in another project.
pub(in crate::office) fn name_across(name: &str, home: &Project) -> String {
    format!("{name}@{}", home.slug)
}

impl Office {
    /// Finds everybody that the draft names. Who is named twice gets one delivery, under the most open role.
    pub(super) async fn address(&self, draft: &Draft<'_>) -> Result<Addressed, Error> {
        let home = self.project(draft.project_key).await?;
        let sender = self.sender(&home, draft.from.name).await?;
        let is_outside = channels::is_outside(draft.door);
        if !is_outside && (is_office_name(&sender.name) || sender.program == ROLE) {
            return Err(Error::NameTaken(sender.name));
        }
        // Nobody proves a name to a folder; what comes from there is claimed, wherever names have to be proved.
        let vouched = if is_outside { Vouched::Claimed } else { self.prove(&sender, draft.from).await? };
        let roles = [(Role::To, &draft.to), (Role::Cc, &draft.cc), (Role::Bcc, &draft.bcc)];
        let named = roles.iter().flat_map(|(role, named)| named.iter().map(|name| (*role, name.as_str())));
        let named: Vec<(Role, &str)> = named.collect();
        let names: Vec<&str> = named.iter().map(|(_, name)| *name).filter(|name| *name != EVERYONE).collect();
        let mut known = self.agents_if_any(&home, &names).await?.into_iter();
        let (mut first, mut taken) = (None::<Project>, HashSet::new());
        let (project, recipients) = (home.clone(), Vec::new());
        let mut addressed =
            Addressed { home, project, sender, vouched, recipients, resolved: Vec::new(), roles: Vec::new() };
        for (role, name) in named {
            let (home, sender) = (&addressed.home, &addressed.sender);
            let (project, meant) = if name == EVERYONE {
                (home.clone(), self.everyone(home, sender).await?)
            } else {
                self.resolve(home, sender, name, known.next().flatten(), is_outside).await?
            };
            if first.get_or_insert_with(|| project.clone()).id != project.id {
                let wanted = "recipients of one project in one message: send those of another project one of their own";
                return Err(Error::invalid("to", name, wanted));
            }
            // What comes from outside has been said already, and is kept for whoever it was said to.
            if !is_outside {
                self.refuse_retired((&addressed.home, &project), meant.agents.iter().map(|(agent, _)| agent)).await?;
            }
            addressed.add(meant, role, &mut taken);
        }
        addressed.project = first.unwrap_or_else(|| addressed.home.clone());
        self.check_name_across(&addressed).await?;
        Ok(addressed)
    }

    /// Who sends: whoever has the name, or the mailbox of the address that it is.
    async fn sender(&self, home: &Project, name: &str) -> Result<Known, Error> {
        if let Some(known) = self.agents_if_any(home, &[name]).await?.remove(0) {
            return Ok(known);
        }
        match self.mailbox_of(home, name).await? {
            Some(known) => Ok(known),
            None => Err(self.unknown_agent(home, name).await?),
        }
    }

    /// Every agent of a project but the sender.
    pub(super) async fn everyone(&self, project: &Project, sender: &Known) -> Result<Meant, Error> {
        let everyone = self.store.agents(project.id, None, MOST_EVERYONE).await?;
        let is_other = |agent: &Agent| agent.id != sender.id && agent.retired_at.is_none() && reads_mail(agent);
        let others = everyone.into_iter().filter(is_other).map(Known::from);
        Ok(Meant { agents: others.map(|agent| (agent.clone(), agent.name)).collect(), ..Meant::default() })
    }

    /// Refuses if an agent of the other project has the name that the sender would be called by: an answer would go to that agent.
    async fn check_name_across(&self, addressed: &Addressed) -> Result<(), Error> {
        let Some(name) = addressed.name_there() else { return Ok(()) };
        match self.agents_if_any(&addressed.project, &[&name]).await?.remove(0) {
            Some(other) if !self.is_leftover(&other).await? => Err(Error::NameTaken(name)),
            _ => Ok(()),
        }
    }
}

/// Nobody reads the mail of the office's own agent, and that of a role is its holder's.
fn reads_mail(agent: &Agent) -> bool {
    agent.name != OFFICE_AGENT && agent.program != ROLE
}
