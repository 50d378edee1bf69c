//! Waking up: how long after a sender has its answer somebody who waits for mail has the message.
//!
//! Both look at one clock, for both are threads of the bench. A waiter that is answered before the sender counts as
//! zero. The waiter's answer is itself written down (mail that was shown is not shown again), so it waits for the disk
//! once more, which is told next to it.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::disk::fdatasync;
use crate::mailboxes::{PROJECT, agents, messages};
use crate::process::Server;
use crate::report::{Line, Report, Target, Unit};
use crate::samples::{Samples, millis};
use crate::setting::{Setting, progress};

/// How often a message is sent to somebody who waits.
pub const ROUNDS: usize = 300;
/// Long enough for a request to reach the server and wait there.
const SETTLE: Duration = Duration::from_millis(5);

/// Measures, and adds lines to the report.
pub fn measure(setting: &Setting, report: &mut Report) -> anyhow::Result<()> {
    progress("wake-ups");
    let home = setting.fresh_folder()?;
    let server = Server::start(setting, &home, &[])?;
    server.caller()?.move_in(PROJECT, &agents())?;
    let woken = woken(setting, server.caller()?, server.caller()?)?;
    server.stop()?;
    let disk = millis(fdatasync(setting, setting.pace.measured)?.percentile(0.99));
    let [p50, p99] = [0.5, 0.99].map(|share| millis(woken.percentile(share)));
    let line = Line::new("wake-up of a waiter, p99", p99, Unit::Millis).more(format!("p50 {p50:.2} ms"));
    report.add(line.against("fdatasync p99", &[(p99, disk)]).target(Target::FigureAtMost(10.0)));
    Ok(())
}

/// How long after `sender` has its answer `waiter` has the message, again and again. The agents have moved in before.
pub fn woken(setting: &Setting, mut sender: Caller, waiter: Caller) -> anyhow::Result<Samples> {
    let (go, gone) = channel();
    let (woken, answers) = channel();
    let waiting = std::thread::spawn(move || wait(waiter, &gone, &woken));
    let rounds = setting.scaled(ROUNDS, ROUNDS / 10);
    let woken = rounds_of_mail(&mut sender, rounds, &go, &answers);
    drop(go);
    // If the waiter failed, its reason is worth more than that nothing came from it.
    waiting.join().map_err(|_| anyhow::anyhow!("the waiter panicked"))??;
    woken
}

fn rounds_of_mail(
    sender: &mut Caller,
    rounds: usize,
    go: &Sender<()>,
    answers: &Receiver<(Instant, i64)>,
) -> anyhow::Result<Samples> {
    let names = agents();
    let mut durations = Vec::with_capacity(rounds);
    for mut message in messages(rounds, rounds) {
        message.sender = 0;
        message.recipients = [1, 2];
        let arguments = message.arguments(&names);
        go.send(()).context("the waiter is gone")?;
        std::thread::sleep(SETTLE);
        ensure!(answers.try_recv().is_err(), "the waiter did not wait");
        let sent = sender.call("send_message", &arguments)?;
        let answered = Instant::now();
        let (woken, id) = answers.recv().context("the waiter is gone")?;
        ensure!(sent["id"].as_i64() == Some(id), "the waiter got message {id} instead of {}", sent["id"]);
        durations.push(woken.saturating_duration_since(answered));
    }
    Ok(durations.into_iter().collect())
}

fn wait(mut waiter: Caller, go: &Receiver<()>, woken: &Sender<(Instant, i64)>) -> anyhow::Result<()> {
    let arguments = json!({ "project_key": PROJECT, "agent_name": agents()[1], "timeout_seconds": 30 });
    while go.recv().is_ok() {
        let answer = waiter.call("wait_for_mail", &arguments)?;
        let answered = Instant::now();
        let messages = answer["result"].as_array().map_or(&[][..], |messages| messages);
        ensure!(messages.len() == 1, "the waiter got {} messages instead of one", messages.len());
        let id = messages.first().and_then(|message: &Value| message["id"].as_i64()).context("a message without id")?;
        if woken.send((answered, id)).is_err() {
            break;
        }
    }
    Ok(())
}
