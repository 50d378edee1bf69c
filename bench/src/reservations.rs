//! Reserving files while ten thousand reservations are held: over HTTP, and the decision by itself.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::ensure;
use jiff::Timestamp;
use mail::ids::{AgentId, ProjectId, ReservationId};
use mail::reservations::pattern::Pattern;
use mail::reservations::{Decision, Request as Wish, Reservation, ReservationSet};
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::disk::fdatasync;
use crate::mailboxes::{AGENTS, PROJECT, agents};
use crate::process::Server;
use crate::report::{Line, Report, Target, Unit};
use crate::samples::{Samples, micros, millis};
use crate::setting::{Setting, progress};
use crate::wire::{REFUSED, Request, tool_call};

const RESERVATIONS: usize = 10_000;
/// How often each shape of request is decided.
const DECISIONS: usize = 500;
/// How many paths one request may name.
const PATHS_AT_ONCE: usize = 500;
const AN_HOUR: i64 = 3_600;

/// Measures, and adds lines to the report.
pub fn measure(setting: &Setting, report: &mut Report) -> anyhow::Result<()> {
    progress("reservations");
    over_http(setting, report)?;
    let now = Timestamp::now();
    for (name, held) in [("files", &file as &dyn Fn(usize) -> String), ("mixed globs", &mixed)] {
        let held: Vec<Pattern> =
            (0..RESERVATIONS).map(|number| Pattern::parse(&held(number))).collect::<Result<_, _>>()?;
        let book = book(&held, now)?;
        for (wish, paths) in wishes() {
            let durations = decide(&book, &paths, &held, now)?;
            let what = format!("decision, {RESERVATIONS} {name} held, {wish} wanted, p50");
            let line = Line::new(what, micros(durations.percentile(0.5)), Unit::Micros);
            let line = line.more(format!("p99 {:.1} µs", micros(durations.percentile(0.99))));
            // The target is one path's.
            report.add(if paths.len() == 1 { line.target(Target::FigureAtMost(100.0)) } else { line });
        }
    }
    Ok(())
}

/// The path of the reservation of that number, where all are single files.
fn file(number: usize) -> String {
    format!("src/area{}/module{}/file{number}.rs", number % 20, number % 400)
}

/// The path of the reservation of that number, as agents write them: most are files, some are folders or kinds of files.
fn mixed(number: usize) -> String {
    match number % 10 {
        0..=5 => file(number),
        6 | 7 => format!("src/area{}/part{number}/**", number % 20),
        8 => format!("docs/area{}/*_{number}.md", number % 20),
        _ => format!("docs/**/generated_{number}.{{json,toml}}"),
    }
}

/// What is asked for, and as which paths.
fn wishes() -> Vec<(&'static str, Vec<String>)> {
    vec![
        ("a free file", vec!["src/area3/module3/new.rs".to_owned()]),
        ("a held file", vec![file(4_444)]),
        ("a free folder", vec!["assets/area7/**".to_owned()]),
        ("a held folder", vec!["src/area3/module3/**".to_owned()]),
        ("one kind of file anywhere", vec!["**/*.sql".to_owned()]),
        ("ten free files", (0..10).map(|number| format!("src/area{number}/new.rs")).collect()),
        ("everything", vec!["**".to_owned()]),
    ]
}

fn book(held: &[Pattern], now: Timestamp) -> anyhow::Result<ReservationSet> {
    let ends_at = Timestamp::from_second(now.as_second() + AN_HOUR)?;
    let mut reservations = Vec::with_capacity(RESERVATIONS);
    for (number, pattern) in held.iter().enumerate() {
        reservations.push(Reservation {
            id: ReservationId(number as i64 + 1),
            holder: AgentId((number % AGENTS) as i64 + 1),
            holder_name: format!("Agent{:02}", number % AGENTS),
            pattern: pattern.clone(),
            exclusive: true,
            reason: String::new(),
            granted_at: now,
            ends_at,
        });
    }
    Ok(ReservationSet::new(reservations, Vec::new()))
}

