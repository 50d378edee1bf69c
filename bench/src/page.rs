//! The page for people over a large database: the inbox and a conversation, next to the JSON calls for the same mail; and
//! how much a browser loads to see the first page.
//!
//! Pages are asked for without compression, as the JSON is; what they weigh is measured with it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use serde_json::json;

use crate::load::Outcome;
use crate::mailboxes::{FilledHome, PROJECT, agents};
use crate::process::Server;
use crate::report::{Line, Report, Target, Unit};
use crate::samples::{median, micros, millis};
use crate::setting::{Setting, progress};
use crate::wire::{DONE, Request};

const CLIENTS: usize = 16;
/// How the project stands in addresses.
const SLUG: &str = "bench-project";
/// How many messages an inbox page shows, and how many the conversation has.
const MESSAGES: usize = 50;
const CONVERSATION: usize = 40;
const THREAD: &str = "the-conversation";
/// The most that a first load may weigh.
const FIRST_LOAD: f64 = 60.0 * 1024.0;

/// What is compared: a page, and the call for the same mail.
struct Pair {
    name: &'static str,
    page: Arc<[Request]>,
    call: Arc<[Request]>,
}

type Loaded = (Outcome, Duration);

/// Measures, and adds lines to the report.
pub fn measure(setting: &Setting, filled: &FilledHome, report: &mut Report) -> anyhow::Result<()> {
    let server = Server::start(setting, &filled.path, &[])?;
    converse(&server)?;
    for pair in [inboxes(), conversations()] {
        let mut rounds: Vec<(Loaded, Loaded)> = Vec::new();
        for round in 1..=setting.rounds {
            progress(format!("page: {}, round {round} of {}", pair.name, setting.rounds));
            let call = server.load(&pair.call, CLIENTS, setting.pace)?;
            rounds.push((server.load(&pair.page, CLIENTS, setting.pace)?, call));
        }
        report.add(line(&pair, &rounds));
    }
    let weight = first_load(&server)?;
    let line = Line::new("page: first load of the inbox, all that belongs to it, compressed", weight, Unit::Bytes);
    report.add(line.target(Target::FigureAtMost(FIRST_LOAD)));
    server.stop()
}

fn line(pair: &Pair, rounds: &[(Loaded, Loaded)]) -> Line {
    let of = |value: &dyn Fn(&Loaded) -> f64| median(rounds.iter().map(|(page, _)| value(page)));
    let p50 = of(&|(outcome, _)| millis(outcome.latencies.percentile(0.5)));
    let p99 = of(&|(outcome, _)| millis(outcome.latencies.percentile(0.99)));
    let processor = of(&|(_, processor)| micros(*processor));
    let more = format!("p50 {p50:.2} ms, p99 {p99:.2} ms, {processor:.0} µs of server CPU each");
    let pairs: Vec<(f64, f64)> = rounds.iter().map(|(page, call)| (page.0.per_second, call.0.per_second)).collect();
    let what = format!("page: {}, {CLIENTS} clients", pair.name);
    Line::new(what, of(&|(outcome, _)| outcome.per_second), Unit::PerSecond).more(more).against("JSON", &pairs)
}

fn inboxes() -> Pair {
    let page = |agent: &String| Request::get(&format!("/mail?project={SLUG}&agent={agent}"), b"</html>");
    let call = |agent: &String| {
        let arguments =
            json!({ "project_key": PROJECT, "agent_name": agent, "limit": MESSAGES, "include_bodies": true });
        Request::call("fetch_inbox", &arguments)
    };
    let agents = agents();
    Pair { name: "an inbox of 50", page: agents.iter().map(page).collect(), call: agents.iter().map(call).collect() }
}

fn conversations() -> Pair {
    let uri = format!("resource://thread/{THREAD}?project={SLUG}&limit={CONVERSATION}");
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": { "uri": uri } }).to_string();
    Pair {
        name: "a conversation of 40",
        page: [Request::get(&format!("/p/{SLUG}/thread/{THREAD}"), b"</html>")].into(),
        call: [Request::post(&call, b"}")].into(),
    }
}

/// Writes a conversation with Markdown in it.
fn converse(server: &Server) -> anyhow::Result<()> {
    let (mut caller, names) = (server.caller()?, agents());
    let body =
        format!("## Step\n\n- **done**: `src/lib.rs`\n- *next*: tests\n\n{}\n", "plain words of a message ".repeat(36));
    for number in 0..CONVERSATION {
        let (from, to) = (&names[number % 2], &names[1 - number % 2]);
        let arguments = json!({
            "project_key": PROJECT, "sender_name": from, "to": [to], "subject": "The conversation", "body_md": body,
            "thread_id": THREAD,
        });
        let request = Request { ending: DONE, ..Request::call("send_message", &arguments) };
        caller.ask(&request).context("a conversation is written")?;
    }
    Ok(())
}

/// How many bytes a browser gets that opens the inbox for the first time.
fn first_load(server: &Server) -> anyhow::Result<f64> {
    let mut caller = server.caller()?;
    let page = format!("/mail?project={SLUG}");
    let html = String::from_utf8(caller.ask(&Request::get(&page, b"</html>"))?.to_vec())?;
    let linked = html.split('"').filter(|part| part.starts_with("/assets/") || *part == "/favicon.svg");
    let mut weight = 0;
    for path in linked.chain([page.as_str()]) {
        weight += caller.ask(&Request::get_compressed(path))?.len();
    }
    Ok(weight as f64)
}
