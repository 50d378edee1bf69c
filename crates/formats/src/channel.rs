//! A message as channel folders hold it: one JSON document in a file of its own.
//!
//! Readers are lenient and say what to do with a document: use it, use it and log why it is odd, look again because it may
//! still be being written, or pass it over. Where files lie, and who is called by a message, is not told here.

mod fields;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

pub use fields::Content;

/// Whom a message for everybody is addressed to.
pub const EVERYONE: &str = "all";

/// A message of a channel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChannelMessage {
    /// Its id, by custom the name of its file without the ending.
    pub id: String,
    /// When it was sent, as its author says.
    pub timestamp: Timestamp,
    /// The channel.
    pub session_id: String,
    /// Who wrote it.
    pub from: String,
    /// Whom it is addressed to: an agent, or `all`.
    pub to: String,
    /// What type it is of, such as `chat`.
    pub kind: String,
    /// What it says.
    pub text: String,
    /// Code that goes with it.
    pub code: Option<String>,
    /// The files that it speaks of.
    pub artifacts: Vec<Value>,
    /// `mode`, `turn`, `in_reply_to`, and whatever else its author put there.
    pub metadata: Map<String, Value>,
    /// Fields beyond the format, kept as they are.
    pub extra: Map<String, Value>,
}

impl ChannelMessage {
    /// The id of the message that it answers.
    pub fn in_reply_to(&self) -> Option<&str> {
        self.metadata.get("in_reply_to").and_then(Value::as_str)
    }

    /// How it came to be: `chat`, or `watcher` for an answer that a watcher had made.
    pub fn mode(&self) -> Option<&str> {
        self.metadata.get("mode").and_then(Value::as_str)
    }

    /// The document as text.
    pub fn to_json(&self) -> String {
        let mut document = json!({
            "id": self.id,
            "timestamp": self.timestamp.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
            "session_id": self.session_id,
            "from": self.from,
            "to": self.to,
            "type": self.kind,
            "content": { "text": self.text, "code": self.code, "artifacts": self.artifacts },
            "metadata": self.metadata,
        });
        if let Value::Object(fields) = &mut document {
            fields.extend(self.extra.clone());
        }
        document.to_string()
    }
}

/// What a document says, wherever it was found.
pub fn read_value(text: &str) -> Option<ChannelMessage> {
    let document: Value = serde_json::from_str(text).ok()?;
    let word = |field: &str| document[field].as_str().map(str::to_owned);
    Some(ChannelMessage {
        id: word("id")?,
        timestamp: word("timestamp")?.parse().ok()?,
        session_id: word("session_id")?,
        from: word("from")?,
        to: word("to")?,
        kind: word("type")?,
        text: document["content"]["text"].as_str()?.to_owned(),
        code: document["content"]["code"].as_str().map(str::to_owned),
        artifacts: document["content"]["artifacts"].as_array().cloned().unwrap_or_default(),
        metadata: document["metadata"].as_object().cloned().unwrap_or_default(),
        extra: Map::new(),
    })
}
