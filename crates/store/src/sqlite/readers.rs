//! The readers: connections that cannot write, opened when they are first needed.
//!
//! A read takes some microseconds, far less than handing it to another thread, so it runs where it is called. Each
//! thread starts looking at a place of its own, so that threads seldom meet at one connection.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use rusqlite::Connection;

use super::connection;

static THREADS: AtomicUsize = AtomicUsize::new(0);
thread_local! {
    static START: Cell<usize> = Cell::new(THREADS.fetch_add(1, Ordering::Relaxed));
}

/// A few connections that cannot write.
pub(super) struct Readers {
    path: PathBuf,
    slots: Vec<Mutex<Option<Connection>>>,
}

impl Readers {
    /// Up to `count` connections to the file.
    pub(super) fn new(path: PathBuf, count: usize) -> Self {
        Self { path, slots: (0..count.max(1)).map(|_| Mutex::new(None)).collect() }
    }

    /// Runs `work` on a connection that nobody else uses meanwhile.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        let mut slot = self.free_slot();
        if slot.is_none() {
            *slot = Some(connection::reading(&self.path)?);
        }
        work(slot.as_mut().expect("the slot was filled above"))
    }

    fn free_slot(&self) -> MutexGuard<'_, Option<Connection>> {
        let start = START.get() % self.slots.len();
        let (behind, ahead) = self.slots.split_at(start);
        for slot in ahead.iter().chain(behind) {
            match slot.try_lock() {
                Ok(guard) => return guard,
                // A read that panicked left nothing behind: its statements were reset as it unwound.
                Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => {}
            }
        }
        self.slots[start].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readers(count: usize) -> (tempfile::TempDir, Readers) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mail.db");
        connection::make_file(&path).unwrap();
        connection::writing(&path).unwrap().execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1)").unwrap();
        (folder, Readers::new(path, count))
    }

    #[test]
    fn a_reader_cannot_write() {
        let (_folder, readers) = readers(1);
        assert!(readers.with(|connection| connection.execute("INSERT INTO t VALUES (2)", [])).is_err());
    }

    #[test]
    fn a_read_within_a_read_gets_another_connection() {
        let (_folder, readers) = readers(2);
        let sum = readers.with(|outer| {
            let one: i64 = outer.query_row("SELECT x FROM t", [], |row| row.get(0))?;
            let other: i64 = readers.with(|inner| inner.query_row("SELECT x FROM t", [], |row| row.get(0)))?;
            Ok(one + other)
        });
        assert_eq!(sum.unwrap(), 2);
    }

    #[test]
    fn a_read_that_panics_leaves_the_connection_usable() {
        let (_folder, readers) = readers(1);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            readers.with(|_| -> rusqlite::Result<()> { panic!("as the test wants") })
        }));
        assert!(panicked.is_err());
        let one = readers.with(|connection| connection.query_row("SELECT x FROM t", [], |row| row.get::<_, i64>(0)));
        assert_eq!(one.unwrap(), 1);
    }
}
