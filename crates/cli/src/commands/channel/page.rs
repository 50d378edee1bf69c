//! How messages of a channel look: when, who to whom, and what was said, wrapped and indented.
//!
//! Everything in a message was written by somebody else; nothing of it reaches the terminal as it is.

use anstyle::{AnsiColor, Style};
use api::answers::PostAnswer;
use mail::agents::signed;
use mail::messages::Vouched;
use serde_json::Value;

use crate::output::{Screen, text};

/// How far the text stands in.
const INDENT: &str = "    ";
/// How wide a text is at most on a wide screen: longer lines are hard to read.
const WIDEST: usize = 100;

/// A page that may go on: it knows what stands above.
#[derive(Debug, Default)]
pub struct Page {
    reader: Option<String>,
    /// The day of what was shown last.
    day: Option<String>,
    /// The names of what was shown, so that an answer can tell its number.
    shown: Vec<(String, i64)>,
}

impl Page {
    /// How many names are remembered.
    const MOST_NAMES: usize = 1_000;

    /// An empty page, for this reader.
    pub fn new(reader: Option<String>) -> Self {
        Self { reader, ..Self::default() }
    }

    /// The text of the next messages, with a line between them; the day where it is another than above.
    pub fn text(&mut self, posts: &[PostAnswer], screen: &Screen) -> String {
        let mut lines = Vec::new();
        for post in posts {
            if self.day.is_some() {
                lines.push(String::new());
            }
            let day = post.sent_ts.0.strftime("%Y-%m-%d").to_string();
            if self.day.as_ref() != Some(&day) {
                lines.push(screen.paint(&day, Style::new().bold()));
                self.day = Some(day);
            }
            lines.push(self.head(post, screen));
            lines.extend(self.body(post, screen));
            if self.shown.len() >= Self::MOST_NAMES {
                self.shown.clear();
            }
            self.shown.push((post.external_id.clone(), post.id));
        }
        lines.join("\n")
    }

    fn head(&self, post: &PostAnswer, screen: &Screen) -> String {
        let name = |name: &str| screen.paint(&text::unbroken(name), self.style_of(name));
        let to = post.to.iter().map(|to| name(to)).collect::<Vec<_>>().join(", ");
        let words = [&post.kind, &post.mode].into_iter().filter(|word| *word != "chat");
        let mut notes: Vec<String> = words.map(|word| text::unbroken(word)).collect();
        if let Some(answered) = &post.in_reply_to {
            let number = self.shown.iter().rev().find(|(name, _)| name == answered).map(|(_, id)| id.to_string());
            notes.push(format!("answers {}", text::unbroken(&number.unwrap_or_else(|| answered.clone()))));
        }
        let notes = if notes.is_empty() { String::new() } else { format!("  ({})", notes.join(", ")) };
        let time = screen.paint(&post.sent_ts.0.strftime("%H:%M:%SZ").to_string(), Style::new().dimmed());
        let is_human = post.vouched.as_deref() == Some(Vouched::Human.as_str());
        let mark = if is_human { signed("", true) } else { String::new() };
        format!("{}  {time}  {}{mark} → {to}{notes}", post.id, name(&post.from))
    }

    fn body(&self, post: &PostAnswer, screen: &Screen) -> Vec<String> {
        let width = match screen.width {
            Screen::ENDLESS => Screen::ENDLESS,
            width => width.min(WIDEST) - INDENT.len(),
        };
        let said = text::wrapped(&post.text, width).into_iter().map(|line| self.painted(&line, screen));
        let code = post.code.as_deref().map(text::lines).unwrap_or_default();
        let code = code.lines().map(|line| format!("| {line}"));
        let name = |artifact: &Value| artifact.as_str().map_or_else(|| text::json_line(artifact), text::unbroken);
        let artifacts = post.artifacts.iter().map(|artifact| format!("- {}", name(artifact)));
        said.chain(code).chain(artifacts).map(|line| format!("{INDENT}{line}").trim_end().to_owned()).collect()
    }

    /// A line of text with the names that it mentions standing out.
    fn painted(&self, line: &str, screen: &Screen) -> String {
        let mut told = String::new();
        let mut rest = line;
        while let Some(at) = rest.find('@') {
            let (before, call) = rest.split_at(at);
            let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
            let end = call[1..].find(|letter| !is_of_name(letter)).map_or(call.len(), |end| end + 1);
            let is_call = end > 1 && !before.ends_with(is_of_name);
            let style = if is_call { self.style_of(&call[1..end]) } else { Style::new() };
            told.push_str(before);
            told.push_str(&screen.paint(&call[..end], style));
            rest = &call[end..];
        }
        told + rest
    }

