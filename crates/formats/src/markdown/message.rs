//! A coordination message as a value: its kind, and what it says in fields.
//!
//! A field that a text does not have is absent here. Which fields a kind has, and how they stand in a text, is told by its
//! table.

use std::collections::BTreeMap;

use super::Kind;

/// The longest id of a piece of work, in bytes.
const LONGEST_ID: usize = 256;
/// The names under which fields are printed, in order. They are part of the contract with programs that read that.
const PRINTED: &str = "bead_id title started_at status step context_usage files_touched issue_type problem what_tried \
    question failure_type reason internal_attempts checkpoint_reason commit_sha partial_commit_sha files tests_pass \
    lint_pass build_pass summary recommendation progress next_steps issue_id resume orchestrator session";

/// What a field holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Field {
    /// A text of one line or several.
    Text(String),
    /// A number.
    Number(u64),
    /// A yes or a no.
    Flag(bool),
    /// Several texts.
    List(Vec<String>),
}

/// A message of a kind, or of none.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Message {
    kind: Option<Kind>,
    fields: BTreeMap<&'static str, Field>,
}

impl Message {
    /// A message that says nothing yet.
    pub fn new(kind: Option<Kind>) -> Self {
        let message = Self { kind, fields: BTreeMap::new() };
        let has_failed = kind == Some(Kind::Failed);
        message.with("status", has_failed.then(|| Field::Text("FAILED".to_owned())))
    }

    /// The message with this field, if it holds anything.
    pub fn with(mut self, name: &'static str, field: impl Into<Option<Field>>) -> Self {
        let is_empty = |field: &Field| match field {
            Field::Text(text) => text.is_empty(),
            Field::List(list) => list.is_empty(),
            Field::Number(_) | Field::Flag(_) => false,
        };
        self.fields.extend(field.into().filter(|field| !is_empty(field)).map(|field| (name, field)));
        self
    }

    /// Its kind, if it is of one.
    pub fn kind(&self) -> Option<Kind> {
        self.kind
    }

    /// The word for its kind.
    pub fn type_name(&self) -> &'static str {
        self.kind.map_or("UNKNOWN", Kind::as_str)
    }

    /// The piece of work that it names; empty if it names none.
    pub fn bead_id(&self) -> &str {
        self.text("bead_id")
    }

    /// The piece of work that it is about: its bead, else its issue, if that can be the id of anything.
    pub fn work_id(&self) -> Option<&str> {
        usable_id(self.bead_id()).or_else(|| usable_id(self.text("issue_id")))
    }

    /// Whether it says that the work has come to an end, good or bad.
    pub fn is_completion(&self) -> bool {
        self.is_success() || matches!(self.kind, Some(Kind::Failed | Kind::Checkpoint))
    }

    /// Whether it says that the work is complete.
    pub fn is_success(&self) -> bool {
        matches!(self.kind, Some(Kind::OfferingReady | Kind::Done | Kind::Completed))
    }

    /// The text of a field; empty if there is none.
    pub fn text(&self, name: &str) -> &str {
        if let Some(Field::Text(text)) = self.fields.get(name) { text } else { "" }
    }

    /// The number of a field.
    pub fn number(&self, name: &str) -> Option<u64> {
        if let Some(Field::Number(number)) = self.fields.get(name) { Some(*number) } else { None }
    }

    /// The yes or no of a field.
    pub fn flag(&self, name: &str) -> Option<bool> {
        if let Some(Field::Flag(flag)) = self.fields.get(name) { Some(*flag) } else { None }
    }

    /// The items of a field; empty if there is none.
    pub fn list(&self, name: &str) -> &[String] {
        if let Some(Field::List(list)) = self.fields.get(name) { list } else { &[] }
    }

    /// The fields that say something, for those who print them.
    pub fn fields(&self) -> Vec<(&'static str, &Field)> {
        let names = if self.kind.is_some() { PRINTED } else { "bead_id" };
        let found = names.split(' ').filter_map(|name| self.fields.get_key_value(name));
        let said = found.filter(|(_, field)| !matches!(field, Field::Number(0) | Field::Flag(false)));
        said.map(|(name, field)| (*name, field)).collect()
    }

    /// Whether the body gave any of the fields that tell a message of a kind from prose under such a subject.
    pub fn has_fields(&self) -> bool {
        self.fields.keys().any(|name| !matches!(*name, "bead_id" | "issue_id" | "status"))
    }
}

