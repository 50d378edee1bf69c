//! The post office: what agents and people can ask for, one method for each request.
//!
//! A use case checks, decides, keeps, and then tells those who wait. It speaks in values, not in the words of any
//! wire, so that every door gives the same answer.

mod agents;
mod channels;
mod colleagues;
mod directory;
mod mailboxes;
mod messages;
mod overview;
mod people;
mod presence;
mod projects;
mod reservations;
mod roles;
mod sessions;
mod threads;
mod wake_ups;
mod watches;
mod work;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::Store;
use crate::addresses::AddressForm;
use crate::agents::{Agent, TokenHash};
use crate::clock::Clock;
use crate::error::Error;
use crate::ids::{AgentId, ProjectId};
use crate::messages::Vouched;
use crate::nearest::nearest;
use crate::projects::{KeyedBy, Project, WorkTrees};
use crate::responses::is_office_name;
use crate::roles::ROLE;
use crate::sessions::SessionRules;
use crate::wake::Wake;
use crate::wake_ups::WakeFor;

pub use agents::{Registered, Registration};
pub use channels::{Arrival, PostDraft, TakenIn};
pub use colleagues::RecipientStanding;
use directory::Directory;
pub use mailboxes::{DeliveriesRequest, Part};
pub use messages::{Draft, Notes, ReplyDraft, Resolved, Secret, Sent, TakenMail, WaitRequest};
pub use people::PAGE;
use presence::Noted;
pub use presence::Sign;
pub use reservations::{InLine, MOST_PATHS, Renewal, ReserveRequest, Waiting, Which};
pub use sessions::{SessionSign, Settled};
pub use threads::{Found, SearchRequest, ThreadPage, ThreadRequest};
pub use watches::Watcher;
pub use work::{WorkPage, WorkRequest, WorkStory};

/// How many names or projects are looked at when a near miss is to be suggested.
const NEAR_MISS_POOL: usize = 10_000;
/// How many near misses are suggested.
const NEAR_MISSES: usize = 3;

/// What the office leaves to chance, handed in so that tests can fix it.
pub trait Chance: Send + Sync {
    /// A new secret of 256 random bits, as text.
    fn token(&self) -> String;
    /// A random number.
    fn seed(&self) -> u64;
}

/// Whether names have to be proved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Identity {
    /// Whoever names itself is believed.
    #[default]
    Claimed,
    /// Acting in a name takes its registration token.
    Strict,
}

/// What becomes of a message that seems to hold a secret.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Secrets {
    /// It is sent, and its sender is told.
    #[default]
    Warn,
    /// It is refused.
    Refuse,
}

/// What this office allows.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The longest subject or body, in bytes.
    pub longest_body: usize,
    /// Whether names have to be proved.
    pub identity: Identity,
    /// What becomes of a message that seems to hold a secret.
    pub secrets: Secrets,
    /// How long a worker who asks for help may wait before that is overdue.
    pub help_overdue: Duration,
    /// What becomes of an agent's things when its sessions have ended.
    pub sessions: SessionRules,
    /// Which mail wakes an idle session.
    pub wake: WakeFor,
    /// What a repository is known by, whose project is new.
    pub keyed_by: KeyedBy,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            longest_body: 4 * 1024 * 1024,
            identity: Identity::Claimed,
            secrets: Secrets::Warn,
            help_overdue: Duration::from_secs(15 * 60),
            sessions: SessionRules::default(),
            wake: WakeFor::default(),
            keyed_by: KeyedBy::Path,
        }
    }
}

/// Who asks: a name, and what proves it if anything does.
#[derive(Clone, Copy, Debug, Default)]
pub struct Claim<'a> {
    /// The name.
    pub name: &'a str,
    /// The registration token.
    pub token: Option<&'a str>,
}

impl<'a> Claim<'a> {
    /// A name without proof.
    pub fn of(name: &'a str) -> Self {
        Self { name, token: None }
    }
}

/// An agent that was found: its number, its name, and whether it is retired.
#[derive(Clone, Debug)]
struct Known {
    id: AgentId,
    name: String,
    /// Empty of one that is remembered by its name: what it runs in may change.
    program: String,
    retired_at: Option<jiff::Timestamp>,
}

impl From<Agent> for Known {
    fn from(agent: Agent) -> Self {
        Self { id: agent.id, name: agent.name, program: agent.program, retired_at: agent.retired_at }
    }
}

/// The post office. A clone is the same office.
#[derive(Clone)]
pub struct Office {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    wake: Arc<dyn Wake>,
    chance: Arc<dyn Chance>,
    rules: Rules,
    directory: Arc<Directory>,
    noted: Arc<Noted>,
    /// Who can see what lies around a path; where nobody can, every path is a project of its own.
    trees: Option<Arc<dyn WorkTrees>>,
    /// Whether it is a person who asks.
    is_person: bool,
    /// Whether it is a command at a terminal that has the database open itself.
    is_terminal: bool,
}

