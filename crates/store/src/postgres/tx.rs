//! A transaction of a writer, with the locks of the projects it writes in and what those projects' rows say; or a
//! connection that reads.
//!
//! Numbers and times are given out here, and events gathered, so that a transaction of many jobs writes each table once.
//! What a job did that has to be taken back is taken back here too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deadpool_postgres::Object;
use futures_util::FutureExt;
use futures_util::future::join4;
use jiff::Timestamp;
use mail::clock::from_micros;
use mail::events::{Event, EventKind};
use mail::ids::{AgentId, MessageId, ProjectId};
use tokio_postgres::Row;

use super::errors::is_gone;
use super::health::Health;
use super::held::Held;
use super::notices::Notice;
use super::only;
use crate::books::LeaseBooks;
use crate::error::Outcome;
use crate::events::EVENT;
use crate::job::Lost;
use crate::row::values;
use crate::tx::{Many, Tx, no_project};

/// What a project's row says, and what it is to say after the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbers {
    next_seq: i64,
    last_message_at: i64,
    lease_version: i64,
    acks: i64,
}

impl Numbers {
    /// The number of one more event.
    fn next_seq(&mut self) -> i64 {
        self.next_seq += 1;
        self.next_seq - 1
    }

    /// The time of one more message: `now`, but later than any before.
    fn next_time(&mut self, now: Timestamp) -> Timestamp {
        self.last_message_at = now.as_microsecond().max(self.last_message_at + 1);
        from_micros(self.last_message_at)
    }
}

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
const MAKING: i64 = 0x706f_7374_7072_6f6a;

/// A connection, inside a transaction unless it only reads.
pub(crate) struct PostgresTx {
    pub(super) client: Held,
    pub(crate) books: LeaseBooks,
    pub(super) is_reading: bool,
    numbers: BTreeMap<i64, Numbers>,
    at_first: BTreeMap<i64, Numbers>,
    events: Vec<(ProjectId, Event)>,
    fresh: Vec<i64>,
    /// Whether nothing was written since the place was marked.
    is_marked: bool,
    pub(super) has_changed: AtomicBool,
    /// Whose mailboxes changed.
    woken: BTreeSet<i64>,
}

/// How a transaction was before a job.
pub(super) struct Saved {
    numbers: BTreeMap<i64, Numbers>,
    events: usize,
}

impl PostgresTx {
    /// Begins a transaction, locks the rows of `projects`, takes numbers for `messages`, and marks the place before anything is
    /// written, in one round trip.
    pub(super) async fn begin(mut client: Held, projects: &[i64], messages: usize) -> Outcome<Self> {
        let begun = async {
            let lock = client.prepare_cached(LOCK).await?;
            let number = client.prepare_cached(NUMBERS).await?;
            let count = i32::try_from(messages).unwrap_or(i32::MAX);
            let values: [&(dyn tokio_postgres::types::ToSql + Sync); 1] = [&projects];
            let counts: [&(dyn tokio_postgres::types::ToSql + Sync); 1] = [&count];
            let (begun, locked, fresh, marked) = join4(
                client.batch_execute("BEGIN"),
                client.query(&lock, &values),
                client.query(&number, &counts),
                client.batch_execute(MARK),
            )
            .await;
            begun?;
            let told = (locked?, fresh?);
            marked?;
            Ok(told)
        };
        let begun: Outcome<(Vec<Row>, Vec<Row>)> = begun.await;
        let read = begun.and_then(|(locked, fresh)| {
            let numbers = locked.iter().map(numbers_of).collect::<Outcome<BTreeMap<_, _>>>()?;
            let fresh = fresh.iter().rev().map(|row| Ok(row.try_get(0)?)).collect::<Outcome<Vec<i64>>>()?;
            Ok((numbers, fresh))
        });
        match read {
            Ok((numbers, fresh)) => {
                let at_first = numbers.clone();
                Ok(Self { at_first, numbers, fresh, is_marked: true, ..Self::over(client, false) })
            }
            Err(error) => {
                roll_back(&mut client).await;
                Err(error)
            }
        }
    }

    /// A connection that reads.
    pub(super) fn reading(client: Object) -> Self {
        Self::over(Held::idle(client), true)
    }

