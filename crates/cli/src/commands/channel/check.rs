//! `postrider channel check`: what a watcher would make of a document, and of the name of its file.
//!
//! One document from a file or standard input for a person, or one a line for a program. The rules are in `formats`;
//! nothing is taken in, and no folder is looked at.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use formats::Problem;
use formats::channel::{FileName, Place, Reading, Verdict, read};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::given::bytes_of;
use super::super::lines::{InputLine, answer_file};
use super::super::problems;
use crate::output;
use crate::output::text::unbroken;

const EXAMPLES: &str = "\
Exit code 1 if the document cannot be used. With --jsonl each line is a JSON object with 'message' (the document) or 'raw'
(its text), and perhaps 'agent', 'file' (its name, without folders) and 'channel'; one with 'file' alone checks the name.
Each gets one line of JSON, in order: 'verdict' is ok, warn (it is used), skip or retry (it may be half written). The exit
code is then 0.

Examples:
  postrider channel check --agent codex msg-20260111-163315-claude-4c78.json
  postrider channel check --jsonl < documents.jsonl";

/// The channel that lines are from, unless something else is said: the one that the format is explained with.
const CHANNEL_OF_LINES: &str = "agent-os-paper";

/// Say whether a document of a channel's folder can be used, and whether it calls an agent.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Check {
    /// The file with the document, whose name is checked too; `-` or nothing for standard input
    file: Option<PathBuf>,
    /// Read one document a line, and print one line of JSON for each
    #[arg(long)]
    jsonl: bool,
    /// The channel that documents are from; else that of the file's folder in `channels`, or any; with --jsonl
    /// agent-os-paper
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// The agent that may be called
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
}

/// A line for a program.
#[derive(Deserialize)]
struct Given<'l> {
    agent: Option<String>,
    #[serde(borrow, default, deserialize_with = "as_written")]
    message: Option<&'l RawValue>,
    raw: Option<String>,
    file: Option<String>,
    channel: Option<String>,
}

/// A document that is `null` is one all the same.
fn as_written<'l, D: Deserializer<'l>>(deserializer: D) -> Result<Option<&'l RawValue>, D::Error> {
    Deserialize::deserialize(deserializer).map(Some)
}

