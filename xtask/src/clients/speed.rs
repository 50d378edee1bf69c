//! How long an idle client takes from a send to the first question of its turn.
//!
//! The clock starts at the time that the message bears, which it is given in its transaction: so the commit is counted in. Clients take
//! turns, so that none is measured while another works, and each has had time to become idle again.

use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use jiff::Timestamp;
use serde_json::Value;

use super::bench::Bench;
use super::promises::idle;
use super::results::Speed;
use super::table::Row;
use super::terminal::Terminal;
use super::workplace::{OTHER, Place, heard};
use crate::process::{Group, timed};

const LIMIT: Duration = Duration::from_secs(60);
/// Between two sends to a client: an agent is woken at most every ten seconds.
const BETWEEN_SENDS: Duration = Duration::from_secs(12);

/// An idle client, and how long it took so far.
struct Idle {
    row: &'static Row,
    terminal: Terminal,
    _server: Group,
    place: Place,
    times: Vec<u64>,
}

/// Wakes each client that often, and tells how long it took.
pub fn measure(bench: &Bench, rows: &[&'static Row], rounds: u64) -> Result<Vec<(&'static Row, Speed)>> {
    let mut clients = rows.iter().map(|row| Idle::open(bench, row)).collect::<Result<Vec<_>>>()?;
    for round in 1..=rounds {
        let began = Instant::now();
        timed(&format!("round {round} of {rounds}"), || clients.iter_mut().try_for_each(Idle::wake))?;
        thread::sleep(BETWEEN_SENDS.saturating_sub(began.elapsed()));
    }
    Ok(clients.into_iter().map(|client| (client.row, speed(client.times))).collect())
}

impl Idle {
    fn open(bench: &Bench, row: &'static Row) -> Result<Self> {
        let place = Place::provide(bench, row)?;
        let server = place.serve()?;
        let terminal = idle::idle(&place)?;
        Ok(Self { row, terminal, _server: server, place, times: Vec::new() })
    }

    fn wake(&mut self) -> Result<()> {
        let passed = self.place.model.questions()?.len();
        heard(&mut self.place.send("Wake up", "Please look.", &["--importance", "urgent"]))?;
        let woken = self.place.model.wait(passed, LIMIT, |_| true);
        let woken = woken.with_context(|| format!("{} is not woken:\n{}", self.row.title, self.terminal.screen()))?;
        let time = woken.at.duration_since(self.sent()?).unwrap_or_default();
        println!("    {}: {} ms", self.row.title, time.as_millis());
        self.times.push(u64::try_from(time.as_millis())?);
        Ok(())
    }

    /// When the other agent's last message was accepted.
    fn sent(&self) -> Result<SystemTime> {
        let sent = heard(&mut self.place.postrider(&["mail", "sent", "--as", OTHER, "--json"]))?;
        let sent: Value = serde_json::from_str(&sent).context("what was sent is no JSON")?;
        let times = sent.as_array().into_iter().flatten().filter_map(|message| message["created_at"].as_str());
        let times = times.map(str::parse).collect::<Result<Vec<Timestamp>, _>>()?;
        times.into_iter().max().map(SystemTime::from).context("nothing was sent")
    }
}

fn speed(mut times: Vec<u64>) -> Speed {
    times.sort_unstable();
    let rank = |percent: usize| times.get((times.len() * percent).div_ceil(100).saturating_sub(1)).copied();
    Speed { rounds: times.len() as u64, p50: rank(50).unwrap_or(0), p99: rank(99).unwrap_or(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_hundred_times_half_and_all_but_one_are_no_longer() {
        assert_eq!(speed((1..=100).rev().collect()), Speed { rounds: 100, p50: 50, p99: 99 });
        assert_eq!(speed((1..=50).collect()), Speed { rounds: 50, p50: 25, p99: 50 });
        assert_eq!(speed(Vec::new()), Speed { rounds: 0, p50: 0, p99: 0 });
    }
}
