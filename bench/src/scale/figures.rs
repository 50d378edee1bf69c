//! How a figure of a size is taken: latencies one call at a time, and what lies on the disk.

use std::time::{Duration, Instant};

use anyhow::ensure;
use serde_json::{Value, json};

use crate::cluster::Session;
use crate::process::Server;
use crate::samples::{Samples, millis};
use crate::setting::Setting;
use crate::wire::Request;

/// How many clients send.
pub const CLIENTS: usize = 64;
/// How much has been written ahead, in bytes.
pub const WAL: &str = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint";
/// What a search that took too long is refused with.
const TOO_SLOW: &str = "SEARCH_TOO_SLOW";

/// Asks in turn until the time is up, each question once at least.
///
/// A search that is refused because it took too long counts with the time that it took, and is counted by itself; any other
/// wrong answer ends the run.
pub fn latencies(setting: &Setting, server: &Server, requests: &[Request]) -> anyhow::Result<Value> {
    ensure!(!requests.is_empty(), "there is nothing to ask");
    let mut caller = server.caller()?;
    let (mut durations, mut refused) = (Vec::new(), 0_usize);
    let end = Instant::now() + setting.pace.measured;
    let mut asked: usize = 0;
    while asked < requests.len() || Instant::now() < end {
        let begun = Instant::now();
        match caller.ask(&requests[asked % requests.len()]) {
            Ok(_) => {}
            Err(error) if format!("{error:#}").contains(TOO_SLOW) => refused += 1,
            Err(error) => return Err(error),
        }
        durations.push(begun.elapsed());
        asked += 1;
    }
    let first: Samples = durations.iter().take(requests.len()).copied().collect();
    let mut figures = percentiles(&durations.into_iter().collect());
    // Nobody has asked before: PostgreSQL may have to go to the disk for it.
    figures["first_p99_ms"] = json!(rounded(first.percentile(0.99)));
    if refused > 0 {
        figures["too_slow"] = json!(refused);
    }
    Ok(figures)
}

/// The median, the 99th of a hundred, and of how many.
pub fn percentiles(samples: &Samples) -> Value {
    let [p50, p99] = [0.5, 0.99].map(|share| rounded(samples.percentile(share)));
    json!({ "p50_ms": p50, "p99_ms": p99, "count": samples.count() })
}

fn rounded(duration: Duration) -> f64 {
    (millis(duration) * 1_000.0).round() / 1_000.0
}

/// The bytes of each table that grows with mail, and of each of its indexes.
pub fn tables(session: &Session) -> anyhow::Result<Value> {
    let mut tables = json!({});
    for table in ["message", "delivery", "event"] {
        // Long texts lie beside the table and belong to it.
        let bytes: i64 = session.value(&format!("SELECT pg_table_size('{table}')"))?;
        let rows: i64 = session.value(&format!("SELECT count(*) FROM {table}"))?;
        let mut indexes = json!({});
        let sql = format!(
            "SELECT indexname::text, pg_relation_size(indexname::regclass)::text FROM pg_indexes
             WHERE tablename = '{table}' ORDER BY 1"
        );
        for row in session.texts(&sql)? {
            indexes[&row[0]] = json!(row[1].parse::<i64>()?);
        }
        tables[table] = json!({ "rows": rows, "bytes": bytes, "indexes": indexes });
    }
    Ok(tables)
}
