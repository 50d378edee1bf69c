//! The PostgreSQL engine: one database, any number of servers over it.
//!
//! Each noun's file holds its SQL and serves its port, with the same answers as the SQLite engine. Nothing is remembered
//! between transactions but what never changes, and the lease books, which carry a version: another server may have
//! written meanwhile. Whoever writes in a project holds the lock of the project's row, so that within a project everything
//! happens one after the other, in the order of its event log. A database that goes away is told as such, and is found
//! again without a restart.

pub(crate) mod address;
mod agents;
mod bell;
mod channels;
mod desk;
mod events;
mod in_use;
mod mailboxes;
mod messages;
mod migrations;
pub(crate) mod moving;
mod news;
mod overview;
mod pace;
mod presence;
mod projects;
mod pulse;
mod reservations;
mod rows;
mod search;
mod threads;
mod transfer;
pub mod upkeep;
mod watches;
mod work;
mod writer;

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use deadpool_postgres::{Object, Pool};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mail::StoreError;
use mail::clock::Clock;
use mail::ids::{AgentId, ProjectId};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use address::Address;
use bell::Bell;
use desk::Desk;
use pulse::Pulse;
pub(crate) use rows::Trouble;
use rows::{Outcome, refused};
use writer::Writers;

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
    pulse: Pulse,
    readers: Pool,
    /// For searches and other long reading.
    searchers: Pool,
    options: PostgresOptions,
    writers: Writers,
    bell: Bell,
    /// Whose project an agent belongs to never changes.
    homes: Mutex<HashMap<AgentId, ProjectId>>,
    /// How often servers were asked to keep pace.
    paced: AtomicU32,
}

const OPENING: &str = "open the database";
/// How long the bell is waited for, at the beginning and at the end.
const LONGEST_TELLING: Duration = Duration::from_secs(1);
const LONGEST_BEGINNING: Duration = Duration::from_secs(2);
/// How many searches run at once. Few, because one may read much of an index.
const SEARCHERS: usize = 2;
/// How many agents' projects are remembered.
const MOST_HOMES: usize = 100_000;

impl Postgres {
    /// Connects to the database of that address and brings its schema up to date.
    pub async fn open(url: &str, options: &PostgresOptions) -> Result<Self, StoreError> {
        let (address, readers) = reach(url, options)?;
        let ready = async {
            migrations::migrate(&*taken(&readers).await?, migrations::ALL).await?;
            Self::begin(address, readers.clone(), options).await
        };
        ready.await.map_err(refused(OPENING))
    }

    /// Connects to a database that is up to date, and makes nothing there.
    pub async fn open_as_it_is(url: &str, options: &PostgresOptions) -> Result<Self, StoreError> {
        let (address, readers) = reach(url, options)?;
        let ready = async {
            migrations::check_newest(&*taken(&readers).await?, migrations::ALL).await?;
            Self::begin(address, readers.clone(), options).await
        };
        ready.await.map_err(refused(OPENING))
    }

    async fn begin(address: Address, readers: Pool, options: &PostgresOptions) -> Outcome<Self> {
        migrations::check_finished(&*taken(&readers).await?).await?;
        let searchers = address.pool_for_searches(SEARCHERS, options.search_deadline);
        let writing = address.pool(options.writers, options.statement_deadline);
        // Whoever can only read finds that out at once, and not at the first send.
        drop(taken(&writing).await?);
        let pulse = Pulse::begin(&address, vec![readers.clone(), searchers.clone(), writing.clone()]).await?;
        let bell = Bell::hang(address, pulse.felt());
        // Who cannot hear others looks for mail more slowly, which is no reason not to begin.
        let _ = tokio::time::timeout(LONGEST_BEGINNING, bell.news.begun()).await;
        let writers = Writers::start(writing, options, &bell, pulse.felt());
        Ok(Self {
            pulse,
            readers,
            searchers,
            options: options.clone(),
            writers,
            bell,
            homes: Mutex::default(),
            paced: AtomicU32::new(0),
        })
    }

