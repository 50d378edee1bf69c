//! Agents: registering, looking them up, and giving them another name.

use super::{Claim, Identity, Known, Office};
use crate::addresses::AddressForm;
use crate::agents::{Agent, AgentName, PERSON, Profile, Revoked, Taking, TokenHash, assigned_name};
use crate::error::{Error, check_text};
use crate::ids::AgentId;
use crate::projects::{Named, Place, Project};
use crate::responses::{OFFICE_AGENT, is_office_name};
use crate::roles::ROLE;

/// How many names are generated at most for an agent that came without one.
const MOST_GENERATED: u64 = 4096;
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
    /// Where in the project the folder is that was named, if the project was made for another.
    pub place: Option<Place>,
    /// The agent.
    pub agent: Agent,
    /// What proves its name: the token it showed, or a new one.
    pub token: String,
}

impl Office {
    /// Registers an agent, or brings its profile up to date.
    ///
    /// Where names have to be proved, a name that exists is given only to who shows its token; a name that came with
    /// imported mail has none, and goes to the first who asks for it.
    pub async fn register(&self, registration: Registration<'_>) -> Result<Registered, Error> {
        check_profile(&registration.profile)?;
        let wanted = registration.name.map(AgentName::parse).transpose()?;
        if let Some(name) = wanted.as_ref().filter(|name| is_office_name(name.as_str())) {
            return Err(Error::NameTaken(name.as_str().to_owned()));
        }
        let Named { project, place } = if registration.make_project {
            self.project_or_new(registration.project_key).await?
        } else {
            self.named(registration.project_key).await?
        };
        let (agent, token) = match wanted {
            Some(name) => self.register_as(&project, &name, &registration).await?,
            None => self.register_generated(&project, &registration.profile).await?,
        };
        self.sign_of_life(project.id, agent.id);
        Ok(Registered { project, place, agent, token })
    }

    async fn register_as(
        &self,
        project: &Project,
        name: &AgentName,
        registration: &Registration<'_>,
    ) -> Result<(Agent, String), Error> {
        let known = self.agent_named(project.id, name.as_str()).await?;
        if known.as_ref().is_some_and(|known| known.program == ROLE) {
            return Err(Error::NameTaken(name.as_str().to_owned()));
        }
        self.check_no_address(project, name, known.as_ref()).await?;
        let shown = self.own_token(known.as_ref(), registration.token).await?;
        let mut profile = registration.profile.clone();
        if known.is_some_and(|known| known.is_person()) {
            // Whoever comes by another door in a person's name does not make an agent of that person.
            profile.program = None;
        }
        // Decided by the store, because a name that is free now may be another's a moment later.
        let taking = match (self.rules.identity, &shown) {
            (Identity::Strict, None) => Taking::NewOrTokenless,
            _ => Taking::NewOrKnown,
        };
        let (token, hash) = shown.map_or_else(|| self.new_token(), |token| (token.to_owned(), None));
        let now = self.clock.now();
        let agent = self.store.register(project.id, name, &profile, hash, taking, now).await?;
        let given = registration.token.is_some();
        let agent = agent.ok_or_else(|| Error::Unproved { name: name.as_str().to_owned(), given })?;
        Ok((agent, token))
    }

    /// Registers under a name that nobody has; another is generated when somebody else was faster.
    async fn register_generated(&self, project: &Project, profile: &Profile) -> Result<(Agent, String), Error> {
        let seed = self.chance.seed();
        let (token, hash) = self.new_token();
        for attempt in 0..MOST_GENERATED {
            let name = assigned_name(seed, attempt);
            if !self.store.agents_named(project.id, &[name.as_str()]).await?.is_empty() {
                continue;
            }
            let now = self.clock.now();
            if let Some(agent) = self.store.register(project.id, &name, profile, hash, Taking::Generated, now).await? {
                return Ok((agent, token));
            }
        }
        Err(Error::Busy)
    }

