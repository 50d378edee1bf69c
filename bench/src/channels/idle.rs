//! Waiting: what a watcher and a server cost while nothing happens, next to a folder with many files and one with few.
//!
//! All of them wait at the same time, so that whatever else the machine does is the same for all. A slot is as long as a
//! poll; the median slot holds none of the full listings that come every 30 seconds, the mean holds them.

use std::path::PathBuf;
use std::time::Duration;

use super::folder::Folder;
use super::home::{Home, Running, until};
use super::meter::{Meter, Reads};
use super::missing;
use super::system_calls::{self, Calls};
use crate::mailboxes::PROJECT;
use crate::process::Server;
use crate::report::{Line, Report, Target, Unit};
use crate::samples::{Samples, micros};
use crate::setting::{Setting, progress};

/// How long after each other a folder is looked at.
const POLL: Duration = Duration::from_secs(2);
/// How many polls are let pass first: a folder that was changed is listed at each until its stamp is old enough.
const WARM_UP: usize = 4;
/// How many polls are measured: two full listings are among them.
const POLLS: usize = 32;
/// How many polls are looked at call by call: one full listing is among them.
const TRACED: usize = 17;
/// The files of a folder with many, and of one with few.
const MANY: usize = 10_000;
const FEW: usize = 10;
/// For whom the watcher watches. Nothing is for it.
const AGENT: &str = "idler";
const FLAT: Target = Target::RatioAtMost(1.5);

/// Measures, and adds lines to the report.
pub fn measure(setting: &Setting, report: &mut Report) -> anyhow::Result<()> {
    let many = setting.scaled(MANY, 100);
    progress(format!("channels: idle polls, {many} files and {FEW}"));
    let mut subjects = Vec::new();
    for (name, start) in [("watch", watcher as Start), ("serve", server as Start)] {
        for count in [many, FEW] {
            subjects.push(Subject::start(setting, name, start, count)?);
        }
    }
    for _ in 0..setting.scaled(POLLS, 2) + setting.scaled(WARM_UP, 1) {
        std::thread::sleep(POLL);
        for subject in &mut subjects {
            subject.look()?;
        }
    }
    let polls = setting.scaled(TRACED, 2);
    let traced: Vec<_> = subjects.iter().map(|subject| (subject.meter.process(), subject.channel.clone())).collect();
    let calls = system_calls::count(setting, &traced, POLL * u32::try_from(polls)?)?;
    for (at, pair) in subjects.chunks(2).enumerate() {
        let [subject, small] = pair else { continue };
        let what = format!("idle {}, {many} files", subject.name);
        add_times(report, &what, &subject.used(setting)?, &small.used(setting)?);
        match &calls {
            Some(calls) => add_calls(report, &what, calls[2 * at], calls[2 * at + 1], polls),
            None => missing(report, &format!("{what}: system calls"), "strace is not installed, or may not look"),
        }
    }
    Ok(())
}

fn add_times(report: &mut Report, what: &str, many: &Used, few: &Used) {
    let pair = |of: fn(&Used) -> Duration| (micros(of(many)), micros(of(few)));
    let (median, mean) = (pair(|used| used.slots.percentile(0.5)), pair(|used| used.mean));
    let told = format!("in a slot of {} s; {} polls", POLL.as_secs(), many.slots.count());
    let line = Line::new(format!("{what}: CPU of a poll, median"), median.0, Unit::Micros).more(told);
    report.add(line.against("10 files", &[median]).target(FLAT));
    let (reads, few_reads) = (many.reads, few.reads);
    let told = format!(
        "read calls {} and {} (10 files), bytes {} and {}",
        reads.calls, few_reads.calls, reads.bytes, few_reads.bytes
    );
    let line = Line::new(format!("{what}: CPU of a poll with the listing every 30 s, mean"), mean.0, Unit::Micros);
    report.add(line.more(told).against("10 files", &[mean]));
}

fn add_calls(report: &mut Report, what: &str, many: Calls, few: Calls, polls: usize) {
    let [figure, ceiling] = [many, few].map(|calls| calls.all as f64 / polls as f64);
    let told = format!("of them getdents64 of the channel {} and {} (10 files)", many.listed, few.listed);
    let line = Line::new(format!("{what}: system calls of a poll, mean of {polls}"), figure, Unit::Count).more(told);
    report.add(line.against("10 files", &[(figure, ceiling)]).target(FLAT));
    let line = Line::new(format!("{what}: read of channel files"), many.bytes as f64, Unit::Bytes);
    report.add(line.more(format!("{} files opened", many.opened)).target(Target::FigureAtMost(0.0)));
}

/// Something that waits. What is dropped is killed.
enum Waiting {
    Watcher(Running),
    Server(Server),
}

type Start = fn(&Setting, &Home) -> anyhow::Result<Waiting>;

fn watcher(setting: &Setting, home: &Home) -> anyhow::Result<Waiting> {
    home.watch(setting, AGENT, &["/bin/true"]).map(Waiting::Watcher)
}

fn server(setting: &Setting, home: &Home) -> anyhow::Result<Waiting> {
    home.serve(setting).map(Waiting::Server)
}

/// A process that waits, and the looks that were taken at it.
struct Subject {
    name: &'static str,
    channel: PathBuf,
    meter: Meter,
    looks: Vec<(Duration, Reads)>,
    _waiting: Waiting,
}

/// What a process used while it waited.
struct Used {
    slots: Samples,
    mean: Duration,
    reads: Reads,
}

impl Subject {
    /// Starts one over a folder of which all is taken in, and waits until it has looked at that.
    fn start(setting: &Setting, name: &'static str, start: Start, count: usize) -> anyhow::Result<Self> {
        let folder = Folder::filled(setting, count)?;
        let home = Home::make(setting, &folder.settings(PROJECT))?;
        let filling = home.serve(setting)?;
        until("all files are taken in", || Ok(home.taken_in() >= count))?;
        filling.stop()?;
        let waiting = start(setting, &home)?;
        // Whoever took in one more file has looked at all of them.
        folder.drop_in(count, "One more.")?;
        until("one more file is taken in", || Ok(home.taken_in() > count))?;
        let meter = match &waiting {
            Waiting::Watcher(running) => {
                let is_seen = "SELECT max(position) >= (SELECT max(message_id) FROM post) FROM watch";
                until("the watcher has looked at it", || Ok(home.ask(is_seen) == 1))?;
                running.meter()
            }
            Waiting::Server(server) => Meter::of(server.process()),
        };
        let channel = folder.channel().canonicalize()?;
        Ok(Self { name, channel, meter, looks: Vec::new(), _waiting: waiting })
    }

    fn look(&mut self) -> anyhow::Result<()> {
        self.looks.push((self.meter.processor_time()?, self.meter.reads()?));
        Ok(())
    }

    /// What was used between the looks, without those of the warm-up.
    fn used(&self, setting: &Setting) -> anyhow::Result<Used> {
        let looks = &self.looks[setting.scaled(WARM_UP, 1) - 1..];
        let slots: Samples = looks.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].0)).collect();
        let (first, last) = (looks[0], looks[looks.len() - 1]);
        Ok(Used {
            mean: last.0.saturating_sub(first.0) / u32::try_from(slots.count())?.max(1),
            reads: Reads { calls: last.1.calls - first.1.calls, bytes: last.1.bytes - first.1.bytes },
            slots,
        })
    }
}
