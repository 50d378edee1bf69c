//! A message as the text of its file.
//!
//! The same message always becomes the same bytes, because a file that is written again after a crash is recognised by
//! them.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::{ChannelMessage, written_time};

/// The fields of a document, which nothing beyond the format may replace.
const FIELDS: [&str; 8] = ["id", "timestamp", "session_id", "from", "to", "type", "content", "metadata"];
const CONTENT: [&str; 3] = ["text", "code", "artifacts"];
const METADATA: [&str; 3] = ["mode", "turn", "in_reply_to"];

/// Values by name, in the order of the names.
type Sorted<'m> = BTreeMap<&'m str, &'m Value>;

#[derive(Serialize)]
struct Document<'m> {
    id: &'m str,
    timestamp: String,
    session_id: &'m str,
    from: &'m str,
    to: &'m str,
    #[serde(rename = "type")]
    kind: &'m str,
    content: Content<'m>,
    metadata: Metadata<'m>,
    #[serde(flatten)]
    extra: Sorted<'m>,
}

#[derive(Serialize)]
struct Content<'m> {
    text: &'m str,
    code: Option<&'m str>,
    artifacts: &'m [Value],
    #[serde(flatten)]
    extra: Sorted<'m>,
}

#[derive(Serialize)]
struct Metadata<'m> {
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<&'m Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<&'m Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_reply_to: Option<&'m Value>,
    #[serde(flatten)]
    extra: Sorted<'m>,
}

impl ChannelMessage {
    /// The document as text: fields in the order in which people expect them, two blanks a step, a line end at the end.
    pub fn to_json(&self) -> String {
        let [mode, turn, in_reply_to] = METADATA.map(|name| self.metadata.get(name));
        let beside_the_text = self.extra.get("content").and_then(Value::as_object);
        let document = Document {
            id: &self.id,
            timestamp: written_time(self.timestamp),
            session_id: &self.session_id,
            from: &self.from,
            to: &self.to,
            kind: &self.kind,
            content: Content {
                text: &self.text,
                code: self.code.as_deref(),
                artifacts: &self.artifacts,
                extra: beside_the_text.map(|fields| beyond(&CONTENT, fields)).unwrap_or_default(),
            },
            metadata: Metadata { mode, turn, in_reply_to, extra: beyond(&METADATA, &self.metadata) },
            extra: beyond(&FIELDS, &self.extra),
        };
        let mut text = serde_json::to_string_pretty(&document).expect("texts and JSON values can be written");
        text.push('\n');
        text
    }
}

/// The fields that are none of `known`.
fn beyond<'m>(known: &[&str], fields: &'m Map<String, Value>) -> Sorted<'m> {
    let entries = fields.iter().map(|(name, value)| (name.as_str(), value));
    entries.filter(|(name, _)| !known.contains(name)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::read_value;
    use super::*;

    const WRITTEN: &str = r#"{
  "id": "msg-20260111-163315-claude-4c78",
  "timestamp": "2026-01-11T16:33:15.123Z",
  "session_id": "agent-os-paper",
  "from": "claude",
  "to": "codex",
  "type": "chat",
  "content": {
    "text": "Your message text here",
    "code": null,
    "artifacts": [],
    "lang": "en"
  },
  "metadata": {
    "mode": "chat",
    "turn": "claude",
    "in_reply_to": "msg-20260111-163300-codex-a1b2",
    "hops": 2,
    "zone": {
      "b": 1
    }
  },
  "a": null,
  "priority": "high"
}
"#;

    #[test]
    fn a_document_is_written_in_the_order_of_the_format_and_then_by_name() {
        assert_eq!(read_value(WRITTEN).unwrap().to_json(), WRITTEN);
    }

    #[test]
    fn nothing_beyond_the_format_takes_the_place_of_a_field() {
        let mut message = read_value(WRITTEN).unwrap();
        message.extra = Map::from_iter([("id".to_owned(), json!("x")), ("content".to_owned(), json!({"text": "x"}))]);
        let written = message.to_json();
        assert_eq!((written.matches("\"id\"").count(), written.matches("\"text\"").count()), (1, 1), "{written}");
    }
}
