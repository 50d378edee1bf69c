//! The tools that agents call: each translates its arguments, asks the office, and writes down the answer.
//!
//! No rule lives here. What a tool takes is declared beside its handler; names and descriptions are short, because
//! every agent carries them in its context.

mod channels;
#[cfg(test)]
mod documented;
mod macros;
mod mailboxes;
mod messages;
mod presence;
mod projects;
mod reservations;
mod sending;
mod threads;
mod watches;

use std::future::Future;
use std::sync::Arc;

use mail::messages::About;
use mail::office::Claim;
use mail::{Error, Office};
use mcp::{Arguments, Call, Hints, Output, Param, ParamKind, Tool};

use crate::refusal::refusal;

/// The calls a worker needs, for clients that list as few tools as they can (`--tools lean`).
pub const LEAN: [&str; 9] = [
    "macro_start_session",
    "send_message",
    "reply_message",
    "fetch_inbox",
    "wait_for_mail",
    "acknowledge_message",
    "search_messages",
    "file_reservation_paths",
    "release_file_reservations",
];

/// The longest that a call may wait, in seconds: clients give up on a call after a minute.
const LONGEST_WAIT: i64 = 50;

const PROJECT: Param = Param::required("project_key", ParamKind::Text, "Absolute project path").mistaken_for(&[
    "project",
    "project_path",
    "human_key",
    "project_slug",
]);
const AGENT: Param = Param::required("agent_name", ParamKind::Text, "").mistaken_for(&["agent", "name", "sender_name"]);
pub(crate) const TOKEN: Param = Param::optional("registration_token", ParamKind::Text, "").rare();
const KIND: Param = Param::optional("kind", ParamKind::Text, "e.g. HELP_REQUEST, task_completion").rare();
const WORK: Param = Param::optional("work_id", ParamKind::Text, "").rare();
const LIMIT: Param = Param::optional("limit", ParamKind::Number { min: 1, max: 1000 }, "").rare();

/// All tools, in the order in which they are listed; the last ones are for our own programs and in no list.
pub fn all(office: &Arc<Office>) -> Vec<Tool> {
    let desk = Desk { office: office.clone() };
    let mut tools = Vec::new();
    tools.extend(projects::tools(&desk));
    tools.extend(sending::tools(&desk));
    tools.extend(messages::tools(&desk));
    tools.extend(threads::tools(&desk));
    tools.extend(reservations::tools(&desk));
    tools.extend(macros::tools(&desk));
    tools.push(mailboxes::tool(&desk));
    tools.push(watches::tool(&desk));
    tools.push(presence::tool(&desk));
    tools.push(channels::tool(&desk));
    tools
}

/// Where tools are made: it hands each call to the office.
struct Desk {
    office: Arc<Office>,
}

impl Desk {
    fn tool<F, Answer>(
        &self,
        name: &'static str,
        about: &'static str,
        params: &'static [Param],
        hints: Hints,
        handler: F,
    ) -> Tool
    where
        F: Fn(Arc<Office>, Arguments) -> Answer + Send + Sync + 'static,
        Answer: Future<Output = Result<Output, Error>> + Send + 'static,
    {
        let office = self.office.clone();
        Tool::new(name, about, params, hints, move |call: Call| {
            let answer = handler(office.clone(), call.arguments);
            async move { answer.await.map_err(refusal) }
        })
    }
}

/// Who acts, by the argument `name` and the token beside it.
fn claim<'a>(arguments: &'a Arguments, name: &str) -> Claim<'a> {
    Claim { token: arguments.opt_text("registration_token"), ..Claim::of(arguments.text(name)) }
}

/// What kind of mail, about what work, a reader wants.
fn about(arguments: &Arguments) -> Result<About, Error> {
    About::parse(arguments.opt_text("kind"), arguments.opt_text("work_id"))
}

fn limit(arguments: &Arguments, default: usize) -> usize {
    arguments.number("limit").map_or(default, |limit| limit as usize)
}

/// Text that has to say something.
fn filled<'a>(what: &'static str, text: &'a str) -> Result<&'a str, Error> {
    if text.trim().is_empty() {
        return Err(Error::Invalid { what, value: mail::error::shown(text), wanted: "some text".to_owned() });
    }
    Ok(text)
}
