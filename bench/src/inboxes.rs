//! Reading inboxes: twenty messages at a time, with bodies and without, by many readers of a large database.
//!
//! Compared with the bare echo, which answers a request of the same size with next to nothing.

use std::sync::Arc;

use anyhow::ensure;
use serde_json::json;

use crate::echo;
use crate::mailboxes::{FilledHome, PROJECT, agents};
use crate::process::Server;
use crate::report::{Line, Report, Target, Unit};
use crate::samples::{median, micros, millis};
use crate::setting::{Setting, progress};
use crate::wire::{Request, tool_call};

const CLIENTS: usize = 64;
/// How many messages an inbox is asked for.
const LIMIT: usize = 20;

/// Measures, and adds lines to the report.
pub fn measure(setting: &Setting, filled: &FilledHome, report: &mut Report) -> anyhow::Result<()> {
    let server = Server::start(setting, &filled.path, &[])?;
    let echo = Server::start_echo()?;
    let bare: Arc<[Request]> =
        Arc::new([Request::post(&tool_call("fetch_inbox", &arguments("Agent00", true)), echo::ENDING)]);
    let subjects =
        [("with bodies", requests(&server, true)?, 0.15), ("without bodies", requests(&server, false)?, 0.25)];
    let mut bare_figures = Vec::new();
    let mut figures = [Vec::new(), Vec::new()];
    for round in 1..=setting.rounds {
        progress(format!("inboxes, round {round} of {}", setting.rounds));
        for ((_, requests, _), figures) in subjects.iter().zip(&mut figures) {
            let ceiling = echo.load(&bare, CLIENTS, setting.pace)?;
            figures.push((server.load(requests, CLIENTS, setting.pace)?, ceiling.0.per_second));
            bare_figures.push(ceiling);
        }
    }
    let ceiling = median(bare_figures.iter().map(|(outcome, _)| outcome.per_second));
    let processor = median(bare_figures.iter().map(|(_, processor)| micros(*processor)));
    let more = format!("{processor:.0} µs of server CPU each");
    report.add(Line::new("ceiling: bare axum echo, 64 clients", ceiling, Unit::PerSecond).more(more));
    for ((name, _, wanted), figures) in subjects.iter().zip(&figures) {
        let [p50, p99] = [0.5, 0.99]
            .map(|share| median(figures.iter().map(|((outcome, _), _)| millis(outcome.latencies.percentile(share)))));
        let processor = median(figures.iter().map(|((_, processor), _)| micros(*processor)));
        let more = format!("p50 {p50:.2} ms, p99 {p99:.2} ms, {processor:.0} µs of server CPU each");
        let pairs: Vec<(f64, f64)> =
            figures.iter().map(|((outcome, _), ceiling)| (outcome.per_second, *ceiling)).collect();
        let per_second = median(pairs.iter().map(|(figure, _)| *figure));
        let line = Line::new(format!("inbox of 20 {name}, 64 clients"), per_second, Unit::PerSecond).more(more);
        report.add(line.against("bare echo", &pairs).target(Target::RatioAtLeast(*wanted)));
    }
    report.add(Line::new("memory after reading inboxes", server.memory()?, Unit::Bytes));
    server.stop()
}

fn arguments(agent: &str, with_bodies: bool) -> serde_json::Value {
    json!({ "project_key": PROJECT, "agent_name": agent, "limit": LIMIT, "include_bodies": with_bodies })
}

/// One request for each agent. Each is answered once beforehand: nobody sends mail meanwhile, so every later answer
/// must have the same length.
fn requests(server: &Server, with_bodies: bool) -> anyhow::Result<Arc<[Request]>> {
    let mut caller = server.caller()?;
    let mut requests = Vec::new();
    for agent in agents() {
        let arguments = arguments(&agent, with_bodies);
        let answer = caller.call("fetch_inbox", &arguments)?;
        let messages = answer["result"].as_array().map_or(&[][..], |messages| messages);
        ensure!(messages.len() == LIMIT, "the inbox of {agent} has {} messages instead of {LIMIT}", messages.len());
        let bodies = messages.iter().filter(|message| message["body_md"].is_string()).count();
        ensure!(bodies == if with_bodies { LIMIT } else { 0 }, "the inbox of {agent} has {bodies} bodies");
        let mut request = Request::call("fetch_inbox", &arguments);
        request.answer_length = Some(caller.ask(&request)?.len());
        requests.push(request);
    }
    Ok(requests.into())
}