    fn over(client: Held, is_reading: bool) -> Self {
        Self {
            client,
            is_reading,
            books: LeaseBooks::default(),
            at_first: BTreeMap::new(),
            numbers: BTreeMap::new(),
            events: Vec::new(),
            fresh: Vec::new(),
            is_marked: false,
            has_changed: AtomicBool::new(false),
            woken: BTreeSet::new(),
        }
    }

    /// The same, for a noun.
    pub(super) fn tx(&mut self) -> Tx<'_> {
        Tx::Postgres(self)
    }

    pub(crate) fn next_place(&mut self, project: ProjectId, now: Timestamp) -> Outcome<(i64, Timestamp)> {
        let numbers = self.numbers(project)?;
        Ok((numbers.next_seq(), numbers.next_time(now)))
    }

    pub(crate) async fn pass_number(&mut self, message: MessageId) -> Outcome<()> {
        let sql = "SELECT setval('message_number', greatest($1, (SELECT last_value FROM message_number)))";
        self.rows(sql, &[&message.0]).await.map(drop)
    }

    /// What the row of a project says.
    fn numbers(&mut self, project: ProjectId) -> Outcome<&mut Numbers> {
        self.numbers.get_mut(&project.0).ok_or_else(|| no_project(project))
    }

    pub(crate) fn lease_version(&mut self, project: ProjectId) -> Outcome<i64> {
        Ok(self.numbers(project)?.lease_version)
    }

    pub(crate) fn raise_leases(&mut self, project: ProjectId) -> Outcome<i64> {
        let numbers = self.numbers(project)?;
        numbers.lease_version += 1;
        Ok(numbers.lease_version)
    }

    pub(crate) fn count_ack(&mut self, project: ProjectId) -> Outcome<()> {
        self.numbers(project)?.acks += 1;
        Ok(())
    }

    pub(crate) async fn lock_projects(&mut self) -> Outcome<()> {
        self.rows("SELECT pg_advisory_xact_lock($1)", &[&MAKING]).await.map(drop)
    }

    /// The newest message such that all before it are there. A number is taken before its message is committed, so this
    /// waits, for a moment, for those who are just writing.
    pub(crate) async fn newest_settled(&mut self) -> Outcome<i64> {
        self.client.hold();
        self.client.batch_execute(&format!("BEGIN; {ALONE}")).await?;
        let newest = only(&self.rows("SELECT coalesce(max(id), 0) FROM message", &[]).await?)?;
        self.end_snapshot().await?;
        Ok(newest.unwrap_or_default())
    }

    /// Begins a transaction in which all that is read is of one moment. If it is not ended, the connection is closed.
    pub(crate) async fn begin_snapshot(&mut self) -> Outcome<()> {
        self.client.hold();
        Ok(self.client.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?)
    }

    pub(crate) async fn end_snapshot(&mut self) -> Outcome<()> {
        self.client.batch_execute("COMMIT").await?;
        self.client.give_back();
        Ok(())
    }

    /// Locks one more project. Only for those who have kept all others from writing.
    pub(crate) async fn lock_project(&mut self, project: ProjectId) -> Outcome<()> {
        let rows = self.rows(LOCK, &[&vec![project.0]]).await?;
        for row in &rows {
            let (id, numbers) = numbers_of(row)?;
            self.numbers.insert(id, numbers);
            self.at_first.insert(id, numbers);
        }
        Ok(())
    }

    /// Takes numbers for so many messages more.
    pub(super) async fn take_numbers(&mut self, messages: usize) -> Outcome<()> {
        if messages > 0 {
            let rows = self.rows(NUMBERS, &[&i32::try_from(messages).unwrap_or(i32::MAX)]).await?;
            let more = rows.iter().rev().map(|row| Ok(row.try_get(0)?)).collect::<Outcome<Vec<i64>>>()?;
            // The last is taken first, and those that were there before are lower.
            self.fresh.splice(..0, more);
        }
        Ok(())
    }

    /// The number of one more message.
    pub(crate) async fn next_message(&mut self) -> Outcome<MessageId> {
        if let Some(number) = self.fresh.pop() {
            return Ok(MessageId(number));
        }
        let rows = self.rows("SELECT nextval('message_number')", &[]).await?;
        Ok(MessageId(only(&rows)?.unwrap_or_default()))
    }

    pub(crate) fn record(
        &mut self,
        project: ProjectId,
        kind: EventKind,
        reference: i64,
        agent: Option<AgentId>,
        at: Timestamp,
    ) -> Outcome<()> {
        let seq = self.numbers(project)?.next_seq();
        self.events.push((project, Event { seq, kind, reference, agent, at }));
        Ok(())
    }

    /// Says whose mailboxes change, so that they are woken wherever they wait.
    pub(crate) fn wake(&mut self, agents: impl IntoIterator<Item = AgentId>) {
        self.woken.extend(agents.into_iter().map(|agent| agent.0));
    }

    /// Tells of something that happened, under a number that was taken before.
    pub(crate) fn record_as(&mut self, project: ProjectId, event: Event) {
        self.events.push((project, event));
    }

    /// Marks a place to go back to, which the transaction began with if nothing was written since.
    pub(super) async fn mark(&mut self) -> Outcome<()> {
        if !std::mem::take(&mut self.is_marked) {
            self.client.batch_execute(MARK).await?;
        }
        Ok(())
    }

    /// Goes back to the last place that was marked.
    pub(super) async fn back_to_mark(&mut self) -> Outcome<()> {
        Ok(self.client.batch_execute("ROLLBACK TO SAVEPOINT messages").await?)
    }

    /// How things stand before a job.
    pub(super) fn save(&mut self) -> Saved {
        self.books.begin_job();
        Saved { numbers: self.numbers.clone(), events: self.events.len() }
    }

    /// Takes back what a job did here. What it wrote is taken back by its savepoint.
    pub(super) fn restore(&mut self, saved: Saved) {
        self.books.undo_job();
        self.numbers = saved.numbers;
        self.events.truncate(saved.events);
    }

    /// Commits; what changed, if anything did.
    async fn commit(&mut self) -> Result<Option<Notice>, Lost> {
        match self.client.batch_execute("COMMIT").await {
            Ok(()) => {
                self.client.give_back();
                if !self.has_changed.load(Ordering::Relaxed) {
                    return Ok(None);
                }
                let changed = self.numbers.iter().filter(|(id, numbers)| self.at_first.get(id) != Some(numbers));
                let projects = changed.map(|(id, numbers)| (*id, numbers.next_seq + numbers.lease_version)).collect();
                Ok(Some(Notice { agents: std::mem::take(&mut self.woken), projects }))
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

    /// Takes back everything.
    pub(super) async fn roll_back(&mut self) {
        roll_back(&mut self.client).await;
    }

    /// Writes what was gathered, which is the last thing before the commit, in one round trip.
    pub(super) async fn write_gathered(&mut self) -> Outcome<()> {
        let changed = self.numbers.iter().filter(|(id, numbers)| self.at_first.get(id) != Some(numbers));
        let projects = Many {
            sql: "UPDATE project SET next_seq = ?2, last_message_at = ?3, lease_version = ?4, acks = ?5 WHERE id = ?1",
            width: 5,
            values: changed
                .flat_map(|(id, of)| *values![*id, of.next_seq, of.last_message_at, of.lease_version, of.acks])
                .collect(),
        };
        let told = self.events.iter().flat_map(|(project, event)| {
            *values![*project, event.seq, event.kind.as_str(), event.reference, event.agent, event.at]
        });
        let events = Many { sql: EVENT, width: 6, values: told.collect() };
        self.execute_all(&[projects, events]).await?;
        self.events.clear();
        Ok(())
    }
}

/// A connection on which this fails is closed, and its transaction ends with it.
async fn roll_back(client: &mut Held) {
    if client.batch_execute("ROLLBACK").await.is_ok() {
        client.give_back();
    }
}

fn numbers_of(row: &Row) -> Outcome<(i64, Numbers)> {
    let numbers = Numbers {
        next_seq: row.try_get(1)?,
        last_message_at: row.try_get(2)?,
        lease_version: row.try_get(3)?,
        acks: row.try_get(4)?,
    };
    Ok((row.try_get(0)?, numbers))
}
