//! Colleagues: who else is here, how those stand who were written to, and who could be asked instead.

use std::collections::HashSet;

use formats::presence::STALE_AFTER_SECONDS;
use jiff::{SignedDuration, Timestamp};

use super::messages::name_across;
use super::{Known, Office};
use crate::agents::Agent;
use crate::colleagues::{Colleague, Stands, next_best, ranked, reached_first};
use crate::error::Error;
use crate::ids::AgentId;
use crate::messages::Role;
use crate::projects::Project;
use crate::standing::Standing;

/// How many agents are looked through for colleagues, and for somebody who is awake.
const LOOKED_THROUGH: usize = 64;
/// How many recipients of one message are looked at, and of how many it is told how they stand.
const MOST_LOOKED_AT: usize = 256;
const MOST_TOLD: usize = 8;

/// How a recipient stands who is not awake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecipientStanding {
    /// Its name.
    pub name: String,
    /// How it stands.
    pub standing: Standing,
    /// Since when, as far as that is known.
    pub since: Option<Timestamp>,
    /// Who is awake and could be asked instead, where it is not likely to read soon.
    pub instead: Option<String>,
}

impl Office {
    /// The colleagues of `me`, the best first: nobody who is retired, no mailbox that is nobody's, and not oneself.
    pub async fn colleagues(&self, project_key: &str, me: Option<&str>, limit: usize) -> Result<Vec<Stands>, Error> {
        let project = self.project(project_key).await?;
        let mut others = reached_first(self.all_standing(&project, LOOKED_THROUGH).await?);
        others.retain(|one| one.is_somebody() && me != Some(one.agent.name.as_str()));
        others.truncate(limit);
        Ok(others)
    }

    /// How an agent stands.
    pub async fn stands(&self, project_key: &str, name: &str) -> Result<Stands, Error> {
        let agent = self.whois(project_key, name).await?;
        let presence = self.store.presence(agent.id).await?;
        let mut stands = self.standing_of(vec![Colleague { agent, presence }]).await?;
        Ok(stands.remove(0))
    }

    /// Agents of a project that are not retired and how they stand, the best first.
    pub(super) async fn all_standing(&self, project: &Project, limit: usize) -> Result<Vec<Stands>, Error> {
        let colleagues = self.store.colleagues(project.id, limit).await?;
        Ok(ranked(self.standing_of(colleagues).await?))
    }

    /// Those who may be awake, the best first: whoever was not heard of for long is not.
    async fn awake(&self, project: &Project) -> Result<Vec<Stands>, Error> {
        let since = self.clock.now() - SignedDuration::from_secs(STALE_AFTER_SECONDS);
        let heard_of = self.store.colleagues_since(project.id, since, LOOKED_THROUGH).await?;
        Ok(ranked(self.standing_of(heard_of).await?))
    }

    /// How the recipients of a message stand that was kept in `project`, and sent from `home`, but for those who are awake. That the message is kept
    /// is sure by then, whether or not this can be looked up.
    pub(super) async fn standing_of_recipients(
        &self,
        (home, project): (&Project, &Project),
        sender: AgentId,
        recipients: &[(AgentId, String, Role)],
    ) -> Vec<RecipientStanding> {
        match self.recipients_standing((home, project), sender, recipients).await {
            Ok(told) => told,
            Err(error) => {
                tracing::debug!(%error, "how recipients stand is not known");
                Vec::new()
            }
        }
    }

    async fn recipients_standing(
        &self,
        (home, project): (&Project, &Project),
        sender: AgentId,
        recipients: &[(AgentId, String, Role)],
    ) -> Result<Vec<RecipientStanding>, Error> {
        let ids = recipients.iter().map(|(agent, ..)| *agent).filter(|agent| *agent != sender);
        let mut taken = HashSet::new();
        let ids: Vec<AgentId> = ids.filter(|agent| taken.insert(*agent)).take(MOST_LOOKED_AT).collect();
        let mut found = self.standing_of(self.store.colleagues_of(&ids).await?).await?;
        found.retain(|one| one.is_somebody() && one.standing != Standing::Awake);
        found.sort_by_key(|one| ids.iter().position(|id| *id == one.agent.id));
        found.truncate(MOST_TOLD);
        let is_any_away = found.iter().any(|one| !one.standing.is_reachable());
        let others = if is_any_away { self.awake(project).await? } else { Vec::new() };
        let others: Vec<Stands> = others.into_iter().filter(|one| one.agent.id != sender).collect();
        let told = found.into_iter().map(|Stands { agent, standing, since, .. }| RecipientStanding {
            instead: (!standing.is_reachable()).then(|| instead_of(&agent, &others, (home, project))).flatten(),
            name: agent.name,
            standing,
            since,
        });
        Ok(told.collect())
    }

    /// Refuses if one of these is retired, and says who could be asked instead.
    pub(super) async fn refuse_retired<'a>(
        &self,
        (home, project): (&Project, &Project),
        agents: impl IntoIterator<Item = &'a Known>,
    ) -> Result<(), Error> {
        let retired = agents.into_iter().find_map(|agent| Some((agent.clone(), agent.retired_at?)));
        let Some((Known { id, name, .. }, since)) = retired else { return Ok(()) };
        let agent = self.store.colleagues_of(&[id]).await?.pop().map(|known| known.agent);
        let others = self.awake(project).await?;
        let instead = agent.and_then(|agent| instead_of(&agent, &others, (home, project))).into_iter().collect();
        Err(Error::Retired { name, since, instead })
    }

    async fn standing_of(&self, colleagues: Vec<Colleague>) -> Result<Vec<Stands>, Error> {
        let mut sessions = Vec::new();
        for of_project in colleagues.chunk_by(|one, next| one.agent.project == next.agent.project) {
            let ids: Vec<AgentId> = of_project.iter().map(|one| one.agent.id).collect();
            sessions.extend(self.sessions(of_project[0].agent.project, &ids).await?);
        }
        let now = self.clock.now();
        Ok(colleagues.into_iter().map(|one| one.stands(&sessions, now)).collect())
    }
}

/// Who could be asked instead, by the name that somebody at `home` writes to. No agent stands in for a person.
fn instead_of(away: &Agent, others: &[Stands], (home, project): (&Project, &Project)) -> Option<String> {
    let best = if away.is_person() { None } else { next_best(away, others) };
    let name = &best?.agent.name;
    Some(if home.id == project.id { name.clone() } else { name_across(name, project) })
}
