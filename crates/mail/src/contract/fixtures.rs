//! What the contract suites start from: a project with three agents, drafts, requests for reservations, and fixed times.
//!
//! Everything is made through the ports, so that a suite needs nothing of an engine but a fresh store. Nothing here
//! checks a promise.

use std::collections::HashMap;
use std::time::Duration;

use formats::Kind;
use jiff::Timestamp;

use super::Shared;
use crate::agents::{Agent, AgentName, Profile, Taking, TokenHash};
use crate::channels::NewPost;
use crate::events::{Event, EventKind};
use crate::ids::{AgentId, MessageId, ProjectId, TicketId};
use crate::messages::{
    Appended, Delivery, IdempotencyKey, Importance, InboxEntry, InboxQuery, Message, NewMessage, OpenKey, Role,
    Vouched, WhenOpen,
};
use crate::projects::Project;
use crate::reservations::pattern::Pattern;
use crate::reservations::{Request, Reservation, Reserved};
use crate::responses::JsonFacts;

/// More than any list of these suites holds.
pub(super) const PLENTY: usize = 1000;

/// A time of day on the day on which all of this happens, such as `16:00:00` or `16:00:00.000001`.
pub(super) fn at(time: &str) -> Timestamp {
    format!("2026-01-11T{time}Z").parse().expect("the suites write times of day")
}

/// A project with agents, and short ways to use them.
pub(super) struct Team {
    store: Shared,
    pub(super) project: Project,
    ids: HashMap<String, AgentId>,
}

/// The project of most promises, with alice, bob and carol.
pub(super) async fn team(store: &Shared) -> Team {
    team_at(store, "/projects/shop").await
}

/// The project of that path, with alice, bob and carol.
pub(super) async fn team_at(store: &Shared, path: &str) -> Team {
    let project = store.ensure_project(path, at("15:00:00")).await.unwrap();
    let mut team = Team { store: store.clone(), project, ids: HashMap::new() };
    for name in ["alice", "bob", "carol"] {
        team.join(name).await;
    }
    team
}

impl Team {
    /// The project's number.
    pub(super) fn id(&self) -> ProjectId {
        self.project.id
    }

    /// Registers one more agent.
    pub(super) async fn join(&mut self, name: &str) -> Agent {
        let agent = register(&self.store, self.id(), name).await;
        self.ids.insert(name.to_owned(), agent.id);
        agent
    }

    /// The number of an agent that joined.
    pub(super) fn agent(&self, name: &str) -> AgentId {
        self.ids[name]
    }

    /// An agent as the store tells of it now.
    pub(super) async fn look_up(&self, name: &str) -> Agent {
        let mut found = self.store.agents_named(self.id(), &[name]).await.unwrap();
        assert_eq!(found.len(), 1, "{name} is registered once");
        found.remove(0)
    }

    /// Appends a draft.
    pub(super) async fn append(&self, draft: Draft) -> Appended {
        self.store.append(&self.new_message(draft)).await.unwrap()
    }

    /// Appends a draft that has to be new, and returns its number.
    pub(super) async fn send(&self, draft: Draft) -> MessageId {
        match self.append(draft).await {
            Appended::New { id, .. } => id,
            other => panic!("a new message was wanted, not {other:?}"),
        }
    }

    /// Appends a draft and returns it as the store kept it.
    pub(super) async fn sent(&self, draft: Draft) -> Message {
        let id = self.send(draft).await;
        self.message(id).await
    }

    /// Appends as many plain messages from alice to bob, and returns their numbers.
    pub(super) async fn send_many(&self, count: usize) -> Vec<MessageId> {
        let mut ids = Vec::with_capacity(count);
        for _ in 0..count {
            ids.push(self.send(draft("alice", &["bob"])).await);
        }
        ids
    }

    /// The draft with numbers for names, ready for the store.
    pub(super) fn new_message(&self, draft: Draft) -> NewMessage {
        let numbered = |(name, role): (String, Role)| (self.agent(&name), name, role);
        NewMessage {
            project: self.id(),
            from: self.agent(&draft.from),
            from_as: None,
            recipients: draft.recipients.into_iter().map(numbered).collect(),
            subject: draft.subject,
            body: draft.body,
            thread: draft.thread,
            reply_to: draft.reply_to,
            marks_read: true,
            importance: draft.importance,
            ack_required: draft.ack_required,
            kind: draft.kind,
            work_id: draft.work_id,
            is_passing: draft.is_passing,
            door: draft.door,
            vouched: draft.vouched,
            idempotency: draft.idempotency,
            open_key: draft.open_key,
            post: draft.post,
            json: draft.json,
            now: draft.now,
        }
    }

