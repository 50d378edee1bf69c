//! Much mail, quickly: rows made by PostgreSQL itself, as the store would have written them.
//!
//! Two connections insert in turn, without the indexes and without looking up what every row refers to; the indexes are built
//! afterwards. The result is what a server would find after a year of mail, but for what nobody measures here: channels,
//! leases, work items and acknowledgements are left out.

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
        let offset = highest - self.filled as i64;
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
                    let values: crate::cluster::Values<'_> = &[&first, &last, &self.began_at, &self.step, &offset];
                    session.write(include_str!("fill.sql"), values)?;
                }
            };
            let hands: Vec<_> = (0..HANDS).map(|_| scope.spawn(hand)).collect();
            hands.into_iter().try_for_each(|hand| hand.join().map_err(|_| anyhow::anyhow!("a filler panicked"))?)
        })?;
        self.filled = size;
        session.write(
            "UPDATE project SET next_seq = 1 + $1::bigint / 200, last_message_at = $2::bigint + $1 * $3::bigint
             WHERE id <= 200",
            &[&(size as i64), &self.began_at, &self.step],
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
