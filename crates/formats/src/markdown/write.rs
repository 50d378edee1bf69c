//! Writing a coordination message, as the protocol shows it.
//!
//! What is written is read back as the same message, provided that its values are in their normal form; others are
//! brought into it. Nothing is checked: a message that lacks a field is written without it.

use super::body::fenced;
use super::labels::{ACCEPTED_BEAD, BEAD};
use super::normal::{block, line, plain};
use super::outline::Outline;
use super::subject::Subject;
use super::table::{Form, Place, Rule, rules, wanted};
use super::{Kind, Message};

/// A message as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The subject, with the bead in brackets.
    pub subject: String,
    /// The body, in Markdown.
    pub body: String,
}

impl Message {
    /// Writes the message down.
    pub fn write(&self) -> Written {
        let subject = self.subject();
        let head = Subject::read(&subject);
        let mut page = Page::default();
        let bead = self.bead_id();
        match self.kind() {
            Some(Kind::BeadAccepted) => page.label(ACCEPTED_BEAD, bead),
            Some(Kind::HelpResponse) => page.help_response(bead, self.text("guidance"), &head),
            // A bead in the body is read as the issue too, unless there is another.
            Some(Kind::SpawnRequest | Kind::SpawnAck)
                if head.id.is_some() && line(self.text("issue_id")).is_empty() => {}
            _ => page.label(BEAD, bead),
        }
        page.label("Issue", self.text("issue_id"));
        page.fields(self);
        Written { body: page.text, subject }
    }

    fn subject(&self) -> String {
        let Some(kind) = self.kind() else { return String::new() };
        let id = line(self.bead_id());
        let decorated = format!("[{id}] {kind}");
        let read = Subject::read(&decorated);
        // An id with a bracket in it, or one that is itself the name of a kind, would be misread.
        let is_faithful = read.kind == Some(kind) && read.id == Some(&id);
        if is_faithful { decorated } else { kind.to_string() }
    }
}

/// The body of a message in the making.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    /// Writes what the kind of the message has beyond its work.
    fn fields(&mut self, message: &Message) {
        let rules = message.kind().map(rules).unwrap_or_default();
        for group in rules.chunk_by(|(_, one, ..), (_, next, ..)| one.section() == next.section()) {
            let section = group[0].1.section();
            let mut within = Page::default();
            for rule in group {
                match rule.1 {
                    Place::Label(label) => self.field("", label, rule, message),
                    // The protocol shows this section without bullets.
                    Place::Within("Failure", label) => within.field("", label, rule, message),
                    Place::Within(_, label) => within.field("- ", label, rule, message),
                    Place::Section(_) => within.text = block(message.text(rule.0)),
                }
                if let Form::Bullets = rule.2 {
                    let items: Vec<_> = lines(message.list(rule.0)).map(|item| format!("- {item}")).collect();
                    within.text = items.join("\n");
                }
            }
            self.section(section, &within.text);
        }
    }

    fn field(&mut self, decoration: &str, label: &str, (name, _, form, wanted): &Rule, message: &Message) {
        let number = message.number(name).map(|number| number.to_string()).unwrap_or_default();
        match form {
            Form::List => self.list(decoration, label, message.list(name)),
            Form::Fixed(word) => self.decorated(decoration, label, word),
            Form::Number => self.decorated(decoration, label, &number),
            Form::Percent if number.is_empty() => {}
            Form::Percent => self.decorated(decoration, label, &format!("{number}%")),
            Form::Verdict => {
                let (yes, no) = wanted.split_once(" | ").unwrap_or_default();
                // To resume is not asked for unless it is said, and is said either way.
                let verdict = message.flag(name).or((*name == "resume").then_some(false));
                self.decorated(decoration, label, verdict.map_or("", |verdict| if verdict { yes } else { no }));
            }
            _ => self.decorated(decoration, label, message.text(name)),
        }
    }

    fn help_response(&mut self, bead: &str, guidance: &str, head: &Subject<'_>) {
        let guidance = plain(guidance);
        let within = Outline::read(&guidance, wanted(Kind::HelpResponse));
        let is_named_within = within.value(BEAD).or_else(|| within.value(ACCEPTED_BEAD)).is_some();
        let is_fenced = fenced(&guidance).is_some();
        // The protocol shows the text alone, which will do as long as the subject names the bead and is believed, and
        // the text is not taken for its wrapping.
        if is_named_within || is_fenced || head.id.is_none() {
            self.label(BEAD, bead);
        }
        if guidance.is_empty() {
            return;
        }
        let is_all = self.text.is_empty();
        self.gap();
        match is_all {
            true if is_fenced => self.text.push_str(&in_another_fence(&guidance)),
            // At the start of a body it would be taken for a mark of the editor.
            true if guidance.starts_with('\u{feff}') => self.text.extend(["\n", &guidance]),
            _ => self.text.push_str(&guidance),
        }
    }

    fn label(&mut self, name: &str, value: &str) {
        self.decorated("", name, value);
    }

    fn decorated(&mut self, decoration: &str, name: &str, value: &str) {
        let value = line(value);
        if !value.is_empty() {
            self.line(&format!("{decoration}{name}: {value}"));
        }
    }

    fn list(&mut self, decoration: &str, name: &str, items: &[String]) {
        let items: Vec<_> = lines(items).collect();
        // A comma splits what stands in one line.
        if items.iter().any(|item| item.contains(',')) {
            self.line(&format!("{decoration}{name}:"));
            items.iter().for_each(|item| self.line(&format!("  - {item}")));
        } else {
            self.decorated(decoration, name, &items.join(", "));
        }
    }

    fn section(&mut self, name: &str, text: &str) {
        if !text.is_empty() {
            self.gap();
            self.line(&format!("## {name}"));
            self.line(text);
        }
    }

    /// A blank line, unless nothing stands before it.
    fn gap(&mut self) {
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
    }

    fn line(&mut self, line: &str) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(line);
    }
}

/// Puts a text that is all in a fence into one that no line of it closes.
fn in_another_fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{text}\n{fence}")
}

fn lines(items: &[String]) -> impl Iterator<Item = String> {
    items.iter().map(|item| line(item)).filter(|item| !item.is_empty())
}
