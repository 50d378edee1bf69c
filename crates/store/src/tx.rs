//! A transaction, or a connection that reads, of either engine: what a noun runs its statements on.
//!
//! It is an enum and no trait, so that a noun is compiled once. SQLite's side never waits; its futures are ready when
//! they are first polled. PostgreSQL's are boxed: every noun would hold one, also where it never runs. Statements are
//! written in the SQL that [`dialect`](crate::dialect) describes.

use jiff::Timestamp;
use mail::events::{Event, EventKind};
use mail::ids::{AgentId, MessageId, ProjectId};
use mail::messages::PAGE_BYTES;
use mail::reservations::Reservation;

use crate::error::{Outcome, SqlError};
use crate::events::EVENT;
use crate::ledger::{Ledger, Numbers, ReservationCache};
use crate::postgres::{MAKING, PostgresTx};
use crate::row::{FromRow, Row, Value, values};
use crate::sqlite::SqliteTx;

/// A transaction of either engine.
pub(crate) enum Tx<'a> {
    Sqlite(SqliteTx<'a>),
    Postgres(&'a mut PostgresTx),
}

/// A statement that is run for each `width` values, which concern different rows.
pub(crate) struct Many<'v> {
    pub(crate) sql: &'v str,
    pub(crate) width: usize,
    pub(crate) values: Vec<Value<'v>>,
}

impl<'v> Many<'v> {
    /// A statement that is run for each of `rows`, which are different ones.
    pub(crate) fn of<const N: usize>(sql: &'v str, rows: impl IntoIterator<Item = [Value<'v>; N]>) -> Self {
        Self { sql, width: N, values: rows.into_iter().flatten().collect() }
    }
}

/// Is shown each row; `false` ends the reading.
pub(crate) type RowVisitor<'v> = dyn FnMut(&Row<'_>) -> Outcome<bool> + Send + 'v;

