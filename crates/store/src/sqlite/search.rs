//! Search, in SQLite's FTS5: newest first, within one project, and never for long.
//!
//! A search may read much of the index, so it runs on a thread that may block, on connections that nothing else uses,
//! and is given up at its deadline. There is no ranking.

mod lowering;

use std::time::Instant;

use formats::Kind;
use futures_util::FutureExt;
use mail::StoreError;
use mail::ids::{AgentId, MessageId, ProjectId};
use mail::messages::{About, Message};
use mail::search::query::Query;
use rusqlite::Connection;

use super::{Searchers, Sqlite, now};
use crate::error::{Outcome, failure, refused};
use crate::job::{Work, work};
use crate::messages::{COLUMNS, message_of, size_of};
use crate::row::values;
use crate::search::senders;
use crate::tx::Tx;

/// How many characters of a body a search returns: as many as make 64 KiB of plain letters.
const BODY_SHOWN: usize = 64 * 1024;
/// How many steps of SQLite's machine lie between two looks at the clock.
const STEPS: i32 = 1_000;

/// What is to be made findable of one message.
pub(super) struct Words {
    pub(super) message: i64,
    pub(super) scope: String,
    pub(super) subject: String,
    pub(super) body: String,
}

/// The words of the hidden column: whose wall the message is behind, and who wrote it.
pub(super) fn scope_of(project: ProjectId, sender: AgentId) -> String {
    format!("p{project} a{sender}")
}

/// Makes messages findable, in the transaction that keeps them.
pub(super) fn index(connection: &Connection, words: &[Words]) -> rusqlite::Result<()> {
    if words.is_empty() {
        return Ok(());
    }
    let mut statement =
        connection.prepare_cached("INSERT INTO message_fts (rowid, scope, subject, body) VALUES (?1, ?2, ?3, ?4)")?;
    for one in words {
        statement.execute((one.message, &one.scope, &one.subject, &one.body))?;
    }
    Ok(())
}

impl Sqlite {
    /// The newest messages that match.
    pub(crate) async fn search(
        &self,
        project: ProjectId,
        query: &Query,
        about: &About,
        before: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Message>, StoreError> {
        let (query, about) = (query.clone(), about.clone());
        let found = work(move |tx| async move { find(tx, project, &query, &about, before, limit).await }.boxed());
        self.searchers.run("search", found).await
    }
}

impl Searchers {
    /// Runs `work`, which may read much, where it holds up nobody else, and gives up at the deadline.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl Work<T>,
    ) -> Result<T, StoreError> {
        let deadline = Instant::now() + self.deadline;
        let (turns, connections) = (self.turns.clone(), self.connections.clone());
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

async fn find(
    tx: &mut Tx<'_>,
    project: ProjectId,
    query: &Query,
    about: &About,
    before: Option<MessageId>,
    limit: usize,
) -> Outcome<Vec<Message>> {
    let senders = senders(tx, project, query).await?;
    let wanted = lowering::lower(query, project, &senders);
    let sql = format!(
        "SELECT {COLUMNS}, substr(m.body, 1, {BODY_SHOWN}) FROM message_fts f
         CROSS JOIN message m ON m.id = f.rowid
         WHERE message_fts MATCH ?1 AND f.rowid < ?2
         AND (?4 IS NULL OR m.kind = ?4) AND (?5 IS NULL OR m.work_id = ?5) ORDER BY f.rowid DESC LIMIT ?3"
    );
    let kind = about.kind.map(Kind::as_str);
    let values = values![&wanted, before.map_or(i64::MAX, |id| id.0), limit, kind, &about.work_id];
    tx.page(&sql, values, message_of, size_of).await
}

#[cfg(test)]
mod tests;
