//! From what was given on the command line to a message, with everything that is wrong with it.
//!
//! A message is judged by the reader: it is written, read back, and must say what was meant. Printing and sending are
//! not done here.

use std::path::Path;

use anyhow::bail;
use formats::Problem;
use formats::markdown::{
    self, BeadAccepted, Checkpoint, CheckpointReason, Failed, FailureType, Field, HelpRequest, HelpResponse, IssueType,
    Message, Offering, Progress, SpawnAck, SpawnRequest, SpawnStatus, Written, block, files, line,
};

use super::kinds::{self, Given};
use crate::commands::given::text_of;
use crate::output::text;

/// How much of a value is shown beside what would be read for it.
const SHOWN: usize = 80;

/// A message as it was given, and what is wrong with it.
pub struct Draft {
    /// What it says.
    pub message: Message,
    /// Its text.
    pub written: Written,
    /// What is missing or wrong.
    pub problems: Vec<Problem>,
    /// What would be read otherwise than it was meant.
    pub misread: Vec<Problem>,
}

impl Draft {
    /// Makes the message that was given; a worker that does not say when it began, begins `now`.
    pub fn new(given: Given, now: &str) -> anyhow::Result<Self> {
        let mut desk = Desk { problems: Vec::new(), stdin_is_for: None };
        let mut message = desk.message(given, now)?;
        let written = write(&mut message);
        let mut problems = desk.problems;
        let read = markdown::read(&written.subject, &written.body);
        for problem in read.problems {
            // A value that could not be taken is missing in the text as well.
            if problems.iter().all(|known| known.path != problem.path) {
                problems.push(problem);
            }
        }
        let mut misread = misread(&message, &read.value);
        misread.retain(|problem| problems.iter().all(|known| known.path != problem.path));
        Ok(Self { message, written, problems, misread })
    }

    /// Whether it can be sent as it is.
    pub fn is_sound(&self) -> bool {
        self.all_problems().next().is_none()
    }

    /// All that is wrong with it.
    pub fn all_problems(&self) -> impl Iterator<Item = &Problem> {
        self.problems.iter().chain(&self.misread)
    }
}

/// Writes the message. The subject names the work in brackets, also where the body calls it an issue: it is the bead then.
fn write(message: &mut Message) -> Written {
    let (kind, plain) = (message.kind(), message.write());
    let (Message::SpawnRequest(SpawnRequest { bead_id, issue_id, .. })
    | Message::SpawnAck(SpawnAck { bead_id, issue_id, .. })) = message
    else {
        return plain;
    };
    let named = format!("[{issue_id}] {}", plain.subject);
    let read = markdown::read(&named, "").value;
    // An id with a bracket in it, or one that is itself the name of a kind, would be misread.
    if issue_id.is_empty() || read.kind() != kind || read.bead_id() != issue_id {
        return plain;
    }
    bead_id.clone_from(issue_id);
    Written { subject: named, ..plain }
}

/// What would be read otherwise than it was meant, as when a label stands within the text of another field.
pub(super) fn misread(message: &Message, read: &Message) -> Vec<Problem> {
    let (meant, found) = (message.fields(), read.fields());
    let lost = meant.iter().filter(|(name, field)| value_of(&found, name) != Some(*field));
    let added = found.iter().filter(|(name, _)| value_of(&meant, name).is_none());
    let names = lost.chain(added).map(|(name, _)| *name);
    let told = names.map(|name| {
        let wanted = value_of(&meant, name).map_or_else(
            || "a value of its own, for this stands in the text of another field".to_owned(),
            |field| format!("'{}', as it was given", text::line(&said(field), SHOWN)),
        );
        Problem::wrong(name, &value_of(&found, name).map(said).unwrap_or_default(), wanted)
    });
    told.collect()
}

fn value_of<'a>(fields: &[(&'static str, Field<'a>)], name: &str) -> Option<Field<'a>> {
    fields.iter().find(|(known, _)| *known == name).map(|(_, field)| *field)
}

fn said(field: Field<'_>) -> String {
    match field {
        Field::Text(text) => text.to_owned(),
        Field::Number(number) => number.to_string(),
        Field::Flag(flag) => flag.to_string(),
        Field::List(list) => list.join(", "),
    }
}

/// Takes what was given, and notes what cannot be taken.
struct Desk {
    problems: Vec<Problem>,
    /// The flag whose text is standard input.
    stdin_is_for: Option<&'static str>,
}

impl Desk {
    fn message(&mut self, given: Given, now: &str) -> anyhow::Result<Message> {
        Ok(match given {
            Given::BeadAccepted(it) => Message::BeadAccepted(BeadAccepted {
                bead_id: one_line(it.bead),
                title: one_line(it.title),
                started_at: it.started_at.map_or_else(|| now.to_owned(), |time| line(&time)),
            }),
            Given::Progress(it) => Message::Progress(Progress {
                bead_id: one_line(it.bead),
                step: one_line(it.step),
                status: one_line(it.status),
                context_usage: self.percent(it.context_usage),
                files_touched: files(it.files),
            }),
            Given::HelpRequest(it) => Message::HelpRequest(self.help_request(it)?),
            Given::HelpResponse(it) => Message::HelpResponse(HelpResponse {
                bead_id: one_line(it.bead),
                guidance: self.long("--guidance", it.guidance)?,
            }),
            Given::OfferingReady(it) => Message::OfferingReady(self.offering(it)?),
            Given::Done(it) => Message::Done(self.offering(it)?),
            Given::Failed(it) => Message::Failed(self.failed(it)?),
            Given::Checkpoint(it) => Message::Checkpoint(self.checkpoint(it)?),
            Given::SpawnRequest(it) => Message::SpawnRequest(SpawnRequest {
                bead_id: String::new(),
                issue_id: one_line(it.issue),
                resume: self.verdict("resume", Some(it.resume), "true or false").unwrap_or_default(),
                partial_commit_sha: one_line(it.checkpoint),
                orchestrator: one_line(it.orchestrator),
            }),
            Given::SpawnAck(it) => Message::SpawnAck(SpawnAck {
                bead_id: String::new(),
                issue_id: one_line(it.issue),
                status: it.status.as_deref().and_then(filled).map(spawn_status),
                session: one_line(it.session),
            }),
        })
    }

