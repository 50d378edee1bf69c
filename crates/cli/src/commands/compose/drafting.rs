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

/// A message as it was given, and what is wrong with it.
pub struct Draft {
    /// What it says.
    pub message: Message,
    /// Its text.
    pub written: Written,
    /// What is missing or wrong.
    pub problems: Vec<Problem>,
}

impl Draft {
    /// Makes the message that was given; a worker that does not say when it began, begins `now`.
    pub fn new(given: Given, now: &str) -> anyhow::Result<Self> {
        let mut desk = Desk { problems: Vec::new(), stdin_is_for: None };
        let message = desk.message(given, now)?;
        let written = message.write();
        let mut problems = desk.problems;
        let read = markdown::read(&written.subject, &written.body);
        for problem in read.problems.into_iter().chain(misread(&message, &read.value)) {
            // A value that could not be taken is missing in the text as well.
            if problems.iter().all(|known| known.path != problem.path) {
                problems.push(problem);
            }
        }
        Ok(Self { message, written, problems })
    }
}

/// What would be read otherwise than it was meant, as when a label stands within the text of another field.
fn misread(message: &Message, read: &Message) -> Vec<Problem> {
    let (meant, found) = (message.fields(), read.fields());
    let differs = |(name, field): &(&'static str, Field<'_>), others: &[(&'static str, Field<'_>)]| {
        !others.iter().any(|(other, value)| other == name && value == field)
    };
    let lost = meant.iter().filter(|field| differs(field, &found));
    let added = found.iter().filter(|field| differs(field, &meant));
    let wanted = "a value of its own that no other field's text can be taken for";
    lost.chain(added).map(|(name, _)| Problem::missing(*name, wanted)).collect()
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
                resume: self.choice("resume", Some(it.resume), "true", "false").unwrap_or_default(),
                partial_commit_sha: one_line(it.checkpoint),
                orchestrator: one_line(it.orchestrator),
            }),
            Given::SpawnAck(it) => Message::SpawnAck(SpawnAck {
                bead_id: String::new(),
                issue_id: one_line(it.issue),
                status: it.status.as_deref().and_then(filled).map(SpawnStatus::read),
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
            tests: self.choice("tests_pass", it.tests, "pass", "fail"),
            lint: self.choice("lint_pass", it.lint, "pass", "fail"),
            build: self.choice("build_pass", it.build, "pass", "fail"),
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

    fn checkpoint(&mut self, it: kinds::Checkpoint) -> anyhow::Result<Checkpoint> {
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

    fn choice(&mut self, path: &'static str, given: Option<String>, yes: &str, no: &str) -> Option<bool> {
        let given = given?;
        let text = filled(&given)?;
        let chosen = match text {
            _ if text.eq_ignore_ascii_case(yes) => Some(true),
            _ if text.eq_ignore_ascii_case(no) => Some(false),
            _ => None,
        };
        self.taken(path, text, chosen, &format!("{yes} or {no}"))
    }

    fn taken<T>(&mut self, path: &'static str, text: &str, value: Option<T>, wanted: &str) -> Option<T> {
        if value.is_none() {
            self.problems.push(Problem::wrong(path, text, wanted));
        }
        value
    }
}

fn one_line(given: Option<String>) -> String {
    given.as_deref().map(line).unwrap_or_default()
}

fn filled(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}
