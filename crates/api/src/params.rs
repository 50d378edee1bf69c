//! The parameters that several verbs share, and how they are read.

use mail::messages::{Importance, PAGE_BYTES};
use mail::office::{Claim, Watcher};
use mail::provider::native::{self, Native};
use mail::reservations::TTL_SECONDS;
use mail::{Error, Office};
use mcp::ParamKind::{self, Choice, Flag, Id, Ids, Names, Number, Text};
use mcp::{Arguments, INVALID_ARGUMENT, Param, Refusal};
use serde::de::DeserializeOwned;

/// The longest that a call may wait, in seconds: clients give up on a call after a minute.
pub const LONGEST_WAIT: i64 = 50;
/// How many entries a list of mail has when nobody says.
pub(crate) const DEFAULT_LIMIT: u32 = 20;
/// How many entries a list has that agents do not ask for.
pub(crate) const LONG_LIMIT: u32 = 100;
/// How many deliveries a page has when nobody says.
pub(crate) const PAGE: u32 = 500;

pub(crate) const PROJECT: Param = Param::required("project_key", Text, "Absolute project path").mistaken_for(&[
    "project",
    "project_path",
    "project_slug",
]);
pub(crate) const AGENT: Param = Param::required("agent_name", Text, "").mistaken_for(&["agent", "name", "sender_name"]);
/// The proof of a name, which nobody can do without where names have to be proved.
pub const TOKEN: Param = Param::optional("registration_token", Text, "").rare();
pub(crate) const KIND: Param = Param::optional("kind", Text, "e.g. HELP_REQUEST, task_completion").rare();
pub(crate) const WORK: Param = Param::optional("work_id", Text, "").rare();
pub(crate) const AFTER: Param = Param::optional("after", Id, "The cursor of this page");
pub(crate) const LIMIT: Param = Param::optional("limit", Number { min: 1, max: 1000 }, "").rare();
pub(crate) const MESSAGE: Param = Param::required("message_id", Id, "").mistaken_for(&["id", "message", "message_ids"]);
pub(crate) const THREAD: Param = Param::required("thread_id", Text, "").mistaken_for(&["thread", "id", "message_id"]);
/// Where a watcher looks.
pub(crate) const CHANNEL: Param = Param::optional("channel", Text, "None for the mailbox");
pub(crate) const HOLDER: Param = Param::required("holder", Text, "Who watches");
pub(crate) const PROGRAM: Param = Param::optional("program", Text, "e.g. claude-code").rare();
pub(crate) const MODEL: Param = Param::optional("model", Text, "").rare();
pub(crate) const TASK: Param = Param::optional("task_description", Text, "");
pub(crate) const BODIES: Param = Param::optional("include_bodies", Flag, "Default true").rare();
pub(crate) const BEFORE: Param = Param::optional("before_id", Id, "Older than this message").rare();
pub(crate) const READER: Param = Param::optional("agent_name", Text, "Who asks");
pub(crate) const ANY_NAME: Param = Param::optional("any_name", Flag, "Every name gets a mailbox");
/// Who acts at the page.
pub(crate) const PERSON: Param = Param::required("person", Text, "");
pub(crate) const RECIPIENT: Param = Param::optional("recipient", Text, "");
pub(crate) const DELIVERY: Param = Param::required("id", Text, "A delivery, such as 17.2");
pub(crate) const AFTER_DELIVERY: Param = Param::optional("after", Text, "Deliveries behind this one");
pub(crate) const SENDER: Param = Param::required("sender_name", Text, "Your registered name").mistaken_for(&[
    "from",
    "agent_name",
    "sender",
    "name",
]);
pub(crate) const BODY: Param =
    Param::required("body_md", Text, "Markdown").mistaken_for(&["body", "message", "content", "text"]);
pub(crate) const CC: Param = Param::optional("cc", Names, "").rare();
pub(crate) const BCC: Param = Param::optional("bcc", Names, "").rare();
pub(crate) const ACK: Param = Param::optional("ack_required", Flag, "Ask for an acknowledgement");
pub(crate) const IMPORTANCE: Param = Param::optional("importance", Choice(&Importance::NAMES), "").rare();
pub(crate) const KEY: Param =
    Param::optional("idempotency_key", Text, "Makes a retry safe: the same key sends once").rare();
