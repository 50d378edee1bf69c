//! Whether a session that sits idle at its prompt begins a turn when urgent mail is committed.

use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};

use super::super::bench::Bench;
use super::super::table::Row;
use super::super::terminal::Terminal;
use super::super::workplace::{OTHER, OURS, PROMPT, Place, heard};

const LIMIT: Duration = Duration::from_secs(60);
/// How long nothing more may come once it is woken.
const AFTERWARDS: Duration = Duration::from_secs(5);
const BODY: &str = "The late word is vermilion.";

/// A session that had one prompt is idle; mail comes; its model is asked, though nobody pressed a key.
pub fn prove(bench: &Bench, row: &'static Row) -> Result<String> {
    let place = Place::provide(bench, row)?;
    let terminal = idle(&place)?;
    wake(&place, &terminal).with_context(|| terminal.screen())
}

/// A session of our agent that has had a prompt and waits for the next.
pub fn idle(place: &Place) -> Result<Terminal> {
    let terminal = place.open(Some(OURS), &[])?;
    place.model.script(Vec::new());
    terminal.line(PROMPT)?;
    place.model.wait(0, LIMIT, |question| question.contains(PROMPT)).with_context(|| terminal.screen())?;
    let keys = &place.row.keys;
    terminal.ready(keys.ready, keys.dialogs, LIMIT).with_context(|| terminal.screen())?;
    Ok(terminal)
}

fn wake(place: &Place, terminal: &Terminal) -> Result<String> {
    let passed = place.model.questions()?.len();
    let sent = SystemTime::now();
    heard(&mut place.send("Wake up", BODY, &["--ack"]))?;
    let woken = place.model.wait(passed, LIMIT, |_| true).context("no turn began within 60 s")?;
    ensure!(woken.text.contains(OTHER), "the turn does not say who wrote");
    // More turns may follow, until the agent has acknowledged; mail is told once all the same.
    place.model.wait(passed, AFTERWARDS, |question| question.matches(BODY).count() > 1);
    let told = place.model.questions()?.iter().map(|question| question.text.matches(BODY).count()).max().unwrap_or(0);
    ensure!(told <= 1, "the message is told {told} times: {}", terminal.screen());
    Ok(format!("a turn began {:.1} s after the send", woken.at.duration_since(sent).unwrap_or_default().as_secs_f64()))
}
