//! The parameters that several verbs share, and how they are read.

use mail::Error;
use mail::messages::About;
use mail::office::Claim;
use mcp::{Param, ParamKind};

/// The longest that a call may wait, in seconds: clients give up on a call after a minute.
pub(crate) const LONGEST_WAIT: i64 = 50;
/// How many entries a list of mail has when nobody says.
pub(crate) const DEFAULT_LIMIT: u32 = 20;
/// How many entries a list has that agents do not ask for.
pub(crate) const LONG_LIMIT: u32 = 100;

pub(crate) const PROJECT: Param = Param::required("project_key", ParamKind::Text, "Absolute project path")
    .mistaken_for(&["project", "project_path", "human_key", "project_slug"]);
pub(crate) const AGENT: Param =
    Param::required("agent_name", ParamKind::Text, "").mistaken_for(&["agent", "name", "sender_name"]);
/// The proof of a name, which nobody can do without where names have to be proved.
pub const TOKEN: Param = Param::optional("registration_token", ParamKind::Text, "").rare();
pub(crate) const KIND: Param = Param::optional("kind", ParamKind::Text, "e.g. HELP_REQUEST, task_completion").rare();
pub(crate) const WORK: Param = Param::optional("work_id", ParamKind::Text, "").rare();
pub(crate) const AFTER: Param = Param::optional("after", ParamKind::Id, "The cursor of this page");
pub(crate) const LIMIT: Param = Param::optional("limit", ParamKind::Number { min: 1, max: 1000 }, "").rare();
pub(crate) const MESSAGE: Param =
    Param::required("message_id", ParamKind::Id, "").mistaken_for(&["id", "message", "message_ids"]);
pub(crate) const THREAD: Param =
    Param::required("thread_id", ParamKind::Text, "").mistaken_for(&["thread", "id", "message_id"]);
pub(crate) const PROGRAM: Param = Param::optional("program", ParamKind::Text, "e.g. claude-code").rare();
pub(crate) const MODEL: Param = Param::optional("model", ParamKind::Text, "").rare();
pub(crate) const TASK: Param = Param::optional("task_description", ParamKind::Text, "");

/// Who acts: a name, and what proves it.
pub(crate) fn claim<'a>(name: &'a str, token: Option<&'a str>) -> Claim<'a> {
    Claim { token, ..Claim::of(name) }
}

/// What kind of mail, about what work, a reader wants.
pub(crate) fn about(kind: Option<&str>, work_id: Option<&str>) -> Result<About, Error> {
    About::parse(kind, work_id)
}

/// Text that has to say something.
pub(crate) fn filled<'a>(what: &'static str, text: &'a str) -> Result<&'a str, Error> {
    if text.trim().is_empty() {
        return Err(Error::Invalid { what, value: mail::error::shown(text), wanted: "some text".to_owned() });
    }
    Ok(text)
}

/// How many entries are wanted.
pub(crate) fn limit(given: Option<u32>, default: u32) -> usize {
    given.unwrap_or(default) as usize
}

/// The cursor of the page that follows these entries, if there may be more.
pub(crate) fn next<T>(entries: &[T], limit: usize, number: impl Fn(&T) -> i64) -> Option<i64> {
    entries.last().filter(|_| entries.len() >= limit).map(number)
}

/// A time that a caller gave.
pub(crate) fn read_time(what: &'static str, text: &str) -> Result<jiff::Timestamp, Error> {
    let wanted = "a time such as 2026-01-11T16:33:15Z".to_owned();
    text.parse().map_err(|_| Error::Invalid { what, value: mail::error::shown(text), wanted })
}
