//! Search, in SQLite's FTS5: newest first, within one project, and never for long.
//!
//! A search may read much of the index, so it runs on a thread that may block, on connections that nothing else uses,
//! and is given up at its deadline. There is no ranking.

mod lowering;

use std::time::Instant;

use mail::messages::Message;
use mail::{StoreError, Stored};
use rusqlite::Connection;

use super::{Sqlite, now};
use crate::error::{Outcome, failure, refused};
use crate::job::Work;
use crate::messages::{COLUMNS, size_of};
use crate::row::values;
use crate::search::{BODY_SHOWN, Search, senders};
use crate::tx::Tx;

/// How many steps of SQLite's machine lie between two looks at the clock.
const STEPS: i32 = 1_000;

/// Makes messages findable, from a number on, in the transaction that keeps them. The hidden column says which
/// project a message belongs to, and who wrote it.
pub(crate) const FINDABLE: &str = "INSERT INTO message_fts (rowid, scope, subject, body)
     SELECT id, 'p' || project_id || ' a' || sender_id, subject, body FROM message WHERE id >= ?1 ORDER BY id";

impl Sqlite {
    /// Runs `work`, which may read much, on a thread that may block, and gives up at the deadline.
    pub(crate) async fn read_long<T: Send + 'static>(&self, doing: &'static str, work: impl Work<T>) -> Stored<T> {
        let deadline = Instant::now() + self.search_deadline;
        let (turns, connections) = (self.turns.clone(), self.searchers.clone());
        let running = async move {
            let turn = turns.acquire_owned().await.map_err(|closed| failure(doing, closed))?;
            let done = tokio::task::spawn_blocking(move || {
                // Held until the work is done, even when nobody waits for it any more.
                let _turn = turn;
                // There are as many connections as turns, so that one is free.
                let mut slot = now(connections.slot())?;
                give_up_at(slot.connection(), deadline)?;
                now(work(&mut slot.tx()))
            });
            done.await.map_err(|panicked| failure(doing, panicked))?.map_err(refused(doing))
        };
        // SQLite's machine takes no step while FTS5 merges long lists, so the caller is released by a clock of its own.
        tokio::time::timeout_at(deadline.into(), running).await.unwrap_or(Err(StoreError::TooSlow))
    }
}

fn give_up_at(connection: &mut Connection, deadline: Instant) -> rusqlite::Result<()> {
    connection.progress_handler(STEPS, Some(move || Instant::now() > deadline))
}

/// The newest messages that match.
pub(crate) async fn find(tx: &mut Tx<'_>, search: &Search) -> Outcome<Vec<Message>> {
    let senders = senders(tx, search).await?;
    let wanted = lowering::lower(&search.query, search.project, &senders);
    let sql = format!(
        "SELECT {COLUMNS}, substr(m.body, 1, {BODY_SHOWN}) FROM message_fts f
         CROSS JOIN message m ON m.id = f.rowid
         WHERE message_fts MATCH ?1 AND f.rowid < ?2
         AND (?4 IS NULL OR m.kind = ?4) AND (?5 IS NULL OR m.work_id = ?5) ORDER BY f.rowid DESC LIMIT ?3"
    );
    let Search { about, before, limit, .. } = search;
    tx.page(&sql, values![&wanted, *before, *limit, about.kind, &about.work_id], size_of).await
}

#[cfg(test)]
mod tests;
