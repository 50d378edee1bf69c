//! `postrider compose`: writes a coordination message that every reader understands, and sends it if asked.
//!
//! What is missing or wrong is told all at once and by the flag that mends it. A message that would be read otherwise
//! than it was meant is refused as well. Nothing here knows the rules of a message: the reader does. The office decides the
//! thread, unless one is named, and whether an acknowledgement is due, from the message itself; whether the names are known
//! and proved is for the office to say as well.

mod drafting;
mod kinds;

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use anyhow::{Context, bail};
use api::answers::SentAnswer;
use api::{Actor, ReplyMessage, SendMessage};
use clap::Args;
use formats::Problem;
use formats::markdown::{Kind, Written};
use mail::clock::{Clock, SystemClock};
use mail::messages::Importance;
use serde_json::{Value, json};

use super::in_name::InName;
use super::mail::Recipients;
use super::problems::malformed;
use crate::config::Config;
use crate::output;
use crate::output::text::{lines, unbroken};
use crate::post_office::{self, InProject, PostOffice, Refused};
use drafting::TypedDraft;
use kinds::Given;

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
    pub fn run(mut self, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        let now = SystemClock.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let sender = self.sending.sender(&config)?;
        let draft = TypedDraft::new(self.given, &now)?;
        if !draft.is_sound() {
            return refuse(&draft, as_json);
        }
        if let Some(sender) = sender {
            return self.sending.send(sender, config, draft.written, as_json);
        }
        output::done(as_json, &to_value(&draft), || to_text(&draft))
    }
}

fn refuse(draft: &TypedDraft, as_json: bool) -> anyhow::Result<ExitCode> {
    let name = draft.message.type_name();
    if as_json {
        let problems: Vec<Problem> = draft.all_problems().cloned().collect();
        output::answer(true, &malformed(name, &problems, &hint(draft)), String::new);
        return Ok(ExitCode::FAILURE);
    }
    bail!("this {name} message {}:\n{}", fault(draft), complaints(draft).join("\n"))
}

/// What is wrong with the message on the whole.
fn fault(draft: &TypedDraft) -> &'static str {
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
fn hint(draft: &TypedDraft) -> String {
    let (missing, wrong): (Vec<&Problem>, Vec<&Problem>) =
        draft.all_problems().partition(|problem| problem.found.is_none());
    let sentences = [("Pass", missing), ("Correct", wrong)].into_iter().filter(|(_, problems)| !problems.is_empty());
    let said = sentences.map(|(verb, problems)| {
        let flags: Vec<String> = problems.iter().map(|problem| flag(draft.message.kind(), &problem.path)).collect();
        format!("{verb} {}.", flags.join(", "))
    });
    said.collect::<Vec<_>>().join(" ")
}

fn complaints(draft: &TypedDraft) -> Vec<String> {
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
    let own = kind.map(kinds::flags).unwrap_or_default();
    let mut known = own.iter().chain(Kind::written().iter().copied().flat_map(kinds::flags));
    let name = known.find(|(_, known, ..)| *known == field).map_or(field, |(flag, ..)| flag);
    format!("--{}", name.replace('_', "-"))
}

fn to_value(draft: &TypedDraft) -> Value {
    json!({
        "subject": draft.written.subject,
        "body": draft.written.body,
        "thread_id": draft.message.work_id(),
        "ack_required": draft.message.kind().is_some_and(Kind::ack_by_default),
    })
}

/// The text as it is, unless a terminal would obey it.
fn to_text(draft: &TypedDraft) -> String {
    let text = format!("{}\n\n{}", draft.written.subject, draft.written.body);
    if io::stdout().is_terminal() { lines(&text) } else { text }
}

/// Whether and how to send.
#[derive(Args, Debug)]
#[command(next_help_heading = "Sending")]
struct Sending {
    /// Send the message instead of printing it
    #[arg(long, global = true)]
    send: bool,
    /// Who gets it, with commas between names; `all` for everybody
    #[arg(long, global = true, value_name = "NAME", num_args = 1.., value_delimiter = ',')]
    to: Vec<String>,
    /// Who else gets it
    #[arg(long, global = true, value_name = "NAME", num_args = 1.., value_delimiter = ',')]
    cc: Vec<String>,
    /// In whose name
    #[arg(long, global = true, value_name = "NAME", env = "POSTRIDER_AGENT")]
    from: Option<String>,
    /// The registration token of that name, where names have to be proved
    #[arg(long, global = true, value_name = "TOKEN", env = "POSTRIDER_REGISTRATION_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// The message that this one answers; goes to its sender if --to names nobody
    #[arg(long, global = true, value_name = "ID", value_parser = clap::value_parser!(i64).range(0..))]
    reply_to: Option<i64>,
    /// The thread it belongs to [default: the piece of work]
    #[arg(long, global = true, value_name = "ID")]
    thread: Option<String>,
    /// low, normal, high or urgent
    #[arg(long, global = true, value_name = "WORD", value_parser = Importance::NAMES, hide_possible_values = true)]
    importance: Option<String>,
    /// Makes a repetition safe: what has the same key is sent once
    #[arg(long, global = true, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    project: InProject,
}

