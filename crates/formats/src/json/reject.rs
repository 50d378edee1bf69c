//! What the sender of an invalid message is told.
//!
//! A rejection is the short answer, an error report the message that carries it. Both are bounded, whatever the rejected
//! message holds. Nothing is sent here, and the caller must not answer an error report with another one: two agents that
//! speak different versions would never stop.

use serde_json::{Value, json};

use super::fields::{TYPE_NAME, Type};
use super::form::is_foreign_version;
use super::{Message, VERSION};
use crate::{Parsed, Problem};

/// Why a message is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// `version_mismatch` if the sender speaks another MAJOR version, `unknown_type` if the type is not known and nothing
    /// else is wrong, `invalid_format` for all the rest.
    pub error: &'static str,
    /// Every problem, in one line.
    pub details: String,
    /// The id of the rejected message, so that its sender knows which one it was.
    pub message_id: Option<String>,
}

impl Rejection {
    /// Whether the sender speaks another version, so that nothing of the message is sure.
    pub fn is_of_version(&self) -> bool {
        self.error == VERSION_MISMATCH
    }
}

/// Why a message that was read is not accepted; `None` if nothing is wrong with it.
pub fn rejection(read: &Parsed<Option<Message>>) -> Option<Rejection> {
    if read.problems.is_empty() {
        return None;
    }
    let message = read.value.as_ref();
    let details: Vec<String> = read.problems.iter().map(ToString::to_string).collect();
    Some(Rejection {
        error: error(message, &read.problems),
        details: details.join("; "),
        message_id: message.and_then(Message::message_id).map(cut),
    })
}

/// What is new about a report: the caller's clock, ids and name.
#[derive(Debug, Clone, Copy)]
pub struct Stamp<'a> {
    /// When the report is made, such as `2025-12-25T12:00:00Z`.
    pub timestamp: &'a str,
    /// The id of the report: `msg-` and a UUID of version 4.
    pub message_id: &'a str,
    /// Who reports.
    pub sender_id: &'a str,
}

/// The task of a report on a message that names none.
pub const NO_TASK: &str = "unknown";

/// The error report that tells the sender of a rejected message what is wrong with it.
pub fn error_report(rejected: &Parsed<Option<Message>>, rejection: &Rejection, stamp: Stamp<'_>) -> Message {
    let name = match &rejection.message_id {
        Some(message_id) => format!("message {message_id}"),
        None => "the message".to_owned(),
    };
    let why = Report {
        code: rejection.error,
        said: &rejection.details,
        context: context(rejected, rejection),
        steps: format!("Check {name} against the rules of version {VERSION}."),
        action: suggestion(rejection.error),
    };
    report(rejected.value.as_ref(), why, stamp)
}

/// What an error report says of an error.
pub(super) struct Report<'a> {
    /// For programs.
    pub code: &'a str,
    /// For a reader.
    pub said: &'a str,
    /// The facts, for programs.
    pub context: Value,
    /// How to see the error again.
    pub steps: String,
    /// What to do.
    pub action: &'a str,
}

/// An error report about a message.
pub(super) fn report(message: Option<&Message>, why: Report<'_>, stamp: Stamp<'_>) -> Message {
    let fields = [
        ("version", json!(VERSION)),
        ("timestamp", json!(stamp.timestamp)),
        ("sender_id", json!(stamp.sender_id)),
        ("message_id", json!(stamp.message_id)),
        (TYPE_NAME, json!(Type::ErrorReport.as_str())),
        // The format wants a task in every report, and a rejected message may have none.
        ("task_id", json!(message.and_then(Message::task_id).map_or_else(|| NO_TASK.to_owned(), cut))),
        ("severity", json!("medium")),
        ("error", json!({ "code": why.code, "message": why.said, "context": why.context })),
        ("reproduction_steps", json!([why.steps])),
        ("needs_human_intervention", json!(false)),
        ("suggested_actions", json!([why.action])),
    ];
    Message(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

const INVALID_FORMAT: &str = "invalid_format";
const VERSION_MISMATCH: &str = "version_mismatch";
const UNKNOWN_TYPE: &str = "unknown_type";

fn error(message: Option<&Message>, problems: &[Problem]) -> &'static str {
    match message {
        // Whatever else seems wrong may be right in that version.
        Some(message) if is_foreign_version(message.text("version")) => VERSION_MISMATCH,
        Some(message) if has_unknown_type(message) && problems.iter().all(|problem| problem.path == TYPE_NAME) => {
            UNKNOWN_TYPE
        }
        _ => INVALID_FORMAT,
    }
}

fn has_unknown_type(message: &Message) -> bool {
    message.kind().is_none() && message.0.get(TYPE_NAME).is_some_and(Value::is_string)
}

fn suggestion(error: &str) -> &'static str {
    match error {
        VERSION_MISMATCH => "Send the message in a compatible version.",
        UNKNOWN_TYPE => "Send the message with one of the types that are known.",
        _ => "Correct the problems and send the message again.",
    }
}

/// The facts about a rejected message, for programs.
fn context(rejected: &Parsed<Option<Message>>, rejection: &Rejection) -> Value {
    let problems: Vec<String> = rejected.problems.iter().map(ToString::to_string).collect();
    let mut context = json!({ "supported_version": VERSION, "problems": problems });
    if let Some(message_id) = &rejection.message_id {
        context["message_id"] = json!(message_id);
    }
    if let Some(message) = &rejected.value {
        context["type"] = json!(cut(message.type_name()));
        context["version"] = json!(cut(message.text("version")));
    }
    context
}

