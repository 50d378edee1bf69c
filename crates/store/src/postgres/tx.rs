//! A transaction of a writer, with the locks of the projects it writes in and what those projects' rows say; or a
//! connection that reads.
//!
//! Numbers and times are given out from the [ledger](crate::ledger), and events gathered there, so that a transaction of
//! many jobs writes each table once.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deadpool_postgres::Object;
use futures_util::FutureExt;
use futures_util::future::try_join4;
use mail::ids::MessageId;

use super::errors::is_gone;
use super::health::Health;
use super::notices::Notice;
use crate::error::{Outcome, SqlError};
use crate::job::Lost;
use crate::ledger::Ledger;
use crate::row::{self, values};
use crate::tx::Tx;

/// Rows are locked in the order of their numbers, so that two servers never wait for each other.
const LOCK: &str = "SELECT id, next_seq, last_message_at, lease_version, acks FROM project
                    WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE";

/// Numbers for new messages, in rising order.
const NUMBERS: &str = "SELECT nextval('message_number') FROM generate_series(1, $1)";

/// Keeps everybody else from writing until the end of the transaction: whoever writes has locked a project's row.
pub(super) const ALONE: &str = "LOCK TABLE project IN EXCLUSIVE MODE";

/// Marks a place to go back to.
const MARK: &str = "SAVEPOINT messages";
/// The key of the lock under which projects are made.
pub(crate) const MAKING: i64 = 0x706f_7374_7072_6f6a;

/// A connection, inside a transaction unless it only reads.
pub(crate) struct PostgresTx {
    pub(super) client: Held,
    pub(crate) ledger: Ledger,
    pub(super) is_reading: bool,
    fresh: Vec<i64>,
    /// Whether nothing was written since the place was marked.
    is_marked: bool,
    pub(super) has_changed: AtomicBool,
    /// Whose mailboxes changed.
    pub(crate) woken: BTreeSet<i64>,
    /// The projects whose rows were written, with the version that they came to.
    changed: BTreeMap<i64, i64>,
}

impl PostgresTx {
    /// Begins a transaction, locks the rows of `projects`, takes numbers for `messages`, and marks the place before anything is
    /// written, in one round trip.
    pub(super) async fn begin(client: Held, projects: &[i64], messages: usize) -> Outcome<Self> {
        let mut this = Self { is_marked: true, ..Self::over(client, false) };
        match this.lock(projects, messages).await {
            Ok(()) => Ok(this),
            Err(error) => {
                this.client.roll_back().await;
                Err(error)
            }
        }
    }

    async fn lock(&mut self, projects: &[i64], messages: usize) -> Outcome<()> {
        let client = &self.client;
        let (lock, number) = (client.prepare_cached(LOCK).await?, client.prepare_cached(NUMBERS).await?);
        let count = i32::try_from(messages).unwrap_or(i32::MAX);
        // Whatever comes behind what failed fails too: the first error is the one that counts.
        let (_, locked, fresh, _) = try_join4(
            client.batch_execute("BEGIN"),
            client.query(&lock, &[&projects]),
            client.query(&number, &[&count]),
            client.batch_execute(MARK),
        )
        .await?;
        for row in &locked {
            let (project, numbers) = row::Row::Postgres(row).read()?;
            self.ledger.know(project, numbers);
        }
        for row in fresh.iter().rev() {
            self.fresh.push(row.try_get(0)?);
        }
        Ok(())
    }

    /// A connection that reads.
    pub(super) fn reading(client: Object) -> Self {
        Self::over(Held::idle(client), true)
    }

    pub(super) fn over(client: Held, is_reading: bool) -> Self {
        Self {
            client,
            is_reading,
            ledger: Ledger::default(),
            fresh: Vec::new(),
            is_marked: false,
            has_changed: AtomicBool::new(false),
            woken: BTreeSet::new(),
            changed: BTreeMap::new(),
        }
    }

