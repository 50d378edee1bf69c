//! Reading a coordination message.
//!
//! Reading is lenient: what a text does not have stays empty, and what cannot be read is left out. Everything that the
//! protocol asks for and the text does not give is told as a problem; whether that matters is for the caller.

mod values;

use super::body::unwrapped;
use super::labels::{ACCEPTED_BEAD, BEAD};
use super::message::usable_id;
use super::normal::{plain, with_line_feeds};
use super::outline::{Outline, Wanted};
use super::subject::Subject;
use super::words::{Word, read_verdict};
use super::{
    BeadAccepted, Checkpoint, Failed, HelpRequest, HelpResponse, Kind, Message, Offering, Progress, SpawnAck,
    SpawnRequest, Unknown, read_timestamp,
};
use crate::{Parsed, Problem};
use values::{bounded, optional, without_bead_line};

/// Reads a message. Its kind comes from the subject, everything else from the body, and the piece of work from either.
pub fn read(subject: &str, body: &str) -> Parsed<Message> {
    let head = Subject::read(subject);
    let body = unwrapped(body);
    let mut problems = Vec::new();
    let value = match head.kind {
        Some(kind) => Reader::new(kind, &body, head.id, &mut problems).message(kind),
        None => {
            problems.push(no_kind(subject, head.slip));
            Message::Unknown(if head.slip.is_some() { Unknown::default() } else { unknown(&body, head.id) })
        }
    };
    Parsed { value, problems }
}

fn no_kind(subject: &str, meant: Option<Kind>) -> Problem {
    let wanted = || Kind::ALL.map(Kind::as_str).join(" | ");
    match meant {
        _ if subject.trim().is_empty() => Problem::missing("subject", wanted()),
        Some(kind) => Problem::wrong("subject", subject, kind.as_str()),
        None => Problem::wrong("subject", subject, wanted()),
    }
}

fn unknown(body: &str, subject_id: Option<&str>) -> Unknown {
    let body = Outline::read(body, &UNKNOWN);
    // `Issue:` also opens many a sentence, and an id has no spaces.
    let issue_id = body.value("Issue").filter(|id| !id.contains(char::is_whitespace));
    Unknown {
        bead_id: body.value(BEAD).or_else(|| body.value(ACCEPTED_BEAD)).or(subject_id).unwrap_or_default().to_owned(),
        issue_id: issue_id.unwrap_or_default().to_owned(),
    }
}

const UNKNOWN: Wanted = Wanted { labels: &[BEAD, ACCEPTED_BEAD, "Issue"], list: None, sections: &[] };
const VALIDATION: Wanted = Wanted { labels: &["Tests", "Lint", "Build"], list: None, sections: &[] };
const FAILURE: Wanted = Wanted { labels: &["Type", "Reason", "Internal Attempts"], list: None, sections: &[] };
/// What stands in `## Changes` and `## Partial Progress`.
const COMMIT: Wanted = Wanted { labels: &["Commit"], list: Some("Files"), sections: &[] };
const STATE: Wanted = Wanted { labels: &["Commit", "Description", "Context usage"], list: None, sections: &[] };

/// What a kind has anywhere in its body.
fn wanted(kind: Kind) -> Wanted {
    let (labels, list, sections): (&[_], _, &[_]) = match kind {
        Kind::BeadAccepted => (&[BEAD, ACCEPTED_BEAD, "Title", "Starting implementation at"], None, &[]),
        Kind::Progress => (&[BEAD, ACCEPTED_BEAD, "Step", "Status", "Context usage"], Some("Files touched"), &[]),
        Kind::HelpRequest => {
            (&[BEAD, ACCEPTED_BEAD, "Issue Type"], None, &["Problem", "What I Tried", "Files Touched", "Question"])
        }
        Kind::HelpResponse => (&[BEAD, ACCEPTED_BEAD], None, &[]),
        Kind::OfferingReady | Kind::Done => {
            (&[BEAD, ACCEPTED_BEAD, "Status"], None, &["Changes", "Self-Validation", "Summary"])
        }
        Kind::Failed => (&[BEAD, ACCEPTED_BEAD, "Status"], None, &["Failure", "Partial Progress", "Recommendation"]),
        Kind::Checkpoint => {
            (&[BEAD, ACCEPTED_BEAD, "Reason"], None, &["Progress", "Next Steps for Successor", "Next Steps"])
        }
        Kind::SpawnRequest => (&[BEAD, ACCEPTED_BEAD, "Issue", "Resume", "Checkpoint", "Orchestrator"], None, &[]),
        Kind::SpawnAck => (&[BEAD, ACCEPTED_BEAD, "Issue", "Status", "Session"], None, &[]),
    };
    Wanted { labels, list, sections }
}

/// Reads the fields of one message, in the order in which the protocol lists them.
struct Reader<'t, 'p> {
    text: &'t str,
    body: Outline<'t>,
    /// Where the body names the bead, if it does.
    bead_label: Option<&'static str>,
    subject_id: Option<&'t str>,
    problems: &'p mut Vec<Problem>,
}

impl<'t, 'p> Reader<'t, 'p> {
    fn new(kind: Kind, text: &'t str, subject_id: Option<&'t str>, problems: &'p mut Vec<Problem>) -> Self {
        let body = Outline::read(text, &wanted(kind));
        // A kind's own label is meant before the other one, wherever they stand.
        let labels = if kind == Kind::BeadAccepted { [ACCEPTED_BEAD, BEAD] } else { [BEAD, ACCEPTED_BEAD] };
        let bead_label = labels.into_iter().find(|label| body.value(label).is_some());
        Self { text, body, bead_label, subject_id, problems }
    }

