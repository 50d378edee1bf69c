//! The parameters that several verbs share, and how they are read.

use mail::messages::{About, PAGE_BYTES};
use mail::office::{Claim, Watcher};
use mail::provider::native::{Names, Native};
use mail::{Error, Office};
use mcp::{Param, ParamKind};
use serde::{Deserialize, Serialize};

/// The longest that a call may wait, in seconds: clients give up on a call after a minute.
pub(crate) const LONGEST_WAIT: i64 = 50;
/// How many entries a list of mail has when nobody says.
pub(crate) const DEFAULT_LIMIT: u32 = 20;
/// How many entries a list has that agents do not ask for.
pub(crate) const LONG_LIMIT: u32 = 100;
/// How many deliveries a page has when nobody says.
pub(crate) const PAGE: u32 = 500;

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
/// Where a watcher looks.
pub(crate) const CHANNEL: Param = Param::optional("channel", ParamKind::Text, "None for the mailbox");
pub(crate) const HOLDER: Param = Param::required("holder", ParamKind::Text, "Who watches");
pub(crate) const PROGRAM: Param = Param::optional("program", ParamKind::Text, "e.g. claude-code").rare();
pub(crate) const MODEL: Param = Param::optional("model", ParamKind::Text, "").rare();
pub(crate) const TASK: Param = Param::optional("task_description", ParamKind::Text, "");
pub(crate) const BODIES: Param = Param::optional("include_bodies", ParamKind::Flag, "Default true").rare();
pub(crate) const BEFORE: Param = Param::optional("before_id", ParamKind::Id, "Older than this message").rare();
pub(crate) const READER: Param = Param::optional("agent_name", ParamKind::Text, "Who asks");
pub(crate) const ANY_NAME: Param = Param::optional("any_name", ParamKind::Flag, "Every name gets a mailbox");
pub(crate) const RECIPIENT: Param = Param::optional("recipient", ParamKind::Text, "");
pub(crate) const DELIVERY: Param = Param::required("id", ParamKind::Text, "A delivery, such as 17.2");
pub(crate) const AFTER_DELIVERY: Param = Param::optional("after", ParamKind::Text, "Deliveries behind this one");

/// Who asks for deliveries, and in which project.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DeliveryReader {
    pub project_key: String,
    /// A number that several have a delivery of means the reader's own.
    pub agent_name: Option<String>,
    /// Callers own their names: whoever writes or is written to gets a mailbox.
    pub any_name: bool,
    pub registration_token: Option<String>,
}

impl DeliveryReader {
    pub(crate) fn native<'a>(&self, office: &'a Office) -> Native<&'a Office> {
        let (names, door) = if self.any_name { (Names::Any, "exec") } else { (Names::Known, "terminal") };
        let native = Native::new(office, &self.project_key, names, door);
        native.read_by(self.agent_name.as_deref(), self.registration_token.as_deref())
    }
}

/// Who acts: a name, and what proves it.
pub(crate) fn claim<'a>(name: &'a str, token: Option<&'a str>) -> Claim<'a> {
    Claim { token, ..Claim::of(name) }
}

/// Who acts in which project: what the requests of a watcher have in common.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Actor {
    pub project_key: String,
    pub agent_name: String,
    pub registration_token: Option<String>,
}

impl Actor {
    pub(crate) fn claim(&self) -> Claim<'_> {
        claim(&self.agent_name, self.registration_token.as_deref())
    }

    /// The same as somebody who watches a channel, or the mailbox.
    pub(crate) fn watcher<'a>(&'a self, channel: &'a str, holder: &'a str) -> Watcher<'a> {
        Watcher { project_key: &self.project_key, agent: self.claim(), channel, holder }
    }
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

/// The cursor of the next page, behind one of messages with bodies of these sizes, of which `last` is the last; none if
/// nothing comes behind it. A page that ended early because its bodies are long may have a next, as a full one has.
pub fn next_cursor(limit: usize, sizes: impl ExactSizeIterator<Item = usize>, last: Option<i64>) -> Option<i64> {
    let is_full = sizes.len() >= limit;
    last.filter(|_| is_full || sizes.sum::<usize>() > PAGE_BYTES)
}

/// A time that a caller gave.
pub(crate) fn read_time(what: &'static str, text: &str) -> Result<jiff::Timestamp, Error> {
    let wanted = "a time such as 2026-01-11T16:33:15Z".to_owned();
    text.parse().map_err(|_| Error::Invalid { what, value: mail::error::shown(text), wanted })
}
