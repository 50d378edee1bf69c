//! Sending and answering.
//!
//! Our own office takes one message for all recipients; other backends take a delivery for each, and refuse what they
//! do not know. What is told afterwards is in `receipt`.

use std::collections::HashSet;
use std::process::ExitCode;

use anyhow::bail;
use api::{ReplyMessage, SendMessage};
use clap::Args;
use mail::agents::EVERYONE;
use mail::mailboxes::DeliveryId;
use mail::messages::Importance;
use mail::provider::{ProviderError, Words};

use super::super::given::{Body, recipient};
use super::super::in_name::InName;
use super::Visit;
use super::receipt::Sent;
use crate::output::{self, text};
use crate::post_office::Refused;

const SEND_EXAMPLES: &str = "\
Examples:
  postrider mail send BlueLake -s 'Who takes the parser?' -m 'I would do the lexer.'
  postrider mail send BlueLake GreenDog --cc RedFox -s 'The plan' < plan.md
  postrider mail send --all -s 'Freeze at noon' -m 'Please push before.' --ack --importance high
  postrider mail send BlueLake -s 'Which port?' -m 'For the tests.' --wait=300

With --wait an answer is printed and marked read; with --ack an acknowledgement ends the wait too. When neither comes in
time, the exit code is 1.";

const REPLY_EXAMPLES: &str = "\
Examples:
  postrider mail reply 17 -m 'I do.'
  postrider mail reply 17 --wait < question.md";

/// What happens once it is sent.
#[derive(Args, Debug)]
pub struct Afterwards {
    /// Nudge whoever gets it, unless they read it first; see 'postrider nudge --help'
    #[arg(long)]
    pub notify: bool,
    /// Wait for the answer, so many seconds [default: 60, at most 3600]
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "60",
          value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub wait: Option<u64>,
}

/// Send a message.
#[derive(Args, Debug)]
#[command(after_help = SEND_EXAMPLES)]
pub struct Send {
    /// Who gets it
    #[arg(value_name = "TO", value_delimiter = ',', value_parser = recipient)]
    names: Vec<String>,
    /// Who gets it, the same as TO
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = recipient)]
    to: Vec<String>,
    /// Who gets a copy
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = recipient)]
    cc: Vec<String>,
    /// Everybody in the project gets it, except you
    #[arg(long, conflicts_with_all = ["names", "to", "cc"])]
    all: bool,
    /// The subject
    #[arg(short, long, value_name = "SUBJECT", allow_hyphen_values = true)]
    subject: String,
    #[command(flatten)]
    body: Body,
    /// Ask for an acknowledgement
    #[arg(long)]
    ack: bool,
    /// low, normal, high or urgent
    #[arg(long, value_name = "WORD", value_parser = Importance::NAMES, hide_possible_values = true)]
    importance: Option<String>,
    /// The conversation it belongs to [default: a new one, or that of the work it is about]
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    /// Makes a repetition safe: what has the same key is sent once
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    afterwards: Afterwards,
}

/// Answer a message, in its thread.
#[derive(Args, Debug)]
#[command(after_help = REPLY_EXAMPLES)]
pub struct Reply {
    /// The message, as the inbox names it
    id: String,
    /// The subject [default: 'Re:' and that of the message]
    #[arg(short, long, value_name = "SUBJECT", allow_hyphen_values = true)]
    subject: Option<String>,
    /// Its text.
    #[command(flatten)]
    pub body: Body,
    /// Ask for an acknowledgement
    #[arg(long)]
    ack: bool,
    #[command(flatten)]
    afterwards: Afterwards,
}

impl Send {
    /// What there is to write, if it is clear to whom.
    pub fn checked(&self) -> anyhow::Result<&Body> {
        if self.subject.trim().is_empty() {
            bail!("the subject is empty; say what it is about with -s SUBJECT");
        }
        if !self.all && self.recipients().is_empty() {
            bail!("nobody is named to send to; name them, as in 'postrider mail send BlueLake', or pass --all");
        }
        Ok(&self.body)
    }

    /// Sends it, and waits for the answer if that is wanted.
    pub async fn run(&self, visit: &Visit<'_>, body: &str) -> anyhow::Result<ExitCode> {
        let sent = match visit.mailbox.post_office() {
            Some(office) => office.ask(self.request(visit, body)).await?.into(),
            None => self.elsewhere(visit, body).await?,
        };
        sent.told(visit, &self.afterwards).await
    }

    /// The names that were given, each once.
    fn recipients(&self) -> Vec<String> {
        let mut seen = HashSet::new();
        self.names.iter().chain(&self.to).filter(|name| seen.insert(*name)).cloned().collect()
    }

