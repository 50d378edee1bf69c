//! What is looked up about a JSON message before it is kept, and what the office will do because of it.
//!
//! A request for files is acted on where its sender is known: at every door but folders and NATS, where nobody proves a name and a
//! document may be old. Faults of a known type are told in the answer to the send; what a receiver cannot read at all (an
//! unknown type, another version), a request that cannot be acted on, and faults at a door whose answer has no room for them
//! are reported to the sender's mailbox.

use formats::json::{self, FilesRequest, Rejection, Stamp, Type};
use formats::{Parsed, Problem};

use super::reading::{JsonBody, Reading, withhold};
use super::send::Draft;
use crate::channels::is_outside;
use crate::clock::rfc3339;
use crate::error::{Error, check_text};
use crate::ids::{AgentId, MessageId};
use crate::messages::{EXEC, Message, NewMessage};
use crate::office::reservations::{LONGEST_REASON, MOST_ALTERNATIVES, check_ttl, patterns};
use crate::office::{Known, Office};
use crate::projects::{Named, Project};
use crate::reservations::pattern::Pattern;
use crate::reservations::{DEFAULT_TTL_SECONDS, Request, TTL_SECONDS};
use crate::responses::{Attempt, FilesAsked, JsonFacts, Matter, OFFICE_AGENT, Response, report_id};

/// The most things that are tried for one message.
const MOST_ATTEMPTS: usize = 10;

impl Office {
    /// Examines a draft that was read. What is found is added to the notes for its sender, and refuses a strict one.
    pub(super) async fn examine(
        &self,
        project: &Project,
        sender: &Known,
        draft: &Draft<'_>,
        reading: &mut Reading,
        answered: Option<&Message>,
    ) -> Result<JsonFacts, Error> {
        let Some(JsonBody { message }) = reading.json.take() else { return Ok(JsonFacts::default()) };
        let problems = &mut reading.notes.problems;
        let own_id = message.as_ref().and_then(json::Message::unique_id);
        let has_secret = !reading.notes.secrets.is_empty();
        problems.extend(self.reused_id(project, sender, message.as_ref(), own_id.as_deref()).await?);
        let asks = message.as_ref().and_then(json::Message::kind) == Some(Type::FileReservation);
        if asks && has_secret && !is_outside(draft.door) {
            // Patterns and names of work are repeated to whoever asks later.
            problems.push(Problem::wrong("", "", "a message without what looks like a secret: send it without"));
        }
        let mut asked = None;
        if let Some(message) = message.as_ref().filter(|_| problems.is_empty() && !is_outside(draft.door))
            && let Some(request) = message.files_request()
        {
            match files_asked(&self.named(draft.project_key).await?, sender, &request) {
                Ok(attempts) => asked = Some(attempts),
                Err(problem) => problems.push(problem),
            }
        }
        if has_secret {
            withhold(problems);
        }
        // Whatever stands in it, it may be the secret.
        let shown = Parsed { value: message.clone().filter(|_| !has_secret), problems: problems.clone() };
        let rejection = json::rejection(&shown).map(|rejection| coded(rejection, draft.body));
        if draft.strict && !problems.is_empty() {
            return Err(Error::Malformed { problems: std::mem::take(problems), rejection });
        }
        let is_answered = is_to_be_answered(draft, message.as_ref());
        let is_to_office = is_to_office(draft, answered);
        let matter = match (asked, rejection, message) {
            _ if !is_answered => None,
            (Some((attempts, skipped)), _, Some(message)) => {
                Some(Matter::Files(FilesAsked { attempts, skipped, message, report_id: self.new_report_id() }))
            }
            (_, Some(rejection), message) if !is_to_office && is_reported(draft, message.as_ref(), &rejection) => {
                Some(self.faults(message.as_ref().and_then(json::Message::kind), &shown, &rejection))
            }
            _ => None,
        };
        let response = match matter {
            Some(matter) => {
                let by = self.office_agent(project).await?;
                Some(Box::new(Response { by, to: sender.name.clone(), matter }))
            }
            None => None,
        };
        Ok(JsonFacts { own_id, problems: shown.problems, response })
    }

    /// The problem of a message whose id another one has, which says something else. The same once more is no problem.
    async fn reused_id(
        &self,
        project: &Project,
        sender: &Known,
        message: Option<&json::Message>,
        own_id: Option<&str>,
    ) -> Result<Option<Problem>, Error> {
        let (Some(message), Some(own_id)) = (message, own_id) else { return Ok(None) };
        let Some(first) = self.store.message_called(project.id, own_id).await? else { return Ok(None) };
        if message.is_body(&first.body) {
            return Ok(None);
        }
        let is_known = first.from == sender.name
            || self.store.deliveries(first.id).await?.iter().any(|delivery| delivery.recipient == sender.name);
        // The number of a message is told to those alone who have it.
        let other = if is_known { format!("message {}", first.id) } else { "another message".to_owned() };
        let wanted = format!("an id of its own: {other} has this one and says something else");
        Ok(Some(Problem::wrong("message_id", message.message_id().unwrap_or_default(), wanted)))
    }

    fn faults(&self, about: Option<Type>, read: &Parsed<Option<json::Message>>, rejection: &Rejection) -> Matter {
        let (timestamp, message_id) = (rfc3339(self.now()), self.new_report_id());
        let stamp = Stamp { timestamp: &timestamp, message_id: &message_id, sender_id: OFFICE_AGENT };
        let what = if about == Some(Type::FileReservation) { "Not reserved" } else { rejection.error };
        let subject = format!("{what}: {}", rejection.details);
        Matter::Faults { about, subject, report: json::error_report(read, rejection, stamp) }
    }

