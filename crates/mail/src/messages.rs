//! Messages, and their deliveries to each recipient.
//!
//! A message is written once and never changed. What a recipient did with it (saw, read, acknowledged, archived it) is
//! told by that recipient's delivery. Nothing here deletes.

mod keys;
mod marks;

use std::time::Instant;

use async_trait::async_trait;
use formats::{Kind, Problem};
use jiff::Timestamp;

use crate::channels::{NewPost, SIGN};
use crate::error::{Error, Stored};
use crate::ids::{AgentId, MessageId, ProjectId};
use crate::responses::JsonFacts;
pub use keys::{IdempotencyKey, LONGEST_KEY, OpenKey, WhenOpen};
pub use marks::Mark;

/// How many bytes of bodies a page of messages may hold: it ends with the message that takes it above.
///
/// A limit by number alone would let a page of long bodies take any amount of memory. A page of at most this many bytes
/// that holds fewer messages than were asked for was the last one.
pub const PAGE_BYTES: usize = 16 * 1024 * 1024;

formats::named! {
    /// How a recipient was addressed. A store keeps the number in this order.
    pub enum Role {
        /// Written to.
        To = "to",
        /// Given a copy.
        Cc = "cc",
        /// Given a copy that only the sender and this recipient know of.
        Bcc = "bcc",
    }
}

formats::named! {
    /// How much a message matters to its sender. A store keeps the number in this order.
    #[derive(Default)]
    pub enum Importance {
        /// Read it when nothing else is to be done.
        Low = "low",
        /// As most mail.
        #[default]
        Normal = "normal",
        /// Read it soon.
        High = "high",
        /// Read it now.
        Urgent = "urgent",
    }
}

formats::named! {
    /// Who vouched for the sender's name.
    #[derive(Default)]
    pub enum Vouched {
        /// Nobody: the sender said so.
        #[default]
        Claimed = "claimed",
        /// The sender's registration token.
        Verified = "verified",
        /// A person at the page or the terminal.
        Human = "human",
    }
}

/// A message as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its number; rises in the order of commits.
    pub id: MessageId,
    /// The project it was sent in.
    pub project: ProjectId,
    /// The sender's name.
    pub from: String,
    /// Whom it is written to, in the sender's order.
    pub to: Vec<String>,
    /// Who got a copy, in the sender's order.
    pub cc: Vec<String>,
    /// One line that says what it is about; may be long, or empty.
    pub subject: String,
    /// Markdown. Empty when the caller asked to leave bodies out.
    pub body: String,
    /// The conversation it belongs to; the message's own number when nothing else was said.
    pub thread: String,
    /// The message it answers.
    pub reply_to: Option<MessageId>,
    /// How much it matters.
    pub importance: Importance,
    /// Whether the sender waits for an acknowledgement.
    pub ack_required: bool,
    /// What kind of typed message it is, if it is one.
    pub kind: Option<Kind>,
    /// The work item it is about, if it says.
    pub work_id: Option<String>,
    /// The door it came in by, such as `mcp`.
    pub door: String,
    /// Who vouched for the sender.
    pub vouched: Vouched,
    /// When it was accepted; strictly rises within a project.
    pub created_at: Timestamp,
    /// What was wrong with it as a JSON message when it was accepted, as its sender was told.
    pub problems: Vec<Problem>,
}

/// The door of a tool that runs a program of ours for its mail.
pub const EXEC: &str = "exec";

impl Message {
    /// Whether a person wrote it, who was at the page.
    pub fn is_by_human(&self) -> bool {
        self.vouched == Vouched::Human
    }

    /// The agents that all may know to have a copy: whom it is written to, and then who got one. A channel has none.
    pub fn open_recipients(&self) -> impl Iterator<Item = &str> {
        self.to.iter().chain(&self.cc).map(String::as_str).filter(|name| !name.starts_with(SIGN))
    }
}

/// One recipient's copy of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The recipient's name.
    pub recipient: String,
    /// How it was addressed.
    pub role: Role,
    /// What the recipient did with it.
    pub state: DeliveryState,
}

/// What a recipient did with a message, and when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveryState {
    /// When it was put before the agent unasked (a call that waits, a hook).
    pub shown_at: Option<Timestamp>,
    /// When it was marked read.
    pub read_at: Option<Timestamp>,
    /// When it was acknowledged.
    pub acked_at: Option<Timestamp>,
    /// What was said with the acknowledgement; empty if nothing.
    pub ack_note: String,
    /// When it was archived.
    pub archived_at: Option<Timestamp>,
}

