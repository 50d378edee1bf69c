//! What a job has before it while it runs: a connection inside a transaction, the locks of the projects it writes in, and
//! what those projects' rows say.
//!
//! Numbers and times are given out here, and events gathered, so that a transaction of many jobs writes each table once.
//! What a job did that has to be taken back is taken back here too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{join, join4};
use jiff::Timestamp;
use mail::clock::from_micros;
use mail::events::{Event, EventKind};
use mail::ids::{AgentId, MessageId, ProjectId};
use tokio_postgres::Row;

use super::news::Notice;
use super::pulse::Felt;
use super::rows::{self, Outcome, Trouble, is_gone};
use super::{Held, Values};
use crate::books::LeaseBooks;

/// What a project's row says, and what it is to say after the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbers {
    next_seq: i64,
    last_message_at: i64,
    pub(super) lease_version: i64,
    pub(super) acks: i64,
}

impl Numbers {
    /// The number of one more event.
    pub(super) fn next_seq(&mut self) -> i64 {
        self.next_seq += 1;
        self.next_seq - 1
    }

    /// The time of one more message: `now`, but later than any before.
    pub(super) fn next_time(&mut self, now: Timestamp) -> Timestamp {
        self.last_message_at = now.as_microsecond().max(self.last_message_at + 1);
        from_micros(self.last_message_at)
    }

    /// Takes the time of a message that comes with its own; `false` if a message is not older.
    pub(super) fn has_come_to(&mut self, time: Timestamp) -> bool {
        let is_later = time.as_microsecond() > self.last_message_at;
        self.last_message_at = self.last_message_at.max(time.as_microsecond());
        is_later
    }
}

/// Rows are locked in the order of their numbers, so that two servers never wait for each other.
const LOCK: &str = "SELECT id, next_seq, last_message_at, lease_version, acks FROM project
                    WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE";

/// Numbers for new messages, in rising order.
const NUMBERS: &str = "SELECT nextval('message_number') FROM generate_series(1, $1)";

/// Marks a place to go back to.
const MARK: &str = "SAVEPOINT letters";

/// What a job has before it.
pub(super) struct Desk {
    pub(super) client: Held,
    pub(super) books: LeaseBooks,
    numbers: BTreeMap<i64, Numbers>,
    at_first: BTreeMap<i64, Numbers>,
    events: Vec<(ProjectId, Event)>,
    fresh: Vec<i64>,
    /// Whether nothing was written since the place was marked.
    is_marked: bool,
    has_changed: AtomicBool,
    /// Whose mailboxes changed.
    woken: BTreeSet<i64>,
}

/// How a desk was before a job.
pub(super) struct Saved {
    numbers: BTreeMap<i64, Numbers>,
    events: usize,
}

