//! The PostgreSQL engine: one database, any number of servers over it.
//!
//! Here is what is PostgreSQL's own: connections, writers, and how servers hear of each other. Nothing is remembered
//! between transactions but what never changes, and the lease books, which carry a version: another server may have
//! written meanwhile. Whoever writes in a project holds the lock of the project's row, so that within a project everything
//! happens one after the other, in the order of its event log. A database that goes away is told as such, and is found
//! again without a restart.

pub(crate) mod address;
pub(crate) mod errors;
mod health;
mod held;
mod in_use;
mod listener;
mod migrations;
pub(crate) mod moving;
mod notices;
mod rate_limit;
pub(crate) mod search;
mod statements;
mod tx;
pub mod upkeep;
mod writer;

use std::collections::HashMap;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use deadpool_postgres::{Object, Pool};
use mail::StoreError;
use mail::clock::Clock;
use mail::ids::{AgentId, ProjectId};
use mail::messages::{Appended, NewMessage};
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, ToSql};

use crate::Engine;
use crate::error::{Outcome, SqlError, refused};
use crate::job::{Answer, Work, closed};
use crate::row::values;
use address::Address;
use health::HealthCheck;
use held::Held;
use listener::Listener;
use tx::ALONE;
pub(crate) use tx::PostgresTx;
use writer::{Writers, longest_step};

/// What a statement is given.
type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// How an open store may behave.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// How many connections read.
    pub readers: usize,
    /// How many connections write; each commits in groups.
    pub writers: usize,
    /// How many writes may wait for each of them; one more is refused.
    pub queue: usize,
    /// How long a statement may take.
    pub statement_deadline: Duration,
    /// How long a search may take.
    pub search_deadline: Duration,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            readers: 8,
            writers: 2,
            queue: 4096,
            statement_deadline: Duration::from_secs(10),
            search_deadline: Duration::from_secs(2),
        }
    }
}

/// Mail in a PostgreSQL database.
pub struct Postgres {
    health: HealthCheck,
    readers: Pool,
    /// For searches and other long reading.
    searchers: Pool,
    options: PostgresOptions,
    writers: Writers,
    listener: Listener,
    /// Whose project an agent belongs to never changes.
    homes: Mutex<HashMap<AgentId, ProjectId>>,
    /// How often servers were asked to keep pace.
    paced: AtomicU32,
}

const OPENING: &str = "open the database";
/// How long the listener is waited for, at the beginning and at the end.
const LONGEST_TELLING: Duration = Duration::from_secs(1);
const LONGEST_BEGINNING: Duration = Duration::from_secs(2);
/// How many searches run at once. Few, because one may read much of an index.
const SEARCHERS: usize = 2;
/// How many agents' projects are remembered.
const MOST_HOMES: usize = 100_000;

impl Postgres {
    /// Connects to the database of that address and brings its schema up to date.
    pub async fn open(url: &str, options: &PostgresOptions) -> Result<Engine, StoreError> {
        let (address, readers) = reach(url, options)?;
        let ready = async {
            migrations::migrate(&*taken(&readers).await?, migrations::ALL).await?;
            Self::begin(address, readers.clone(), options).await
        };
        ready.await.map_err(refused(OPENING))
    }

    /// Connects to a database that is up to date, and makes nothing there.
    pub async fn open_as_it_is(url: &str, options: &PostgresOptions) -> Result<Engine, StoreError> {
        let (address, readers) = reach(url, options)?;
        let ready = async {
            migrations::check_newest(&*taken(&readers).await?, migrations::ALL).await?;
            Self::begin(address, readers.clone(), options).await
        };
        ready.await.map_err(refused(OPENING))
    }

    async fn begin(address: Address, readers: Pool, options: &PostgresOptions) -> Outcome<Engine> {
        migrations::check_finished(&*taken(&readers).await?).await?;
        let searchers = address.pool_for_searches(SEARCHERS, options.search_deadline);
        let writing = address.pool(options.writers, options.statement_deadline);
        // Whoever can only read finds that out at once, and not at the first send.
        drop(taken(&writing).await?);
        let health = HealthCheck::begin(&address, vec![readers.clone(), searchers.clone(), writing.clone()]).await?;
        let listener = Listener::start(address, health.known());
        // Who cannot hear others looks for mail more slowly, which is no reason not to begin.
        let _ = tokio::time::timeout(LONGEST_BEGINNING, listener.notices.begun()).await;
        let writers = Writers::start(writing, options, &listener, health.known());
        Ok(Engine::Postgres(Arc::new(Self {
            health,
            readers,
            searchers,
            options: options.clone(),
            writers,
            listener,
            homes: Mutex::default(),
            paced: AtomicU32::new(0),
        })))
    }

    /// Finishes the writes that wait, and tells other servers of them. Later writes fail.
    pub async fn close(&self) {
        self.writers.close().await;
        // Those who miss it look by themselves.
        let _ = tokio::time::timeout(LONGEST_TELLING, self.listener.notices.all_told()).await;
    }

