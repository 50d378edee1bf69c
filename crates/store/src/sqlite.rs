//! The SQLite engine: one file, one writer that commits in groups, and a few readers.
//!
//! Here is what is SQLite's own; nouns stand beside this file. A write is answered only after its transaction is on disk;
//! a read runs where it is called, on a connection that cannot write. Other processes may use the same file at the same
//! time, so nothing that a transaction needs is remembered from the one before (but for the reservations, which carry a
//! version).

mod connection;
mod migrations;
pub(crate) mod moving;
mod readers;
mod search;
mod tx;
pub mod upkeep;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mail::Stored;
use mail::events::{Changes, Concerned};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::Engine;
use crate::error::{Outcome, failure, refused};
use crate::job::{Answer, Work};
pub(crate) use connection::make_file;
pub(crate) use migrations::SCHEMA;
use readers::Readers;
pub(crate) use readers::Slot;
pub(crate) use search::{FINDABLE, find};
pub(crate) use tx::{SqliteTx, now, tx_over};
use writer::Writer;

/// How many writes may wait; one more is refused.
const QUEUE: usize = 4096;
/// How many searches run at once. Few, because one may read the whole index.
const SEARCHERS: usize = 2;

/// How often the file is asked whether anybody committed, while somebody waits: soon enough for whoever waits, and too
/// seldom to be seen among what a machine does.
const ASKED_EVERY: Duration = Duration::from_millis(100);

/// How an open store may behave.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long a search may take.
    pub search_deadline: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { search_deadline: Duration::from_secs(2) }
    }
}

/// Mail in an SQLite file.
pub struct Sqlite {
    writer: Option<Writer>,
    pub(crate) readers: Readers,
    /// The connections for searches and other long reading, who may use them, and for how long.
    searchers: Arc<Readers>,
    turns: Arc<Semaphore>,
    search_deadline: Duration,
    /// A connection that only watches for commits.
    watcher: Readers,
}

impl Sqlite {
    /// Opens the file, makes it (and its folder) if it is not there, and brings its schema up to date.
    pub fn open(path: &Path, options: &Options) -> Stored<Engine> {
        let path = absolute(path)?;
        let writer = || {
            connection::make_file(&path)?;
            let mut connection = connection::writing(&path)?;
            let tx = &mut tx_over(&mut connection);
            now(SCHEMA.migrate(tx))?;
            now(SCHEMA.check_finished(tx))?;
            Ok(Writer::start(connection, QUEUE)?)
        };
        let writer = writer().map_err(refused("open the database"))?;
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Ok(Self::over(path, Some(writer), cores.clamp(2, 8), options))
    }

    /// Opens a file that is there and up to date, to read it alone. Every write fails.
    pub fn open_read_only(path: &Path) -> Stored<Engine> {
        let path = absolute(path)?;
        let checked = || {
            let mut connection = connection::reading(&path)?;
            let tx = &mut tx_over(&mut connection);
            now(SCHEMA.check(tx))?;
            now(SCHEMA.check_finished(tx))
        };
        checked().map_err(refused("open the database for reading"))?;
        Ok(Self::over(path, None, 1, &Options::default()))
    }

    /// Finishes the writes that wait, and folds the write-ahead log into the file. Later writes fail.
    pub fn close(&self) {
        if let Some(writer) = &self.writer {
            writer.close();
        }
    }

    /// Waits until somebody has committed since `after`, but no longer than `at_most`.
    pub(crate) async fn changes(&self, after: Option<i64>, at_most: Duration) -> Stored<Changes> {
        let end = Instant::now() + at_most;
        loop {
            let stamp = self.data_version().await.map_err(refused("look for changes"))?;
            if after != Some(stamp) {
                return Ok(Changes { stamp, concerned: Concerned::Everybody });
            }
            if Instant::now() >= end {
                return Ok(Changes { stamp, concerned: Concerned::NOBODY });
            }
            tokio::time::sleep_until(end.min(Instant::now() + ASKED_EVERY)).await;
        }
    }

    async fn data_version(&self) -> Outcome<i64> {
        // SQLite counts, for each connection, the commits of all others; this one never commits.
        self.watcher.slot().await?.tx().only("PRAGMA data_version", &[]).await
    }

    fn over(path: PathBuf, writer: Option<Writer>, readers: usize, options: &Options) -> Engine {
        let store = Self {
            writer,
            readers: Readers::new(path.clone(), readers),
            watcher: Readers::new(path.clone(), 1),
            searchers: Arc::new(Readers::new(path, SEARCHERS)),
            turns: Arc::new(Semaphore::new(SEARCHERS)),
            search_deadline: options.search_deadline,
        };
        Engine::Sqlite(Arc::new(store))
    }

    /// Queues `work` for a transaction of its own or with others. It is done whether or not anybody waits for its answer.
    pub(crate) fn hand_in<T: Send + 'static>(&self, doing: &'static str, work: impl Work<T>) -> Stored<Answer<T>> {
        let writer = self.writer.as_ref();
        writer.ok_or_else(|| failure(doing, "the database was opened for reading only"))?.hand_in(doing, work)
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.close();
    }
}

/// Connections are opened later too, when the working directory may be another; and a name such as `file:x` would be
/// read as an address.
fn absolute(path: &Path) -> Stored<PathBuf> {
    std::path::absolute(path).map_err(|cause| failure("find the database", cause))
}

/// A database that ends with the test.
#[cfg(test)]
pub(crate) fn in_memory() -> rusqlite::Connection {
    let mut connection = rusqlite::Connection::open_in_memory().unwrap();
    now(SCHEMA.migrate(&mut tx_over(&mut connection))).unwrap();
    connection
}

/// Runs `work` on such a database.
#[cfg(test)]
pub(crate) fn reading<T>(connection: &mut rusqlite::Connection, work: impl FnOnce(&mut crate::tx::Tx<'_>) -> T) -> T {
    work(&mut tx_over(connection))
}

#[cfg(test)]
mod tests {
    use mail::StoreError;

    use super::*;

    #[test]
    fn an_open_store_can_be_shared_by_threads() {
        fn shared<T: Send + Sync + 'static>() {}
        shared::<Sqlite>();
    }

    #[tokio::test]
    async fn a_store_that_was_closed_refuses_writes_and_still_reads() {
        use mail::projects::ProjectStore;
        let folder = tempfile::tempdir().unwrap();
        let store = Sqlite::open(&folder.path().join("mail.db"), &Options::default()).unwrap();
        store.ensure_project("/a", jiff::Timestamp::UNIX_EPOCH).await.unwrap();
        store.close().await;
        store.close().await;
        let refused = store.ensure_project("/b", jiff::Timestamp::UNIX_EPOCH).await;
        assert!(matches!(refused, Err(StoreError::Failed { .. })), "{refused:?}");
        assert_eq!(store.projects(None, 10).await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_read_only_store_reads_and_refuses_writes() {
        use mail::projects::ProjectStore;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mail.db");
        assert!(Sqlite::open_read_only(&path).is_err());
        assert!(!path.exists());
        let store = Sqlite::open(&path, &Options::default()).unwrap();
        store.ensure_project("/a", jiff::Timestamp::UNIX_EPOCH).await.unwrap();
        let reader = Sqlite::open_read_only(&path).unwrap();
        assert_eq!(reader.projects(None, 10).await.unwrap().len(), 1);
        let refused = reader.ensure_project("/b", jiff::Timestamp::UNIX_EPOCH).await.unwrap_err();
        assert_eq!(refused.to_string(), "cannot make a project: the database was opened for reading only");
    }
}
