//! A bead as mail sees it: which field and which label says what.
//!
//! Reading is lenient, because other programs write beads too: what is missing is empty, and a time that makes no sense
//! is 1970. A delivery that was written without a thread begins one under its own id.
//!
//! Two notes in a bead's metadata are ours, and are written where `bd` keeps the beads: it cuts times to whole seconds
//! and refuses some titles. `postrider.sent_at` is the time to the microsecond; `postrider.subject` is the subject, when
//! the title is not.

use jiff::Timestamp;
use mail::messages::OpenKey;
use mail::provider::ProviderDelivery;
use serde_json::Value;

use crate::times;

/// The type of beads that are deliveries.
pub(super) const MESSAGE: &str = "message";
/// The label of those who have read it.
pub(super) const READ: &str = "read";
/// The status of deliveries that are archived.
pub(super) const CLOSED: &str = "closed";
/// Where some programs note a second time whether a delivery was read. It is kept true, and never asked.
pub(super) const READ_NOTE: &str = "mail.read";
/// The subject, when the title is not.
pub(super) const SUBJECT_NOTE: &str = "postrider.subject";
/// The time, where the keeper cuts it.
pub(super) const TIME_NOTE: &str = "postrider.sent_at";

const OPEN: &str = "open";
/// What the label of a key begins with.
const KEY: &str = "dedup:";

/// A delivery, and what its bead says beyond it.
#[derive(Debug)]
pub(super) struct Bead {
    pub delivery: ProviderDelivery,
    /// Whether it is in a mailbox.
    pub is_open: bool,
    /// The key under which it was sent, if it was.
    pub key: Option<String>,
    /// Whether its metadata tell too that it was read.
    pub has_read_note: bool,
}

/// Which deliveries a list is to hold.
#[derive(Clone, Copy, Debug)]
pub(super) enum BeadFilter<'a> {
    /// What is open for that recipient; for everybody if it is empty.
    OpenFor(&'a str),
    /// All of a thread.
    Thread(&'a str),
    /// What a delivery's recipient has open of its sender under that key.
    Under(&'a OpenKey, &'a ProviderDelivery),
}

impl BeadFilter<'_> {
    /// Whether that delivery is one of them.
    pub fn holds(self, bead: &Bead) -> bool {
        match self {
            Self::OpenFor(recipient) => bead.is_open && (recipient.is_empty() || bead.delivery.to == recipient),
            Self::Thread(thread) => bead.delivery.thread == thread,
            Self::Under(key, sent) => bead.is_open_under(key, sent),
        }
    }
}

