//! The parts of a channel's message by name, for those who know no JSON: metadata, and content beyond the text.

use serde_json::{Value, json};

use super::ChannelMessage;

impl ChannelMessage {
    /// A text among the metadata.
    pub fn metadata_text(&self, field: &str) -> Option<&str> {
        self.metadata.get(field).and_then(Value::as_str)
    }

    /// A number among the metadata.
    pub fn metadata_number(&self, field: &str) -> Option<i64> {
        self.metadata.get(field).and_then(Value::as_i64)
    }

    /// A yes or no among the metadata.
    pub fn metadata_flag(&self, field: &str) -> Option<bool> {
        self.metadata.get(field).and_then(Value::as_bool)
    }

    /// The names of a list among the metadata. What is no text there is left out.
    pub fn metadata_names(&self, field: &str) -> Vec<&str> {
        let list = self.metadata.get(field).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// Puts a text among the metadata; `None` stands there as null.
    pub fn set_metadata_text(&mut self, field: &str, text: Option<&str>) {
        self.metadata.insert(field.to_owned(), json!(text));
    }

    /// Sets a part that is no text.
    pub fn set_metadata(&mut self, field: &str, value: impl Into<Value>) {
        self.metadata.insert(field.to_owned(), value.into());
    }
}

/// What a message says, where that is more than a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Content {
    /// The text.
    pub text: String,
    /// Code that goes with it.
    pub code: Option<String>,
    /// The files that it speaks of.
    pub artifacts: Vec<Value>,
}

impl Content {
    /// A text with code and the names of files.
    pub fn new(text: &str, code: Option<&str>, artifacts: &[String]) -> Self {
        let artifacts = artifacts.iter().map(|name| json!(name)).collect();
        Self { text: text.to_owned(), code: code.map(str::to_owned), artifacts }
    }

    /// Whether there is nothing but the text.
    pub fn is_plain(&self) -> bool {
        self.code.is_none() && self.artifacts.is_empty()
    }

    /// The content as text that [`read`](Self::read) reads.
    pub fn to_json(&self) -> String {
        json!({ "text": self.text, "code": self.code, "artifacts": self.artifacts }).to_string()
    }

    /// What [`to_json`](Self::to_json) wrote.
    pub fn read(text: &str) -> Option<Self> {
        let content: Value = serde_json::from_str(text).ok()?;
        Some(Self {
            text: content["text"].as_str()?.to_owned(),
            code: content["code"].as_str().map(str::to_owned),
            artifacts: content["artifacts"].as_array().cloned().unwrap_or_default(),
        })
    }

    /// The content as Markdown, for mailboxes: the text, the code as a block, the files as a list.
    pub fn to_markdown(&self) -> String {
        let mut body = self.text.clone();
        if let Some(code) = &self.code {
            let longest = code.lines().map(|line| line.chars().take_while(|c| *c == '`').count()).max().unwrap_or(0);
            let fence = "`".repeat(longest.max(2) + 1);
            body.push_str(&format!("\n\n{fence}\n{}\n{fence}", code.trim_end_matches('\n')));
        }
        if !self.artifacts.is_empty() {
            body.push('\n');
        }
        for artifact in &self.artifacts {
            let name = artifact.as_str().map_or_else(|| artifact.to_string(), str::to_owned);
            body.push_str(&format!("\n- {name}"));
        }
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_read_back_as_it_was_written() {
        let content = Content::new("look", Some("a\nb"), &["x.txt".to_owned()]);
        assert_eq!(Content::read(&content.to_json()), Some(content));
    }

    #[test]
    fn code_stands_in_a_fence_that_it_does_not_end() {
        let content = Content::new("look", Some("```\nx\n```"), &["x.txt".to_owned()]);
        assert_eq!(content.to_markdown(), "look\n\n````\n```\nx\n```\n````\n\n- x.txt");
        assert_eq!(Content::new("look", None, &[]).to_markdown(), "look");
    }
}
