//! The texts that the readers read: messages as agents write them, and such as try to make a reader slow.
//!
//! Each can be had in any length. A hostile text repeats what a reader looks for, so that reading on from each place
//! would take time by the square of the length.

use serde_json::json;

use crate::text::{Chance, Language};

/// A message to be read.
pub struct Text {
    /// What it is, for the report.
    pub name: String,
    /// The subject, which decides how the body is read.
    pub subject: &'static str,
    /// The body.
    pub body: String,
}

/// An offering of some files with a summary as long as it takes.
pub fn typical_markdown(size: usize) -> Text {
    let mut body = "Bead: ol-527.1\nStatus: DONE\n\n## Changes\n- Commit: abc123def\n- Files: src/auth.py, \
                    tests/test_auth.py\n\n## Self-Validation\n- Tests: PASS\n- Lint: PASS\n- Build: PASS\n\n## Summary\n"
        .to_owned();
    body.push_str(&prose(size - body.len()));
    Text { name: "typical".to_owned(), subject: "[ol-527.1] OFFERING_READY", body }
}

/// A status update with as many steps as it takes.
pub fn typical_json(size: usize) -> Text {
    let message = |steps: &[&str]| {
        json!({
            "version": "1.0.0",
            "timestamp": "2025-12-25T16:00:00Z",
            "sender_id": "database-engineer",
            "message_id": "msg-423e4567-e89b-42d3-a456-426614174003",
            "type": "status_update",
            "task_id": "bd-47",
            "update_type": "progress",
            "status_summary": "Database schema migration in progress, 70% complete",
            "progress": { "percentage": 70, "completed_steps": steps, "current_step": "Running it in staging" },
            "blockers": [],
        })
        .to_string()
    };
    let text = prose(size - message(&[]).len());
    let steps: Vec<&str> = text.split_inclusive("\n\n").collect();
    Text { name: "typical".to_owned(), subject: "how it goes", body: message(&steps) }
}

/// Prose of that length, in paragraphs of 1 KiB.
fn prose(size: usize) -> String {
    let (language, mut chance) = (Language::new(), Chance::new(1));
    let mut text = String::new();
    while text.len() < size {
        text.push_str(&language.body(&mut chance, "the parser"));
        text.push('\n');
    }
    // The language is ASCII.
    text.truncate(size);
    text
}

/// What slows a reader of Markdown down, as a message of several kinds.
pub fn hostile_markdown(size: usize) -> Vec<Text> {
    const UNITS: [&str; 14] = [
        "\n",
        " ",
        "\r",
        "x",
        "#",
        "[",
        "## Problem\n",
        "Bead:\n",
        "**Bead:\r",
        "- Files:\n",
        "- Files: ,\n",
        "a,",
        "```\n",
        "~~~\n````\n",
    ];
    let kinds = ["HELP_REQUEST", "PROGRESS", "OFFERING_READY"];
    kinds.iter().flat_map(|kind| UNITS.iter().map(|unit| repeated(kind, "Files touched: ", unit, "", size))).collect()
}

/// What slows a reader of JSON down.
pub fn hostile_json(size: usize) -> Vec<Text> {
    let object = |unit: &str, end: &str| repeated("", "{\"type\":\"status_update\",\"blockers\":", unit, end, size);
    let mut fields: String = "{\"type\":\"status_update\"".to_owned();
    while fields.len() + 16 < size {
        fields.push_str(&format!(",\"f{:x}\":1", fields.len()));
    }
    fields.push('}');
    vec![
        object("[", ""),
        object("{\"a\":", ""),
        repeated("", "{\"type\":\"status_update\",\"blockers\":[0", ",0", "]}", size),
        repeated("", "{\"type\":\"status_update\",\"blockers\":[\"\"", ",{}", "]}", size),
        repeated("", "{\"type\":\"", "\\u0000", "\"}", size),
        repeated("", "{\"type\":\"", "\\\\", "\"}", size),
        repeated("", "{\"type\":\"", "é", "", size),
        repeated("", "{\"blockers\":1", "0", "}", size),
        repeated("", "{\"type\":\"status_update\"", ",\"type\":\"status_update\"", "}", size),
        repeated("", "{", "{", "", size),
        Text { name: "a new field every few bytes".to_owned(), subject: "", body: fields },
    ]
}

/// What slows the rules for secrets down. None of it is one, for looking ends after the first few.
pub fn hostile_secrets(size: usize) -> Vec<Text> {
    const UNITS: [&str; 22] = [
        "password=",
        "pwd:",
        "pwd= pwd: ",
        "pwd='pwd=\"",
        "pwd=\\\"pwd=`",
        "pwd: a = ",
        "pwd=password1 ",
        "pwd=a1b2xxxx ",
        "a://b:c@",
        "a:b@",
        "k3y0",
        "AKIA ",
        "sk-ant-a1",
        "eyJ.",
        "-----BEGIN PRIVATE KEY-----\n",
        "Private-Lines: 999\n",
        "Authorization: Bearer ",
        "Authorization: Basic ",
        "hvs.",
        "hvs.a",
        "curl -u a:b ",
        "A_TOKEN=a1b2c3 ",
    ];
    UNITS.iter().map(|unit| repeated("", "", unit, "", size)).collect()
}

/// All of these, as they would come in a message that is checked for everything.
pub fn hostile_of_all(size: usize) -> Vec<Text> {
    let mut texts = hostile_markdown(size);
    let others = hostile_json(size).into_iter().chain(hostile_secrets(size));
    texts.extend(others.map(|text| Text { subject: "PROGRESS", ..text }));
    texts
}

/// `unit` again and again between `start` and `end`, in about `size` bytes.
fn repeated(subject: &'static str, start: &str, unit: &str, end: &str, size: usize) -> Text {
    let times = (size - start.len() - end.len()) / unit.len();
    let kind = if subject.is_empty() { String::new() } else { format!(" in {subject}") };
    Text { name: format!("{unit:?}{kind}"), subject, body: [start, &unit.repeat(times), end].concat() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_has_about_the_length_that_was_asked_for() {
        for size in [1 << 10, 1 << 16] {
            let texts = hostile_of_all(size).into_iter().chain([typical_markdown(size), typical_json(size)]);
            for text in texts {
                assert!(
                    (size * 9 / 10..=size * 11 / 10).contains(&text.body.len()),
                    "{}: {}",
                    text.name,
                    text.body.len()
                );
            }
        }
    }

    #[test]
    fn no_hostile_text_ends_the_search_for_secrets_early() {
        for text in hostile_secrets(1 << 16) {
            assert!(formats::secrets::find(&text.body).len() < 2, "{}", text.name);
        }
    }
}