    /// A message that has to be there.
    pub(super) async fn message(&self, id: MessageId) -> Message {
        self.store.message(self.id(), id).await.unwrap().expect("the message is kept")
    }

    /// One recipient's delivery, which has to be there.
    pub(super) async fn delivery(&self, id: MessageId, recipient: &str) -> Delivery {
        let deliveries = self.store.deliveries(id).await.unwrap();
        deliveries.into_iter().find(|delivery| delivery.recipient == recipient).expect("the recipient has a delivery")
    }

    /// Takes as many of an agent's unseen messages, and returns their numbers.
    pub(super) async fn take(&self, name: &str, limit: usize, now: Timestamp) -> Vec<MessageId> {
        entry_ids(&self.store.take_unseen(self.agent(name), None, limit, now, None).await.unwrap())
    }

    /// All that an agent finds in its inbox.
    pub(super) async fn inbox(&self, name: &str) -> Vec<InboxEntry> {
        self.store.inbox(self.agent(name), &InboxQuery::newest(PLENTY)).await.unwrap()
    }

    /// Every event of the project.
    pub(super) async fn events(&self) -> Vec<Event> {
        self.store.events(self.id(), 0, PLENTY).await.unwrap()
    }

    /// How many events of that kind the project has.
    pub(super) async fn count_events(&self, kind: EventKind) -> usize {
        self.events().await.iter().filter(|event| event.kind == kind).count()
    }

    /// An exclusive request for ten minutes, refused at once when something is in the way.
    pub(super) fn request(&self, agent: &str, patterns: &[&str]) -> Request {
        Request {
            project: self.id(),
            agent: self.agent(agent),
            agent_name: agent.to_owned(),
            patterns: parsed(patterns),
            exclusive: true,
            reason: String::new(),
            ttl_seconds: 600,
            wait_until: None,
            ticket: None,
        }
    }

    /// The same, shared.
    pub(super) fn shared(&self, agent: &str, patterns: &[&str]) -> Request {
        Request { exclusive: false, ..self.request(agent, patterns) }
    }

    /// An exclusive request that stands in line until then.
    pub(super) fn patient(&self, agent: &str, patterns: &[&str], until: Timestamp) -> Request {
        Request { wait_until: Some(until), ..self.request(agent, patterns) }
    }

    /// Asks for reservations.
    pub(super) async fn reserve(&self, request: &Request, now: Timestamp) -> Reserved {
        self.store.reserve(request, now).await.unwrap()
    }

    /// Asks for reservations that have to be granted.
    pub(super) async fn granted(&self, request: &Request, now: Timestamp) -> Vec<Reservation> {
        match self.reserve(request, now).await {
            Reserved::Granted(reservations) => reservations,
            other => panic!("a grant was wanted, not {other:?}"),
        }
    }

    /// Asks for reservations that others hold, and returns the place in the line.
    pub(super) async fn queued(&self, request: &Request, now: Timestamp) -> TicketId {
        match self.reserve(request, now).await {
            Reserved::Waiting { ticket, .. } => ticket,
            other => panic!("a place in the line was wanted, not {other:?}"),
        }
    }

    /// The project's active reservations.
    pub(super) async fn reservations(&self, now: Timestamp) -> Vec<Reservation> {
        self.store.reservations(self.id(), None, PLENTY, now).await.unwrap()
    }
}

/// Registers a name that says nothing of itself.
pub(super) async fn register(store: &Shared, project: ProjectId, name: &str) -> Agent {
    introduce(store, project, name, &Profile::default(), None, at("15:00:00")).await
}

/// Registers a name, new or known.
pub(super) async fn introduce(
    store: &Shared,
    project: ProjectId,
    name: &str,
    profile: &Profile,
    token: Option<TokenHash>,
    now: Timestamp,
) -> Agent {
    let agent = store.register(project, &named(name), profile, token, Taking::NewOrKnown, now).await.unwrap();
    agent.expect("any name may be taken")
}

/// A checked name.
pub(super) fn named(name: &str) -> AgentName {
    AgentName::parse(name).expect("the suites write names that are allowed")
}

/// Checked patterns.
pub(super) fn parsed(patterns: &[&str]) -> Vec<Pattern> {
    patterns.iter().map(|text| Pattern::parse(text).expect("the suites write patterns that are allowed")).collect()
}

