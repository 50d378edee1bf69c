//! Writing a coordination message, as the protocol shows it.
//!
//! What is written is read back as the same message, provided that its values are in their normal form; others are
//! brought into it. Nothing is checked: a message that lacks a field is written without it.

use super::body::fenced;
use super::labels::{ACCEPTED_BEAD, BEAD};
use super::normal::{block, line, plain};
use super::outline::{Outline, Wanted};
use super::subject::Subject;
use super::{
    BeadAccepted, Checkpoint, Failed, HelpRequest, HelpResponse, Message, Offering, Progress, SpawnAck, SpawnRequest,
};

/// A message as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The subject, with the bead in brackets.
    pub subject: String,
    /// The body, in Markdown.
    pub body: String,
}

impl Message {
    /// Writes the message down.
    pub fn write(&self) -> Written {
        let subject = self.subject();
        let head = Subject::read(&subject);
        let mut page = Page::default();
        match self {
            Self::BeadAccepted(message) => page.bead_accepted(message),
            Self::Progress(message) => page.progress(message),
            Self::HelpRequest(message) => page.help_request(message),
            Self::HelpResponse(message) => page.help_response(message, &head),
            Self::OfferingReady(message) | Self::Done(message) => page.offering(message),
            Self::Failed(message) => page.failed(message),
            Self::Checkpoint(message) => page.checkpoint(message),
            Self::SpawnRequest(message) => page.spawn_request(message, &head),
            Self::SpawnAck(message) => page.spawn_ack(message, &head),
            Self::Unknown(message) => {
                page.label(BEAD, &message.bead_id);
                page.label("Issue", &message.issue_id);
            }
        }
        Written { body: page.text, subject }
    }

    fn subject(&self) -> String {
        let Some(kind) = self.kind() else { return String::new() };
        let id = line(self.bead_id());
        let decorated = format!("[{id}] {kind}");
        let read = Subject::read(&decorated);
        // An id with a bracket in it, or one that is itself the name of a kind, would be misread.
        let is_faithful = read.kind == Some(kind) && read.id == Some(&id);
        if is_faithful { decorated } else { kind.to_string() }
    }
}

