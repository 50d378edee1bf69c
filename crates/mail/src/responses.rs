//! What the office writes back to the sender of a JSON message, and what it reserves for it.
//!
//! A message that asks for files is granted them, or refused, in the transaction that keeps it, and so is the answer: a crash leaves
//! all of it or nothing, and the same key brings the same answer. The decision itself is that of the reservations. An error
//! report is never answered, nor are faults of what is said to the office: two programs would never stop.

use std::collections::HashSet;

use formats::json::{self, Stamp, Type};
pub use formats::json::{FilesOutcome, GrantedFiles, HeldFiles};
use formats::{Kind, Problem, cut};

use crate::agents::called;
use crate::channels::OFFICE;
use crate::clock::rfc3339;
use crate::error::{Error, first_few};
use crate::ids::{AgentId, MessageId};
use crate::messages::{Importance, Message, NewMessage, Role, Vouched};
use crate::reservations::{Conflict, Request, Reservation, Reserved};

/// Who answers for the office itself.
pub const OFFICE_AGENT: &str = "postrider";
/// Whether a name is that of the office's own agent, or is read as it: then nobody else may have it.
pub(crate) fn is_office_name(name: &str) -> bool {
    called(name).eq_ignore_ascii_case(OFFICE_AGENT)
}

/// How many conflicts an answer tells.
const MOST_TOLD: usize = 50;
/// How many of them its sentence names.
const NAMED: usize = 3;
/// The longest subject, in characters.
const LONGEST_SUBJECT: usize = 200;

/// What is known of a new message in JSON; nothing of any other.
#[derive(Clone, Debug, Default)]
pub struct JsonFacts {
    /// The id that its author gave it, in the form in which ids are compared.
    pub own_id: Option<String>,
    /// What is wrong with it.
    pub problems: Vec<Problem>,
    /// What the office does because of it, and writes back to its sender.
    pub response: Option<Box<Response>>,
}

impl JsonFacts {
    /// Who answers the message, if it asks for files.
    pub(crate) fn asked_of(&self) -> Option<AgentId> {
        let response = self.response.as_ref()?;
        response.is_about_files().then_some(response.by)
    }
}

/// The id that the author of a body in JSON gave it, in the form in which ids are compared.
pub fn own_id(body: &str) -> Option<String> {
    json::read(json::find_in(body)?).value?.unique_id()
}

/// What became of the files that a message asks for, as its sender was told. A report grants nothing, whatever else it says;
/// `None` if what was told cannot be read.
pub fn outcome(told: &Message) -> Option<FilesOutcome> {
    let outcome = FilesOutcome::read(&told.body);
    if outcome.is_none() && told.kind == Some(Kind::Json(Type::ErrorReport)) {
        return Some(FilesOutcome::default());
    }
    if outcome.is_none() {
        tracing::warn!(message = told.id.0, "the answer to a request for files cannot be read");
    }
    outcome
}

/// What the office does because of a message, and writes to its sender.
#[derive(Clone, Debug)]
pub struct Response {
    /// Who writes: the office's own agent.
    pub by: AgentId,
    /// The name of the sender, who is written to.
    pub to: String,
    /// What it is about.
    pub matter: Matter,
}

/// What a response is about.
#[derive(Clone, Debug)]
pub enum Matter {
    /// The message has faults, and nothing is done.
    Faults {
        /// The type of the message, if it is known.
        about: Option<Type>,
        /// The subject of the report.
        subject: String,
        /// The report.
        report: json::Message,
    },
    /// The message asks for files.
    Files(FilesAsked),
}

/// The files that a message asks for.
#[derive(Clone, Debug)]
pub struct FilesAsked {
    /// What to try, in this order: what is asked for first, then the alternatives that can be tried.
    pub attempts: Vec<Attempt>,
    /// The places of the alternatives that are not tried: unreadable, or more than one message may ask for.
    pub skipped: Vec<usize>,
    /// The message.
    pub message: json::Message,
    /// The id of a report on it.
    pub report_id: String,
}

/// One of the things that a message would be content with.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// What to reserve.
    pub request: Request,
    /// Which alternative it is, from 0; none if it is what is asked for first.
    pub alternative: Option<usize>,
}

impl Response {
    /// Whether it tells what became of a request for files.
    pub fn is_about_files(&self) -> bool {
        match &self.matter {
            Matter::Faults { about, .. } => *about == Some(Type::FileReservation),
            Matter::Files(_) => true,
        }
    }

    /// What to try to reserve, until something is granted.
    pub fn attempts(&self) -> &[Attempt] {
        match &self.matter {
            Matter::Faults { .. } => &[],
            Matter::Files(asked) => &asked.attempts,
        }
    }

    /// The answer to `message`, which was kept as `id`, when the attempts ended so.
    pub fn answer(&self, message: &NewMessage, id: MessageId, ended: &[Reserved]) -> NewMessage {
        let (subject, body, report) = match &self.matter {
            Matter::Faults { subject, report, .. } => (subject.clone(), report.write(), Some(report.clone())),
            Matter::Files(asked) => asked.answer(message, ended),
        };
        NewMessage {
            project: message.project,
            from: self.by,
            from_as: None,
            recipients: vec![(message.from, self.to.clone(), Role::To)],
            subject: cut(subject.chars(), LONGEST_SUBJECT),
            body,
            thread: message.thread.clone().or_else(|| Some(id.to_string())),
            reply_to: Some(id),
            marks_read: true,
            importance: Importance::Normal,
            ack_required: false,
            kind: report.as_ref().and_then(json::Message::kind).map(Kind::Json),
            work_id: message.work_id.clone(),
            is_passing: false,
            door: OFFICE,
            vouched: Vouched::Claimed,
            idempotency: None,
            open_key: None,
            post: None,
            json: JsonFacts { own_id: report.as_ref().and_then(json::Message::unique_id), ..JsonFacts::default() },
            now: message.now,
        }
    }
}

