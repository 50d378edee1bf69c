//! Reading inboxes through one server and through three, over 20,000 messages.
//!
//! Compared with pgbench, which asks PostgreSQL the same question with as many clients.

use std::sync::Arc;

use anyhow::ensure;
use serde_json::json;

use super::ceilings::{INBOX, pgbench};
use super::town::{PROJECTS, Town, fill, project};
use super::{CLIENTS, Rounds, Servers, servers};
use crate::mailboxes::agents;
use crate::process::Server;
use crate::report::{Line, Report, Unit};
use crate::samples::median;
use crate::setting::{Setting, progress};
use crate::wire::Request;

/// How many messages an inbox is asked for.
const LIMIT: usize = 20;
const DATABASE: &str = "inboxes";

/// Measures, and adds lines to the report.
pub fn measure(setting: &Setting, town: &Town, report: &mut Report) -> anyhow::Result<()> {
    let url = town.fresh(DATABASE)?;
    fill(&url, setting.scaled(20_000, 4_000))?;
    town.session(DATABASE)?.run("VACUUM (ANALYZE)")?;
    let three = Servers::start(setting, &url, 3)?;
    let one = Servers::start(setting, &url, 1)?;
    let requests = requests(&one.0[0])?;
    let mut figures = [(1, one, Rounds::default()), (3, three, Rounds::default())];
    let mut ceilings = Vec::new();
    for round in 1..=setting.rounds {
        progress(format!("many servers: inboxes, round {round} of {}", setting.rounds));
        for (_, servers, rounds) in &mut figures {
            let ceiling = pgbench(town, DATABASE, INBOX, PROJECTS, CLIENTS, setting.pace.measured)?.per_second;
            ceilings.push(ceiling);
            rounds.note(&servers.load(&requests, setting.pace)?, ceiling);
        }
    }
    let what = "ceiling: pgbench, an inbox of 20 with bodies";
    report.add(Line::new(what, median(ceilings), Unit::PerSecond).more(format!("{CLIENTS} clients")));
    for (count, running, rounds) in figures {
        running.stop()?;
        let what = format!("PostgreSQL: inbox of 20 with bodies through {}, {CLIENTS} clients", servers(count));
        report.add(rounds.line(what, "pgbench, the same question"));
    }
    Ok(())
}

/// One request for each agent. Each is answered once beforehand: nobody sends mail meanwhile, so every later answer, from
/// whichever server, must have the same length.
fn requests(server: &Server) -> anyhow::Result<Arc<[Request]>> {
    let mut caller = server.caller()?;
    let mut requests = Vec::new();
    for number in 0..PROJECTS {
        for agent in agents() {
            let arguments = json!({ "project_key": project(number), "agent_name": agent, "limit": LIMIT });
            let mut request = Request::call("fetch_inbox", &arguments);
            let length = caller.ask(&request)?.len();
            ensure!(length > 1_024, "the inbox of {agent} in {} has next to nothing", project(number));
            request.answer_length = Some(length);
            requests.push(request);
        }
    }
    Ok(requests.into())
}
