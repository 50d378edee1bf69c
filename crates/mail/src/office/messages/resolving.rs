//! Resolving: whom a name or an address stands for at this moment.

use super::addressing::name_across;
use crate::addresses::{AddressForm, PERSON_ADDRESS};
use crate::agents::{Agent, AgentName, PERSON, Profile, Taking};
use crate::colleagues::{Stands, runs_in};
use crate::error::{Error, shown};
use crate::office::{Known, Office};
use crate::projects::Project;
use crate::roles::{ROLE, RoleName};

/// How many agents are looked through for one that runs in a program.
const LOOKED_THROUGH: usize = 1_000;
/// How many persons one message goes to.
const MOST_PERSONS: usize = 1_000;
/// How many programs a refusal names.
const MOST_PROGRAMS: usize = 8;

/// What an address stood for when a message was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The address, as the sender wrote it.
    pub address: String,
    /// The agents that got the message; nobody while it waits.
    pub names: Vec<String>,
}

/// Whom a name or an address means.
#[derive(Default)]
pub(super) struct Meant {
    /// The agents, each with the name that the message shows.
    pub(super) agents: Vec<(Known, String)>,
    /// What is told of an address that says nothing of its agents.
    pub(super) resolved: Option<Resolved>,
    /// The role that the agent stands for.
    pub(super) role: Option<RoleName>,
}

impl Meant {
    fn one(agent: Known) -> Self {
        let shown = agent.name.clone();
        Self { agents: vec![(agent, shown)], ..Self::default() }
    }

    fn told(mut self, address: &str) -> Self {
        let names = self.agents.iter().map(|(agent, _)| agent.name.clone()).collect();
        self.resolved = Some(Resolved { address: address.to_owned(), names });
        self
    }
}

impl Office {
    /// Whom a name or an address means, and in which project that is. `known` is the agent that has just that name.
    pub(super) async fn resolve(
        &self,
        home: &Project,
        sender: &Known,
        name: &str,
        known: Option<Known>,
        is_outside: bool,
    ) -> Result<(Project, Meant), Error> {
        let is_name = match &known {
            Some(agent) => self.is_name(name, agent).await?,
            None => is_outside,
        };
        let address = match AddressForm::parse(name) {
            _ if is_name => None,
            Err(_) if known.is_some() => None,
            address => address?,
        };
        let elsewhere = match address {
            // What was said in a folder stays in its project.
            _ if is_outside => None,
            Some(AddressForm::Project(key)) => {
                let project = self.project(key).await?;
                let meant = self.everyone(&project, sender).await?;
                return if meant.agents.is_empty() { Err(Error::NoRecipients) } else { Ok((project, meant)) };
            }
            Some(AddressForm::Across { name: there, project }) => match self.project(project).await {
                Ok(project) => Some((there, project)),
                Err(_) if known.is_some() => None,
                // It may be a misspelt name with such a sign in it.
                Err(error) => match self.unknown(home, name).await? {
                    unknown if !unknown.near().is_empty() => return Err(unknown),
                    _ => return Err(error),
                },
            },
            _ => None,
        };
        let Some((there, project)) = elsewhere else {
            return Ok((home.clone(), self.resolve_in(home, sender, name, known).await?));
        };
        let known_there = self.agents_if_any(&project, &[there]).await?.remove(0);
        match self.resolve_in(&project, sender, there, known_there).await {
            Ok(meant) => Ok((project, meant)),
            Err(Error::UnknownAgent { .. }) if known.is_some() => {
                Ok((home.clone(), self.resolve_in(home, sender, name, known).await?))
            }
            Err(Error::UnknownAgent { near, another, .. }) => {
                let near = near.iter().map(|near| name_across(near, &project)).collect();
                Err(Error::UnknownAgent { name: shown(name), near, another })
            }
            Err(other) => Err(other),
        }
    }

    /// Whom a name or an address means within one project.
    async fn resolve_in(
        &self,
        project: &Project,
        sender: &Known,
        name: &str,
        known: Option<Known>,
    ) -> Result<Meant, Error> {
        let known = match known {
            None => self.mailbox_of(project, name).await?,
            known => known,
        };
        let address = match &known {
            Some(agent) if agent.program == ROLE => AddressForm::parse(name)?,
            Some(agent) if agent.program == PERSON && agent.name == PERSON_ADDRESS => Some(AddressForm::Person),
            Some(agent) if self.is_name(&agent.name, agent).await? => None,
            Some(_) => AddressForm::parse(name).unwrap_or_default(),
            None => AddressForm::parse(name)?,
        };
        match (address, known) {
            (Some(AddressForm::Role(role)), _) => self.of_role(project, &role, name).await,
            (Some(AddressForm::Program(program)), _) => self.of_program(project, sender, program, name).await,
            (Some(AddressForm::Person), _) => self.persons(project).await.map(|meant| meant.told(name)),
            (_, Some(agent)) => Ok(Meant::one(agent)),
            (_, None) => Err(self.unknown(project, name).await?),
        }
    }

