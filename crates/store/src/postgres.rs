//! The PostgreSQL engine: one database, any number of servers over it.
//!
//! Here is what is PostgreSQL's own: connections, writers, and how servers hear of each other. Nothing is remembered
//! between transactions but what never changes, and the reservations, which carry a version: another server may have
//! written meanwhile. Whoever writes in a project holds the lock of the project's row, so that within a project everything
//! happens one after the other, in the order of its event log. A database that goes away is told as such, and is found
//! again without a restart.

pub(crate) mod address;
pub(crate) mod errors;
mod health;
mod listener;
mod migrations;
pub(crate) mod moving;
mod notices;
mod rate_limit;
mod search;
mod statements;
mod tx;
pub mod upkeep;
mod writer;

use std::collections::HashMap;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use deadpool_postgres::{Object, Pool};
use mail::ids::{AgentId, ProjectId};
use mail::{StoreError, Stored};
use tokio::task::JoinSet;

use crate::Engine;
use crate::error::{Outcome, SqlError, refused};
use crate::job::Work;
use crate::tx::Tx;
use address::Address;
use health::Health;
pub(crate) use migrations::SCHEMA;
use notices::Notices;
use tx::{ALONE, Held};
pub(crate) use tx::{MAKING, PostgresTx};
use writer::{Writers, longest_step};

/// How an open store may behave.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// How many connections write; each commits in groups.
    pub writers: usize,
    /// How many writes may wait for each of them; one more is refused.
    pub queue: usize,
    /// How long a statement may take.
    pub statement_deadline: Duration,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self { writers: 2, queue: 4096, statement_deadline: Duration::from_secs(10) }
    }
}

/// Mail in a PostgreSQL database.
pub struct Postgres {
    pub(crate) health: Health,
    readers: Pool,
    /// For searches and other long reading.
    searchers: Pool,
    options: PostgresOptions,
    pub(crate) writers: Writers,
    notices: Arc<Notices>,
    /// What asks and listens, for as long as the store is open.
    _tasks: JoinSet<()>,
    /// Whose project an agent belongs to never changes.
    homes: Mutex<HashMap<AgentId, ProjectId>>,
    /// How often servers were asked to keep pace.
    paced: AtomicU32,
}

const OPENING: &str = "open the database";
/// How long the listener is waited for, at the beginning and at the end.
const LONGEST_TELLING: Duration = Duration::from_secs(1);
const LONGEST_BEGINNING: Duration = Duration::from_secs(2);
/// How many connections read.
const READERS: usize = 8;
/// How long a search may take.
const SEARCH_DEADLINE: Duration = Duration::from_secs(2);
/// How many searches run at once. Few, because one may read much of an index.
const SEARCHERS: usize = 2;
/// How many agents' projects are remembered.
const MOST_HOMES: usize = 100_000;

impl Postgres {
    /// Connects to the database of that address and brings its schema up to date.
    pub async fn open(url: &str, options: &PostgresOptions) -> Stored<Engine> {
        Self::begin(url, options, async |tx| SCHEMA.migrate(tx).await).await.map_err(refused(OPENING))
    }

    /// Connects to a database that is up to date, and makes nothing there.
    pub async fn open_as_it_is(url: &str, options: &PostgresOptions) -> Stored<Engine> {
        Self::begin(url, options, async |tx| SCHEMA.check(tx).await).await.map_err(refused(OPENING))
    }

    async fn begin(
        url: &str,
        options: &PostgresOptions,
        prepare: impl AsyncFnOnce(&mut Tx<'_>) -> Outcome<()>,
    ) -> Outcome<Engine> {
        let address = Address::parse(url)?;
        let readers = address.pool(READERS, options.statement_deadline);
        let mut first = PostgresTx::reading(taken(&readers).await?);
        prepare(&mut first.tx()).await?;
        SCHEMA.check_finished(&mut first.tx()).await?;
        drop(first);
        let searchers = address.pool_for_searches(SEARCHERS, SEARCH_DEADLINE);
        let writing = address.pool(options.writers, options.statement_deadline);
        // Whoever can only read finds that out at once, and not at the first send.
        drop(taken(&writing).await?);
        let mut tasks = JoinSet::new();
        let pools = vec![readers.clone(), searchers.clone(), writing.clone()];
        let health = Health::begin(&address, pools, &mut tasks).await?;
        let notices = listener::listen(address, health.clone(), &mut tasks);
        // Who cannot hear others looks for mail more slowly, which is no reason not to begin.
        let _ = tokio::time::timeout(LONGEST_BEGINNING, notices.begun()).await;
        let writers = Writers::start(writing, options, &notices, health.clone());
        Ok(Engine::Postgres(Arc::new(Self {
            health,
            readers,
            searchers,
            options: options.clone(),
            writers,
            notices,
            _tasks: tasks,
            homes: Mutex::default(),
            paced: AtomicU32::new(0),
        })))
    }

    /// Finishes the writes that wait, and tells other servers of them. Later writes fail.
    pub async fn close(&self) {
        self.writers.close().await;
        // Those who miss it look by themselves.
        let _ = tokio::time::timeout(LONGEST_TELLING, self.notices.all_told()).await;
    }

    /// A connection that reads.
    pub(crate) async fn reader(&self) -> Outcome<Box<PostgresTx>> {
        Ok(Box::new(PostgresTx::reading(taken(&self.readers).await?)))
    }

    /// Runs `work` in a transaction of its own, while nobody else writes.
    pub(crate) async fn write_alone<T>(&self, doing: &'static str, work: impl Work<T>) -> Stored<T> {
        let written = async {
            let mut tx = PostgresTx::begin(Held::of(taken(&self.readers).await?), &[], 0).await?;
            let written = async {
                tx.command(ALONE).await?;
                let done = work(&mut tx.tx()).await?;
                tx.write_gathered().await?;
                Ok(done)
            };
            match written.await {
                Ok(done) => Ok((done, tx)),
                Err(error) => {
                    tx.client.roll_back().await;
                    Err(error)
                }
            }
        };
        let (done, mut tx) = self.health.unless_away(written).await.map_err(refused(doing))?;
        let committed = tx.commit_within(longest_step(self.options.statement_deadline), &self.health).await;
        committed.map_err(|lost| lost.told(doing))?;
        Ok(done)
    }

    /// A standby reads and does not write.
    pub(crate) async fn check_writable(&self) -> Stored<()> {
        let doing = "write to the store";
        let sql = "SELECT pg_is_in_recovery()";
        let is_standby = self.health.unless_away(async { self.reader().await?.tx().row(sql, &[]).await });
        match is_standby.await.map_err(refused(doing))? {
            Some(true) => Err(StoreError::Away { doing, cause: "the server is a standby that only reads".to_owned() }),
            _ => Ok(()),
        }
    }

    /// The project of an agent, if it was asked for before.
    pub(crate) fn known_home(&self, agent: AgentId) -> Option<ProjectId> {
        self.homes.lock().unwrap_or_else(PoisonError::into_inner).get(&agent).copied()
    }

    pub(crate) fn remember_home(&self, agent: AgentId, project: ProjectId) {
        let mut homes = self.homes.lock().unwrap_or_else(PoisonError::into_inner);
        if homes.len() >= MOST_HOMES {
            homes.clear();
        }
        homes.insert(agent, project);
    }
}

async fn taken(pool: &Pool) -> Outcome<Object> {
    pool.get().await.map_err(SqlError::from)
}
