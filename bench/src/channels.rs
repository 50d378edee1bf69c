//! Channels: what it costs to wait for a file, how soon a watcher wakes, and how fast what waits is caught up.
//!
//! Everything runs against private folders and a private NATS server. Where a program is missing that a figure needs, the
//! table says so in its place.

mod answers;
mod catch_up;
mod folder;
mod home;
mod idle;
mod meter;
mod nats;
mod subscriber;
mod system_calls;
mod wakes;

use crate::report::{Line, Report};
use crate::setting::{Setting, progress};
use nats::Nats;

/// The channel in which everything is said.
const CHANNEL: &str = "dev";
/// What the lines are called for which there is no NATS server.
const WITHOUT_NATS: [&str; 2] = ["post → subscriber over NATS", "posts published, many wait"];

/// Measures, and adds lines to the report.
pub fn measure(setting: &Setting, report: &mut Report) -> anyhow::Result<()> {
    let nats = Nats::start(setting)?;
    wakes::over_the_stream(setting, report)?;
    answers::measure(setting, report)?;
    catch_up::files(setting, report)?;
    if let Some(nats) = &nats {
        wakes::over_nats(setting, nats, report)?;
        catch_up::nats(setting, nats, report)?;
    } else {
        for what in WITHOUT_NATS {
            missing(report, what, "nats-server is not installed");
        }
    }
    drop(nats);
    idle::measure(setting, report)
}

/// Says loudly, now and in the table, what was not measured.
fn missing(report: &mut Report, what: &str, why: &str) {
    progress(format!("!!! NOT MEASURED: {what}: {why} !!!"));
    report.add(Line::not_measured(what, why));
}
