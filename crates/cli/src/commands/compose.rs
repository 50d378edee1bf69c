//! `postrider compose`: writes a coordination message that every reader understands, and sends it if asked.
//!
//! What is missing or wrong is told all at once and by the flag that mends it. A message that would be read otherwise
//! than it was meant is refused as well. Nothing here knows the rules of a message: the reader does.

mod drafting;
mod kinds;
mod sending;

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use formats::Problem;
use formats::markdown::Kind;
use mail::clock::{Clock, SystemClock};
use serde_json::{Value, json};

use super::problems::malformed;
use crate::config::Config;
use crate::output;
use crate::output::text::{lines, unbroken};
use drafting::Draft;
use kinds::Given;
use sending::Sending;

const EXAMPLES: &str = "\
A kind can also be named as it is in a subject, such as HELP_REQUEST. 'postrider compose KIND --help' lists what a kind
says. All that is missing is told at once, and nothing is sent then.

Examples:
  postrider compose progress --bead bd-42 --step 3 --status 'tests are green' --context-usage 45
  postrider compose help-request --bead bd-42 --issue-type STUCK --problem @problem.md --question 'Where is auth?' \\
      --send --from GreenDog --to BlueLake
  postrider compose help-response --guidance 'In lib/auth.' --send --from BlueLake --reply-to 7";

/// Write a coordination message, and print or send it.
#[derive(Args, Debug)]
#[command(subcommand_precedence_over_arg = true, after_help = EXAMPLES)]
pub struct Compose {
    #[command(flatten)]
    sending: Sending,
    #[command(subcommand)]
    given: Given,
}

impl Compose {
    /// Prints the message, or sends it.
    pub fn run(self, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        let now = SystemClock.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let envelope = self.sending.envelope(&config)?;
        let draft = Draft::new(self.given, &now)?;
        if !draft.is_sound() {
            return refuse(&draft, as_json);
        }
        if let Some(envelope) = envelope {
            return envelope.send(config, &draft.written, as_json);
        }
        output::answer(as_json, &to_value(&draft), || to_text(&draft));
        Ok(ExitCode::SUCCESS)
    }
}

fn refuse(draft: &Draft, as_json: bool) -> anyhow::Result<ExitCode> {
    let name = draft.message.type_name();
    if as_json {
        let problems: Vec<Problem> = draft.all_problems().cloned().collect();
        output::answer(true, &malformed(name, &problems, &hint(draft)), String::new);
        return Ok(ExitCode::FAILURE);
    }
    bail!("this {name} message {}:\n{}", fault(draft), complaints(draft).join("\n"))
}

/// What is wrong with the message on the whole.
fn fault(draft: &Draft) -> &'static str {
    let lacks_something = draft.problems.iter().any(|problem| problem.found.is_none());
    let is_wrong = draft.problems.iter().any(|problem| problem.found.is_some());
    match (lacks_something, is_wrong) {
        (true, false) => "is not complete",
        (true, true) => "is neither complete nor right",
        (false, true) => "is not right",
        (false, false) => "would not be read as it was meant",
    }
}

/// What to do about it.
fn hint(draft: &Draft) -> String {
    let (missing, wrong): (Vec<&Problem>, Vec<&Problem>) =
        draft.all_problems().partition(|problem| problem.found.is_none());
    let sentences = [("Pass", missing), ("Correct", wrong)].into_iter().filter(|(_, problems)| !problems.is_empty());
    let said = sentences.map(|(verb, problems)| {
        let flags: Vec<String> = problems.iter().map(|problem| flag(draft.message.kind(), &problem.path)).collect();
        format!("{verb} {}.", flags.join(", "))
    });
    said.collect::<Vec<_>>().join(" ")
}

fn complaints(draft: &Draft) -> Vec<String> {
    let kind = draft.message.kind();
    let misread = draft.misread.iter().map(|problem| {
        let found = unbroken(problem.found.as_deref().unwrap_or_default());
        format!("  {} would be read as '{found}'; wanted {}", flag(kind, &problem.path), problem.wanted)
    });
    draft.problems.iter().map(|problem| complaint(kind, problem)).chain(misread).collect()
}

fn complaint(kind: Option<Kind>, problem: &Problem) -> String {
    let flag = flag(kind, &problem.path);
    match &problem.found {
        // What the reader wants there is a place in the text, unless it is one of a few words.
        None if !problem.wanted.contains('|') => format!("  {flag} is missing"),
        None => format!("  {flag} is missing; wanted {}", problem.wanted),
        Some(found) => format!("  {flag} is '{}'; wanted {}", unbroken(found), problem.wanted),
    }
}

/// The flag that gives the field of this name.
fn flag(kind: Option<Kind>, field: &str) -> String {
    let name = match field {
        "bead_id" => "bead",
        "files_touched" => "files",
        "what_tried" => "tried",
        "tests_pass" => "tests",
        "lint_pass" => "lint",
        "build_pass" => "build",
        "failure_type" => "type",
        "checkpoint_reason" => "reason",
        "internal_attempts" => "attempts",
        "progress" => "description",
        "issue_id" => "issue",
        "partial_commit_sha" if kind == Some(Kind::SpawnRequest) => "checkpoint",
        "commit_sha" | "partial_commit_sha" => "commit",
        same => same,
    };
    format!("--{}", name.replace('_', "-"))
}

fn to_value(draft: &Draft) -> Value {
    json!({
        "subject": draft.written.subject,
        "body": draft.written.body,
        "thread_id": draft.message.work_id(),
        "ack_required": draft.message.kind().is_some_and(Kind::ack_by_default),
    })
}

/// The text as it is, unless a terminal would obey it.
fn to_text(draft: &Draft) -> String {
    let text = format!("{}\n\n{}", draft.written.subject, draft.written.body);
    if io::stdout().is_terminal() { lines(&text) } else { text }
}

#[cfg(test)]
mod tests;
