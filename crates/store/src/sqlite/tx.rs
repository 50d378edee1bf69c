//! A transaction of the writer, or a connection that reads: statements run here and now.

use std::future::Future;

use futures_util::FutureExt;
use mail::ids::MessageId;
use rusqlite::{Connection, params_from_iter};

use crate::error::Outcome;
use crate::ledger::Ledger;
use crate::row::{Row, Value};
use crate::tx::{Many, RowVisitor, Tx};

/// The result of a future that never waits, as everything does that runs on SQLite.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("SQLite never waits")
}

/// What runs on a connection that nobody writes with, or that is used alone.
pub(crate) fn tx_over(connection: &mut Connection) -> Tx<'_> {
    Tx::Sqlite(SqliteTx { connection, writing: None })
}

/// What the writer keeps between its jobs.
#[derive(Default)]
pub(crate) struct Writing {
    pub(crate) ledger: Ledger,
    /// The first of the messages that are to be made findable before the commit. Not at once: FTS5 writes out what it
    /// gathered at every savepoint, and one such piece for each message makes searching and merging slow.
    pub(super) first_new: Option<MessageId>,
}

/// A connection, inside a transaction if it is the writer's.
pub(crate) struct SqliteTx<'a> {
    pub(crate) connection: &'a mut Connection,
    writing: Option<&'a mut Writing>,
}

impl<'a> SqliteTx<'a> {
    pub(super) fn writing(connection: &'a mut Connection, writing: &'a mut Writing) -> Self {
        Self { connection, writing: Some(writing) }
    }

    /// Has new messages made findable before the commit.
    pub(crate) fn make_findable(&mut self, messages: impl Iterator<Item = MessageId>) {
        let first_new = &mut self.kept().first_new;
        *first_new = first_new.iter().copied().chain(messages).min();
    }

    pub(crate) fn kept(&mut self) -> &mut Writing {
        self.writing.as_deref_mut().expect("only the writer has reservation_cache and new messages")
    }

    pub(crate) fn each(&mut self, sql: &str, values: &[Value<'_>], visit: &mut RowVisitor<'_>) -> Outcome<()> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(params_from_iter(values))?;
        while let Some(row) = rows.next()?
            && visit(&Row::Sqlite(row))?
        {}
        Ok(())
    }

    pub(crate) fn execute_many(&mut self, many: &Many<'_>) -> Outcome<()> {
        if many.values.is_empty() {
            return Ok(());
        }
        let mut statement = self.connection.prepare_cached(many.sql)?;
        for values in many.values.chunks(many.width) {
            statement.execute(params_from_iter(values))?;
        }
        Ok(())
    }

    pub(crate) fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Outcome<u64> {
        Ok(self.connection.prepare_cached(sql)?.execute(params_from_iter(values))? as u64)
    }
}
