//! Roles: taking one, giving it back, and who holds what.

use jiff::SignedDuration;

use super::{Claim, Office};
use crate::agents::TokenHash;
use crate::error::Error;
use crate::ids::AgentId;
use crate::messages::Message;
use crate::projects::Project;
use crate::roles::{
    DEFAULT_HOLD_SECONDS, HOLD_SECONDS, Holding, KnownRole, ROLE, RoleName, RoleTaken, is_role_address,
};

impl Office {
    /// Makes the agent the one who holds a role, for so many seconds, unless another holds it; how much of the role's mail was handed
    /// over to it.
    pub async fn take_role(
        &self,
        project_key: &str,
        agent: Claim<'_>,
        role: &str,
        seconds: Option<i64>,
    ) -> Result<(RoleName, Holding, u64), Error> {
        let role = RoleName::parse(role)?;
        let seconds = seconds.unwrap_or(DEFAULT_HOLD_SECONDS);
        if !HOLD_SECONDS.contains(&seconds) {
            let wanted = format!("{} to {} seconds", HOLD_SECONDS.start(), HOLD_SECONDS.end());
            return Err(Error::invalid("seconds", &seconds.to_string(), wanted));
        }
        let (project, agent, _) = self.acting(project_key, agent).await?;
        self.check_free(&project, &role).await?;
        let now = self.clock.now();
        let until = now.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(now);
        let taken = self.store.take_role(project.id, &role, agent.id, self.hidden_token(), until, now).await?;
        match taken {
            RoleTaken::Held { holding, handed_over } => {
                if handed_over > 0 {
                    self.wake.mail_for(&[agent.id]);
                }
                self.wake.work_changed(project.id);
                Ok((role, holding, handed_over))
            }
            RoleTaken::NameTaken => Err(Error::NameTaken(role.address())),
            RoleTaken::ByAnother(other) => {
                Err(Error::RoleHeld { role: role.as_str().to_owned(), holder: other.name, until: other.until })
            }
        }
    }

    /// Gives a role back; whether the agent held it.
    pub async fn release_role(&self, project_key: &str, agent: Claim<'_>, role: &str) -> Result<bool, Error> {
        let role = RoleName::parse(role)?;
        let (project, agent, _) = self.acting(project_key, agent).await?;
        let released = self.store.release_role(project.id, &role, agent.id, self.clock.now()).await?;
        self.wake.work_changed(project.id);
        Ok(released)
    }

    /// The roles of a project, by name.
    pub async fn roles(&self, project_key: &str) -> Result<Vec<KnownRole>, Error> {
        let project = self.project(project_key).await?;
        Ok(self.store.roles(project.id, self.clock.now()).await?)
    }

    /// The role of that name, which is made if it is new.
    pub(super) async fn role(&self, project: &Project, role: &RoleName) -> Result<KnownRole, Error> {
        let now = self.clock.now();
        let known = self.store.roles(project.id, now).await?;
        match known.into_iter().find(|known| known.name == role.as_str()) {
            Some(known) => Ok(known),
            None => {
                let made = self.store.ensure_role(project.id, role, self.hidden_token(), now).await?;
                made.ok_or_else(|| Error::NameTaken(role.address()))
            }
        }
    }

    /// Hands mail to roles, which went to these mailboxes, to whoever took them while it was on its way. A message that stays is handed
    /// over later: its loss here is that of a wake-up.
    pub(super) async fn hand_out(&self, project: &Project, roles: &[(RoleName, AgentId)]) {
        for (role, from) in roles {
            // Most often nothing has changed, and that is only read.
            let known = self.role(project, role).await;
            if known.is_ok_and(|known| known.held.is_some_and(|held| held.agent == *from)) {
                continue;
            }
            match self.store.hand_out(project.id, role, *from, self.clock.now()).await {
                Ok(holder) => self.wake.mail_for(holder.as_slice()),
                Err(error) => tracing::debug!(%error, "mail to a role waits for whoever takes it next"),
            }
        }
    }

    /// Whether an agent holds one of the roles that a message is addressed to.
    pub(super) async fn holds_role_of(&self, project_key: &str, name: &str, message: &Message) -> Result<bool, Error> {
        let addresses = message.to.iter().chain(&message.cc).filter(|name| is_role_address(name));
        let meant: Vec<RoleName> = addresses.filter_map(|address| RoleName::parse(address).ok()).collect();
        if meant.is_empty() {
            return Ok(false);
        }
        let project = self.project(project_key).await?;
        let Some(agent) = self.agents_if_any(&project, &[name]).await?.remove(0) else { return Ok(false) };
        let roles = self.store.roles(project.id, self.clock.now()).await?;
        let is_of = |role: &KnownRole| meant.iter().any(|meant| meant.as_str() == role.name);
        let is_held = |role: &KnownRole| role.held.as_ref().is_some_and(|held| held.agent == agent.id);
        Ok(roles.iter().any(|role| is_of(role) && is_held(role)))
    }

    /// A registered name wins over an address, so that a role cannot be called as an agent is.
    async fn check_free(&self, project: &Project, role: &RoleName) -> Result<(), Error> {
        let address = role.address();
        match self.agents_if_any(project, &[&address]).await?.remove(0) {
            Some(agent) if agent.program != ROLE && !self.is_leftover(&agent).await? => Err(Error::NameTaken(address)),
            _ => Ok(()),
        }
    }

    /// A token that nobody is given: no agent can register the name of a mailbox that is nobody's.
    fn hidden_token(&self) -> TokenHash {
        TokenHash::of(&self.chance.token())
    }
}
