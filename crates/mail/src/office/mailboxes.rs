//! Mailboxes, delivery by delivery: what is open, finding one, and archiving it.

use super::{Claim, Identity, Known, Office};
use crate::error::Error;
use crate::ids::{AgentId, MessageId};
use crate::mailboxes::{Count, DeliveredMessage, DeliveryId, DeliveryQuery, open_to_all};
use crate::messages::{Delivery, Message, Role};
use crate::projects::Project;

/// Which open mail is asked for.
#[derive(Clone, Copy, Debug)]
pub struct DeliveriesRequest<'a> {
    /// The project.
    pub project_key: &'a str,
    /// Whose; everybody's without one.
    pub whose: Option<Claim<'a>>,
    /// Only what is not read yet.
    pub unread_only: bool,
    /// Only deliveries behind the one at this place of this message.
    pub after: Option<(MessageId, usize)>,
    /// At most so many.
    pub limit: usize,
}

/// What an agent has to do with a message. Names do not tell: an agent may have another by now, and another agent the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct Part {
    /// Whether it sent the message.
    pub is_sender: bool,
    /// Its position among all deliveries, and how it was addressed.
    pub own: Option<(usize, Role)>,
}

impl Part {
    /// Whether that delivery is the agent's.
    pub fn is_at(&self, place: usize) -> bool {
        self.own.is_some_and(|(own, _)| own == place)
    }

    /// Whether all know that the message went to the agent.
    pub fn is_open(&self) -> bool {
        self.own.is_some_and(|(_, role)| role != Role::Bcc)
    }
}

impl Office {
    /// What the agent that has, or had, a name in a project has to do with a message; nothing if nobody has it.
    pub async fn part_in(&self, project_key: &str, name: &str, id: MessageId) -> Result<Part, Error> {
        let project = self.project(project_key).await?;
        let Some(agent) = self.agents_if_any(&project, &[name]).await?.remove(0) else { return Ok(Part::default()) };
        let Some(parties) = self.store.parties(id).await? else { return Ok(Part::default()) };
        let mut places = (1..).zip(parties.recipients);
        let own = places.find_map(|(place, (recipient, role))| (recipient == agent.id).then_some((place, role)));
        Ok(Part { is_sender: parties.sender == agent.id, own })
    }

    /// A page of open deliveries, oldest first; an empty one is the last. Changes nothing.
    pub async fn open_deliveries(&self, request: DeliveriesRequest<'_>) -> Result<Vec<DeliveredMessage>, Error> {
        let (project, agent) = self.mailbox(request.project_key, request.whose).await?;
        let DeliveriesRequest { unread_only, after, limit, .. } = request;
        Ok(self.store.open_deliveries(&DeliveryQuery { project: project.id, agent, unread_only, after, limit }).await?)
    }

    /// How much is open, of one agent or of everybody.
    pub async fn count_open(&self, project_key: &str, whose: Option<Claim<'_>>) -> Result<Count, Error> {
        let (project, agent) = self.mailbox(project_key, whose).await?;
        Ok(self.store.count_open(project.id, agent).await?)
    }

    /// The delivery that a reader means: the one at that place, else the reader's own, else the first. For whoever
    /// `acts` on it, it has to be plain which one.
    pub async fn delivery(
        &self,
        project_key: &str,
        id: DeliveryId,
        reader: Option<&str>,
        acts: bool,
    ) -> Result<DeliveredMessage, Error> {
        let (message, deliveries) = self.message(project_key, id.message).await?;
        let own = match reader {
            Some(reader) => self.part_in(project_key, reader, id.message).await?.own.map(|(place, _)| place),
            None => None,
        };
        let first = (!acts || open_to_all(&deliveries).count() == 1).then_some(1);
        let Some(place) = id.place.or(own).or(first) else {
            return Err(several_deliveries(&message, &deliveries));
        };
        DeliveredMessage::at(&message, &deliveries, place).ok_or(Error::UnknownMessage(id.message))
    }

    /// Archives the agent's delivery; whether this call did it.
    pub async fn archive(&self, project_key: &str, agent: Claim<'_>, id: MessageId) -> Result<bool, Error> {
        let (project, agent, _) = self.acting(project_key, agent).await?;
        let is_new = self.store.archive(agent.id, id, agent.id, self.clock.now()).await?;
        self.tell_moved(&project, &agent, id, is_new).await
    }

    /// Brings the agent's delivery back that was archived; whether this call did it.
    pub async fn unarchive(&self, project_key: &str, agent: Claim<'_>, id: MessageId) -> Result<bool, Error> {
        let (project, agent, _) = self.acting(project_key, agent).await?;
        let is_new = self.store.bring_back(agent.id, id, agent.id, self.clock.now()).await?;
        self.tell_moved(&project, &agent, id, is_new).await
    }

    /// Wakes whoever waits for the mail of an agent whose delivery was archived or brought back; whether it was.
    pub(super) async fn tell_moved(
        &self,
        project: &Project,
        agent: &Known,
        id: MessageId,
        is_new: Option<bool>,
    ) -> Result<bool, Error> {
        let Some(is_new) = is_new else { return Err(self.no_delivery(project, agent.name.clone(), id).await?) };
        if is_new {
            self.wake.mail_for(&[agent.id]);
        }
        Ok(is_new)
    }

    /// Succeeds when the caller is who it says it is, as far as this office asks for that.
    pub async fn check_claim(&self, project_key: &str, claim: Claim<'_>) -> Result<(), Error> {
        self.acting(project_key, claim).await.map(drop)
    }

    /// Whose mailbox: everybody's only where whoever names itself is believed. Others look into mailboxes too, so that it
    /// is no sign of life.
    async fn mailbox(&self, project_key: &str, whose: Option<Claim<'_>>) -> Result<(Project, Option<AgentId>), Error> {
        match whose {
            Some(claim) => {
                let (project, agent, _) = self.claimed(project_key, claim).await?;
                Ok((project, Some(agent.id)))
            }
            None if self.rules.identity == Identity::Strict => Err(Error::EverybodysMail),
            None => Ok((self.project(project_key).await?, None)),
        }
    }
}

fn several_deliveries(message: &Message, deliveries: &[Delivery]) -> Error {
    let open = open_to_all(deliveries).count();
    let named = open_to_all(deliveries).zip(1..);
    let deliveries = named
        .map(|(delivery, place)| (DeliveryId::shown(message.id, open, place).to_string(), delivery.recipient.clone()));
    Error::SeveralDeliveries { id: message.id, deliveries: deliveries.collect() }
}
