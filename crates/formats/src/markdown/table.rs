//! The kinds of coordination message, each as a table of its fields.
//!
//! Reading and writing go by these tables, and take the fields in their order. How a message names its work is not told
//! here, for that is the same for nearly all of them.

use self::Form::{Bullets, Constant, ExactWord, Fixed, List, Number, Percent, Text, Time, Verdict, Word};
use self::Place::{Label, Section, Within};
use super::Kind;
use super::labels::{ACCEPTED_BEAD, BEAD, ISSUE};
use super::outline::Wanted;

/// A field: its name, where it stands, what it holds, and what is missing without it; empty if it may be left out.
pub(super) type Rule = (&'static str, Place, Form, &'static str);

/// Where a field stands in a body.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// Behind a label outside of all sections that are known, or in any other.
    Label(&'static str),
    /// In a section, which is all its own.
    Section(&'static str),
    /// In a section, behind a label.
    Within(&'static str, &'static str),
}

impl Place {
    /// The section that it stands in; empty if in none.
    pub fn section(self) -> &'static str {
        match self {
            Label(_) => "",
            Section(section) | Within(section, _) => section,
        }
    }
}

/// What a field holds.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// Any text.
    Text,
    /// Always this word.
    Constant(&'static str),
    /// The same, and the kind says it already.
    Fixed(&'static str),
    /// One of these words, in any case.
    Word(&'static [&'static str]),
    /// One of these words, as they are written.
    ExactWord(&'static [&'static str]),
    /// A share.
    Percent,
    /// A number.
    Number,
    /// A yes or a no.
    Verdict,
    /// A moment.
    Time,
    /// Several texts behind a label.
    List,
    /// Several texts as the bullets of a section.
    Bullets,
}

/// The section of a checkpoint for whoever goes on.
pub(super) const NEXT_STEPS: &str = "Next Steps for Successor";
/// What that is also called.
pub(super) const SHORT_NEXT_STEPS: &str = "Next Steps";

const ISSUE_TYPES: &[&str] = &["STUCK", "SPEC_UNCLEAR", "BLOCKED", "TECHNICAL"];
const FAILURE_TYPES: &[&str] = &["TESTS_FAIL", "BUILD_FAIL", "SPEC_IMPOSSIBLE", "CONTEXT_HIGH", "ERROR"];
const CHECKPOINT_REASONS: &[&str] = &["CONTEXT_HIGH", "MANUAL", "TIMEOUT"];

const COMMIT: Rule = ("commit_sha", Within("Changes", "Commit"), Text, "'- Commit:' in '## Changes'");
const FILES: Rule = ("files", Within("Changes", "Files"), List, "");
const TESTS: Rule = ("tests_pass", Within("Self-Validation", "Tests"), Verdict, "PASS | FAIL");
const LINT: Rule = ("lint_pass", Within("Self-Validation", "Lint"), Verdict, "PASS | FAIL");
const BUILD: Rule = ("build_pass", Within("Self-Validation", "Build"), Verdict, "PASS | FAIL");
const SUMMARY: Rule = ("summary", Section("Summary"), Text, "a section '## Summary'");

/// The fields of a kind.
pub(super) fn rules(kind: Kind) -> &'static [Rule] {
    match kind {
        Kind::BeadAccepted => &[
            ("title", Label("Title"), Text, "the title of the work"),
            ("started_at", Label("Starting implementation at"), Time, ""),
        ],
        Kind::Progress => &[
            ("step", Label("Step"), Text, "the current step"),
            ("status", Label("Status"), Text, "what is happening"),
            ("context_usage", Label("Context usage"), Percent, ""),
            ("files_touched", Label("Files touched"), List, ""),
        ],
        Kind::HelpRequest => &[
            ("issue_type", Label("Issue Type"), Word(ISSUE_TYPES), ""),
            ("problem", Section("Problem"), Text, "a section '## Problem'"),
            ("what_tried", Section("What I Tried"), Text, ""),
            ("files_touched", Section("Files Touched"), Bullets, ""),
            ("question", Section("Question"), Text, "a section '## Question'"),
        ],
        Kind::HelpResponse => &[],
        Kind::OfferingReady | Kind::Done => {
            &[("status", Label("Status"), Constant("DONE"), ""), COMMIT, FILES, TESTS, LINT, BUILD, SUMMARY]
        }
        Kind::Completed => &[("status", Label("Status"), Text, ""), COMMIT, FILES, TESTS, LINT, BUILD, SUMMARY],
        Kind::OfferingAccepted => &[("commit_sha", Label("Commit"), Text, "")],
        Kind::RetryRequired => &[("reason", Label("Reason"), Text, "")],
        Kind::Failed => &[
            ("status", Label("Status"), Fixed("FAILED"), ""),
            ("failure_type", Within("Failure", "Type"), Word(FAILURE_TYPES), ""),
            ("reason", Within("Failure", "Reason"), Text, "'Reason:' in '## Failure'"),
            ("internal_attempts", Within("Failure", "Internal Attempts"), Number, ""),
            ("partial_commit_sha", Within("Partial Progress", "Commit"), Text, ""),
            ("files", Within("Partial Progress", "Files"), List, ""),
            ("recommendation", Section("Recommendation"), Text, ""),
        ],
        Kind::Checkpoint => &[
            ("checkpoint_reason", Label("Reason"), Word(CHECKPOINT_REASONS), ""),
            ("partial_commit_sha", Within("Progress", "Commit"), Text, "'- Commit:' in '## Progress'"),
            ("progress", Within("Progress", "Description"), Text, "'- Description:' in '## Progress'"),
            ("context_usage", Within("Progress", "Context usage"), Percent, ""),
            ("next_steps", Section(NEXT_STEPS), Text, "a section '## Next Steps for Successor'"),
        ],
        Kind::SpawnRequest => &[
            ("resume", Label("Resume"), Verdict, "true | false"),
            ("partial_commit_sha", Label("Checkpoint"), Text, "the commit to resume from"),
            ("orchestrator", Label("Orchestrator"), Text, "who asks"),
        ],
        Kind::SpawnAck => &[
            ("status", Label("Status"), ExactWord(&["spawned", "failed"]), ""),
            ("session", Label("Session"), Text, ""),
        ],
    }
}

/// What a kind has anywhere in its body.
pub(super) fn wanted(kind: Kind) -> Wanted {
    let mut wanted = Wanted { labels: vec![BEAD, ACCEPTED_BEAD], ..Wanted::default() };
    if matches!(kind, Kind::SpawnRequest | Kind::SpawnAck | Kind::OfferingAccepted | Kind::RetryRequired) {
        wanted.labels.push(ISSUE);
    }
    for (_, place, form, _) in rules(kind) {
        match (place, form) {
            (Label(label), List) => wanted.list = Some(label),
            (Label(label), _) => wanted.labels.push(label),
            (Section(name) | Within(name, _), _) if !wanted.sections.contains(name) => wanted.sections.push(name),
            _ => {}
        }
    }
    if kind == Kind::Checkpoint {
        wanted.sections.push(SHORT_NEXT_STEPS);
    }
    wanted
}

/// What a kind has behind labels in that section.
pub(super) fn wanted_within(kind: Kind, section: &str) -> Wanted {
    let mut wanted = Wanted::default();
    for (_, place, form, _) in rules(kind) {
        match (place, form) {
            (Within(name, label), List) if *name == section => wanted.list = Some(label),
            (Within(name, label), _) if *name == section => wanted.labels.push(label),
            _ => {}
        }
    }
    wanted
}
