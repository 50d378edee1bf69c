//! `postrider parse`: what a coordination message says, field by field.
//!
//! One message for a person, or one a line for a program. Reading is lenient: what is wrong is told beside what could be
//! read, and refused only with `--strict`. Messages whose body is JSON are for `postrider validate`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use formats::markdown::{self, Field, Message, read_timestamp};
use formats::{Parsed, Problem, json};
use serde_json::{Map, Value, json};

use super::given::text_of;
use super::lines::{InputLine, answer_file};
use super::members;
use super::problems::{malformed, told};
use crate::output;
use crate::output::text::{lines, unbroken};

const EXAMPLES: &str = "\
With --jsonl each line is a JSON object with 'subject' and 'body' (or 'body_md'), and perhaps 'timestamp', 'ack_required'
and 'acked'. Each gets one line of JSON, in order; a line that cannot be read gets an 'error', and the exit code is 0.

Examples:
  postrider parse --subject '[bd-42] DONE' < body.md
  postrider parse --jsonl --strict < messages.jsonl";

/// As clap writes it, what the environment sets looks required too.
const USAGE: &str = "\
postrider parse [OPTIONS] --subject <TEXT>
       postrider parse [OPTIONS] --jsonl";

/// Read a coordination message and say what is in it.
#[derive(Args, Debug)]
#[command(override_usage = USAGE, after_help = EXAMPLES)]
pub struct Parse {
    /// The subject, which tells the type
    #[arg(long, value_name = "TEXT", required_unless_present = "jsonl", conflicts_with = "jsonl")]
    subject: Option<String>,
    /// The file with the body; `-` or nothing for standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Read one message a line, and print one line of JSON for each
    #[arg(long)]
    jsonl: bool,
    /// Refuse a message that lacks a field of its type or has a wrong one; exit code 1
    #[arg(long)]
    strict: bool,
}

/// What to do about a message that strict reading refuses.
const HINT: &str = "Correct the problems and send the message again, or read it without --strict.";

