//! The ceilings: what `pgbench`, PostgreSQL's own load generator, does with the same rows over the same schema.
//!
//! No HTTP, no rules, nothing of Postrider but its tables. Each script is one transaction in one round trip, with prepared
//! statements, which is the most that a client can do that commits each message by itself. The texts lie in a table
//! beforehand, so that pgbench does not even send them.

use std::time::Duration;

use anyhow::{Context, ensure};

use super::town::{MESSAGES, Town};

/// A send with the lock of its project.
pub const LOCKED: &str = include_str!("locked.sql");
/// The rows of a send without any lock.
pub const PLAIN: &str = include_str!("plain.sql");
/// An inbox of twenty with bodies.
pub const INBOX: &str = include_str!("inbox.sql");

/// What pgbench came to.
pub struct Ceiling {
    /// Transactions in a second.
    pub per_second: f64,
    /// All transactions of the run.
    pub done: usize,
}

/// Runs a script with so many clients for so long, over a database of `town`.
pub fn pgbench(
    town: &Town,
    database: &str,
    script: &str,
    projects: usize,
    clients: usize,
    measured: Duration,
) -> anyhow::Result<Ceiling> {
    let file = town.cluster.folder().join("script.sql");
    std::fs::write(&file, script)?;
    let mut command = town.cluster.client("pgbench");
    command.args(["-n", "-M", "prepared", "-j", "2", "-c", &clients.to_string()]);
    command.args(["-T", &measured.as_secs().max(1).to_string()]);
    command.args(["-D", &format!("projects={projects}"), "-D", &format!("letters={MESSAGES}"), "-f"]);
    let done = command.arg(file).arg(database).output().context("cannot run pgbench")?;
    let told = String::from_utf8_lossy(&done.stdout);
    ensure!(done.status.success(), "pgbench failed: {}", String::from_utf8_lossy(&done.stderr));
    read(&told).with_context(|| format!("pgbench said: {told}"))
}

fn read(told: &str) -> Option<Ceiling> {
    let after = |label: &str| told.lines().find_map(|line| line.strip_prefix(label));
    // A transaction that failed was not done, and its rate means nothing.
    let is_clean = after("number of failed transactions: ").is_none_or(|failed| failed.starts_with("0 "));
    let per_second = after("tps = ")?.split(' ').next()?.parse().ok()?;
    let done = after("number of transactions actually processed: ")?.split('/').next()?.parse().ok()?;
    is_clean.then_some(Ceiling { per_second, done })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pgbench_says_is_read_unless_a_transaction_failed() {
        let told = "number of transactions actually processed: 8021\n\
                    number of failed transactions: 0 (0.000%)\n\
                    latency average = 7.9 ms\ntps = 8044.512 (without initial connection time)\n";
        let ceiling = read(told).expect("it says all");
        assert_eq!((ceiling.done, ceiling.per_second), (8021, 8044.512));
        assert!(read(&told.replace("failed transactions: 0", "failed transactions: 3")).is_none());
        assert!(read("pgbench: error").is_none());
    }
}
