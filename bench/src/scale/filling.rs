//! Much mail, quickly: rows made by PostgreSQL itself, as the store would have written them.
//!
//! Two connections insert in turn, without the indexes and without looking up what every row refers to; the indexes are built
//! afterwards. The result is what a server would find after a year of mail, but for what nobody measures here: channels,
//! reservations, work items and acknowledgements are left out.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use serde_json::{Value, json};

use crate::cluster::Session;
use crate::servers::town;
use crate::setting::progress;

/// How many messages are inserted with one statement.
const BATCH: u64 = 25_000;
/// How many connections fill, and build indexes.
const HANDS: usize = 2;
const YEAR: u64 = 365 * 24 * 3_600 * 1_000_000;

/// Rows refer to what is there: looking it up for each would take longer than writing it.
const SESSION: &str = "SET session_replication_role = replica; SET work_mem = '256MB'";
/// What is dropped before and made again afterwards, the slowest first: a name, how to drop it, how to make it.
const INDEXES: &str = "
    SELECT name, dropping, making FROM (
        SELECT indexname::text, 'DROP INDEX ' || indexname, indexdef FROM pg_indexes
        WHERE tablename IN ('message', 'delivery') AND NOT EXISTS (SELECT FROM pg_constraint WHERE conname = indexname)
        UNION ALL
        SELECT conname::text, format('ALTER TABLE %s DROP CONSTRAINT %s', conrelid::regclass, conname),
            format('ALTER TABLE %s ADD CONSTRAINT %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
        FROM pg_constraint WHERE contype = 'p' AND conrelid::regclass::text IN ('delivery', 'event')
    ) AS index (name, dropping, making)
    ORDER BY name = 'message_words' DESC, name";

/// How far it has come.
pub struct Filling {
    filled: u64,
    began_at: i64,
    /// Microseconds from one message to the next: the last is written now.
    step: i64,
}

impl Filling {
    /// A year of mail with so many messages.
    pub fn of(messages: u64) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64);
        Self { filled: 0, began_at: now - YEAR as i64, step: (YEAR / messages.max(1)) as i64 }
    }

    /// Makes the schema, the projects and agents that are filled, those that send while it is measured, and the words.
    pub fn prepare(&self, url: &str) -> anyhow::Result<()> {
        town::migrate(url)?;
        let session = Session::open(url)?;
        session.run(include_str!("people.sql"))?;
        session.run(include_str!("pool.sql"))?;
        town::move_in(url)
    }

    /// Fills in as many messages as are missing; tells how long it took.
    pub fn fill(&mut self, url: &str, size: u64) -> anyhow::Result<Value> {
        progress(format!("scale: filling in up to {size} messages"));
        let session = Session::open(url)?;
        let indexes = session.texts(INDEXES)?;
        for index in &indexes {
            session.run(&index[1])?;
        }
        let begun = Instant::now();
        self.insert(url, size)?;
        let inserted = begun.elapsed().as_secs_f64();
        progress(format!("scale: the rows took {inserted:.0} s; building the indexes"));
        build(url, &indexes)?;
        let built = begun.elapsed().as_secs_f64() - inserted;
        progress(format!("scale: the indexes took {built:.0} s"));
        session.run("VACUUM (ANALYZE)")?;
        let vacuumed = begun.elapsed().as_secs_f64() - inserted - built;
        Ok(json!({ "insert_seconds": inserted, "index_seconds": built, "vacuum_seconds": vacuumed }))
    }

    fn insert(&mut self, url: &str, size: u64) -> anyhow::Result<()> {
        let session = Session::open(url)?;
        let highest: i64 = session.value("SELECT coalesce(max(id), 0) FROM message")?;
        let (offset, turns) = (highest - self.filled as i64, self.filled as i64 / 200);
        let next = AtomicU64::new(self.filled);
        std::thread::scope(|scope| {
            let hand = || {
                let session = Session::open(url)?;
                session.run(SESSION)?;
                loop {
                    let first = next.fetch_add(BATCH, Ordering::Relaxed);
                    if first >= size {
                        return anyhow::Ok(());
                    }
                    let last = (first + BATCH).min(size) as i64;
                    // The same seed gives the same mail.
                    session.run(&format!("SELECT setseed({}::float8 / 1000000)", first / 1_000 % 1_000_000))?;
                    let first = first as i64 + 1;
                    let values: crate::cluster::Values<'_> =
                        &[&first, &last, &self.began_at, &self.step, &offset, &turns];
                    session.write(include_str!("fill.sql"), values)?;
                }
            };
            let hands: Vec<_> = (0..HANDS).map(|_| scope.spawn(hand)).collect();
            hands.into_iter().try_for_each(|hand| hand.join().map_err(|_| anyhow::anyhow!("a filler panicked"))?)
        })?;
        self.filled = size;
        session.write(
            "UPDATE project SET next_seq = next_seq + $1::bigint / 200 - $2::bigint,
                 last_message_at = $3::bigint + $1 * $4::bigint WHERE id <= 200",
            &[&(size as i64), &turns, &self.began_at, &self.step],
        )?;
        session.run("SELECT setval('message_number', (SELECT max(id) FROM message))")
    }
}

