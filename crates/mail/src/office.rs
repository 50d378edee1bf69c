//! The post office: what agents and people can ask for, one method for each request.
//!
//! A use case checks, decides, keeps, and then tells those who wait. It speaks in values, not in the words of any
//! wire, so that every door gives the same answer.

mod agents;
mod messages;
mod projects;
mod reservations;
mod threads;

use std::sync::Arc;

use crate::Store;
use crate::agents::{Agent, TokenHash};
use crate::clock::Clock;
use crate::error::Error;
use crate::messages::Vouched;
use crate::nearest::nearest;
use crate::projects::{Project, ProjectKey};
use crate::wake::Wake;

pub use agents::{Registered, Registration};
pub use messages::{Draft, InboxAsk, ReplyDraft, Sent, WaitAsk};
pub use reservations::ReserveAsk;
pub use threads::{Found, SearchAsk, ThreadAsk, ThreadPage};

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

/// What this office allows.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The longest subject or body, in bytes.
    pub longest_body: usize,
    /// Whether names have to be proved.
    pub identity: Identity,
}

impl Default for Rules {
    fn default() -> Self {
        Self { longest_body: 4 * 1024 * 1024, identity: Identity::Claimed }
    }
}

/// Who asks: a name, and the token that proves it if there is one.
#[derive(Clone, Copy, Debug)]
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

/// The post office.
pub struct Office {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    wake: Arc<dyn Wake>,
    chance: Arc<dyn Chance>,
    rules: Rules,
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
        Self { store, clock, wake, chance, rules }
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

    /// The time, as the office sees it.
    pub fn now(&self) -> jiff::Timestamp {
        self.clock.now()
    }

    /// Succeeds when mail can be taken and read.
    pub async fn check_ready(&self) -> Result<(), Error> {
        Ok(self.store.check_ready().await?)
    }

    /// The project that `key` names.
    pub async fn project(&self, key: &str) -> Result<Project, Error> {
        let parsed = ProjectKey::parse(key)?;
        if let Some(project) = self.store.project(&parsed).await? {
            return Ok(project);
        }
        let known = self.store.projects(None, NEAR_MISS_POOL).await?;
        let names = known.iter().map(|project| match parsed {
            ProjectKey::Path(_) => project.human_key.as_str(),
            ProjectKey::Slug(_) => project.slug.as_str(),
        });
        let near = nearest(parsed.as_str(), names, NEAR_MISSES).into_iter().map(str::to_owned).collect();
        Err(Error::UnknownProject { key: crate::error::shown(key), near })
    }

    /// The agents of those names, in that order.
    async fn agents_called(&self, project: &Project, names: &[&str]) -> Result<Vec<Agent>, Error> {
        let found = self.store.agents_named(project.id, names).await?;
        let mut agents = Vec::with_capacity(names.len());
        for name in names {
            match found.iter().find(|agent| agent.name == *name) {
                Some(agent) => agents.push(agent.clone()),
                None => return Err(self.unknown_agent(project, name).await?),
            }
        }
        Ok(agents)
    }

    async fn unknown_agent(&self, project: &Project, name: &str) -> Result<Error, Error> {
        let known = self.store.agents(project.id, None, NEAR_MISS_POOL).await?;
        let near = nearest(name, known.iter().map(|agent| agent.name.as_str()), NEAR_MISSES);
        let near = near.into_iter().map(str::to_owned).collect();
        Ok(Error::UnknownAgent { name: crate::error::shown(name), near })
    }

    /// The project and the agent that a caller acts for, proved as far as this office asks for it.
    async fn acting(&self, project_key: &str, claim: Claim<'_>) -> Result<(Project, Agent, Vouched), Error> {
        let project = self.project(project_key).await?;
        let agent = self.agents_called(&project, &[claim.name]).await?.remove(0);
        let vouched = self.prove(&agent, claim.token).await?;
        Ok((project, agent, vouched))
    }

    /// A token that is given must be right, whether or not one is asked for.
    async fn prove(&self, agent: &Agent, token: Option<&str>) -> Result<Vouched, Error> {
        let Some(token) = token else {
            return match self.rules.identity {
                Identity::Claimed => Ok(Vouched::Claimed),
                Identity::Strict => Err(Error::Unproved { name: agent.name.clone(), given: false }),
            };
        };
        let hash = TokenHash::of(token);
        if self.store.token_hashes(agent.id).await?.contains(&hash) {
            Ok(Vouched::Verified)
        } else {
            Err(Error::Unproved { name: agent.name.clone(), given: true })
        }
    }
}