/// A message as one recipient finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxEntry {
    /// The message.
    pub message: Message,
    /// How this recipient was addressed.
    pub role: Role,
    /// What this recipient did with it.
    pub state: DeliveryState,
}

/// A message that was checked and waits for its number and time.
#[derive(Clone, Debug)]
pub struct NewMessage {
    /// The project.
    pub project: ProjectId,
    /// The sender.
    pub from: AgentId,
    /// What the sender is called in a project that is not its own; its name where that is left out.
    pub from_as: Option<String>,
    /// The recipients; names are kept with the message in this order. Who stands here under several names has one delivery, as the
    /// first of them.
    pub recipients: Vec<(AgentId, String, Role)>,
    /// The subject.
    pub subject: String,
    /// The body.
    pub body: String,
    /// The conversation; `None` starts one that is named after the message's own number.
    pub thread: Option<String>,
    /// The message it answers.
    pub reply_to: Option<MessageId>,
    /// Whether its sender has read by that what it answers.
    pub marks_read: bool,
    /// How much it matters.
    pub importance: Importance,
    /// Whether an acknowledgement is wanted.
    pub ack_required: bool,
    /// What kind of typed message it is.
    pub kind: Option<Kind>,
    /// The work item it is about.
    pub work_id: Option<String>,
    /// Whether the sender's next word of this kind about this work replaces it on the board of work.
    pub is_passing: bool,
    /// The door it came in by.
    pub door: &'static str,
    /// Who vouched for the sender.
    pub vouched: Vouched,
    /// The sender's key against sending twice.
    pub idempotency: Option<IdempotencyKey>,
    /// The key of which its recipients have one message open.
    pub open_key: Option<OpenKey>,
    /// The channel that it is posted in, if it is.
    pub post: Option<NewPost>,
    /// What is known of it as a message in JSON.
    pub json: JsonFacts,
    /// When the office took it; the store moves it on if the project's last message is not older.
    pub now: Timestamp,
}

/// Whose a message is, whatever they are called now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parties {
    /// Who sent it.
    pub sender: AgentId,
    /// Who has a delivery, in the order of [`deliveries`](MessageStore::deliveries).
    pub recipients: Vec<(AgentId, Role)>,
}

/// What became of a new message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Appended {
    /// It was kept.
    New {
        /// Its number.
        id: MessageId,
        /// Its time.
        created_at: Timestamp,
    },
    /// The key was used before for the same content, or the recipients have one open under it: this message.
    Repeated(MessageId),
    /// The key was used before for other content: this message.
    KeyTaken(MessageId),
}

/// What a typed message has to be about to be wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Only messages of this kind.
    pub kind: Option<Kind>,
    /// Only messages about this work item.
    pub work_id: Option<String>,
}

impl About {
    /// Reads what a caller asks for by name.
    pub fn parse(kind: Option<&str>, work_id: Option<&str>) -> Result<Self, Error> {
        let read = |word: &str| {
            let known = || Kind::all().map(Kind::as_str).collect::<Vec<_>>().join(", ");
            Kind::parse(word).ok_or_else(|| Error::invalid("kind", word, known()))
        };
        Ok(Self { kind: kind.map(read).transpose()?, work_id: work_id.map(str::to_owned) })
    }
}

/// Which of a recipient's mail to return.
#[derive(Clone, Debug, Default)]
pub struct InboxQuery {
    /// Only what is not read yet.
    pub unread_only: bool,
    /// Only what wants an acknowledgement, given or not.
    pub ack_required_only: bool,
    /// Only this conversation.
    pub thread: Option<String>,
    /// Only what is about this.
    pub about: About,
    /// Only messages with a number below this one.
    pub before: Option<MessageId>,
    /// At most so many, the newest.
    pub limit: usize,
    /// Whether to load bodies.
    pub with_bodies: bool,
}

impl InboxQuery {
    /// Everything, newest first, with bodies.
    pub fn newest(limit: usize) -> Self {
        Self { limit, with_bodies: true, ..Self::default() }
    }
}

