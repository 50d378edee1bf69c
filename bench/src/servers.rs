//! Many servers over one PostgreSQL: sending, reading and waking through one, two and three of them.
//!
//! The ceilings are `pgbench` over the same schema and rows, in turn with what is compared with it. Whether servers stay
//! one post office when they are killed is not asked here; tests do.

mod ceilings;
mod groups;
mod inboxes;
mod sends;
pub mod town;
mod wakes;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::cluster::{Cluster, programs};
use crate::load::{self, Outcome, Pace};
use crate::process::Server;
use crate::report::{Line, Report};
use crate::samples::{median, millis};
use crate::setting::{Setting, progress};
use crate::wire::Request;
use town::Town;

/// How many clients there are, at all servers together.
const CLIENTS: usize = 64;
/// Three servers and pgbench want more connections than the hundred that PostgreSQL begins with.
const SETTINGS: &[&str] = &["max_connections=200"];

/// Measures, and adds lines to the report.
pub fn measure(setting: &Setting, report: &mut Report) -> anyhow::Result<()> {
    let Some(programs) = programs() else {
        let (what, why) = ("many servers over PostgreSQL", "PostgreSQL is not installed");
        progress(format!("!!! NOT MEASURED: {what}: {why} !!!"));
        report.add(Line::not_measured(what, why));
        return Ok(());
    };
    let cluster = Cluster::make(programs, None)?;
    cluster.start(SETTINGS)?;
    let town = Town::found(cluster)?;
    sends::measure(setting, &town, report)?;
    groups::measure(setting, &town, report)?;
    inboxes::measure(setting, &town, report)?;
    wakes::measure(setting, &town, report)
}

/// Servers over one database.
struct Servers(Vec<Server>);

impl Servers {
    fn start(setting: &Setting, database: &str, count: usize) -> anyhow::Result<Self> {
        (0..count).map(|_| Server::start_over(setting, database)).collect::<anyhow::Result<_>>().map(Self)
    }

    /// Puts a load on all of them; also returns how much processor time each answer cost them.
    fn load(&self, requests: &Arc<[Request]>, pace: Pace) -> anyhow::Result<(Outcome, Duration)> {
        let addresses: Vec<SocketAddr> = self.0.iter().map(|server| server.address).collect();
        let used = || self.0.iter().map(Server::processor_time).sum::<anyhow::Result<Duration>>();
        let before = used()?;
        let outcome = load::run(&addresses, requests, CLIENTS, pace)?;
        let answers = u32::try_from(outcome.answered).unwrap_or(u32::MAX).max(1);
        Ok((outcome, used()?.saturating_sub(before) / answers))
    }

    fn stop(self) -> anyhow::Result<()> {
        self.0.into_iter().try_for_each(Server::stop)
    }
}

/// What loads of one kind came to, each with its ceiling.
#[derive(Default)]
struct Rounds {
    rates: Vec<(f64, f64)>,
    p50: Vec<f64>,
    p99: Vec<f64>,
    processor: Vec<f64>,
}

impl Rounds {
    fn note(&mut self, (outcome, processor): &(Outcome, Duration), ceiling: f64) {
        self.rates.push((outcome.per_second, ceiling));
        self.p50.push(millis(outcome.latencies.percentile(0.5)));
        self.p99.push(millis(outcome.latencies.percentile(0.99)));
        self.processor.push(processor.as_secs_f64() * 1e6);
    }

    fn line(&self, what: String, ceiling: &'static str) -> Line {
        let [p50, p99, processor] = [&self.p50, &self.p99, &self.processor].map(|all| median(all.iter().copied()));
        let more = format!("p50 {p50:.2} ms, p99 {p99:.2} ms, {processor:.0} µs of server CPU each");
        let rate = median(self.rates.iter().map(|(rate, _)| *rate));
        Line::new(what, rate, crate::report::Unit::PerSecond).more(more).against(ceiling, &self.rates)
    }
}

/// "1 server", "3 servers".
fn servers(count: usize) -> String {
    if count == 1 { "1 server".to_owned() } else { format!("{count} servers") }
}