/// A message in the making, by names.
#[derive(Clone)]
pub(super) struct Draft {
    pub(super) from: String,
    pub(super) recipients: Vec<(String, Role)>,
    pub(super) subject: String,
    pub(super) body: String,
    pub(super) thread: Option<String>,
    pub(super) reply_to: Option<MessageId>,
    pub(super) importance: Importance,
    pub(super) ack_required: bool,
    pub(super) kind: Option<Kind>,
    pub(super) work_id: Option<String>,
    pub(super) is_passing: bool,
    pub(super) door: &'static str,
    pub(super) vouched: Vouched,
    pub(super) idempotency: Option<IdempotencyKey>,
    pub(super) open_key: Option<OpenKey>,
    pub(super) post: Option<NewPost>,
    pub(super) json: JsonFacts,
    pub(super) now: Timestamp,
}

/// A plain message, taken at 16:00:00.
pub(super) fn draft(from: &str, to: &[&str]) -> Draft {
    let blank = Draft {
        from: from.to_owned(),
        recipients: Vec::new(),
        subject: "Hello".to_owned(),
        body: "How are you?".to_owned(),
        thread: None,
        reply_to: None,
        importance: Importance::Normal,
        ack_required: false,
        kind: None,
        work_id: None,
        is_passing: false,
        door: "mcp",
        vouched: Vouched::Claimed,
        idempotency: None,
        open_key: None,
        post: None,
        json: JsonFacts::default(),
        now: at("16:00:00"),
    };
    blank.addressed(Role::To, to)
}

impl Draft {
    fn addressed(mut self, role: Role, names: &[&str]) -> Self {
        self.recipients.extend(names.iter().map(|name| ((*name).to_owned(), role)));
        self
    }

    /// More people to write to.
    pub(super) fn to(self, names: &[&str]) -> Self {
        self.addressed(Role::To, names)
    }

    /// More people with a copy.
    pub(super) fn cc(self, names: &[&str]) -> Self {
        self.addressed(Role::Cc, names)
    }

    /// More people with a blind copy.
    pub(super) fn bcc(self, names: &[&str]) -> Self {
        self.addressed(Role::Bcc, names)
    }

    /// Another subject.
    pub(super) fn subject(self, subject: &str) -> Self {
        Self { subject: subject.to_owned(), ..self }
    }

    /// Another body.
    pub(super) fn body(self, body: &str) -> Self {
        Self { body: body.to_owned(), ..self }
    }

    /// In a conversation.
    pub(super) fn thread(self, thread: &str) -> Self {
        Self { thread: Some(thread.to_owned()), ..self }
    }

    /// Wants an acknowledgement.
    pub(super) fn wants_ack(self) -> Self {
        Self { ack_required: true, ..self }
    }

    /// With a key against sending twice, and the fingerprint of its content.
    pub(super) fn key(self, key: &str, fingerprint: u8) -> Self {
        Self { idempotency: Some(IdempotencyKey { key: key.to_owned(), fingerprint: [fingerprint; 32] }), ..self }
    }

    /// Under a key of which its recipients have one open.
    pub(super) fn open_key(self, key: &str, when_open: WhenOpen) -> Self {
        Self { open_key: Some(OpenKey::new(key, when_open).expect("the suites write keys that are allowed")), ..self }
    }

    /// Said in a channel.
    pub(super) fn posted(self, post: NewPost) -> Self {
        Self { post: Some(post), ..self }
    }

    /// Taken at another time.
    pub(super) fn taken(self, now: Timestamp) -> Self {
        Self { now, ..self }
    }
}

/// The numbers of messages, in their order.
pub(super) fn ids(messages: &[Message]) -> Vec<MessageId> {
    messages.iter().map(|message| message.id).collect()
}

/// The numbers of what an inbox holds, in its order.
pub(super) fn entry_ids(entries: &[InboxEntry]) -> Vec<MessageId> {
    entries.iter().map(|entry| entry.message.id).collect()
}

/// The texts of the patterns of reservations, in their order.
pub(super) fn patterns(reservations: &[Reservation]) -> Vec<&str> {
    reservations.iter().map(|reservation| reservation.pattern.as_str()).collect()
}

/// A number that changes with every commit.
pub(super) async fn stamp(store: &Shared) -> i64 {
    store.changes(None, Duration::ZERO).await.unwrap().stamp
}
