//! What a message that asks for files asks for, and what its sender is told of it.
//!
//! Who holds what is not known here. The format has no answer to such a request: a refusal is an error report, as it wants of
//! every failure; a grant is Markdown for a reader, with the same facts as JSON behind it for programs.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::reject::{Report, Stamp, report};
use super::{Message, Type, find_in};

/// A request for files.
#[derive(Debug, Clone, PartialEq)]
pub struct FilesRequest<'m> {
    /// What is asked for first.
    pub wanted: Files<'m>,
    /// For how long, in minutes.
    pub minutes: Option<f64>,
    /// Why; empty if nobody says.
    pub reason: &'m str,
    /// What would do as well, in order; `None` for what names no pattern, or a mode that is not known.
    pub alternatives: Vec<Option<Files<'m>>>,
}

/// Files, and how they are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files<'m> {
    /// Glob patterns.
    pub patterns: Vec<&'m str>,
    /// Whether nobody else may have them.
    pub exclusive: bool,
}

/// What became of a request, for programs. The names are those of the tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesOutcome {
    /// What the sender holds now.
    pub granted: Vec<GrantedFiles>,
    /// Which of the alternatives that is, counted from 1; none if it is what was asked for first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alternative: Option<usize>,
    /// What is in the way of all that was tried and not granted.
    pub conflicts: Vec<HeldFiles>,
}

/// A pattern that was granted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantedFiles {
    /// The number of the reservation.
    pub id: i64,
    /// The pattern.
    pub path_pattern: String,
    /// Whether nobody else may have it.
    pub exclusive: bool,
    /// When it ends by itself.
    pub expires_ts: String,
}

/// A pattern that somebody else holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldFiles {
    /// What was asked for.
    pub path: String,
    /// What is held.
    pub held_path: String,
    /// By whom.
    pub holder: String,
    /// Whether nobody else may have it.
    pub exclusive: bool,
    /// Whether the other only stands in line for it, and came earlier.
    pub waiting: bool,
    /// When that ends at the latest.
    pub expires_ts: String,
}

impl Message {
    /// What it asks for, if it is such a request. What is wrong with it was told when it was read.
    pub fn files_request(&self) -> Option<FilesRequest<'_>> {
        const REQUEST: &str = "reservation_request";
        if self.kind() != Some(Type::FileReservation) {
            return None;
        }
        let exclusive = self.text("reservation_request.mode") == EXCLUSIVE;
        let alternatives = self.0.get("alternatives").and_then(Value::as_array).into_iter().flatten();
        Some(FilesRequest {
            wanted: Files { patterns: self.texts("reservation_request.file_patterns"), exclusive },
            minutes: self.0.get(REQUEST).and_then(|request| request.get("duration_minutes")?.as_f64()),
            reason: self.text("reservation_request.reason"),
            alternatives: alternatives.map(|one| alternative(one, exclusive)).collect(),
        })
    }
}

const EXCLUSIVE: &str = "exclusive";

/// One of the alternatives, whose shape the format leaves open. In its example each has one pattern and a mode that is
/// none of the request's: `shared`. Without a mode it is asked for as the request is.
fn alternative(value: &Value, exclusive: bool) -> Option<Files<'_>> {
    let patterns: Vec<&str> = match (value.get("pattern"), value.get("file_patterns")) {
        (Some(pattern), None) => vec![pattern.as_str()?],
        (None, Some(patterns)) => patterns.as_array()?.iter().map(Value::as_str).collect::<Option<_>>()?,
        _ => return None,
    };
    let exclusive = match value.get("mode") {
        None | Some(Value::Null) => exclusive,
        Some(mode) => match mode.as_str()? {
            EXCLUSIVE => true,
            "shared" | "shared_read" | "shared_write" => false,
            _ => return None,
        },
    };
    Some(Files { patterns, exclusive }).filter(|files| !files.patterns.is_empty())
}

impl FilesOutcome {
    /// The text for whom something was granted: `said`, and the facts for programs.
    pub fn to_markdown(&self, said: &str) -> String {
        format!("{said}\n\n{FENCE}{}\n```\n", json!(self))
    }

    /// The error report for whom nothing was granted.
    pub fn report(&self, request: &Message, code: &str, said: &str, stamp: Stamp<'_>) -> Message {
        let mut context = json!({ OUTCOME: self });
        if let Some(message_id) = request.message_id() {
            context["message_id"] = json!(message_id);
        }
        let steps = "Send the request again while others hold the files.".to_owned();
        let action = "Wait until the reservations end, write to the holders, or ask for other files.";
        report(Some(request), Report { code, said, context, steps, action }, stamp)
    }

