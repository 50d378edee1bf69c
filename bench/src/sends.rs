//! Sending: how many messages a second are accepted and on disk, and how long one sender waits.
//!
//! Compared with raw SQLite for many senders, and with the disk for one.

use std::sync::Arc;
use std::time::Duration;

use crate::disk::fdatasync;
use crate::group_commit;
use crate::load::{Outcome, Pace};
use crate::mailboxes::{DATABASE, PROJECT, SampleMessage, agents, messages};
use crate::process::Server;
use crate::report::{Line, Report, Target, Unit};
use crate::samples::{median, micros, millis};
use crate::setting::{Setting, progress};
use crate::wire::Request;

/// Different messages to send, so that the index does not see the same text all the time.
const MESSAGES: usize = 1_024;
/// The largest load first: its ceiling begins with an empty database too.
const MANY: [usize; 2] = [64, 16];
/// In how many slices a round of one client is cut, each next to its ceilings: a disk drifts within seconds.
const SLICES: u32 = 5;

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

/// What was compared: pairs of a figure and its ceiling.
type Pairs = Vec<(f64, f64)>;

/// All that is measured here.
#[derive(Default)]
struct Sends {
    many: [Figures; MANY.len()],
    alone: Figures,
    per_second_to_raw: Pairs,
    p50_to_disk: Pairs,
    p50_to_raw: Pairs,
    disk_p99: Vec<f64>,
    raw_together: Vec<f64>,
    memory: Vec<f64>,
}

/// Measures, and adds lines to the report.
pub fn measure(setting: &Setting, report: &mut Report) -> anyhow::Result<()> {
    let messages: Vec<Arc<SampleMessage>> = messages(MESSAGES, MESSAGES).map(Arc::new).collect();
    let names = agents();
    let requests: Arc<[Request]> =
        messages.iter().map(|message| Request::call("send_message", &message.arguments(&names))).collect();
    let mut sends = Sends::default();
    for round in 1..=setting.rounds {
        progress(format!("sends, round {round} of {}", setting.rounds));
        let raw = group_commit::run(setting, &messages, MANY[0], setting.pace)?;
        sends.raw_together.push(raw.together);
        let home = setting.fresh_folder()?;
        let server = Server::start(setting, &home, &[])?;
        server.caller()?.move_in(PROJECT, &names)?;
        let mut accepted = 0;
        for (clients, figures) in MANY.into_iter().zip(&mut sends.many) {
            let (outcome, processor) = server.load(&requests, clients, setting.pace)?;
            accepted += outcome.answered;
            figures.note(&outcome, processor);
            if clients == MANY[0] {
                sends.per_second_to_raw.push((outcome.per_second, raw.outcome.per_second));
            }
        }
        accepted += sends.alone(setting, &server, &messages, &requests)?;
        sends.memory.push(server.memory()?);
        server.stop()?;
        // Accepted means kept: whatever was answered is there.
        group_commit::check_count(&home.join(DATABASE), accepted)?;
    }
    sends.tell(report);
    Ok(())
}

impl Sends {
    /// One client, the disk and one raw caller in turn; returns how many messages were accepted.
    fn alone(
        &mut self,
        setting: &Setting,
        server: &Server,
        messages: &[Arc<SampleMessage>],
        requests: &Arc<[Request]>,
    ) -> anyhow::Result<usize> {
        let slice = setting.pace.measured / SLICES;
        let pace = Pace { warm_up: slice / 4, measured: slice };
        let mut accepted = 0;
        for _ in 0..SLICES {
            let disk = fdatasync(setting, slice)?;
            let (outcome, processor) = server.load(requests, 1, pace)?;
            let raw = group_commit::run(setting, messages, 1, pace)?;
            accepted += outcome.answered;
            self.alone.note(&outcome, processor);
            let [p50, disk_p50, raw_p50] =
                [&outcome.latencies, &disk, &raw.outcome.latencies].map(|samples| millis(samples.percentile(0.5)));
            self.p50_to_disk.push((p50, disk_p50));
            self.p50_to_raw.push((p50, raw_p50));
            self.disk_p99.push(millis(disk.percentile(0.99)));
        }
        Ok(accepted)
    }

    fn tell(&self, report: &mut Report) {
        let ceilings = |pairs: &Pairs| median(pairs.iter().map(|(_, ceiling)| *ceiling));
        let disk = Line::new("ceiling: fdatasync of 4 KiB, p50", ceilings(&self.p50_to_disk), Unit::Millis);
        report.add(disk.more(format!("p99 {:.2} ms", Figures::median_of(&self.disk_p99))));
        let raw = ceilings(&self.per_second_to_raw);
        let together = format!("{:.0} messages a commit", Figures::median_of(&self.raw_together));
        report.add(Line::new("ceiling: raw SQLite group commit, 64 callers", raw, Unit::PerSecond).more(together));
        let [most, some] = &self.many;
        let line = |what: &str, figures: &Figures| {
            Line::new(what, Figures::median_of(&figures.per_second), Unit::PerSecond).more(figures.more())
        };
        let most = line("sends, 64 clients", most).against("raw group commit", &self.per_second_to_raw);
        report.add(most.target(Target::RatioAtLeast(0.70)));
        report.add(line("sends, 16 clients", some));
        report.add(line("sends, 1 client", &self.alone));
        let alone = || Line::new("send, 1 client, p50", Figures::median_of(&self.alone.p50), Unit::Millis);
        report.add(alone().against("fdatasync p50", &self.p50_to_disk).target(Target::RatioAtMost(3.0)));
        report.add(alone().against("raw commit p50", &self.p50_to_raw));
        report.add(Line::new("memory after sends", Figures::median_of(&self.memory), Unit::Bytes));
    }
}
