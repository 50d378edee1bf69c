//! Sessions: the runs of clients with which agents are reached, on every machine that uses this office.
//!
//! A client's hook says that a session is there, whether it is at work, and that it ended. A machine that went away says nothing:
//! after a long silence its sessions count as ended. What becomes of a name that was generated for sessions which ended is decided
//! here and done by whoever passes by; a name that a person chose stays. Deliberately absent: how a session is woken, and any proof
//! of a name.

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::agents::Agent;
use crate::error::Stored;
use crate::ids::{AgentId, MessageId, ProjectId};
use crate::messages::{Importance, InboxEntry};
use crate::reservations::Reservation;
use formats::{Kind, markdown};

/// After so long a silence a session counts as ended.
const LOST_AFTER: SignedDuration = SignedDuration::from_hours(7 * 24);

/// One run of a client with which an agent is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The agent.
    pub agent: AgentId,
    /// What it is known by among the agent's sessions: the client, and a hash of the machine and of the client's own id.
    pub key: String,
    /// The client, such as `claude`.
    pub client: String,
    /// The machine.
    pub host: String,
    /// The top of the working tree that it began in, else its folder.
    pub place: String,
    /// Whether it waits for its user.
    pub is_idle: bool,
    /// When it began.
    pub began_at: Timestamp,
    /// When it was last heard of.
    pub seen_at: Timestamp,
}

impl Session {
    /// Whether nothing was heard of it for so long that it counts as ended.
    pub fn is_lost(&self, now: Timestamp) -> bool {
        self.seen_at < lost_before(now)
    }
}

/// A session that was last heard of before this time counts as ended at `now`.
pub fn lost_before(now: Timestamp) -> Timestamp {
    earlier(now, LOST_AFTER)
}

/// A time so long before `now`.
pub fn earlier(now: Timestamp, by: SignedDuration) -> Timestamp {
    now.checked_sub(by).unwrap_or(Timestamp::MIN)
}

formats::named! {
    /// Which reservations end with an agent's last session.
    pub enum Release {
        /// Those that nobody else may share.
        Exclusive = "exclusive",
        /// All.
        All = "all",
        /// None: they end when their time is over.
        None = "none",
    }
}

impl Release {
    /// Whether a reservation ends with the session.
    pub fn includes(self, reservation: &Reservation) -> bool {
        match self {
            Self::Exclusive => reservation.exclusive,
            Self::All => true,
            Self::None => false,
        }
    }
}

/// What becomes of an agent's things when its sessions have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionRules {
    /// Which reservations end with the last session.
    pub release: Release,
    /// How long mail that wants an answer waits for the next session, before the person is told of it.
    pub hand_over_after: SignedDuration,
    /// How long a generated name that nothing waits for is kept for the next session.
    pub retire_after: SignedDuration,
}

impl Default for SessionRules {
    fn default() -> Self {
        Self {
            release: Release::Exclusive,
            hand_over_after: SignedDuration::from_hours(24),
            retire_after: SignedDuration::from_hours(7 * 24),
        }
    }
}

impl SessionRules {
    /// Nothing becomes of a name that was heard of after this time.
    pub fn quiet_until(&self, now: Timestamp) -> Timestamp {
        earlier(now, self.hand_over_after.min(self.retire_after))
    }
}

/// What the end of a session did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndedSession {
    /// Whether it was not known before that it ended.
    pub is_new: bool,
    /// Whether the agent has no open session any more.
    pub is_last: bool,
    /// What was given back with it, each with the time of release as its end; also what agents below it held.
    pub released: Vec<Reservation>,
}

/// A generated name that no session uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuietName {
    /// The agent.
    pub agent: Agent,
    /// When it was last heard of, or its last session ended.
    pub quiet_since: Timestamp,
    /// The person was told of its mail up to this message.
    pub handed_over: MessageId,
    /// How many reservations it holds.
    pub reservations: u64,
}

/// What is to be done about a generated name that no session uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Nothing yet.
    Stays,
    /// The person is told of the mail that waits for it.
    HandsOver,
    /// It is retired.
    Retires,
}

