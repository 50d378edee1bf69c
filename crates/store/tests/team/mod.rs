//! A project with a few agents on a database file: what the tests of this crate start from.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use mail::agents::{AgentName, AgentStore, Profile, Taking};
use mail::clock::from_micros;
use mail::ids::{AgentId, MessageId, ProjectId};
use mail::messages::{Appended, Importance, MessageStore, NewMessage, Role, Vouched};
use mail::projects::ProjectStore;
use mail::reservations::Request;
use mail::reservations::pattern::Pattern;
use mail::responses::JsonFacts;
use store::{Engine, Options, Sqlite};

/// A time so many microseconds after all of this began.
pub fn at(micros: i64) -> Timestamp {
    from_micros(1_700_000_000_000_000 + micros)
}

pub fn open(path: &Path) -> Arc<Engine> {
    Arc::new(Sqlite::open(path, &Options::default()).unwrap())
}

/// A project and its agents, named `agent-0`, `agent-1` and so on.
#[derive(Clone)]
pub struct Team {
    pub project: ProjectId,
    pub agents: Vec<AgentId>,
}

pub async fn team(store: &Engine, size: usize) -> Team {
    let project = store.ensure_project("/projects/shop", at(0)).await.unwrap().id;
    let mut agents = Vec::new();
    for number in 0..size {
        let name = AgentName::parse(&format!("agent-{number}")).unwrap();
        let agent = store.register(project, &name, &Profile::default(), None, Taking::NewOnly, at(0)).await.unwrap();
        agents.push(agent.expect("each has a name of its own").id);
    }
    Team { project, agents }
}

impl Team {
    /// A message from one agent to others, by their places in the team.
    pub fn message(&self, from: usize, to: &[usize], body: &str) -> NewMessage {
        NewMessage {
            project: self.project,
            from: self.agents[from],
            from_as: None,
            recipients: to.iter().map(|&n| (self.agents[n], format!("agent-{n}"), Role::To)).collect(),
            subject: "Hello".into(),
            body: body.into(),
            thread: None,
            reply_to: None,
            marks_read: true,
            importance: Importance::Normal,
            ack_required: false,
            kind: None,
            work_id: None,
            is_passing: false,
            door: "test",
            vouched: Vouched::Claimed,
            idempotency: None,
            open_key: None,
            post: None,
            json: JsonFacts::default(),
            now: at(1),
        }
    }

    /// An exclusive request for an hour.
    pub fn request(&self, agent: usize, pattern: &str) -> Request {
        Request {
            project: self.project,
            agent: self.agents[agent],
            agent_name: format!("agent-{agent}"),
            patterns: vec![Pattern::parse(pattern).unwrap()],
            exclusive: true,
            reason: String::new(),
            ttl_seconds: 3600,
            wait_until: None,
            ticket: None,
        }
    }
}

/// Sends a message that has to be new.
pub async fn send(store: &Engine, message: &NewMessage) -> (MessageId, Timestamp) {
    match store.append(message).await.unwrap() {
        Appended::New { id, created_at } => (id, created_at),
        other => panic!("{other:?}"),
    }
}
