//! What is asked at each size: inboxes, searches and threads, in all of the filled projects.

use serde_json::{Value, json};

use crate::cluster::Session;
use crate::text::Chance;
use crate::wire::Request;

/// How many different ones of each kind are asked.
const DIFFERENT: usize = 200;
/// How many messages an inbox, a search or a thread is asked for.
const LIMIT: usize = 20;
const PROJECTS: usize = 200;
/// The thread of each project that never ends.
const LONG: &str = "standup";

/// How the answer to a resource that was read ends.
const READ: &[u8] = b"}]}}";

/// Every kind of question by its name in the figures, and the requests that ask it.
pub fn all(session: &Session, size: u64) -> anyhow::Result<Vec<(&'static str, Vec<Request>)>> {
    let words = session.texts("SELECT word FROM bench_word WHERE n < 140 ORDER BY n")?;
    let blocks = size.div_ceil(2_000) as usize;
    let mut chance = Chance::new(size);
    let mut word = |from: usize, below: usize| words[from + chance.below(below - from)][0].clone();
    let (mut common, mut two) = (Vec::new(), Vec::new());
    for number in 0..DIFFERENT {
        common.push(search(number, &word(0, 3)));
        two.push(search(number, &format!("{} AND {}", word(60, 100), word(100, 140))));
    }
    let rare = |number: usize| search(number, &format!("case{}", number % blocks * PROJECTS + number % PROJECTS + 1));
    Ok(vec![
        ("inbox_full", every(|number| inbox(number, json!({ "agent_name": "Agent00" })))),
        ("inbox_none_new", every(|number| inbox(number, json!({ "agent_name": "Agent49", "unread_only": true })))),
        ("search_rare", every(rare)),
        ("search_two", two),
        ("search_common", common),
        ("thread", threads(session)?),
        ("thread_long", every(|number| read(&format!("bench-filled-{}", number % PROJECTS + 1), LONG))),
    ])
}

fn every(of: impl Fn(usize) -> Request) -> Vec<Request> {
    (0..DIFFERENT).map(of).collect()
}

fn project(number: usize) -> String {
    format!("/bench/filled/{}", number % PROJECTS + 1)
}

fn inbox(number: usize, mut arguments: Value) -> Request {
    arguments["project_key"] = json!(project(number));
    arguments["limit"] = json!(LIMIT);
    Request::call("fetch_inbox", &arguments)
}

fn search(number: usize, query: &str) -> Request {
    Request::call("search_messages", &json!({ "project_key": project(number), "query": query, "limit": LIMIT }))
}

/// Short threads, taken from all over the year.
fn threads(session: &Session) -> anyhow::Result<Vec<Request>> {
    let sql = format!(
        "SELECT project.slug, message.thread
         FROM (SELECT DISTINCT 1 + floor(random() * (SELECT max(id) FROM message))::bigint AS id
               FROM generate_series(1, {DIFFERENT})) AS drawn
         JOIN message USING (id) JOIN project ON project.id = message.project_id
         WHERE project.id <= {PROJECTS} AND thread <> '{LONG}'"
    );
    Ok(session.texts(&sql)?.iter().map(|row| read(&row[0], &row[1])).collect())
}

fn read(slug: &str, thread: &str) -> Request {
    let uri = format!("resource://thread/{thread}?project={slug}&limit={LIMIT}&include_bodies=true");
    let ask = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": { "uri": uri } });
    Request::post(&ask.to_string(), READ)
}
