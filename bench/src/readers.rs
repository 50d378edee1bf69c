//! Reading what a message says, which every send waits for: how fast, and whether any text makes it slow.
//!
//! One thread, no server. The ceiling is counting the lines of the same text, which looks at every byte once. Texts of
//! four lengths show that time grows with the length and not faster.

mod texts;

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::ensure;
use formats::{Typed, json, markdown, secrets};

use crate::report::{Line, Report, Target, Unit};
use crate::samples::{Samples, median, millis};
use crate::setting::progress;
use texts::Text;

const KIB: usize = 1 << 10;
/// From a usual message to one of a quarter of the longest that is accepted.
const SIZES: [usize; 4] = [KIB, 16 * KIB, 256 * KIB, KIB * KIB];
/// How much more a byte of the longest text may cost than one of the shortest.
const GROWTH: f64 = 3.0;
/// How long one text is read again and again.
const MEASURED: Duration = Duration::from_millis(40);
/// How much is read between two looks at the clock, which takes as long as reading a short text.
const LEAST_BYTES: usize = 256 * KIB;
/// How often that is done at least.
const LEAST_TRIES: usize = 3;

/// One of the readers, and the texts that are for it.
struct Reader {
    name: &'static str,
    read: fn(&Text),
    typical: fn(usize) -> Text,
    hostile: fn(usize) -> Vec<Text>,
    /// No text of a MiB takes longer, in milliseconds.
    slowest: f64,
}

const READERS: [Reader; 4] = [
    Reader {
        name: "markdown",
        read: |text| drop(black_box(markdown::read(text.subject, &text.body))),
        typical: texts::typical_markdown,
        hostile: texts::hostile_markdown,
        slowest: 10.0,
    },
    Reader {
        name: "JSON",
        read: |text| drop(black_box(json::read(&text.body))),
        typical: texts::typical_json,
        hostile: texts::hostile_json,
        slowest: 10.0,
    },
    Reader {
        name: "secrets",
        read: |text| drop(black_box(secrets::find(&text.body))),
        typical: texts::typical_markdown,
        hostile: texts::hostile_secrets,
        slowest: 40.0,
    },
    Reader {
        name: "all that a send reads",
        read: |text| {
            drop(black_box(secrets::find(text.subject)));
            drop(black_box(secrets::find(&text.body)));
            drop(black_box(Typed::read(text.subject, &text.body)));
        },
        typical: texts::typical_markdown,
        hostile: texts::hostile_of_all,
        slowest: 40.0,
    },
];

/// Measures, and adds lines to the report. Takes the ceiling and its subject `rounds` times in turn.
pub fn measure(rounds: usize, report: &mut Report) -> anyhow::Result<()> {
    progress("readers");
    check_typical()?;
    for reader in &READERS {
        report.add(typical(reader, rounds));
        let hostile = hostile(reader, rounds);
        report.add(slowest(reader, &hostile));
        report.add(growth(reader, &hostile));
    }
    Ok(())
}

/// A text that is not read as what it should be would measure something else.
fn check_typical() -> anyhow::Result<()> {
    for size in SIZES {
        let text = texts::typical_markdown(size);
        let parsed = markdown::read(text.subject, &text.body);
        ensure!(parsed.problems.is_empty(), "the typical message has problems: {:?}", parsed.problems);
        ensure!(secrets::find(&text.body).is_empty(), "the typical message holds a secret");
        let parsed = json::read(&texts::typical_json(size).body);
        ensure!(parsed.problems.is_empty(), "the typical JSON message has problems: {:?}", parsed.problems);
    }
    Ok(())
}

