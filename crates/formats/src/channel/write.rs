//! A message as the text of its file.
//!
//! The same message always becomes the same bytes, because a file that is written again after a crash is recognised by
//! them.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::ChannelMessage;
use crate::time::written_time;

const FIELDS: [&str; 8] = ["id", "timestamp", "session_id", "from", "to", "type", "content", "metadata"];
const CONTENT: [&str; 3] = ["text", "code", "artifacts"];
pub(super) const METADATA: [&str; 3] = ["mode", "turn", "in_reply_to"];

impl ChannelMessage {
    /// The document as text: fields in the order in which people expect them, two blanks a step, a line end at the end.
    pub fn to_json(&self) -> String {
        let mut content = self.extra.get("content").and_then(Value::as_object).cloned().unwrap_or_default();
        let parts = [json!(self.text), json!(self.code), json!(self.artifacts)];
        content.extend(CONTENT.map(str::to_owned).into_iter().zip(parts));
        let mut fields = self.extra.clone();
        let texts = [&self.id, &written_time(self.timestamp), &self.session_id, &self.from, &self.to, &self.kind];
        let known = texts.map(|text| json!(text)).into_iter().chain([content.into(), self.metadata.clone().into()]);
        fields.extend(FIELDS.map(str::to_owned).into_iter().zip(known));
        let mut text = serde_json::to_string_pretty(&Ordered(&fields, &FIELDS)).expect("JSON values can be written");
        text.push('\n');
        text
    }
}

/// An object with these fields first, and the others in the order of their names.
struct Ordered<'m>(&'m Map<String, Value>, &'static [&'static str]);

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(fields, first) = *self;
        let others = fields.iter().filter(|(name, _)| !first.contains(&name.as_str()));
        let mut object = serializer.serialize_map(None)?;
        for (name, value) in first.iter().filter_map(|name| fields.get_key_value(*name)).chain(others) {
            match (name.as_str(), value) {
                ("content", Value::Object(content)) if first == FIELDS => {
                    object.serialize_entry(name, &Ordered(content, &CONTENT))?;
                }
                ("metadata", Value::Object(metadata)) if first == FIELDS => {
                    object.serialize_entry(name, &Ordered(metadata, &METADATA))?;
                }
                _ => object.serialize_entry(name, value)?,
            }
        }
        object.end()
    }
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
