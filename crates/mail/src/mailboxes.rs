//! Mailboxes: one recipient's delivery of a message, and what is open.
//!
//! A message is written once, and each recipient has a delivery. Where deliveries are named one by one, a message to a
//! single recipient goes by its number, `17`, and the deliveries of one to several by number and place, `17.1`, `17.2`:
//! an id that is shown in one mailbox then means nothing in another. A blind copy always has a place, so that the
//! others' ids do not tell of it; which one is told to those who own all mailboxes alone, so that the blind do not
//! learn of each other. What is archived is hidden here, and never gone.

use std::fmt;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::channels::SIGN;
use crate::error::Stored;
use crate::ids::{AgentId, MessageId, ProjectId};
use crate::messages::{Delivery, DeliveryState, Message, Role};

/// The id of a delivery: a message, and its place among the deliveries where that is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryId {
    /// The message.
    pub message: MessageId,
    /// Its place among the deliveries, from 1; without one it depends on who asks.
    pub place: Option<usize>,
}

impl DeliveryId {
    /// Reads `17` or `17.2`; nothing else is the id of a delivery.
    pub fn parse(text: &str) -> Option<Self> {
        fn number<T: std::str::FromStr>(digits: &str) -> Option<T> {
            let is_number = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
            digits.parse().ok().filter(|_| is_number)
        }
        let (message, place) = match text.split_once('.') {
            Some((message, place)) => (message, Some(number(place)?)),
            None => (text, None),
        };
        Some(Self { message: MessageId(number(message)?), place })
    }

    /// The id of the delivery at `place` of a message of which `open` deliveries are known to all.
    pub fn shown(message: MessageId, open: usize, place: usize) -> Self {
        let is_only = place == 1 && open == 1;
        Self { message, place: (!is_only).then_some(place) }
    }
}

impl fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some(place) => write!(f, "{}.{place}", self.message),
            None => self.message.fmt(f),
        }
    }
}

/// One recipient's delivery, with the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveredMessage {
    /// The message.
    pub message: Message,
    /// Its recipient.
    pub recipient: String,
    /// Its place among the deliveries, from 1: to, then cc, then bcc, each in the sender's order.
    pub place: usize,
    /// What the recipient did with it.
    pub state: DeliveryState,
}

impl DeliveredMessage {
    /// What it is called.
    pub fn id(&self) -> DeliveryId {
        match self.is_nobodys() {
            true => DeliveryId { message: self.message.id, place: None },
            false => DeliveryId::shown(self.message.id, self.open(), self.place),
        }
    }

    /// How many deliveries are known to all; the blind ones come behind them.
    pub fn open(&self) -> usize {
        self.message.open_recipients().count()
    }

    /// Whether only the sender and this recipient know of it.
    pub fn is_blind(&self) -> bool {
        self.place > self.open() && !self.is_nobodys()
    }

    /// Whether it was said in a channel to nobody in particular: then the channel stands where its recipient would.
    pub fn is_nobodys(&self) -> bool {
        self.recipient.starts_with(SIGN)
    }

    /// The delivery at `place`, from 1, of a message with those deliveries. What is nobody's mail can be looked at as
    /// if it had one.
    pub fn at(message: &Message, deliveries: &[Delivery], place: usize) -> Option<Self> {
        let delivery =
            deliveries.get(place.checked_sub(1)?).map(|delivery| (delivery.recipient.clone(), delivery.state.clone()));
        let channel = message.to.first().filter(|to| place == 1 && deliveries.is_empty() && to.starts_with(SIGN));
        let (recipient, state) = delivery.or_else(|| Some((channel?.clone(), DeliveryState::default())))?;
        Some(Self { message: message.clone(), recipient, place, state })
    }
}

/// The place of a recipient's delivery among the deliveries of a message.
pub fn place_of(deliveries: &[Delivery], recipient: &str) -> Option<usize> {
    deliveries.iter().position(|delivery| delivery.recipient == recipient).map(|at| at + 1)
}

/// The deliveries that everybody may know of.
pub fn open_to_all(deliveries: &[Delivery]) -> impl Iterator<Item = &Delivery> {
    deliveries.iter().filter(|delivery| delivery.role != Role::Bcc)
}

/// Which open deliveries to return.
#[derive(Clone, Copy, Debug)]
pub struct DeliveryQuery {
    /// The project.
    pub project: ProjectId,
    /// Whose; everybody's without one.
    pub agent: Option<AgentId>,
    /// Only what is not read yet.
    pub unread_only: bool,
    /// Only deliveries behind this one.
    pub after: Option<(MessageId, usize)>,
    /// At most so many.
    pub limit: usize,
}

/// How much is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// All of it.
    pub total: usize,
    /// What was not read.
    pub unread: usize,
}

/// What keeps mailboxes.
#[async_trait]
pub trait MailboxStore: Send + Sync {
    /// Deliveries that are not archived, oldest first, with bodies. Changes nothing.
    ///
    /// A page ends early once its bodies exceed [`PAGE_BYTES`](crate::messages::PAGE_BYTES); an empty page is the last.
    async fn open_deliveries(&self, query: &DeliveryQuery) -> Stored<Vec<DeliveredMessage>>;

    /// How much is open, of one agent or of everybody.
    async fn count_open(&self, project: ProjectId, agent: Option<AgentId>) -> Stored<Count>;

    /// Puts the agent's copy away. Of many who do so at once one does; only that writes an event (`MessageArchived`), which
    /// tells who did it: `by`, who may be another than the agent. Whether it was read stays as it was. Whether this call did
    /// it; `None` if the agent has no copy.
    async fn archive(&self, agent: AgentId, message: MessageId, by: AgentId, now: Timestamp) -> Stored<Option<bool>>;

    /// Brings back the agent's copy that was put away, as it was before. Of many who do so at once one does; only that
    /// writes an event (`MessageBroughtBack`), as done by `by`. Whether this call did it; `None` if the agent has no copy.
    async fn bring_back(&self, agent: AgentId, message: MessageId, by: AgentId, now: Timestamp)
    -> Stored<Option<bool>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_number_or_a_number_and_a_place() {
        let id = |message, place| Some(DeliveryId { message: MessageId(message), place });
        assert_eq!(DeliveryId::parse("17"), id(17, None));
        assert_eq!(DeliveryId::parse("17.2"), id(17, Some(2)));
        for wrong in ["", ".", "17.", ".2", "17.0", "0", "017", "+17", "-1", "17.2.3", "1e3", " 17", "17.02", "x"] {
            assert_eq!(DeliveryId::parse(wrong), None, "{wrong:?}");
        }
        assert_eq!(DeliveryId::parse("99999999999999999999"), None);
    }

    #[test]
    fn an_id_is_read_back_from_what_is_shown() {
        for text in ["17", "17.1", "17.12"] {
            assert_eq!(DeliveryId::parse(text).unwrap().to_string(), text);
        }
    }
}