/// What is to be done about a name for which so many messages wait that want an answer.
pub fn fate(name: &QuietName, waiting: usize, rules: &SessionRules, now: Timestamp) -> Fate {
    let quiet_for = now.duration_since(name.quiet_since);
    match waiting {
        0 if name.reservations == 0 && quiet_for >= rules.retire_after => Fate::Retires,
        0 => Fate::Stays,
        _ if quiet_for >= rules.hand_over_after => Fate::HandsOver,
        _ => Fate::Stays,
    }
}

/// Whether an unread message wants an answer from its recipient: an acknowledgement, help, or anything that is urgent.
pub fn wants_answer(entry: &InboxEntry) -> bool {
    let message = &entry.message;
    (message.ack_required && entry.state.acked_at.is_none())
        || message.importance == Importance::Urgent
        || message.kind == Some(Kind::Markdown(markdown::Kind::HelpRequest))
}

/// What the person is told of mail that waits for a name without a session: a subject and a body.
pub fn told_to_person(name: &QuietName, waiting: &[InboxEntry]) -> (String, String) {
    let agent = &name.agent.name;
    let count = waiting.len();
    let (messages, wait) = if count == 1 { ("message", "waits") } else { ("messages", "wait") };
    let mut body = format!(
        "'{agent}' has no open session since {}, and {count} {messages} to it {wait} for an answer:\n\n",
        crate::clock::rfc3339(name.quiet_since)
    );
    for InboxEntry { message, .. } in waiting {
        let subject = formats::cut(message.subject.chars().filter(|letter| !letter.is_control()), LONGEST_SUBJECT);
        body.push_str(&format!("- #{} from {}: {subject}\n", message.id, message.from));
    }
    body.push_str(
        "\nThey stay in its mailbox. Answer in its place, or start a session where it worked: that takes the name and is told.\n",
    );
    (format!("{count} {messages} {wait} for '{agent}'"), body)
}

/// The longest subject that the person is told, in characters.
const LONGEST_SUBJECT: usize = 120;

/// What keeps sessions, and the names that were generated for them.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Notes that a session is there, at its `seen_at`; whether anything but that time is new.
    ///
    /// One that is open keeps its `began_at`; one that had ended is open again. Earlier sessions of the agent that ended are
    /// forgotten.
    async fn note_session(&self, project: ProjectId, session: &Session) -> Stored<bool>;

    /// Ends an agent's session, and gives back what `release` says if none of its sessions is open any more (each tells of it, as
    /// done by the agent), also of the agents below it ([`is_below`](crate::agents::is_below)). Without a key no session is ended,
    /// and the rest is the same. A session that had ended before changes nothing; one that was never noted ends now.
    async fn end_session(
        &self,
        project: ProjectId,
        agent: AgentId,
        key: Option<&str>,
        release: Release,
        now: Timestamp,
    ) -> Stored<EndedSession>;

    /// The open sessions of these agents, those that began first first.
    async fn sessions(&self, project: ProjectId, agents: &[AgentId]) -> Stored<Vec<Session>>;

    /// Notes that the office or a hook made up the name of an agent.
    async fn note_generated(&self, project: ProjectId, agent: AgentId) -> Stored<()>;

    /// The generated names that no session and no watcher uses, that are not retired, and that were last heard of at `quiet_until` or
    /// earlier; at most `limit`.
    async fn quiet_names(
        &self,
        project: ProjectId,
        quiet_until: Timestamp,
        limit: usize,
        now: Timestamp,
    ) -> Stored<Vec<QuietName>>;

    /// Notes that the person was told of an agent's mail up to this message.
    async fn note_handed_over(&self, agent: AgentId, up_to: MessageId) -> Stored<()>;

    /// [Retires](crate::agents::AgentStore::retire) a generated name if nothing was heard of it after `quiet_until` and no mail waits for
    /// it that [wants an answer](wants_answer) and was not handed over; whether this call did
    /// it.
    async fn retire_quiet(
        &self,
        project: ProjectId,
        agent: AgentId,
        quiet_until: Timestamp,
        by: AgentId,
        now: Timestamp,
    ) -> Stored<bool>;
}

#[cfg(test)]
mod tests;