fn decide(book: &ReservationSet, paths: &[String], held: &[Pattern], now: Timestamp) -> anyhow::Result<Samples> {
    let patterns: Vec<Pattern> = paths.iter().map(|path| Pattern::parse(path)).collect::<Result<_, _>>()?;
    // Decided once more, one by one and without the book's index.
    let granted = !patterns.iter().any(|wanted| held.iter().any(|held| held.may_meet(wanted)));
    let wish = Wish {
        project: ProjectId(1),
        agent: AgentId(AGENTS as i64 + 1),
        agent_name: "Newcomer".to_owned(),
        patterns,
        exclusive: true,
        reason: String::new(),
        ttl_seconds: AN_HOUR,
        wait_until: None,
        ticket: None,
    };
    let mut durations = Vec::with_capacity(DECISIONS);
    for _ in 0..DECISIONS {
        let begun = Instant::now();
        let decision = black_box(book.decide(black_box(&wish), now));
        durations.push(begun.elapsed());
        ensure!((decision == Decision::Grant) == granted, "{paths:?} was decided as {decision:?}");
    }
    Ok(durations.into_iter().collect())
}

fn over_http(setting: &Setting, report: &mut Report) -> anyhow::Result<()> {
    let home = setting.fresh_folder()?;
    let server = Server::start(setting, &home, &[])?;
    let mut caller = server.caller()?;
    let names = agents();
    caller.move_in(PROJECT, &names)?;
    for first in (0..RESERVATIONS).step_by(PATHS_AT_ONCE) {
        let paths: Vec<String> = (first..first + PATHS_AT_ONCE).map(mixed).collect();
        let holder = &names[first / PATHS_AT_ONCE % (AGENTS - 1)];
        let answer = caller.call("file_reservation_paths", &reservation(holder, &paths))?;
        let granted = answer["granted"].as_array().map_or(0, Vec::len);
        ensure!(granted == PATHS_AT_ONCE, "{granted} of {PATHS_AT_ONCE} reservations were granted");
    }
    let newcomer = &names[AGENTS - 1];
    let granted = reserve_and_release(&mut caller, newcomer, setting.pace.measured)?;
    let refused = ask_in_vain(&mut caller, newcomer, setting.pace.measured / 2)?;
    let disk = millis(fdatasync(setting, setting.pace.measured / 2)?.percentile(0.5));
    server.stop()?;
    for (what, samples) in [("granted", &granted), ("refused", &refused)] {
        let [p50, p99] = [0.5, 0.99].map(|share| millis(samples.percentile(share)));
        let line = Line::new(format!("reserve over HTTP, {RESERVATIONS} held, {what}, p50"), p50, Unit::Millis);
        report.add(line.more(format!("p99 {p99:.2} ms")).against("fdatasync p50", &[(p50, disk)]));
    }
    Ok(())
}

fn reservation(agent: &str, paths: &[String]) -> Value {
    json!({
        "project_key": PROJECT, "agent_name": agent, "paths": paths, "exclusive": true, "ttl_seconds": AN_HOUR,
    })
}

/// Reserves a free file and gives it back, so that as many reservations are held each time; only reserving is timed.
fn reserve_and_release(caller: &mut Caller, agent: &str, measured: Duration) -> anyhow::Result<Samples> {
    let paths = ["src/area3/module3/new.rs".to_owned()];
    let reserve = Request::call("file_reservation_paths", &reservation(agent, &paths));
    let arguments = json!({ "project_key": PROJECT, "agent_name": agent, "paths": paths });
    let release = Request::call("release_file_reservations", &arguments);
    let mut durations = Vec::new();
    let end = Instant::now() + measured;
    while Instant::now() < end {
        let begun = Instant::now();
        caller.ask(&reserve)?;
        durations.push(begun.elapsed());
        caller.ask(&release)?;
    }
    Ok(durations.into_iter().collect())
}

/// Asks for a file that somebody else holds.
fn ask_in_vain(caller: &mut Caller, agent: &str, measured: Duration) -> anyhow::Result<Samples> {
    let taken = tool_call("file_reservation_paths", &reservation(agent, &[file(4_444)]));
    let reserve = Request::post(&taken, REFUSED);
    let mut durations = Vec::new();
    let end = Instant::now() + measured;
    while Instant::now() < end {
        let begun = Instant::now();
        caller.ask(&reserve)?;
        durations.push(begun.elapsed());
    }
    Ok(durations.into_iter().collect())
}
