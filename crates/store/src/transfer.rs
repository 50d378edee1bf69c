//! Mail that comes or goes whole, and how much there is.

use std::collections::{BTreeMap, HashMap};

use mail::agents::Profile;
use mail::messages::{Delivery, Message};
use mail::transfer::{Counts, Imported, LARGEST_ID, Record, TransferStore};

use crate::messages::append::{Placed, insert};
use crate::messages::{BODY, COLUMNS, by_id, deliveries, size_of};
use crate::prelude::*;
use crate::{agents, channels, projects};

#[async_trait]
impl TransferStore for Engine {
    async fn export(&self, after: Option<MessageId>, limit: usize) -> Stored<Vec<Record>> {
        self.read("export messages", async |tx| export(tx, after, limit).await).await
    }

    async fn import(&self, records: &[Record], now: Timestamp) -> Stored<Vec<Imported>> {
        let records = records.to_vec();
        self.write_alone("import messages", in_job!(|tx| import(tx, &records, now).await)).await
    }

    async fn counts(&self, now: Timestamp) -> Stored<Counts> {
        let sql = "SELECT (SELECT count(*) FROM project), (SELECT count(*) FROM agent),
                          (SELECT count(*) FROM message), (SELECT count(*) FROM delivery),
                          (SELECT count(*) FROM reservation WHERE released_at IS NULL AND ends_at > ?1),
                          (SELECT CAST(coalesce(sum(next_seq - 1), 0) AS BIGINT) FROM project)";
        self.read("count what is kept", async |tx| tx.only(sql, values![now]).await).await
    }

    async fn check_ready(&self) -> Stored<()> {
        let look = "SELECT count(*) FROM migration";
        self.read("read from the store", async |tx| tx.exists(look, &[]).await).await?;
        match self {
            // An empty transaction takes the lock that writing needs, and puts nothing on the disk.
            Self::Sqlite(_) => self.write("write to the store", Home::Nobody, in_job!(|_tx| Ok(()))).await,
            Self::Postgres(store) => store.check_writable().await,
        }
    }
}

from_row! { Counts { projects, agents, messages, deliveries, reservations, events } }

async fn export(tx: &mut Tx<'_>, after: Option<MessageId>, limit: usize) -> Outcome<Vec<Record>> {
    let newest = tx.newest_settled().await?;
    // One moment, so that deliveries are as they were when the message was read.
    tx.begin_snapshot().await?;
    let sql = format!(
        "SELECT {COLUMNS}, {BODY}, p.human_key, p.slug FROM message m
         CROSS JOIN project p ON p.id = m.project_id
         WHERE m.id > ?1 AND m.id <= ?2 ORDER BY m.id LIMIT ?3"
    );
    let values = values![after.map_or(0, |id| id.0), newest, limit];
    let messages = tx.page(&sql, values, |(message, ..): &(Message, String, String)| size_of(message)).await?;
    let ids: Vec<MessageId> = messages.iter().map(|(message, ..)| message.id).collect();
    let mut by_message: BTreeMap<MessageId, Vec<Delivery>> = BTreeMap::new();
    for (message, delivery) in deliveries(tx, &ids).await? {
        by_message.entry(message).or_default().push(delivery);
    }
    let mut records = Vec::with_capacity(messages.len());
    for (message, human_key, slug) in messages {
        let deliveries = by_message.remove(&message.id).unwrap_or_default();
        let is_post = message.to.first().is_some_and(|to| to.starts_with(mail::channels::SIGN));
        let post = if is_post { channels::export(tx, message.id).await? } else { None };
        records.push(Record { human_key, slug, message, deliveries, post });
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
        let project = known.project_of(tx, record, now).await?;
        let (seq, _) = tx.next_place(project, record.message.created_at).await?;
        new.push((record, project, seq));
    }
    let placed: Vec<Placed<'_>> = new
        .iter()
        .map(|(record, project, seq)| Placed::of_record(record, *project, &known.agents[project], *seq))
        .collect();
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
    let mut newest: i64 = tx.only("SELECT coalesce(max(id), 0) FROM message", &[]).await?;
    let last_time = "SELECT last_message_at FROM project WHERE human_key = ?1";
    let mut new: HashMap<MessageId, &Record> = HashMap::new();
    let mut last_times: HashMap<&str, Timestamp> = HashMap::new();
    let mut answers = Vec::with_capacity(records.len());
    for record in records {
        let Message { id, created_at, .. } = record.message;
        let is_new = id.0 > newest;
        let fits = if is_new {
            let last = match last_times.get(record.human_key.as_str()) {
                Some(last) => *last,
                None => tx.row(last_time, values![&record.human_key]).await?.unwrap_or(Timestamp::UNIX_EPOCH),
            };
            id.0 <= LARGEST_ID && last < created_at
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
    agents: HashMap<ProjectId, HashMap<String, AgentId>>,
}

impl Known {
    /// The project of a record. It and the agents that the record names are made if they are not there.
    async fn project_of(&mut self, tx: &mut Tx<'_>, record: &Record, now: Timestamp) -> Outcome<ProjectId> {
        let project = match self.projects.get(&record.human_key) {
            Some(project) => *project,
            None => {
                let project = projects::ensure(tx, &record.human_key, record.wanted_slug(), now).await?.id;
                tx.lock_project(project).await?;
                self.projects.insert(record.human_key.clone(), project);
                project
            }
        };
        let agents = self.agents.entry(project).or_default();
        let recipients = record.deliveries.iter().map(|delivery| &delivery.recipient);
        for name in recipients.chain([&record.message.from]) {
            if !agents.contains_key(name) {
                let agent = match agents::by_name(tx, project, name).await? {
                    Some(agent) => agent,
                    None => agents::register(tx, project, name, &Profile::default(), now).await?,
                };
                agents.insert(name.clone(), agent.id);
            }
        }
        Ok(project)
    }
}
