//! People, who write from the page and look after agents: who they are, and what they may do for an agent.
//!
//! A person has a name and a mailbox like an agent, and its mail is marked as a human's. It may archive and bring back
//! anybody's mail, give back anybody's reservations, and retire agents; whatever it does so is told as its own doing.

use super::{Claim, Draft, Known, Office};
use crate::agents::{Agent, AgentName, PERSON, Profile, Taking};
use crate::error::Error;
use crate::ids::{AgentId, MessageId, ProjectId, ReservationId};
use crate::messages::Importance;
use crate::projects::Project;
use crate::reservations::Reservation;
use crate::responses::is_office_name;

/// The door of what people do on the page.
pub const PAGE: &str = "page";

impl Office {
    /// The same office for a person at the page, who needs no token: what it sends is a human's, and what it does in a name
    /// is no sign of life of an agent. Only the page knows who looks at it, so no other door may ask for this.
    pub fn for_person(&self) -> Self {
        Self { is_person: true, ..self.clone() }
    }

    /// The same office for a command at a terminal that has the database open itself: whoever runs it could change the file as well.
    pub fn for_terminal(&self) -> Self {
        Self { is_terminal: true, ..self.clone() }
    }

    /// Refuses what is for people, where names have to be proved.
    pub fn require_person(&self) -> Result<(), Error> {
        if self.is_strict() && !self.is_person && !self.is_terminal { Err(Error::ForPeople) } else { Ok(()) }
    }

