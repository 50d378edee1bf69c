//! Where a composed message goes, and in whose name.
//!
//! The office decides the thread, unless one is named, and whether an acknowledgement is due, from the message itself.
//! Whether the names are known and proved is for the office to say as well.

use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use formats::markdown::Written;
use mail::messages::Importance;
use serde_json::{Value, json};

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
    #[arg(long, global = true, value_name = "ID")]
    reply_to: Option<u64>,
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
        let tool = if self.sending.reply_to.is_some() { "reply_message" } else { "send_message" };
        let arguments = self.arguments(message);
        post_office::visit(config, &self.key, async |post_office: &PostOffice| {
            let sent = post_office.call(tool, arguments).await.map_err(|refused| self.advised(refused))?;
            output::answer(as_json, &sent, || receipt(&sent));
            Ok(ExitCode::SUCCESS)
        })
    }

    /// What the office is asked to send.
    fn arguments(&self, message: &Written) -> Value {
        let Sending { to, cc, token, reply_to, thread, importance, idempotency_key, .. } = &self.sending;
        let mut arguments = json!({
            "project_key": self.key, "sender_name": self.from, "cc": cc,
            "subject": message.subject, "body_md": message.body,
        });
        if !to.is_empty() {
            arguments["to"] = json!(to);
        }
        match reply_to {
            Some(id) => arguments["message_id"] = (*id).into(),
            // What the office reads must be what was written.
            None => arguments["strict"] = true.into(),
        }
        // An empty variable of the environment is not set.
        let token = token.clone().filter(|token| !token.is_empty());
        for (name, value) in [
            ("registration_token", &token),
            ("thread_id", thread),
            ("importance", importance),
            ("idempotency_key", idempotency_key),
        ] {
            if let Some(value) = value {
                arguments[name] = value.as_str().into();
            }
        }
        arguments
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
fn receipt(sent: &Value) -> String {
    let names = |list: &Value| {
        let names: Vec<&str> = list.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        text::unbroken(&names.join(", "))
    };
    let thread = text::unbroken(sent["thread_id"].as_str().unwrap_or_default());
    let mut receipt = format!("Message {} is sent to {}, in thread '{thread}'.", sent["id"], names(&sent["to"]));
    if sent["ack_required"] == true {
        receipt.push_str(" It asks for an acknowledgement.");
    }
    for warning in sent["warnings"].as_array().into_iter().flatten() {
        let part = |name: &str| text::unbroken(warning[name].as_str().unwrap_or_default());
        receipt.push_str(&format!("\nWarning: {} {}", part("message"), part("hint")));
    }
    receipt
}