    /// The agent that is called as the mailbox of an address is.
    pub(super) async fn mailbox_of(&self, project: &Project, address: &str) -> Result<Option<Known>, Error> {
        match AddressForm::parse(address)?.and_then(|form| form.mailbox()) {
            Some(name) => Ok(self.agents_if_any(project, &[&name]).await?.remove(0)),
            None => Ok(None),
        }
    }

    /// Whether a text that an agent is called by is its name, and no address.
    pub(in crate::office) async fn is_name(&self, text: &str, agent: &Known) -> Result<bool, Error> {
        Ok(!AddressForm::is_possible(text) || !self.is_leftover(agent).await?)
    }

    /// Whether a name that may be an address was never registered: it came with mail that was imported, as the address of whoever
    /// wrote or got that.
    pub(in crate::office) async fn is_leftover(&self, agent: &Known) -> Result<bool, Error> {
        Ok(agent.program.is_empty() && self.store.token_hashes(agent.id).await?.is_empty())
    }

    /// Why nobody is meant.
    async fn unknown(&self, project: &Project, name: &str) -> Result<Error, Error> {
        let unknown = self.unknown_agent(project, name).await?.of_another();
        let is_address = name.contains(':') && unknown.near().is_empty();
        Ok(if is_address { Error::UnknownAddress(shown(name)) } else { unknown })
    }

    /// Whoever holds the role, else its mailbox.
    async fn of_role(&self, project: &Project, role: &RoleName, address: &str) -> Result<Meant, Error> {
        let known = self.role(project, role).await?;
        let Some(held) = known.held else {
            let mailbox = Known { id: known.mailbox, name: role.address(), program: ROLE.to_owned(), retired_at: None };
            let resolved = Some(Resolved { address: address.to_owned(), names: Vec::new() });
            return Ok(Meant { agents: vec![(mailbox, role.address())], resolved, role: Some(role.clone()) });
        };
        let holder = Known { id: held.agent, name: held.name, program: String::new(), retired_at: None };
        let role_meant = Some(role.clone());
        Ok(Meant { agents: vec![(holder, role.address())], role: role_meant, ..Meant::default() }.told(address))
    }

    /// One agent of the program: who is awake, else who is idle, else who was seen last.
    async fn of_program(
        &self,
        project: &Project,
        sender: &Known,
        program: &str,
        address: &str,
    ) -> Result<Meant, Error> {
        let mut others = self.all_standing(project, LOOKED_THROUGH).await?;
        others.retain(|one| one.is_somebody() && one.agent.id != sender.id);
        match others.iter().find(|one| runs_in(&one.agent.program, program)) {
            Some(best) => Ok(Meant::one(Known::from(best.agent.clone())).told(address)),
            None => Err(Error::UnknownProgram { program: shown(program), there: programs(&others) }),
        }
    }

    /// Whoever writes from the page in this project; where nobody ever did, a mailbox that the page shows.
    async fn persons(&self, project: &Project) -> Result<Meant, Error> {
        let mut persons = self.store.agents_in(project.id, PERSON, MOST_PERSONS).await?;
        if persons.iter().any(|person| person.name != PERSON_ADDRESS) {
            persons.retain(|person| person.name != PERSON_ADDRESS);
        }
        if persons.is_empty() {
            persons.extend(self.person_mailbox(project).await?);
        }
        let agents = persons.into_iter().map(Known::from).map(|person| (person.clone(), person.name));
        Ok(Meant { agents: agents.collect(), ..Meant::default() })
    }

    /// The mailbox of whoever will write from the page.
    pub(in crate::office) async fn person_mailbox(&self, project: &Project) -> Result<Option<Agent>, Error> {
        let (name, (_, token)) = (AgentName::parse(PERSON_ADDRESS)?, self.new_token());
        let profile = Profile { program: Some(PERSON.to_owned()), ..Profile::default() };
        let now = self.clock.now();
        Ok(self.store.register(project.id, &name, &profile, token, Taking::NewOrKnown, now).await?)
    }
}

/// The programs that agents run in, each once, those of the best agents first.
fn programs(all: &[Stands]) -> Vec<String> {
    let mut programs: Vec<String> = Vec::new();
    let agents = all.iter().filter(|one| !one.agent.is_person()).map(|one| &one.agent.program);
    for program in agents.filter(|program| !program.is_empty()) {
        if programs.len() < MOST_PROGRAMS && !programs.contains(program) {
            programs.push(program.clone());
        }
    }
    programs
}