impl Parse {
    /// Prints what was read.
    pub fn run(self, as_json: bool) -> anyhow::Result<ExitCode> {
        if self.jsonl {
            return answer_file(self.file.as_deref(), |line| answer(line, self.strict));
        }
        let body = text_of(self.file.as_deref())?;
        let reading = ParsedMessage::new(self.subject.as_deref().unwrap_or_default(), &body);
        let is_refused = self.strict && !reading.parsed.problems.is_empty();
        output::answer(as_json, &reading.to_value(self.strict), || reading.to_text() + &advice(&body));
        Ok(if is_refused { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// Where a person should turn whose message is not for this command.
fn advice(body: &str) -> String {
    let message = json::find_in(body).and_then(|text| json::read(text).value);
    match message.and_then(|message| message.kind()) {
        Some(kind) => {
            format!("\n\nThe body is a JSON message of type '{}'; 'postrider validate' checks it.", kind.as_str())
        }
        None => String::new(),
    }
}

fn answer(line: InputLine<'_>, strict: bool) -> Value {
    read_line(line).map_or_else(|refusal| refusal, |reading| reading.to_value(strict))
}

fn read_line(line: InputLine<'_>) -> Result<ParsedMessage, Value> {
    let not_readable = |problem: Problem| invalid_input(&problem.to_string());
    let parcel = line.text().and_then(Parcel::read).map_err(not_readable)?;
    let parcel = parcel.ok_or_else(|| invalid_input("nil message"))?;
    ParsedMessage::of(&parcel).map_err(not_readable)
}

fn invalid_input(what: &str) -> Value {
    let hint = "Write one JSON object a line, with the texts 'subject' and 'body'.";
    json!({ "error": { "code": "INVALID_INPUT", "message": format!("parse error: {what}"), "hint": hint } })
}

/// A message that was read, with what became of it.
struct ParsedMessage {
    parsed: Parsed<Message>,
    /// When it was sent, if that was said; `None` within if it is no time.
    timestamp: Option<Option<String>>,
    is_pending: bool,
}

impl ParsedMessage {
    fn new(subject: &str, body: &str) -> Self {
        Self { parsed: markdown::read(subject, body), timestamp: None, is_pending: false }
    }

    /// Reads a message with its circumstances.
    fn of(members: &Parcel<'_>) -> Result<Self, Problem> {
        let mut reading = Self::new(&members.text("subject")?, &members.text("body")?);
        reading.is_pending = members.flag("ack_required")? && !members.flag("acked")?;
        if let Some(written) = members.written("timestamp") {
            let time = text(written);
            let readable = time.as_deref().and_then(read_timestamp);
            if readable.is_none() {
                let found = time.as_deref().unwrap_or(written);
                let problem = Problem::wrong("timestamp", found, "a time of RFC 3339 with its zone");
                reading.parsed.problems.push(problem);
            }
            reading.timestamp = Some(readable.map(str::to_owned));
        }
        Ok(reading)
    }

    fn to_value(&self, strict: bool) -> Value {
        let (message, problems) = (&self.parsed.value, &self.parsed.problems);
        if strict && !problems.is_empty() {
            return malformed(message.type_name(), problems, HINT);
        }
        let fields: Map<String, Value> =
            message.fields().into_iter().map(|(name, field)| (name.to_owned(), field_value(field))).collect();
        let mut value = json!({
            "type": message.type_name(),
            "parsed": fields,
            "is_completion": message.is_completion(),
            "is_success": message.is_success(),
            "is_pending": self.is_pending,
            "problems": told(problems),
        });
        if let Some(timestamp) = &self.timestamp {
            value["timestamp"] = json!(timestamp);
        }
        value
    }

    fn to_text(&self) -> String {
        let (message, problems) = (&self.parsed.value, &self.parsed.problems);
        let ends = match (message.is_completion(), message.is_success()) {
            (_, true) => "yes, the work is complete",
            (true, false) => "yes, the work is not complete",
            (false, false) => "no",
        };
        let mut rows = vec![vec!["type".to_owned(), message.type_name().to_owned()]];
        rows.extend(message.fields().into_iter().map(|(name, field)| vec![name.to_owned(), field_text(field)]));
        rows.push(vec!["completion".to_owned(), ends.to_owned()]);
        let mut text = output::table(&["field", "value"], rows);
        if !problems.is_empty() {
            let rows = problems.iter().map(|problem| {
                let found = problem.found.as_deref().map_or_else(|| "(nothing)".to_owned(), unbroken);
                vec![problem.path.clone(), found, problem.wanted.clone()]
            });
            text.push_str(&format!("\n\n{}", output::table(&["problem with", "found", "wanted"], rows)));
        }
        text
    }
}

fn field_value(field: &Field) -> Value {
    match field {
        Field::Text(text) => text.as_str().into(),
        Field::Number(number) => (*number).into(),
        Field::Flag(flag) => (*flag).into(),
        Field::List(list) => list.as_slice().into(),
    }
}

fn field_text(field: &Field) -> String {
    match field {
        Field::Text(text) => lines(text),
        Field::Number(number) => number.to_string(),
        Field::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
        Field::List(list) => lines(&list.join("\n")),
    }
}

const NAMES: [&str; 5] = ["subject", "body", "timestamp", "ack_required", "acked"];
/// What the body is called in mail that was fetched.
const BODY_OF_MAIL: &str = "body_md";

/// The members of a line that mean something.
struct Parcel<'t>(members::RawMembers<'t>);

impl<'t> Parcel<'t> {
    /// Reads a line, or says what stands there instead; none if it says in so many words that there is nothing.
    fn read(line: &'t str) -> Result<Option<Self>, Problem> {
        if line.trim_ascii() == "null" {
            return Ok(None);
        }
        let known = |name: &str| {
            let name = if name == BODY_OF_MAIL { "body" } else { name };
            NAMES.into_iter().find(|known| *known == name)
        };
        members::read(line, known).map(|members| Some(Self(members))).map_err(|error| {
            // That it is JSON but no object needs no further words.
            let wanted = if error.is_data() { "a JSON object".to_owned() } else { format!("a JSON object ({error})") };
            Problem::wrong("", line.trim(), wanted)
        })
    }

    /// A member as it is written; `None` if it is not there or `null`.
    fn written(&self, name: &str) -> Option<&'t str> {
        self.0.get(name).map(|value| value.get()).filter(|written| *written != "null")
    }

    /// A text; empty if it is not there.
    fn text(&self, name: &str) -> Result<String, Problem> {
        self.written(name).map_or_else(
            || Ok(String::new()),
            |written| text(written).ok_or_else(|| Problem::wrong(name, written, "text")),
        )
    }

    /// A yes or a no; no if it is not there.
    fn flag(&self, name: &str) -> Result<bool, Problem> {
        match self.written(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => Err(Problem::wrong(name, other, "true or false")),
        }
    }
}

/// The text that is written as JSON, if it is one.
fn text(written: &str) -> Option<String> {
    // A list of millions would be read in full before it turned out to be no text.
    if written.starts_with('"') { serde_json::from_str(written).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(line: &str) -> String {
        let answer = answer(InputLine::Text(line), false);
        assert_eq!(answer["error"]["code"], "INVALID_INPUT", "{line}: {answer}");
        answer["error"]["message"].as_str().unwrap().to_owned()
    }

    #[test]
    fn a_line_that_is_no_message_is_told_with_what_was_found() {
        assert_eq!(error("null"), "parse error: nil message");
        assert_eq!(error("[1]"), "parse error: found '[1]', wanted a JSON object");
        assert!(error("").starts_with("parse error: found ''"), "{}", error(""));
        assert_eq!(error(r#"{"subject":7}"#), "parse error: subject: found '7', wanted text");
        assert!(error(r#"{"ack_required":"yes"}"#).contains("true or false"));
    }

    #[test]
    fn an_acknowledgement_is_pending_until_it_is_given() {
        let pending = |line: &str| answer(InputLine::Text(line), false)["is_pending"].clone();
        assert_eq!(pending(r#"{"ack_required":true}"#), true);
        assert_eq!(pending(r#"{"ack_required":true,"acked":true}"#), false);
        assert_eq!(pending(r#"{"ack_required":null,"acked":false}"#), false);
    }

    #[test]
    fn a_time_is_repeated_only_if_it_is_one_and_was_given() {
        let of = |line: &str| answer(InputLine::Text(line), false).get("timestamp").cloned();
        assert_eq!(of(r#"{"subject":"DONE"}"#), None);
        assert_eq!(of(r#"{"timestamp":"2026-01-31T10:30:00Z"}"#), Some(json!("2026-01-31T10:30:00Z")));
        assert_eq!(of(r#"{"timestamp":"2026-01-31T10:30:00"}"#), Some(Value::Null));
        assert_eq!(of(r#"{"timestamp":12}"#), Some(Value::Null));
    }

    #[test]
    fn a_person_is_shown_no_control_characters() {
        let text = ParsedMessage::new("DONE", "Bead: a\x1b[2J\n## Summary\n\x07x\ny").to_text();
        assert!(!text.contains(['\x1b', '\x07']) && text.contains("y"), "{text}");
    }

    fn members(line: &str) -> Parcel<'_> {
        Parcel::read(line).unwrap().expect("it is not null")
    }

    fn problem(line: &str) -> String {
        Parcel::read(line).err().unwrap_or_else(|| panic!("{line} was read")).to_string()
    }

    #[test]
    fn a_line_that_is_no_object_is_told_with_what_was_found() {
        assert!(matches!(Parcel::read(" null "), Ok(None)));
        for other in ["[1]", "1", "true", "\"x\"", "-0.5"] {
            assert_eq!(problem(other), format!("found '{other}', wanted a JSON object"));
        }
        assert!(problem("").contains("found ''") && problem("  ").contains("EOF"));
        assert!(problem("{\"subject\":").contains("line 1 column 11") && problem("{}{}").contains("trailing"));
    }

    #[test]
    fn members_that_are_not_known_are_nobodys_business() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        let line = format!(r#"{{"x":{deep},"subject":"a","\u0073ubject":"b","body":null}}"#);
        let members = members(&line);
        assert_eq!((members.text("subject").unwrap().as_str(), members.text("body").unwrap().as_str()), ("b", ""));
        assert_eq!(members.text("timestamp").unwrap(), "");
    }

    #[test]
    fn mail_that_was_fetched_has_its_body_under_another_name() {
        assert_eq!(members(r#"{"subject":"a","body_md":"b"}"#).text("body").unwrap(), "b");
        assert_eq!(members(r#"{"body_md":"b","body":"c"}"#).text("body").unwrap(), "c");
        assert_eq!(members(r#"{"body":"c","body_md":"b"}"#).text("body").unwrap(), "b");
    }

    #[test]
    fn a_member_of_a_wrong_type_is_told_with_what_stands_there() {
        let members = members(r#"{"subject":[1, 2],"body":"\ud800","ack_required":1,"acked":true}"#);
        assert_eq!(members.text("subject").unwrap_err(), Problem::wrong("subject", "[1, 2]", "text"));
        assert_eq!(members.text("body").unwrap_err(), Problem::wrong("body", r#""\ud800""#, "text"));
        assert_eq!(members.flag("ack_required").unwrap_err(), Problem::wrong("ack_required", "1", "true or false"));
        assert_eq!(members.flag("acked"), Ok(true));
    }
}
