//! From what was given on the command line to a message, with everything that is wrong with it.
//!
//! A message is judged by the reader: it is written, read back, and must say what was meant. Printing and sending are
//! not done here.

use std::path::Path;

use anyhow::bail;
use formats::Problem;
use formats::markdown::Field::{Flag, List, Number, Text};
use formats::markdown::{self, Field, Message, Written, block, files, line};

use super::kinds::{self, FlagValue, Given};
use crate::commands::given::text_of;
use crate::output::text;

/// How much of a value is shown beside what would be read for it.
const SHOWN: usize = 80;

/// A message as it was given, and what is wrong with it.
pub struct TypedDraft {
    /// What it says.
    pub message: Message,
    /// Its text.
    pub written: Written,
    /// What is missing or wrong.
    pub problems: Vec<Problem>,
    /// What would be read otherwise than it was meant.
    pub misread: Vec<Problem>,
}

impl TypedDraft {
    /// Makes the message that was given; a worker that does not say when it began, begins `now`.
    pub fn new(given: Given, now: &str) -> anyhow::Result<Self> {
        let mut builder = DraftBuilder { problems: Vec::new(), stdin_is_for: None };
        let mut message = builder.message(given, now)?;
        let written = write(&mut message);
        let mut problems = builder.problems;
        let read = markdown::read(&written.subject, &written.body);
        for problem in read.problems {
            // A value that could not be taken is missing in the text as well.
            if problems.iter().all(|known| known.path != problem.path) {
                problems.push(problem);
            }
        }
        let mut misread = misread(&message, &read.value);
        misread.retain(|problem| problems.iter().all(|known| known.path != problem.path));
        Ok(Self { message, written, problems, misread })
    }

    /// Whether it can be sent as it is.
    pub fn is_sound(&self) -> bool {
        self.all_problems().next().is_none()
    }

    /// All that is wrong with it.
    pub fn all_problems(&self) -> impl Iterator<Item = &Problem> {
        self.problems.iter().chain(&self.misread)
    }
}

/// Writes the message. The subject names the work in brackets, also where the body calls it an issue: it is the bead then.
fn write(message: &mut Message) -> Written {
    let (kind, plain) = (message.kind(), message.write());
    let issue_id = message.text("issue_id").to_owned();
    let named = format!("[{issue_id}] {}", plain.subject);
    let read = markdown::read(&named, "").value;
    // An id with a bracket in it, or one that is itself the name of a kind, would be misread.
    if issue_id.is_empty() || read.kind() != kind || read.bead_id() != issue_id {
        return plain;
    }
    *message = message.clone().with("bead_id", Text(issue_id));
    Written { subject: named, ..plain }
}

/// What would be read otherwise than it was meant, as when a label stands within the text of another field.
pub(super) fn misread(message: &Message, read: &Message) -> Vec<Problem> {
    let (meant, found) = (message.fields(), read.fields());
    let lost = meant.iter().filter(|(name, field)| value_of(&found, name) != Some(*field));
    let added = found.iter().filter(|(name, _)| value_of(&meant, name).is_none());
    let names = lost.chain(added).map(|(name, _)| *name);
    let told = names.map(|name| {
        let wanted = value_of(&meant, name).map_or_else(
            || "a value of its own, for this stands in the text of another field".to_owned(),
            |field| format!("'{}', as it was given", text::line(&said(field), SHOWN)),
        );
        Problem::wrong(name, &value_of(&found, name).map(said).unwrap_or_default(), wanted)
    });
    told.collect()
}

fn value_of<'a>(fields: &[(&'static str, &'a Field)], name: &str) -> Option<&'a Field> {
    fields.iter().find(|(known, _)| *known == name).map(|(_, field)| *field)
}

fn said(field: &Field) -> String {
    match field {
        Field::Text(text) => text.clone(),
        Field::Number(number) => number.to_string(),
        Field::Flag(flag) => flag.to_string(),
        Field::List(list) => list.join(", "),
    }
}