/// The body of a message in the making.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn bead_accepted(&mut self, message: &BeadAccepted) {
        self.label(ACCEPTED_BEAD, &message.bead_id);
        self.label("Title", &message.title);
        self.label("Starting implementation at", &message.started_at);
    }

    fn progress(&mut self, message: &Progress) {
        self.label(BEAD, &message.bead_id);
        self.label("Step", &message.step);
        self.label("Status", &message.status);
        self.label("Context usage", &percent(message.context_usage));
        self.list("", "Files touched", &message.files_touched);
    }

    fn help_request(&mut self, message: &HelpRequest) {
        self.label(BEAD, &message.bead_id);
        self.label("Issue Type", message.issue_type.as_ref().map_or("", |word| word.as_str()));
        self.section("Problem", &block(&message.problem));
        self.section("What I Tried", &block(&message.what_tried));
        let files: Vec<_> = lines(&message.files_touched).map(|file| format!("- {file}")).collect();
        self.section("Files Touched", &files.join("\n"));
        self.section("Question", &block(&message.question));
    }

    fn help_response(&mut self, message: &HelpResponse, head: &Subject<'_>) {
        let guidance = plain(&message.guidance);
        let within = Outline::read(&guidance, &BEADS);
        let is_named_within = within.value(BEAD).or_else(|| within.value(ACCEPTED_BEAD)).is_some();
        let is_fenced = fenced(&guidance).is_some();
        // The protocol shows the text alone, which will do as long as the subject names the bead and is believed, and
        // the text is not taken for its wrapping.
        if is_named_within || is_fenced || head.id.is_none() {
            self.label(BEAD, &message.bead_id);
        }
        if guidance.is_empty() {
            return;
        }
        let is_all = self.text.is_empty();
        self.gap();
        match is_all {
            true if is_fenced => self.text.push_str(&in_another_fence(&guidance)),
            // At the start of a body it would be taken for a mark of the editor.
            true if guidance.starts_with('\u{feff}') => self.text.extend(["\n", &guidance]),
            _ => self.text.push_str(&guidance),
        }
    }

    fn offering(&mut self, message: &Offering) {
        self.label(BEAD, &message.bead_id);
        self.label("Status", &message.status);
        self.commit("Changes", &message.commit_sha, &message.files);
        let mut validation = Page::default();
        for (name, verdict) in [("Tests", message.tests), ("Lint", message.lint), ("Build", message.build)] {
            validation.item(name, verdict.map_or("", |pass| if pass { "PASS" } else { "FAIL" }));
        }
        self.section("Self-Validation", &validation.text);
        self.section("Summary", &block(&message.summary));
    }

    fn failed(&mut self, message: &Failed) {
        self.label(BEAD, &message.bead_id);
        self.label("Status", "FAILED");
        let mut failure = Page::default();
        failure.label("Type", message.failure_type.as_ref().map_or("", |word| word.as_str()));
        failure.label("Reason", &message.reason);
        failure
            .label("Internal Attempts", &message.internal_attempts.map(|count| count.to_string()).unwrap_or_default());
        self.section("Failure", &failure.text);
        self.commit("Partial Progress", &message.partial_commit_sha, &message.files);
        self.section("Recommendation", &block(&message.recommendation));
    }

    fn checkpoint(&mut self, message: &Checkpoint) {
        self.label(BEAD, &message.bead_id);
        self.label("Reason", message.reason.as_ref().map_or("", |word| word.as_str()));
        let mut state = Page::default();
        state.item("Commit", &message.partial_commit_sha);
        state.item("Description", &message.progress);
        state.item("Context usage", &percent(message.context_usage));
        self.section("Progress", &state.text);
        self.section("Next Steps for Successor", &block(&message.next_steps));
    }

    fn spawn_request(&mut self, message: &SpawnRequest, head: &Subject<'_>) {
        self.bead_and_issue(&message.bead_id, &message.issue_id, head);
        self.label("Resume", if message.resume { "true" } else { "false" });
        self.label("Checkpoint", &message.partial_commit_sha);
        self.label("Orchestrator", &message.orchestrator);
    }

    fn spawn_ack(&mut self, message: &SpawnAck, head: &Subject<'_>) {
        self.bead_and_issue(&message.bead_id, &message.issue_id, head);
        self.label("Status", message.status.as_ref().map_or("", |word| word.as_str()));
        self.label("Session", &message.session);
    }

    fn bead_and_issue(&mut self, bead: &str, issue: &str, head: &Subject<'_>) {
        // A bead in the body is read as the issue too, unless there is another.
        if head.id.is_none() || !line(issue).is_empty() {
            self.label(BEAD, bead);
        }
        self.label("Issue", issue);
    }

    fn commit(&mut self, section: &str, commit: &str, files: &[String]) {
        let mut page = Page::default();
        page.item("Commit", commit);
        page.list("- ", "Files", files);
        self.section(section, &page.text);
    }

    fn label(&mut self, name: &str, value: &str) {
        self.decorated("", name, value);
    }

    fn item(&mut self, name: &str, value: &str) {
        self.decorated("- ", name, value);
    }

    fn decorated(&mut self, decoration: &str, name: &str, value: &str) {
        let value = line(value);
        if !value.is_empty() {
            self.line(&format!("{decoration}{name}: {value}"));
        }
    }

    fn list(&mut self, decoration: &str, name: &str, items: &[String]) {
        let items: Vec<_> = lines(items).collect();
        // A comma splits what stands in one line.
        if items.iter().any(|item| item.contains(',')) {
            self.line(&format!("{decoration}{name}:"));
            items.iter().for_each(|item| self.line(&format!("  - {item}")));
        } else {
            self.decorated(decoration, name, &items.join(", "));
        }
    }

    fn section(&mut self, name: &str, text: &str) {
        if !text.is_empty() {
            self.gap();
            self.line(&format!("## {name}"));
            self.line(text);
        }
    }

    /// A blank line, unless nothing stands before it.
    fn gap(&mut self) {
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
    }

    fn line(&mut self, line: &str) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(line);
    }
}

const BEADS: Wanted = Wanted { labels: &[BEAD, ACCEPTED_BEAD], list: None, sections: &[] };

/// Puts a text that is all in a fence into one that no line of it closes.
fn in_another_fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{text}\n{fence}")
}

fn lines(items: &[String]) -> impl Iterator<Item = String> {
    items.iter().map(|item| line(item)).filter(|item| !item.is_empty())
}

fn percent(percent: Option<u8>) -> String {
    percent.map(|percent| format!("{percent}%")).unwrap_or_default()
}
