//! Where a composed message goes, and in whose name.
//!
//! The office decides the thread and whether an acknowledgement is due, from the message itself. Whether the names are
//! known is for the office to say as well.

use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use formats::markdown::Written;
use mail::messages::Importance;
use serde_json::{Value, json};

use crate::config::Config;
use crate::output::{self, text};
use crate::postbox::{self, InProject, Postbox, Refused};

/// Whether and how to send.
#[derive(Args, Debug)]
#[command(next_help_heading = "Sending")]
pub struct Sending {
    /// Send the message instead of printing it
    #[arg(long, global = true)]
    send: bool,
    /// Who gets it; `all` for everybody
    #[arg(long, global = true, value_name = "NAME", num_args = 1..)]
    to: Vec<String>,
    /// Who else gets it
    #[arg(long, global = true, value_name = "NAME", num_args = 1..)]
    cc: Vec<String>,
    /// In whose name
    #[arg(long, global = true, value_name = "NAME", env = "POSTRIDER_AGENT")]
    from: Option<String>,
    /// low, normal, high or urgent
    #[arg(long, global = true, value_name = "WORD", value_parser = Importance::NAMES, hide_possible_values = true)]
    importance: Option<String>,
    #[command(flatten)]
    project: InProject,
}

/// All that is written on the outside.
pub struct Envelope {
    project: String,
    project_is_given: bool,
    from: String,
    to: Vec<String>,
    cc: Vec<String>,
    importance: Option<String>,
}

impl Sending {
    /// Where to send, if the message is to be sent.
    pub fn envelope(self) -> anyhow::Result<Option<Envelope>> {
        if !self.send {
            if !self.to.is_empty() || !self.cc.is_empty() || self.importance.is_some() {
                bail!("--to, --cc and --importance are for a message that is sent; pass --send as well");
            }
            return Ok(None);
        }
        if self.to.is_empty() {
            bail!("nobody is named to send to; pass --to NAME");
        }
        let from = self.from.filter(|name| !name.is_empty());
        Ok(Some(Envelope {
            project: self.project.key()?,
            project_is_given: self.project.is_given(),
            from: from.context("nobody is named as the sender; pass --from NAME or set POSTRIDER_AGENT")?,
            to: self.to,
            cc: self.cc,
            importance: self.importance,
        }))
    }
}

impl Envelope {
    /// Sends the message and prints what became of it.
    pub fn send(self, config: Config, message: &Written, as_json: bool) -> anyhow::Result<ExitCode> {
        let arguments = self.arguments(message);
        postbox::visit(config, async |postbox: &Postbox| {
            let sent = postbox.call("send_message", arguments).await.map_err(|refused| self.advised(refused))?;
            output::answer(as_json, &sent, || receipt(&sent));
            Ok(ExitCode::SUCCESS)
        })
    }

    /// What the office is asked to send. It is strict: what it reads must be what was written.
    fn arguments(&self, message: &Written) -> Value {
        let mut arguments = json!({
            "project_key": self.project, "sender_name": self.from, "to": self.to, "cc": self.cc,
            "subject": message.subject, "body_md": message.body, "strict": true,
        });
        if let Some(importance) = &self.importance {
            arguments["importance"] = importance.as_str().into();
        }
        arguments
    }

    /// Adds what somebody at a terminal can do about a refusal.
    fn advised(&self, refused: Refused) -> Refused {
        match refused.code.as_str() {
            "PROJECT_NOT_FOUND" if !self.project_is_given => refused.advised("Or say which project with --project."),
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
