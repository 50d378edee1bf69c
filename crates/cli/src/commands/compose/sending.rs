//! Where a composed message goes, and in whose name.
//!
//! The office decides the thread, unless one is named, and whether an acknowledgement is due, from the message itself.
//! Whether the names are known and proved is for the office to say as well.

use std::process::ExitCode;

use anyhow::{Context, bail};
use api::answers::SentAnswer;
use api::{ReplyMessage, SendMessage};
use clap::Args;
use formats::markdown::Written;
use mail::messages::Importance;
use serde_json::json;

use crate::config::Config;
use crate::output::{self, text};
use crate::post_office::{self, InProject, PostOffice, Refused};

/// Whether and how to send.
#[derive(Args, Debug)]
#[command(next_help_heading = "Sending")]
pub struct Sending {
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

/// All that is written on the outside.
pub struct Envelope {
    key: String,
    from: String,
    sending: Sending,
}

impl Sending {
    /// Where to send, if the message is to be sent.
    pub fn envelope(mut self, config: &Config) -> anyhow::Result<Option<Envelope>> {
        if !self.send {
            if let Some(flag) = self.given_in_vain() {
                bail!("{flag} is for a message that is sent; pass --send as well");
            }
            return Ok(None);
        }
        self.to = names(&self.to);
        self.cc = names(&self.cc);
        if self.to.is_empty() && self.reply_to.is_none() {
            bail!("nobody is named to send to; pass --to NAME");
        }
        if self.thread.is_some() && self.reply_to.is_some() {
            bail!("an answer is in the thread of what it answers; pass either --thread or --reply-to");
        }
        let named = [&self.from, &config.file.agent].into_iter().flatten().find(|name| !name.is_empty());
        let from = named.cloned().context(
            "nobody is named as the sender; pass --from NAME, set POSTRIDER_AGENT, or set agent in postrider.toml",
        )?;
        Ok(Some(Envelope { key: self.project.key()?, from, sending: self }))
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

impl Envelope {
    /// Sends the message and prints what became of it.
    pub fn send(self, config: Config, message: &Written, as_json: bool) -> anyhow::Result<ExitCode> {
        post_office::visit(config, &self.key, async |post_office: &PostOffice| {
            let sent = match self.sending.reply_to {
                Some(id) => post_office.ask(self.reply(message, id)).await,
                None => post_office.ask(self.message(message)).await,
            };
            let sent = sent.map_err(|refused| self.advised(refused))?;
            output::answer(as_json, &json!(sent), || receipt(&sent));
            Ok(ExitCode::SUCCESS)
        })
    }

    fn message(&self, Written { subject, body }: &Written) -> SendMessage {
        let Sending { to, cc, thread, importance, idempotency_key, .. } = &self.sending;
        SendMessage {
            project_key: self.key.clone(),
            sender_name: self.from.clone(),
            to: to.clone(),
            cc: cc.clone(),
            subject: subject.clone(),
            body_md: body.clone(),
            thread_id: thread.clone(),
            importance: importance.clone(),
            idempotency_key: idempotency_key.clone(),
            registration_token: self.token(),
            // What the office reads must be what was written.
            strict: Some(true),
            ..SendMessage::default()
        }
    }

    fn reply(&self, Written { subject, body }: &Written, message_id: i64) -> ReplyMessage {
        let Sending { to, cc, importance, idempotency_key, .. } = &self.sending;
        ReplyMessage {
            project_key: self.key.clone(),
            message_id,
            sender_name: self.from.clone(),
            to: to.clone(),
            cc: cc.clone(),
            subject: Some(subject.clone()),
            body_md: body.clone(),
            importance: importance.clone(),
            idempotency_key: idempotency_key.clone(),
            registration_token: self.token(),
            ..ReplyMessage::default()
        }
    }

    /// An empty variable of the environment is not set.
    fn token(&self) -> Option<String> {
        self.sending.token.clone().filter(|token| !token.is_empty())
    }

    /// Says what somebody at a terminal can do about a refusal.
    fn advised(&self, refused: Refused) -> Refused {
        match refused.code.as_str() {
            "PROJECT_NOT_FOUND" => self.sending.project.advised(refused),
            "IDENTITY_REQUIRED" => refused.hinted(
                "Pass the token that the sender got when it registered with --token, or set \
                 POSTRIDER_REGISTRATION_TOKEN.",
            ),
            "IDEMPOTENCY_CONFLICT" => refused.advised("What is repeated has to be the same, --started-at included."),
            _ => refused,
        }
    }
}

/// What a person is told of a message that was sent.
fn receipt(SentAnswer { message, warnings, .. }: &SentAnswer) -> String {
    let (names, thread) = (text::unbroken(&message.to.join(", ")), text::unbroken(&message.thread_id));
    let mut receipt = format!("Message {} is sent to {names}, in thread '{thread}'.", message.id);
    if message.ack_required {
        receipt.push_str(" It asks for an acknowledgement.");
    }
    for warning in warnings {
        let (fact, hint) = (text::unbroken(&warning.message), text::unbroken(&warning.hint));
        receipt.push_str(&format!("\nWarning: {fact} {hint}"));
    }
    receipt
}
