//! The post office that many servers serve: sixteen projects of fifty agents, and the mail they send.
//!
//! It is made once, by the store itself, and kept as a template: every load begins with a copy of it, so that none finds
//! more than another.

use std::ops::Range;
use std::sync::Arc;

use anyhow::{Context, ensure};
use jiff::Timestamp;
use mail::agents::{Agent, AgentName, AgentStore, Profile, Taking};
use mail::messages::{MessageStore, NewMessage};
use mail::projects::ProjectStore;
use serde_json::json;
use store::{Engine, Postgres, PostgresOptions};
use tokio::task::JoinSet;

use crate::cluster::{Cluster, Session};
use crate::mailboxes::{PROJECT, SampleMessage, accepted, agents, messages};
use crate::text::Chance;
use crate::wire::Request;

/// How many projects there are.
pub const PROJECTS: usize = 16;
/// Different messages to send, so that the index does not see the same text all the time.
pub const MESSAGES: usize = 1_024;
/// As many writes wait at once as the store commits at once.
const WRITERS: usize = 256;
const TEMPLATE: &str = "template_town";

/// The post office, of which copies are made.
pub struct Town {
    /// Where it is.
    pub cluster: Cluster,
}

impl Town {
    /// Makes the template.
    pub fn found(cluster: Cluster) -> anyhow::Result<Self> {
        let town = Self { cluster };
        let admin = town.session("postgres")?;
        admin.run(&format!("CREATE DATABASE {TEMPLATE}"))?;
        move_in(&town.cluster.url(TEMPLATE))?;
        let session = town.session(TEMPLATE)?;
        let last: i64 = session.value("SELECT max(id) FROM agent")?;
        ensure!(last == (PROJECTS * agents().len()) as i64, "the last agent has the number {last}");
        keep_messages(&session)?;
        Ok(town)
    }

    /// A connection to one of its databases.
    pub fn session(&self, database: &str) -> anyhow::Result<Session> {
        Session::open(&self.cluster.url(database))
    }

    /// A database with the projects and agents and no mail. One of that name goes.
    pub fn fresh(&self, name: &str) -> anyhow::Result<String> {
        let admin = self.session("postgres")?;
        admin.run(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))?;
        admin.run(&format!("CREATE DATABASE {name} TEMPLATE {TEMPLATE}"))?;
        admin.run("CHECKPOINT")?;
        Ok(self.cluster.url(name))
    }

    /// Makes sure that a database holds as many messages as were accepted.
    pub fn check_count(&self, name: &str, accepted: usize) -> anyhow::Result<()> {
        let session = self.session(name)?;
        for counted in ["message", "delivery WHERE position = 1", "event WHERE kind = 'message.sent'"] {
            let kept: i64 = session.value(&format!("SELECT count(*) FROM {counted}"))?;
            ensure!(kept == accepted as i64, "{accepted} messages were accepted, but {kept} are in {counted}");
        }
        Ok(())
    }
}

/// The key of a project.
pub fn project(number: usize) -> String {
    if number == 0 { PROJECT.to_owned() } else { format!("{PROJECT}-{number}") }
}

/// Calls that send, each in one of these projects.
pub fn sends(projects: Range<usize>) -> Arc<[Request]> {
    let names = agents();
    let mut chance = Chance::new(7);
    let call = |message: SampleMessage| {
        let mut arguments = message.arguments(&names);
        arguments["project_key"] = json!(project(projects.start + chance.below(projects.len())));
        Request::call("send_message", &arguments)
    };
    messages(MESSAGES, MESSAGES).map(call).collect()
}

/// Makes the schema.
pub fn migrate(url: &str) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        Postgres::open(url, &PostgresOptions::default()).await?.close().await;
        Ok(())
    })
}

/// Makes the schema, the projects and their agents, by way of the store.
pub fn move_in(url: &str) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let store = Postgres::open(url, &PostgresOptions::default()).await?;
        let now = Timestamp::now();
        for number in 0..PROJECTS {
            let home = store.ensure_project(&project(number), now).await?;
            for name in agents() {
                let (name, profile) = (AgentName::parse(&name)?, Profile::default());
                let taken = store.register(home.id, &name, &profile, None, Taking::NewOnly, now).await?;
                taken.context("a name is taken")?;
            }
        }
        store.close().await;
        Ok(())
    })
}