impl Check {
    /// Prints what the document is.
    pub fn run(self, as_json: bool) -> anyhow::Result<ExitCode> {
        if self.jsonl {
            return answer_file(self.file.as_deref(), |line| self.answer(line));
        }
        let bytes = bytes_of(self.file.as_deref())?;
        let path = self.file.as_deref().filter(|path| *path != Path::new("-"));
        let file = path.and_then(Path::file_name).map(|name| name.to_string_lossy());
        let channel = self.channel.clone().or_else(|| path.and_then(channel_of));
        let mut reading = read(&bytes, Place { file: file.as_deref(), channel: channel.as_deref() });
        if path.is_some_and(Path::is_symlink) {
            let wanted = "a file of its own (no link is followed in a channel's folder)";
            reading.problems.push(Problem::wrong("file", &file.unwrap_or_default(), wanted));
            (reading.verdict, reading.message) = (Verdict::Skip, None);
        }
        let agent = self.agent.as_deref();
        output::answer(as_json, &told(&reading, agent), || explained(&reading, agent));
        Ok(if reading.message.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn answer(&self, line: InputLine<'_>) -> Value {
        let answer = line.text().and_then(|text| self.answer_text(text));
        answer.unwrap_or_else(|problem| verdict(Verdict::Skip, &[problem]))
    }

    fn answer_text(&self, line: &str) -> Result<Value, Problem> {
        let given = given(line)?;
        let document = match (given.message, &given.raw) {
            (Some(message), _) => message.get(),
            (None, Some(raw)) => raw,
            (None, None) => {
                let file = given.file.as_deref().ok_or_else(|| Problem::missing("message", "a document"))?;
                FileName::parse(file).ok_or_else(|| Problem::wrong("file", file, FileName::FORM))?;
                return Ok(verdict(Verdict::Ok, &[]));
            }
        };
        let channel = given.channel.as_deref().or(self.channel.as_deref()).unwrap_or(CHANNEL_OF_LINES);
        let reading = read(document.as_bytes(), Place { file: given.file.as_deref(), channel: Some(channel) });
        Ok(told(&reading, given.agent.as_deref().or(self.agent.as_deref())))
    }
}

/// The channel whose folder a file lies in: the one below `channels`.
fn channel_of(path: &Path) -> Option<String> {
    let path = std::path::absolute(path).ok()?;
    let folder = path.parent()?;
    let is_channel = folder.parent()?.file_name()? == "channels";
    is_channel.then(|| folder.file_name().map(|name| name.to_string_lossy().into_owned()))?
}

fn given(line: &str) -> Result<Given<'_>, Problem> {
    let wrong = |wanted: String| Problem::wrong("", line.trim(), wanted);
    // A list could be read as the members in their order.
    if line.trim_start().starts_with('[') {
        return Err(wrong("a JSON object".to_owned()));
    }
    serde_json::from_str(line).map_err(|error| wrong(format!("a JSON object ({error})")))
}

/// A verdict that speaks of no agent.
fn verdict(verdict: Verdict, problems: &[Problem]) -> Value {
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    json!({
        "verdict": verdict.as_str(), "is_for_us": null, "is_from_us": false, "respond": false, "problems": problems,
    })
}

fn told(reading: &Reading, agent: Option<&str>) -> Value {
    let mut value = verdict(reading.verdict, &reading.problems);
    if let Some(agent) = agent {
        value["is_for_us"] = json!(reading.is_for(agent));
        value["is_from_us"] = json!(reading.is_from(agent));
        value["respond"] = json!(reading.wants_answer_of(agent));
    }
    value
}

/// The same for people.
fn explained(reading: &Reading, agent: Option<&str>) -> String {
    let mut text = match (&reading.message, reading.verdict) {
        (Some(message), _) => {
            let [kind, from, to, channel] =
                [&message.kind, &message.from, &message.to, &message.session_id].map(|name| unbroken(name));
            format!("Can be used: {kind} from '{from}' to '{to}' in '{channel}'.")
        }
        (None, Verdict::Retry) => "Not yet: it ends too early, and may still be being written.".to_owned(),
        (None, _) => "Cannot be used, and is passed over.".to_owned(),
    };
    if let Some(agent) = agent {
        let name = unbroken(agent);
        text.push_str(&match (reading.is_for(agent), reading.is_from(agent)) {
            (_, true) => format!(" '{name}' wrote it, and does not answer it."),
            (Some(true), false) => format!(" It calls '{name}'."),
            (Some(false), false) => format!(" It does not call '{name}'."),
            (None, false) => String::new(),
        });
    }
    if !reading.problems.is_empty() {
        text.push_str(&format!("\n\n{}", problems::table(&reading.problems, "(the document)")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(line: &str) -> (String, Vec<String>) {
        let check = Check { file: None, jsonl: true, channel: None, agent: None };
        let value = check.answer(InputLine::Text(line));
        let problems = value["problems"].as_array().unwrap().iter().map(|problem| problem.as_str().unwrap().to_owned());
        (value["verdict"].as_str().unwrap().to_owned(), problems.collect())
    }

    #[test]
    fn a_line_that_holds_no_document_is_passed_over_and_told_of() {
        for (line, problem) in [
            ("", "found '', wanted a JSON object (EOF while parsing a value at line 1 column 0)"),
            ("[null, null, null, null, null]", "wanted a JSON object"),
            ("null", "wanted a JSON object (invalid type: null"),
            ("{}", "Missing required field: message"),
            (r#"{"raw":1}"#, "wanted a JSON object (invalid type: integer `1`, expected a string"),
            (r#"{"message":null,"file":"msg-20260111-163315-a-4c78.json"}"#, "found 'null', wanted a JSON object"),
            (r#"{"file":"x.json"}"#, "file: found 'x.json', wanted msg-YYYYMMDD-HHMMSS-agent-hex4.json"),
        ] {
            let (verdict, problems) = answer(line);
            assert_eq!((verdict.as_str(), problems.len()), ("skip", 1), "{line}");
            assert!(problems[0].contains(problem), "{line}: {}", problems[0]);
        }
    }

    #[test]
    fn a_person_sees_no_control_characters() {
        let text = "{\"to\":\"a\u{202e}b\",\"from\":\"a\\u001b[2J\",\"content\":{\"text\":\"\"}}";
        let shown = explained(&read(text.as_bytes(), Place::default()), Some("a\u{202e}b"));
        assert!(!shown.contains(['\x1b', '\u{202e}']) && shown.contains("It calls"), "{shown}");
    }
}
