//! From what was given on the command line to a message, with everything that is wrong with it.
//!
//! A message is judged by the reader: it is written, read back, and must say what was meant. Printing and sending are
//! not done here.

use std::path::Path;

use anyhow::bail;
use formats::Problem;
use formats::markdown::Field::{Flag, List, Number, Text};
use formats::markdown::{self, Field, Kind, Message, Written, block, files, line};

use super::kinds::{self, Given};
use crate::commands::given::text_of;
use crate::output::text;

/// How much of a value is shown beside what would be read for it.
const SHOWN: usize = 80;

/// A message as it was given, and what is wrong with it.
pub struct TypedDraft {
    /// What it says.
    pub message: Message,
    /// Its text.
    pub written: Written,
    /// What is missing or wrong.
    pub problems: Vec<Problem>,
    /// What would be read otherwise than it was meant.
    pub misread: Vec<Problem>,
}

impl TypedDraft {
    /// Makes the message that was given; a worker that does not say when it began, begins `now`.
    pub fn new(given: Given, now: &str) -> anyhow::Result<Self> {
        let mut builder = DraftBuilder { problems: Vec::new(), stdin_is_for: None };
        let mut message = builder.message(given, now)?;
        let written = write(&mut message);
        let mut problems = builder.problems;
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
    let issue_id = message.text("issue_id").to_owned();
    let named = format!("[{issue_id}] {}", plain.subject);
    let read = markdown::read(&named, "").value;
    // An id with a bracket in it, or one that is itself the name of a kind, would be misread.
    if issue_id.is_empty() || read.kind() != kind || read.bead_id() != issue_id {
        return plain;
    }
    *message = message.clone().with("bead_id", Text(issue_id));
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

fn value_of<'a>(fields: &[(&'static str, &'a Field)], name: &str) -> Option<&'a Field> {
    fields.iter().find(|(known, _)| *known == name).map(|(_, field)| *field)
}

fn said(field: &Field) -> String {
    match field {
        Field::Text(text) => text.clone(),
        Field::Number(number) => number.to_string(),
        Field::Flag(flag) => flag.to_string(),
        Field::List(list) => list.join(", "),
    }
}

/// Takes what was given, and notes what cannot be taken.
struct DraftBuilder {
    problems: Vec<Problem>,
    /// The flag whose text is standard input.
    stdin_is_for: Option<&'static str>,
}

impl DraftBuilder {
    fn message(&mut self, given: Given, now: &str) -> anyhow::Result<Message> {
        let text = |text: Option<String>| Text(one_line(text));
        let of = |kind: Kind| Message::new(Some(kind));
        Ok(match given {
            Given::BeadAccepted { bead, title, started_at } => of(Kind::BeadAccepted)
                .with("bead_id", text(bead))
                .with("title", text(title))
                .with("started_at", Text(started_at.map_or_else(|| now.to_owned(), |time| line(&time)))),
            Given::Progress { bead, step, status, context_usage, files: touched } => of(Kind::Progress)
                .with("bead_id", text(bead))
                .with("step", text(step))
                .with("status", text(status))
                .with("context_usage", self.percent(context_usage))
                .with("files_touched", List(files(touched))),
            Given::HelpRequest(it) => of(Kind::HelpRequest)
                .with("bead_id", text(it.bead))
                .with("issue_type", upper(it.issue_type))
                .with("problem", Text(block(&self.long("--problem", it.problem)?)))
                .with("what_tried", Text(block(&self.long("--tried", it.tried)?)))
                .with("files_touched", List(files(it.files)))
                .with("question", Text(block(&self.long("--question", it.question)?))),
            Given::HelpResponse { bead, guidance } => of(Kind::HelpResponse)
                .with("bead_id", text(bead))
                .with("guidance", Text(self.long("--guidance", guidance)?)),
            Given::OfferingReady(it) => self.offering(of(Kind::OfferingReady), it)?,
            Given::Done(it) => self.offering(of(Kind::Done), it)?,
            Given::Failed(it) => of(Kind::Failed)
                .with("bead_id", text(it.bead))
                .with("failure_type", upper(it.failure_type))
                .with("reason", Text(line(&self.long("--reason", it.reason)?)))
                .with("internal_attempts", self.number("internal_attempts", it.attempts, "a whole number").map(Number))
                .with("partial_commit_sha", text(it.commit))
                .with("files", List(files(it.files)))
                .with("recommendation", Text(block(&self.long("--recommendation", it.recommendation)?))),
            Given::Checkpoint(it) => of(Kind::Checkpoint)
                .with("bead_id", text(it.bead))
                .with("checkpoint_reason", upper(it.reason))
                .with("partial_commit_sha", text(it.commit))
                .with("progress", Text(line(&self.long("--description", it.description)?)))
                .with("context_usage", self.percent(it.context_usage))
                .with("next_steps", Text(block(&self.long("--next-steps", it.next_steps)?))),
            Given::SpawnRequest { issue, resume, checkpoint, orchestrator } => of(Kind::SpawnRequest)
                .with("issue_id", text(issue))
                .with(
                    "resume",
                    self.verdict("resume", Some(resume), "true or false").filter(|field| *field == Flag(true)),
                )
                .with("partial_commit_sha", text(checkpoint))
                .with("orchestrator", text(orchestrator)),
            Given::SpawnAck { issue, status, session } => of(Kind::SpawnAck)
                .with("issue_id", text(issue))
                .with("status", status.as_deref().and_then(filled).map(spawn_status))
                .with("session", text(session)),
        })
    }

    fn offering(&mut self, message: Message, it: kinds::Offering) -> anyhow::Result<Message> {
        Ok(message
            .with("bead_id", Text(one_line(it.bead)))
            .with("status", Text("DONE".to_owned()))
            .with("commit_sha", Text(one_line(it.commit)))
            .with("files", List(files(it.files)))
            .with("tests_pass", self.verdict("tests_pass", it.tests, "pass or fail"))
            .with("lint_pass", self.verdict("lint_pass", it.lint, "pass or fail"))
            .with("build_pass", self.verdict("build_pass", it.build, "pass or fail"))
            .with("summary", Text(block(&self.long("--summary", it.summary)?))))
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

    fn percent(&mut self, given: Option<String>) -> Option<Field> {
        let wanted = "0 to 100";
        let given = given.map(|text| text.trim().trim_end_matches('%').to_owned());
        let number = self.number("context_usage", given, wanted)?;
        self.taken("context_usage", &number.to_string(), Some(Number(number)).filter(|_| number <= 100), wanted)
    }

    fn number(&mut self, path: &'static str, given: Option<String>, wanted: &str) -> Option<u64> {
        let given = given?;
        let text = filled(&given)?;
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
        self.taken(path, text, text.parse::<u32>().ok().filter(|_| is_plain).map(u64::from), wanted)
    }

    fn verdict(&mut self, path: &'static str, given: Option<String>, wanted: &str) -> Option<Field> {
        let given = given?;
        let text = filled(&given)?;
        self.taken(path, text, read_verdict(text).map(Flag), wanted)
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
    markdown::read("DONE", &format!("## Self-Validation\n- Tests: {}", line(text))).value.flag("tests_pass")
}

/// The word in any case, for the reader takes it as it is written.
fn spawn_status(text: &str) -> Field {
    let word = text.to_ascii_lowercase();
    Text(if matches!(word.as_str(), "spawned" | "failed") { word } else { text.to_owned() })
}

fn upper(given: Option<String>) -> Field {
    Text(given.as_deref().and_then(filled).unwrap_or_default().to_ascii_uppercase())
}

fn one_line(given: Option<String>) -> String {
    given.as_deref().map(line).unwrap_or_default()
}

fn filled(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}