/// The agents of the first so many projects, as the store knows them.
pub async fn residents(store: &Engine, projects: usize) -> anyhow::Result<Vec<Vec<Agent>>> {
    let mut all = Vec::with_capacity(projects);
    for number in 0..projects {
        let home = store.ensure_project(&project(number), Timestamp::now()).await?;
        all.push(store.agents(home.id, None, agents().len()).await?);
    }
    Ok(all)
}

/// Files so many messages in all projects, by way of the store.
pub fn fill(url: &str, count: usize) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let store = Arc::new(Postgres::open(url, &PostgresOptions::default()).await?);
        let residents = residents(&store, PROJECTS).await?;
        let mut waiting = JoinSet::new();
        for (number, message) in messages(count, count).enumerate() {
            if waiting.len() >= WRITERS {
                waiting.join_next().await.context("some wait")???;
            }
            let message: NewMessage = accepted(message, &residents[number % PROJECTS]);
            let store = store.clone();
            waiting.spawn(async move { store.append(&message).await });
        }
        while let Some(appended) = waiting.join_next().await {
            appended??;
        }
        store.close().await;
        Ok(())
    })
}

/// Puts the messages where pgbench finds them.
fn keep_messages(session: &Session) -> anyhow::Result<()> {
    session.run(
        "CREATE TABLE bench_letter (n INTEGER PRIMARY KEY, subject TEXT NOT NULL, body TEXT NOT NULL, words TEXT NOT NULL)",
    )?;
    for (number, message) in (0_i32..).zip(messages(MESSAGES, MESSAGES)) {
        let words = words(&message);
        let sql = "INSERT INTO bench_letter (n, subject, body, words) VALUES ($1, $2, $3, $4)";
        session.write(sql, &[&number, &message.subject, &message.body, &words])?;
    }
    session.run("ANALYZE bench_letter")
}

/// What a message is found by, but for its project and its sender, as the store writes it. Messages are plain ASCII.
fn words(message: &SampleMessage) -> String {
    let mut all: Vec<String> = Vec::new();
    for (field, text) in [('s', &message.subject), ('b', &message.body)] {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        all.extend(words.map(|word| format!("'{field}{}'", word.to_ascii_lowercase())));
    }
    all.sort_unstable();
    all.dedup();
    all.join(" ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::cluster;
    use crate::servers::SETTINGS;
    use crate::servers::ceilings::{LOCKED, PLAIN, pgbench};

    /// All that is written of sends, but for numbers and times, and for what pgbench draws by chance.
    const WRITTEN: &str = r"
        SELECT DISTINCT m.importance::text, m.ack_required::text, coalesce(m.reply_to::text, ''),
            (m.thread = m.id::text)::text, coalesce(m.kind, ''), coalesce(m.work_id, ''), m.door, m.vouched,
            (m.from_name = sender.name)::text, m.cc_names, (letter.n IS NOT NULL)::text,
            (m.words = ('''p' || m.project_id || ''' ''a' || m.sender_id || ''' ' || letter.words)::tsvector)::text,
            (m.to_names = (SELECT string_agg(a.name, E'\n' ORDER BY position) FROM delivery d
                JOIN agent a ON a.id = d.recipient_id WHERE d.message_id = m.id))::text,
            (SELECT string_agg(concat_ws(',', role, position, ack_required, coalesce(kind, '-'), ack_note,
                coalesce(shown_at, read_at, acked_at, archived_at, 0)), ';' ORDER BY position)
                FROM delivery d WHERE d.message_id = m.id),
            (SELECT string_agg(concat_ws(',', e.kind, e.project_id = m.project_id, e.agent_id = m.sender_id), ';')
                FROM event e WHERE e.reference = m.id AND e.kind = 'message.sent')
        FROM message m JOIN agent sender ON sender.id = m.sender_id
        LEFT JOIN bench_letter letter ON letter.subject = m.subject AND letter.body = m.body";

    #[test]
    fn the_rows_of_pgbench_are_those_that_the_store_writes() {
        let Some(cluster) = cluster::tests::started(SETTINGS) else { return };
        let town = Town::found(cluster).unwrap();
        let written = |name: &str| town.session(name).unwrap().texts(WRITTEN).unwrap();
        fill(&town.fresh("store").unwrap(), MESSAGES).unwrap();
        let ours = written("store");
        assert_eq!(ours.len(), 1, "{ours:?}");
        for script in [LOCKED, PLAIN] {
            town.fresh("bare").unwrap();
            let done = pgbench(&town, "bare", script, PROJECTS, 4, Duration::from_secs(1)).unwrap().done;
            assert!(done > 0);
            town.check_count("bare", done).unwrap();
            assert_eq!(written("bare"), ours);
        }
    }
}