    /// The same, for a noun.
    pub(crate) fn tx(&mut self) -> Tx<'_> {
        Tx::Postgres(self)
    }

    /// Runs commands that are given no values and answer nothing.
    pub(crate) async fn command(&self, sql: &str) -> Outcome<()> {
        Ok(self.client.batch_execute(sql).await?)
    }

    /// The newest message such that all before it are there. A number is taken before its message is committed, so this
    /// waits, for a moment, for those who are just writing.
    pub(crate) async fn newest_settled(&mut self) -> Outcome<i64> {
        self.client.hold();
        self.command(&format!("BEGIN; {ALONE}")).await?;
        let newest = self.tx().row("SELECT coalesce(max(id), 0) FROM message", &[]).await?;
        self.end_snapshot().await?;
        Ok(newest.unwrap_or_default())
    }

    /// Begins a transaction in which all that is read is of one moment. If it is not ended, the connection is closed.
    pub(crate) async fn begin_snapshot(&mut self) -> Outcome<()> {
        self.client.hold();
        self.command("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await
    }

    pub(crate) async fn end_snapshot(&mut self) -> Outcome<()> {
        self.command("COMMIT").await?;
        self.client.give_back();
        Ok(())
    }

    /// Takes numbers for so many messages more.
    pub(super) async fn take_numbers(&mut self, messages: usize) -> Outcome<()> {
        if messages > 0 {
            let more: Vec<i64> = self.tx().rows(NUMBERS, values![messages]).await?;
            // The last is taken first, and those that were there before are lower.
            self.fresh.splice(..0, more.into_iter().rev());
        }
        Ok(())
    }

    /// The number of one more message.
    pub(crate) async fn next_message(&mut self) -> Outcome<MessageId> {
        if self.fresh.is_empty() {
            self.take_numbers(1).await?;
        }
        self.fresh.pop().map(MessageId).ok_or_else(|| SqlError::Unknown("a message got no number".to_owned()))
    }

    /// Marks a place to go back to, which the transaction began with if nothing was written since.
    pub(super) async fn mark(&mut self) -> Outcome<()> {
        if !std::mem::take(&mut self.is_marked) {
            self.command(MARK).await?;
        }
        Ok(())
    }

    /// Commits; what changed, if anything did.
    async fn commit(&mut self) -> Result<Option<Notice>, Lost> {
        match self.client.batch_execute("COMMIT").await {
            Ok(()) => {
                self.client.give_back();
                if !self.has_changed.load(Ordering::Relaxed) {
                    return Ok(None);
                }
                let (agents, projects) = (std::mem::take(&mut self.woken), std::mem::take(&mut self.changed));
                Ok(Some(Notice { agents, projects }))
            }
            // What PostgreSQL itself says of a commit is that there was none, unless it says that it stops.
            Err(error) => {
                let is_in_doubt = error.as_db_error().is_none() || is_gone(&error);
                Err(Lost { cause: error.into(), is_in_doubt })
            }
        }
    }

    /// Commits; what changed, if anything did. Waits no longer than `at_most`, nor when the database goes away meanwhile:
    /// a commit that waits for a standby has no time limit of PostgreSQL's.
    pub(super) async fn commit_within(&mut self, at_most: Duration, health: &Health) -> Result<Option<Notice>, Lost> {
        let committing = health.within(at_most, self.commit().map(Ok));
        committing.await.unwrap_or_else(|cause| Err(Lost { cause, is_in_doubt: true }))
    }

    /// Writes what was gathered, which is the last thing before the commit, in one round trip.
    pub(super) async fn write_gathered(&mut self) -> Outcome<()> {
        let changed = self.tx().write_gathered().await?;
        self.changed.extend(changed.iter().map(|(id, numbers)| (id.0, numbers.next_seq + numbers.lease_version)));
        Ok(())
    }
}

/// A connection of a pool, which is closed, and not used by others, when somebody goes away in the middle of a transaction.
pub(super) struct Held {
    client: Option<Object>,
    is_open: bool,
}

impl Held {
    /// A connection in the middle of something: it is closed unless it is given back.
    pub(super) fn of(client: Object) -> Self {
        Self { client: Some(client), is_open: true }
    }

    /// A connection on which nothing is under way.
    pub(super) fn idle(client: Object) -> Self {
        Self { client: Some(client), is_open: false }
    }

    /// Takes back everything. A connection on which this fails is closed, and its transaction ends with it.
    pub(super) async fn roll_back(&mut self) {
        if self.batch_execute("ROLLBACK").await.is_ok() {
            self.give_back();
        }
    }

    /// Something is under way from here on.
    pub(super) fn hold(&mut self) {
        self.is_open = true;
    }

    /// Nothing is under way any more; the connection goes back to its pool when this is dropped.
    pub(super) fn give_back(&mut self) {
        self.is_open = false;
    }
}

impl Deref for Held {
    type Target = Object;

    fn deref(&self) -> &Object {
        self.client.as_ref().expect("it is taken when this is dropped")
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.is_open {
            self.client.take().map(Object::take);
        }
    }
}