impl Sending {
    /// Who sends, and in which project, if the message is to be sent.
    fn sender(&mut self, config: &Config) -> anyhow::Result<Option<Actor>> {
        if !self.send {
            if let Some(flag) = self.given_in_vain() {
                bail!("{flag} is for a message that is sent; pass --send as well");
            }
            return Ok(None);
        }
        self.to = names(&self.to);
        self.cc = names(&self.cc);
        if self.to.is_empty() && self.reply_to.is_none() {
            bail!("No recipient given. Pass --to NAME.");
        }
        if self.thread.is_some() && self.reply_to.is_some() {
            bail!("an answer is in the thread of what it answers; pass either --thread or --reply-to");
        }
        // An empty variable of the environment is not set.
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let agent_name = given(&self.from).or_else(|| given(&config.file.agent)).context(
            "nobody is named as the sender; pass --from NAME, set POSTRIDER_AGENT, or set agent in postrider.toml",
        )?;
        Ok(Some(Actor { project_key: self.project.key()?, agent_name, registration_token: given(&self.token) }))
    }

    /// Sends the message and prints what became of it.
    fn send(self, sender: Actor, config: Config, message: Written, as_json: bool) -> anyhow::Result<ExitCode> {
        let Self { to, cc, reply_to, thread, importance, idempotency_key, project, .. } = self;
        let Written { subject, body: body_md } = message;
        post_office::visit(config, &sender.project_key.clone(), async |post_office: &PostOffice| {
            let sent = match reply_to {
                Some(message_id) => {
                    let reply = ReplyMessage {
                        message_id,
                        to,
                        cc,
                        subject: Some(subject),
                        body_md,
                        importance,
                        idempotency_key,
                        ..ReplyMessage::default()
                    };
                    post_office.ask(reply.by(sender)).await
                }
                None => {
                    let message = SendMessage {
                        to,
                        cc,
                        subject,
                        body_md,
                        thread_id: thread,
                        importance,
                        idempotency_key,
                        // What the office reads must be what was written.
                        strict: Some(true),
                        ..SendMessage::default()
                    };
                    post_office.ask(message.by(sender)).await
                }
            };
            let sent = sent.map_err(|refused| advised(refused, &project))?;
            output::done(as_json, &json!(sent), || receipt(&sent))
        })
    }

    /// A flag that says nothing about a message that is printed. What the environment may say is not among them.
    fn given_in_vain(&self) -> Option<&'static str> {
        let given = [
            ("--to", !self.to.is_empty()),
            ("--cc", !self.cc.is_empty()),
            ("--reply-to", self.reply_to.is_some()),
            ("--thread", self.thread.is_some()),
            ("--importance", self.importance.is_some()),
            ("--idempotency-key", self.idempotency_key.is_some()),
        ];
        given.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag))
    }
}

/// The names in a list, in which there may be blanks beside the commas, and a sign before a name.
fn names(given: &[String]) -> Vec<String> {
    given.iter().map(|name| mail::agents::called(name)).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Says what somebody at a terminal can do about a refusal.
fn advised(refused: Refused, project: &InProject) -> Refused {
    match refused.code.as_str() {
        "PROJECT_NOT_FOUND" => project.advised(refused),
        "IDENTITY_REQUIRED" => refused.hinted(
            "Pass the token that the sender got when it registered with --token, or set POSTRIDER_REGISTRATION_TOKEN.",
        ),
        "IDEMPOTENCY_CONFLICT" => refused.advised("What is repeated has to be the same, --started-at included."),
        _ => refused,
    }
}

/// What a person is told of a message that was sent.
fn receipt(sent: &SentAnswer) -> String {
    let SentAnswer { message, warnings, .. } = sent;
    let (names, thread) = (unbroken(&message.to.join(", ")), unbroken(&message.thread_id));
    let mut receipt = format!("Message {} is sent to {names}, in thread '{thread}'.", message.id);
    if message.ack_required {
        receipt.push_str(" It asks for an acknowledgement.");
    }
    for line in Recipients::from(sent).lines(SystemClock.now()) {
        receipt.push_str(&format!("\n{line}"));
    }
    for warning in warnings {
        let (fact, hint) = (unbroken(&warning.message), unbroken(&warning.hint));
        receipt.push_str(&format!("\nWarning: {fact} {hint}"));
    }
    receipt
}

#[cfg(test)]
mod tests;