    fn request(&self, visit: &Visit<'_>, body: &str) -> SendMessage {
        let request = SendMessage {
            to: if self.all { vec![EVERYONE.to_owned()] } else { self.recipients() },
            cc: self.cc.clone(),
            subject: self.subject.clone(),
            body_md: body.to_owned(),
            thread_id: self.thread.clone(),
            importance: self.importance.clone(),
            ack_required: self.ack.then_some(true),
            idempotency_key: self.idempotency_key.clone(),
            ..SendMessage::default()
        };
        request.by(visit.actor())
    }

    async fn elsewhere(&self, visit: &Visit<'_>, body: &str) -> anyhow::Result<Sent> {
        if let Some(verb) = self.unknown_elsewhere() {
            return Err(ProviderError::Unsupported { verb }.into());
        }
        let mut deliveries = Vec::new();
        for name in self.recipients() {
            let words = Words { from: &visit.who.name, subject: &self.subject, body };
            match visit.provider().send(&name, words).await {
                Ok(delivery) => deliveries.push(delivery),
                Err(error) => {
                    if !deliveries.is_empty() {
                        output::note(&text::lines(&Sent::of_deliveries(&deliveries).receipt()));
                    }
                    return Err(error.into());
                }
            }
        }
        Ok(Sent::of_deliveries(&deliveries))
    }

    /// Says what was meant, where that is easy to guess.
    pub fn advised(&self, refused: Refused) -> Refused {
        if self.all && refused.code == "NO_RECIPIENTS" {
            return Refused::new(
                &refused.code,
                "Nobody else is in this project yet",
                "Others join with: postrider join NAME",
            );
        }
        let names = self.recipients();
        let unknown = names.iter().chain(&self.cc).find(|name| refused.message.contains(&format!("'{name}'")));
        match unknown.filter(|_| refused.code == "AGENT_NOT_FOUND") {
            Some(name) if self.afterwards.wait.is_some() && name.bytes().all(|byte| byte.is_ascii_digit()) => {
                refused.hinted(&format!("To wait so many seconds, write --wait={name}."))
            }
            _ => refused,
        }
    }

    /// What only our own office knows, if it was asked for.
    fn unknown_elsewhere(&self) -> Option<&'static str> {
        let asked = [
            ("send --all", self.all),
            ("send --cc", !self.cc.is_empty()),
            ("send --ack", self.ack),
            ("send --importance", self.importance.is_some()),
            ("send --thread", self.thread.is_some()),
            ("send --idempotency-key", self.idempotency_key.is_some()),
        ];
        asked.into_iter().find_map(|(verb, is_asked)| is_asked.then_some(verb))
    }
}

impl Reply {
    /// Sends the answer, and waits for one to it if that is wanted.
    pub async fn run(&self, visit: &Visit<'_>, body: &str) -> anyhow::Result<ExitCode> {
        let sent = match visit.mailbox.post_office() {
            Some(office) => office.ask(self.request(visit, body).await?).await?.into(),
            None => self.elsewhere(visit, body).await?,
        };
        sent.told(visit, &self.afterwards).await
    }

    async fn request(&self, visit: &Visit<'_>, body: &str) -> Result<ReplyMessage, ProviderError> {
        let named = DeliveryId::parse(&self.id).ok_or_else(|| ProviderError::NotFound { id: self.id.clone() })?;
        if named.place.is_some() {
            // The office answers messages: that there is no such delivery, it cannot know.
            visit.provider().get(&self.id).await?;
        }
        let request = ReplyMessage {
            message_id: named.message.0,
            body_md: body.to_owned(),
            subject: self.subject.clone(),
            ack_required: self.ack.then_some(true),
            ..ReplyMessage::default()
        };
        Ok(request.by(visit.actor()))
    }

    async fn elsewhere(&self, visit: &Visit<'_>, body: &str) -> Result<Sent, ProviderError> {
        if self.ack {
            return Err(ProviderError::Unsupported { verb: "reply --ack" });
        }
        let subject = match &self.subject {
            Some(subject) => subject.clone(),
            None => answer_to(&visit.provider().get(&self.id).await?.subject),
        };
        let words = Words { from: &visit.who.name, subject: &subject, body };
        Ok(Sent::of_deliveries(&[visit.provider().reply(&self.id, words).await?]))
    }
}

/// The subject of an answer.
fn answer_to(subject: &str) -> String {
    let is_answer = subject.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("re:"));
    if is_answer { subject.to_owned() } else { format!("Re: {subject}") }
}
