//! Mail that comes or goes whole, and how much there is.

use std::collections::{BTreeMap, HashMap};

use async_trait::async_trait;
use futures_util::FutureExt;
use jiff::Timestamp;
use mail::StoreError;
use mail::agents::Profile;
use mail::ids::{AgentId, MessageId, ProjectId};
use mail::messages::{Delivery, Message};
use mail::transfer::{Counts, Imported, LARGEST_ID, Record, TransferStore};

use crate::error::Outcome;
use crate::job::work;
use crate::messages::append::insert;
use crate::messages::{AFTER_BODY, BODY, COLUMNS, by_id, deliveries, message_of};
use crate::placed::Placed;
use crate::row::{Row, values};
use crate::tx::Tx;
use crate::{Engine, agents, channels, projects};

#[async_trait]
impl TransferStore for Engine {
    async fn export(&self, after: Option<MessageId>, limit: usize) -> Result<Vec<Record>, StoreError> {
        self.read("export messages", async |tx| export(tx, after, limit).await).await
    }

    async fn import(&self, records: &[Record], now: Timestamp) -> Result<Vec<Imported>, StoreError> {
        let records = records.to_vec();
        let importing = work(move |tx| async move { import(tx, &records, now).await }.boxed());
        self.write_alone("import messages", importing).await
    }

    async fn counts(&self, now: Timestamp) -> Result<Counts, StoreError> {
        let sql = "SELECT (SELECT count(*) FROM project), (SELECT count(*) FROM agent),
                          (SELECT count(*) FROM message), (SELECT count(*) FROM delivery),
                          (SELECT count(*) FROM reservation WHERE released_at IS NULL AND ends_at > ?1),
                          (SELECT CAST(coalesce(sum(next_seq - 1), 0) AS BIGINT) FROM project)";
        let counts_of = |row: &Row<'_>| {
            Ok(Counts {
                projects: row.get(0)?,
                agents: row.get(1)?,
                messages: row.get(2)?,
                deliveries: row.get(3)?,
                leases: row.get(4)?,
                events: row.get(5)?,
            })
        };
        let counts = self.read("count what is kept", async |tx| tx.row(sql, values![now], counts_of).await).await?;
        Ok(counts.expect("counts have a row"))
    }

    async fn check_ready(&self) -> Result<(), StoreError> {
        let look = "SELECT count(*) FROM migration";
        self.read("read from the store", async |tx| tx.exists(look, &[]).await).await?;
        match self {
            // An empty transaction takes the lock that writing needs, and puts nothing on the disk.
            Self::Sqlite(store) => store.write("write to the store", |_| async { Ok(()) }.boxed()).await,
            Self::Postgres(store) => store.check_writable().await,
        }
    }
}

async fn export(tx: &mut Tx<'_>, after: Option<MessageId>, limit: usize) -> Outcome<Vec<Record>> {
    let newest = tx.newest_settled().await?;
    // One moment, so that copies are as they were when the message was read.
    tx.begin_snapshot().await?;
    let sql = format!(
        "SELECT {COLUMNS}, {BODY}, p.human_key, p.slug FROM message m
         CROSS JOIN project p ON p.id = m.project_id
         WHERE m.id > ?1 AND m.id <= ?2 ORDER BY m.id LIMIT ?3"
    );
    let record_of = |row: &Row<'_>| {
        Ok(Record {
            human_key: row.get(AFTER_BODY)?,
            slug: row.get(AFTER_BODY + 1)?,
            message: message_of(row)?,
            deliveries: Vec::new(),
            post: None,
        })
    };
    let values = values![after.map_or(0, |id| id.0), newest, limit];
    let mut records = tx.page(&sql, values, record_of, Record::bytes).await?;
    let ids: Vec<MessageId> = records.iter().map(|record| record.message.id).collect();
    let mut copies: BTreeMap<MessageId, Vec<Delivery>> = BTreeMap::new();
    for (message, copy) in deliveries(tx, &ids).await? {
        copies.entry(message).or_default().push(copy);
    }
    for record in &mut records {
        record.deliveries = copies.remove(&record.message.id).unwrap_or_default();
        if record.message.to.first().is_some_and(|to| to.starts_with(mail::channels::SIGN)) {
            record.post = channels::export(tx, record.message.id).await?;
        }
    }
    tx.end_snapshot().await?;
    Ok(records)
}