    fn message(self, kind: Kind) -> Message {
        match kind {
            Kind::BeadAccepted => Message::BeadAccepted(self.bead_accepted()),
            Kind::Progress => Message::Progress(self.progress()),
            Kind::HelpRequest => Message::HelpRequest(self.help_request()),
            Kind::HelpResponse => Message::HelpResponse(self.help_response()),
            Kind::OfferingReady => Message::OfferingReady(self.offering()),
            Kind::Done => Message::Done(self.offering()),
            Kind::Failed => Message::Failed(self.failed()),
            Kind::Checkpoint => Message::Checkpoint(self.checkpoint()),
            Kind::SpawnRequest => Message::SpawnRequest(self.spawn_request()),
            Kind::SpawnAck => Message::SpawnAck(self.spawn_ack()),
        }
    }

    fn bead_accepted(mut self) -> BeadAccepted {
        BeadAccepted {
            bead_id: self.required_bead_id(),
            title: self.required("title", self.body.value("Title"), "the title of the work"),
            started_at: self.time("started_at", self.body.value("Starting implementation at")),
        }
    }

    fn progress(mut self) -> Progress {
        Progress {
            bead_id: self.required_bead_id(),
            step: self.required("step", self.body.value("Step"), "the current step"),
            status: self.required("status", self.body.value("Status"), "what is happening"),
            context_usage: self.percent("context_usage", self.body.value("Context usage")),
            files_touched: bounded(self.problems, "files_touched", self.body.into_list()),
        }
    }

    fn help_request(mut self) -> HelpRequest {
        HelpRequest {
            bead_id: self.required_bead_id(),
            issue_type: self.word("issue_type", self.body.value("Issue Type")),
            problem: self.required("problem", self.body.section("Problem"), "a section '## Problem'"),
            what_tried: optional(self.body.section("What I Tried")),
            files_touched: bounded(self.problems, "files_touched", self.body.bullets("Files Touched")),
            question: self.required("question", self.body.section("Question"), "a section '## Question'"),
        }
    }

    fn help_response(mut self) -> HelpResponse {
        let guidance = plain(self.bead_label.map_or(self.text, |label| without_bead_line(self.text, label)));
        HelpResponse {
            bead_id: self.bead_id().to_owned(),
            guidance: self.required("guidance", Some(&guidance), "a text that helps"),
        }
    }

    fn offering(mut self) -> Offering {
        let changes = self.body.within("Changes", &COMMIT);
        let validation = self.body.within("Self-Validation", &VALIDATION);
        Offering {
            bead_id: self.required_bead_id(),
            status: self.constant("status", self.body.value("Status"), "DONE"),
            commit_sha: self.required("commit_sha", changes.value("Commit"), "'- Commit:' in '## Changes'"),
            files: bounded(self.problems, "files", changes.into_list()),
            tests: self.verdict("tests_pass", validation.value("Tests"), "PASS | FAIL"),
            lint: self.verdict("lint_pass", validation.value("Lint"), "PASS | FAIL"),
            build: self.verdict("build_pass", validation.value("Build"), "PASS | FAIL"),
            summary: self.required("summary", self.body.section("Summary"), "a section '## Summary'"),
        }
    }

    fn failed(mut self) -> Failed {
        let failure = self.body.within("Failure", &FAILURE);
        let partial = self.body.within("Partial Progress", &COMMIT);
        let bead_id = self.required_bead_id();
        if let Some(status) = self.body.value("Status") {
            self.constant("status", Some(status), "FAILED");
        }
        Failed {
            bead_id,
            failure_type: self.word("failure_type", failure.value("Type")),
            reason: self.required("reason", failure.value("Reason"), "'Reason:' in '## Failure'"),
            internal_attempts: self.number("internal_attempts", failure.value("Internal Attempts")),
            partial_commit_sha: optional(partial.value("Commit")),
            files: bounded(self.problems, "files", partial.into_list()),
            recommendation: optional(self.body.section("Recommendation")),
        }
    }

    fn checkpoint(mut self) -> Checkpoint {
        let state = self.body.within("Progress", &STATE);
        let next_steps = self.body.section("Next Steps for Successor").or_else(|| self.body.section("Next Steps"));
        Checkpoint {
            bead_id: self.required_bead_id(),
            reason: self.word("checkpoint_reason", self.body.value("Reason")),
            partial_commit_sha: self.required(
                "partial_commit_sha",
                state.value("Commit"),
                "'- Commit:' in '## Progress'",
            ),
            progress: self.required("progress", state.value("Description"), "'- Description:' in '## Progress'"),
            context_usage: self.percent("context_usage", state.value("Context usage")),
            next_steps: self.required("next_steps", next_steps, "a section '## Next Steps for Successor'"),
        }
    }

    fn spawn_request(mut self) -> SpawnRequest {
        let (bead_id, issue_id) = self.required_issue();
        let resume = self.verdict("resume", self.body.value("Resume"), "true | false").unwrap_or_default();
        let checkpoint = self.body.value("Checkpoint");
        SpawnRequest {
            bead_id,
            issue_id,
            resume,
            partial_commit_sha: match resume {
                true => self.required("partial_commit_sha", checkpoint, "the commit to resume from"),
                false => optional(checkpoint),
            },
            orchestrator: self.required("orchestrator", self.body.value("Orchestrator"), "who asks"),
        }
    }

    fn spawn_ack(mut self) -> SpawnAck {
        let (bead_id, issue_id) = self.required_issue();
        SpawnAck {
            bead_id,
            issue_id,
            status: self.word("status", self.body.value("Status")),
            session: optional(self.body.value("Session")),
        }
    }
}
