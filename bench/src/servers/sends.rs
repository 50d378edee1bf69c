//! Sending through several servers: how many messages a second are accepted and on disk.
//!
//! Compared with the faster of two runs of pgbench, with the lock of the project and without. One project by itself is
//! measured too: its writes happen one after the other, whoever asks for them.

use super::ceilings::{Ceiling, LOCKED, PLAIN, pgbench};
use super::town::{PROJECTS, Town, sends};
use super::{CLIENTS, Rounds, Servers, servers};
use crate::report::{Line, Report, Target, Unit};
use crate::samples::median;
use crate::setting::{Setting, progress};

const SERVERS: [usize; 3] = [1, 2, 3];
const DATABASE: &str = "sends";

/// Measures, and adds lines to the report.
pub fn measure(setting: &Setting, town: &Town, report: &mut Report) -> anyhow::Result<()> {
    let (all, one) = (sends(0..PROJECTS), sends(0..1));
    let (mut locked, mut plain, mut alone) = (Vec::new(), Vec::new(), Vec::new());
    let mut spread = SERVERS.map(|_| Rounds::default());
    let mut together = [(1, Rounds::default()), (3, Rounds::default())];
    for round in 1..=setting.rounds {
        progress(format!("many servers: sends, round {round} of {}", setting.rounds));
        let with_lock = ceiling(setting, town, LOCKED, PROJECTS)?.per_second;
        let without = ceiling(setting, town, PLAIN, PROJECTS)?.per_second;
        locked.push(with_lock);
        plain.push(without);
        for (count, rounds) in SERVERS.into_iter().zip(&mut spread) {
            rounds.note(&load(setting, town, &all, count)?, with_lock.max(without));
        }
        let serial = ceiling(setting, town, LOCKED, 1)?.per_second;
        alone.push(serial);
        for (count, rounds) in &mut together {
            rounds.note(&load(setting, town, &one, *count)?, serial);
        }
    }
    for (what, figures) in [
        (format!("ceiling: pgbench, a send with its project's lock, {PROJECTS} projects"), locked),
        (format!("ceiling: pgbench, the rows of a send without a lock, {PROJECTS} projects"), plain),
        ("ceiling: pgbench, a send with its project's lock, one project".to_owned(), alone),
    ] {
        report.add(Line::new(what, median(figures), Unit::PerSecond).more(format!("{CLIENTS} clients")));
    }
    for (count, rounds) in SERVERS.into_iter().zip(&spread) {
        let what = format!("PostgreSQL: sends through {}, {CLIENTS} clients, {PROJECTS} projects", servers(count));
        report.add(rounds.line(what, "the faster pgbench").target(Target::RatioAtLeast(0.6)));
    }
    for (count, rounds) in &together {
        let what = format!("PostgreSQL: sends through {}, {CLIENTS} clients, one project", servers(*count));
        report.add(rounds.line(what, "pgbench, one project"));
    }
    Ok(())
}

fn ceiling(setting: &Setting, town: &Town, script: &str, projects: usize) -> anyhow::Result<Ceiling> {
    town.fresh(DATABASE)?;
    let warm_up = pgbench(town, DATABASE, script, projects, CLIENTS, setting.pace.warm_up)?;
    let ceiling = pgbench(town, DATABASE, script, projects, CLIENTS, setting.pace.measured)?;
    town.check_count(DATABASE, warm_up.done + ceiling.done)?;
    Ok(ceiling)
}

fn load(
    setting: &Setting,
    town: &Town,
    requests: &std::sync::Arc<[crate::wire::Request]>,
    count: usize,
) -> anyhow::Result<(crate::load::Outcome, std::time::Duration)> {
    let url = town.fresh(DATABASE)?;
    let servers = Servers::start(setting, &url, count)?;
    let measured = servers.load(requests, setting.pace)?;
    servers.stop()?;
    // Accepted means kept: whatever was answered is there.
    town.check_count(DATABASE, measured.0.answered)?;
    Ok(measured)
}
