//! A transaction, or a connection that reads, of either engine: what a noun runs its statements on.
//!
//! It is an enum and no trait, so that a noun is compiled once. SQLite's side never waits; its futures are ready when
//! they are first polled. Statements are written in the SQL that [`dialect`](crate::dialect) describes.

use jiff::Timestamp;
use mail::events::{Event, EventKind};
use mail::ids::{AgentId, LeaseId, MessageId, ProjectId};
use mail::messages::PAGE_BYTES;

use crate::books::LeaseBooks;
use crate::error::{Outcome, SqlError};
use crate::postgres::PostgresTx;
use crate::row::{Column, Row, Value, values};
use crate::sqlite::SqliteTx;

/// A transaction of either engine.
pub(crate) enum Tx<'a> {
    Sqlite(SqliteTx<'a>),
    Postgres(&'a mut PostgresTx),
}

/// A statement that is run for each `width` values, which concern different rows.
pub(crate) struct Many<'v> {
    pub(crate) sql: &'static str,
    pub(crate) width: usize,
    pub(crate) values: Vec<Value<'v>>,
}

/// Is shown each row; `false` ends the reading.
pub(crate) type RowVisitor<'v> = dyn FnMut(&Row<'_>) -> Outcome<bool> + Send + 'v;

impl Tx<'_> {
    /// Shows the rows of a statement to `visit`, as they come.
    pub(crate) async fn each(&mut self, sql: &str, values: &[Value<'_>], visit: &mut RowVisitor<'_>) -> Outcome<()> {
        match self {
            Self::Sqlite(tx) => tx.each(sql, values, visit),
            Self::Postgres(tx) => tx.each(sql, values, visit).await,
        }
    }

    /// What is read of all rows.
    pub(crate) async fn rows<T: Send>(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
        read: impl Fn(&Row<'_>) -> Outcome<T> + Send + Sync,
    ) -> Outcome<Vec<T>> {
        self.rows_while(sql, values, read, |_| true).await
    }

    /// What is read of the first row.
    pub(crate) async fn row<T: Send>(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
        read: impl Fn(&Row<'_>) -> Outcome<T> + Send + Sync,
    ) -> Outcome<Option<T>> {
        Ok(self.rows_while(sql, values, read, |_| false).await?.pop())
    }

    /// The first column of the first row.
    pub(crate) async fn one<T: Send + for<'r> Column<'r>>(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
    ) -> Outcome<Option<T>> {
        self.row(sql, values, |row| row.get(0)).await
    }

    /// Whether there is a row.
    pub(crate) async fn exists(&mut self, sql: &str, values: &[Value<'_>]) -> Outcome<bool> {
        Ok(self.row(sql, values, |_| Ok(())).await?.is_some())
    }

    /// What is read until the page is full: it ends once that holds more than [`PAGE_BYTES`].
    pub(crate) async fn page<T: Send>(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
        read: impl Fn(&Row<'_>) -> Outcome<T> + Send + Sync,
        bytes_of: impl Fn(&T) -> usize + Send,
    ) -> Outcome<Vec<T>> {
        let mut bytes = 0;
        let has_room = move |one: &T| {
            bytes += bytes_of(one);
            bytes <= PAGE_BYTES
        };
        self.rows_while(sql, values, read, has_room).await
    }

    async fn rows_while<T: Send>(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
        read: impl Fn(&Row<'_>) -> Outcome<T> + Send + Sync,
        mut goes_on: impl FnMut(&T) -> bool + Send,
    ) -> Outcome<Vec<T>> {
        let mut found = Vec::new();
        let visit = &mut |row: &Row<'_>| {
            let one = read(row)?;
            let is_wanted = goes_on(&one);
            found.push(one);
            Ok(is_wanted)
        };
        self.each(sql, values, visit).await?;
        Ok(found)
    }

    /// What is read of all rows of a statement that is run for each `width` values, in their order.
    pub(crate) async fn rows_many<T: Send>(
        &mut self,
        sql: &str,
        width: usize,
        values: &[Value<'_>],
        read: impl Fn(&Row<'_>) -> Outcome<T> + Send + Sync,
    ) -> Outcome<Vec<T>> {
        let mut found = Vec::new();
        let visit = &mut |row: &Row<'_>| {
            found.push(read(row)?);
            Ok(true)
        };
        match self {
            Self::Sqlite(tx) => values.chunks(width).try_for_each(|some| tx.each(sql, some, visit))?,
            Self::Postgres(tx) => tx.each_of_many(sql, width, values, visit).await?,
        }
        Ok(found)
    }

    /// Runs a statement, and tells how many rows it changed.
    pub(crate) async fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Outcome<u64> {
        match self {
            Self::Sqlite(tx) => tx.execute(sql, values),
            Self::Postgres(tx) => tx.execute(sql, values).await,
        }
    }

    /// Runs statements one after the other, and waits once. What comes behind a statement may refer to its rows.
    pub(crate) async fn execute_all(&mut self, all: &[Many<'_>]) -> Outcome<()> {
        match self {
            Self::Sqlite(tx) => all.iter().try_for_each(|many| tx.execute_many(many)),
            Self::Postgres(tx) => tx.execute_all(all).await,
        }
    }

    /// Runs a statement for each `width` values, which concern different rows.
    pub(crate) async fn execute_many(
        &mut self,
        sql: &'static str,
        width: usize,
        values: Vec<Value<'_>>,
    ) -> Outcome<()> {
        self.execute_all(&[Many { sql, width, values }]).await
    }

    /// Lets all that is read from here on be of one moment.
    pub(crate) async fn begin_snapshot(&mut self) -> Outcome<()> {
        match self {
            Self::Sqlite(tx) => tx.begin_snapshot(),
            Self::Postgres(tx) => tx.begin_snapshot().await,
        }
    }

    /// Ends that.
    pub(crate) async fn end_snapshot(&mut self) -> Outcome<()> {
        match self {
            // It ends with the reader.
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(tx) => tx.end_snapshot().await,
        }
    }

    /// How many statements are best sent at once.
    pub(crate) fn at_once(&self) -> usize {
        match self {
            Self::Sqlite(_) => 1,
            Self::Postgres(_) => 64,
        }
    }

    /// Writes an event under the next number of its project.
    pub(crate) async fn record(
        &mut self,
        project: ProjectId,
        kind: EventKind,
        reference: i64,
        agent: Option<AgentId>,
        at: Timestamp,
    ) -> Outcome<()> {
        match self {
            Self::Sqlite(tx) => tx.record(project, kind, reference, agent, at),
            Self::Postgres(tx) => tx.record(project, kind, reference, agent, at),
        }
    }

    /// Writes an event whose number was taken from the project in this transaction.
    pub(crate) async fn record_as(&mut self, project: ProjectId, event: Event) -> Outcome<()> {
        match self {
            Self::Sqlite(tx) => tx.record_as(project, event),
            Self::Postgres(tx) => {
                tx.record_as(project, event);
                Ok(())
            }
        }
    }

    /// The number of one more message.
    pub(crate) async fn next_message(&mut self) -> Outcome<MessageId> {
        match self {
            Self::Postgres(tx) => tx.next_message().await,
            Self::Sqlite(_) => {
                // Nothing is ever deleted, so that numbers rise in the order of commits.
                let next = self.one("SELECT coalesce(max(id), 0) + 1 FROM message", &[]).await?;
                Ok(next.expect("there is always a maximum"))
            }
        }
    }

    /// The number of the event of one more message, and its time: `now`, but later than any before.
    pub(crate) async fn next_place(&mut self, project: ProjectId, now: Timestamp) -> Outcome<(i64, Timestamp)> {
        match self {
            Self::Postgres(tx) => tx.next_place(project, now),
            Self::Sqlite(_) => {
                let sql = "UPDATE project SET next_seq = next_seq + 1, last_message_at = max(?2, last_message_at + 1)
                           WHERE id = ?1 RETURNING next_seq - 1, last_message_at";
                let place = self.row(sql, values![project, now], |row| Ok((row.get(0)?, row.get(1)?))).await?;
                place.ok_or_else(|| no_project(project))
            }
        }
    }

    /// Notes that reservations of a project changed, writes an event for each of `leases`, and returns the version that
    /// the rows have now.
    pub(crate) async fn record_leases(
        &mut self,
        project: ProjectId,
        kind: EventKind,
        leases: impl ExactSizeIterator<Item = LeaseId> + Send,
        by: AgentId,
        at: Timestamp,
    ) -> Outcome<i64> {
        match self {
            Self::Sqlite(tx) => {
                let (first, version) = tx.raise_leases(project, leases.len())?;
                for (seq, lease) in (first..).zip(leases) {
                    tx.record_as(project, Event { seq, kind, reference: lease.0, agent: Some(by), at })?;
                }
                Ok(version)
            }
            Self::Postgres(tx) => {
                for lease in leases {
                    tx.record(project, kind, lease.0, Some(by), at)?;
                }
                tx.raise_leases(project)
            }
        }
    }

    /// Notes that the line for a project's reservations changed, and returns the version that the rows have now.
    pub(crate) async fn raise_leases(&mut self, project: ProjectId) -> Outcome<i64> {
        match self {
            Self::Sqlite(tx) => tx.raise_leases(project, 0).map(|(_, version)| version),
            Self::Postgres(tx) => tx.raise_leases(project),
        }
    }

    /// The version of a project's reservations and of the line for them.
    pub(crate) async fn lease_version(&mut self, project: ProjectId) -> Outcome<i64> {
        match self {
            Self::Postgres(tx) => tx.lease_version(project),
            Self::Sqlite(_) => {
                let version = self.one("SELECT lease_version FROM project WHERE id = ?1", values![project]).await?;
                version.ok_or_else(|| no_project(project))
            }
        }
    }

    /// Counts one more acknowledgement.
    pub(crate) async fn count_ack(&mut self, project: ProjectId) -> Outcome<()> {
        match self {
            Self::Postgres(tx) => tx.count_ack(project),
            Self::Sqlite(tx) => {
                tx.execute("UPDATE project SET acks = acks + 1 WHERE id = ?1", values![project]).map(drop)
            }
        }
    }

    /// Tells that a mailbox changed, so that its agent is woken wherever it waits.
    pub(crate) fn wake(&mut self, agent: AgentId) {
        if let Self::Postgres(tx) = self {
            tx.wake([agent]);
        }
    }

    /// The open lease books.
    pub(crate) fn books(&mut self) -> &mut LeaseBooks {
        match self {
            Self::Sqlite(tx) => tx.books(),
            Self::Postgres(tx) => &mut tx.books,
        }
    }

    /// The newest message such that all before it are there.
    pub(crate) async fn newest_settled(&mut self) -> Outcome<i64> {
        match self {
            // A number is given in the transaction that writes.
            Self::Sqlite(_) => Ok(i64::MAX),
            Self::Postgres(tx) => tx.newest_settled().await,
        }
    }

    /// Lets the numbers of new messages begin behind this one.
    pub(crate) async fn pass_number(&mut self, message: MessageId) -> Outcome<()> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(tx) => tx.pass_number(message).await,
        }
    }

    /// Takes a project into the transaction of somebody who writes alone.
    pub(crate) async fn lock_project(&mut self, project: ProjectId) -> Outcome<()> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(tx) => tx.lock_project(project).await,
        }
    }

    /// Lets one transaction at a time look for a project and make it. There is only one at a time in SQLite.
    pub(crate) async fn lock_projects(&mut self) -> Outcome<()> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(tx) => tx.lock_projects().await,
        }
    }
}

/// The project that a caller names is not there.
pub(crate) fn no_project(project: ProjectId) -> SqlError {
    SqlError::Unknown(format!("there is no project {project}"))
}