fn build(url: &str, indexes: &[Vec<String>]) -> anyhow::Result<()> {
    let waiting = Mutex::new(indexes.iter().rev().collect::<Vec<_>>());
    std::thread::scope(|scope| {
        let hand = || {
            let session = Session::open(url)?;
            session.run("SET session_replication_role = replica")?;
            loop {
                let Some(index) = waiting.lock().ok().and_then(|mut waiting| waiting.pop()) else {
                    return anyhow::Ok(());
                };
                session.run(&index[2]).with_context(|| format!("building {}", index[0]))?;
            }
        };
        let hands: Vec<_> = (0..HANDS).map(|_| scope.spawn(hand)).collect();
        hands.into_iter().try_for_each(|hand| hand.join().map_err(|_| anyhow::anyhow!("a builder panicked"))?)
    })
}

#[cfg(test)]
mod tests {
    use mail::agents::AgentStore;
    use mail::messages::{Appended, MessageStore, Role};
    use mail::projects::ProjectStore;
    use store::{Postgres, PostgresOptions};

    use super::*;
    use crate::cluster;
    use crate::mailboxes::{SampleMessage, accepted};

    #[test]
    fn what_is_filled_in_is_what_the_store_would_have_written() {
        let Some(cluster) = cluster::tests::started(&["fsync=off"]) else { return };
        let url = cluster.url("postgres");
        let mut filling = Filling::of(20_000);
        filling.prepare(&url).unwrap();
        for size in [10_000, 20_000] {
            filling.fill(&url, size).unwrap();
        }
        let session = Session::open(&url).unwrap();
        for (sql, expected) in [
            ("SELECT count(*) FROM message", 20_000),
            ("SELECT count(*) FROM message WHERE words @@ '''p7'' & ''bcase7'''::tsquery", 10),
            ("SELECT count(*) FROM message m WHERE NOT EXISTS (SELECT FROM delivery WHERE message_id = m.id)", 0),
            ("SELECT count(*) FROM delivery JOIN message ON id = message_id WHERE recipient_id = sender_id", 0),
            (
                "SELECT count(*) FROM project p WHERE next_seq <> 1 + (SELECT max(seq) FROM event WHERE project_id = p.id)",
                0,
            ),
            (
                "SELECT count(*) FROM project p WHERE next_seq <> 1 + (SELECT count(*) FROM event WHERE project_id = p.id)",
                0,
            ),
            (
                "SELECT count(*) FROM message m JOIN project p ON p.id = project_id WHERE m.created_at > last_message_at",
                0,
            ),
            (
                "SELECT count(*) FROM message m JOIN message f ON f.id::text = m.thread WHERE f.project_id <> m.project_id",
                0,
            ),
            ("SELECT count(*) FROM pg_indexes WHERE tablename IN ('message', 'delivery', 'event')", 18),
        ] {
            assert_eq!(session.value::<i64>(sql).unwrap(), expected, "{sql}");
        }
        let copies = kept_once_more(&session, &url);
        assert_eq!(copies.len(), 40);
        for (original, copy) in copies {
            let same = format!(
                "SELECT count(*) FROM message one JOIN message two USING (project_id, sender_id, importance, ack_required,
                     door, vouched, from_name, to_names, cc_names, subject, body)
                 WHERE one.id = {original} AND two.id = {copy} AND one.words::text = two.words::text"
            );
            assert_eq!(session.value::<i64>(&same).unwrap(), 1, "{original} is not {copy}");
        }
    }

    /// Has the store keep some of the mail once more; pairs of the numbers.
    fn kept_once_more(session: &Session, url: &str) -> Vec<(i64, i64)> {
        let sql = "SELECT id::text, project_id::text, from_name, to_names, subject, body FROM message
                   WHERE id % 499 = 0 ORDER BY id LIMIT 40";
        let rows = session.texts(sql).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = Postgres::open(url, &PostgresOptions::default()).await.unwrap();
            let mut pairs = Vec::new();
            for row in rows {
                let key = format!("/bench/filled/{}", row[1]);
                let home = store.ensure_project(&key, jiff::Timestamp::now()).await.unwrap();
                let agents = store.agents(home.id, None, 50).await.unwrap();
                let place = |name: &str| agents.iter().position(|agent| agent.name.as_str() == name).unwrap();
                let (subject, body) = (row[4].clone(), row[5].clone());
                let message = SampleMessage { sender: place(&row[2]), recipients: [0, 0], subject, body };
                let mut message = accepted(message, &agents);
                let recipient = |name| (agents[place(name)].id, agents[place(name)].name.clone(), Role::To);
                message.recipients = row[3].split('\n').map(recipient).collect();
                let Appended::New { id, .. } = store.append(&message).await.unwrap() else { panic!("it is new") };
                pairs.push((row[0].parse().unwrap(), id.0));
            }
            store.close().await;
            pairs
        })
    }
}