impl Bead {
    /// Reads a bead; `None` when it is no delivery.
    pub fn read(bead: &Value) -> Option<Self> {
        let id = bead["id"].as_str().filter(|id| !id.is_empty())?;
        if bead["issue_type"] != MESSAGE {
            return None;
        }
        let text = |field: &str| bead[field].as_str().unwrap_or_default().to_owned();
        let metadata = &bead["metadata"];
        let labels: Vec<&str> = bead["labels"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let labelled = |prefix: &str| labels.iter().find_map(|label| label.strip_prefix(prefix).map(str::to_owned));
        let status = bead["status"].as_str().unwrap_or(OPEN);
        let delivery = ProviderDelivery {
            id: id.to_owned(),
            from: Some(text("from"))
                .filter(|from| !from.is_empty())
                .or_else(|| note(metadata, "from"))
                .unwrap_or_default(),
            to: text("assignee"),
            subject: note(metadata, SUBJECT_NOTE).unwrap_or_else(|| text("title")),
            body: text("description"),
            created_at: note(metadata, TIME_NOTE).and_then(|time| time.parse().ok()).unwrap_or_else(|| time_of(bead)),
            read: labels.contains(&READ),
            thread: labelled("thread:").filter(|thread| !thread.is_empty()).unwrap_or_else(|| id.to_owned()),
            reply_to: labelled("reply-to:").filter(|id| !id.is_empty()),
            priority: labelled("priority:").and_then(|priority| priority.parse().ok()),
            archived: status == CLOSED,
            cc: labels.iter().filter_map(|label| label.strip_prefix("cc:")).map(str::to_owned).collect(),
            ..ProviderDelivery::default()
        };
        let has_read_note = !metadata[READ_NOTE].is_null();
        Some(Self { delivery, is_open: status == OPEN, key: labelled(KEY), has_read_note })
    }

    /// Whether it is what this sender's recipient has open under that key.
    pub fn is_open_under(&self, key: &OpenKey, sent: &ProviderDelivery) -> bool {
        let ProviderDelivery { from, to, .. } = &self.delivery;
        self.is_open && self.key.as_deref() == Some(key.as_str()) && *from == sent.from && *to == sent.to
    }
}

/// When a bead was made, whether or not it is a delivery.
pub(super) fn time_of(bead: &Value) -> Timestamp {
    bead["created_at"].as_str().and_then(times::read).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// The label of a key.
pub(super) fn label_of_key(key: &OpenKey) -> String {
    format!("{KEY}{}", key.as_str())
}

/// The labels of a new delivery.
pub(super) fn labels_of(delivery: &ProviderDelivery, key: Option<&OpenKey>) -> Vec<String> {
    let mut labels = vec!["gc:message".to_owned(), format!("thread:{}", delivery.thread)];
    labels.extend(delivery.reply_to.as_ref().map(|parent| format!("reply-to:{parent}")));
    labels.extend(key.map(label_of_key));
    labels
}

/// A note of the metadata. `bd` keeps text that looks like a number as one.
fn note(metadata: &Value, key: &str) -> Option<String> {
    match &metadata[key] {
        Value::String(text) => Some(text.clone()),
        other @ (Value::Number(_) | Value::Bool(_)) => Some(other.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_others_wrote_is_read() {
        let labels = ["gc:message", "thread:thread-a1", "reply-to:gc-1", "read", "cc:carol", "cc:dan", "priority:2"];
        let bead = Bead::read(&json!({
            "id": "gc-2", "title": "Hello", "status": "closed", "issue_type": "message", "assignee": "bob",
            "from": "alice", "description": "text", "labels": labels, "metadata": { "mail.read": "true" },
            "created_at": "2026-03-04T12:00:00.123456789+02:00",
        }));
        let bead = bead.unwrap();
        let delivery = ProviderDelivery {
            id: "gc-2".to_owned(),
            from: "alice".to_owned(),
            is_human: false,
            to: "bob".to_owned(),
            subject: "Hello".to_owned(),
            body: "text".to_owned(),
            created_at: "2026-03-04T10:00:00.123456789Z".parse().unwrap(),
            read: true,
            thread: "thread-a1".to_owned(),
            reply_to: Some("gc-1".to_owned()),
            priority: Some(2),
            awaits_ack: false,
            addressed: Vec::new(),
            problems: Vec::new(),
            archived: true,
            cc: vec!["carol".to_owned(), "dan".to_owned()],
        };
        assert_eq!(bead.delivery, delivery);
        assert!(!bead.is_open && bead.has_read_note);
    }

    #[test]
    fn what_is_missing_or_senseless_is_empty() {
        let bare = json!({ "id": "gc-1", "issue_type": "message", "labels": null, "created_at": "soon", "title": 7 });
        let delivery = Bead::read(&bare).unwrap().delivery;
        assert_eq!((delivery.from.as_str(), delivery.subject.as_str(), delivery.thread.as_str()), ("", "", "gc-1"));
        assert_eq!(delivery.created_at, Timestamp::UNIX_EPOCH);
        for not_mail in [json!({ "issue_type": "message" }), json!({ "id": "gc-1", "issue_type": "task" }), json!([])] {
            assert!(Bead::read(&not_mail).is_none(), "{not_mail}");
        }
    }

    #[test]
    fn the_notes_of_bd_are_read() {
        let metadata = json!({ "from": 42, SUBJECT_NOTE: "-x", TIME_NOTE: "2026-03-04T10:00:00.5Z" });
        let bead = json!({ "id": "bd-1", "issue_type": "message", "title": "(no subject)", "metadata": metadata });
        let delivery = Bead::read(&bead).unwrap().delivery;
        assert_eq!((delivery.from.as_str(), delivery.subject.as_str()), ("42", "-x"));
        assert_eq!(delivery.created_at, "2026-03-04T10:00:00.5Z".parse().unwrap());
    }

    #[test]
    fn a_time_without_a_zone_is_utc() {
        let bead = json!({ "created_at": "2026-03-04T10:00:00" });
        assert_eq!(time_of(&bead), "2026-03-04T10:00:00Z".parse().unwrap());
    }
}