fn typical(reader: &Reader, rounds: usize) -> Line {
    let mut by_size = Vec::new();
    for size in SIZES {
        let text = (reader.typical)(size);
        let mut pairs = Vec::new();
        for _ in 0..rounds {
            let ceiling = time(&text, |text| {
                black_box(text.body.lines().count());
            });
            let figure = time(&text, reader.read);
            pairs.push((megabytes_per_second(&text, figure), megabytes_per_second(&text, ceiling)));
        }
        by_size.push(pairs);
    }
    let speeds: Vec<f64> = by_size.iter().map(|pairs| median(pairs.iter().map(|(figure, _)| *figure))).collect();
    let others = format!("{:.0} at 16 KiB, {:.0} at 256 KiB, {:.0} at 1 MiB", speeds[1], speeds[2], speeds[3]);
    let line = Line::new(format!("reading {}, a message of 1 KiB", reader.name), speeds[0], Unit::MegabytesPerSecond);
    line.more(others).against("counting lines", &by_size[0])
}

/// What one hostile text took at each size.
struct Hostile {
    name: String,
    /// Milliseconds for the longest text.
    longest: f64,
    /// Nanoseconds for a byte of the longest and of the shortest text, in each round.
    per_byte: Vec<(f64, f64)>,
}

fn hostile(reader: &Reader, rounds: usize) -> Vec<Hostile> {
    let [shortest, .., longest] = SIZES;
    let (shortest, longest) = ((reader.hostile)(shortest), (reader.hostile)(longest));
    let measured = shortest.iter().zip(&longest).map(|(short, long)| {
        let mut durations = Vec::new();
        let mut per_byte = Vec::new();
        for _ in 0..rounds {
            let (brief, full) = (time(short, reader.read), time(long, reader.read));
            durations.push(millis(full));
            per_byte.push((nanos_per_byte(long, full), nanos_per_byte(short, brief)));
        }
        Hostile { name: long.name.clone(), longest: median(durations), per_byte }
    });
    measured.collect()
}

fn slowest(reader: &Reader, hostile: &[Hostile]) -> Line {
    let slowest = hostile.iter().max_by(|one, other| one.longest.total_cmp(&other.longest));
    let (figure, name) = slowest.map_or((0.0, ""), |one| (one.longest, one.name.as_str()));
    let what = format!("reading {}, the slowest of {} hostile texts of 1 MiB", reader.name, hostile.len());
    Line::new(what, figure, Unit::Millis).more(name.to_owned()).target(Target::FigureAtMost(reader.slowest))
}

fn growth(reader: &Reader, hostile: &[Hostile]) -> Line {
    let ratio = |one: &Hostile| median(one.per_byte.iter().map(|(long, short)| long / short));
    let steepest = hostile.iter().max_by(|one, other| ratio(one).total_cmp(&ratio(other)));
    let (pairs, name) = steepest.map_or((&[][..], ""), |one| (one.per_byte.as_slice(), one.name.as_str()));
    let figure = median(pairs.iter().map(|(long, _)| *long));
    let what = format!("reading {}, a byte of the hostile text that grows most", reader.name);
    Line::new(what, figure, Unit::Nanos)
        .more(name.to_owned())
        .against("at 1 KiB", pairs)
        .target(Target::RatioAtMost(GROWTH))
}

/// The processor time of the quickest of many readings: whatever else the machine does only adds to it.
fn time(text: &Text, read: fn(&Text)) -> Duration {
    let end = Instant::now() + MEASURED;
    let times = (LEAST_BYTES / text.body.len()).max(1);
    let mut durations = Vec::new();
    while durations.len() < LEAST_TRIES || Instant::now() < end {
        let begun = processor_time();
        for _ in 0..times {
            read(black_box(text));
        }
        durations.push(processor_time().saturating_sub(begun) / times as u32);
    }
    durations.into_iter().collect::<Samples>().percentile(0.0)
}

/// What this thread has used of a processor. On a busy machine the wall clock counts the turns of others.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

fn nanos_per_byte(text: &Text, duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e9 / text.body.len() as f64
}

fn megabytes_per_second(text: &Text, duration: Duration) -> f64 {
    // Counting the lines of a short text is too quick for some clocks.
    text.body.len() as f64 / 1e6 / duration.as_secs_f64().max(1e-9)
}
