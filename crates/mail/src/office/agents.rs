//! Agents: registering, and looking them up.

use super::{Identity, Office};
use crate::agents::{Agent, AgentName, Profile, TokenHash, assigned_name};
use crate::error::{Error, check_text};
use crate::ids::AgentId;
use crate::projects::Project;

/// How often a name is drawn for an agent that came without one.
const DRAWS: u64 = 4096;
/// The longest program, model or description, in bytes.
const LONGEST_FIELD: usize = 16 * 1024;

/// An agent that introduces itself.
#[derive(Clone, Debug, Default)]
pub struct Registration<'a> {
    /// The project: a path that may be new where `make_project` says so.
    pub project_key: &'a str,
    /// Whether an unknown project is made.
    pub make_project: bool,
    /// The name it wants; without one it is given one.
    pub name: Option<&'a str>,
    /// What it says of itself.
    pub profile: Profile,
    /// The token it got the last time.
    pub token: Option<&'a str>,
}

/// An agent that is known now, and its secret.
#[derive(Clone, Debug)]
pub struct Registered {
    /// The project it is in.
    pub project: Project,
    /// The agent.
    pub agent: Agent,
    /// What proves its name: the token it showed, or a new one.
    pub token: String,
}

impl Office {
    /// Registers an agent, or brings its profile up to date.
    ///
    /// Where names have to be proved, a name that exists is given only to who shows its token.
    pub async fn register(&self, registration: Registration<'_>) -> Result<Registered, Error> {
        check_profile(&registration.profile)?;
        let wanted = registration.name.map(AgentName::parse).transpose()?;
        let project = if registration.make_project {
            self.project_or_new(registration.project_key).await?
        } else {
            self.project(registration.project_key).await?
        };
        let name = match wanted {
            Some(name) => name,
            None => self.draw_name(&project).await?,
        };
        let known = self.store.agents_named(project.id, &[name.as_str()]).await?.pop();
        let proved = match &known {
            Some(agent) => self.token_shown(agent, registration.token).await?,
            None => None,
        };
        let (token, hash) = match proved {
            Some(token) => (token, None),
            None => {
                let token = self.chance.token();
                let hash = TokenHash::of(&token);
                (token, Some(hash))
            }
        };
        let agent = self.store.register(project.id, &name, &registration.profile, hash, self.clock.now()).await?;
        Ok(Registered { project, agent, token })
    }

    /// The token that a known agent showed, if it is one of its own. Where names have to be proved, only an agent that
    /// was never given one may go without.
    async fn token_shown(&self, agent: &Agent, token: Option<&str>) -> Result<Option<String>, Error> {
        let own = self.store.token_hashes(agent.id).await?;
        match token {
            Some(token) if own.contains(&TokenHash::of(token)) => Ok(Some(token.to_owned())),
            _ if self.rules.identity == Identity::Strict && !own.is_empty() => {
                Err(Error::Unproved { name: agent.name.clone(), given: token.is_some() })
            }
            _ => Ok(None),
        }
    }

    /// What is known of an agent.
    pub async fn whois(&self, project_key: &str, name: &str) -> Result<Agent, Error> {
        let project = self.project(project_key).await?;
        match self.store.agents_named(project.id, &[name]).await?.pop() {
            Some(agent) => Ok(agent),
            None => Err(self.unknown_agent(&project, name).await?),
        }
    }

    /// A page of a project's agents, in the order they were registered.
    pub async fn agents(
        &self,
        project_key: &str,
        after: Option<AgentId>,
        limit: usize,
    ) -> Result<(Project, Vec<Agent>), Error> {
        let project = self.project(project_key).await?;
        let agents = self.store.agents(project.id, after, limit).await?;
        Ok((project, agents))
    }

    async fn draw_name(&self, project: &Project) -> Result<AgentName, Error> {
        let seed = self.chance.seed();
        for attempt in 0..DRAWS {
            let name = assigned_name(seed, attempt);
            if self.store.agents_named(project.id, &[name.as_str()]).await?.is_empty() {
                return Ok(name);
            }
        }
        Err(Error::Busy)
    }
}

fn check_profile(profile: &Profile) -> Result<(), Error> {
    let fields =
        [("program", &profile.program), ("model", &profile.model), ("task_description", &profile.task_description)];
    for (what, value) in fields {
        check_text(what, value.as_deref().unwrap_or_default(), LONGEST_FIELD)?;
    }
    Ok(())
}
