//! Mail that comes or goes whole, and how much there is, in PostgreSQL.

use std::collections::{BTreeMap, HashMap};

use async_trait::async_trait;
use deadpool_postgres::GenericClient;
use jiff::Timestamp;
use mail::StoreError;
use mail::agents::Profile;
use mail::ids::{AgentId, MessageId, ProjectId};
use mail::messages::{Delivery, Message};
use mail::projects::Project;
use mail::transfer::{Counts, Imported, LARGEST_ID, Record, TransferStore};
use tokio_postgres::Row;

use super::desk::Desk;
use super::messages::append::insert;
use super::messages::deliveries;
use super::rows::{self, AFTER_BODY, BODY, COLUMNS, Outcome, limit_of, message_of, only};
use super::writer::{Lost, longest_step};
use super::{Held, Postgres, agents, channels, projects, taken};
use crate::placed::Placed;

/// Keeps everybody else from writing until the end of the transaction: whoever writes has locked a project's row.
pub(super) const ALONE: &str = "LOCK TABLE project IN EXCLUSIVE MODE";

#[async_trait]
impl TransferStore for Postgres {
    async fn export(&self, after: Option<MessageId>, limit: usize) -> Result<Vec<Record>, StoreError> {
        let records = async {
            let mut client = taken(&self.readers).await?;
            let newest = settled(&mut client).await?;
            // One snapshot, so that copies are as they were when the message was read.
            let snapshot = rows::snapshot(&mut client).await?;
            export(&snapshot, after.map_or(0, |id| id.0), newest, limit).await
        };
        self.answered("export messages", records).await
    }

    async fn import(&self, records: &[Record], now: Timestamp) -> Result<Vec<Imported>, StoreError> {
        let doing = "import messages";
        let written = async {
            let mut desk = Desk::begin(Held::of(taken(&self.readers).await?), &[], 0).await?;
            let answers = import(&mut desk, records, now).await;
            match answers {
                Ok(answers) if answers.last() != Some(&Imported::Clash) => {
                    desk.write_gathered().await?;
                    Ok((answers, Some(desk)))
                }
                refused => {
                    desk.roll_back().await;
                    refused.map(|answers| (answers, None))
                }
            }
        };
        let (answers, desk) = self.answered(doing, written).await?;
        let Some(mut desk) = desk else { return Ok(answers) };
        let committed = desk.commit_within(longest_step(self.options.statement_deadline), &self.pulse.felt()).await;
        committed.map_err(|(cause, is_in_doubt)| Lost { cause, is_in_doubt }.told(doing))?;
        Ok(answers)
    }

    async fn counts(&self, now: Timestamp) -> Result<Counts, StoreError> {
        let sql = "SELECT (SELECT count(*) FROM project), (SELECT count(*) FROM agent),
                          (SELECT count(*) FROM message), (SELECT count(*) FROM delivery),
                          (SELECT count(*) FROM reservation WHERE released_at IS NULL AND ends_at > $1),
                          (SELECT coalesce(sum(next_seq - 1), 0)::bigint FROM project)";
        let counts = |row: &Row| {
            let count = |column: usize| Ok::<_, rows::Trouble>(row.try_get::<_, i64>(column)?.unsigned_abs());
            Ok(Counts {
                projects: count(0)?,
                agents: count(1)?,
                messages: count(2)?,
                deliveries: count(3)?,
                leases: count(4)?,
                events: count(5)?,
            })
        };
        Ok(self.read_as("count what is kept", sql, &[&now.as_microsecond()], counts).await?.remove(0))
    }

    async fn check_ready(&self) -> Result<(), StoreError> {
        // A standby reads and does not write; an advisory lock is taken by writers only.
        let sql = "SELECT count(*), pg_is_in_recovery() FROM migration";
        let is_standby = self.read_as("read from the store", sql, &[], |row| Ok(row.try_get::<_, bool>(1)?)).await?;
        match is_standby.first() {
            Some(true) => {
                let cause = "the server is a standby that only reads".to_owned();
                Err(StoreError::Away { doing: "write to the store", cause })
            }
            _ => Ok(()),
        }
    }
}

/// The newest message such that all before it are there. A number is taken before its message is committed, so this
/// waits, for a moment, for those who are just writing.
async fn settled(client: &mut deadpool_postgres::Object) -> Outcome<i64> {
    let moment = client.transaction().await?;
    moment.batch_execute(ALONE).await?;
    let rows = rows::rows(&moment, "SELECT coalesce(max(id), 0) FROM message", &[]).await?;
    moment.commit().await?;
    Ok(only(&rows)?.unwrap_or_default())
}