/// Imports all of it, or nothing if there is a clash, which is then the last answer.
async fn import(tx: &mut Tx<'_>, records: &[Record], now: Timestamp) -> Outcome<Vec<Imported>> {
    let answers = foresee(tx, records).await?;
    if answers.last() == Some(&Imported::Clash) {
        return Ok(answers);
    }
    let (mut known, mut new) = (Known::default(), Vec::new());
    for (record, _) in records.iter().zip(&answers).filter(|(_, answer)| **answer == Imported::New) {
        let (project, agents) = known.people_of(tx, record, now).await?;
        let (seq, _) = tx.next_place(project, record.message.created_at).await?;
        new.push((record, project, agents, seq));
    }
    let placed: Vec<Placed<'_>> =
        new.iter().map(|(record, project, agents, seq)| Placed::of_record(record, *project, agents, *seq)).collect();
    insert(tx, &placed, []).await?;
    if let Some(newest) = placed.last() {
        tx.pass_number(newest.id).await?;
    }
    for (placed, (record, ..)) in placed.iter().zip(&new) {
        if let Some(post) = &record.post {
            channels::insert(tx, placed, post, now).await?;
        }
    }
    Ok(answers)
}

/// What will become of each record, up to the first clash. Nothing is written.
async fn foresee(tx: &mut Tx<'_>, records: &[Record]) -> Outcome<Vec<Imported>> {
    let mut newest: i64 = tx.one("SELECT coalesce(max(id), 0) FROM message", &[]).await?.unwrap_or(0);
    let mut new: HashMap<MessageId, &Record> = HashMap::new();
    let mut last_times: HashMap<&str, Timestamp> = HashMap::new();
    let mut answers = Vec::with_capacity(records.len());
    for record in records {
        let Message { id, created_at, .. } = record.message;
        let is_new = id.0 > newest;
        let fits = if is_new {
            let last = last_time(tx, &mut last_times, &record.human_key).await?;
            id.0 <= LARGEST_ID && *last < created_at
        } else {
            match new.get(&id) {
                Some(earlier) => earlier.human_key == record.human_key && is_same(&earlier.message, &record.message),
                None => is_there(tx, record).await?,
            }
        };
        answers.push(match (fits, is_new) {
            (true, true) => Imported::New,
            (true, false) => Imported::AlreadyThere,
            (false, _) => Imported::Clash,
        });
        if !fits {
            break;
        }
        if is_new {
            newest = id.0;
            new.insert(id, record);
            last_times.insert(&record.human_key, created_at);
        }
    }
    Ok(answers)
}

/// The time of the newest message of a project; the epoch if there is none.
async fn last_time<'m, 'r>(
    tx: &mut Tx<'_>,
    known: &'m mut HashMap<&'r str, Timestamp>,
    human_key: &'r str,
) -> Outcome<&'m Timestamp> {
    if !known.contains_key(human_key) {
        let sql = "SELECT last_message_at FROM project WHERE human_key = ?1";
        known.insert(human_key, tx.one(sql, values![human_key]).await?.unwrap_or(Timestamp::UNIX_EPOCH));
    }
    Ok(&known[human_key])
}

/// Whether the record's message is here, under its number and unchanged.
async fn is_there(tx: &mut Tx<'_>, record: &Record) -> Outcome<bool> {
    let Some(kept) = by_id(tx, record.message.id).await? else { return Ok(false) };
    let Some(project) = projects::by_path(tx, &record.human_key).await? else { return Ok(false) };
    Ok(kept.project == project.id && is_same(&kept, &record.message))
}

/// Whether two messages are the same, but for the number of the project, which is another store's.
fn is_same(kept: &Message, other: &Message) -> bool {
    *kept == Message { project: kept.project, ..other.clone() }
}

/// The projects and agents that records of one import were found to name.
#[derive(Default)]
struct Known {
    projects: HashMap<String, ProjectId>,
    agents: HashMap<(ProjectId, String), AgentId>,
}

impl Known {
    async fn people_of<'r>(
        &mut self,
        tx: &mut Tx<'_>,
        record: &'r Record,
        now: Timestamp,
    ) -> Outcome<(ProjectId, HashMap<&'r str, AgentId>)> {
        let project = match self.projects.get(&record.human_key) {
            Some(project) => *project,
            None => {
                let project = projects::ensure(tx, &record.human_key, record.wanted_slug(), now).await?.id;
                tx.lock_project(project).await?;
                self.projects.insert(record.human_key.clone(), project);
                project
            }
        };
        let recipients = record.deliveries.iter().map(|copy| copy.recipient.as_str());
        let mut agents = HashMap::new();
        for name in recipients.chain([record.message.from.as_str()]) {
            let place = (project, name.to_owned());
            let agent = match self.agents.get(&place) {
                Some(agent) => *agent,
                None => {
                    let agent = match agents::by_name(tx, project, name).await? {
                        Some(agent) => agent,
                        None => agents::register(tx, project, name, &Profile::default(), now).await?,
                    };
                    *self.agents.entry(place).or_insert(agent.id)
                }
            };
            agents.insert(name, agent);
        }
        Ok((project, agents))
    }
}