    /// Finishes the writes that wait, and tells other servers of them. Later writes fail.
    pub async fn close(&self) {
        self.writers.close().await;
        // Those who miss it look by themselves.
        let _ = tokio::time::timeout(LONGEST_TELLING, self.bell.news.all_told()).await;
    }

    /// The database's clock, by which all servers over it agree on the time.
    pub fn clock(&self) -> Arc<dyn Clock> {
        self.pulse.clock()
    }

    /// What `reading` comes to. It is not waited for when the database goes away.
    async fn answered<T>(
        &self,
        doing: &'static str,
        reading: impl Future<Output = Outcome<T>>,
    ) -> Result<T, StoreError> {
        self.pulse.unless_away(reading).await.map_err(refused(doing))
    }

    /// Runs `work` in a transaction that holds the lock of `project`, on its own or with others, and returns when it is
    /// on disk.
    async fn write<T: Send + 'static>(
        &self,
        doing: &'static str,
        project: ProjectId,
        work: impl for<'a> FnOnce(&'a mut Desk) -> BoxFuture<'a, Outcome<T>> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.writers.submit(doing, project, work).await
    }

    /// As [`Self::write`], in the project that an agent belongs to.
    async fn write_for<T: Send + 'static>(
        &self,
        doing: &'static str,
        agent: AgentId,
        work: impl for<'a> FnOnce(&'a mut Desk) -> BoxFuture<'a, Outcome<T>> + Send + 'static,
    ) -> Result<T, StoreError> {
        let project = self.home(doing, agent).await?;
        self.write(doing, project, work).await
    }

    /// What is read of the rows of a statement that only reads.
    async fn read_as<T>(
        &self,
        doing: &'static str,
        sql: &str,
        values: Values<'_>,
        read: impl Fn(&Row) -> Outcome<T>,
    ) -> Result<Vec<T>, StoreError> {
        let found = async {
            let client = taken(&self.readers).await?;
            rows::rows(&client, sql, values).await?.iter().map(read).collect::<Outcome<Vec<T>>>()
        };
        self.answered(doing, found.map(rows::nothing_has_nul)).await
    }

    /// A page of what a statement finds.
    async fn read_page<T>(
        &self,
        doing: &'static str,
        sql: &str,
        values: Values<'_>,
        read: impl Fn(&Row) -> Outcome<T>,
        bytes: impl Fn(&T) -> usize,
    ) -> Result<Vec<T>, StoreError> {
        let page = async { rows::page(&taken(&self.readers).await?, sql, values, read, bytes).await };
        self.answered(doing, page.map(rows::nothing_has_nul)).await
    }

    /// The project of an agent; of one that is not there, a project that is not there either.
    async fn home(&self, doing: &'static str, agent: AgentId) -> Result<ProjectId, StoreError> {
        let known = self.homes.lock().unwrap_or_else(PoisonError::into_inner).get(&agent).copied();
        if let Some(project) = known {
            return Ok(project);
        }
        let sql = "SELECT project_id FROM agent WHERE id = $1";
        let found = self.read_as(doing, sql, &[&agent.0], |row| Ok(ProjectId(row.try_get(0)?))).await?;
        let Some(project) = found.first().copied() else { return Ok(ProjectId(0)) };
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
    pool.get().await.map_err(Trouble::from)
}

/// A connection that is in the middle of something. It is closed, not used by others, unless it is given back.
struct Held(Option<Object>);

impl Held {
    fn of(client: Object) -> Self {
        Self(Some(client))
    }

    /// Says that nothing is under way any more; the connection goes back to its pool.
    fn give_back(&mut self) {
        self.0 = None;
    }
}

impl Deref for Held {
    type Target = Object;

    fn deref(&self) -> &Object {
        self.0.as_ref().expect("nobody uses what was given back")
    }
}

impl DerefMut for Held {
    fn deref_mut(&mut self) -> &mut Object {
        self.0.as_mut().expect("nobody uses what was given back")
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.take().map(Object::take);
    }
}