    /// One's own name stands out most.
    fn style_of(&self, name: &str) -> Style {
        let colour = if self.reader.as_deref() == Some(name) { AnsiColor::Yellow } else { AnsiColor::Cyan };
        Style::new().bold().fg_color(Some(colour.into()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const PIPE: Screen = Screen { width: Screen::ENDLESS, height: None, is_coloured: false };
    const EVIL: &str = "\x1b[2J\u{9b}1m\u{202e}\r";

    fn post(id: i64, more: Value) -> PostAnswer {
        let mut post = json!({
            "id": id, "external_id": format!("msg-{id}"), "from": "claude", "to": ["all"], "type": "chat", "text": "Hello",
            "code": null, "artifacts": [], "mode": "chat", "in_reply_to": null, "sent_ts": "2026-01-11T16:33:15.123Z",
            "hops": 0, "thread_id": "t", "subject": "Hello", "created_ts": "2026-01-11T16:33:15.123Z", "door": "terminal",
        });
        post.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(post).unwrap()
    }

    #[test]
    fn a_page_tells_when_who_said_what_to_whom_and_what_it_answers() {
        let posts = [
            post(17, json!({ "to": ["codex", "gemini"], "text": "Look:\n\n  indented", "code": "a\n\tb" })),
            post(
                18,
                json!({ "type": "task_result", "mode": "watcher", "in_reply_to": "msg-17", "artifacts": ["x.rs"],
                        "sent_ts": "2026-01-12T00:00:00Z" }),
            ),
            post(19, json!({ "in_reply_to": "msg-of-old", "sent_ts": "2026-01-12T00:00:01Z" })),
        ];
        let mut page = Page::new(None);
        let told = "2026-01-11\n17  16:33:15Z  claude → codex, gemini\n    Look:\n\n      indented\n    | a\n    | \tb\n\n\
                    2026-01-12\n18  00:00:00Z  claude → all  (task_result, watcher, answers 17)\n    Hello\n    - x.rs";
        assert_eq!(page.text(&posts[..2], &PIPE), told);
        let next = "\n19  00:00:01Z  claude → all  (answers msg-of-old)\n    Hello";
        assert_eq!(page.text(&posts[2..], &PIPE), next, "what follows goes on below");
    }

    #[test]
    fn what_a_person_said_is_shown_so() {
        let told = Page::new(None).text(&[post(17, json!({ "from": "Anna", "vouched": "human" }))], &PIPE);
        assert!(told.contains("\n17  16:33:15Z  Anna (human) → all\n"), "{told}");
    }

    #[test]
    fn on_a_screen_text_is_wrapped_and_stays_within_it() {
        let long = "word ".repeat(60) + &"x".repeat(200) + " 漢字漢字";
        for width in [40, 57, 300] {
            let screen = Screen { width, ..PIPE };
            let told = Page::new(None).text(&[post(1, json!({ "text": long }))], &screen);
            let body: Vec<&str> = told.lines().skip(2).collect();
            assert!(body.iter().all(|line| text::width(line) <= width.min(WIDEST)), "{told}");
            assert!(body.iter().all(|line| line.starts_with(INDENT)), "{told}");
            let joined: String = body.concat().split_whitespace().collect();
            assert_eq!(joined, long.split_whitespace().collect::<String>(), "nothing is lost");
        }
    }

    #[test]
    fn ones_own_name_stands_out_from_other_names() {
        let screen = Screen { width: 80, height: Some(24), is_coloured: true };
        let words = post(1, json!({ "to": ["codex"], "text": "@codex and @gemini, not a@codex" }));
        let told = Page::new(Some("codex".to_owned())).text(&[words], &screen);
        let (own, other) = (Style::new().bold().fg_color(Some(AnsiColor::Yellow.into())), "\x1b[1m\x1b[36m");
        assert_eq!(told.matches(&format!("{own}@codex")).count(), 1, "{told:?}");
        assert!(told.contains(&format!("→ {own}codex")) && told.contains(&format!("{other}@gemini")), "{told:?}");
        assert!(told.contains("not a@codex"), "{told:?}");
    }

    #[test]
    fn no_part_of_a_message_can_steer_the_terminal() {
        let evil = post(
            1,
            json!({ "from": EVIL, "to": [EVIL], "type": EVIL, "text": format!("@{EVIL}\n{EVIL}"), "code": EVIL,
                    "artifacts": [EVIL, { "a": EVIL }], "mode": EVIL, "in_reply_to": EVIL, "external_id": EVIL }),
        );
        for width in [40, Screen::ENDLESS] {
            let told = Page::new(None).text(std::slice::from_ref(&evil), &Screen { width, ..PIPE });
            let steers = |letter: char| letter.is_control() && letter != '\n' || letter == '\u{202e}';
            assert!(!told.chars().any(steers), "{told:?}");
        }
    }
}
