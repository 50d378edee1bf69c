//! A transaction of the writer, or a connection that reads: statements run here and now.

use std::future::Future;

use futures_util::FutureExt;
use jiff::Timestamp;
use mail::events::{Event, EventKind};
use mail::ids::{AgentId, ProjectId};
use rusqlite::{Connection, params_from_iter};

use super::search::{Words, scope_of};
use crate::books::LeaseBooks;
use crate::error::Outcome;
use crate::events::EVENT;
use crate::placed::Placed;
use crate::row::{Row, Value, values};
use crate::tx::{Many, RowVisitor, Tx, no_project};

/// The result of a future that never waits, as everything does that runs on SQLite.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("SQLite never waits")
}

/// What the writer keeps between its jobs.
#[derive(Default)]
pub(crate) struct Writing {
    pub(super) books: LeaseBooks,
    /// What is to be made findable before the commit. Not at once: FTS5 writes out what it gathered at every
    /// savepoint, and one such piece for each message makes searching and merging slow.
    pub(super) words: Vec<Words>,
}

/// A connection, inside a transaction if it is the writer's.
pub(crate) struct SqliteTx<'a> {
    pub(super) connection: &'a mut Connection,
    writing: Option<&'a mut Writing>,
}

impl<'a> SqliteTx<'a> {
    pub(super) fn reading(connection: &'a mut Connection) -> Self {
        Self { connection, writing: None }
    }

    pub(super) fn writing(connection: &'a mut Connection, writing: &'a mut Writing) -> Self {
        Self { connection, writing: Some(writing) }
    }

    /// The same, for a noun.
    pub(super) fn tx(&mut self) -> Tx<'_> {
        Tx::Sqlite(SqliteTx { connection: self.connection, writing: self.writing.as_deref_mut() })
    }

    pub(crate) fn books(&mut self) -> &mut LeaseBooks {
        &mut self.kept().books
    }

    /// Has a message made findable before the commit.
    pub(crate) fn make_findable(&mut self, message: &Placed<'_>) {
        let scope = scope_of(message.project, message.sender);
        let (subject, body) = (message.subject.to_owned(), message.body.to_owned());
        self.kept().words.push(Words { message: message.id.0, scope, subject, body });
    }

    pub(super) fn kept(&mut self) -> &mut Writing {
        self.writing.as_deref_mut().expect("only the writer has books and words")
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

    pub(crate) fn record(
        &mut self,
        project: ProjectId,
        kind: EventKind,
        reference: i64,
        agent: Option<AgentId>,
        at: Timestamp,
    ) -> Outcome<()> {
        let sql = "UPDATE project SET next_seq = next_seq + 1 WHERE id = ?1 RETURNING next_seq - 1";
        let seq: Option<i64> = now(self.tx().one(sql, values![project]))?;
        let seq = seq.ok_or_else(|| no_project(project))?;
        self.record_as(project, Event { seq, kind, reference, agent, at })
    }

    /// Writes an event whose number was taken from the project in this transaction.
    pub(crate) fn record_as(&mut self, project: ProjectId, event: Event) -> Outcome<()> {
        let Event { seq, kind, reference, agent, at } = event;
        self.execute(EVENT, values![project, seq, kind.as_str(), reference, agent, at]).map(drop)
    }

    /// Takes numbers for `events` events and raises the version of the reservations; returns the first number and the
    /// version.
    pub(crate) fn raise_leases(&mut self, project: ProjectId, events: usize) -> Outcome<(i64, i64)> {
        let sql = "UPDATE project SET next_seq = next_seq + ?2, lease_version = lease_version + 1
                   WHERE id = ?1 RETURNING next_seq - ?2, lease_version";
        let raised = now(self.tx().row(sql, values![project, events], |row| Ok((row.get(0)?, row.get(1)?))))?;
        raised.ok_or_else(|| no_project(project))
    }

    /// Begins a transaction in which all that is read is of one moment; it ends with the reader.
    pub(crate) fn begin_snapshot(&mut self) -> Outcome<()> {
        self.execute("BEGIN", &[]).map(drop)
    }
}