    /// The door that a request comes in by.
    pub fn door(&self) -> &'static str {
        if self.is_person { PAGE } else { "mcp" }
    }

    /// Makes a person known who looks at the page, or finds it again; a retired one is back. A name of an agent is refused.
    ///
    /// The name gets a token that nobody is given: where names have to be proved, nobody else can take it.
    pub async fn welcome_person(&self, project_key: &str, name: &str) -> Result<Agent, Error> {
        let name = AgentName::parse(name)?;
        let project = self.project(project_key).await?;
        let agent = self.make_person(&project, &name).await?;
        self.sign_of_life(project.id, agent.id);
        Ok(agent)
    }

    /// The person of that name, who may be new or was retired.
    pub(super) async fn make_person(&self, project: &Project, name: &AgentName) -> Result<Agent, Error> {
        let known = match self.person_called(project, name).await? {
            Some(person) if person.retired_at.is_none() => return Ok(person),
            known => known,
        };
        let (taking, token) = match known {
            Some(_) => (Taking::NewOrKnown, None),
            None => (Taking::NewOnly, self.new_token().1),
        };
        let profile = Profile { program: Some(PERSON.to_owned()), ..Profile::default() };
        let made = self.store.register(project.id, name, &profile, token, taking, self.clock.now()).await?;
        match made {
            Some(person) => Ok(person),
            // Somebody was faster, perhaps the same person in another window.
            None => self.person_called(project, name).await?.ok_or_else(|| taken(name)),
        }
    }

    /// Archives a recipient's delivery, or brings it `back`, as a person wants it; whether this call did it.
    pub async fn archive_for(
        &self,
        project_key: &str,
        person: &str,
        recipient: &str,
        id: MessageId,
        back: bool,
    ) -> Result<bool, Error> {
        let (project, person, recipient) = self.person_and_agent(project_key, person, recipient).await?;
        let is_new = match back {
            true => self.store.bring_back(recipient.id, id, person.id, self.clock.now()).await?,
            false => self.store.archive(recipient.id, id, person.id, self.clock.now()).await?,
        };
        self.tell_moved(&project, &recipient, id, is_new).await
    }

    /// Gives back somebody's active reservation, and writes to its holder that it was; whether the holder could be told.
    pub async fn release_for(
        &self,
        project_key: &str,
        person: &str,
        reservation: ReservationId,
    ) -> Result<(Reservation, bool), Error> {
        let project = self.project(project_key).await?;
        let person = self.agents_called(&project, &[person]).await?.remove(0);
        let now = self.clock.now();
        let after = Some(ReservationId(reservation.0.saturating_sub(1)));
        let found =
            self.store.reservations(project.id, after, 1, now).await?.pop().filter(|found| found.id == reservation);
        let held = found.ok_or(Error::ReservationOver(reservation))?;
        let patterns = [held.pattern.clone()];
        let mut released = self.store.release(project.id, held.holder, Some(&patterns), person.id, now).await?;
        let released = released.pop().ok_or(Error::ReservationOver(reservation))?;
        self.wake.reservations_changed(project.id);
        let is_told = released.holder == person.id || self.tell_holder(&project, &person, &released).await;
        Ok((released, is_told))
    }

    /// Retires an agent, whose reservations are given back: nobody writes to it until it registers again. Whether this call did it.
    pub async fn retire(&self, project_key: &str, person: &str, name: &str) -> Result<bool, Error> {
        let (project, person, agent) = self.person_and_agent(project_key, person, name).await?;
        if person.id == agent.id {
            return Err(Error::invalid("agent name", name, "another name than your own"));
        }
        self.retire_by(&project, agent.id, &agent.name, person.id).await
    }

    pub(super) async fn retire_by(
        &self,
        project: &Project,
        agent: AgentId,
        name: &str,
        by: AgentId,
    ) -> Result<bool, Error> {
        let is_new = self.store.retire(project.id, agent, by, self.clock.now()).await?;
        self.note_retired(project.id, name, is_new);
        Ok(is_new)
    }

    /// Forgets an agent that is retired, and tells those who wait if that `is_new`.
    pub(super) fn note_retired(&self, project: ProjectId, name: &str, is_new: bool) {
        self.directory.forget_agent(project, name);
        if is_new {
            self.wake.reservations_changed(project);
            self.wake.work_changed(project);
        }
    }

    /// Refuses if one of these is retired; a project that is not known yet has nobody.
    pub(super) async fn check_none_retired(&self, project_key: &str, names: &[String]) -> Result<(), Error> {
        let retired = self.retired_among(project_key, names).await?;
        if retired.is_empty() {
            return Ok(());
        }
        let project = self.project(project_key).await?;
        self.refuse_retired((&project, &project), &retired).await
    }

    /// Takes those out who are retired: for whom nobody named, but who was meant.
    pub(super) async fn leave_out_retired(&self, project_key: &str, names: &mut Vec<String>) -> Result<(), Error> {
        let retired = self.retired_among(project_key, names).await?;
        names.retain(|name| retired.iter().all(|agent| agent.name != *name));
        Ok(())
    }

    async fn retired_among(&self, project_key: &str, names: &[String]) -> Result<Vec<Known>, Error> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let project = match self.project(project_key).await {
            Err(Error::UnknownProject { .. }) => return Ok(Vec::new()),
            found => found?,
        };
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let known = self.store.agents_named(project.id, &names).await?;
        Ok(known.into_iter().filter(|agent| agent.retired_at.is_some()).map(Known::from).collect())
    }

    /// The person of that name, if somebody has it.
    async fn person_called(&self, project: &Project, name: &AgentName) -> Result<Option<Agent>, Error> {
        if is_office_name(name.as_str()) {
            return Err(taken(name));
        }
        match self.agent_named(project.id, name.as_str()).await? {
            Some(agent) if !agent.is_person() => Err(taken(name)),
            known => Ok(known),
        }
    }

    async fn person_and_agent(
        &self,
        project_key: &str,
        person: &str,
        agent: &str,
    ) -> Result<(Project, Known, Known), Error> {
        let project = self.project(project_key).await?;
        let person = self.agents_called(&project, &[person]).await?.remove(0);
        let agent = self.agents_called(&project, &[agent]).await.map_err(Error::of_another)?.remove(0);
        Ok((project, person, agent))
    }

    /// Writes to a holder that its reservation is gone; whether that could be sent. It is given back either way.
    async fn tell_holder(&self, project: &Project, person: &Known, reservation: &Reservation) -> bool {
        let body = format!(
            "{} released your reservation on `{}` from the page. Reserve it again before you go on there.",
            person.name, reservation.pattern
        );
        let (from, to) = (Claim::of(&person.name), vec![reservation.holder_name.clone()]);
        let draft = Draft {
            importance: Importance::High,
            ack_required: Some(false),
            door: PAGE,
            ..Draft::plain(&project.slug, from, to, "Your reservation was released", &body)
        };
        self.for_person().send(draft).await.is_ok()
    }
}

fn taken(name: &AgentName) -> Error {
    Error::NameTaken(name.as_str().to_owned())
}