    /// What a body of either kind tells.
    pub fn read(body: &str) -> Option<Self> {
        if let Some(text) = find_in(body) {
            let mut report: Value = serde_json::from_str(text).ok()?;
            let outcome = report.pointer_mut(&format!("/error/context/{OUTCOME}"))?;
            return serde_json::from_value(outcome.take()).ok();
        }
        let (_, block) = body.rsplit_once(FENCE)?;
        serde_json::from_str(block.trim_end().strip_suffix("```")?).ok()
    }
}

const OUTCOME: &str = "reservation";
const FENCE: &str = "```json\n";

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    fn message(request: Value, alternatives: Value) -> Message {
        let message = json!({
            "version": "1.0.0", "timestamp": "2025-12-25T18:00:00Z", "sender_id": "frontend", "type": "file_reservation",
            "message_id": "msg-623e4567-e89b-12d3-a456-426614174005", "task_id": "bd-42",
            "reservation_request": request, "alternatives": alternatives,
        });
        read(&message.to_string()).value.expect("it is a message")
    }

    #[test]
    fn a_request_is_read_with_its_alternatives_in_order() {
        let request =
            json!({"mode": "exclusive", "file_patterns": ["a", "b"], "duration_minutes": 120, "reason": "why"});
        let sent = message(request, json!([{"pattern": "c", "mode": "shared", "note": "n"}, {"pattern": "d"}]));
        let files = |patterns: &[&'static str], exclusive| Files { patterns: patterns.to_vec(), exclusive };
        let wanted = FilesRequest {
            wanted: files(&["a", "b"], true),
            minutes: Some(120.0),
            reason: "why",
            alternatives: vec![Some(files(&["c"], false)), Some(files(&["d"], true))],
        };
        assert_eq!(sent.files_request(), Some(wanted));
        for mode in ["shared_read", "shared_write"] {
            let sent = message(json!({"mode": mode, "file_patterns": ["a"]}), Value::Null);
            let request = sent.files_request().expect("it is one");
            assert_eq!((request.wanted.exclusive, request.minutes, request.reason), (false, None, ""), "{mode}");
            assert!(request.alternatives.is_empty());
        }
        assert_eq!(read(r#"{"type":"chat"}"#).value.expect("it is a message").files_request(), None);
    }

    #[test]
    fn an_alternative_that_names_no_pattern_or_another_mode_is_none() {
        let odd = json!([
            "src/**", 7, {}, {"pattern": 7}, {"pattern": "a", "mode": "read"}, {"file_patterns": []},
            {"file_patterns": ["a", 1]}, {"pattern": "a", "mode": 1}, {"file_patterns": ["a", "b"], "mode": null},
        ]);
        let sent = message(json!({"mode": "shared_read", "file_patterns": ["x"]}), odd);
        let read = sent.files_request().expect("it is one").alternatives;
        assert_eq!(read.iter().filter(|one| one.is_some()).count(), 1);
        assert_eq!(read[8], Some(Files { patterns: vec!["a", "b"], exclusive: false }));
    }

    #[test]
    fn what_became_of_a_request_is_read_back_from_either_answer() {
        let expires_ts = "2026-01-02T03:04:05.000000Z".to_owned();
        let granted = GrantedFiles { id: 3, path_pattern: "a".into(), exclusive: true, expires_ts: expires_ts.clone() };
        let held = HeldFiles {
            path: "b".into(),
            held_path: "```json\n".into(),
            holder: "x".into(),
            exclusive: true,
            waiting: false,
            expires_ts,
        };
        let outcome = FilesOutcome { granted: vec![granted], alternative: Some(1), conflicts: vec![held] };
        assert_eq!(FilesOutcome::read(&outcome.to_markdown("Granted:\n\n```json\n{}\n```")), Some(outcome.clone()));
        let stamp = Stamp {
            timestamp: "2026-01-02T03:04:05Z",
            message_id: "msg-3f2b8a10-5c6d-4e7f-8a9b-0c1d2e3f4a5b",
            sender_id: "postrider",
        };
        let request = message(json!({"mode": "exclusive", "file_patterns": ["a"]}), json!([]));
        let report = outcome.report(&request, "FILE_RESERVATION_CONFLICT", "taken", stamp).write();
        let read_report = read(&report);
        assert_eq!(read_report.problems, [], "the report is itself a valid message");
        let read_report = read_report.value.expect("it is a message");
        assert_eq!(
            (read_report.task_id(), read_report.text("error.code")),
            (Some("bd-42"), "FILE_RESERVATION_CONFLICT")
        );
        assert_eq!(read_report.text("error.context.message_id"), "msg-623e4567-e89b-12d3-a456-426614174005");
        assert_eq!(FilesOutcome::read(&report), Some(outcome));
        for other in ["", "Hello", "{}", "```json\n{}\n```", r#"{"error":"x"}"#] {
            assert_eq!(FilesOutcome::read(other), None, "{other}");
        }
    }
}
