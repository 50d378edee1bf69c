//! A message as named fields, for those who print it.
//!
//! Names and order are part of the contract with programs that read what is printed. How a field is printed is not
//! decided here.

use super::Message;

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field<'a> {
    /// A text that is not empty.
    Text(&'a str),
    /// A number other than zero.
    Number(u64),
    /// A yes; a no is left out.
    Flag(bool),
    /// A list that is not empty.
    List(&'a [String]),
}

impl Field<'_> {
    fn says_something(self) -> bool {
        match self {
            Field::Text(text) => !text.is_empty(),
            Field::Number(number) => number != 0,
            Field::Flag(flag) => flag,
            Field::List(list) => !list.is_empty(),
        }
    }
}

impl Message {
    /// The fields that say something, under the names that programs know.
    ///
    /// Empty text, zero, false and empty lists are left out, and so is the text of a help response.
    pub fn fields(&self) -> Vec<(&'static str, Field<'_>)> {
        let fields = [("bead_id", text(self.bead_id()))].into_iter().chain(self.own_fields());
        fields.filter_map(|(name, field)| Some((name, field.filter(|field| field.says_something())?))).collect()
    }

    /// Whether there is a field of its kind besides the work and the status, which any message may name in passing.
    ///
    /// A check that failed and a count of zero are fields; not to resume is what a spawn request says by default.
    pub fn has_fields(&self) -> bool {
        if let Self::HelpResponse(response) = self {
            return !response.guidance.is_empty();
        }
        let is_own = |name| !matches!(name, "issue_id" | "status");
        self.own_fields().into_iter().any(|(name, field)| is_own(name) && field.is_some())
    }

    /// The fields of its kind, in their order; none for those that the message does not have.
    fn own_fields(&self) -> Vec<(&'static str, Option<Field<'_>>)> {
        match self {
            Self::BeadAccepted(it) => {
                vec![("title", text(&it.title)), ("started_at", text(&it.started_at))]
            }
            Self::Progress(it) => vec![
                ("status", text(&it.status)),
                ("step", text(&it.step)),
                ("context_usage", number(it.context_usage)),
                ("files_touched", list(&it.files_touched)),
            ],
            Self::HelpRequest(it) => vec![
                ("files_touched", list(&it.files_touched)),
                ("issue_type", word(it.issue_type.as_ref().map(|word| word.as_str()))),
                ("problem", text(&it.problem)),
                ("what_tried", text(&it.what_tried)),
                ("question", text(&it.question)),
            ],
            Self::HelpResponse(_) | Self::Unknown(_) => vec![],
            Self::OfferingReady(it) | Self::Done(it) => vec![
                ("status", text(&it.status)),
                ("commit_sha", text(&it.commit_sha)),
                ("files", list(&it.files)),
                ("tests_pass", flag(it.tests)),
                ("lint_pass", flag(it.lint)),
                ("build_pass", flag(it.build)),
                ("summary", text(&it.summary)),
            ],
            Self::Failed(it) => vec![
                ("status", text("FAILED")),
                ("failure_type", word(it.failure_type.as_ref().map(|word| word.as_str()))),
                ("reason", text(&it.reason)),
                ("internal_attempts", number(it.internal_attempts)),
                ("partial_commit_sha", text(&it.partial_commit_sha)),
                ("files", list(&it.files)),
                ("recommendation", text(&it.recommendation)),
            ],
            Self::Checkpoint(it) => vec![
                ("context_usage", number(it.context_usage)),
                ("checkpoint_reason", word(it.reason.as_ref().map(|word| word.as_str()))),
                ("partial_commit_sha", text(&it.partial_commit_sha)),
                ("progress", text(&it.progress)),
                ("next_steps", text(&it.next_steps)),
            ],
            Self::SpawnRequest(it) => vec![
                ("partial_commit_sha", text(&it.partial_commit_sha)),
                ("issue_id", text(&it.issue_id)),
                ("resume", it.resume.then_some(Field::Flag(true))),
                ("orchestrator", text(&it.orchestrator)),
            ],
            Self::SpawnAck(it) => vec![
                ("status", word(it.status.as_ref().map(|word| word.as_str()))),
                ("issue_id", text(&it.issue_id)),
                ("session", text(&it.session)),
            ],
        }
    }
}

fn text(text: &str) -> Option<Field<'_>> {
    (!text.is_empty()).then_some(Field::Text(text))
}

fn list(items: &[String]) -> Option<Field<'_>> {
    (!items.is_empty()).then_some(Field::List(items))
}

fn word(word: Option<&str>) -> Option<Field<'_>> {
    word.and_then(text)
}

fn number(number: Option<impl Into<u64>>) -> Option<Field<'static>> {
    number.map(|number| Field::Number(number.into()))
}

fn flag(flag: Option<bool>) -> Option<Field<'static>> {
    flag.map(Field::Flag)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown::{Failed, FailureType, Kind, Offering, Unknown, read};

    #[test]
    fn what_says_nothing_is_left_out() {
        let done = Offering { bead_id: "a-1".into(), tests: Some(true), lint: Some(false), ..Offering::default() };
        assert_eq!(Message::Done(done).fields(), [("bead_id", Field::Text("a-1")), ("tests_pass", Field::Flag(true))]);
        assert!(Message::Unknown(Unknown { issue_id: "a-1".into(), ..Unknown::default() }).fields().is_empty());
    }

    #[test]
    fn a_failure_tells_of_its_partial_work() {
        let failed = Failed {
            failure_type: Some(FailureType::Error),
            internal_attempts: Some(3),
            partial_commit_sha: "c".into(),
            files: vec!["a".into()],
            ..Failed::default()
        };
        let names: Vec<_> = Message::Failed(failed).fields().into_iter().map(|(name, _)| name).collect();
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
        ] {
            assert!(has_fields(kind, field), "{kind}");
            assert!(!has_fields(kind, "Bead: a-1") && !has_fields(kind, ""), "{kind}");
            let is_prose = kind == Kind::HelpResponse;
            assert_eq!(has_fields(kind, "Status: s\nIssue: a-1\nhello"), is_prose, "{kind}");
        }
        assert!(!read("hello", "Bead: a-1\nTitle: t").value.has_fields());
    }
}
