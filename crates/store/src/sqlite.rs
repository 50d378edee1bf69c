//! The SQLite engine: one file, one writer that commits in groups, and a few readers.
//!
//! Here is what is SQLite's own; nouns stand beside this file. A write is answered only after its transaction is on disk;
//! a read runs where it is called, on a connection that cannot write. Other processes may use the same file at the same
//! time, so nothing that a transaction needs is remembered from the one before (but for the lease books, which carry a
//! version).

mod changes;
mod connection;
mod migrations;
pub(crate) mod moving;
mod readers;
pub(crate) mod search;
mod tx;
pub mod upkeep;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use mail::StoreError;
use mail::messages::{Appended, NewMessage};

use crate::Engine;
use crate::error::{Outcome, SqlError, failure};
use crate::job::{Answer, Work, work};
use crate::messages::append::append;
pub(crate) use connection::make_file;
use readers::Readers;
pub(crate) use readers::Slot;
pub(crate) use tx::{SqliteTx, now};
use writer::Writer;

/// How many searches run at once. Few, because one may read the whole index.
const SEARCHERS: usize = 2;

/// How an open store may behave.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many connections read.
    pub readers: usize,
    /// How many writes may wait; one more is refused.
    pub queue: usize,
    /// How long a search may take.
    pub search_deadline: Duration,
}

impl Default for Options {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self { readers: cores.clamp(2, 8), queue: 4096, search_deadline: Duration::from_secs(2) }
    }
}

/// Mail in an SQLite file.
pub struct Sqlite {
    writer: Option<Writer>,
    readers: Readers,
    searchers: Searchers,
    /// A connection that only watches for commits.
    watcher: Readers,
}

/// The connections for searches and other long reading, and who may use them.
struct Searchers {
    connections: Arc<Readers>,
    turns: Arc<tokio::sync::Semaphore>,
    deadline: Duration,
}

impl Sqlite {
    /// Opens the file, makes it (and its folder) if it is not there, and brings its schema up to date.
    pub fn open(path: &Path, options: &Options) -> Result<Engine, StoreError> {
        let doing = "open the database";
        let path = absolute(path)?;
        connection::make_file(&path).map_err(|cause| failure(doing, cause))?;
        let mut connection = connection::writing(&path).map_err(failed(doing))?;
        migrations::migrate(&mut connection, migrations::ALL).map_err(|cause| failure(doing, cause))?;
        migrations::check_finished(&connection).map_err(|cause| failure(doing, cause))?;
        let writer = Writer::start(connection, options.queue).map_err(|cause| failure(doing, cause))?;
        Ok(Self::over(path, Some(writer), options))
    }

    /// Opens a file that is there and up to date, to read it alone. Every write fails.
    pub fn open_read_only(path: &Path) -> Result<Engine, StoreError> {
        let doing = "open the database for reading";
        let path = absolute(path)?;
        let connection = connection::reading(&path).map_err(failed(doing))?;
        migrations::check(&connection, migrations::ALL).map_err(|cause| failure(doing, cause))?;
        migrations::check_finished(&connection).map_err(|cause| failure(doing, cause))?;
        Ok(Self::over(path, None, &Options { readers: 1, ..Options::default() }))
    }

    /// Finishes the writes that wait, and folds the write-ahead log into the file. Later writes fail.
    pub fn close(&self) {
        if let Some(writer) = &self.writer {
            writer.close();
        }
    }

    fn over(path: PathBuf, writer: Option<Writer>, options: &Options) -> Engine {
        let store = Self {
            writer,
            readers: Readers::new(path.clone(), options.readers),
            watcher: Readers::new(path.clone(), 1),
            searchers: Searchers {
                connections: Arc::new(Readers::new(path, SEARCHERS)),
                turns: Arc::new(tokio::sync::Semaphore::new(SEARCHERS)),
                deadline: options.search_deadline,
            },
        };
        Engine::Sqlite(Arc::new(store))
    }

    /// Runs `work` in a transaction of its own or with others, and returns when it is on disk.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl Work<T>,
    ) -> Result<T, StoreError> {
        self.writer(doing)?.submit(doing, work).await
    }

    /// Queues `work`, which is done whether or not anybody waits for its answer.
    pub(crate) fn hand_in<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl Work<T>,
    ) -> Result<Answer<T>, StoreError> {
        self.writer(doing)?.hand_in(doing, work)
    }

    /// Keeps a message, and returns when it is on disk.
    pub(crate) async fn append(&self, message: NewMessage) -> Result<Appended, StoreError> {
        let keeping = work(move |tx| async move { Ok(append(tx, &[&message]).await?.remove(0)) }.boxed());
        self.write("append a message", keeping).await
    }

    /// A connection that cannot write.
    pub(crate) async fn reader(&self) -> Outcome<Slot<'_>> {
        Ok(self.readers.slot().await?)
    }

    /// Runs `work`, which may read much, on a thread that may block, and gives up at the deadline.
    pub(crate) async fn read_long<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl Work<T>,
    ) -> Result<T, StoreError> {
        self.searchers.run(doing, work).await
    }

    fn writer(&self, doing: &'static str) -> Result<&Writer, StoreError> {
        self.writer.as_ref().ok_or_else(|| failure(doing, "the database was opened for reading only"))
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.close();
    }
}

/// Connections are opened later too, when the working directory may be another; and a name such as `file:x` would be
/// read as an address.
fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    std::path::absolute(path).map_err(|cause| failure("find the database", cause))
}

/// Turns an error of SQLite into the store's.
fn failed(doing: &'static str) -> impl Fn(rusqlite::Error) -> StoreError {
    move |error| SqlError::from(error).told(doing)
}

/// A database that ends with the test.
#[cfg(test)]
pub(crate) fn in_memory() -> rusqlite::Connection {
    let mut connection = rusqlite::Connection::open_in_memory().unwrap();
    migrations::migrate(&mut connection, migrations::ALL).unwrap();
    connection
}

/// Runs `work` on such a database.
#[cfg(test)]
pub(crate) fn reading<T>(connection: &mut rusqlite::Connection, work: impl FnOnce(&mut crate::tx::Tx<'_>) -> T) -> T {
    work(&mut crate::tx::Tx::Sqlite(SqliteTx::reading(connection)))
}

#[cfg(test)]
mod tests {
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