impl Tx<'_> {
    /// Shows the rows of a statement to `visit`, as they come.
    pub(crate) async fn each(&mut self, sql: &str, values: &[Value<'_>], visit: &mut RowVisitor<'_>) -> Outcome<()> {
        match self {
            Self::Sqlite(tx) => tx.each(sql, values, visit),
            Self::Postgres(tx) => Box::pin(tx.each(sql, values, visit)).await,
        }
    }

    /// All rows.
    pub(crate) async fn rows<T: FromRow + Send>(&mut self, sql: &str, values: &[Value<'_>]) -> Outcome<Vec<T>> {
        self.rows_while(sql, values, |_| true).await
    }

    /// The first row.
    pub(crate) async fn row<T: FromRow + Send>(&mut self, sql: &str, values: &[Value<'_>]) -> Outcome<Option<T>> {
        Ok(self.rows_while(sql, values, |_| false).await?.pop())
    }

    /// The row that there always is.
    pub(crate) async fn only<T: FromRow + Send>(&mut self, sql: &str, values: &[Value<'_>]) -> Outcome<T> {
        let lacking = || SqlError::Unknown(format!("there is no row for '{}'", sql.lines().next().unwrap_or_default()));
        self.row(sql, values).await?.ok_or_else(lacking)
    }

    /// Whether there is a row.
    pub(crate) async fn exists(&mut self, sql: &str, values: &[Value<'_>]) -> Outcome<bool> {
        let mut is_there = false;
        let visit = &mut |_: &Row<'_>| {
            is_there = true;
            Ok(false)
        };
        self.each(sql, values, visit).await?;
        Ok(is_there)
    }

    /// The rows until the page is full: it ends once that holds more than [`PAGE_BYTES`].
    pub(crate) async fn page<T: FromRow + Send>(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
        bytes_of: impl Fn(&T) -> usize + Send,
    ) -> Outcome<Vec<T>> {
        let mut bytes = 0;
        let fits = move |one: &T| {
            bytes += bytes_of(one);
            bytes <= PAGE_BYTES
        };
        self.rows_while(sql, values, fits).await
    }

    async fn rows_while<T: FromRow + Send>(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
        mut goes_on: impl FnMut(&T) -> bool + Send,
    ) -> Outcome<Vec<T>> {
        let mut found = Vec::new();
        let visit = &mut |row: &Row<'_>| {
            let one = row.read()?;
            let is_wanted = goes_on(&one);
            found.push(one);
            Ok(is_wanted)
        };
        self.each(sql, values, visit).await?;
        Ok(found)
    }

    /// All rows of a statement that is run for each of `asked`, in their order.
    pub(crate) async fn rows_many<'v, T: FromRow + Send, const N: usize>(
        &mut self,
        sql: &str,
        asked: impl IntoIterator<Item = [Value<'v>; N]>,
    ) -> Outcome<Vec<T>> {
        let asked: Vec<Value<'_>> = asked.into_iter().flatten().collect();
        let mut found = Vec::new();
        let visit = &mut |row: &Row<'_>| {
            found.push(row.read()?);
            Ok(true)
        };
        match self {
            Self::Sqlite(tx) => asked.chunks(N).try_for_each(|some| tx.each(sql, some, visit))?,
            Self::Postgres(tx) => Box::pin(tx.each_of_many(sql, N, &asked, visit)).await?,
        }
        Ok(found)
    }

    /// Runs a statement, and tells how many rows it changed.
    pub(crate) async fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Outcome<u64> {
        match self {
            Self::Sqlite(tx) => tx.execute(sql, values),
            Self::Postgres(tx) => Box::pin(tx.execute(sql, values)).await,
        }
    }

    /// Runs statements one after the other, and waits once. What comes behind a statement may refer to its rows.
    pub(crate) async fn execute_all(&mut self, all: &[Many<'_>]) -> Outcome<()> {
        match self {
            Self::Sqlite(tx) => all.iter().try_for_each(|many| tx.execute_many(many)),
            Self::Postgres(tx) => Box::pin(tx.execute_all(all)).await,
        }
    }

    /// Runs a statement for each of `rows`, which are different ones.
    pub(crate) async fn execute_many<'v, const N: usize>(
        &mut self,
        sql: &'v str,
        rows: impl IntoIterator<Item = [Value<'v>; N]>,
    ) -> Outcome<()> {
        let many = Many::of(sql, rows);
        self.execute_all(&[many]).await
    }

    /// Runs commands that are given no values and answer nothing.
    pub(crate) async fn command(&mut self, sql: &str) -> Outcome<()> {
        match self {
            Self::Sqlite(tx) => Ok(tx.connection.execute_batch(sql)?),
            Self::Postgres(tx) => Box::pin(tx.command(sql)).await,
        }
    }

    /// Lets all that is read from here on be of one moment.
    pub(crate) async fn begin_snapshot(&mut self) -> Outcome<()> {
        match self {
            Self::Sqlite(tx) => tx.execute("BEGIN", &[]).map(drop),
            Self::Postgres(tx) => Box::pin(tx.begin_snapshot()).await,
        }
    }

    /// Ends that.
    pub(crate) async fn end_snapshot(&mut self) -> Outcome<()> {
        match self {
            // It ends with the reader.
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(tx) => Box::pin(tx.end_snapshot()).await,
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
        let seq = self.numbers(project).await?.next_seq();
        self.record_as(project, Event { seq, kind, reference, agent, at });
        Ok(())
    }

    /// Writes an event whose number was taken from the project in this transaction.
    pub(crate) fn record_as(&mut self, project: ProjectId, event: Event) {
        self.ledger().tell(project, event);
    }

    /// The number of one more message.
    pub(crate) async fn next_message(&mut self) -> Outcome<MessageId> {
        match self {
            Self::Postgres(tx) => Box::pin(tx.next_message()).await,
            Self::Sqlite(_) => {
                // Nothing is ever deleted, so that numbers rise in the order of commits.
                self.only("SELECT coalesce(max(id), 0) + 1 FROM message", &[]).await
            }
        }
    }

    /// The number of the event of one more message, and its time: `now`, but later than any before.
    pub(crate) async fn next_place(&mut self, project: ProjectId, now: Timestamp) -> Outcome<(i64, Timestamp)> {
        let numbers = self.numbers(project).await?;
        Ok((numbers.next_seq(), numbers.next_time(now)))
    }

    /// Notes that reservations of a project changed, writes an event for each of `reservations`, and returns the version that
    /// the rows have now.
    pub(crate) async fn record_reservations(
        &mut self,
        project: ProjectId,
        kind: EventKind,
        reservations: &[Reservation],
        by: AgentId,
        at: Timestamp,
    ) -> Outcome<i64> {
        for reservation in reservations {
            self.record(project, kind, reservation.id.0, Some(by), at).await?;
        }
        self.raise_reservations(project).await
    }

    /// Notes that the line for a project's reservations changed, and returns the version that the rows have now.
    pub(crate) async fn raise_reservations(&mut self, project: ProjectId) -> Outcome<i64> {
        let numbers = self.numbers(project).await?;
        numbers.lease_version += 1;
        Ok(numbers.lease_version)
    }

    /// Tells that a mailbox changed, so that its agent is woken wherever it waits.
    pub(crate) fn wake(&mut self, agent: AgentId) {
        if let Self::Postgres(tx) = self {
            tx.woken.insert(agent.0);
        }
    }

    /// The open reservations.
    pub(crate) fn reservation_cache(&mut self) -> &mut ReservationCache {
        &mut self.ledger().reservation_cache
    }

    /// The newest message such that all before it are there.
    pub(crate) async fn newest_settled(&mut self) -> Outcome<i64> {
        match self {
            // A number is given in the transaction that writes.
            Self::Sqlite(_) => Ok(i64::MAX),
            Self::Postgres(tx) => Box::pin(tx.newest_settled()).await,
        }
    }

    /// Lets the numbers of new messages begin behind this one.
    pub(crate) async fn pass_number(&mut self, message: MessageId) -> Outcome<()> {
        if let Self::Postgres(_) = self {
            let sql = "SELECT setval('message_number', greatest(?1, (SELECT last_value FROM message_number)))";
            self.exists(sql, values![message]).await?;
        }
        Ok(())
    }

    /// Takes a project into the transaction of somebody who writes alone.
    pub(crate) async fn lock_project(&mut self, project: ProjectId) -> Outcome<()> {
        let sql = match self {
            Self::Sqlite(_) => "SELECT next_seq, last_message_at, lease_version, acks FROM project WHERE id = ?1",
            Self::Postgres(_) => {
                "SELECT next_seq, last_message_at, lease_version, acks FROM project WHERE id = ?1 FOR NO KEY UPDATE"
            }
        };
        if let Some(numbers) = self.row(sql, values![project]).await? {
            self.ledger().know(project, numbers);
        }
        Ok(())
    }

    /// Lets one transaction at a time look for a project and make it. There is only one at a time in SQLite.
    pub(crate) async fn lock_projects(&mut self) -> Outcome<()> {
        if let Self::Postgres(_) = self {
            self.exists("SELECT pg_advisory_xact_lock(?1)", values![MAKING]).await?;
        }
        Ok(())
    }

    /// Writes what was gathered, and returns the projects whose rows changed.
    pub(crate) async fn write_gathered(&mut self) -> Outcome<Vec<(ProjectId, Numbers)>> {
        let (changed, events) = (self.ledger().take_changed(), self.ledger().take_events());
        let projects = Many::of(
            "UPDATE project SET next_seq = ?2, last_message_at = ?3, lease_version = ?4, acks = ?5 WHERE id = ?1",
            changed.iter().map(|(id, of)| *values![*id, of.next_seq, of.last_message_at, of.lease_version, of.acks]),
        );
        let events = events.into_iter().map(|(project, Event { seq, kind, reference, agent, at })| {
            *values![project, seq, kind, reference, agent, at]
        });
        self.execute_all(&[projects, Many::of(EVENT, events)]).await?;
        Ok(changed)
    }

    /// What the row of a project says, and is to say. PostgreSQL's transactions know their projects from the beginning.
    pub(crate) async fn numbers(&mut self, project: ProjectId) -> Outcome<&mut Numbers> {
        if matches!(self, Self::Sqlite(_)) && !self.ledger().knows(project) {
            self.lock_project(project).await?;
        }
        self.ledger().numbers(project)
    }

    fn ledger(&mut self) -> &mut Ledger {
        match self {
            Self::Sqlite(tx) => &mut tx.kept().ledger,
            Self::Postgres(tx) => &mut tx.ledger,
        }
    }
}