/// The id in `text`, if it can be one.
pub fn usable_id(text: &str) -> Option<&str> {
    let id = text.trim();
    // An id names a thread, and so stands in headers and addresses, where a control character cannot.
    let is_usable = !id.is_empty() && id.len() <= LONGEST_ID && !id.contains(char::is_control);
    is_usable.then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown::read;

    fn spawn(bead_id: &str, issue_id: &str) -> Message {
        let ids = [("bead_id", bead_id), ("issue_id", issue_id)];
        let ack = Message::new(Some(Kind::SpawnAck));
        ids.into_iter().fold(ack, |ack, (name, id)| ack.with(name, Field::Text(id.to_owned())))
    }

    #[test]
    fn the_work_is_the_bead_else_the_issue() {
        assert_eq!(spawn("a-1", "a-2").work_id(), Some("a-1"));
        assert_eq!(spawn("", " a-2 ").work_id(), Some("a-2"));
        assert_eq!(spawn("", "").work_id(), None);
    }

    #[test]
    fn what_cannot_be_an_id_names_no_work() {
        assert_eq!(spawn("a\tb", "").work_id(), None);
        assert_eq!(spawn(&"x".repeat(LONGEST_ID), "").work_id(), Some("x".repeat(LONGEST_ID).as_str()));
        assert_eq!(spawn(&"x".repeat(LONGEST_ID + 1), "").work_id(), None);
    }

    #[test]
    fn what_says_nothing_is_left_out() {
        let done =
            Message::new(Some(Kind::Done)).with("bead_id", Field::Text("a-1".into())).with("summary", None::<Field>);
        let done = done.with("tests_pass", Field::Flag(true)).with("lint_pass", Field::Flag(false));
        let told = [("bead_id", &Field::Text("a-1".into())), ("tests_pass", &Field::Flag(true))];
        assert_eq!(done.fields(), told);
        assert!(Message::new(None).with("issue_id", Field::Text("a-1".into())).fields().is_empty());
    }

    #[test]
    fn a_failure_tells_of_its_partial_work() {
        let failed = Message::new(Some(Kind::Failed))
            .with("files", Field::List(vec!["a".into()]))
            .with("partial_commit_sha", Field::Text("c".into()))
            .with("internal_attempts", Field::Number(3))
            .with("failure_type", Field::Text("ERROR".into()));
        let names: Vec<_> = failed.fields().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["status", "failure_type", "internal_attempts", "partial_commit_sha", "files"]);
    }

    #[test]
    fn a_field_that_the_body_gave_tells_a_message_from_a_mere_subject() {
        let has_fields = |kind: Kind, body: &str| read(&format!("[a-1] {kind}"), body).value.has_fields();
        for (kind, field) in [
            (Kind::BeadAccepted, "Title: t"),
            (Kind::Progress, "Context usage: 0%"),
            (Kind::HelpRequest, "## Question\nq"),
            (Kind::HelpResponse, "Bead: a-1\nlook there"),
            (Kind::OfferingReady, "## Changes\n- Files: a"),
            (Kind::Done, "## Self-Validation\n- Tests: FAIL"),
            (Kind::Failed, "## Failure\nInternal Attempts: 0"),
            (Kind::Checkpoint, "Reason: MANUAL"),
            (Kind::SpawnRequest, "Resume: true"),
            (Kind::SpawnAck, "Session: s"),
            (Kind::OfferingAccepted, "Commit: c"),
            (Kind::RetryRequired, "Reason: r"),
            (Kind::Completed, "## Summary\ns"),
        ] {
            assert!(has_fields(kind, field), "{kind}");
            assert!(!has_fields(kind, "Bead: a-1") && !has_fields(kind, ""), "{kind}");
            let is_prose = kind == Kind::HelpResponse;
            assert_eq!(has_fields(kind, "Status: s\nIssue: a-1\nhello"), is_prose, "{kind}");
        }
        assert!(!read("hello", "Bead: a-1\nTitle: t").value.has_fields());
    }
}
