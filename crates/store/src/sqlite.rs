//! The SQLite engine: one file, one writer that commits in groups, and a few readers.
//!
//! Each noun's file holds its SQL and serves its port. A write is answered only after its transaction is on disk; a
//! read runs where it is called, on a connection that cannot write. Other processes may use the same file at the same
//! time, so nothing that a transaction needs is remembered from the one before (but for the lease books, which carry a
//! version).

mod agents;
mod channels;
mod connection;
mod events;
mod mailboxes;
mod messages;
mod migrations;
pub(crate) mod moving;
mod overview;
mod presence;
mod projects;
mod readers;
mod reservations;
mod search;
mod threads;
mod transfer;
pub mod upkeep;
mod watches;
mod work;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mail::StoreError;
use rusqlite::Connection;

pub(crate) use connection::make_file;
use readers::Readers;
use writer::{Desk, Writer};

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
    pub fn open(path: &Path, options: &Options) -> Result<Self, StoreError> {
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
    pub fn open_read_only(path: &Path) -> Result<Self, StoreError> {
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

    fn over(path: PathBuf, writer: Option<Writer>, options: &Options) -> Self {
        Self {
            writer,
            readers: Readers::new(path.clone(), options.readers),
            watcher: Readers::new(path.clone(), 1),
            searchers: Searchers {
                connections: Arc::new(Readers::new(path, SEARCHERS)),
                turns: Arc::new(tokio::sync::Semaphore::new(SEARCHERS)),
                deadline: options.search_deadline,
            },
        }
    }

    /// Runs `work` in a transaction of its own or with others, and returns when it is on disk.
    async fn write<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&mut Desk<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        match &self.writer {
            Some(writer) => writer.submit(doing, work).await,
            None => Err(failure(doing, "the database was opened for reading only")),
        }
    }

    /// Has `work` done with what is written next, and waits for nothing.
    fn write_soon(
        &self,
        doing: &'static str,
        work: impl FnOnce(&mut Desk<'_>) -> rusqlite::Result<()> + Send + 'static,
    ) -> Result<(), StoreError> {
        match &self.writer {
            Some(writer) => writer.hand_in(doing, work).map(drop),
            None => Err(failure(doing, "the database was opened for reading only")),
        }
    }

    /// Runs `work` here and now on a connection that cannot write.
    fn read<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.readers.with(|connection| work(connection)).map_err(failed(doing))
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

fn failure(doing: &'static str, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Failed { doing, cause: cause.into() }
}

/// Turns an error of SQLite into the store's. A file that stayed locked is only busy: nothing was written.
fn failed(doing: &'static str) -> impl Fn(rusqlite::Error) -> StoreError {
    move |cause| match cause.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseBusy) => StoreError::Busy,
        _ => failure(doing, cause),
    }
}

/// A limit as SQLite takes it.
fn limit_of(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
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
        store.close();
        store.close();
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