async fn export(client: &impl GenericClient, after: i64, newest: i64, limit: usize) -> Outcome<Vec<Record>> {
    let sql = format!(
        "SELECT {COLUMNS}, {BODY}, p.human_key, p.slug FROM message m JOIN project p ON p.id = m.project_id
         WHERE m.id > $1 AND m.id <= $2 ORDER BY m.id LIMIT $3"
    );
    let record = |row: &Row| {
        Ok(Record {
            human_key: row.try_get(AFTER_BODY)?,
            slug: row.try_get(AFTER_BODY + 1)?,
            message: message_of(row)?,
            deliveries: Vec::new(),
            post: None,
        })
    };
    let values: super::Values<'_> = &[&after, &newest, &limit_of(limit)];
    let mut records = rows::page(client, &sql, values, record, Record::bytes).await?;
    let ids: Vec<i64> = records.iter().map(|record| record.message.id.0).collect();
    let mut copies = copies_of(client, &ids).await?;
    for record in &mut records {
        record.deliveries = copies.remove(&record.message.id.0).unwrap_or_default();
        if record.message.to.first().is_some_and(|to| to.starts_with(mail::channels::SIGN)) {
            record.post = channels::export(client, record.message.id).await?;
        }
    }
    Ok(records)
}

async fn copies_of(client: &impl GenericClient, ids: &[i64]) -> Outcome<BTreeMap<i64, Vec<Delivery>>> {
    let mut copies: BTreeMap<i64, Vec<Delivery>> = BTreeMap::new();
    for (message, copy) in deliveries(client, ids).await? {
        copies.entry(message).or_default().push(copy);
    }
    Ok(copies)
}

/// Imports all of it; after a clash, which is then the last answer, it has to be taken back.
async fn import(desk: &mut Desk, records: &[Record], now: Timestamp) -> Outcome<Vec<Imported>> {
    desk.client.batch_execute(ALONE).await?;
    let mut newest: i64 = only(&desk.rows("SELECT coalesce(max(id), 0) FROM message", &[]).await?)?.unwrap_or_default();
    let (mut answers, mut new) = (Vec::with_capacity(records.len()), Vec::new());
    let mut known = Known::default();
    for record in records {
        let id = record.message.id.0;
        let answer = if id <= newest {
            let is_there = is_there(desk, record).await?;
            if is_there { Imported::AlreadyThere } else { Imported::Clash }
        } else if id > LARGEST_ID {
            Imported::Clash
        } else {
            let (project, agents) = known.people_of(desk, record, now).await?;
            let numbers = desk.numbers(project)?;
            if numbers.has_come_to(record.message.created_at) {
                let seq = numbers.next_seq();
                newest = id;
                new.push((record, project, agents, seq));
                Imported::New
            } else {
                Imported::Clash
            }
        };
        answers.push(answer);
        if answer == Imported::Clash {
            return Ok(answers);
        }
    }
    let placed: Vec<Placed<'_>> =
        new.iter().map(|(record, project, agents, seq)| Placed::of_record(record, *project, agents, *seq)).collect();
    insert(desk, &placed).await?;
    for (placed, (record, ..)) in placed.iter().zip(&new) {
        if let Some(post) = &record.post {
            channels::insert(desk, placed, post, now).await?;
        }
    }
    let sql = "SELECT setval('message_number', greatest($1, (SELECT last_value FROM message_number)))";
    if newest > 0 {
        desk.rows(sql, &[&newest]).await?;
    }
    Ok(answers)
}

/// The projects and agents that records of one import were found to name.
#[derive(Default)]
struct Known {
    projects: HashMap<String, Project>,
    agents: HashMap<(ProjectId, String), AgentId>,
}

impl Known {
    async fn people_of<'a>(
        &mut self,
        desk: &mut Desk,
        record: &'a Record,
        now: Timestamp,
    ) -> Outcome<(ProjectId, HashMap<&'a str, AgentId>)> {
        let project = match self.projects.get(&record.human_key) {
            Some(project) => project.id,
            None => {
                let project = projects::ensure(desk, &record.human_key, record.wanted_slug(), now).await?;
                desk.open(project.id).await?;
                self.projects.entry(record.human_key.clone()).or_insert(project).id
            }
        };
        let recipients = record.deliveries.iter().map(|copy| copy.recipient.as_str());
        let mut agents = HashMap::new();
        for name in recipients.chain([record.message.from.as_str()]) {
            let place = (project, name.to_owned());
            let agent = match self.agents.get(&place) {
                Some(agent) => *agent,
                None => {
                    let agent = match agents::by_name(desk, project, name).await? {
                        Some(agent) => agent,
                        None => agents::register(desk, project, name, &Profile::default(), now).await?,
                    };
                    *self.agents.entry(place).or_insert(agent.id)
                }
            };
            agents.insert(name, agent);
        }
        Ok((project, agents))
    }
}

/// Whether the record's message is here, under its number and unchanged.
async fn is_there(desk: &Desk, record: &Record) -> Outcome<bool> {
    let sql = format!(
        "SELECT {COLUMNS}, {BODY} FROM message m JOIN project p ON p.id = m.project_id
         WHERE m.id = $1 AND p.human_key = $2"
    );
    let rows = desk.rows(&sql, &[&record.message.id.0, &record.human_key]).await?;
    let kept = rows.first().map(message_of).transpose()?;
    // The number of the project is the other store's, and tells nothing here.
    Ok(kept.is_some_and(|kept| kept == Message { project: kept.project, ..record.message.clone() }))
}
