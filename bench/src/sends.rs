//! Sending: how many messages a second are accepted and on disk, and how long one sender waits.
//!
//! Compared with raw SQLite for many senders, and with the disk for one.

use std::sync::Arc;
use std::time::Duration;

use crate::disk::fdatasync;
use crate::group_commit;
use crate::load::Outcome;
use crate::mailboxes::{DATABASE, Letter, PROJECT, agents, letters};
use crate::process::Server;
use crate::report::{Line, Report, Target, Unit};
use crate::samples::{median, micros, millis};
use crate::setting::{Setting, progress};
use crate::wire::Request;

/// Different messages to send, so that the index does not see the same text all the time.
const LETTERS: usize = 1_024;
/// As many clients as are measured, the largest load on a fresh database as its ceiling is.
const CLIENTS: [usize; 3] = [64, 16, 1];

/// One load, boiled down.
#[derive(Default)]
struct Figures {
    per_second: Vec<f64>,
    p50: Vec<f64>,
    p99: Vec<f64>,
    processor: Vec<f64>,
}

impl Figures {
    fn note(&mut self, outcome: &Outcome, processor: Duration) {
        self.per_second.push(outcome.per_second);
        self.p50.push(millis(outcome.latencies.percentile(0.5)));
        self.p99.push(millis(outcome.latencies.percentile(0.99)));
        self.processor.push(micros(processor));
    }

    fn median_of(figures: &[f64]) -> f64 {
        median(figures.iter().copied())
    }

    fn more(&self) -> String {
        let [p50, p99, processor] = [&self.p50, &self.p99, &self.processor].map(|figures| Self::median_of(figures));
        format!("p50 {p50:.2} ms, p99 {p99:.2} ms, {processor:.0} µs of server CPU each")
    }
}

/// Measures, and adds lines to the report.
pub fn measure(setting: &Setting, report: &mut Report) -> anyhow::Result<()> {
    let letters: Vec<Arc<Letter>> = letters(LETTERS, LETTERS).map(Arc::new).collect();
    let names = agents();
    let requests: Arc<[Request]> =
        letters.iter().map(|letter| Request::call("send_message", &letter.arguments(&names))).collect();
    let mut raw = Vec::new();
    let mut raw_alone = Vec::new();
    let mut disk = Vec::new();
    let mut loads: [Figures; CLIENTS.len()] = Default::default();
    let mut memory = Vec::new();
    for round in 1..=setting.rounds {
        progress(format!("sends, round {round} of {}", setting.rounds));
        raw.push(group_commit::run(setting, &letters, CLIENTS[0], setting.pace)?.per_second);
        let home = setting.fresh_folder()?;
        let server = Server::start(setting, &home, &[])?;
        server.caller()?.move_in(PROJECT, &names)?;
        let mut accepted = 0;
        for (clients, figures) in CLIENTS.into_iter().zip(&mut loads) {
            if clients == 1 {
                disk.push(fdatasync(setting, setting.pace.measured / 2)?);
            }
            let (outcome, processor) = server.load(&requests, clients, setting.pace)?;
            accepted += outcome.answered;
            figures.note(&outcome, processor);
        }
        disk.push(fdatasync(setting, setting.pace.measured / 2)?);
        raw_alone.push(millis(group_commit::run(setting, &letters, 1, setting.pace)?.latencies.percentile(0.5)));
        memory.push(server.memory()?);
        server.stop()?;
        // Accepted means kept: whatever was answered is there.
        group_commit::check_count(&home.join(DATABASE), accepted)?;
    }
    let disk_p50 = median(disk.iter().map(|samples| millis(samples.percentile(0.5))));
    let disk_p99 = median(disk.iter().map(|samples| millis(samples.percentile(0.99))));
    let raw = median(raw);
    report.add(
        Line::new("ceiling: fdatasync of 4 KiB, p50", disk_p50, Unit::Millis).more(format!("p99 {disk_p99:.2} ms")),
    );
    report.add(Line::new("ceiling: raw SQLite group commit, 64 callers", raw, Unit::PerSecond));
    for (clients, figures) in CLIENTS.into_iter().zip(&loads) {
        let what = format!("sends, {clients} client{}", if clients == 1 { "" } else { "s" });
        let mut line = Line::new(what, Figures::median_of(&figures.per_second), Unit::PerSecond).more(figures.more());
        if clients == CLIENTS[0] {
            line = line.against("raw group commit", raw).target(Target::RatioAtLeast(0.70));
        }
        report.add(line);
    }
    let alone = Figures::median_of(&loads[CLIENTS.len() - 1].p50);
    let line = Line::new("send, 1 client, p50", alone, Unit::Millis).against("fdatasync p50", disk_p50);
    report.add(line.target(Target::RatioAtMost(3.0)));
    report.add(Line::new("send, 1 client, p50", alone, Unit::Millis).against("raw commit p50", median(raw_alone)));
    report.add(Line::new("memory after sends", median(memory), Unit::Bytes));
    Ok(())
}
