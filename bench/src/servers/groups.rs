//! What group commit is worth over PostgreSQL: the store as it is, and with one message in a transaction.
//!
//! The store itself, without HTTP. For one message in a transaction every project has a connection of its own, and a project's
//! next message is handed in when the one before is on disk: nothing is lost by that, for the lock of the project's row would
//! make it wait there.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mail::agents::Agent;
use mail::messages::MessageStore;
use store::{Engine, Postgres, PostgresOptions};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use super::CLIENTS;
use super::town::{MESSAGES, PROJECTS, Town, residents};
use crate::load::{Outcome, Pace, Window};
use crate::mailboxes::{SampleMessage, accepted, messages};
use crate::report::{Line, Report, Unit};
use crate::samples::{median, millis};
use crate::setting::{Setting, progress};
use crate::text::Chance;

const DATABASE: &str = "groups";

/// Measures, and adds lines to the report.
pub fn measure(setting: &Setting, town: &Town, report: &mut Report) -> anyhow::Result<()> {
    for (projects, where_) in [(PROJECTS, format!("{PROJECTS} projects")), (1, "one project".to_owned())] {
        let (mut rates, mut waits) = (Vec::new(), Vec::new());
        for round in 1..=setting.rounds {
            progress(format!("many servers: group commit, {where_}, round {round} of {}", setting.rounds));
            let [one, many] =
                [true, false].map(|is_alone| run(&town.fresh(DATABASE)?, projects, is_alone, setting.pace));
            let (one, many) = (one?, many?);
            rates.push((many.per_second, one.per_second));
            waits.push((many.latencies.percentile(0.5), one.latencies.percentile(0.5)));
        }
        let [many, one] = [|wait: &(Duration, Duration)| wait.0, |wait: &(Duration, Duration)| wait.1]
            .map(|of| median(waits.iter().map(|wait| millis(of(wait)))));
        let what = format!("PostgreSQL: the store alone with group commit, {CLIENTS} callers, {where_}");
        let line = Line::new(what, median(rates.iter().map(|(rate, _)| *rate)), Unit::PerSecond);
        let more = format!("p50 {many:.2} ms, without group commit {one:.2} ms");
        report.add(line.more(more).against("one message a transaction", &rates));
    }
    Ok(())
}

fn run(url: &str, projects: usize, is_alone: bool, pace: Pace) -> anyhow::Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let usual = PostgresOptions::default();
        let writers = if is_alone { projects } else { usual.writers };
        let store = Arc::new(Postgres::open(url, &PostgresOptions { writers, ..usual }).await?);
        let hall = Arc::new(Hall {
            residents: residents(&store, projects).await?,
            turns: is_alone.then(|| (0..projects).map(|_| Mutex::new(())).collect()),
            messages: messages(MESSAGES, MESSAGES).collect(),
            store,
        });
        let window = Window::opening(pace);
        let mut running = JoinSet::new();
        for caller in 0..CLIENTS {
            running.spawn(hand_in(hall.clone(), caller, window));
        }
        let mut measured = Vec::with_capacity(CLIENTS);
        while let Some(caller) = running.join_next().await {
            measured.push(caller??);
        }
        hall.store.close().await;
        Ok(Outcome::of(measured, pace))
    })
}

/// What the callers share.
struct Hall {
    store: Arc<Engine>,
    residents: Vec<Vec<Agent>>,
    /// One for each project, when its messages go one by one.
    turns: Option<Vec<Mutex<()>>>,
    messages: Vec<SampleMessage>,
}

async fn hand_in(hall: Arc<Hall>, caller: usize, window: Window) -> anyhow::Result<(Vec<Duration>, usize)> {
    let mut chance = Chance::new(caller as u64);
    let (mut latencies, mut answered) = (Vec::new(), 0);
    while window.is_open() {
        let home = chance.below(hall.residents.len());
        let message = hall.messages[chance.below(hall.messages.len())].clone();
        let begun = Instant::now();
        let turn = match &hall.turns {
            Some(turns) => Some(turns[home].lock().await),
            None => None,
        };
        hall.store.append(&accepted(message, &hall.residents[home])).await?;
        drop(turn);
        let ended = Instant::now();
        answered += 1;
        if window.counts(ended) {
            latencies.push(ended - begun);
        }
    }
    Ok((latencies, answered))
}