impl Desk {
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
            Ok((numbers, fresh)) => Ok(Self {
                client,
                books: LeaseBooks::default(),
                at_first: numbers.clone(),
                numbers,
                events: Vec::new(),
                fresh,
                is_marked: true,
                has_changed: AtomicBool::new(false),
                woken: BTreeSet::new(),
            }),
            Err(trouble) => {
                roll_back(&mut client).await;
                Err(trouble)
            }
        }
    }

    /// The rows of a statement.
    pub(super) async fn rows(&self, sql: &str, values: Values<'_>) -> Outcome<Vec<Row>> {
        rows::rows(&*self.client, sql, values).await
    }

    /// Runs a statement, and tells how many rows it changed.
    pub(super) async fn execute(&self, sql: &str, values: Values<'_>) -> Outcome<u64> {
        let changed = rows::execute(&*self.client, sql, values).await?;
        self.has_changed.fetch_or(changed > 0, Ordering::Relaxed);
        Ok(changed)
    }

    /// The rows of a statement that changes them.
    pub(super) async fn changed_rows(&self, sql: &str, values: Values<'_>) -> Outcome<Vec<Row>> {
        let rows = self.rows(sql, values).await?;
        self.has_changed.fetch_or(!rows.is_empty(), Ordering::Relaxed);
        Ok(rows)
    }

    /// What the row of a project says.
    pub(super) fn numbers(&mut self, project: ProjectId) -> Outcome<&mut Numbers> {
        self.numbers.get_mut(&project.0).ok_or_else(|| Trouble::Unknown(format!("there is no project {project}")))
    }

    /// Locks one more project. Only for those who have kept all others from writing.
    pub(super) async fn open(&mut self, project: ProjectId) -> Outcome<()> {
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
    pub(super) async fn next_message(&mut self) -> Outcome<MessageId> {
        if let Some(number) = self.fresh.pop() {
            return Ok(MessageId(number));
        }
        let rows = self.rows("SELECT nextval('message_number')", &[]).await?;
        Ok(MessageId(rows::only(&rows)?.unwrap_or_default()))
    }

    /// Tells of something that happened, under the next number of its project.
    pub(super) fn record(
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
    pub(super) fn wakes(&mut self, agents: impl IntoIterator<Item = i64>) {
        self.woken.extend(agents);
    }

    /// Tells of something that happened, under a number that was taken before.
    pub(super) fn record_as(&mut self, project: ProjectId, event: Event) {
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
        Ok(self.client.batch_execute("ROLLBACK TO SAVEPOINT letters").await?)
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

    /// Commits; what changed, if anything did. `Err` with `true` if it is not known what became of it.
    pub(super) async fn commit(&mut self) -> Result<Option<Notice>, (Trouble, bool)> {
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
                Err((error.into(), is_in_doubt))
            }
        }
    }

    /// As [`Self::commit`], but waits no longer than `at_most`, nor when the database goes away meanwhile: a commit that waits
    /// for a standby has no time limit of PostgreSQL's.
    pub(super) async fn commit_within(
        &mut self,
        at_most: Duration,
        felt: &Felt,
    ) -> Result<Option<Notice>, (Trouble, bool)> {
        let committing = felt.within(at_most, self.commit().map(Ok));
        committing.await.unwrap_or_else(|trouble| Err((trouble, true)))
    }

    /// Takes back everything.
    pub(super) async fn roll_back(&mut self) {
        roll_back(&mut self.client).await;
    }

    /// Writes what was gathered, which is the last thing before the commit, in one round trip.
    pub(super) async fn write_gathered(&mut self) -> Outcome<()> {
        let events = std::mem::take(&mut self.events);
        let (numbers, events) = join(self.write_numbers(), self.write_events(&events)).await;
        numbers?;
        events
    }

    async fn write_numbers(&self) -> Outcome<()> {
        let changed: Vec<(&i64, &Numbers)> =
            self.numbers.iter().filter(|(id, numbers)| self.at_first.get(id) != Some(numbers)).collect();
        let column = |of: fn(&Numbers) -> i64| changed.iter().map(|(_, numbers)| of(numbers)).collect::<Vec<i64>>();
        let ids: Vec<i64> = changed.iter().map(|(id, _)| **id).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let told = column(|numbers| numbers.next_seq);
        let (times, leases, acks) = (
            column(|numbers| numbers.last_message_at),
            column(|numbers| numbers.lease_version),
            column(|numbers| numbers.acks),
        );
        self.execute(
            "UPDATE project SET next_seq = new.next_seq, last_message_at = new.last_message_at,
                 lease_version = new.lease_version, acks = new.acks
             FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
                 AS new (id, next_seq, last_message_at, lease_version, acks)
             WHERE project.id = new.id",
            &[&ids, &told, &times, &leases, &acks],
        )
        .await
        .map(drop)
    }

    async fn write_events(&self, events: &[(ProjectId, Event)]) -> Outcome<()> {
        if events.is_empty() {
            return Ok(());
        }
        let numbers = |of: fn(&(ProjectId, Event)) -> i64| events.iter().map(of).collect::<Vec<i64>>();
        let (projects, seqs) = (numbers(|(project, _)| project.0), numbers(|(_, event)| event.seq));
        let (references, times) =
            (numbers(|(_, event)| event.reference), numbers(|(_, event)| event.at.as_microsecond()));
        let kinds: Vec<&str> = events.iter().map(|(_, event)| event.kind.as_str()).collect();
        let agents: Vec<Option<i64>> = events.iter().map(|(_, event)| event.agent.map(|agent| agent.0)).collect();
        self.execute(
            "INSERT INTO event (project_id, seq, kind, reference, agent_id, at)
             SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[])",
            &[&projects, &seqs, &kinds, &references, &agents, &times],
        )
        .await
        .map(drop)
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
