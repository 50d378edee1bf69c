//! Searching a large database, one search at a time: from a word in ten messages to one in nearly all.

use std::ops::RangeInclusive;
use std::sync::Arc;

use anyhow::{Context, ensure};
use serde_json::json;

use crate::mailboxes::{FilledHome, MESSAGES_OF_A_CASE, PROJECT, case};
use crate::process::Server;
use crate::report::{Line, Report, Target, Unit};
use crate::samples::millis;
use crate::setting::{Setting, progress};
use crate::text::{Chance, Language};
use crate::wire::Request;

/// Different queries of each shape, so that no single one is measured.
const QUERIES: usize = 50;
/// How many messages a search returns at the most.
const LIMIT: usize = 20;

/// A shape of query: its name, how to make one, and how many messages each must find.
type Shape<'a> = (&'static str, Box<dyn FnMut() -> String + 'a>, RangeInclusive<usize>);

/// Measures, and adds lines to the report.
pub fn measure(setting: &Setting, filled: &FilledHome, report: &mut Report) -> anyhow::Result<()> {
    progress("searches");
    let server = Server::start(setting, &filled.path, &[])?;
    let language = Language::new();
    for (name, query, found) in shapes(&language, filled.cases) {
        let requests = requests(&server, query, &found).with_context(|| format!("searching for {name}"))?;
        let (outcome, processor) = server.load(&requests, 1, setting.pace)?;
        let [p50, p95] = [0.5, 0.95].map(|share| millis(outcome.latencies.percentile(share)));
        let more = format!("p50 {p50:.2} ms, {:.0} µs of server CPU each", processor.as_secs_f64() * 1e6);
        let line = Line::new(format!("search for {name}, p95"), p95, Unit::Millis).more(more);
        report.add(line.target(Target::FigureAtMost(5.0)));
    }
    report.add(Line::new("memory after searches", server.memory()?, Unit::Bytes));
    server.stop()
}

fn shapes(language: &Language, cases: usize) -> Vec<Shape<'_>> {
    let [mut rare, mut two, mut phrase, mut mixed, mut common] = [1, 2, 3, 4, 5].map(Chance::new);
    let word = |chance: &mut Chance, from: usize, below: usize| language.word(from + chance.below(below - from));
    vec![
        ("a rare word", Box::new(move || case(rare.below(cases))), MESSAGES_OF_A_CASE..=MESSAGES_OF_A_CASE),
        (
            "two words (AND)",
            Box::new(move || format!("{} AND {}", word(&mut two, 60, 100), word(&mut two, 100, 140))),
            1..=LIMIT,
        ),
        (
            "a phrase",
            Box::new(move || format!("\"{} {}\"", word(&mut phrase, 10, 20), word(&mut phrase, 20, 30))),
            1..=LIMIT,
        ),
        (
            "a frequent word AND a rare one",
            Box::new(move || format!("{} AND {}", word(&mut mixed, 0, 3), case(mixed.below(cases)))),
            0..=MESSAGES_OF_A_CASE,
        ),
        ("a word of nearly every message", Box::new(move || word(&mut common, 0, 3).to_owned()), LIMIT..=LIMIT),
    ]
}

/// Each query is answered once beforehand: nobody sends mail meanwhile, so every later answer has the same length.
fn requests(
    server: &Server,
    mut query: impl FnMut() -> String,
    expected: &RangeInclusive<usize>,
) -> anyhow::Result<Arc<[Request]>> {
    let mut caller = server.caller()?;
    let mut requests = Vec::new();
    for _ in 0..QUERIES {
        let query = query();
        let arguments = json!({ "project_key": PROJECT, "query": query, "limit": LIMIT });
        let answer = caller.call("search_messages", &arguments)?;
        let found = answer["result"].as_array().map_or(0, Vec::len);
        ensure!(expected.contains(&found), "'{query}' found {found} messages instead of {expected:?}");
        let mut request = Request::call("search_messages", &arguments);
        request.answer_length = Some(caller.ask(&request)?.len());
        requests.push(request);
    }
    Ok(requests.into())
}
