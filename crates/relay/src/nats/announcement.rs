//! What stands in for a message that is too large for the NATS server: who wrote it, how it begins, and where it is.

use formats::channel::ChannelMessage;
use formats::cut;
use mail::announcements::Announcement;
use serde_json::{Map, Value, json};

/// How many of those whom a post calls are called by its announcement.
const MOST_CALLED: usize = 32;
/// How much of a long subject is told, in characters.
const LONGEST_SUBJECT: usize = 200;

/// A message without its body, in at most so many bytes if that can be.
pub(super) fn of_message(mut event: Value, office: &str, resource: &str, budget: usize) -> String {
    event["reference"] = json!(resource);
    event["reference_office"] = json!(office);
    event["message"]["body_md"] = Value::Null;
    let subject = event["message"]["subject"].as_str().unwrap_or_default();
    event["message"]["subject"] = json!(cut(subject.chars(), LONGEST_SUBJECT));
    let text = event.to_string();
    if text.len() <= budget {
        return text;
    }
    event["message"]["to"] = Value::Null;
    event["message"]["cc"] = Value::Null;
    event.to_string()
}

/// A document with as much of the post's text as fits, in at most so many bytes if that can be. Its last line says where
/// the whole is, and calls whom the post called: their names may stand behind the cut.
pub(super) fn of_post(mut said: ChannelMessage, whole: &Announcement, called: &[String], budget: usize) -> String {
    said.id = whole.name();
    let text = std::mem::take(&mut said.text);
    said.code = None;
    said.artifacts.clear();
    said.extra.clear();
    let Announcement { office, id, resource, .. } = whole;
    let calls: String = called.iter().take(MOST_CALLED).map(|name| format!(" @{name}")).collect();
    let last_line =
        format!("\n[This is the beginning. The whole is {id} at the post office {office}: {resource}]{calls}");
    said.text.clone_from(&last_line);
    whole.put_on(&mut said);
    if said.to_json().len() > budget {
        // Its author filled it with other things.
        said.metadata = Map::new();
        whole.put_on(&mut said);
    }
    let left = budget.saturating_sub(said.to_json().len());
    said.text = format!("{}{last_line}", beginning(&text, left));
    whole.put_on(&mut said);
    said.to_json()
}

/// As much of a text as fits into so many bytes once it is written as JSON.
fn beginning(text: &str, budget: usize) -> &str {
    let mut left = budget;
    for (index, letter) in text.char_indices() {
        let length = match letter {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            '\u{0}'..='\u{1f}' => 6,
            _ => letter.len_utf8(),
        };
        if length > left {
            return &text[..index];
        }
        left -= length;
    }
    text
}

#[cfg(test)]
mod tests {
    use formats::channel::read_value;

    use super::*;

    const OFFICE: &str = "0123456789abcdef";
    const RESOURCE: &str = "resource://message/17?project=%2Fdata%2Fapp";

    fn whole() -> Announcement {
        Announcement {
            office: OFFICE.to_owned(),
            id: "msg-20260111-163315-claude-4c78".to_owned(),
            key: format!("{OFFICE}:17:fedcba9876543210"),
            resource: RESOURCE.to_owned(),
        }
    }

    fn document(text: &str) -> ChannelMessage {
        let document = json!({
            "id": "msg-20260111-163315-claude-4c78", "timestamp": "2026-01-11T16:33:15.123Z", "session_id": "dev",
            "from": "claude", "to": "codex", "type": "chat", "content": { "text": text, "code": "x".repeat(5_000) },
            "metadata": { "mode": "chat", "in_reply_to": "msg-20260111-163300-codex-a1b2" },
        });
        read_value(&document.to_string()).unwrap()
    }

    #[test]
    fn a_post_is_cut_to_what_fits_and_says_where_the_rest_is() {
        let called = ["codex".to_owned()];
        for text in ["plain ".repeat(1_000), "\"\\\n\u{1}".repeat(1_000), "Grüße 漢字 ".repeat(500)] {
            let announced = of_post(document(&text), &whole(), &called, 2_000);
            assert!((1_900..=2_000).contains(&announced.len()), "{}", announced.len());
            let read = read_value(&announced).unwrap();
            let (beginning, last_line) = read.text.rsplit_once('\n').unwrap();
            assert!(text.starts_with(beginning));
            assert!([OFFICE, RESOURCE, &whole().id].iter().all(|word| last_line.contains(word)), "{last_line}");
            assert!(formats::mention::mentions("codex", last_line), "{last_line}");
            assert_eq!(Announcement::of(&read), Some(whole()));
            assert_eq!(read.id, whole().name());
            assert_eq!(read.metadata_text("in_reply_to"), Some("msg-20260111-163300-codex-a1b2"));
        }
    }

    #[test]
    fn a_post_whose_metadata_fill_it_is_announced_without_them() {
        let mut said = document("short");
        said.set_metadata_text("notes", Some(&"n".repeat(5_000)));
        let announced = of_post(said, &whole(), &[], 2_000);
        assert!(announced.len() <= 2_000);
        assert!(read_value(&announced).unwrap().text.starts_with("short\n"));
    }

    #[test]
    fn a_message_is_announced_without_its_body() {
        let names: Vec<String> = (0..1_000).map(|number| format!("agent{number}")).collect();
        let event =
            |to: Value| json!({ "message": { "subject": "s".repeat(9_000), "body_md": "b".repeat(9_000), "to": to } });
        let few: Value = serde_json::from_str(&of_message(event(json!(["ann"])), OFFICE, RESOURCE, 2_000)).unwrap();
        assert_eq!((&few["message"]["body_md"], &few["reference"]), (&Value::Null, &json!(RESOURCE)));
        assert_eq!(few["message"]["to"], json!(["ann"]));
        let many = of_message(event(json!(names)), OFFICE, RESOURCE, 2_000);
        assert!(many.len() <= 2_000, "{}", many.len());
    }
}
