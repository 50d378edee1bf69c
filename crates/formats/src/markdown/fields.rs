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
        let mut fields = vec![("bead_id", Field::Text(self.bead_id()))];
        fields.extend(self.own_fields());
        fields.retain(|(_, field)| field.says_something());
        fields
    }

    fn own_fields(&self) -> Vec<(&'static str, Field<'_>)> {
        match self {
            Self::BeadAccepted(it) => {
                vec![("title", Field::Text(&it.title)), ("started_at", Field::Text(&it.started_at))]
            }
            Self::Progress(it) => vec![
                ("status", Field::Text(&it.status)),
                ("step", Field::Text(&it.step)),
                ("context_usage", number(it.context_usage)),
                ("files_touched", Field::List(&it.files_touched)),
            ],
            Self::HelpRequest(it) => vec![
                ("files_touched", Field::List(&it.files_touched)),
                ("issue_type", word(it.issue_type.as_ref().map(|word| word.as_str()))),
                ("problem", Field::Text(&it.problem)),
                ("what_tried", Field::Text(&it.what_tried)),
                ("question", Field::Text(&it.question)),
            ],
            Self::HelpResponse(_) | Self::Unknown(_) => vec![],
            Self::OfferingReady(it) | Self::Done(it) => vec![
                ("status", Field::Text(&it.status)),
                ("commit_sha", Field::Text(&it.commit_sha)),
                ("files", Field::List(&it.files)),
                ("tests_pass", flag(it.tests)),
                ("lint_pass", flag(it.lint)),
                ("build_pass", flag(it.build)),
                ("summary", Field::Text(&it.summary)),
            ],
            Self::Failed(it) => vec![
                ("status", Field::Text("FAILED")),
                ("failure_type", word(it.failure_type.as_ref().map(|word| word.as_str()))),
                ("reason", Field::Text(&it.reason)),
                ("internal_attempts", number(it.internal_attempts)),
                ("partial_commit_sha", Field::Text(&it.partial_commit_sha)),
                ("files", Field::List(&it.files)),
                ("recommendation", Field::Text(&it.recommendation)),
            ],
            Self::Checkpoint(it) => vec![
                ("context_usage", number(it.context_usage)),
                ("checkpoint_reason", word(it.reason.as_ref().map(|word| word.as_str()))),
                ("partial_commit_sha", Field::Text(&it.partial_commit_sha)),
                ("progress", Field::Text(&it.progress)),
                ("next_steps", Field::Text(&it.next_steps)),
            ],
            Self::SpawnRequest(it) => vec![
                ("partial_commit_sha", Field::Text(&it.partial_commit_sha)),
                ("issue_id", Field::Text(&it.issue_id)),
                ("resume", Field::Flag(it.resume)),
                ("orchestrator", Field::Text(&it.orchestrator)),
            ],
            Self::SpawnAck(it) => vec![
                ("status", word(it.status.as_ref().map(|word| word.as_str()))),
                ("issue_id", Field::Text(&it.issue_id)),
                ("session", Field::Text(&it.session)),
            ],
        }
    }
}

fn word(word: Option<&str>) -> Field<'_> {
    Field::Text(word.unwrap_or_default())
}

fn number(number: Option<impl Into<u64>>) -> Field<'static> {
    Field::Number(number.map_or(0, Into::into))
}

fn flag(flag: Option<bool>) -> Field<'static> {
    Field::Flag(flag.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown::{Failed, FailureType, Offering, Unknown};

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
}