/// What keeps messages.
///
/// A page of messages with bodies ends early once its bodies exceed [`PAGE_BYTES`].
#[async_trait]
pub trait MessageStore: Send + Sync {
    /// Keeps `message`, one delivery for each recipient, the event that tells of it (`MessageSent`), and its words for
    /// search, in one transaction that is on disk before this returns.
    ///
    /// Numbers rise in the order of commits, `created_at` strictly rises within the project. A key that this sender
    /// used before adds nothing, nor does a post whose first key was taken in before: that is `Repeated`, and its other
    /// keys are noted. So is a message under an [`OpenKey`] that is to be skipped; one that is to replace archives the
    /// earlier ones for its recipients (`MessageArchived`, by the sender). A post of our own gets the name that [`external_id`](crate::channels::external_id) gives at its first
    /// attempt. The channel's name stands first among the recipients that are shown. The sender's `last_active_at` moves on.
    ///
    /// Whoever answers a message of the project has read it, unless `marks_read` says otherwise: the sender's delivery of what it
    /// answers is marked read, if it was not (`MessageRead`), behind the event of the answer.
    ///
    /// What its [`Response`](crate::responses::Response) wants reserved is granted or refused, and the answer is kept, in the same transaction: so both are
    /// there or neither, once for a message. The first message of a project under an `own_id` is the one
    /// that goes by it.
    async fn append(&self, message: &NewMessage) -> Stored<Appended>;

    /// The first message of a project whose author gave it that id.
    async fn message_called(&self, project: ProjectId, own_id: &str) -> Stored<Option<Message>>;

    /// The first answer of an agent to a message, if there is one.
    async fn answer_by(&self, agent: AgentId, message: MessageId) -> Stored<Option<Message>>;

    /// The message of that number in that project, with its body.
    async fn message(&self, project: ProjectId, id: MessageId) -> Stored<Option<Message>>;

    /// The message of that number that an agent of the project sent to another project, with its body.
    async fn message_from(&self, project: ProjectId, id: MessageId) -> Stored<Option<Message>>;

    /// Every recipient's delivery, to, then cc, then bcc, each in the sender's order.
    async fn deliveries(&self, id: MessageId) -> Stored<Vec<Delivery>>;

    /// The sender and the recipients of a message by their numbers.
    async fn parties(&self, id: MessageId) -> Stored<Option<Parties>>;

    /// One recipient's mail, newest first, archived mail left out. Changes nothing.
    async fn inbox(&self, agent: AgentId, query: &InboxQuery) -> Stored<Vec<InboxEntry>>;

    /// What an agent sent, newest first, with a number below `before`.
    async fn outbox(
        &self,
        agent: AgentId,
        before: Option<MessageId>,
        limit: usize,
        with_bodies: bool,
    ) -> Stored<Vec<Message>>;

    /// Takes mail that the agent has neither read nor been shown nor archived, oldest first, and notes that it was
    /// shown: of many who take at once, each message goes to one. With `after`, mail with a higher number that is
    /// unread, whether it was shown or not. Being shown again keeps the first time.
    ///
    /// Taking nothing writes nothing. Nothing is taken once `not_after` has passed, however long this had to wait for others:
    /// whoever asked has gone, and would never show it.
    async fn take_unseen(
        &self,
        agent: AgentId,
        after: Option<MessageId>,
        limit: usize,
        now: Timestamp,
        not_after: Option<Instant>,
    ) -> Stored<Vec<InboxEntry>>;

    /// Notes that messages which were taken at `shown_at` were not shown after all: they are unseen again, and the agent is woken.
    /// What was first shown at another time stays as it is. Whether anything is unseen again.
    async fn give_back(&self, agent: AgentId, messages: &[MessageId], shown_at: Timestamp) -> Stored<bool>;

    /// How much mail [`take_unseen`](Self::take_unseen) would take, counted no further than `most`.
    async fn count_unseen(&self, agent: AgentId, most: usize) -> Stored<usize>;

    /// Notes what the agent did with its delivery, and returns its state; `None` if it has none.
    ///
    /// The first time counts: marking again keeps the first time and note and writes no second event
    /// (`MessageRead`, `MessageUnread`, `MessageAcknowledged`). What was acknowledged and then marked unread is read again by another
    /// acknowledgement, which is told as `MessageRead`.
    async fn mark(
        &self,
        agent: AgentId,
        message: MessageId,
        mark: &Mark,
        now: Timestamp,
    ) -> Stored<Option<DeliveryState>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn importance_is_read_back_from_its_name() {
        for name in Importance::NAMES {
            assert_eq!(Importance::parse(name).unwrap().as_str(), name);
        }
        assert_eq!(Importance::parse("Normal"), None);
    }
}