pub(crate) const TTL: ParamKind = Number { min: *TTL_SECONDS.start(), max: *TTL_SECONDS.end() };
/// Which of an agent's reservations are meant.
pub(crate) const SOME_PATHS: Param =
    Param::optional("paths", Names, "Left out: all of yours").mistaken_for(&["path", "patterns", "files"]);
/// The same by their numbers.
pub(crate) const SOME_IDS: Param = Param::optional("file_reservation_ids", Ids, "Numbers of reservations").unlisted();
pub(crate) const ROLE: Param = Param::required("role", Text, "Such as reviewer").mistaken_for(&["name", "role_name"]);
pub(crate) const NAME: Param =
    Param::optional("agent_name", Text, "Your name; left out, you are given one").mistaken_for(&["name", "agent"]);

/// A field of a request, which is read from the arguments of a call.
///
/// Requests have no other reader, so they need not be readable in general: there are many of them, and few types of
/// fields.
pub trait RequestField: Sized {
    /// Takes the value of the field's parameter, which is the first of several. It was checked, so a failure is a mistake
    /// in a declaration.
    fn take(arguments: &mut Arguments, name: &str) -> Result<Self, Refusal>;
}

impl<T: DeserializeOwned + Default> RequestField for T {
    fn take(arguments: &mut Arguments, name: &str) -> Result<Self, Refusal> {
        match arguments.remove(name) {
            Some(value) => serde_json::from_value(value).map_err(unreadable),
            None => Ok(T::default()),
        }
    }
}

fn unreadable(error: serde_json::Error) -> Refusal {
    Refusal::new(INVALID_ARGUMENT, format!("'arguments' cannot be read: {error}."))
}

declare! {
    /// Who asks for deliveries, and in which project.
    DeliveryReader {
        project_key: String = PROJECT;
        /// A number that several have a delivery of means the reader's own.
        agent_name: Option<String> = READER;
        /// Callers own their names: whoever writes or is written to gets a mailbox.
        any_name: bool = ANY_NAME;
        registration_token: Option<String> = TOKEN;
    }

    /// Who acts in which project: what the requests of a watcher have in common.
    #[derive(PartialEq)]
    Actor {
        project_key: String = PROJECT;
        agent_name: String = AGENT;
        registration_token: Option<String> = TOKEN;
    }
}

impl DeliveryReader {
    pub(crate) fn native<'a>(&self, office: &'a Office) -> Native<&'a Office> {
        let (names, door) =
            if self.any_name { (native::Names::Any, "exec") } else { (native::Names::Known, "terminal") };
        let native = Native::new(office, &self.project_key, names, door);
        native.read_by(self.agent_name.as_deref(), self.registration_token.as_deref())
    }
}

/// Who acts: a name, and what proves it.
pub(crate) fn claim<'a>(name: &'a str, token: Option<&'a str>) -> Claim<'a> {
    Claim { token, ..Claim::of(name) }
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

/// Text that has to say something.
pub(crate) fn filled<'a>(what: &'static str, text: &'a str) -> Result<&'a str, Error> {
    if text.trim().is_empty() {
        return Err(Error::invalid(what, text, "some text"));
    }
    Ok(text)
}

/// How many entries are wanted.
pub(crate) fn limit(given: Option<u32>, default: u32) -> usize {
    given.unwrap_or(default) as usize
}

/// The cursor of the page that follows these entries, if there may be more.
pub fn next<T>(entries: &[T], limit: usize, number: impl Fn(&T) -> i64) -> Option<i64> {
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
    text.parse().map_err(|_| Error::invalid(what, text, "a time such as 2026-01-11T16:33:15Z"))
}

/// The importance of that name, which was checked to be one.
pub(crate) fn importance(name: Option<&str>) -> Importance {
    name.and_then(Importance::parse).unwrap_or_default()
}
