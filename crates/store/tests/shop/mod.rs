//! A post office over a store of its own, with two agents that have no tokens, and a clock that stands still.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use mail::clock::ManualClock;
use mail::ids::{AgentId, ProjectId};
use mail::messages::Importance;
use mail::office::{Chance, Claim, Draft, Registration, Rules};
use mail::wake::{Signal, Wake};
use mail::{Office, Store};
use store::Engine;

use crate::team::{Team, at, open, team};

/// The project that the agents work in.
pub const PROJECT: &str = "/projects/shop";

/// The office and what it works with.
pub struct Shop {
    folder: tempfile::TempDir,
    pub store: Arc<Engine>,
    pub office: Arc<Office>,
    pub clock: Arc<ManualClock>,
    pub heard: Arc<Heard>,
    pub team: Team,
}

impl Shop {
    pub fn path(&self) -> impl AsRef<Path> {
        self.folder.path().join("mail.db")
    }
}

/// An office with these rules.
pub async fn shop(rules: Rules) -> Shop {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("mail.db"));
    let team = team(&store, 2).await;
    let clock = Arc::new(ManualClock::at(at(0)));
    let heard = Arc::new(Heard::default());
    let office = Office::new(store.clone(), clock.clone(), heard.clone(), Arc::new(Counting::default()), rules);
    Shop { folder, store, office: Arc::new(office), clock, heard, team }
}

/// An office over a store that has its mail already.
pub fn office_over(store: Arc<dyn Store>, clock: Arc<ManualClock>) -> Office {
    Office::new(store, clock, Arc::new(Heard::default()), Arc::new(Counting::default()), Rules::default())
}

/// Who introduces itself.
pub fn named<'a>(name: Option<&'a str>, token: Option<&'a str>) -> Registration<'a> {
    Registration { project_key: PROJECT, name, token, ..Registration::default() }
}

/// A plain message to the second agent.
pub fn draft<'a>(from: &'a str, token: Option<&'a str>) -> Draft<'a> {
    Draft {
        project_key: PROJECT,
        from: Claim { token, ..Claim::of(from) },
        to: vec!["agent-1".to_owned()],
        cc: vec![],
        bcc: vec![],
        subject: "Hello",
        body: "Hi",
        thread: None,
        importance: Importance::Normal,
        ack_required: None,
        idempotency_key: None,
        open_key: None,
        strict: false,
        door: "test",
    }
}

/// Tokens that differ, and always the same seed, so that all generate the same names.
#[derive(Default)]
struct Counting(AtomicU64);

impl Chance for Counting {
    fn token(&self) -> String {
        format!("token {}", self.0.fetch_add(1, Ordering::Relaxed))
    }

    fn seed(&self) -> u64 {
        7
    }
}

/// Notes whom it was to wake; nobody waits here.
#[derive(Default)]
pub struct Heard {
    pub mail: Mutex<Vec<AgentId>>,
    pub reservations: AtomicU64,
    pub boards: AtomicU64,
}

impl Wake for Heard {
    fn mail_for(&self, agents: &[AgentId]) {
        self.mail.lock().unwrap().extend(agents);
    }

    fn reservations_changed(&self, _: ProjectId) {
        self.reservations.fetch_add(1, Ordering::Relaxed);
    }

    fn mailbox(&self, _: AgentId) -> Box<dyn Signal> {
        Box::new(AtOnce)
    }

    fn work_changed(&self, _: ProjectId) {
        self.boards.fetch_add(1, Ordering::Relaxed);
    }

    fn work(&self, _: ProjectId) -> Box<dyn Signal> {
        Box::new(AtOnce)
    }

    fn closing(&self) -> bool {
        true
    }

    fn reservations(&self, _: ProjectId) -> Box<dyn Signal> {
        Box::new(AtOnce)
    }
}

struct AtOnce;

#[async_trait]
impl Signal for AtOnce {
    async fn wait(&mut self, _: Duration) {}
}