    /// The token that was shown, if it is one of the agent's own.
    async fn own_token<'t>(&self, known: Option<&Agent>, shown: Option<&'t str>) -> Result<Option<&'t str>, Error> {
        let (Some(token), Some(agent)) = (shown, known) else { return Ok(None) };
        let is_own = self.store.token_hashes(agent.id).await?.contains(&TokenHash::of(token));
        Ok(is_own.then_some(token))
    }

    /// Makes tokens of an agent worth nothing: those that are named, or all of them. What became of them, and the new one if none
    /// would have been left.
    pub async fn revoke_tokens(
        &self,
        project_key: &str,
        claim: Claim<'_>,
        tokens: Option<&[String]>,
    ) -> Result<(Revoked, Option<String>), Error> {
        let (_, agent, _) = self.acting(project_key, claim).await?;
        let which: Option<Vec<TokenHash>> =
            tokens.map(|tokens| tokens.iter().map(|token| TokenHash::of(token)).collect());
        let token = self.chance.token();
        let revoked =
            self.store.revoke_tokens(agent.id, which.as_deref(), TokenHash::of(&token), self.clock.now()).await?;
        Ok((revoked, revoked.is_replaced.then_some(token)))
    }

    pub(super) fn new_token(&self) -> (String, Option<TokenHash>) {
        let token = self.chance.token();
        let hash = TokenHash::of(&token);
        (token, Some(hash))
    }

    /// Sees to it that there is a mailbox of that name, in a project that may be new. It has no token: where names have to
    /// be proved, it belongs to whoever registers the name first. Whether it is new.
    pub async fn ensure_mailbox(&self, project_key: &str, name: &str) -> Result<bool, Error> {
        AgentName::parse(name)?;
        let project = self.project_or_new(project_key).await?.project;
        self.ensure_mailbox_in(&project, name).await
    }

    /// The same in a project that was found.
    pub(super) async fn ensure_mailbox_in(&self, project: &Project, name: &str) -> Result<bool, Error> {
        let name = AgentName::parse(name)?;
        let known = self.agent_named(project.id, name.as_str()).await?;
        if let Some(known) = known.clone().map(Known::from)
            && self.is_name(name.as_str(), &known).await?
        {
            return Ok(false);
        }
        let address = AddressForm::parse(name.as_str())?;
        if let Some(mailbox) = address.as_ref().and_then(AddressForm::mailbox) {
            let known = self.agent_named(project.id, &mailbox).await?;
            match address {
                Some(AddressForm::Role(role)) => drop(self.role(project, &role).await?),
                // One that is there and no person keeps its name.
                _ if known.as_ref().is_some_and(|known| !known.program.is_empty()) => {}
                _ => drop(self.person_mailbox(project).await?),
            }
            return Ok(known.is_none());
        }
        let (now, profile) = (self.clock.now(), Profile::default());
        // If somebody was faster, it is there, too.
        Ok(self.store.register(project.id, &name, &profile, None, Taking::NewOnly, now).await?.is_some())
    }

    /// The office's own agent, with a token that nobody is given. An agent of that name from before is taken over, and
    /// its tokens are worth nothing from then on.
    pub(super) async fn office_agent(&self, project: &Project) -> Result<AgentId, Error> {
        let known = self.store.agents_named(project.id, &[OFFICE_AGENT]).await?.pop();
        if let Some(own) = known.filter(|known| known.program == OFFICE_AGENT) {
            return Ok(own.id);
        }
        let name = AgentName::parse(OFFICE_AGENT)?;
        let profile = Profile { program: Some(OFFICE_AGENT.to_owned()), ..Profile::default() };
        let (_, hash) = self.new_token();
        let now = self.clock.now();
        let agent = self.store.register(project.id, &name, &profile, hash, Taking::Over, now).await?;
        agent.map(|agent| agent.id).ok_or(Error::Busy)
    }

    /// What is known of an agent.
    pub async fn whois(&self, project_key: &str, name: &str) -> Result<Agent, Error> {
        let project = self.project(project_key).await?;
        match self.agent_named(project.id, name).await? {
            Some(agent) => Ok(agent),
            None => Err(self.unknown_agent(&project, name).await?),
        }
    }

    /// Gives an agent another name: it stays who it is, and is reached under the old name too. What was sent shows the name that it
    /// was sent under. A person keeps its name.
    pub async fn rename(&self, project_key: &str, claim: Claim<'_>, new: &str) -> Result<Agent, Error> {
        let name = AgentName::parse(new)?;
        if is_office_name(name.as_str()) {
            return Err(Error::NameTaken(name.as_str().to_owned()));
        }
        let (project, agent) = self.own_agent(project_key, claim).await?;
        if agent.name == name.as_str() {
            return Ok(agent);
        }
        self.check_no_address(&project, &name, None).await?;
        let renamed = self.store.rename(project.id, agent.id, &name, self.clock.now()).await?;
        let renamed = renamed.ok_or_else(|| Error::NameTaken(name.as_str().to_owned()))?;
        self.directory.forget_agent(project.id, &agent.name);
        self.sign_of_life(project.id, agent.id);
        self.wake.reservations_changed(project.id);
        self.wake.work_changed(project.id);
        Ok(renamed)
    }

    /// Retires an agent in its own name, as [`retire`](Self::retire) does for a person; whether this call did it.
    pub async fn retire_oneself(&self, project_key: &str, claim: Claim<'_>) -> Result<bool, Error> {
        let (project, agent) = self.own_agent(project_key, claim).await?;
        self.retire_by(&project, agent.id, &agent.name, agent.id).await
    }

    /// The agent that a caller speaks of as its own. A person is no agent.
    async fn own_agent(&self, project_key: &str, claim: Claim<'_>) -> Result<(Project, Agent), Error> {
        let (project, known, _) = self.claimed(project_key, claim).await?;
        match self.agent_named(project.id, &known.name).await? {
            Some(agent) if agent.is_person() => {
                Err(Error::invalid("agent name", &agent.name, "an agent, not a person"))
            }
            Some(agent) => Ok((project, agent)),
            None => Err(self.unknown_agent(&project, claim.name).await?),
        }
    }
}

