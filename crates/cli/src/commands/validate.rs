//! `postrider validate`: whether a JSON message keeps the rules of its type, and what to tell its sender if not.
//!
//! One message from a file or standard input for a person, or one a line for a program. Nothing is sent. Whoever sends
//! the error reports that are made here must not answer an error report with another one.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use formats::json::{self, Message, Rejection, Stamp};
use formats::{Parsed, Problem};
use mail::clock::{Clock, SystemClock};
use serde_json::{Value, json};

use super::given::text_of;
use super::lines::{InputLine, answer_file};
use super::problems;
use crate::output;
use crate::output::text::unbroken;

const EXAMPLES: &str = "\
Exit code 1 if the message is not valid. With --error-report the report alone is printed, and what people read goes to
standard error. With --jsonl each line is a message and gets one line of JSON with the verdict, in order, and the exit
code is 0.

Examples:
  postrider validate message.json
  postrider validate --error-report --sender GreenDog message.json > report.json
  postrider validate --jsonl --error-report --sender GreenDog < messages.jsonl";

const USAGE: &str = "Usage: postrider validate --error-report --sender <NAME> [OPTIONS] [FILE]";

/// Check a JSON message against the rules of its type.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Validate {
    /// The file with the message, or with a mail body that is one json block; `-` or nothing for standard input
    file: Option<PathBuf>,
    /// Read one message a line, and print one line of JSON for each
    #[arg(long)]
    jsonl: bool,
    /// Make the error_report that tells the sender of an invalid message what is wrong
    #[arg(long)]
    error_report: bool,
    /// The name of the agent that reports
    #[arg(long, value_name = "NAME", env = "POSTRIDER_AGENT")]
    sender: Option<String>,
}

/// What reading a message came to.
struct Verdict {
    read: Parsed<Option<Message>>,
    rejection: Option<Rejection>,
    /// The report for the sender, if reports are wanted; `None` within if nothing is wrong.
    report: Option<Option<Message>>,
}

impl Validate {
    /// Prints the verdict.
    pub fn run(self, as_json: bool) -> anyhow::Result<ExitCode> {
        if self.error_report && self.reporter().is_none() {
            bail!(
                "--error-report has to say who reports; pass --sender NAME as well, or set POSTRIDER_AGENT\n\n{USAGE}"
            );
        }
        if self.jsonl {
            return answer_file(self.file.as_deref(), |line| self.verdict(read_line(line)).to_value());
        }
        let text = text_of(self.file.as_deref())?;
        let verdict = self.verdict(json::read(json::find_in(&text).unwrap_or(&text)));
        match &verdict.report {
            // Whoever pipes the report on wants nothing else there.
            Some(report) if !as_json => {
                output::note(&verdict.to_text());
                if let Some(report) = report {
                    output::answer(true, &report.to_value(), String::new);
                }
            }
            _ => _ = output::answer(as_json, &verdict.to_value(), || verdict.to_text()),
        }
        Ok(if verdict.rejection.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Who reports, if somebody does. An empty variable of the environment is not set.
    fn reporter(&self) -> Option<&str> {
        self.sender.as_deref().filter(|name| self.error_report && !name.is_empty())
    }

    fn verdict(&self, read: Parsed<Option<Message>>) -> Verdict {
        let rejection = json::rejection(&read);
        let report = self.reporter().map(|name| rejection.as_ref().map(|rejection| report(&read, rejection, name)));
        Verdict { read, rejection, report }
    }
}

fn read_line(line: InputLine<'_>) -> Parsed<Option<Message>> {
    line.text().map_or_else(|problem| Parsed { value: None, problems: vec![problem] }, json::read)
}

fn report(read: &Parsed<Option<Message>>, rejection: &Rejection, name: &str) -> Message {
    let now = SystemClock.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let mut chance = [0; 16];
    getrandom::fill(&mut chance).expect("the operating system has randomness");
    json::error_report(read, rejection, Stamp { timestamp: &now, message_id: &message_id(chance), sender_id: name })
}

/// The id that is made of these random bytes: `msg-` and a UUID of version 4.
pub(super) fn message_id(mut bytes: [u8; 16]) -> String {
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("msg-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

impl Verdict {
    fn to_value(&self) -> Value {
        let problem = |problem: &Problem| json!({ "path": problem.path, "message": problem.to_string() });
        let problems: Vec<Value> = self.read.problems.iter().map(problem).collect();
        let rejection = self.rejection.as_ref().map(|Rejection { error, details, message_id }| {
            json!({ "error": error, "details": details, "message_id": message_id })
        });
        let mut value = json!({ "valid": rejection.is_none(), "problems": problems, "rejection": rejection });
        if let Some(report) = &self.report {
            value["error_report"] = report.as_ref().map_or(Value::Null, Message::to_value);
        }
        value
    }

    fn to_text(&self) -> String {
        let Some(rejection) = &self.rejection else { return self.praise() };
        let count = match self.read.problems.len() {
            1 => "one problem".to_owned(),
            count => format!("{count} problems"),
        };
        let mut text = format!("Not valid ({}): {count}.\n\n", rejection.error);
        text.push_str(&problems::table(&self.read.problems, "(the message)"));
        text
    }

    fn praise(&self) -> String {
        let Some(message) = &self.read.value else { return "Valid.".to_owned() };
        let mut text = format!("Valid: {}", message.type_name());
        for (word, name) in [("from", message.sender_id()), ("about", message.task_id())] {
            if let Some(name) = name {
                text.push_str(&format!(" {word} '{}'", unbroken(name)));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_uuid_of_version_four() {
        assert_eq!(message_id([0xff; 16]), "msg-ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(message_id([0; 16]), "msg-00000000-0000-4000-8000-000000000000");
    }

    #[test]
    fn a_report_about_any_text_is_itself_valid() {
        for text in ["", "[]", "{}", r#"{"type":"chat"}"#] {
            let read = json::read(text);
            let rejection = json::rejection(&read).unwrap();
            assert_eq!(json::read(&report(&read, &rejection, "Postmaster").write()).problems, []);
        }
    }

    #[test]
    fn a_line_that_is_no_text_is_not_valid() {
        for line in [InputLine::NotText, InputLine::TooLong] {
            let read = read_line(line);
            assert!(json::rejection(&read).is_some_and(|rejection| rejection.details.starts_with("found '")));
        }
    }
}