    /// The database's clock, by which all servers over it agree on the time.
    pub fn clock(&self) -> Arc<dyn Clock> {
        self.health.clock()
    }

    /// What `reading` comes to, unless the database is away, or goes away meanwhile.
    pub(crate) async fn unless_away<T>(&self, reading: impl Future<Output = Outcome<T>>) -> Outcome<T> {
        self.health.unless_away(reading).await
    }

    /// A connection that reads.
    pub(crate) async fn reader(&self) -> Outcome<PostgresTx> {
        Ok(PostgresTx::reading(taken(&self.readers).await?))
    }

    /// Runs `work` in a transaction that holds the lock of `project`, on its own or with others, and returns when it is
    /// on disk.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        doing: &'static str,
        project: ProjectId,
        work: impl Work<T>,
    ) -> Result<T, StoreError> {
        self.hand_in(doing, project, work)?.await.unwrap_or_else(|_| Err(closed(doing)))
    }

    /// Queues `work`, which is done whether or not anybody waits for its answer.
    pub(crate) fn hand_in<T: Send + 'static>(
        &self,
        doing: &'static str,
        project: ProjectId,
        work: impl Work<T>,
    ) -> Result<Answer<T>, StoreError> {
        self.writers.hand_in(doing, project, work)
    }

    /// Runs `work` in a transaction of its own, while nobody else writes.
    pub(crate) async fn write_alone<T>(&self, doing: &'static str, work: impl Work<T>) -> Result<T, StoreError> {
        let written = async {
            let mut tx = PostgresTx::begin(Held::of(taken(&self.readers).await?), &[], 0).await?;
            let written = async {
                tx.client.batch_execute(ALONE).await?;
                let done = work(&mut tx.tx()).await?;
                tx.write_gathered().await?;
                Ok(done)
            };
            match written.await {
                Ok(done) => Ok((done, tx)),
                Err(error) => {
                    tx.roll_back().await;
                    Err(error)
                }
            }
        };
        let (done, mut tx) = self.unless_away(written).await.map_err(refused(doing))?;
        let committed = tx.commit_within(longest_step(self.options.statement_deadline), &self.health.known()).await;
        committed.map_err(|lost| lost.told(doing))?;
        Ok(done)
    }

    /// A standby reads and does not write.
    pub(crate) async fn check_writable(&self) -> Result<(), StoreError> {
        let doing = "write to the store";
        let sql = "SELECT pg_is_in_recovery()";
        let is_standby = self.unless_away(async { self.reader().await?.tx().one(sql, &[]).await });
        match is_standby.await.map_err(refused(doing))? {
            Some(true) => Err(StoreError::Away { doing, cause: "the server is a standby that only reads".to_owned() }),
            _ => Ok(()),
        }
    }

    /// Queues a message and waits until it is on disk.
    pub(crate) async fn append(&self, message: NewMessage) -> Result<Appended, StoreError> {
        self.writers.append(message).await
    }

    /// The project of an agent; of one that is not there, a project that is not there either.
    pub(crate) async fn home(&self, doing: &'static str, agent: AgentId) -> Result<ProjectId, StoreError> {
        let known = self.homes.lock().unwrap_or_else(PoisonError::into_inner).get(&agent).copied();
        if let Some(project) = known {
            return Ok(project);
        }
        let sql = "SELECT project_id FROM agent WHERE id = ?1";
        let found = self.unless_away(async { self.reader().await?.tx().one(sql, values![agent]).await });
        let Some(project) = found.await.map_err(refused(doing))? else { return Ok(ProjectId(0)) };
        let mut homes = self.homes.lock().unwrap_or_else(PoisonError::into_inner);
        if homes.len() >= MOST_HOMES {
            homes.clear();
        }
        homes.insert(agent, project);
        Ok(project)
    }
}

/// Where the database is, and connections for reading, of which none is made yet.
fn reach(url: &str, options: &PostgresOptions) -> Result<(Address, Pool), StoreError> {
    let address = Address::parse(url).map_err(|cause| StoreError::Failed { doing: OPENING, cause: cause.into() })?;
    let readers = address.pool(options.readers, options.statement_deadline);
    Ok((address, readers))
}

async fn taken(pool: &Pool) -> Outcome<Object> {
    pool.get().await.map_err(SqlError::from)
}

/// The rows of a statement, which is prepared once for each connection.
async fn rows(client: &Object, sql: &str, values: Values<'_>) -> Outcome<Vec<Row>> {
    let statement = client.prepare_cached(sql).await?;
    Ok(client.query(&statement, values).await?)
}

/// The only value of the only row, if there is one.
fn only<'r, T: FromSql<'r>>(rows: &'r [Row]) -> Outcome<Option<T>> {
    Ok(rows.first().map(|row| row.try_get(0)).transpose()?)
}