    fn help_request(&mut self, it: kinds::HelpRequest) -> anyhow::Result<HelpRequest> {
        Ok(HelpRequest {
            bead_id: one_line(it.bead),
            issue_type: it.issue_type.as_deref().and_then(filled).map(IssueType::read),
            problem: block(&self.long("--problem", it.problem)?),
            what_tried: block(&self.long("--tried", it.tried)?),
            files_touched: files(it.files),
            question: block(&self.long("--question", it.question)?),
        })
    }

    fn offering(&mut self, it: kinds::Offering) -> anyhow::Result<Offering> {
        Ok(Offering {
            bead_id: one_line(it.bead),
            status: "DONE".to_owned(),
            commit_sha: one_line(it.commit),
            files: files(it.files),
            tests: self.verdict("tests_pass", it.tests, "pass or fail"),
            lint: self.verdict("lint_pass", it.lint, "pass or fail"),
            build: self.verdict("build_pass", it.build, "pass or fail"),
            summary: block(&self.long("--summary", it.summary)?),
        })
    }

    fn failed(&mut self, it: kinds::Failed) -> anyhow::Result<Failed> {
        Ok(Failed {
            bead_id: one_line(it.bead),
            failure_type: it.failure_type.as_deref().and_then(filled).map(FailureType::read),
            reason: line(&self.long("--reason", it.reason)?),
            internal_attempts: self.number("internal_attempts", it.attempts, "a whole number"),
            partial_commit_sha: one_line(it.commit),
            files: files(it.files),
            recommendation: block(&self.long("--recommendation", it.recommendation)?),
        })
    }

    fn checkpoint(&mut self, it: kinds::CheckpointArgs) -> anyhow::Result<Checkpoint> {
        Ok(Checkpoint {
            bead_id: one_line(it.bead),
            reason: it.reason.as_deref().and_then(filled).map(CheckpointReason::read),
            partial_commit_sha: one_line(it.commit),
            progress: line(&self.long("--description", it.description)?),
            context_usage: self.percent(it.context_usage),
            next_steps: block(&self.long("--next-steps", it.next_steps)?),
        })
    }

    /// A text that may be long: `-` is standard input, `@file` a file, and `@@` begins a text with one `@`.
    fn long(&mut self, flag: &'static str, given: Option<String>) -> anyhow::Result<String> {
        let Some(text) = given else { return Ok(String::new()) };
        if text == "-" {
            if let Some(other) = self.stdin_is_for.replace(flag) {
                bail!("standard input cannot be both {other} and {flag}; put one text in a file and pass @FILE");
            }
            return text_of(None);
        }
        match text.strip_prefix('@') {
            None => Ok(text),
            Some(literal) if literal.starts_with('@') => Ok(literal.to_owned()),
            Some(path) => text_of(Some(Path::new(path))),
        }
    }

    fn percent(&mut self, given: Option<String>) -> Option<u8> {
        let wanted = "0 to 100";
        let given = given.map(|text| text.trim().trim_end_matches('%').to_owned());
        let number = self.number("context_usage", given, wanted)?;
        let percent = u8::try_from(number).ok().filter(|percent| *percent <= 100);
        self.taken("context_usage", &number.to_string(), percent, wanted)
    }

    fn number(&mut self, path: &'static str, given: Option<String>, wanted: &str) -> Option<u32> {
        let given = given?;
        let text = filled(&given)?;
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
        self.taken(path, text, text.parse().ok().filter(|_| is_plain), wanted)
    }

    fn verdict(&mut self, path: &'static str, given: Option<String>, wanted: &str) -> Option<bool> {
        let given = given?;
        let text = filled(&given)?;
        self.taken(path, text, read_verdict(text), wanted)
    }

    fn taken<T>(&mut self, path: &'static str, text: &str, value: Option<T>, wanted: &str) -> Option<T> {
        if value.is_none() {
            self.problems.push(Problem::wrong(path, text, wanted));
        }
        value
    }
}

/// A yes or a no, in whichever word the reader takes for one.
fn read_verdict(text: &str) -> Option<bool> {
    match markdown::read("DONE", &format!("## Self-Validation\n- Tests: {}", line(text))).value {
        Message::Done(offering) => offering.tests,
        _ => None,
    }
}

/// The word in any case, for the reader takes it as it is written.
fn spawn_status(text: &str) -> SpawnStatus {
    match SpawnStatus::read(&text.to_ascii_lowercase()) {
        SpawnStatus::Other(_) => SpawnStatus::read(text),
        known => known,
    }
}

fn one_line(given: Option<String>) -> String {
    given.as_deref().map(line).unwrap_or_default()
}

fn filled(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}