impl FilesAsked {
    /// The subject and the body of the answer, and the report that it is if nothing was granted.
    fn answer(&self, message: &NewMessage, ended: &[Reserved]) -> (String, String, Option<json::Message>) {
        let mut conflicts = Vec::new();
        for (attempt, reserved) in self.attempts.iter().zip(ended) {
            match reserved {
                Reserved::Granted(reservations) => {
                    return granted(attempt, reservations, &distinct(conflicts), &self.skipped);
                }
                Reserved::Refused(found) | Reserved::Waiting { conflicts: found, .. } => conflicts.extend(found),
                // Whoever does not wait is in no circle.
                Reserved::Circle(_) => {}
            }
        }
        let conflicts = distinct(conflicts);
        let named = first_few(&conflicts, NAMED, "; ", ToString::to_string);
        let said = match not_tried(&self.skipped) {
            Some(not_tried) => format!("{named}. {not_tried}"),
            None => named.clone(),
        };
        let outcome = FilesOutcome { conflicts: held(&conflicts), ..FilesOutcome::default() };
        let timestamp = rfc3339(message.now);
        let stamp = Stamp { timestamp: &timestamp, message_id: &self.report_id, sender_id: OFFICE_AGENT };
        let report = outcome.report(&self.message, Error::RESERVED, &said, stamp);
        (format!("Not reserved: {named}"), report.write(), Some(report))
    }
}

fn granted(
    attempt: &Attempt,
    reservations: &[Reservation],
    conflicts: &[&Conflict],
    skipped: &[usize],
) -> (String, String, Option<json::Message>) {
    let mode = |reservation: &Reservation| if reservation.exclusive { "exclusive" } else { "shared" };
    let until = reservations.first().map(|first| rfc3339(first.ends_at)).unwrap_or_default();
    let named = first_few(reservations, NAMED, ", ", |one| format!("'{}' ({})", one.pattern, mode(one)));
    let lines: Vec<String> = reservations.iter().map(|one| format!("- `{}` ({})", one.pattern, mode(one))).collect();
    let mut said = format!("Granted until {until}:\n\n{}", lines.join("\n"));
    let mut subject = format!("Reserved: {named} until {until}");
    if let Some(place) = attempt.alternative {
        let why = first_few(conflicts, NAMED, "; ", ToString::to_string);
        said.push_str(&format!("\n\nThis is alternative {}: {why}.", place + 1));
        let earlier: Vec<usize> = skipped.iter().copied().filter(|skipped| *skipped < place).collect();
        said.extend(not_tried(&earlier).map(|not_tried| format!(" {not_tried}.")));
        subject = format!("Reserved, as alternative {}: {named} until {until}", place + 1);
    }
    let granted = reservations.iter().map(|one| GrantedFiles {
        id: one.id.0,
        path_pattern: one.pattern.as_str().to_owned(),
        exclusive: one.exclusive,
        expires_ts: rfc3339(one.ends_at),
    });
    let outcome = FilesOutcome {
        granted: granted.collect(),
        alternative: attempt.alternative.map(|place| place + 1),
        conflicts: held(conflicts),
    };
    (subject, outcome.to_markdown(&said), None)
}

fn held(conflicts: &[&Conflict]) -> Vec<HeldFiles> {
    let told = conflicts.iter().take(MOST_TOLD).map(|conflict| HeldFiles {
        path: conflict.wanted.clone(),
        held_path: conflict.pattern.clone(),
        holder: conflict.holder.clone(),
        exclusive: conflict.exclusive,
        waiting: conflict.waiting,
        expires_ts: rfc3339(conflict.until),
    });
    told.collect()
}

/// The same conflict once, though several attempts met it.
fn distinct(mut conflicts: Vec<&Conflict>) -> Vec<&Conflict> {
    let mut known = HashSet::new();
    conflicts.retain(|one| known.insert((&one.wanted, &one.pattern, &one.holder, one.exclusive)));
    conflicts
}

fn not_tried(skipped: &[usize]) -> Option<String> {
    let why = "without a pattern or a mode that is known, or more than one message may ask for";
    places(skipped).map(|places| format!("Not tried: {places}, {why}"))
}

/// `alternatives 1, 3`; none if there are none.
fn places(skipped: &[usize]) -> Option<String> {
    let places: Vec<String> = skipped.iter().take(MOST_TOLD).map(|place| (place + 1).to_string()).collect();
    match places.as_slice() {
        [] => None,
        [one] => Some(format!("alternative {one}")),
        several => Some(format!("alternatives {}", several.join(", "))),
    }
}

/// The id of a report, which follows from a hash: `msg-` and a UUID of version 4.
pub(crate) fn report_id(hash: blake3::Hash) -> String {
    let hex = hash.to_hex();
    format!("msg-{}-{}-4{}-a{}-{}", &hex[..8], &hex[8..12], &hex[12..15], &hex[15..18], &hex[18..30])
}