    fn new_report_id(&self) -> String {
        report_id(blake3::hash(self.chance.token().as_bytes()))
    }

    /// What the sender of a kept message was told of the files that it asks for.
    pub(super) async fn told_of_files(&self, by: Option<AgentId>, id: MessageId) -> Option<Message> {
        // The message is kept, whether or not this can be looked up now: it is in the mailbox.
        self.store.answer_by(by?, id).await.ok()?
    }

    /// Wakes those who wait for what was kept. A lost wake-up costs one polling interval, never a message.
    pub(super) fn wake_for(&self, new: &NewMessage) {
        let sender = new.json.response.is_some().then_some(new.from);
        let woken: Vec<AgentId> = new.recipients.iter().map(|(agent, ..)| *agent).chain(sender).collect();
        self.wake.mail_for(&woken);
        self.wake.work_changed(new.project);
        if new.json.response.as_ref().is_some_and(|response| !response.attempts().is_empty()) {
            self.wake.reservations_changed(new.project);
        }
    }
}

/// The rejection with the code of the format alone: what the office adds (another's name, an id that was used) makes no
/// unknown type a known one.
fn coded(rejection: Rejection, body: &str) -> Rejection {
    let of_format = json::find_in(body).and_then(|text| json::rejection(&json::read(text)));
    Rejection { error: of_format.map_or(rejection.error, |of_format| of_format.error), ..rejection }
}

/// Whether the office may answer at all. It never answers a report, nor itself.
fn is_to_be_answered(draft: &Draft<'_>, message: Option<&json::Message>) -> bool {
    let is_report = message.and_then(json::Message::kind) == Some(Type::ErrorReport);
    !is_report && draft.from.name != OFFICE_AGENT && !is_outside(draft.door)
}

/// Whether it is said to the office alone, or answers it: to report on that could go on for ever.
fn is_to_office(draft: &Draft<'_>, answered: Option<&Message>) -> bool {
    let mut named = draft.to.iter().chain(&draft.cc).chain(&draft.bcc).peekable();
    let is_alone = named.peek().is_some() && named.all(|name| name == OFFICE_AGENT);
    is_alone || answered.is_some_and(|answered| answered.from == OFFICE_AGENT)
}

fn is_reported(draft: &Draft<'_>, message: Option<&json::Message>, rejection: &Rejection) -> bool {
    let kind = message.map(json::Message::kind);
    matches!(kind, Some(None | Some(Type::FileReservation))) || rejection.is_of_version() || draft.door == EXEC
}

/// What to try, in order, and which alternatives cannot be tried; or why nothing can be.
fn files_asked(named: &Named, sender: &Known, asked: &FilesRequest<'_>) -> Result<(Vec<Attempt>, Vec<usize>), Problem> {
    let reason = check_text("reason", asked.reason, LONGEST_REASON);
    reason.map_err(|error| problem("reservation_request.reason", asked.reason, error))?;
    let ttl_seconds = match asked.minutes {
        None => DEFAULT_TTL_SECONDS,
        Some(minutes) => ttl_of(minutes)?,
    };
    // One message holds the writer for all that it tries: there is one budget for the sum.
    let mut left = MOST_ALTERNATIVES;
    let mut attempt = |files: &json::Files<'_>, alternative| -> Result<Attempt, Error> {
        let paths: Vec<String> = files.patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        let patterns = patterns(named, &paths, left)?;
        left -= patterns.iter().map(Pattern::breadth).sum::<usize>();
        let request = Request {
            project: named.project.id,
            agent: sender.id,
            agent_name: sender.name.clone(),
            patterns,
            exclusive: files.exclusive,
            reason: asked.reason.to_owned(),
            ttl_seconds,
            wait_until: None,
            ticket: None,
        };
        Ok(Attempt { request, alternative })
    };
    let first = attempt(&asked.wanted, None);
    let mut attempts = vec![first.map_err(|error| problem("reservation_request.file_patterns", "", error))?];
    let mut skipped = Vec::new();
    for (place, files) in asked.alternatives.iter().enumerate() {
        let readable = files.as_ref().filter(|_| attempts.len() < MOST_ATTEMPTS);
        match readable.map(|files| attempt(files, Some(place))) {
            Some(Ok(attempt)) => attempts.push(attempt),
            _ => skipped.push(place),
        }
    }
    Ok((attempts, skipped))
}

fn ttl_of(minutes: f64) -> Result<i64, Problem> {
    // A number that is too large for an integer becomes the largest, which is refused.
    let seconds = (minutes * 60.0).round() as i64;
    let longest = *TTL_SECONDS.end() / 60;
    let wanted = || format!("at most {longest} minutes, and at least a second");
    let checked = check_ttl("duration_minutes", seconds).map(|()| seconds);
    checked.map_err(|_| Problem::wrong("reservation_request.duration_minutes", &minutes.to_string(), wanted()))
}

/// What the reservations say of a value, as a problem of its field.
fn problem(path: &str, found: &str, error: Error) -> Problem {
    match error {
        Error::Invalid { value, wanted, .. } => Problem::wrong(path, &value, wanted),
        Error::Pattern(error) => {
            Problem::wrong(path, &error.text, format!("a glob within the project, and it {}", error.problem))
        }
        other => Problem::wrong(path, found, other.to_string()),
    }
}
