//! Saying something in a channel: `postrider channel post`, and `postrider send-message` with the flags of the script of
//! that name, so that what calls the script can call us.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use api::{PostToChannel, PostedAnswer};
use clap::Args;
use serde_json::{Value, json};

use super::super::given::{recipient, text_of, written};
use super::super::mail::warn;
use crate::config::{Config, EVERYWHERE};
use crate::identity::Acting;
use crate::mailbox::Caller;
use crate::output::{self, text};
use crate::post_office::InProject;

const POST_EXAMPLES: &str = "\
Examples:
  postrider channel post dev 'Phase 1 is done.'
  postrider channel post dev 'Please review.' --to BlueLake --artifact src/lexer.rs
  postrider channel post dev 'It is fixed.' --reply-to 17
  git diff | postrider channel post dev --to BlueLake --type task_result";

const SEND_EXAMPLES: &str = "\
Examples:
  postrider send-message --agent supervisor --channel agent-os-paper --to codex --text 'Please review this'
  postrider send-message --agent supervisor --channel agent-os-paper --to all --text - < plan.md";

/// Say something in a channel, which may be new.
#[derive(Args, Debug)]
#[command(after_help = POST_EXAMPLES)]
pub struct Post {
    #[command(flatten)]
    acting: Acting,
    /// The channel
    channel: String,
    /// The text, or `-` for standard input [default: standard input; at a terminal, what is written in $VISUAL or $EDITOR]
    #[arg(allow_hyphen_values = true)]
    text: Option<String>,
    /// Whom it is addressed to [default: whoever it answers, or nobody in particular]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = recipient)]
    to: Vec<String>,
    #[command(flatten)]
    more: More,
    /// The message that it answers: its number, or its name in the channel
    #[arg(long, value_name = "ID")]
    reply_to: Option<String>,
    /// A file that it speaks of
    #[arg(long, value_name = "PATH")]
    artifact: Vec<String>,
    /// The conversation [default: that of what it answers, or a new one]
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    /// Makes a repetition safe: what has the same key is said once
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

/// Say something in a channel, with the flags of the script send-message.
#[derive(Args, Debug)]
#[command(after_help = SEND_EXAMPLES, override_usage = "postrider send-message [OPTIONS] --channel <NAME> --text <TEXT>")]
pub struct SendMessage {
    #[command(flatten)]
    project: InProject,
    /// Who says it [default: `agent` in postrider.toml]
    #[arg(long, value_name = "NAME", env = "POSTRIDER_AGENT")]
    agent: Option<String>,
    /// The registration token of that name, where names have to be proved
    #[arg(long, value_name = "TOKEN", env = "POSTRIDER_REGISTRATION_TOKEN", hide_env_values = true,
          help_heading = EVERYWHERE, display_order = 102)]
    token: Option<String>,
    /// The channel
    #[arg(long, value_name = "NAME")]
    channel: String,
    /// Whom it is addressed to
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = recipient, default_value = "all")]
    to: Vec<String>,
    /// The text, or `-` for standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    text: String,
    #[command(flatten)]
    more: More,
    /// The message that it answers: its number, or its name in the channel
    #[arg(long, value_name = "ID")]
    in_reply_to: Option<String>,
}

/// What both take.
#[derive(Args, Debug)]
struct More {
    /// What type it is of, such as task_assign, task_result or incident
    #[arg(long = "type", value_name = "TYPE", default_value = "chat")]
    kind: String,
    /// A file whose text goes with it as code
    #[arg(long, value_name = "FILE")]
    code: Option<PathBuf>,
}

impl Post {
    /// Says it.
    pub fn run(self, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        let who = self.acting.who(&config)?;
        let written = written(self.text.as_deref(), "as TEXT")?;
        let words = PostToChannel {
            channel: self.channel,
            to: self.to,
            text: written.text().to_owned(),
            in_reply_to: self.reply_to,
            artifacts: self.artifact,
            thread_id: self.thread,
            idempotency_key: self.idempotency_key,
            ..PostToChannel::default()
        };
        let said = say(config, &self.acting.project, who, self.more, words, as_json);
        if said.is_err() {
            written.keep();
        }
        said
    }
}

impl SendMessage {
    /// Says it.
    pub fn run(self, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        let agent = self.agent.or_else(|| config.file.agent.clone()).filter(|name| !name.is_empty());
        let name = agent.context("No agent name given. Use --agent NAME or set POSTRIDER_AGENT.")?;
        let who = Caller { name, token: self.token.filter(|token| !token.is_empty()) };
        let words = PostToChannel {
            channel: self.channel,
            to: self.to,
            text: written(Some(&self.text), "with --text TEXT")?.text().to_owned(),
            in_reply_to: self.in_reply_to,
            ..PostToChannel::default()
        };
        say(config, &self.project, who, self.more, words, as_json)
    }
}

fn say(
    config: Config,
    project: &InProject,
    who: Caller,
    more: More,
    words: PostToChannel,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let code = more.code.as_deref().map(|file| text_of(Some(file))).transpose()?;
    project.visit(config, async |post_office, key| {
        let request = PostToChannel {
            project_key: key.to_owned(),
            sender_name: who.name,
            registration_token: who.token,
            kind: Some(more.kind),
            code,
            ..words
        };
        let answer = post_office.ask(request).await.map_err(|refused| match refused.code.as_str() {
            "IDENTITY_REQUIRED" => refused.hinted(
                "Pass the token that 'postrider join' printed for that name with --token, or set \
                 POSTRIDER_REGISTRATION_TOKEN. A new name joins first.",
            ),
            _ => refused,
        })?;
        if !as_json {
            warn(&answer.sent.warnings, &answer.sent.message.problems);
        }
        Ok(output::answer(as_json, &told(&answer), || receipt(&answer)))
    })
}

/// What a program is told.
fn told(PostedAnswer { sent, external_id, new_mailboxes }: &PostedAnswer) -> Value {
    let message = &sent.message;
    json!({
        "id": message.id.to_string(), "external_id": external_id, "to": message.to, "cc": message.cc,
        "thread_id": message.thread_id, "created_at": message.created_ts.0.to_string(),
        "new_mailboxes": new_mailboxes, "warnings": sent.warnings, "problems": message.problems,
    })
}

/// What a person is told.
fn receipt(PostedAnswer { sent, new_mailboxes, .. }: &PostedAnswer) -> String {
    let message = &sent.message;
    // The channel, and then whom it is addressed to.
    let (channel, addressed) = message.to.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    let called: Vec<&str> = addressed.iter().chain(&message.cc).map(String::as_str).collect();
    let mail = if called.is_empty() { String::new() } else { format!(" It is mail for {}.", called.join(", ")) };
    let new = match &new_mailboxes[..] {
        [] => String::new(),
        [one] => format!(" Nobody knew '{one}' before: it has a mailbox now."),
        several => format!(" Nobody knew '{}' before: they have mailboxes now.", several.join("', '")),
    };
    text::unbroken(&format!("Message {} is said in {channel}.{mail}{new}", message.id))
}
