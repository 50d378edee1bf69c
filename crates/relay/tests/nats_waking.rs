//! Servers of one office wake each other over a real NATS server, and again once it was away.
//!
//! What else tells a server of another's commits, the store itself, is left out here: nothing but NATS wakes. Without
//! `nats-server` the tests say loudly that they did not run; on a build machine they fail.

#![cfg(feature = "nats")]

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mail::clock::SystemClock;
use mail::ids::{AgentId, ProjectId};
use mail::office::{Chance, Rules};
use mail::wake::{Signal, Wake};
use mail::{Office, Store};
use relay::nats::{self, Settings};
use relay::wake::WakeUps;
use store::{Options, Sqlite};
use testing::DEADLINE;
use testing::nats::Nats;
use tokio::task::JoinHandle;

const MARK: AgentId = AgentId(1);

/// Nothing here is left to chance.
struct NoChance;

impl Chance for NoChance {
    fn token(&self) -> String {
        "token".to_owned()
    }

    fn seed(&self) -> u64 {
        0
    }
}

/// A server of the office: its wake-ups, and what it says on NATS, for as long as it lives.
struct Server {
    wake_ups: Arc<WakeUps>,
    running: JoinHandle<()>,
}

impl Server {
    fn start(store: &Arc<dyn Store>, nats: &Nats) -> Self {
        let url = format!("nats://127.0.0.1:{}", nats.port);
        let settings = Settings::new(&url, None, None, None, HashSet::new()).unwrap();
        let wake_ups = Arc::new(WakeUps::new());
        let office =
            Office::new(store.clone(), Arc::new(SystemClock), wake_ups.clone(), Arc::new(NoChance), Rules::default());
        let running = tokio::spawn(nats::run(settings, store.clone(), Arc::new(office), wake_ups.clone()));
        Self { wake_ups, running }
    }

    /// Rings here until it is heard there: a word is lost while either has no connection.
    async fn until_heard_by(&self, other: &Self) {
        let mut signal = other.wake_ups.mailbox(MARK);
        let start = Instant::now();
        while !is_woken(&mut signal, Duration::from_millis(100)).await {
            assert!(start.elapsed() < DEADLINE, "no wake-up is heard by the other server");
            self.wake_ups.mail_for(&[MARK]);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.running.abort();
    }
}

/// Two servers of one office.
struct Town {
    here: Server,
    there: Server,
    _home: tempfile::TempDir,
}

impl Town {
    fn over(nats: &Nats) -> Self {
        let home = tempfile::tempdir().unwrap();
        let store: Arc<dyn Store> = Arc::new(Sqlite::open(&home.path().join("mail.db"), &Options::default()).unwrap());
        Self { here: Server::start(&store, nats), there: Server::start(&store, nats), _home: home }
    }
}

/// Whether it is woken within that time.
async fn is_woken(signal: &mut Box<dyn Signal>, at_most: Duration) -> bool {
    // The signal itself would wait for longer, so that it ends first only if it is woken.
    tokio::time::timeout(at_most, signal.wait(2 * DEADLINE)).await.is_ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wake_up_at_one_server_wakes_those_whom_it_concerns_at_the_other() {
    let Some(nats) = Nats::start("wake-ups over NATS") else { return };
    let town = Town::over(&nats);
    let (here, there) = (&town.here, &town.there);
    here.until_heard_by(there).await;
    there.until_heard_by(here).await;
    let (mut bob, mut carol) = (there.wake_ups.mailbox(AgentId(2)), there.wake_ups.mailbox(AgentId(3)));
    let (mut shop, mut bank) = (there.wake_ups.reservations(ProjectId(1)), there.wake_ups.reservations(ProjectId(2)));
    here.wake_ups.mail_for(&[AgentId(2)]);
    assert!(is_woken(&mut bob, DEADLINE).await);
    here.wake_ups.reservations_changed(ProjectId(1));
    assert!(is_woken(&mut shop, DEADLINE).await);
    // Words come in order: what was not woken until now is not woken by them.
    assert!(!is_woken(&mut carol, Duration::ZERO).await && !is_woken(&mut bank, Duration::ZERO).await);
    let mut dave = here.wake_ups.mailbox(AgentId(4));
    there.wake_ups.mail_for(&[AgentId(4)]);
    assert!(is_woken(&mut dave, DEADLINE).await, "the other way round");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_wake_each_other_again_once_nats_is_back() {
    let Some(mut nats) = Nats::start("wake-ups over NATS that was away") else { return };
    let town = Town::over(&nats);
    town.here.until_heard_by(&town.there).await;
    nats.kill();
    let mut bob = town.there.wake_ups.mailbox(AgentId(2));
    town.here.wake_ups.mail_for(&[AgentId(2)]);
    assert!(!is_woken(&mut bob, Duration::ZERO).await, "nothing but NATS wakes");
    nats.run();
    town.here.until_heard_by(&town.there).await;
    town.there.until_heard_by(&town.here).await;
}
