//! The readers: connections that cannot write, opened when they are first needed.
//!
//! A read takes some microseconds, far less than handing it to another thread, so it runs where it is called. Each
//! thread starts looking at a place of its own, so that threads seldom meet at one connection.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use rusqlite::Connection;
use tokio::sync::{Mutex, MutexGuard};

use super::connection;
use super::tx::tx_over;
use crate::tx::Tx;

static THREADS: AtomicUsize = AtomicUsize::new(0);
thread_local! {
    static START: Cell<usize> = Cell::new(THREADS.fetch_add(1, Ordering::Relaxed));
}

/// A few connections that cannot write.
pub(crate) struct Readers {
    path: PathBuf,
    slots: Vec<Mutex<Option<Connection>>>,
}

/// A connection that nobody else uses meanwhile.
pub(crate) struct Slot<'r>(MutexGuard<'r, Option<Connection>>);

impl Readers {
    /// Up to `count` connections to the file.
    pub(super) fn new(path: PathBuf, count: usize) -> Self {
        Self { path, slots: (0..count.max(1)).map(|_| Mutex::new(None)).collect() }
    }

    /// A connection that is free. Waits only if there is none.
    pub(crate) async fn slot(&self) -> rusqlite::Result<Slot<'_>> {
        let start = START.get() % self.slots.len();
        let (behind, ahead) = self.slots.split_at(start);
        let free = ahead.iter().chain(behind).find_map(|slot| slot.try_lock().ok());
        let mut slot = match free {
            Some(slot) => slot,
            None => self.slots[start].lock().await,
        };
        if slot.is_none() {
            *slot = Some(connection::reading(&self.path)?);
        }
        Ok(Slot(slot))
    }
}

impl Slot<'_> {
    pub(super) fn connection(&mut self) -> &mut Connection {
        self.0.as_mut().expect("a slot is filled before it is given out")
    }

    pub(crate) fn tx(&mut self) -> Tx<'_> {
        tx_over(self.connection())
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        // A snapshot ends with whoever read in it.
        if !self.connection().is_autocommit() && self.connection().execute_batch("ROLLBACK").is_err() {
            *self.0 = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::now;
    use super::*;

    fn readers(count: usize) -> (tempfile::TempDir, Readers) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mail.db");
        connection::make_file(&path).unwrap();
        connection::writing(&path).unwrap().execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1)").unwrap();
        (folder, Readers::new(path, count))
    }

    fn read(readers: &Readers) -> i64 {
        let mut slot = now(readers.slot()).unwrap();
        slot.connection().query_row("SELECT x FROM t", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn a_reader_cannot_write() {
        let (_folder, readers) = readers(1);
        assert!(now(readers.slot()).unwrap().connection().execute("INSERT INTO t VALUES (2)", []).is_err());
    }

    #[test]
    fn a_read_within_a_read_gets_another_connection() {
        let (_folder, readers) = readers(2);
        let _outer = now(readers.slot()).unwrap();
        assert_eq!(read(&readers), 1);
    }

    #[test]
    fn a_read_that_panics_leaves_the_connection_usable() {
        let (_folder, readers) = readers(1);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut slot = now(readers.slot()).unwrap();
            slot.connection().execute_batch("BEGIN").unwrap();
            panic!("as the test wants")
        }));
        assert!(panicked.is_err());
        assert_eq!(read(&readers), 1);
        assert!(now(readers.slot()).unwrap().connection().is_autocommit(), "its snapshot is over");
    }
}
