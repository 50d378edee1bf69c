//! Starting: from the birth of the process until it is ready and says so, over no mail and over much.

use std::path::Path;
use std::time::Instant;

use anyhow::ensure;

use crate::mailboxes::FilledHome;
use crate::process::Server;
use crate::report::{Line, Report, Target, Unit};
use crate::samples::{Samples, millis};
use crate::setting::{Setting, progress};
use crate::wire::Request;

/// Measures, and adds lines to the report.
pub fn measure(setting: &Setting, filled: &FilledHome, report: &mut Report) -> anyhow::Result<()> {
    progress("starts");
    let mut fresh = Vec::new();
    for _ in 0..setting.tries {
        fresh.push(setting.fresh_folder()?);
    }
    let empty = start_each(setting, fresh.iter().map(|home| home.as_path()))?;
    let full = start_each(setting, std::iter::repeat_n(filled.path.as_path(), setting.tries))?;
    ensure!(empty.count() == full.count(), "a start was not measured");
    let line = |what: String, samples: &Samples, most: f64| {
        let more = format!("longest {:.1} ms", millis(samples.longest()));
        Line::new(what, millis(samples.percentile(0.5)), Unit::Millis).more(more).target(Target::FigureAtMost(most))
    };
    report.add(line("start to first answer, no mail yet".to_owned(), &empty, 30.0));
    report.add(line(format!("start to first answer, {} messages", setting.messages), &full, 100.0));
    Ok(())
}

fn start_each<'a>(setting: &Setting, homes: impl Iterator<Item = &'a Path>) -> anyhow::Result<Samples> {
    let ready = Request::get("/health/readiness", b"\"ready\"}");
    let mut durations = Vec::new();
    for home in homes {
        let born = Instant::now();
        // Returns as soon as the server has said where it listens.
        let server = Server::start(setting, home, &[])?;
        server.caller()?.ask(&ready)?;
        durations.push(born.elapsed());
        server.stop()?;
    }
    Ok(durations.into_iter().collect())
}