impl Office {
    /// Refuses a name that is an address of another: its mail would go to whoever takes the name. Who has such a name keeps it.
    async fn check_no_address(&self, project: &Project, name: &AgentName, known: Option<&Agent>) -> Result<(), Error> {
        let name = name.as_str();
        if let Some(known) = known.cloned().map(Known::from)
            && self.is_name(name, &known).await?
        {
            return Ok(());
        }
        let addressed = match AddressForm::parse(name) {
            Ok(Some(AddressForm::Person)) => "whoever runs the agents".to_owned(),
            Ok(Some(AddressForm::Role(_))) | Err(_) => "whoever holds a role".to_owned(),
            Ok(Some(AddressForm::Across { project: key, .. })) => match self.project(key).await {
                Ok(other) if other.id != project.id => format!("an agent of the project '{}'", other.slug),
                Err(error) if error.retryable() => return Err(error),
                _ => return Ok(()),
            },
            Ok(_) => return Ok(()),
        };
        Err(Error::invalid("agent name", name, format!("another name, because that addresses {addressed}")))
    }
}

fn check_profile(profile: &Profile) -> Result<(), Error> {
    let fields =
        [("program", &profile.program), ("model", &profile.model), ("task_description", &profile.task_description)];
    for (what, value) in fields {
        check_text(what, value.as_deref().unwrap_or_default(), LONGEST_FIELD)?;
    }
    for (word, who) in [(PERSON, "is who writes from the page"), (ROLE, "is where mail to a role waits")] {
        if profile.program.as_deref() == Some(word) {
            let wanted = format!("the program that you run in, because '{word}' {who}");
            return Err(Error::Invalid { what: "program", value: word.to_owned(), wanted });
        }
    }
    Ok(())
}