/// Takes what was given, and notes what cannot be taken.
struct DraftBuilder {
    problems: Vec<Problem>,
    /// The flag whose text is standard input.
    stdin_is_for: Option<&'static str>,
}

impl DraftBuilder {
    fn message(&mut self, given: Given, now: &str) -> anyhow::Result<Message> {
        let mut message = Message::new(Some(given.kind));
        for (flag, values) in given.values {
            message = message.with(flag.1, self.field(flag, values, now)?);
        }
        let done = message.is_success().then(|| Text("DONE".to_owned()));
        Ok(message.with("status", done))
    }

    fn field(&mut self, flag: &kinds::Flag, given: Vec<String>, now: &str) -> anyhow::Result<Option<Field>> {
        let (flag, name, shape, _) = *flag;
        let text = given.first().map(String::as_str);
        let word = text.unwrap_or_default();
        Ok(match shape {
            FlagValue::Line(_) => Some(Text(line(word))),
            FlagValue::Time => Some(Text(line(text.unwrap_or(now)))),
            FlagValue::Word => Some(Text(word.trim().to_ascii_uppercase())),
            FlagValue::Status => Some(spawn_status(word.trim())),
            FlagValue::Files => Some(List(files(given))),
            FlagValue::Verdict => self.verdict(name, word, "pass or fail"),
            FlagValue::Resume => self.verdict(name, word, "true or false").filter(|field| *field == Flag(true)),
            FlagValue::Percent => self.percent(name, word),
            FlagValue::Count => self.number(name, word, "a whole number").map(Number),
            FlagValue::LongLine => Some(Text(line(&self.long(flag, word)?))),
            FlagValue::Block => Some(Text(block(&self.long(flag, word)?))),
            FlagValue::Whole => Some(Text(self.long(flag, word)?)),
        })
    }

    /// A text that may be long: `-` is standard input, `@file` a file, and `@@` begins a text with one `@`.
    fn long(&mut self, flag: &'static str, text: &str) -> anyhow::Result<String> {
        if text == "-" {
            if let Some(other) = self.stdin_is_for.replace(flag) {
                bail!("standard input cannot be both --{other} and --{flag}; put one text in a file and pass @FILE");
            }
            return text_of(None);
        }
        match text.strip_prefix('@') {
            None => Ok(text.to_owned()),
            Some(literal) if literal.starts_with('@') => Ok(literal.to_owned()),
            Some(path) => text_of(Some(Path::new(path))),
        }
    }

    fn percent(&mut self, path: &'static str, text: &str) -> Option<Field> {
        let wanted = "0 to 100";
        let number = self.number(path, text.trim().trim_end_matches('%'), wanted)?;
        self.taken(path, &number.to_string(), Some(Number(number)).filter(|_| number <= 100), wanted)
    }

    fn number(&mut self, path: &'static str, text: &str, wanted: &str) -> Option<u64> {
        let text = filled(text)?;
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
        self.taken(path, text, text.parse::<u32>().ok().filter(|_| is_plain).map(u64::from), wanted)
    }

    fn verdict(&mut self, path: &'static str, text: &str, wanted: &str) -> Option<Field> {
        let text = filled(text)?;
        self.taken(path, text, read_verdict(text).map(Flag), wanted)
    }

    fn taken<T>(&mut self, path: &'static str, text: &str, value: Option<T>, wanted: &str) -> Option<T> {
        if value.is_none() {
            self.problems.push(Problem::wrong(path, text, wanted));
        }
        value
    }
}

/// A yes or a no, in whichever word the reader takes for one.
fn read_verdict(text: &str) -> Option<bool> {
    markdown::read("DONE", &format!("## Self-Validation\n- Tests: {}", line(text))).value.flag("tests_pass")
}

/// The word in any case, for the reader takes it as it is written.
fn spawn_status(text: &str) -> Field {
    let word = text.to_ascii_lowercase();
    Text(if matches!(word.as_str(), "spawned" | "failed") { word } else { text.to_owned() })
}

fn filled(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}