impl Office {
    /// Opens the office over a store.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        wake: Arc<dyn Wake>,
        chance: Arc<dyn Chance>,
        rules: Rules,
    ) -> Self {
        let (directory, noted) = Default::default();
        Self { store, clock, wake, chance, rules, directory, noted, trees: None, is_person: false, is_terminal: false }
    }

    /// The same office, which has somebody who can see what lies around a path.
    pub fn seeing(self, trees: Arc<dyn WorkTrees>) -> Self {
        Self { trees: Some(trees), ..self }
    }

    /// The store behind the office, for those who only read.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// What waits for commits, for those who follow along.
    pub fn wake(&self) -> &dyn Wake {
        &*self.wake
    }

    /// What this office allows.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Whether names have to be proved here.
    pub fn is_strict(&self) -> bool {
        self.rules.identity == Identity::Strict
    }

    /// The time, as the office sees it.
    pub fn now(&self) -> jiff::Timestamp {
        self.clock.now()
    }

    /// Succeeds when mail can be taken and read.
    pub async fn check_ready(&self) -> Result<(), Error> {
        Ok(self.store.check_ready().await?)
    }

    /// The agents of those names, in that order.
    async fn agents_called(&self, project: &Project, names: &[&str]) -> Result<Vec<Known>, Error> {
        let found = self.agents_if_any(project, names).await?;
        let mut agents = Vec::with_capacity(names.len());
        for (name, agent) in names.iter().zip(found) {
            match agent {
                Some(agent) => agents.push(agent),
                None => return Err(self.unknown_agent(project, name).await?),
            }
        }
        Ok(agents)
    }

    /// For each of those names its agent, if somebody has it.
    async fn agents_if_any(&self, project: &Project, names: &[&str]) -> Result<Vec<Option<Known>>, Error> {
        let now = Instant::now();
        let mut agents = Vec::with_capacity(names.len());
        let mut found = None;
        for name in names {
            let is_plain = !AddressForm::is_possible(name);
            if let Some(id) = self.directory.agent(project.id, name, now).filter(|_| is_plain) {
                agents.push(Some(Known { id, name: (*name).to_owned(), program: String::new(), retired_at: None }));
                continue;
            }
            let found = match &mut found {
                Some(found) => found,
                None => found.insert(self.store.agents_named(project.id, names).await?),
            };
            let Some(agent) = found.iter().find(|agent| agent.name == *name) else {
                // Not remembered: under that name it would be told of by a name that it has no more.
                agents.push(self.store.once_named(project.id, name).await?.map(Known::from));
                continue;
            };
            // Who is retired is looked up each time, because it may come back.
            if agent.retired_at.is_none() && is_plain {
                self.directory.learn_agent(project.id, name, agent.id, now);
            }
            agents.push(Some(Known::from(agent.clone())));
        }
        Ok(agents)
    }

    /// The agent that has, or else had, exactly this name.
    async fn agent_named(&self, project: ProjectId, name: &str) -> Result<Option<Agent>, Error> {
        match self.store.agents_named(project, &[name]).await?.pop() {
            Some(agent) => Ok(Some(agent)),
            None => Ok(self.store.once_named(project, name).await?),
        }
    }

    async fn unknown_agent(&self, project: &Project, name: &str) -> Result<Error, Error> {
        let known = self.store.agents(project.id, None, NEAR_MISS_POOL).await?;
        let there = known.iter().filter(|agent| agent.retired_at.is_none()).map(|agent| agent.name.as_str());
        Ok(Error::UnknownAgent { name: crate::error::shown(name), near: near_misses(name, there), another: false })
    }

    /// The project and the agent that a caller acts for, proved as far as this office asks for it. To act is to be awake,
    /// unless it is a person who acts for it.
    async fn acting(&self, project_key: &str, claim: Claim<'_>) -> Result<(Project, Known, Vouched), Error> {
        let (project, agent, vouched) = self.claimed(project_key, claim).await?;
        if !self.is_person {
            self.sign_of_life(project.id, agent.id);
        }
        Ok((project, agent, vouched))
    }

    /// The project and the agent that a caller speaks of as its own, proved as far as this office asks for it.
    async fn claimed(&self, project_key: &str, claim: Claim<'_>) -> Result<(Project, Known, Vouched), Error> {
        let project = self.project(project_key).await?;
        let agent = self.agents_called(&project, &[claim.name]).await?.remove(0);
        let vouched = self.prove(&agent, claim).await?;
        Ok((project, agent, vouched))
    }

    /// Where whoever names itself is believed, a token proves nothing: anybody could have had one made out.
    async fn prove(&self, agent: &Known, claim: Claim<'_>) -> Result<Vouched, Error> {
        if self.is_person {
            return Ok(Vouched::Human);
        }
        if is_office_name(&agent.name) || agent.program == ROLE {
            return Err(Error::NameTaken(agent.name.clone()));
        }
        if self.rules.identity == Identity::Claimed {
            return Ok(Vouched::Claimed);
        }
        let unproved = Error::Unproved { name: agent.name.clone(), given: claim.token.is_some() };
        let Some(token) = claim.token else { return Err(unproved) };
        let is_known = self.store.token_hashes(agent.id).await?.contains(&TokenHash::of(token));
        if is_known { Ok(Vouched::Verified) } else { Err(unproved) }
    }
}

fn near_misses<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    nearest(wanted, known, NEAR_MISSES).into_iter().map(str::to_owned).collect()
}