/// How much of a rejected message's own words an answer repeats, in characters; any honest id is shorter.
const REPEATED: usize = 256;

fn cut(text: &str) -> String {
    crate::cut(text.chars(), REPEATED)
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    const STAMP: Stamp<'static> = Stamp {
        timestamp: "2026-01-02T03:04:05Z",
        message_id: "msg-3f2b8a10-5c6d-4e7f-8a9b-0c1d2e3f4a5b",
        sender_id: "postmaster",
    };
    const ID: &str = "msg-423e4567-e89b-12d3-a456-426614174003";

    /// A status update with its fields changed; `null` takes one out.
    fn update(changes: Value) -> Parsed<Option<Message>> {
        let mut message = json!({
            "version": "1.0.0", "timestamp": "2025-12-25T16:00:00Z", "sender_id": "engineer", "message_id": ID,
            "type": "status_update", "task_id": "bd-47", "update_type": "progress", "status_summary": "s", "blockers": [],
        });
        for (name, value) in changes.as_object().unwrap() {
            match value {
                Value::Null => message.as_object_mut().unwrap().remove(name),
                value => message.as_object_mut().unwrap().insert(name.clone(), value.clone()),
            };
        }
        read(&message.to_string())
    }

    /// Rejects, reports, checks that the report is itself valid, and returns both.
    fn rejected(read_message: &Parsed<Option<Message>>) -> (Rejection, Message) {
        let rejection = rejection(read_message).expect("it is invalid");
        let report = error_report(read_message, &rejection, STAMP);
        assert_eq!(read(&report.write()), Parsed { value: Some(report.clone()), problems: vec![] });
        assert_eq!(report.kind(), Some(Type::ErrorReport));
        (rejection, report)
    }

    #[test]
    fn a_valid_message_is_not_rejected() {
        assert_eq!(rejection(&update(json!({}))), None);
    }

    #[test]
    fn one_missing_field_is_told_in_the_words_of_the_format() {
        let (rejection, report) = rejected(&update(json!({"task_id": null})));
        assert_eq!((rejection.error, rejection.message_id.as_deref()), ("invalid_format", Some(ID)));
        assert_eq!(rejection.details, "Missing required field: task_id");
        assert_eq!(
            (report.text("error.code"), report.text("error.message")),
            ("invalid_format", "Missing required field: task_id")
        );
        assert_eq!(report.task_id(), Some("unknown"));
        assert_eq!(report.to_value()["error"]["context"]["message_id"], ID);
    }

    #[test]
    fn every_problem_is_told_and_the_task_is_named() {
        let (rejection, report) = rejected(&update(json!({"blockers": null, "update_type": "status"})));
        assert!(rejection.details.contains("; Missing required field: blockers"), "{}", rejection.details);
        assert!(rejection.details.starts_with("update_type: found 'status'"), "{}", rejection.details);
        assert_eq!(report.task_id(), Some("bd-47"));
        assert_eq!(report.to_value()["error"]["context"]["problems"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn another_major_version_is_a_mismatch_that_names_both() {
        let (rejection, report) = rejected(&update(json!({"version": "2.1.0", "task_id": null})));
        assert_eq!(rejection.error, "version_mismatch");
        assert!(rejection.details.contains("2.1.0") && rejection.details.contains("1.0.0"), "{}", rejection.details);
        let context = &report.to_value()["error"]["context"];
        assert_eq!((&context["version"], &context["supported_version"]), (&json!("2.1.0"), &json!("1.0.0")));
        assert_eq!(rejected(&update(json!({"version": "2.1"}))).0.error, "invalid_format");
    }

    #[test]
    fn an_unknown_type_is_named_if_nothing_else_is_wrong() {
        let (rejection, report) = rejected(&update(json!({"type": "chat"})));
        assert_eq!(rejection.error, "unknown_type");
        assert!(rejection.details.contains("'chat'"), "{}", rejection.details);
        assert_eq!(report.to_value()["error"]["context"]["type"], "chat");
        assert_eq!(report.task_id(), Some("bd-47"));
        for changes in [json!({"type": "chat", "sender_id": null}), json!({"type": 7}), json!({"type": null})] {
            assert_eq!(rejected(&update(changes)).0.error, "invalid_format");
        }
    }

    #[test]
    fn a_text_that_is_no_object_is_rejected_without_an_id() {
        let (rejection, report) = rejected(&read("[]"));
        assert_eq!((rejection.error, rejection.message_id), ("invalid_format", None));
        assert_eq!(rejection.details, "found '[]', wanted a JSON object");
        assert_eq!(report.task_id(), Some("unknown"));
    }

    #[test]
    fn an_answer_stays_small_whatever_was_sent() {
        let long = "é".repeat(100_000);
        let sent = json!({"type": long, "task_id": long, "message_id": long, "version": long, "timestamp": long});
        let (rejection, report) = rejected(&update(sent));
        assert!(report.write().len() < 10_000);
        assert!(rejection.details.len() + rejection.message_id.unwrap().len() < 5_000);
    }
}
