//! Asking whether there is mail, as a prompt or a hook does: a whole process each time, and the answer is no.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use crate::mailboxes::{PROJECT, agents};
use crate::process::Server;
use crate::report::{Line, Report, Target, Unit};
use crate::samples::{Samples, millis};
use crate::setting::{Setting, progress};

/// How often the process is run.
const RUNS: usize = 50;
/// What `postrider mail check` says when there is no mail.
const NO_MAIL: i32 = 3;

/// Measures, and adds lines to the report.
pub fn measure(setting: &Setting, report: &mut Report) -> anyhow::Result<()> {
    progress("checks");
    let home = setting.fresh_folder()?;
    let server = Server::start(setting, &home, &[])?;
    server.caller()?.move_in(PROJECT, &agents()[..1])?;
    report.add(check(setting, &home, "mail check without mail, a server runs")?);
    server.stop()?;
    report.add(check(setting, &home, "mail check without mail, no server")?);
    Ok(())
}

fn check(setting: &Setting, home: &Path, what: &str) -> anyhow::Result<Line> {
    let (mut nothing, mut checks) = (Vec::new(), Vec::new());
    // In turn, so that a slow minute is slow for both; once before, for what only the first has to load.
    for round in 0..=RUNS {
        let taken = (run(&mut Command::new("/bin/true"), 0)?, run(&mut command(setting, home), NO_MAIL)?);
        if round > 0 {
            nothing.push(taken.0);
            checks.push(taken.1);
        }
    }
    let pairs: Vec<(f64, f64)> =
        checks.iter().zip(&nothing).map(|(check, nothing)| (millis(*check), millis(*nothing))).collect();
    let (nothing, checks): (Samples, Samples) = (nothing.into_iter().collect(), checks.into_iter().collect());
    let most = 3.0 * millis(nothing.percentile(0.5)) + 5.0;
    Ok(Line::new(what, millis(checks.percentile(0.5)), Unit::Millis)
        .more(format!("p99 {:.1} ms", millis(checks.percentile(0.99))))
        .against("/bin/true", &pairs)
        .target(Target::FigureAtMost(most)))
}

fn command(setting: &Setting, home: &Path) -> Command {
    let mut command = Command::new(&setting.binary);
    command.env_clear().env("POSTRIDER_HOME", home).current_dir(home);
    command.args(["mail", "check", "--project", PROJECT, "--as", &agents()[0]]);
    command
}

fn run(command: &mut Command, code: i32) -> anyhow::Result<Duration> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let born = Instant::now();
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    let taken = born.elapsed();
    ensure!(status.code() == Some(code), "{command:?} ended with {status}");
    Ok(taken)
}
